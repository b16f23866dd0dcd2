"""OpenAI Responses.

Read: a run of items that are not the user's makes one ASSISTANT message (reasoning, messages, calls, the provider's own
calls and their outputs, in order); an item we do not know belongs to it. So a provider's own call and its output are
opaque parts of one message and stay or go together.
Written: the same items in the same order, ids included as long as the opaque parts are there. Without them every text
is an assistant message of its own with plain content, the only form without an id the SDK's types know; assistant
messages never grow, so that is stable too. System messages are input items, not `instructions`: that is one string, so
a second system message would change the first, and items stay comparable one by one. Errors as in chat completions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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

NAME = "responses"
VENDOR = "openai"  # whose file ids these are; shared with chat completions

CONTENT = "content:"  # begins the kind of an opaque part that stands inside a message, not beside it


# ------------------------------------------------------------------ reading


def read(messages: str | Sequence[Mapping[str, Any]], instructions: str | None = None, *, at: int = 0) -> list[Message]:
    """The input items, and the instructions before them if given. `at` is the first one's index, for error messages.

    Raises:
        BadInput: an item that is none, saying which and why.
    """
    read_so_far = [Message(Role.SYSTEM, (common.text_part(instructions),))] if instructions else []
    if isinstance(messages, str):
        return [*read_so_far, Message(Role.USER, common.parts_of(messages, _read_block, "input"))]
    run: list[tuple[Json, str]] = []  # items of the assistant message being read
    for index, message in enumerate(messages, at):
        where = f"input[{index}]"
        item = _read_item(common.plain(message, where), where)
        if isinstance(item, dict):
            run.append((item, where))
            continue
        read_so_far += _flushed(run)
        run = []
        read_so_far.append(item)
    return read_so_far + _flushed(run)


def read_reply(reply: Mapping[str, Any]) -> Message:
    """A response object: one ASSISTANT message of all its output items, with its model and usage.

    Raises:
        BadInput: it has no output.
    """
    match found := common.plain(reply, "reply"):
        case {"output": list(output)}:
            parts = _assistant_parts([(item, f"output[{index}]") for index, item in enumerate(output)])
            return Message(Role.ASSISTANT, parts, model=str(found.get("model") or ""), usage=_usage(found.get("usage")))
        case _:
            raise common.refused("reply", common.kind_of(reply), 'a response object with "output"')


def read_tools(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Tool definitions; those the server runs are kept as they are."""
    places = [(tool, f"tools[{index}]") for index, tool in enumerate(tools)]
    return tuple(_read_tool(common.plain(tool, where), where) for tool, where in places)


def _read_item(item: Any, where: str) -> Message | Json:
    """A message, or the item itself if it is part of an assistant message."""
    match item:
        case {"role": "user"} if _is_message(item):
            return Message(Role.USER, _read_message(item, where))
        case {"role": "system" | "developer"} if _is_message(item):
            return Message(Role.SYSTEM, _read_message(item, where))
        case {"type": "function_call_output" | "custom_tool_call_output"}:
            return Message(Role.TOOL, (_read_result(item, where),))
        case {"role": role} if _is_message(item) and role != "assistant":
            raise common.refused(where, f"role {role!r}", "user, assistant, system, developer")
        case {"role": _} | {"type": str()} | {"id": str()}:  # the type of an item reference may be left out
            return dict(item)
        case _:
            raise common.refused(
                where, common.kind_of(item), 'an item with a "type", or a message with role and content'
            )


def _is_message(item: Json) -> bool:
    return item.get("type") in (None, "message")


def _read_message(item: Json, where: str) -> tuple[Part, ...]:
    fields = common.rest(item, "type", "role", "content")
    return (*common.message_rest(NAME, fields), *common.parts_of(item.get("content"), _read_block, where))


def _flushed(run: list[tuple[Json, str]]) -> list[Message]:
    return [Message(Role.ASSISTANT, _assistant_parts(run))] if run else []


def _assistant_parts(run: Iterable[tuple[Json, str]]) -> tuple[Part, ...]:
    parts: list[Part] = []
    within = False  # a message item with fields of its own came last: the next one must be told from it
    for item, where in run:
        if isinstance(item, dict) and item.get("role") == "assistant" and _is_message(item):
            found = _read_message({"content": [], **item}, where)
            marked = bool(found) and isinstance(found[0], Opaque) and found[0].kind == "+message"
            parts += found if marked or not within else (Opaque(NAME, "+message", {}), *found)
            within = within or marked
        else:
            parts += _read_output(item, where)
            within = False
    return tuple(parts)


def _read_output(item: Any, where: str) -> tuple[Part, ...]:
    match item:
        case {"type": "function_call", "call_id": str(call_id), "name": str(name), "arguments": str(arguments)}:
            fields = common.rest(item, "type", "call_id", "name", "arguments")
            return common.with_rest(common.call_from(call_id, name, arguments), NAME, fields)
        case {"type": "custom_tool_call", "call_id": str(call_id), "name": str(name), "input": str(text)}:
            fields = common.rest(item, "call_id", "name", "input")
            return common.with_rest(common.free_form_call(call_id, name, text), NAME, fields)
        case {"type": "function_call" | "custom_tool_call" as kind}:
            raise common.refused(where, common.kind_of(item), f"a {kind} with call_id, name and its arguments, as text")
        case dict():
            return common.opaque(NAME, item, str(item.get("type") or "item_reference"))
        case _:
            raise common.refused(where, common.kind_of(item), "an output item")


def _read_result(item: Json, where: str) -> Result:
    found = common.parts_of(item.get("output"), _read_block, where)
    parts = tuple(part for part in found if isinstance(part, Text | Blob | Image | File | Opaque))
    fields = common.rest(item, "type", "call_id", "output")
    name = item.get("name") or ""
    return Result(item.get("call_id") or "", parts + common.result_rest(NAME, fields), name=name)


def _read_block(block: Json) -> tuple[Part, ...]:
    match block:
        case {"type": "input_text" | "output_text" | "text", "text": str(text) | bytes(text)}:
            fields = common.rest(block, "type", "text")
            return common.with_rest(common.text_part(text), NAME, fields) if text else ()
        case {"type": "input_image"}:
            return _read_image(block)
        case {"type": "input_file"}:
            return _read_file(block)
        case _:
            return common.opaque(NAME, block, CONTENT + block["type"])


def _read_image(block: Json) -> tuple[Part, ...]:
    url, file_id, detail = block.get("image_url") or "", block.get("file_id") or "", block.get("detail")
    extra = ({"detail": detail} if detail and detail != "auto" else {}) | (common.file_of(VENDOR) if file_id else {})
    media_type, data = (common.split_data_url(url) if isinstance(url, str) else None) or ("", "")
    image = Image(media_type, data, "" if data else url, file_id, extra=extra)
    return common.with_rest(image, NAME, common.rest(block, "type", "image_url", "file_id", "detail"))


def _read_file(block: Json) -> tuple[Part, ...]:
    data, file_id, name = block.get("file_data") or "", block.get("file_id") or "", block.get("filename") or ""
    media_type, data = (common.split_data_url(data) if isinstance(data, str) else None) or ("", data)
    extra = common.rest({"detail": block.get("detail")}) | (common.file_of(VENDOR) if file_id else {})
    name = "" if data and name == common.UNNAMED else name
    file = File(media_type, data, block.get("file_url") or "", file_id, name, extra)
    known = ("type", "file_data", "file_url", "file_id", "filename", "detail")
    return common.with_rest(file, NAME, common.rest(block, *known))


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict) or "input_tokens" not in usage:
        return None
    details = common.whole(usage.get("input_tokens_details"), "cached_tokens", "cache_write_tokens")
    return Usage(*common.whole(usage, "input_tokens", "output_tokens"), *details)


def _read_tool(tool: Any, where: str) -> ToolDefinition:
    match tool:
        case {"type": "function", "name": str()}:
            fields = common.rest(tool, "type", "name", "description", "parameters")
            if tool.get("strict") is False:  # what we write anyway
                del fields["strict"]
            return common.tool_from(NAME, tool, tool, tool.get("parameters"), fields)
        case {"type": "custom", "name": str()}:
            return common.tool_from(NAME, tool, tool, common.FREE_FORM, tool)
        case {"type": str()}:
            return common.tool_raw(NAME, tool)
        case _:
            raise common.refused(where, common.kind_of(tool), 'a definition with a "type", and a "name" if a function')


# ------------------------------------------------------------------ writing


def write(payload: Payload) -> Json:
    """Keyword arguments for the SDK: `input`, and `tools` where there are any."""
    heads = [_message("system", message.parts) for message in payload.system]
    items = [head for head in heads if head["content"]]
    custom: set[str] = set()  # ids of free-form calls: their outputs have another type
    last: Role | None = None  # of the neutral message before
    for message in paired([*payload.body, *payload.tail], STRICT):
        if message.merge_into_previous and message.role is Role.USER and last is Role.USER:
            items[-1]["content"] += _filled(_message("user", message.parts))["content"]
        else:
            written = _items(message, custom)
            custom |= {
                item["call_id"] for item in written if item.get("type") == "custom_tool_call" and "call_id" in item
            }
            items += written
        last = message.role
    tools = [_tool(tool) for tool in common.tools_for(payload.tools, NAME)]
    return {"input": items, "tools": tools} if tools else {"input": items}


def _items(message: Message, custom: set[str]) -> list[Json]:
    match message.role:
        case Role.ASSISTANT:
            return _assistant_items(message.parts) or [_spoken({}, [_output_text(common.EMPTY)])]
        case Role.TOOL:
            return [_result(result_of(message), custom)]
        case Role.USER | Role.SYSTEM:
            return [_filled(_message(str(message.role), message.parts))]


def _filled(message: Json) -> Json:
    message["content"] = message["content"] or [{"type": "input_text", "text": common.EMPTY}]
    return message


def _message(role: str, parts: tuple[Part, ...]) -> Json:
    fields = common.fields_of(parts, NAME, "+message")
    return {"type": "message", "role": role, **fields, "content": _blocks(parts, media=role == "user")}


def _assistant_items(parts: tuple[Part, ...]) -> list[Json]:
    items: list[Json] = []
    fields: Json | None = None  # of the message item that texts go into; None: each text is its own
    content: list[Json] = []
    for part, rest in common.own(parts, NAME):
        if fields is not None and not _is_content(part):
            items.append(_spoken(fields, content))
            fields = None
        if isinstance(part, Opaque) and part.kind == "+message":
            fields, content = common.copied(part.raw), []
        elif not _is_content(part):
            items += _own_item(part, rest)
        elif fields is not None:
            content += _output_block(part, rest)
        else:
            items += (_spoken({}, [block]) for block in _output_block(part, rest))
    return items if fields is None else [*items, _spoken(fields, content)]


def _is_content(part: Part) -> bool:
    return part.kind.startswith(CONTENT) if isinstance(part, Opaque) else not isinstance(part, Call | Result)


def _own_item(part: Part, fields: Json) -> list[Json]:
    match part:
        case Call():
            return [_call(part, fields)]
        case Opaque() if not part.kind.startswith("+"):
            return [common.copied(part.raw)]
        case _:
            return []


def _spoken(fields: Json, content: list[Json]) -> Json:
    simple = "id" not in fields and len(content) == 1 and content[0] == _output_text(content[0].get("text", ""))
    said: str | list[Json] = content[0]["text"] if simple else content
    return {"type": "message", "role": "assistant", **fields, "content": said}


def _output_block(part: Part, fields: Json) -> list[Json]:
    match part:
        case Text() | Blob():
            text = common.said(part)
            return [_output_text(text) | fields] if text else []
        case Image() | File():
            return [_output_text(common.label(part))]
        case Opaque():
            return [common.copied(part.raw)]
        case Call() | Result():
            return []


def _output_text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


def _call(call: Call, fields: Json) -> Json:
    if fields.get("type") == "custom_tool_call":
        return {"call_id": call.id, "name": call.name, "input": common.free_form_text(call), **fields}
    arguments = common.arguments_json(call)
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments, **fields}


def _result(result: Result, custom: set[str]) -> Json:
    kind = "custom_tool_call_output" if result.id in custom else "function_call_output"
    fields = common.fields_of(result.parts, NAME, "+result")
    blocks = _blocks(common.flagged(result), media=True)
    single = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    output = blocks[0]["text"] if single else blocks or ""
    return {"type": kind, "call_id": result.id, "output": output, **fields}


def _blocks(parts: Iterable[Part], *, media: bool) -> list[Json]:
    blocks = (_block(part, fields, media) for part, fields in common.own(parts, NAME))
    return [block for block in blocks if block is not None]


def _block(part: Part, fields: Json, media: bool) -> Json | None:
    match part:
        case Text() | Blob():
            text = common.said(part)
            return {"type": "input_text", "text": text, **fields} if text else None
        case Image() | File():
            block = (_image(part) if isinstance(part, Image) else _file(part)) if media else None
            return {"type": "input_text", "text": common.label(part)} if block is None else block | fields
        case Opaque() if part.kind.startswith(CONTENT):
            raw: Json = common.copied(part.raw)
            return raw
        case Opaque() | Call() | Result():
            return None


def _image(image: Image) -> Json | None:
    detail = image.extra.get("detail", "auto")  # the type demands one; auto is the default
    media_type = common.image_type(image)
    url = common.data_url(media_type, image.data) if image.data and media_type else image.url
    if url:
        return {"type": "input_image", "detail": detail, "image_url": url}
    file_id = common.usable_id(image, VENDOR)
    return {"type": "input_image", "detail": detail, "file_id": file_id} if file_id else None


def _file(file: File) -> Json | None:
    detail = {"detail": file.extra["detail"]} if "detail" in file.extra else {}
    named = {"filename": file.name} if file.name else {}
    if file.data:
        data = common.data_url(file.media_type, file.data)
        return {"type": "input_file", "filename": common.UNNAMED, **named, "file_data": data, **detail}
    if file.url:
        return {"type": "input_file", **named, "file_url": file.url, **detail}
    file_id = common.usable_id(file, VENDOR)
    return {"type": "input_file", **named, "file_id": file_id, **detail} if file_id else None


def _tool(tool: ToolDefinition) -> Json:
    if tool.raw and tool.provider == NAME:
        raw: Json = common.copied(tool.raw)
        return raw
    described = {"description": tool.description} if tool.description else {}
    schema = common.copied(tool.schema) or {"type": "object", "properties": {}}
    # Said, because this API makes a function strict when nothing is said, and not every schema can be.
    return {"type": "function", "name": tool.name, **described, "parameters": schema, "strict": False}
