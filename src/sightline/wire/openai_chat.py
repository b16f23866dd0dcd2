"""OpenAI chat completions.

Read: the developer role is SYSTEM; the legacy function_call and role "function" have no ids, so the function's name is
theirs, and they are written as tool calls. What an assistant message says beside content and calls (name, refusal,
audio, annotations, reasoning) is kept and sent back.
Written: content is a list of blocks, except that a tool message of one text is that text. The arguments of a call are
an object's, as the model wrote them; servers refuse a text that is none, such as one that was cut off, so that one
stands in an object. A result has no error flag here: one with an error word begins with "[error] ", which is never read
back as a flag, for a tool may print it too.
Pictures and files of results follow in one user message after all results of the turn, each behind the id of its call.
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
from sightline.wire.call_ids import SHORT, paired, result_of
from sightline.wire.common import Json
from sightline.wire.payload import Payload

NAME = "openai"
VENDOR = "openai"  # whose file ids these are; shared with the Responses format

SHOWN_BELOW = "[shown below]"  # where a picture stood in a result


# ------------------------------------------------------------------ reading


def read(messages: Sequence[Mapping[str, Any]], *, at: int = 0) -> list[Message]:
    """A message list. `at` is the first one's index, for error messages.

    Raises:
        BadInput: a message that is none, saying which and why.
    """
    places = [(message, f"messages[{index}]") for index, message in enumerate(messages, at)]
    return [_read_message(common.plain(message, where), where) for message, where in places]


def read_reply(reply: Mapping[str, Any]) -> Message:
    """A response object, of which the first choice counts: one ASSISTANT message with its model and usage.

    Raises:
        BadInput: it has no choice.
    """
    match found := common.plain(reply, "reply"):
        case {"choices": [{"message": dict(message)}, *_]}:
            parts = _read_assistant(message, "reply")
            return Message(Role.ASSISTANT, parts, model=str(found.get("model") or ""), usage=_usage(found.get("usage")))
        case _:
            raise common.refused("reply", common.kind_of(reply), 'a response object with a message in "choices"')


def read_tools(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Tool definitions, the legacy `functions` too."""
    places = [(tool, f"tools[{index}]") for index, tool in enumerate(tools)]
    return tuple(_read_tool(common.plain(tool, where), where) for tool, where in places)


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
            raise common.refused(where, "a tool message without tool_call_id", "the id of the call it answers, as text")
        case {"role": "function", "name": str(name)}:
            content = message.get("content")
            return Message(Role.TOOL, (_read_result(name, message | {"content": content or ""}, where),))
        case {"role": role}:
            accepted = "system, developer, user, assistant, tool, function (with a name)"
            raise common.refused(where, f"role {role!r}", accepted)
        case _:
            raise common.refused(where, common.kind_of(message), "an object with role and content")


def _read_named(message: Json, where: str) -> tuple[Part, ...]:
    parts = common.parts_of(message.get("content"), _read_block, where)
    name = message.get("name")
    return (*common.message_rest(NAME, {"name": name} if name else {}), *parts)


def _read_assistant(message: Json, where: str) -> tuple[Part, ...]:
    content = message.get("content")
    parts = common.parts_of([] if content is None else content, _read_block, where)
    calls = [part for call in _called(message, where) for part in _read_call(call, where)]
    fields = common.rest(message, "role", "content", "tool_calls", "function_call")
    return (*common.message_rest(NAME, fields), *parts, *calls)


def _called(message: Json, where: str) -> list[Any]:
    match message.get("tool_calls"), message.get("function_call"):
        case (None | [*_] as calls, None | dict() as legacy):
            return [*(calls or ()), *([{"id": legacy.get("name"), "function": legacy}] if legacy else ())]
        case _:
            raise common.refused(where, "tool_calls or function_call of another kind", "a list of calls; an object")


def _read_result(call_id: str, message: Json, where: str) -> Result:
    found = common.parts_of(message.get("content"), _read_block, where)
    parts = tuple(part for part in found if isinstance(part, Text | Blob | Image | File | Opaque))
    return Result(call_id, parts, name=message.get("name") or "")


def _read_call(call: Any, where: str) -> tuple[Part, ...]:
    match call:
        case {"id": str(call_id), "function": {"name": str(name), "arguments": str() | dict() as arguments} as inner}:
            fields = common.rest(call, "id", "type", "function")
            fields |= {"function": others} if (others := common.rest(dict(inner), "name", "arguments")) else {}
            return common.with_rest(common.call_from(call_id, name, arguments), NAME, fields)
        case {"id": str(call_id), "type": "custom", "custom": {"name": str(name), "input": str(text)}}:
            fields = common.rest(call, "id", "custom")
            return common.with_rest(common.free_form_call(call_id, name, text), NAME, fields)
        case _:
            accepted = '"id" and "function" with "name" and "arguments", all text; or "custom" with "name" and "input"'
            raise common.refused(f"{where}, tool call", common.kind_of(call), accepted)


def _read_block(block: Json) -> tuple[Part, ...]:
    match block:
        case {"type": "text", "text": str(text) | bytes(text)}:
            fields = common.rest(block, "type", "text")
            return common.with_rest(common.text_part(text), NAME, fields) if text else ()
        case {"type": "image_url", "image_url": {"url": str(url)} as image}:
            return common.with_rest(
                _read_image(url, image.get("detail")), NAME, common.rest(block, "type", "image_url")
            )
        case {"type": "file", "file": dict(file)}:
            return common.with_rest(_read_file(file), NAME, common.rest(block, "type", "file"))
        case _:
            return common.opaque(NAME, block)


def _read_image(url: str, detail: object) -> Image:
    extra = {"detail": detail} if detail and detail != "auto" else {}
    inline = common.split_data_url(url)
    return Image(*inline, extra=extra) if inline else Image(url=url, extra=extra)


def _read_file(file: Json) -> File:
    data = file.get("file_data") or ""
    media_type, data = common.split_data_url(data) or ("", data)
    name = file.get("filename") or ""
    name = "" if data and name == common.UNNAMED else name
    file_id = file.get("file_id") or ""
    return File(media_type, data, file_id=file_id, name=name, extra=common.file_of(VENDOR) if file_id else {})


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict) or "prompt_tokens" not in usage:
        return None
    details = common.whole(usage.get("prompt_tokens_details"), "cached_tokens", "cache_write_tokens")
    return Usage(*common.whole(usage, "prompt_tokens", "completion_tokens"), *details)


def _read_tool(tool: Any, where: str) -> ToolDefinition:
    match tool:
        case {"type": "function", "function": {"name": str()} as function}:
            fields = common.rest(tool, "type", "function") | common.rest(function, "name", "description", "parameters")
            return common.tool_from(NAME, tool, function, function.get("parameters"), fields)
        case {"type": "custom", "custom": {"name": str()} as custom}:
            return common.tool_from(NAME, tool, custom, common.FREE_FORM, custom)
        case {"type": str()}:
            return common.tool_raw(NAME, tool)
        case {"name": str()}:
            return common.tool_from(NAME, tool, tool, tool.get("parameters"), {})
        case _:
            raise common.refused(where, common.kind_of(tool), '"type": "function" and "function" with a "name"')


# ------------------------------------------------------------------ writing


def write(payload: Payload) -> Json:
    """Keyword arguments for the SDK: `messages`, and `tools` where there are any."""
    heads = (_system(message) for message in payload.system)
    messages = [head for head in heads if head["content"]]
    pictures: list[Json] = []  # of the results since the last assistant message
    last: Role | None = None  # of the neutral message before
    for message in paired([*payload.body, *payload.tail], SHORT):
        if message.role is Role.TOOL:
            result = result_of(message)
            messages.append(_tool_message(result))
            pictures += _pictures(result)
        else:
            messages += _user(pictures)
            pictures = []
            if message.merge_into_previous and message.role is Role.USER and last is Role.USER:
                messages[-1]["content"] += _message(message)["content"]
            else:
                messages.append(_message(message))
        last = message.role
    messages += _user(pictures)
    tools = [_tool(tool) for tool in common.tools_for(payload.tools, NAME)]
    return {"messages": messages, "tools": tools} if tools else {"messages": messages}


def _user(content: list[Json]) -> list[Json]:
    return [{"role": "user", "content": content}] if content else []


def _message(message: Message) -> Json:
    match message.role:
        case Role.ASSISTANT:
            return _assistant(message)
        case Role.SYSTEM:
            written = _system(message)
        case Role.USER | Role.TOOL:
            written = {"role": "user", **_fields(message), "content": _blocks(message.parts)}
    written["content"] = written["content"] or [_text(common.EMPTY)]
    return written


def _system(message: Message) -> Json:
    return {"role": "system", **_fields(message), "content": _blocks(common.without_media(message.parts))}


def _assistant(message: Message) -> Json:
    fields = _fields(message)
    if isinstance(audio := fields.get("audio"), dict):
        fields["audio"] = {"id": audio.get("id")}  # only the id is legal on the way back
    content = _blocks(part for part in common.without_media(message.parts) if not isinstance(part, Call))
    calls = [_call(part, rest) for part, rest in common.own(message.parts, NAME) if isinstance(part, Call)]
    if not (content or calls or fields.get("refusal") or fields.get("audio")):
        content = [_text(common.EMPTY)]
    written = {"role": "assistant", **fields, "content": content or None}
    return written | {"tool_calls": calls} if calls else written


def _fields(message: Message) -> Json:
    return common.fields_of(message.parts, NAME, "+message")


def _call(call: Call, fields: Json) -> Json:
    if fields.get("type") == "custom":
        return {"id": call.id, "custom": {"name": call.name, "input": common.free_form_text(call)}, **fields}
    function = {"name": call.name, "arguments": common.arguments_json(call), **fields.pop("function", {})}
    return {"id": call.id, "type": "function", "function": function, **fields}


def _tool_message(result: Result) -> Json:
    parts = common.flagged(result)
    blocks = _blocks(Text(SHOWN_BELOW) if isinstance(part, Image | File) else part for part in parts)
    single = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    content = blocks[0]["text"] if single else blocks or ""
    named = {"name": result.name} if result.name else {}
    return {"role": "tool", "tool_call_id": result.id, **named, "content": content}


def _pictures(result: Result) -> list[Json]:
    shown = [part for part in result.parts if isinstance(part, Image | File)]
    return [block for part in shown for block in (_text(f"[from {result.id}]"), *_blocks([part]))]


def _blocks(parts: Iterable[Part]) -> list[Json]:
    return [block for part, fields in common.own(parts, NAME) if (block := _block(part, fields)) is not None]


def _block(part: Part, fields: Json) -> Json | None:
    match part:
        case Text() | Blob():
            text = common.said(part)
            return {**_text(text), **fields} if text else None
        case Image():
            return _image(part) | fields
        case File():
            return _file(part) | fields
        case Opaque():
            block: Json = common.copied(part.raw)
            return None if part.kind.startswith("+") else block
        case Call() | Result():
            return None


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _image(image: Image) -> Json:
    media_type = common.image_type(image)
    url = common.data_url(media_type, image.data) if image.data and media_type else image.url
    if not url:
        return _text(common.label(image))
    detail = {"detail": image.extra["detail"]} if "detail" in image.extra else {}
    return {"type": "image_url", "image_url": {"url": url, **detail}}


def _file(file: File) -> Json:
    if file.data:
        data = common.data_url(file.media_type, file.data)
        return {"type": "file", "file": {"file_data": data, "filename": file.name or common.UNNAMED}}
    if file_id := common.usable_id(file, VENDOR):
        named = {"filename": file.name} if file.name else {}
        return {"type": "file", "file": {"file_id": file_id, **named}}
    return _text(common.label(file))


def _tool(tool: ToolDefinition) -> Json:
    if tool.raw and tool.provider == NAME:
        raw: Json = common.copied(tool.raw)
        return raw
    described = {"description": tool.description} if tool.description else {}
    schema = common.copied(tool.schema) or {"type": "object", "properties": {}}
    return {"type": "function", "function": {"name": tool.name, **described, "parameters": schema}}
