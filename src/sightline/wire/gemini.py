"""Google's `generateContent`: `contents` of `parts`, with the roles user and model.

Read: a content with function responses becomes one TOOL message for each, then a USER message with the rest. A call
without an id, as older models make it, has one by its name and place that is not written, and so has its response.
The spelling with underscores is read too.
Written: the responses to one model content are one user content. Images and files of results that did not stand inside
the response follow in a content of their own, each after the name of its function. A system message inside the body is
user text after "[system] ". A part with a thought signature and the parts that only this provider knows (thoughts, code
and its results, addresses of files) are written as they came. A message that has nothing else says "[empty]".
"""

import re
from base64 import b64encode, urlsafe_b64decode
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import msgspec

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
from sightline.values.pattern import pattern
from sightline.wire import common
from sightline.wire.call_ids import STRICT, joins, result_of
from sightline.wire.common import Json
from sightline.wire.tools import name_and_description, tool_from, tool_raw, write_tools
from sightline.wire.wire import Head

NAME = "gemini"
LIST = "contents"
IDS = STRICT
BREAKPOINTS = 0  # a cache is an object of its own there

OPENING = "[conversation continues]"  # a call must follow what a user says
SYSTEM = "[system] "
KINDS = frozenset({
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
})  # fmt: skip
"""A part has one of these."""
TOOLS = frozenset({
    "functionDeclarations", "googleSearch", "googleSearchRetrieval", "googleMaps", "urlContext", "codeExecution",
    "fileSearch", "computerUse",
})  # fmt: skip
STOPS = dict.fromkeys(
    ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"), "refused"
)
STOPS["MAX_TOKENS"] = "length"
SILENT_ID = "noid_"  # how the ids begin that are not written
_COUNTS = (
    "promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount",
    "cachedContentTokenCount",
)  # fmt: skip
_READ = ("text", "inlineData", "functionCall", "functionResponse")
_USUAL_KEY = {"": "output", "failed": "error"}  # of a response that is one text, by the error word of its result
_NESTED = "nested"  # a further field of results whose images and files stood inside the response
# Gemini CLI puts the name of the function before an id, and makes one up of the time where the model gave none.
_MADE_UP = pattern(r"(?:synth_.*_|\w*_)?\d{13}_\d+")
_UNDERSCORE = re.compile(r"_([a-z])")
# What a declaration's `parameters` may have. Any other schema is written as `parametersJsonSchema`.
_OPENAPI = frozenset({
    "type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "minimum",
    "maximum", "minItems", "maxItems", "anyOf", "default",
})  # fmt: skip


# ------------------------------------------------------------------ reading


def recognises(message: Any) -> bool:
    """Whether this is a content whose parts are this format's."""
    match message:
        case {"parts": [*parts]} if message.get("role", "user") in ("user", "model", "function"):
            return not message.keys() - {"role", "parts"} and all(map(_is_part, parts))
        case _:
            return False


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and "type" not in part and not KINDS.isdisjoint(map(camel, part))


def recognises_block(_: Any) -> bool:
    """Contents have no `content`, so there are no blocks for it."""
    return False


def recognises_reply(reply: Any) -> bool:
    """Whether this is a response with candidates, or one whose prompt was refused."""
    return isinstance(reply, dict) and ("candidates" in reply or "promptFeedback" in reply)


def recognises_tool(tool: Any) -> bool:
    """Whether this is a list of function declarations, or a tool of the provider such as {"googleSearch": {}}."""
    return isinstance(tool, dict) and bool(tool) and {*map(camel, tool)} <= TOOLS


def read(messages: Iterable[Any], *, at: int = 0) -> list[Message]:
    """Read contents. `at` is the index of the first one, for error messages. Raises BadInput."""
    return [neutral for index, content in enumerate(messages, at) for neutral in _read(content, f"contents[{index}]")]


def read_reply(reply: Any) -> Message:
    """Read the first candidate as one ASSISTANT message with its model and usage. Raises BadInput."""
    match reply:
        case {"candidates": [dict(candidate), *_]}:
            content = candidate.get("content") or {}
            [message] = _read({"parts": content.get("parts") or [], "role": "model"}, "reply")
        case {"promptFeedback": _} | {"candidates": _}:
            message = Message(Role.ASSISTANT, ())
        case _:
            raise common.bad_input("reply", common.describe(reply), 'a response with "candidates"')
    model = str(reply.get("modelVersion") or "")
    return Message(Role.ASSISTANT, message.parts, model=model, usage=read_usage(reply.get("usageMetadata")))


def read_usage(usage: object) -> Usage | None:
    """Read the usage that a reply reports; None if it reports none. Thoughts are billed as output."""
    prompt, of_tools, answer, thoughts, cached = common.read_counts(usage, *_COUNTS)
    return Usage(prompt + of_tools, answer + thoughts, cached) if prompt else None


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
        where = f"tools[{index}]"
        if not isinstance(tool, dict) or not tool:
            raise common.bad_input(where, common.describe(tool), '"functionDeclarations", or a tool of the provider')
        own = {key: value for key, value in tool.items() if camel(key) != "functionDeclarations"}
        read += (_read_function(function, where) for function in declared(tool))
        read += (tool_raw(NAME, {"type": key, key: value}) for key, value in own.items())
    return tuple(_without_type(tool) for tool in read)


def declared(tool: Json) -> list[Any]:
    """The function declarations of one tool."""
    lists = (value for key, value in tool.items() if camel(key) == "functionDeclarations" and isinstance(value, list))
    return [function for functions in lists for function in functions]


def _without_type(tool: ToolDefinition) -> ToolDefinition:
    """A tool of the provider without the type that `tool_raw` takes its name from."""
    if tool.schema or "type" not in tool.raw:
        return tool
    raw = {key: value for key, value in tool.raw.items() if key != "type"}
    return ToolDefinition(tool.name, provider=NAME, raw=raw)


def _read_function(function: Any, where: str) -> ToolDefinition:
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise common.bad_input(where, common.describe(function), "a function declaration with a name")
    schema = function.get("parameters")
    plain = _lower_types(schema)
    fields = common.other_fields(function, "name", "description", "parameters")
    for key in ("parametersJsonSchema", "parameters_json_schema"):
        plain = plain or function.get(key)
    return tool_from(NAME, function, function, plain, fields or ({"parameters": schema} if plain != schema else {}))


def _lower_types(schema: Any) -> Any:
    """A schema with the names of types as all other formats have them: Google's own are in capitals."""
    if isinstance(schema, list):
        return [_lower_types(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    lower = {"type": kind.lower()} if isinstance(kind, str) else {}
    inside = {key: _lower_types(schema[key]) for key in ("items", "anyOf") if key in schema}
    if isinstance(properties := schema.get("properties"), dict):
        inside["properties"] = {name: _lower_types(inner) for name, inner in properties.items()}
    return {**schema, **lower, **inside}


def camel(key: str) -> str:
    """The name of a field as the provider writes it."""
    return _UNDERSCORE.sub(lambda letter: letter[1].upper(), key)


def _camel_fields(fields: Any) -> Any:
    """An object with the provider's spelling of its own fields, without those that say nothing."""
    if not isinstance(fields, dict):
        return fields
    return {camel(key): value for key, value in fields.items() if value is not None}


def _read(content: Any, where: str) -> list[Message]:
    match content:
        case {"role": "model"}:
            return [Message(Role.ASSISTANT, tuple(_read_parts(content, where)))]
        case dict() if content.get("role") in (None, "user", "function"):
            parts = tuple(_read_parts(content, where))
            results = [Message(Role.TOOL, (part,)) for part in parts if isinstance(part, Result)]
            others = tuple(part for part in parts if not isinstance(part, Result))
            return [*results, Message(Role.USER, others)] if others or not results else results
        case {"role": role}:
            raise common.bad_input(where, f"role {role!r}", "user, model")
        case _:
            raise common.bad_input(where, common.describe(content), "an object with role and parts")


def _read_parts(content: Json, where: str) -> Iterator[Part]:
    parts = content.get("parts") or []
    parts = [parts] if isinstance(parts, dict) else parts  # the server takes one part as a list of one
    if not isinstance(parts, list):
        raise common.bad_input(where, common.describe(content), "an object with role and parts")
    silent: Counter[str] = Counter()  # calls and responses of a function that have no id
    for part in parts:
        if isinstance(part, str):  # as the SDKs take it
            yield from (common.text_part(part),) if part else ()
        elif isinstance(part, dict) and part:
            yield from _read_part(part, silent)
        else:
            raise common.bad_input(f"{where}, part", common.describe(part), 'an object such as {"text": …}')


def _read_part(part: Json, silent: Counter[str]) -> tuple[Part, ...]:
    match part := _camel_fields(part):
        case {"thought": True}:
            return common.opaque(NAME, part, "thought")
        case {"text": str(text)}:
            fields = common.other_fields(part, "text", "thought")
            if not text:  # a stream ends with the signature of what was said before
                return common.opaque(NAME, part, "signature") if fields else ()
            return common.with_fields(common.text_part(text), NAME, fields)
        case {"functionCall": dict(call)} if isinstance(name := call.get("name"), str):
            fields = common.other_fields(part, *_READ)
            if others := common.other_fields(call, "id", "name", "args"):
                fields["call"] = others
            read = common.call_from(_id_of(call, name, silent), name, call.get("args") or {})
            return common.with_fields(read, NAME, fields)
        case {"functionResponse": dict(response)} if isinstance(response.get("name"), str):
            return (_read_result(response, common.other_fields(part, *_READ), silent),)
        case {"inlineData": dict(inline)} if (media := _read_media(inline)) is not None:
            return common.with_fields(media, NAME, common.other_fields(part, *_READ))
        case _:
            return common.opaque(NAME, part, next((key for key in part if key in KINDS), next(iter(part), "part")))


def _id_of(call: Json, name: str, silent: Counter[str]) -> str:
    """The id of a call or of its response. Without one it is made of the name, and which of that name it is."""
    own = str(call.get("id") or "").removeprefix(f"{name}__")
    if own and not _MADE_UP.fullmatch(own):
        return own
    silent[name] += 1
    return f"{SILENT_ID}{name}_{silent[name]}" if silent[name] > 1 else f"{SILENT_ID}{name}"


def _read_media(inline: Any) -> Image | File | None:
    match _camel_fields(inline):
        case {"mimeType": str(kind), "data": str(data), **others} if others.keys() <= {"displayName"}:
            if "-" in data or "_" in data:  # the SDKs write the alphabet of addresses
                data = b64encode(urlsafe_b64decode(data + "=" * (-len(data) % 4))).decode("ascii")
            name = str(others.get("displayName") or "")
            return Image(kind, data) if kind.startswith("image/") else File(kind, data, name=name)
        case _:
            return None


def _read_result(response: Json, fields: Json, silent: Counter[str]) -> Result:
    name, said = str(response["name"]), response.get("response")
    match said:
        case {"output": str(text), **more} if not more:
            key = "output"
        case {"result": str(text), **more} if not more:
            key = "result"
        case {"error": str(text), **more} if not more:
            key = "error"
        case _:
            key, text = "", common.dumped(common.valid(said))
    inside = response.get("parts")
    nested = [_camel_fields(part) for part in inside] if isinstance(inside, list) else []
    inline = [part.get("inlineData") if isinstance(part, dict) else None for part in nested]
    media = [part for blob in inline if (part := _read_media(blob)) is not None]
    others = common.other_fields(response, "id", "name", "response", *(("parts",) if len(media) == len(nested) else ()))
    failed = "failed" if key == "error" else ""
    if key != _USUAL_KEY[failed]:
        fields["key"] = key
    if media and "parts" not in others:
        fields[_NESTED] = True
    elif media:  # one of them is at an address: they stay as they are
        media = []
    if others:
        fields["response"] = others
    parts = ((common.text_part(text),) if text else ()) + (*media, *common.fields_part(NAME, "+result", fields))
    return Result(_id_of(response, name, silent), parts, failed, name)


# ------------------------------------------------------------------ writing


def write_head(
    system: Sequence[Message], tools: Sequence[ToolDefinition], *, first: Role | None, output: int = 0, **_: Any
) -> Head:
    """Write `systemInstruction` and `tools`, each if there are any, the token limit of the reply if it is said, and a
    user's content before a model's.
    """
    parts = [part for message in system for part in _parts(common.without_media(message.parts))]
    arguments: Json = {"systemInstruction": {"parts": parts}} if parts else {}
    written = write_tools(tools, NAME, _function).get("tools", [])
    if written:
        arguments["tools"] = join_tools([], written)
    if output:
        arguments["generationConfig"] = {"maxOutputTokens": output}
    opening = [{"role": "user", "parts": [{"text": OPENING}]}] if first is Role.ASSISTANT else []
    return Head(opening, arguments)


def join_tools(tools: Sequence[Json], more: Iterable[Json]) -> list[Json]:
    """The tools of a request with more of them. Function declarations are one list, as some models demand.

    `more`: function declarations, tools of the provider, or lists of declarations.
    """
    functions = [function for tool in more for function in (declared(tool) or ([tool] if "name" in tool else []))]
    own = [tool for tool in more if "name" not in tool and not declared(tool)]
    joined = [*tools, *own]
    at = next((place for place, tool in enumerate(joined) if declared(tool)), None)
    if at is None:
        return [*([{"functionDeclarations": functions}] if functions else ()), *joined]
    key = next(key for key in joined[at] if camel(key) == "functionDeclarations")
    joined[at] = joined[at] | {key: [*joined[at][key], *functions]}
    return joined


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
        parts = message_parts(message, names)
        if message.role is last and (message.role is Role.TOOL or joins(message, last)):
            written[-1]["parts"] += parts
        else:
            written.append({"role": "model" if message.role is Role.ASSISTANT else "user", "parts": parts})
        if message.role is Role.TOOL:
            media += media_beside(result_of(message))
        names |= {part.id: part.name for part in message.parts if isinstance(part, Call)}
        last = message.role
    return written + _user(media)


def _user(parts: list[Json]) -> list[Json]:
    return [{"role": "user", "parts": parts}] if parts else []


def message_parts(message: Message, names: dict[str, str]) -> list[Json]:
    """The parts of a message. `names`: of functions, by the id of a call."""
    match message.role:
        case Role.TOOL:
            return [_result(result_of(message), names)]
        case Role.SYSTEM:
            parts = _parts(common.without_media(message.parts)) or [{"text": common.EMPTY}]
            return [{"text": SYSTEM + parts[0].get("text", "")}, *parts[1:]]
        case Role.ASSISTANT:
            return _parts(message.parts) or [{"text": common.EMPTY}]  # a model of this provider makes images
        case Role.USER:
            return _parts(message.parts) or [{"text": common.EMPTY}]


def _parts(parts: Iterable[Part]) -> list[Json]:
    return [part for neutral, rest in common.visible_parts(parts, NAME) if (part := _part(neutral, rest)) is not None]


def _part(part: Part, fields: Json) -> Json | None:
    match part:
        case Text() | Blob():
            return {"text": text, **fields} if (text := common.text_of(part)) else None
        case Call():
            call = {"name": part.name, "args": common.arguments_object(part), **fields.pop("call", {})}
            return {"functionCall": {**_written_id(part.id), **call}, **fields}
        case Image() | File() if part.data and (kind := _media_type(part)):
            named = {"displayName": part.name} if isinstance(part, File) and part.name else {}
            return {"inlineData": {"mimeType": kind, "data": part.data, **named}, **fields}
        case Image() | File():
            return {"text": common.label(part)}
        case Opaque():
            return None if part.kind.startswith("+") else common.copy_object(part.raw)
        case Result():
            return None


def _written_id(call_id: str) -> Json:
    return {} if call_id.startswith(SILENT_ID) else {"id": call_id}


def _media_type(part: Image | File) -> str:
    return common.image_type(part) if isinstance(part, Image) else part.media_type


def _result(result: Result, names: dict[str, str]) -> Json:
    text = "\n".join(common.text_of(part) for part in result.parts if isinstance(part, Text | Blob))
    fields = common.fields_of(result.parts, NAME, "+result")
    is_nested = fields.pop(_NESTED, False)
    usual = _USUAL_KEY["failed" if result.error else ""]
    name = result.name or names.get(result.id) or result.id
    response = {"name": name, "response": _response(text, fields.pop("key", usual), usual)}
    response |= fields.pop("response", {})
    if is_nested and (media := _parts(_media_of(result))):
        response["parts"] = media
    return {"functionResponse": {**_written_id(result.id), **response}, **fields}


def _response(text: str, key: str, usual: str) -> Any:
    """What a function has returned: one text under its key, or the values that it was read from."""
    if key:
        return {key: text}
    try:
        values = msgspec.json.decode(text)
    except msgspec.DecodeError:  # it was shortened
        return {usual: text}
    return values if isinstance(values, dict) else {} if values is None else {usual: text}


def _media_of(result: Result) -> list[Image | File]:
    return [part for part in result.parts if isinstance(part, Image | File)]


def media_beside(result: Result) -> list[Json]:
    """The images and files of a result that did not stand inside its response."""
    if common.fields_of(result.parts, NAME, "+result").get(_NESTED):
        return []
    source = {"text": f"[from {result.id.removeprefix(SILENT_ID)}]"}
    return [part for media in _media_of(result) for part in (dict(source), *_parts([media]))]


def _function(tool: ToolDefinition) -> Json:
    if not tool.schema.get("properties"):  # some models refuse an object without properties
        return name_and_description(tool)
    key = "parameters" if _is_openapi(tool.schema) else "parametersJsonSchema"
    return {**name_and_description(tool), key: common.copy_object(tool.schema)}


def _is_openapi(schema: Any) -> bool:
    """Whether a schema has only what the provider's own form of schemas has."""
    if not isinstance(schema, dict) or not schema.keys() <= _OPENAPI or not isinstance(schema.get("type", ""), str):
        return False
    inner = [*(schema.get("properties") or {}).values(), *(schema.get("anyOf") or ())]
    inner += [schema["items"]] if "items" in schema else []
    return all(map(_is_openapi, inner))
