"""The messages of Strands, which are those of Bedrock's Converse: read as neutral ones, and written.

Read: a user message with tool results becomes one TOOL message for each, then a USER message with the rest. What the
neutral values have no place for is kept beside them, and blocks that only this format has are kept as they are. Bytes
are base64 in the log. Tracking ids and metadata are not read, but for the usage.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from sightline.values.items import Blob, Call, File, Image, Message, Opaque, Part, Result, Role, Text, Usage
from sightline.wire import common
from sightline.wire.call_ids import in_order, result_of
from sightline.wire.common import Json

NAME = "converse"

_SYSTEM = "[system] "
_BYTES = "$bytes"  # the key of bytes that are in the log as base64
_DOCUMENTS = {
    "pdf": "application/pdf", "csv": "text/csv", "html": "text/html", "txt": "text/plain", "md": "text/markdown",
    "doc": "application/msword", "xls": "application/vnd.ms-excel",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}  # fmt: skip
_FORMATS = {kind: name for name, kind in _DOCUMENTS.items()}
_BESIDE_RESULTS = Opaque(NAME, "+message", {"beside": "results"})  # of what was one message with results
_IMAGES = frozenset({"png", "jpeg", "gif", "webp"})

# ------------------------------------------------------------------ reading


def read(messages: list[Any], *, at: int = 0) -> list[Message]:
    """Read messages. `at` is the index of the first one, for error messages. Raises BadInput."""
    return [neutral for index, message in enumerate(messages, at) for neutral in _read(message, f"messages[{index}]")]


def read_usage(usage: object) -> Usage | None:
    """Read the usage of a reply; None if the provider has not told it. What is cached is not in `inputTokens` here."""
    fresh, output, cached, written = common.read_counts(
        usage, "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"
    )
    return Usage(fresh + cached + written, output, cached, written) if fresh + cached + written else None


def _read(message: Any, where: str) -> list[Message]:
    match message:
        case {"role": "assistant", "content": [*blocks]}:
            usage = read_usage((message.get("metadata") or {}).get("usage"))
            return [Message(Role.ASSISTANT, _parts(blocks, where), usage=usage)]
        case {"role": "user", "content": [*blocks]}:
            parts = _parts(blocks, where)
            results = [Message(Role.TOOL, (part,)) for part in parts if isinstance(part, Result)]
            others = tuple(part for part in parts if not isinstance(part, Result))
            if results and others:
                return [*results, Message(Role.USER, (_BESIDE_RESULTS, *others))]
            return results or [Message(Role.USER, others)]
        case _:
            raise common.bad_input(where, common.describe(message), "the role user or assistant, and a list of blocks")


def _parts(blocks: list[Any], where: str) -> tuple[Part, ...]:
    if bad := [block for block in blocks if not isinstance(block, dict) or not block]:
        raise common.bad_input(f"{where}, content block", common.describe(bad[0]), 'an object such as {"text": …}')
    return tuple(part for block in blocks for part in _read_block(_without_bytes(block)))


def _read_block(block: Json) -> tuple[Part, ...]:
    match block:
        case {"text": str(text), **others}:
            return common.with_fields(common.text_part(text), NAME, common.valid(others)) if text or others else ()
        case {"toolUse": {"toolUseId": str(call_id), "name": str(name), **others}}:
            value: Any = others.pop("input", None)
            is_text = isinstance(value, str)
            call = Call(call_id, name, common.valid(value)) if is_text else common.call_from(call_id, name, value)
            return common.with_fields(call, NAME, common.valid(others))
        case {"toolResult": {"toolUseId": str(call_id), "content": [*content], **others}}:
            parts = [part for inner in content for part in _read_block(inner)]
            failed = others.pop("status", "") == "error"
            parts += common.fields_part(NAME, "+result", common.valid(others))
            kept = tuple(part for part in parts if not isinstance(part, Call | Result))
            return (Result(call_id, kept, "failed" if failed else ""),)
        case {"json": value, **others} if not others:
            return (Text(common.dumped(common.valid(value))), Opaque(NAME, "+text", {"json": True}))
        case {"image": {"format": str(kind), "source": {"bytes": {"$bytes": str(data)}}, **others}} if not others:
            return (Image(f"image/{kind}", data),)
        case {"document": {"format": str(kind), "source": {"bytes": {"$bytes": str(data)}}, **others}}:
            name = str(others.pop("name", ""))
            file = File(_DOCUMENTS.get(kind, kind), data, name=name)
            return common.with_fields(file, NAME, {"document": common.valid(others)} if others else {})
        case {"guardContent": {"text": {"text": str(text)}}}:
            return (common.text_part(text), Opaque(NAME, "+text", common.valid(block)))
        case {"citationsContent": {"content": [*content]}}:
            said = "".join(str(citation.get("text", "")) for citation in content if isinstance(citation, dict))
            return (common.text_part(said), Opaque(NAME, "+text", common.valid(block)))
        case _:
            return (Opaque(NAME, next(iter(block)), common.valid(block)),)


# ------------------------------------------------------------------ writing


def write(messages: Sequence[Message]) -> list[Json]:
    """Return messages in this form. What has no content says "[empty]", because providers refuse nothing."""
    written: list[Json] = []
    last: Role | None = None
    for message in in_order(messages):
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        if last is Role.TOOL and (message.role is Role.TOOL or _BESIDE_RESULTS in message.parts):
            written[-1]["content"] += _message_blocks(message)
        else:
            written.append({"role": role, "content": _message_blocks(message)})
        last = message.role
    return written


def merge(one: Json, other: Json) -> Json | None:
    """Return two messages of one role as one; None if the roles differ."""
    if one["role"] != other["role"]:
        return None
    return {"role": one["role"], "content": [*one["content"], *other["content"]]}


def _message_blocks(message: Message) -> list[Json]:
    match message.role:
        case Role.TOOL:
            return [_result(result_of(message))]
        case Role.SYSTEM:
            blocks = _blocks(common.without_media(message.parts))
            return [{"text": _SYSTEM + "\n".join(block.get("text", "") for block in blocks)}]
        case _:
            parts = common.without_media(message.parts) if message.role is Role.ASSISTANT else message.parts
            return _blocks(parts) or [{"text": common.EMPTY}]


def _blocks(parts: Iterable[Part]) -> list[Json]:
    return [block for part, fields in common.visible_parts(parts, NAME) if (block := _block(part, fields)) is not None]


def _block(part: Part, fields: Json) -> Json | None:
    match part:
        case Text() | Blob():
            return _text_block(common.text_of(part), fields)
        case Call():
            is_plain = part.raw is None and part.input is not None
            arguments = common.copy_json(part.input) if is_plain else common.arguments_object(part)
            return {"toolUse": {"toolUseId": part.id, "name": part.name, "input": arguments, **fields}}
        case Image() if part.data and (kind := common.image_type(part).removeprefix("image/")) in _IMAGES:
            return {"image": {"format": kind, "source": {"bytes": b64decode(part.data)}}}
        case File() if part.data and (kind := _FORMATS.get(part.media_type, "")):
            more = ({"name": part.name} if part.name else {}) | fields.get("document", {})
            return {"document": {"format": kind, "source": {"bytes": b64decode(part.data)}, **more}}
        case Image() | File():
            return {"text": common.label(part)}
        case Opaque():
            return None if part.kind.startswith("+") else dict(_with_bytes(part.raw))
        case Result():
            return _result(part)


def _text_block(text: str, fields: Json) -> Json | None:
    if fields.get("json"):
        return {"json": msgspec.json.decode(text)}
    if fields.keys() & {"guardContent", "citationsContent"}:
        return dict(_with_bytes(fields))
    return {"text": text, **fields} if text else None  # Strands itself knows what to send of blanks


def _result(result: Result) -> Json:
    content = _blocks(result.parts) or [{"text": common.EMPTY}]
    block = {"toolUseId": result.id, "status": "error" if result.error else "success", "content": content}
    return {"toolResult": block | common.fields_of(result.parts, NAME, "+result")}


# ------------------------------------------------------------------ bytes


def _without_bytes(value: Any) -> Any:
    """Return JSON values: bytes become an object with their base64."""
    match value:
        case bytes():
            return {_BYTES: b64encode(value).decode("ascii")}
        case dict():
            return {key: _without_bytes(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_without_bytes(inner) for inner in value]
        case _:
            return value


def _with_bytes(value: Any) -> Any:
    """Return values as they were before `_without_bytes`, as a copy."""
    match value:
        case {"$bytes": str(data), **others} if not others:
            return b64decode(data)
        case dict():
            return {key: _with_bytes(inner) for key, inner in value.items()}
        case list():
            return [_with_bytes(inner) for inner in value]
        case _:
            return value
