"""The OpenAI chat completions format.

Read: the developer role is SYSTEM. The legacy function_call and role "function" have no ids, so they get the name of
the function as their id, and they are written as tool calls. Further fields of an assistant message (name, refusal,
audio, annotations, reasoning) are kept and sent back, but not what the SDK's `parse` made of a text or of arguments.
Written: content is a string if it is one plain text or nothing, otherwise a list of blocks. The arguments of a call are
the JSON text of an object, as the model wrote it. Servers refuse any other text, such as one that was cut off, so that
is put in an object. A result has no error flag here: one with an error word begins with "[error] ", which is never
read back as a flag, because a tool may print it too.
Images and files of results follow in one user message after all results of the turn, each after the id of its call.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sightline.values.items import Blob, Call, File, Image, Message, Opaque, Part, Result, Role, Text, ToolDefinition
from sightline.wire import common, openai_common
from sightline.wire.call_ids import SHORT, joins, result_of
from sightline.wire.common import Json
from sightline.wire.tools import tool_from, tool_raw, write_tools
from sightline.wire.wire import Head

NAME = "openai"
LIST = "messages"
IDS = SHORT
BREAKPOINTS = 0  # this provider finds the cached prefix itself

BLOCKS = frozenset({"image_url", "input_audio", "file"})  # types of content blocks that only this format has
SHOWN_BELOW = "[shown below]"  # in the place of an image or file of a result


# ------------------------------------------------------------------ reading


def recognises(message: Any) -> bool:
    """Whether a message has a call or result of this format, or a block that only this format has."""
    match message:
        case {"role": "tool" | "function"} | {"tool_calls": [*_]} | {"function_call": {}}:
            return True
        case _:
            return bool(common.block_types(message) & BLOCKS)


def recognises_block(block: Any) -> bool:
    """Whether this is a text or an image."""
    return common.is_block(block, {"text": "text", "image_url": "image_url"})


def recognises_reply(reply: Any) -> bool:
    """Whether this is a response object with choices."""
    return isinstance(reply, dict) and isinstance(reply.get("choices"), list)


def recognises_tool(tool: Any) -> bool:
    """Whether this is a function or free-text tool of this format, or a legacy function."""
    match tool:
        case {"type": "function" | "custom" as kind}:
            return kind in tool
        case {"name": str(), "parameters": _}:
            return True
        case _:
            return False


def read(messages: Iterable[Any], *, at: int = 0) -> list[Message]:
    """Read a message list. `at` is the index of the first one, for error messages.

    Raises:
        BadInput: something in it is no message of this format.
    """
    return [_read_message(message, f"messages[{index}]") for index, message in enumerate(messages, at)]


def read_reply(reply: Any) -> Message:
    """Read the first choice of a response object as one ASSISTANT message with its model and usage.

    Raises:
        BadInput: it has no choices.
    """
    match reply:
        case {"choices": [{"message": dict(message)}, *_]}:
            usage = openai_common.read_usage(reply.get("usage"), "prompt_tokens", "completion_tokens")
            return common.reply_message(reply, _read_assistant(message, "reply"), usage)
        case _:
            raise common.bad_input("reply", common.describe(reply), 'a response object with a message in "choices"')


def why_ended(reply: Any) -> str:
    """Why a reply ended early: "length", "refused", or empty if it did not."""
    match reply:
        case {"choices": [{"message": {"refusal": str(words)}}, *_]} if words:
            return "refused"
        case {"choices": [{"finish_reason": str(word)}, *_]}:
            return common.STOPS.get(word, "")
        case _:
            return ""


def read_tools(tools: Iterable[Any]) -> tuple[ToolDefinition, ...]:
    """Read tool definitions, the legacy `functions` too. Raises BadInput."""
    return tuple(_read_tool(tool, f"tools[{index}]") for index, tool in enumerate(tools))


def _read_message(message: Any, where: str) -> Message:
    match message:
        case {"role": "system" | "developer"}:
            return Message(Role.SYSTEM, _read_named(message, where))
        case {"role": "user"}:
            return Message(Role.USER, _read_named(message, where))
        case {"role": "assistant"}:
            return Message(Role.ASSISTANT, _read_assistant(message, where))
        case {"role": "tool", "tool_call_id": str(call_id)}:
            return Message(Role.TOOL, (_read_result(call_id, message, where),))
        case {"role": "tool"}:
            raise common.bad_input(
                where, "a tool message without tool_call_id", "the id of the call it answers, as text"
            )
        case {"role": "function", "name": str(name)}:
            return Message(Role.TOOL, (_read_result(name, message | {"content": message.get("content") or ""}, where),))
        case {"role": role}:
            raise common.bad_input(
                where, f"role {role!r}", "system, developer, user, assistant, tool, function (with a name)"
            )
        case _:
            raise common.bad_input(where, common.describe(message), "an object with role and content")


def _read_named(message: Json, where: str) -> tuple[Part, ...]:
    parts = common.parts_of(message.get("content"), _read_block, where)
    fields = {"name": message["name"]} if message.get("name") else {}
    return (*common.fields_part(NAME, "+message", fields), *parts)


def _read_assistant(message: Json, where: str) -> tuple[Part, ...]:
    content = message.get("content")
    parts = common.parts_of([] if content is None else content, _read_block, where)
    calls = [part for call in _calls(message, where) for part in _read_call(call, where)]
    fields = common.other_fields(message, "role", "content", "tool_calls", "function_call", "parsed")
    return (*common.fields_part(NAME, "+message", fields), *parts, *calls)


def _calls(message: Json, where: str) -> list[Any]:
    match message.get("tool_calls"), message.get("function_call"):
        case (None | [*_] as calls, None | dict() as legacy):
            return [*(calls or ()), *([{"id": legacy.get("name"), "function": legacy}] if legacy else ())]
        case _:
            raise common.bad_input(where, "tool_calls or function_call of another kind", "a list of calls; an object")


def _read_result(call_id: str, message: Json, where: str) -> Result:
    return Result(
        call_id, common.result_parts(message.get("content"), _read_block, where), name=message.get("name") or ""
    )


def _read_call(call: Any, where: str) -> tuple[Part, ...]:
    match call:
        case {"id": str(call_id), "function": {"name": str(name), "arguments": str() | dict() as arguments} as inner}:
            fields = common.other_fields(call, "id", "type", "function")
            others = common.other_fields(dict(inner), "name", "arguments", "parsed_arguments")
            fields |= {"function": others} if others else {}
            return common.with_fields(common.call_from(call_id, name, arguments), NAME, fields)
        case {"id": str(call_id), "type": "custom", "custom": {"name": str(name), "input": str(text)}}:
            fields = common.other_fields(call, "id", "custom")
            return common.with_fields(openai_common.free_form_call(call_id, name, text), NAME, fields)
        case _:
            raise common.bad_input(
                f"{where}, tool call",
                common.describe(call),
                '"id" and "function" with "name" and "arguments", all text; or "custom" with "name" and "input"',
            )


def _read_block(block: Json) -> tuple[Part, ...]:
    match block:
        case {"type": "text", "text": str() | bytes()}:
            return common.text_block(block, NAME)
        case {"type": "image_url", "image_url": {"url": str(url)} as image}:
            fields = common.other_fields(block, "type", "image_url")
            extra, inline = openai_common.detail_extra(image.get("detail")), openai_common.split_data_url(url)
            read = Image(*inline, extra=extra) if inline else Image(url=url, extra=extra)
            return common.with_fields(read, NAME, fields)
        case {"type": "file", "file": dict(file)}:
            fields = common.other_fields(block, "type", "file")
            return common.with_fields(openai_common.read_file(file), NAME, fields)
        case _:
            return common.opaque(NAME, block)


def _read_tool(tool: Any, where: str) -> ToolDefinition:
    match tool:
        case {"type": "function", "function": {"name": str()} as function}:
            fields = common.other_fields(tool, "type", "function") | common.other_fields(
                function, "name", "description", "parameters"
            )
            return tool_from(NAME, tool, function, function.get("parameters"), fields)
        case {"type": "custom", "custom": {"name": str()} as custom}:
            return tool_from(NAME, tool, custom, openai_common.FREE_FORM, custom)
        case {"type": str()}:
            return tool_raw(NAME, tool)
        case {"name": str()}:
            return tool_from(NAME, tool, tool, tool.get("parameters"), {})
        case _:
            raise common.bad_input(where, common.describe(tool), '"type": "function" and "function" with a "name"')


# ------------------------------------------------------------------ writing


def write_head(system: Sequence[Message], tools: Sequence[ToolDefinition], *, output: int = 0, **_: Any) -> Head:
    """Write the system messages that have text, `tools` if there are any, and `max_completion_tokens` if it is said."""
    messages = [_in_final_form(head) for head in map(_system, system) if head["content"]]
    limit = {"max_completion_tokens": output} if output else {}
    return Head(messages, limit | write_tools(tools, NAME, _tool))


def write_messages(messages: Sequence[Message], _: Collection[int] = ()) -> list[Json]:
    """Write messages. What joins a user message is added to its content."""
    written: list[Json] = []
    media: list[Json] = []  # of the results since the last assistant message
    last: Role | None = None  # of the neutral message before
    for message in messages:
        if message.role is Role.TOOL:
            result = result_of(message)
            written.append(_tool_message(result))
            media += _media(result)
        else:
            written += _user(media)
            media = []
            if joins(message, last):
                more = _message(message)
                written[-1] |= {**more, "content": written[-1]["content"] + more["content"]}
            else:
                written.append(_message(message))
        last = message.role
    return [_in_final_form(message) for message in (*written, *_user(media))]


def _in_final_form(message: Json) -> Json:
    """A message whose content is a string if it is one plain text or nothing, and null beside calls and the like."""
    if isinstance(message["content"], list):
        needless = message["role"] == "assistant" and any(map(message.get, ("tool_calls", "refusal", "audio")))
        message["content"] = openai_common.text_or_blocks(message["content"]) or (None if needless else "")
    return message


def _user(content: list[Json]) -> list[Json]:
    return [{"role": "user", "content": content}] if content else []


def _message(message: Message) -> Json:
    """A message whose content is a list of blocks."""
    match message.role:
        case Role.ASSISTANT:
            return _assistant(message)
        case Role.SYSTEM:
            written = _system(message)
        case Role.USER | Role.TOOL:
            written = {"role": "user", **_fields(message), "content": _blocks(message.parts)}
    if not written["content"] and not common.is_empty(message.parts):
        written["content"] = [_text(common.EMPTY)]
    return written


def _system(message: Message) -> Json:
    return {"role": "system", **_fields(message), "content": _blocks(common.without_media(message.parts))}


def _assistant(message: Message) -> Json:
    fields = _fields(message)
    if isinstance(audio := fields.get("audio"), dict):
        fields["audio"] = {"id": audio.get("id")}  # only the id is legal on the way back
    content = _blocks(part for part in common.without_media(message.parts) if not isinstance(part, Call))
    calls = [_call(part, rest) for part, rest in common.visible_parts(message.parts, NAME) if isinstance(part, Call)]
    if not (content or calls or fields.get("refusal") or fields.get("audio") or common.is_empty(message.parts)):
        content = [_text(common.EMPTY)]
    written = {"role": "assistant", **fields, "content": content}
    return written | {"tool_calls": calls} if calls else written


def _fields(message: Message) -> Json:
    return common.fields_of(message.parts, NAME, "+message")


def _call(call: Call, fields: Json) -> Json:
    if fields.get("type") == "custom":
        return {"id": call.id, "custom": {"name": call.name, "input": openai_common.free_form_text(call)}, **fields}
    function = {"name": call.name, "arguments": openai_common.arguments_json(call), **fields.pop("function", {})}
    return {"id": call.id, "type": "function", "function": function, **fields}


def _tool_message(result: Result) -> Json:
    parts = openai_common.marked_parts(result)
    blocks = _blocks(Text(SHOWN_BELOW) if isinstance(part, Image | File) else part for part in parts)
    name = {"name": result.name} if result.name else {}
    return {"role": "tool", "tool_call_id": result.id, **name, "content": openai_common.text_or_blocks(blocks)}


def _media(result: Result) -> list[Json]:
    parts = [part for part in result.parts if isinstance(part, Image | File)]
    return [block for part in parts for block in (_text(f"[from {result.id}]"), *_blocks([part]))]


def _blocks(parts: Iterable[Part]) -> list[Json]:
    return [block for part, fields in common.visible_parts(parts, NAME) if (block := _block(part, fields)) is not None]


def _block(part: Part, fields: Json) -> Json | None:
    match part:
        case Text() | Blob():
            text = common.text_of(part)
            return {**_text(text), **fields} if text else None
        case Image():
            return _image(part) | fields
        case File():
            return _file(part) | fields
        case Opaque():
            return None if part.kind.startswith("+") else common.copy_object(part.raw)
        case Call() | Result():
            return None


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _image(image: Image) -> Json:
    if not (url := openai_common.image_url(image)):
        return _text(common.label(image))
    detail = {"detail": image.extra["detail"]} if "detail" in image.extra else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}}


def _file(file: File) -> Json:
    if file.data:
        data = openai_common.data_url(file.media_type, file.data)
        return {"type": "file", "file": {"file_data": data, "filename": file.name or openai_common.UNNAMED}}
    if file_id := common.usable_id(file, openai_common.VENDOR):
        name = {"filename": file.name} if file.name else {}
        return {"type": "file", "file": {"file_id": file_id, **name}}
    return _text(common.label(file))


def _tool(tool: ToolDefinition) -> Json:
    return {"type": "function", "function": openai_common.function_fields(tool)}
