"""The Anthropic messages format.

Read: a user message with tool results becomes one TOOL message for each, then a USER message with the rest.
Written: content is always a list of blocks, and the results of one assistant message are one user message. A system
message inside the body is user text after "[system] ", because not every model accepts that role there; one that the
client itself sent in this role keeps it where the API takes it. `is_error` is set if the result has an error word; the
word itself is not sent. Blank text is left out, and a message that has nothing
else says "[empty]". An assistant's message does not end with blanks, because the API refuses them in the last message;
it is so in every message, so that none changes when others follow. A file or image that this provider does not accept
becomes a line of text with its name. Fields of a message that are not known here are written with it again.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

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
from sightline.wire.call_ids import STRICT, joins, result_of
from sightline.wire.common import Json
from sightline.wire.tools import name_and_description, tool_from, tool_raw, write_tools
from sightline.wire.wire import Head

NAME = "anthropic"
LIST = "messages"
IDS = STRICT
BREAKPOINTS = 4  # the API refuses a fifth

BLOCKS = frozenset({
    "tool_use", "thinking", "redacted_thinking", "image", "document", "search_result", "server_tool_use",
    "mcp_tool_use", "container_upload", "compaction",
})  # fmt: skip
"""Types of content blocks that only this format has, besides those of results."""

_REPLY_FIELDS = (
    "id", "type", "model", "usage", "stop_reason", "stop_sequence", "stop_details", "container", "context_management",
)  # fmt: skip
OUTPUT = 4_096  # of a reply if nobody said how many: the API demands a number, and every model takes this one
OPENING = "[conversation continues]"  # the first message must be the user's
SYSTEM = "[system] "
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
FILE_TYPES = frozenset({"application/pdf"})
THINKING = frozenset({"thinking", "redacted_thinking"})  # may not end a message, may not carry a cache marker
CACHEABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})


# ------------------------------------------------------------------ reading


def recognises(message: Any) -> bool:
    """Whether a message has a block or a field that only this format has."""
    match message:
        case {"role": _, "content": [*blocks]}:
            return (
                "stop_reason" in message
                or any(kind in BLOCKS or kind.endswith("tool_result") for kind in common.block_types(message))
                or any(isinstance(block, dict) and "citations" in block for block in blocks)
            )
        case _:
            return False


def recognises_block(block: Any) -> bool:
    """Whether this is a text, an image, a document or a reference to a tool."""
    fields = {"text": "text", "image": "source", "document": "source", "tool_reference": "tool_name"}
    return common.is_block(block, fields)


def recognises_reply(reply: Any) -> bool:
    """Whether this is a response object with content."""
    match reply:
        case {"type": "message", "role": "assistant", "content": [*_]}:
            return True
        case _:
            return False


def recognises_tool(tool: Any) -> bool:
    """Whether this is a tool with an input schema, or one that the provider runs."""
    match tool:
        case {"input_schema": _} | {"type": "mcp_toolset"}:
            return True
        case {"type": str(kind)}:
            return len(day := kind.rpartition("_")[2]) == 8 and day.isdigit()  # such as web_search_20250305
        case _:
            return False


def read(messages: Iterable[Any], system: str | list[Any] | None = None, *, at: int = 0) -> list[Message]:
    """Read a message list, and the system prompt before it if given. `at` is the first index, for error messages.

    Raises:
        BadInput: something in it is no message of this format.
    """
    read_so_far: list[Message] = []
    if system:
        read_so_far.append(Message(Role.SYSTEM, common.parts_of(system, _user_block, "system")))
    for index, message in enumerate(messages, at):
        read_so_far += _read_message(message, f"messages[{index}]")
    return read_so_far


def read_reply(reply: Any) -> Message:
    """Read a response object as one ASSISTANT message with its model and usage.

    Raises:
        BadInput: it has no content.
    """
    if not isinstance(reply, dict) or "content" not in reply:
        raise common.bad_input("reply", common.describe(reply), 'a response object with "content"')
    return common.reply_message(
        reply, common.parts_of(reply["content"], _assistant_block, "reply"), read_usage(reply.get("usage"))
    )


def why_ended(reply: Any) -> str:
    """Why a reply ended early: "length", "refused", or empty if it did not."""
    match reply:
        case {"stop_reason": str(word)}:
            return common.STOPS.get(word, "")
        case _:
            return ""


def read_tools(tools: Iterable[Any]) -> tuple[ToolDefinition, ...]:
    """Read tool definitions. Those that the server runs are kept as they are. Raises BadInput."""
    return tuple(_read_tool(tool, f"tools[{index}]") for index, tool in enumerate(tools))


def _read_message(message: Any, where: str) -> list[Message]:
    match message:
        case {"role": "user", "content": content}:
            parts = common.parts_of(content, _user_block, where)
            results = [part for part in parts if isinstance(part, Result)]
            others = tuple(part for part in parts if not isinstance(part, Result))
            own = []
            if results and not others:
                results[-1] = replace(results[-1], parts=(*results[-1].parts, *_message_fields(message)))
            else:
                own = [Message(Role.USER, (*_message_fields(message), *others))]
            return [*(Message(Role.TOOL, (result,)) for result in results), *own]
        case {"role": "assistant"}:
            parts = common.parts_of(message.get("content") or [], _assistant_block, where)
            return [Message(Role.ASSISTANT, (*_message_fields(message), *parts))]
        case {"role": "system", "content": content}:
            parts = common.parts_of(content, _user_block, where)
            return [Message(Role.SYSTEM, (*_message_fields(message), *parts))]
        case {"role": "user" | "system"}:
            raise common.bad_input(where, "no content", "text or a list of content blocks")
        case {"role": role}:
            raise common.bad_input(where, f"role {role!r}", "user, assistant, system")
        case _:
            raise common.bad_input(where, common.describe(message), "an object with role and content")


def _message_fields(message: Json) -> tuple[Opaque, ...]:
    """Return what a message has besides its content, such as the `output_config` of Claude Code. A reply that was put
    into the list as it came has fields that no request may have.
    """
    return common.fields_part(NAME, "+message", common.other_fields(message, "role", "content", *_REPLY_FIELDS))


def _user_block(block: Json) -> tuple[Part, ...]:
    match block:
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            content = block.get("content")
            parts = common.result_parts([] if content is None else content, _content_block, f"the result of {call_id}")
            fields = common.other_fields(block, "type", "tool_use_id", "content", "is_error")
            parts += common.fields_part(NAME, "+result", fields)
            return (Result(call_id, parts, "failed" if block.get("is_error") else ""),)
        case _:
            return _content_block(block)


def _assistant_block(block: Json) -> tuple[Part, ...]:
    match block:
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            is_text = isinstance(arguments := block.get("input"), str)
            call = (
                Call(call_id, name, common.valid(arguments)) if is_text else common.call_from(call_id, name, arguments)
            )
            return common.with_fields(call, NAME, common.other_fields(block, "type", "id", "name", "input"))
        case _:
            return _content_block(block)


def _content_block(block: Json) -> tuple[Part, ...]:
    match block:
        case {"type": "text", "text": str() | bytes()}:
            return common.text_block(block, NAME)
        case {"type": "image", "source": dict(source)} if (fields := _read_source(source)) is not None:
            extra = common.other_fields({"transformations": block.get("transformations")}) | fields.pop("extra", {})
            others = common.other_fields(block, "type", "source", "transformations")
            return common.with_fields(Image(**fields, extra=extra), NAME, others)
        case {"type": "document", "source": dict(source)} if (fields := _read_source(source, text=True)) is not None:
            optional = {"context": block.get("context"), "citations": block.get("citations")}
            extra = common.other_fields(optional) | fields.pop("extra", {})
            others = common.other_fields(block, "type", "source", "title", *optional)
            return common.with_fields(File(**fields, name=block.get("title") or "", extra=extra), NAME, others)
        case _:
            return common.opaque(NAME, block)


def _read_source(source: Json, *, text: bool = False) -> Json | None:
    """The fields of an image or file with this source, which may be plain text if `text`; None for other sources."""
    match source:
        case {"type": "base64", "media_type": str(), "data": str(), **others} if not others:
            return {"media_type": source["media_type"], "data": source["data"]}
        case {"type": "text", "media_type": str(), "data": str(), **others} if text and not others:
            return {"media_type": source["media_type"], "data": common.encode_base64(source["data"])}
        case {"type": "url", "url": str(url), **others} if not others:
            return {"url": url}
        case {"type": "file", "file_id": str(file_id), **others} if not others:
            return {"file_id": file_id, "extra": {"vendor": NAME}}
        case _:
            return None


def read_usage(usage: object) -> Usage | None:
    """Read the usage that a reply reports; None if it reports none."""
    if not isinstance(usage, dict) or "input_tokens" not in usage:
        return None
    fresh, output, cached, written = common.read_counts(
        usage, "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"
    )
    kept = common.read_counts(usage.get("cache_creation"), "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
    for_an_hour = written * kept[1] // sum(kept) if kept[1] else 0  # a stream may count more at its end
    # This provider counts tokens read from and written to its cache separately; ours includes both.
    return Usage(fresh + cached + written, output, cached, written, for_an_hour)


def _read_tool(tool: Any, where: str) -> ToolDefinition:
    match tool:
        case {"name": str(), "input_schema": schema} if tool.get("type") in (None, "custom"):
            return tool_from(
                NAME, tool, tool, schema, common.other_fields(tool, "type", "name", "description", "input_schema")
            )
        case {"type": str()}:
            return tool_raw(NAME, tool)
        case _:
            raise common.bad_input(
                where, common.describe(tool), '"name" and "input_schema", or a server tool\'s "type"'
            )


# ------------------------------------------------------------------ writing


def write_head(
    system: Sequence[Message], tools: Sequence[ToolDefinition], *, first: Role | None, cached: bool, output: int = 0
) -> Head:
    """Write `system` and `tools`, each if there are any, `max_tokens`, and a user message before an assistant's."""
    blocks = [block for message in system for block in _blocks(common.without_media(message.parts))]
    arguments: Json = ({"system": blocks} if blocks else {}) | write_tools(tools, NAME, _tool)
    if cached:
        # The prompt is tools, then system, then messages: the head ends with the system prompt if there is one.
        usable = (tool for tool in reversed(arguments.get("tools", [])) if not tool.get("defer_loading"))
        _mark(_last_cacheable(blocks) or next(usable, None))
    opening = [{"role": "user", "content": [_text(OPENING)]}] if first in (None, Role.ASSISTANT) else []
    return Head(opening, {"max_tokens": output or OUTPUT} | arguments)


def write_messages(messages: Sequence[Message], breakpoints: Collection[int] = ()) -> list[Json]:
    """Write messages with cache markers. What joins a user message is added to its content."""
    written: list[Json] = []
    last: Role | None = None  # of the neutral message before
    targets: list[Json | None] = []  # of the cache markers
    for number, message in enumerate(messages, 1):
        blocks = _message_blocks(message)
        if message.role is last and (message.role is Role.TOOL or joins(message, last)):
            written[-1]["content"] += blocks
        else:
            written.append({"role": _role_of(message), "content": blocks})
        written[-1] |= _fields_of(message)
        last = message.role
        if number in breakpoints and "clear_at" not in written[-1]:  # what is for one turn only has no marker
            targets.append(_last_cacheable(written[-1]["content"]))
    for target in targets:
        _mark(target)
    return written


def _role_of(message: Message) -> str:
    if message.role is Role.SYSTEM:
        return "system" if _keeps_role(message) else "user"
    return "assistant" if message.role is Role.ASSISTANT else "user"


def _keeps_role(message: Message) -> bool:
    """Whether a message is written in the role of the system: the client sent it so, and it may stand there."""
    return any(isinstance(part, Opaque) and part.provider == NAME and common.is_role(part) for part in message.parts)


def _fields_of(message: Message) -> Json:
    """Return the further fields of a message. User text in place of one of the system has none."""
    if message.role is Role.SYSTEM and not _keeps_role(message):
        return {}
    parts = result_of(message).parts if message.role is Role.TOOL else message.parts
    return common.fields_of(parts, NAME, "+message")


def _message_blocks(message: Message) -> list[Json]:
    match message.role:
        case Role.TOOL:
            return [_result(result_of(message))]
        case Role.SYSTEM:
            blocks = _blocks(common.without_media(message.parts))
            if not (blocks or _fields_of(message)):  # fields alone may say how hard to think from there on
                blocks = [_text(common.EMPTY)]
            if _keeps_role(message):
                return blocks
            return [{**blocks[0], "text": SYSTEM + blocks[0].get("text", "")}, *blocks[1:]]
        case Role.ASSISTANT:
            blocks = _blocks(common.without_media(message.parts))
            if blocks and isinstance(text := blocks[-1].get("text"), str):
                blocks[-1]["text"] = text.rstrip()
            can_end = bool(blocks) and blocks[-1].get("type") not in THINKING
            return blocks if can_end else [*blocks, _text(common.EMPTY)]
        case Role.USER:
            return _blocks(message.parts) or [_text(common.EMPTY)]


def _blocks(parts: Iterable[Part]) -> list[Json]:
    return [block for part, fields in common.visible_parts(parts, NAME) if (block := _block(part, fields)) is not None]


def _block(part: Part, fields: Json) -> Json | None:
    match part:
        case Text() | Blob():
            text = common.text_of(part)
            return {**_text(text), **fields} if text.strip() else None
        case Image() | File():
            return _media(part, fields)
        case Call():
            call = {"type": "tool_use", "id": part.id, "name": part.name}
            return {**call, "input": common.arguments_object(part), **fields}
        case Opaque():
            return None if part.kind.startswith("+") else common.copy_object(part.raw)
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


def _media(part: Image | File, fields: Json) -> Json:
    if (source := _source(part)) is None:
        return _text(common.label(part))
    block: Json = {"type": "image" if isinstance(part, Image) else "document", "source": source}
    if isinstance(part, File) and part.name:
        block["title"] = part.name
    optional = ("transformations",) if isinstance(part, Image) else ("context", "citations")
    return block | {key: common.copy_json(part.extra[key]) for key in optional if key in part.extra} | fields


def _source(part: Image | File) -> Json | None:
    """Where the provider finds an image or file: in the block, or at an address; None if it does not accept it."""
    if part.data:
        media_type = common.image_type(part) if isinstance(part, Image) else part.media_type
        if media_type in (IMAGE_TYPES if isinstance(part, Image) else FILE_TYPES):
            return {"type": "base64", "media_type": media_type, "data": part.data}
        if isinstance(part, Image) or not media_type.startswith("text/"):
            return None
        return {"type": "text", "media_type": "text/plain", "data": common.decode_base64(part.data)}
    if part.url and not part.url.startswith("data:"):
        return {"type": "url", "url": part.url}
    file_id = common.usable_id(part, NAME)
    return {"type": "file", "file_id": file_id} if file_id else None


def _tool(tool: ToolDefinition) -> Json:
    schema = common.copy_object(tool.schema) or {"properties": {}}
    return {**name_and_description(tool), "input_schema": {"type": "object", **schema}}


# ------------------------------------------------------------------ cache breakpoints


def _last_cacheable(blocks: list[Json]) -> Json | None:
    return next((block for block in reversed(blocks) if block.get("type") in CACHEABLE), None)


def _mark(block: Json | None) -> None:
    if block is not None:
        block[common.MARKER] = {"type": "ephemeral"}
