"""A fourth format in one file: Google's `generateContent`, with `contents` of `parts` and the roles user and model.

Register it in your program, or let your package offer it by an entry point:

    from sightline.wire import registry
    import gemini_wire

    registry.register(gemini_wire)
    body = payload.json("gemini")  # POST it to …/models/<model>:generateContent

    [project.entry-points."sightline.wires"]
    gemini = "gemini_wire"

Read: a content with function responses becomes one TOOL message for each, then a USER message with the rest.
Written: the responses to one model content are one user content. Images and files of results follow in a content of
their own, each after the id of its call. A system message inside the body is user text after "[system] ".
`sightline.testing.check_wire(gemini_wire, replies=[…])` proves that it keeps what a wire promises.
"""

from collections.abc import Collection, Iterable, Sequence
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
from sightline.wire.call_ids import STRICT, joins, result_of
from sightline.wire.common import Json
from sightline.wire.tools import name_and_description, tool_from, write_tools
from sightline.wire.wire import Head

NAME = "gemini"
LIST = "contents"
IDS = STRICT
BREAKPOINTS = 0  # a cache is an object of its own there

SYSTEM = "[system] "
PARTS = ("text", "inlineData", "fileData", "functionCall", "functionResponse")  # a part has one of these
TOOLS = frozenset({"functionDeclarations", "googleSearch", "googleMaps", "urlContext", "codeExecution", "fileSearch"})
STOPS = dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "refused")
STOPS["MAX_TOKENS"] = "length"

# ------------------------------------------------------------------ reading


def recognises(message: Any) -> bool:
    """Whether this is a content with parts."""
    return isinstance(message, dict) and isinstance(message.get("parts"), list)


def recognises_block(_: Any) -> bool:
    """Contents have no `content`, so there are no blocks for it."""
    return False


def recognises_reply(reply: Any) -> bool:
    """Whether this is a response with candidates, or one whose prompt was refused."""
    return isinstance(reply, dict) and ("candidates" in reply or "promptFeedback" in reply)


def recognises_tool(tool: Any) -> bool:
    """Whether this is a list of function declarations, or a tool of the provider such as {"googleSearch": {}}."""
    return isinstance(tool, dict) and bool(tool) and tool.keys() <= TOOLS


def read(messages: Iterable[Any], *, at: int = 0) -> list[Message]:
    """Read contents. Raises BadInput."""
    return [
        found for index, content in enumerate(messages, at) for found in _read_content(content, f"contents[{index}]")
    ]


def read_reply(reply: Any) -> Message:
    """Read the first candidate as one ASSISTANT message with its model and usage. Raises BadInput."""
    match reply:
        case {"candidates": [candidate, *_]}:
            content = {"parts": []} | (candidate.get("content") or {}) | {"role": "model"}
            [message] = _read_content(content, "reply")
        case {"promptFeedback": _}:
            message = Message(Role.ASSISTANT, ())
        case _:
            raise common.bad_input("reply", common.describe(reply), 'a response with "candidates"')
    used = reply.get("usageMetadata")
    counts = common.read_counts(used, "promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount")
    model = str(reply.get("modelVersion") or "")
    return Message(Role.ASSISTANT, message.parts, model=model, usage=Usage(*counts) if used else None)


def why_ended(reply: Any) -> str:
    """Why a reply ended early: "length", "refused", or empty if it did not."""
    match reply:
        case {"candidates": [{"finishReason": str(word)}, *_]}:
            return STOPS.get(word, "")
        case {"promptFeedback": {"blockReason": _}}:
            return "refused"
        case _:
            return ""


def read_tools(tools: Iterable[Any]) -> tuple[ToolDefinition, ...]:
    """Read function declarations, and tools that the provider runs. Raises BadInput."""
    read: list[ToolDefinition] = []
    for index, tool in enumerate(tools):
        match tool:
            case {"functionDeclarations": [*functions]}:
                read += (_read_function(function, f"tools[{index}]") for function in functions)
            case dict() if tool:
                read.append(ToolDefinition(next(iter(tool)), provider=NAME, raw=common.valid(tool)))
            case _:
                raise common.bad_input(f"tools[{index}]", common.describe(tool), '"functionDeclarations"')
    return tuple(read)


def _read_function(function: Any, where: str) -> ToolDefinition:
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise common.bad_input(where, common.describe(function), "a function declaration with a name")
    fields = common.other_fields(function, "name", "description", "parameters")
    return tool_from(NAME, function, function, function.get("parameters"), fields)


def _read_content(content: Any, where: str) -> list[Message]:
    match content:
        case {"role": "model", "parts": [*parts]}:
            return [Message(Role.ASSISTANT, _read_parts(parts, where))]
        case {"parts": [*parts]} if content.get("role", "user") == "user":
            read = _read_parts(parts, where)
            results = [Message(Role.TOOL, (part,)) for part in read if isinstance(part, Result)]
            others = tuple(part for part in read if not isinstance(part, Result))
            return [*results, Message(Role.USER, others)] if others or not results else results
        case {"role": role, "parts": _}:
            raise common.bad_input(where, f"role {role!r}", "user, model")
        case _:
            raise common.bad_input(where, common.describe(content), "an object with role and parts")


def _read_parts(parts: list[Any], where: str) -> tuple[Part, ...]:
    if bad := [part for part in parts if not isinstance(part, dict)]:
        raise common.bad_input(f"{where}, part", common.describe(bad[0]), "an object")
    return tuple(found for part in parts for found in _read_part(part))


def _read_part(part: Json) -> tuple[Part, ...]:
    fields = common.other_fields(part, *PARTS)
    match part:
        case {"thought": True}:
            return common.opaque(NAME, part, "thought")
        case {"text": str(text)}:
            return common.with_fields(common.text_part(text), NAME, fields) if text else ()
        case {"functionCall": {"name": str(name)} as call}:  # without an id, as older models send it, it is the name
            read = common.call_from(str(call.get("id") or name), name, call.get("args") or {})
            return common.with_fields(read, NAME, fields)
        case {"functionResponse": {"name": str(name), "response": dict(response)} as result}:
            return (_read_result(str(result.get("id") or name), name, response),)
        case {"inlineData": {"mimeType": str(kind), "data": str(data)}}:
            media: Part = Image(kind, data) if kind.startswith("image/") else File(kind, data)
            return common.with_fields(media, NAME, fields)
        case {"fileData": {"fileUri": str(url)} as file}:
            return common.with_fields(File(str(file.get("mimeType") or ""), url=url), NAME, fields)
        case _:
            return common.opaque(NAME, part, next(iter(part), "part"))


def _read_result(call_id: str, name: str, response: Json) -> Result:
    match response:
        case {"output": str(text), **others} if not others:
            return Result(call_id, (common.text_part(text),) if text else (), name=name)
        case {"error": str(text), **others} if not others:
            return Result(call_id, (common.text_part(text),) if text else (), "failed", name)
        case _:
            return Result(call_id, (Text(common.dumped(common.valid(response))),), name=name)


# ------------------------------------------------------------------ writing


def write_head(system: Sequence[Message], tools: Sequence[ToolDefinition], *, output: int = 0, **_: Any) -> Head:
    """Write `systemInstruction` and `tools`, each if there are any, and the token limit of the reply if it is said."""
    parts = [part for message in system for part in _parts(common.without_media(message.parts))]
    arguments: Json = {"systemInstruction": {"parts": parts}} if parts else {}
    written = write_tools(tools, NAME, _function).get("tools", [])
    functions = [tool for tool in written if "name" in tool]
    own = [tool for tool in written if "name" not in tool]
    if written:
        arguments["tools"] = [*([{"functionDeclarations": functions}] if functions else ()), *own]
    if output:
        arguments["generationConfig"] = {"maxOutputTokens": output}
    return Head([], arguments)


def write_messages(messages: Sequence[Message], _: Collection[int] = ()) -> list[Json]:
    """Write contents. What joins a user message is added to its parts."""
    written: list[Json] = []
    names: dict[str, str] = {}  # id of a call → the function's name, which its response must have too
    media: list[Json] = []  # of the results since the last model content
    last: Role | None = None  # of the neutral message before
    for message in messages:
        if message.role is not Role.TOOL:
            written += _user(media)
            media = []
        parts = _message_parts(message, names)
        if message.role is last and (message.role is Role.TOOL or joins(message, last)):
            written[-1]["parts"] += parts
        else:
            written.append({"role": "model" if message.role is Role.ASSISTANT else "user", "parts": parts})
        if message.role is Role.TOOL:
            media += _media(result_of(message))
        names |= {part.id: part.name for part in message.parts if isinstance(part, Call)}
        last = message.role
    return written + _user(media)


def _user(parts: list[Json]) -> list[Json]:
    return [{"role": "user", "parts": parts}] if parts else []


def _message_parts(message: Message, names: dict[str, str]) -> list[Json]:
    match message.role:
        case Role.TOOL:
            return [_result(result_of(message), names)]
        case Role.SYSTEM:
            parts = _parts(common.without_media(message.parts)) or [{"text": common.EMPTY}]
            return [{"text": SYSTEM + parts[0].get("text", "")}, *parts[1:]]
        case Role.ASSISTANT:
            return _parts(common.without_media(message.parts)) or [{"text": common.EMPTY}]
        case Role.USER:
            return _parts(message.parts) or [{"text": common.EMPTY}]


def _parts(parts: Iterable[Part]) -> list[Json]:
    return [part for each, rest in common.visible_parts(parts, NAME) if (part := _part(each, rest)) is not None]


def _part(part: Part, fields: Json) -> Json | None:
    match part:
        case Text() | Blob():
            return {"text": text, **fields} if (text := common.text_of(part)) else None
        case Call():
            return {"functionCall": {"id": part.id, "name": part.name, "args": common.arguments_object(part)}, **fields}
        case Image() | File() if part.data and (kind := _media_type(part)):
            return {"inlineData": {"mimeType": kind, "data": part.data}, **fields}
        case File() if part.url and not part.url.startswith("data:"):
            return {
                "fileData": {"fileUri": part.url} | ({"mimeType": part.media_type} if part.media_type else {}),
                **fields,
            }
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
    name = result.name or names.get(result.id) or result.id
    return {
        "functionResponse": {"id": result.id, "name": name, "response": {"error" if result.error else "output": text}}
    }


def _media(result: Result) -> list[Json]:
    parts = [part for part in result.parts if isinstance(part, Image | File)]
    return [written for part in parts for written in ({"text": f"[from {result.id}]"}, *_parts([part]))]


def _function(tool: ToolDefinition) -> Json:
    schema = {"parameters": common.copy_object(tool.schema)} if tool.schema else {}
    return {**name_and_description(tool), **schema}
