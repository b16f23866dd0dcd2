"""The contents of Google's ADK: read as neutral messages, and written.

Read: a content with function responses becomes one TOOL message for each, then a USER message with the rest. Fields
that the neutral values have no place for are kept beside them: thought signatures, further fields of calls and
responses. Parts that only this format has are kept as they are. A call without an id, as ADK sends it to Gemini, gets
one that is not written.
"""

from base64 import b64encode, urlsafe_b64decode
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from sightline.values.items import BY_PROGRAM, Blob, Call, File, Image, Message, Opaque, Part, Result, Role, Text, Usage
from sightline.wire import common
from sightline.wire.call_ids import in_order, result_of
from sightline.wire.common import Json

NAME = "gemini"

_SYSTEM = "[system] "
_NO_ID = "~"  # how an id begins that the content does not have
_KNOWN = ("text", "inlineData", "functionCall", "functionResponse")
_OF_AGENTS = "For context:"  # how ADK begins what it tells an agent of others, in the user's role
_BY_PROGRAM = Opaque(NAME, BY_PROGRAM, {})
_BESIDE_RESULTS = Opaque(NAME, "+message", {"beside": "results"})  # of what was one content with responses

# ------------------------------------------------------------------ reading


def read(messages: list[Any], *, at: int = 0) -> list[Message]:
    """Read contents. `at` is the index of the first one, for error messages. Raises BadInput."""
    return [neutral for index, message in enumerate(messages, at) for neutral in _read(message, f"contents[{index}]")]


def read_usage(usage: Any) -> Usage | None:
    """Read the usage metadata of a response; None if the provider has not told it."""
    names = ("prompt_token_count", "candidates_token_count", "cached_content_token_count", "thoughts_token_count")
    counts = {name: getattr(usage, name, None) for name in names}
    sent, answered, cached, thought = common.read_counts(counts, *names)
    return Usage(sent, answered + thought, cached) if sent else None


def _read(content: Any, where: str) -> list[Message]:
    if not isinstance(content, dict) or not isinstance(content.get("parts") or [], list):
        raise common.bad_input(where, common.describe(content), "a content with a role and parts")
    without_id: Counter[str] = Counter()  # calls and responses of a function that have no id
    parts = tuple(neutral for part in content.get("parts") or () for neutral in _read_part(_told(part), without_id))
    if content.get("role") == "model":
        return [Message(Role.ASSISTANT, parts)]
    results = [Message(Role.TOOL, (part,)) for part in parts if isinstance(part, Result)]
    others = tuple(part for part in parts if not isinstance(part, Result))
    if others and isinstance(others[0], Text) and others[0].text.startswith(_OF_AGENTS):
        others = (*others, _BY_PROGRAM)
    if results and others:
        return [*results, Message(Role.USER, (_BESIDE_RESULTS, *others))]
    return results or [Message(Role.USER, others)]


def _told(value: Any) -> Any:
    """Return values without those that are None, which say nothing."""
    if isinstance(value, dict):
        return {key: _told(inner) for key, inner in value.items() if inner is not None}
    return [_told(inner) for inner in value] if isinstance(value, list) else value


def _read_part(part: Json, without_id: Counter[str]) -> tuple[Part, ...]:
    fields = common.valid({key: value for key, value in part.items() if key not in _KNOWN})
    match part:
        case {"thought": True}:
            return (Opaque(NAME, "thought", common.valid(part)),)
        case {"text": str(text)}:
            return common.with_fields(common.text_part(text), NAME, fields) if text or fields else ()
        case {"functionCall": {"name": str(name), **others}}:
            call_id = str(others.pop("id", "") or _made_id(name, without_id))
            arguments: Any = others.pop("args", None)
            more = {"call": common.valid(others)} if others else {}
            return common.with_fields(common.call_from(call_id, name, arguments), NAME, fields | more)
        case {"functionResponse": {"name": str(name), **others}}:
            call_id = str(others.pop("id", "") or _made_id(name, without_id))
            return (_read_result(call_id, name, others.pop("response", None), fields | common.valid(others)),)
        case {"inlineData": {"mimeType": str(kind), "data": str(data), **others}}:
            data = b64encode(urlsafe_b64decode(data)).decode("ascii")
            media = Image(kind, data) if kind.startswith("image/") else File(kind, data)
            return common.with_fields(media, NAME, fields | ({"data": common.valid(others)} if others else {}))
        case {}:
            return (Opaque(NAME, next(iter(part), "part"), common.valid(part)),)
        case _:
            raise common.bad_input("a part", common.describe(part), "an object such as {'text': …}")


def _made_id(name: str, without_id: Counter[str]) -> str:
    """Return an id for a call or response without one: the function's name, and which of them it is in its content."""
    without_id[name] += 1
    return f"{_NO_ID}{name}.{without_id[name]}" if without_id[name] > 1 else f"{_NO_ID}{name}"


def _read_result(call_id: str, name: str, response: Any, fields: Json) -> Result:
    match response:
        case {"result": str(text), **others} if not others:
            key = "result"
        case {"output": str(text), **others} if not others:
            key = "output"
        case {"error": str(text), **others} if not others:
            key = "error"
        case _:
            key, text = "", common.dumped(common.valid(response))
    parts = (*common.fields_part(NAME, "+result", {"key": key, **fields}),)
    return Result(call_id, (common.text_part(text), *parts), "failed" if key == "error" else "", name)


# ------------------------------------------------------------------ writing


def write(messages: Sequence[Message]) -> list[Any]:
    """Return messages as contents."""
    from google.genai.types import Content

    written: list[Json] = []
    names: dict[str, str] = {}  # id of a call → the function's name, which its response must have too
    last: Role | None = None
    for message in in_order(messages):
        names |= {part.id: part.name for part in message.parts if isinstance(part, Call)}
        parts = _message_parts(message, names)
        if last is Role.TOOL and (message.role is Role.TOOL or _BESIDE_RESULTS in message.parts):
            written[-1]["parts"] += parts
        else:
            written.append({"role": "model" if message.role is Role.ASSISTANT else "user", "parts": parts})
        last = message.role
    return [Content.model_validate_json(msgspec.json.encode(content)) for content in written]


def merge(one: Any, other: Any) -> Any | None:
    """Return two contents of one role as one; None if the roles differ."""
    if (one.role == "model") != (other.role == "model"):
        return None
    return type(one)(role=one.role, parts=[*(one.parts or ()), *(other.parts or ())])


def _message_parts(message: Message, names: dict[str, str]) -> list[Json]:
    match message.role:
        case Role.TOOL:
            return [_result(result_of(message), names), *_media(result_of(message))]
        case Role.SYSTEM:
            texts = (part.get("text", "") for part in _parts(common.without_media(message.parts)))
            return [{"text": _SYSTEM + "\n".join(texts)}]
        case _:
            return _parts(message.parts) or [{"text": common.EMPTY}]


def _parts(parts: Iterable[Part]) -> list[Json]:
    return [part for neutral, rest in common.visible_parts(parts, NAME) if (part := _part(neutral, rest)) is not None]


def _part(part: Part, fields: Json) -> Json | None:
    match part:
        case Text() | Blob():
            text = common.text_of(part)
            return {"text": text, **fields} if text or fields else None
        case Call():
            call: Json = {} if part.id.startswith(_NO_ID) else {"id": part.id}
            is_plain = part.raw is None and part.input is not None
            call |= {
                "name": part.name,
                "args": common.copy_json(part.input) if is_plain else common.arguments_object(part),
            }
            return {"functionCall": call | fields.pop("call", {}), **fields}
        case Image() | File() if part.data and (kind := _media_type(part)):
            return {"inlineData": {"mimeType": kind, "data": part.data} | fields.pop("data", {}), **fields}
        case Image() | File():
            return {"text": common.label(part)}
        case Opaque():
            return None if part.kind.startswith("+") else common.copy_object(part.raw)
        case Result():
            return None


def _media_type(part: Image | File) -> str:
    return common.image_type(part) if isinstance(part, Image) else part.media_type


def _result(result: Result, names: dict[str, str]) -> Json:
    text = "\n".join(common.text_of(part) for part in result.parts if isinstance(part, Text | Blob))
    fields = common.fields_of(result.parts, NAME, "+result")
    outer: Json = {key: fields.pop(key) for key in ("thoughtSignature", "thought") if key in fields}
    response = _response(text, fields.pop("key", "error" if result.error else "result"))
    call_id: Json = {} if result.id.startswith(_NO_ID) else {"id": result.id}
    name = result.name or names.get(result.id) or result.id
    return {"functionResponse": {**call_id, "name": name, "response": response, **fields}, **outer}


def _response(text: str, key: str) -> Any:
    if key:
        return {key: text}
    try:
        response = msgspec.json.decode(text)
    except msgspec.DecodeError:  # it was shortened
        return {"result": text}
    return response if response is not None else {}


def _media(result: Result) -> list[Json]:
    return _parts([part for part in result.parts if isinstance(part, Image | File)])
