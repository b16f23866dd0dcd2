"""The OpenAI Responses format.

Read: a run of items that are not the user's makes one ASSISTANT message: reasoning, messages, calls, the provider's own
calls and their outputs, in order, and items of unknown type. So a provider's own call and its output are opaque parts
of one message, and both are shown or neither.
Written: the same items in the same order, with their ids as long as the opaque parts are there. Without them every text
is an assistant message of its own with plain content, because that is the only form without an id in the SDK's types.
The content of other messages is a string if it is one plain text or nothing, otherwise a list of blocks.
Reasoning that nothing of its reply follows, and messages without content, are left out, because the API refuses them.
Assistant messages never grow, so that is stable too. System messages are input items, not `instructions`: that is one
string, so a second system message would change the first. Failed results are marked as in chat completions.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sightline.values.items import Blob, Call, File, Image, Message, Opaque, Part, Result, Role, Text, ToolDefinition
from sightline.wire import common, openai_common
from sightline.wire.call_ids import STRICT, joins, result_of
from sightline.wire.common import Json
from sightline.wire.tools import tool_from, tool_raw, write_tools
from sightline.wire.wire import Head

NAME = "responses"
LIST = "input"
IDS = STRICT
BREAKPOINTS = 0  # this provider finds the cached prefix itself

BLOCKS = frozenset({"input_text", "output_text", "input_image", "input_file"})  # only this format has them
HOSTED = frozenset({
    "web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation", "mcp", "local_shell",
    "shell", "apply_patch", "computer", "computer_use_preview",
})  # fmt: skip
"""Types of tools that the provider runs."""

CONTENT = "content:"  # begins the kind of an opaque part that is inside a message item, not an item of its own


# ------------------------------------------------------------------ reading


def recognises(message: Any) -> bool:
    """Whether this is an item that is no message, or a message with a type or a block that only this format has."""
    match message:
        case {"type": str(kind)} if kind != "message":
            return True  # some of these items have a role too
        case {"role": "tool" | "function"} | {"tool_calls": [*_]} | {"function_call": {}}:
            return False
        case {"role": _, "content": [*_]}:
            return bool(common.block_types(message) & BLOCKS)
        case {"role": _}:
            return "type" in message
        case {"id": str()}:
            return True  # a reference to an item, which needs no type
        case _:
            return False


def recognises_block(block: Any) -> bool:
    """Whether this is a text, an image or a file."""
    fields = {"input_text": "text", "output_text": "text", "input_image": "image_url", "input_file": "filename"}
    return common.is_block(block, fields)


def recognises_reply(reply: Any) -> bool:
    """Whether this is a response object with output items."""
    return isinstance(reply, dict) and isinstance(reply.get("output"), list)


def recognises_tool(tool: Any) -> bool:
    """Whether this is a function or free-text tool of this format, or one that the provider runs."""
    match tool:
        case {"type": "function" | "custom", "name": str()}:
            return "input_schema" not in tool
        case {"type": str(kind)}:
            return kind in HOSTED
        case _:
            return False


def read(messages: str | Iterable[Any], instructions: str | None = None, *, at: int = 0) -> list[Message]:
    """Read input items, and the instructions before them if given. `at` is the first index, for error messages.

    Raises:
        BadInput: something in it is no item of this format.
    """
    read_so_far = [Message(Role.SYSTEM, (common.text_part(instructions),))] if instructions else []
    if isinstance(messages, str):
        return [*read_so_far, Message(Role.USER, common.parts_of(messages, _read_block, "input"))]
    run: list[tuple[Json, str]] = []  # items of the assistant message being read
    for index, message in enumerate(messages, at):
        where = f"input[{index}]"
        if isinstance(item := _read_item(message, where), dict):
            run.append((item, where))
            continue
        read_so_far += [*_run_message(run), item]
        run = []
    return read_so_far + _run_message(run)


def read_reply(reply: Any) -> Message:
    """Read all output items of a response object as one ASSISTANT message with its model and usage.

    Raises:
        BadInput: it has no output.
    """
    match reply:
        case {"output": list(output)}:
            parts = _assistant_parts([(item, f"output[{index}]") for index, item in enumerate(output)])
            usage = openai_common.read_usage(reply.get("usage"), "input_tokens", "output_tokens")
            return common.reply_message(reply, parts, usage)
        case _:
            raise common.bad_input("reply", common.describe(reply), 'a response object with "output"')


def why_ended(reply: Any) -> str:
    """Why a reply ended early: "length", "refused", or empty if it did not."""
    match reply:
        case {"incomplete_details": {"reason": str(word)}}:
            return common.STOPS.get(word, "length")
        case {"status": str(word)}:
            return common.STOPS.get(word, "")
        case _:
            return ""


def read_tools(tools: Iterable[Any]) -> tuple[ToolDefinition, ...]:
    """Read tool definitions. Those that the server runs are kept as they are. Raises BadInput."""
    return tuple(_read_tool(tool, f"tools[{index}]") for index, tool in enumerate(tools))


def _read_item(item: Any, where: str) -> Message | Json:
    """The message of an item, or the item itself if it belongs to an assistant message."""
    match item:
        case {"role": "user"} if _is_message(item):
            return Message(Role.USER, _read_message(item, where))
        case {"role": "system" | "developer"} if _is_message(item):
            return Message(Role.SYSTEM, _read_message(item, where))
        case {"type": "function_call_output" | "custom_tool_call_output"}:
            parts = common.result_parts(item.get("output"), _read_block, where)
            fields = common.fields_part(NAME, "+result", common.other_fields(item, "type", "call_id", "output"))
            return Message(Role.TOOL, (Result(item.get("call_id") or "", parts + fields, name=item.get("name") or ""),))
        case {"role": role} if _is_message(item) and role != "assistant":
            raise common.bad_input(where, f"role {role!r}", "user, assistant, system, developer")
        case {"role": _} | {"type": str()} | {"id": str()}:  # the type of an item reference may be left out
            return dict(item)
        case _:
            raise common.bad_input(
                where, common.describe(item), 'an item with a "type", or a message with role and content'
            )


def _is_message(item: Json) -> bool:
    return item.get("type") in (None, "message")


def _read_message(item: Json, where: str) -> tuple[Part, ...]:
    fields = common.other_fields(item, "type", "role", "content")
    return (*common.fields_part(NAME, "+message", fields), *common.parts_of(item.get("content"), _read_block, where))


def _run_message(run: list[tuple[Json, str]]) -> list[Message]:
    return [Message(Role.ASSISTANT, _assistant_parts(run))] if run else []


def _assistant_parts(run: Iterable[tuple[Json, str]]) -> tuple[Part, ...]:
    parts: list[Part] = []
    within = False  # the last item was a message with fields of its own: the next message must be separated from it
    for item, where in run:
        if isinstance(item, dict) and item.get("role") == "assistant" and _is_message(item):
            inner = _read_message({"content": [], **item}, where)
            marked = bool(inner) and isinstance(inner[0], Opaque) and inner[0].kind == "+message"
            parts += inner if marked or not within else (Opaque(NAME, "+message", {}), *inner)
            within = within or marked
        else:
            parts += _read_output(item, where)
            within = False
    return tuple(parts)


def _read_output(item: Any, where: str) -> tuple[Part, ...]:
    match item:
        case {"type": "function_call", "call_id": str(call_id), "name": str(name), "arguments": str(arguments)}:
            fields = common.other_fields(item, "type", "call_id", "name", "arguments")
            return common.with_fields(common.call_from(call_id, name, arguments), NAME, fields)
        case {"type": "custom_tool_call", "call_id": str(call_id), "name": str(name), "input": str(text)}:
            fields = common.other_fields(item, "call_id", "name", "input")
            return common.with_fields(openai_common.free_form_call(call_id, name, text), NAME, fields)
        case {"type": "function_call" | "custom_tool_call" as kind}:
            wanted = f"a {kind} with call_id, name and its arguments, as text"
            raise common.bad_input(where, common.describe(item), wanted)
        case dict():
            return common.opaque(NAME, item, str(item.get("type") or "item_reference"))
        case _:
            raise common.bad_input(where, common.describe(item), "an output item")


def _read_block(block: Json) -> tuple[Part, ...]:
    match block:
        case {"type": "input_text" | "output_text" | "text", "text": str() | bytes()}:
            return common.text_block(block, NAME)
        case {"type": "input_image"}:
            return _read_image(block)
        case {"type": "input_file"}:
            file = openai_common.read_file(block, block.get("file_url") or "", block.get("detail"))
            read = ("type", "file_data", "file_url", "file_id", "filename", "detail")
            return common.with_fields(file, NAME, common.other_fields(block, *read))
        case _:
            return common.opaque(NAME, block, CONTENT + block["type"])


def _read_image(block: Json) -> tuple[Part, ...]:
    url, file_id = block.get("image_url") or "", block.get("file_id") or ""
    extra = openai_common.detail_extra(block.get("detail")) | ({"vendor": openai_common.VENDOR} if file_id else {})
    media_type, data = openai_common.split_data_url(url) or ("", "")
    image = Image(media_type, data, "" if data else url, file_id, extra=extra)
    return common.with_fields(image, NAME, common.other_fields(block, "type", "image_url", "file_id", "detail"))


def _read_tool(tool: Any, where: str) -> ToolDefinition:
    match tool:
        case {"type": "function", "name": str()}:
            fields = common.other_fields(tool, "type", "name", "description", "parameters")
            if tool.get("strict") is False:  # what we write anyway
                del fields["strict"]
            return tool_from(NAME, tool, tool, tool.get("parameters"), fields)
        case {"type": "custom", "name": str()}:
            return tool_from(NAME, tool, tool, openai_common.FREE_FORM, tool)
        case {"type": str()}:
            return tool_raw(NAME, tool)
        case _:
            raise common.bad_input(
                where, common.describe(tool), 'a definition with a "type", and a "name" if a function'
            )


# ------------------------------------------------------------------ writing


def write_head(system: Sequence[Message], tools: Sequence[ToolDefinition], *, output: int = 0, **_: Any) -> Head:
    """Write the system messages that have text, `tools` if there are any, and `max_output_tokens` if it is said."""
    messages = [head for message in system if (head := _message("system", message.parts))["content"]]
    limit = {"max_output_tokens": output} if output else {}
    return Head([_in_final_form(head) for head in messages], limit | write_tools(tools, NAME, _tool))


def write_messages(messages: Sequence[Message], _: Collection[int] = ()) -> list[Json]:
    """Write items. What joins a user message is added to its content."""
    items: list[Json] = []
    custom: set[str] = set()  # ids of free-form calls: their outputs have another type
    last: Role | None = None  # of the neutral message before
    for message in messages:
        if joins(message, last):
            more = _with_content(message)
            items[-1] |= {**more, "content": items[-1]["content"] + more["content"]}
        else:
            written = _items(message, custom)
            custom |= {item.get("call_id", "") for item in written if item.get("type") == "custom_tool_call"}
            items += written
        last = message.role
    return [_in_final_form(item) for item in items]


def _in_final_form(item: Json) -> Json:
    """An item whose content is a string if it is one plain text of the user or the system, or nothing."""
    if item.get("role") in ("user", "system") and isinstance(item.get("content"), list) and item["type"] == "message":
        item["content"] = openai_common.text_or_blocks(item["content"])
    return item


def _items(message: Message, custom: set[str]) -> list[Json]:
    match message.role:
        case Role.ASSISTANT:
            said_nothing = common.is_empty(message.parts)
            placeholder = _assistant_message({}, [_output_text("" if said_nothing else common.EMPTY)])
            return _assistant_items(message.parts) or [placeholder]
        case Role.TOOL:
            return [_result(result_of(message), custom)]
        case Role.USER | Role.SYSTEM:
            return [_with_content(message)]


def _with_content(message: Message) -> Json:
    written = _message(str(message.role), message.parts)
    if not written["content"] and not common.is_empty(message.parts):
        written["content"] = [{"type": "input_text", "text": common.EMPTY}]
    return written


def _message(role: str, parts: tuple[Part, ...]) -> Json:
    content = _blocks(parts, media=role == "user")
    return {"type": "message", "role": role, **common.fields_of(parts, NAME, "+message"), "content": content}


def _assistant_items(parts: tuple[Part, ...]) -> list[Json]:
    items: list[Json] = []
    fields: Json | None = None  # of the message item that texts are added to; None: each text is an item of its own
    content: list[Json] = []
    for part, rest in common.visible_parts(parts, NAME):
        if fields is not None and not _is_content(part):
            items += [_assistant_message(fields, content)] if content else []
            fields = None
        if isinstance(part, Opaque) and part.kind == "+message":
            fields, content = common.copy_json(part.raw), []
        elif isinstance(part, Call):
            items.append(_call(part, rest))
        elif isinstance(part, Opaque) and not _is_content(part):
            items += [] if part.kind.startswith("+") else [common.copy_object(part.raw)]
        elif fields is not None:
            content += _output_block(part, rest)
        else:
            items += (_assistant_message({}, [block]) for block in _output_block(part, rest))
    items += [_assistant_message(fields, content)] if fields is not None and content else []
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _is_content(part: Part) -> bool:
    return part.kind.startswith(CONTENT) if isinstance(part, Opaque) else not isinstance(part, Call | Result)


def _assistant_message(fields: Json, content: list[Json]) -> Json:
    is_text = "id" not in fields and len(content) == 1 and content[0] == _output_text(content[0].get("text", ""))
    return {"type": "message", "role": "assistant", **fields, "content": content[0]["text"] if is_text else content}


def _output_block(part: Part, fields: Json) -> list[Json]:
    match part:
        case Text() | Blob():
            text = common.text_of(part)
            return [_output_text(text) | fields] if text else []
        case Image() | File():
            return [_output_text(common.label(part))]
        case Opaque():
            return [common.copy_json(part.raw)]
        case Call() | Result():
            return []


def _output_text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


def _call(call: Call, fields: Json) -> Json:
    if fields.get("type") == "custom_tool_call":
        return {"call_id": call.id, "name": call.name, "input": openai_common.free_form_text(call), **fields}
    arguments = openai_common.arguments_json(call)
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments, **fields}


def _result(result: Result, custom: set[str]) -> Json:
    kind = "custom_tool_call_output" if result.id in custom else "function_call_output"
    fields = common.fields_of(result.parts, NAME, "+result")
    output = openai_common.text_or_blocks(_blocks(openai_common.marked_parts(result), media=True))
    return {"type": kind, "call_id": result.id, "output": output, **fields}


def _blocks(parts: Iterable[Part], *, media: bool) -> list[Json]:
    blocks = (_block(part, fields, media) for part, fields in common.visible_parts(parts, NAME))
    return [block for block in blocks if block is not None]


def _block(part: Part, fields: Json, media: bool) -> Json | None:
    match part:
        case Text() | Blob():
            text = common.text_of(part)
            return {"type": "input_text", "text": text, **fields} if text else None
        case Image() | File():
            block = (_image(part) if isinstance(part, Image) else _file(part)) if media else None
            return {"type": "input_text", "text": common.label(part)} if block is None else block | fields
        case Opaque() if part.kind.startswith(CONTENT):
            return common.copy_object(part.raw)
        case Opaque() | Call() | Result():
            return None


def _image(image: Image) -> Json | None:
    detail = image.extra.get("detail", "auto")  # the type demands one; auto is the default
    if url := openai_common.image_url(image):
        return {"type": "input_image", "detail": detail, "image_url": url}
    file_id = common.usable_id(image, openai_common.VENDOR)
    return {"type": "input_image", "detail": detail, "file_id": file_id} if file_id else None


def _file(file: File) -> Json | None:
    detail = {"detail": file.extra["detail"]} if "detail" in file.extra else {}
    named = {"filename": file.name} if file.name else {}
    if file.data:
        data = openai_common.data_url(file.media_type, file.data)
        return {"type": "input_file", "filename": openai_common.UNNAMED, **named, "file_data": data, **detail}
    if file.url:
        return {"type": "input_file", **named, "file_url": file.url, **detail}
    file_id = common.usable_id(file, openai_common.VENDOR)
    return {"type": "input_file", **named, "file_id": file_id, **detail} if file_id else None


def _tool(tool: ToolDefinition) -> Json:
    # `strict` is written because this API makes a function strict without it, and not every schema can be strict.
    return {"type": "function", **openai_common.function_fields(tool), "strict": False}
