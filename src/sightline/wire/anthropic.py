"""Anthropic messages.

Read: a user message with tool results becomes one TOOL message for each, then a USER message with the rest.
Written: content is always a list of blocks; the results of one assistant message are one user message; a system
message inside the body is user text behind "[system] ", for not every model takes that role there. `is_error` is set
iff the result has an error word; which word it was does not travel. Blank text is left out, and where nothing else
remains, "[empty]" is said. A file or picture this provider cannot take is named in a line of text.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sightline.values.items import (
    Blob,
    Call,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Result,
    Role,
    Text,
    ToolDefinition,
    Usage,
)
from sightline.wire import common
from sightline.wire.call_ids import STRICT, paired, result_of
from sightline.wire.common import Json
from sightline.wire.payload import Payload

NAME = "anthropic"

OPENING = "[conversation continues]"  # the first message must be the user's
SYSTEM = "[system] "
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
THINKING = frozenset({"thinking", "redacted_thinking"})  # may not end a message, may not carry a cache marker
CACHEABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})
MOST_BREAKPOINTS = 4  # the API refuses a fifth


# ------------------------------------------------------------------ reading


def read(
    messages: Sequence[Mapping[str, Any]], system: str | Sequence[Mapping[str, Any]] | None = None, *, at: int = 0
) -> list[Message]:
    """A message list, and the system prompt before it if given. `at` is the first one's index, for error messages.

    Raises:
        BadInput: a message that is none, saying which and why.
    """
    read_so_far: list[Message] = []
    if system:
        content = common.plain(system, "system")
        read_so_far.append(Message(Role.SYSTEM, common.parts_of(content, _user_block, "system")))
    for index, message in enumerate(messages, at):
        where = f"messages[{index}]"
        read_so_far += _read_message(common.plain(message, where), where)
    return read_so_far


def read_reply(reply: Mapping[str, Any]) -> Message:
    """A response object: one ASSISTANT message with its model and usage.

    Raises:
        BadInput: it has no content.
    """
    found = common.plain(reply, "reply")
    if not isinstance(found, dict) or "content" not in found:
        raise common.refused("reply", common.kind_of(reply), 'a response object with "content"')
    parts = common.parts_of(found["content"], _assistant_block, "reply")
    return Message(Role.ASSISTANT, parts, model=str(found.get("model") or ""), usage=_usage(found.get("usage")))


def read_tools(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Tool definitions; those the server runs are kept as they are."""
    places = [(tool, f"tools[{index}]") for index, tool in enumerate(tools)]
    return tuple(_read_tool(common.plain(tool, where), where) for tool, where in places)


def _read_message(message: Any, where: str) -> list[Message]:
    match message:
        case {"role": "user", "content": content}:
            return _read_user(content, where)
        case {"role": "assistant"}:
            return [Message(Role.ASSISTANT, common.parts_of(message.get("content") or [], _assistant_block, where))]
        case {"role": "system", "content": content}:
            return [Message(Role.SYSTEM, common.parts_of(content, _user_block, where))]
        case {"role": "user" | "system"}:
            raise common.refused(where, "no content", "text or a list of content blocks")
        case {"role": role}:
            raise common.refused(where, f"role {role!r}", "user, assistant, system")
        case _:
            raise common.refused(where, common.kind_of(message), "an object with role and content")


def _read_user(content: object, where: str) -> list[Message]:
    parts = common.parts_of(content, _user_block, where)
    results = [Message(Role.TOOL, (part,)) for part in parts if isinstance(part, Result)]
    others = tuple(part for part in parts if not isinstance(part, Result))
    return [*results, Message(Role.USER, others)] if others or not results else results


def _user_block(block: Json) -> tuple[Part, ...]:
    match block:
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            return (_read_result(call_id, block),)
        case _:
            return _content_block(block)


def _assistant_block(block: Json) -> tuple[Part, ...]:
    match block:
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            call = Call(call_id, name, common.valid(block.get("input")))
            return common.with_rest(call, NAME, common.rest(block, "type", "id", "name", "input"))
        case _:
            return _content_block(block)


def _content_block(block: Json) -> tuple[Part, ...]:
    match block:
        case {"type": "text", "text": str(text) | bytes(text)}:
            fields = common.rest(block, "type", "text")
            return common.with_rest(common.text_part(text), NAME, fields) if text else ()
        case {"type": "image", "source": dict(source)}:
            image = _read_image(source, block)
            return _with_others(image, block, "source", "transformations")
        case {"type": "document", "source": dict(source)}:
            file = _read_file(source, block)
            return _with_others(file, block, "source", "title", "context", "citations")
        case _:
            return common.opaque(NAME, block)


def _with_others(part: Image | File | None, block: Json, *known: str) -> tuple[Part, ...]:
    if part is None:
        return common.opaque(NAME, block)
    return common.with_rest(part, NAME, common.rest(block, "type", *known))


def _read_result(call_id: str, block: Json) -> Result:
    content = block.get("content")
    found = common.parts_of([] if content is None else content, _content_block, f"the result of {call_id}")
    parts = tuple(part for part in found if isinstance(part, Text | Blob | Image | File | Opaque))
    fields = common.rest(block, "type", "tool_use_id", "content", "is_error")
    error = "failed" if block.get("is_error") else ""
    return Result(call_id, parts + common.result_rest(NAME, fields), error)


def _read_image(source: Json, block: Json) -> Image | None:
    extra = common.rest({"transformations": block.get("transformations")})
    match source:
        case {"type": "base64", "media_type": str(media_type), "data": str(data), **others} if not others:
            return Image(media_type, data, extra=extra)
        case {"type": "url", "url": str(url), **others} if not others:
            return Image(url=url, extra=extra)
        case {"type": "file", "file_id": str(file_id), **others} if not others:
            return Image(file_id=file_id, extra=extra | common.file_of(NAME))
        case _:
            return None


def _read_file(source: Json, block: Json) -> File | None:
    extra = common.rest({"context": block.get("context"), "citations": block.get("citations")})
    name = block.get("title") or ""
    match source:
        case {"type": "base64", "media_type": str(media_type), "data": str(data), **others} if not others:
            return File(media_type, data, name=name, extra=extra)
        case {"type": "text", "media_type": str(media_type), "data": str(data), **others} if not others:
            return File(media_type, common.base64(data), name=name, extra=extra)
        case {"type": "url", "url": str(url), **others} if not others:
            return File(url=url, name=name, extra=extra)
        case {"type": "file", "file_id": str(file_id), **others} if not others:
            return File(file_id=file_id, name=name, extra=extra | common.file_of(NAME))
        case _:
            return None


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict) or "input_tokens" not in usage:
        return None
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    fresh, output, cached, written = common.whole(usage, *names)
    # This provider counts what it read from and wrote to its cache apart; ours includes both.
    return Usage(fresh + cached + written, output, cached, written)


def _read_tool(tool: Any, where: str) -> ToolDefinition:
    match tool:
        case {"name": str(), "input_schema": schema} if tool.get("type") in (None, "custom"):
            fields = common.rest(tool, "type", "name", "description", "input_schema")
            return common.tool_from(NAME, tool, tool, schema, fields)
        case {"type": str()}:
            return common.tool_raw(NAME, tool)
        case _:
            raise common.refused(where, common.kind_of(tool), '"name" and "input_schema", or a server tool\'s "type"')


# ------------------------------------------------------------------ writing


def write(payload: Payload) -> Json:
    """Keyword arguments for the SDK: `messages`, and `system` and `tools` where there are any; with cache markers."""
    written: Json = {}
    system = [block for message in payload.system for block in _blocks(common.without_media(message.parts))]
    if system:
        written["system"] = system
    messages, ends = _messages(payload)
    written["messages"] = messages
    if tools := [_tool(tool) for tool in common.tools_for(payload.tools, NAME)]:
        written["tools"] = tools
    _mark(written, _kept(payload.breakpoints), ends)
    return written


class _End(NamedTuple):
    """Where a neutral message ends: the blocks it was written into, and how many there were with its own."""

    blocks: list[Json]
    upto: int


def _messages(payload: Payload) -> tuple[list[Json], list[_End]]:
    messages: list[Json] = []
    ends: list[_End] = []
    last: Role | None = None  # of the neutral message before
    for message in paired([*payload.body, *payload.tail], STRICT):
        blocks = _message_blocks(message)
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        joined = message.role is last and (
            message.role is Role.TOOL or (message.merge_into_previous and message.role is Role.USER)
        )
        if joined:
            messages[-1]["content"] += blocks
        else:
            if role == "assistant" and not messages:
                messages.append({"role": "user", "content": [_text(OPENING)]})
            messages.append({"role": role, "content": blocks})
        last = message.role
        ends.append(_End(messages[-1]["content"], len(messages[-1]["content"])))
    return messages or [{"role": "user", "content": [_text(OPENING)]}], ends[: len(payload.body)]


def _message_blocks(message: Message) -> list[Json]:
    match message.role:
        case Role.TOOL:
            return [_result(result_of(message))]
        case Role.SYSTEM:
            blocks = _blocks(common.without_media(message.parts)) or [_text(common.EMPTY)]
            return [{**blocks[0], "text": SYSTEM + blocks[0].get("text", "")}, *blocks[1:]]
        case Role.ASSISTANT:
            blocks = _blocks(common.without_media(message.parts))
            ended = bool(blocks) and blocks[-1]["type"] not in THINKING
            return blocks if ended else [*blocks, _text(common.EMPTY)]
        case Role.USER:
            return _blocks(message.parts) or [_text(common.EMPTY)]


def _blocks(parts: Iterable[Part]) -> list[Json]:
    return [block for part, fields in common.own(parts, NAME) if (block := _block(part, fields)) is not None]


def _block(part: Part, fields: Json) -> Json | None:
    match part:
        case Text() | Blob():
            text = common.said(part)
            return {**_text(text), **fields} if text.strip() else None
        case Image():
            return _media("image", part, _image_source(part), fields)
        case File():
            return _media("document", part, _file_source(part), fields)
        case Call():
            arguments = common.arguments_object(part)
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments, **fields}
        case Opaque():
            block: Json = common.copied(part.raw)
            return None if part.kind.startswith("+") else block
        case Result():
            return _result(part)


def _result(result: Result) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": result.id}
    if content := _blocks(result.parts):  # an empty result is legal without content
        block["content"] = content
    if result.error:
        block["is_error"] = True
    return block | common.fields_of(result.parts, NAME, "+result")


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _media(kind: str, part: Image | File, source: Json | None, fields: Json) -> Json:
    if source is None:
        return _text(common.label(part))
    block: Json = {"type": kind, "source": source}
    if isinstance(part, File) and part.name:
        block["title"] = part.name
    known = ("transformations",) if kind == "image" else ("context", "citations")
    return block | {key: common.copied(part.extra[key]) for key in known if key in part.extra} | fields


def _image_source(image: Image) -> Json | None:
    media_type = common.image_type(image)
    if image.data:
        inline = {"type": "base64", "media_type": media_type, "data": image.data}
        return inline if media_type in IMAGE_TYPES else None
    return _address(image)


def _file_source(file: File) -> Json | None:
    if file.data and file.media_type == "application/pdf":
        return {"type": "base64", "media_type": file.media_type, "data": file.data}
    if file.data and file.media_type.startswith("text/"):
        return {"type": "text", "media_type": "text/plain", "data": common.unbase64(file.data)}
    return None if file.data else _address(file)


def _address(part: Image | File) -> Json | None:
    if part.url and not part.url.startswith("data:"):
        return {"type": "url", "url": part.url}
    if file_id := common.usable_id(part, NAME):
        return {"type": "file", "file_id": file_id}
    return None


def _tool(tool: ToolDefinition) -> Json:
    if tool.raw and tool.provider == NAME:
        raw: Json = common.copied(tool.raw)
        return raw
    described = {"description": tool.description} if tool.description else {}
    schema = common.copied(tool.schema) or {"properties": {}}
    return {"name": tool.name, **described, "input_schema": {"type": "object", **schema}}


# ------------------------------------------------------------------ cache breakpoints


def _kept(breakpoints: tuple[int, ...]) -> list[int]:
    """The head's, and the last ones of the others: the earlier ones are inside the prefix of the later."""
    wanted = sorted({max(0, place) for place in breakpoints})
    if len(wanted) <= MOST_BREAKPOINTS:
        return wanted
    return [0, *wanted[1 - MOST_BREAKPOINTS :]] if wanted[0] == 0 else wanted[-MOST_BREAKPOINTS:]


def _mark(written: Json, breakpoints: list[int], ends: list[_End]) -> None:
    for place in breakpoints:
        # The prompt is tools, then system, then messages: the head ends with the system if there is one.
        end = ends[min(place, len(ends)) - 1] if place and ends else None
        blocks = end.blocks[: end.upto] if end else written.get("system", [])
        target = next((block for block in reversed(blocks) if block["type"] in CACHEABLE), None)
        if target is None and not place:
            target = next((tool for tool in reversed(written.get("tools", [])) if not tool.get("defer_loading")), None)
        if target is not None:
            target["cache_control"] = {"type": "ephemeral"}
