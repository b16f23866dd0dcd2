"""What the three formats share: plain values, text, call arguments, data URLs, and a provider's further fields.

A provider says more of a part than the neutral values hold: citations of a text, the item id of a call. Such fields
follow their part as an Opaque whose kind is "+" and the part's name ("+text", "+call", "+image", "+file"); "+result"
is the last part of its Result, "+message" comes before the parts of its message. So readers of plain text see a plain
Text, the same provider gets its block back whole, and whoever drops the opaque parts drops the item ids with them.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from sightline.errors import BadInput
from sightline.values.items import Blob, Call, File, Image, Opaque, Part, Result, Text, ToolDefinition, shown

Json = dict[str, Any]

EMPTY = "[empty]"  # stands where a provider refuses a message that says nothing
ERROR = "[error] "  # begins a failed result for a provider that has no flag for it
UNNAMED = "file"  # OpenAI wants a file name beside file data; read back as no name

MARKERS = frozenset({"cache_control", "prompt_cache_breakpoint"})  # breakpoints are the plan's, never the caller's

FREE_FORM: Json = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""The schema of a tool that takes free text: the neutral call of such a tool has the text as its one field `input`."""


def refused(where: str, found: object, accepted: str) -> BadInput:
    """The error for something that cannot be read: where it stood, what it was, what would do."""
    return BadInput(f"{where}: found {found}; accepted: {accepted}")


def kind_of(value: object) -> str:
    """What a value is, in words fit for an error message."""
    if isinstance(value, dict):
        return f"an object with the keys {sorted(map(str, value))}"
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def plain(value: object, where: str) -> Any:
    """The value as plain JSON values of our own, so that no later change by the caller reaches them.

    SDK objects are dumped as they came from the server; mappings and iterables are copied; bytes stay bytes.

    Raises:
        BadInput: something in it is no JSON value (an open file, a path).
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, Mapping):
        return {str(key): plain(inner, where) for key, inner in value.items()}
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return plain(_dumped_object(dump), where)
    if isinstance(value, Iterable) and not hasattr(value, "read"):
        return [plain(inner, where) for inner in value]
    raise refused(where, kind_of(value), "JSON values, SDK objects, and base64 text for what is in a file")


def _dumped_object(dump: Callable[..., object]) -> object:
    # Only what was set: the SDKs send their objects back this way, and explicit nulls survive.
    try:
        return dump(mode="json", exclude_unset=True, by_alias=True, warnings=False)
    except TypeError:  # something else with a method of that name
        return dump()


def copied(value: Any) -> Any:
    """JSON values that share nothing with the original: what is written belongs to the caller."""
    match value:
        case dict():
            return {key: copied(inner) for key, inner in value.items()}
        case list() | tuple():
            return [copied(inner) for inner in value]
        case _:
            return value


def valid(value: Any) -> Any:
    """A copy of JSON values in which every string is valid Unicode and nothing is bytes."""
    match value:
        case dict():
            return {valid(key): valid(inner) for key, inner in value.items()}
        case list() | tuple():
            return [valid(inner) for inner in value]
        case str() | bytes():
            return said(text_part(value))
        case _:
            return value


# ------------------------------------------------------------------ text


def text_part(text: str | bytes) -> Text | Blob:
    """Text if it is valid Unicode, else a Blob that keeps every byte."""
    try:
        if isinstance(text, bytes):
            return Text(text.decode())
        if not text.isascii():
            text.encode()
        return Text(text)
    except UnicodeDecodeError:
        return Blob(base64(text))
    except UnicodeEncodeError:
        return Blob(base64(text), surrogates=True)


def said(part: Text | Blob) -> str:
    """What the model reads of it."""
    return part.text if isinstance(part, Text) else shown(part)


def base64(text: str | bytes) -> str:
    """The bytes, or the UTF-8 of the text, in base64."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return b64encode(data).decode("ascii")


def unbase64(data: str) -> str:
    """The text a base64 string holds, with replacement characters where it holds none."""
    try:
        return b64decode(data).decode("utf-8", "replace")
    except ValueError:
        return data


def parts_of(content: object, read_block: Callable[[Json], tuple[Part, ...]], where: str) -> tuple[Part, ...]:
    """The parts of a message's content: text, or a list of blocks. Empty text is no part.

    Raises:
        BadInput: it is neither, or a block has no type.
    """
    if isinstance(content, str | bytes):
        return (text_part(content),) if content else ()
    if not isinstance(content, list):
        raise refused(where, kind_of(content), "text or a list of content blocks")
    parts: list[Part] = []
    for number, block in enumerate(content):
        if isinstance(block, str | bytes):
            parts += (text_part(block),) if block else ()
        elif isinstance(block, dict) and isinstance(block.get("type"), str):
            parts += read_block(block)
        else:
            raise refused(f"{where}, content block {number}", kind_of(block), 'text or an object with a "type"')
    return tuple(parts)


# ------------------------------------------------------------------ a provider's further fields


def rest(block: Json, *known: str) -> Json:
    """The fields that neutral values have no place for. Nulls and empty lists say nothing; cache markers are ours."""
    return {
        key: valid(value)
        for key, value in block.items()
        if key not in known and key not in MARKERS and value is not None and value != []
    }


def with_rest(part: Part, provider: str, fields: Json) -> tuple[Part, ...]:
    """The part, and behind it what else its provider said of it."""
    return (part, Opaque(provider, _annotation(part), fields)) if fields else (part,)


def message_rest(provider: str, fields: Json) -> tuple[Opaque, ...]:
    """What a provider says of a message as a whole, to stand before its parts."""
    return (Opaque(provider, "+message", fields),) if fields else ()


def result_rest(provider: str, fields: Json) -> tuple[Opaque, ...]:
    """What a provider says of a result as a whole, to stand behind its parts."""
    return (Opaque(provider, "+result", fields),) if fields else ()


def opaque(provider: str, block: Json, kind: str = "") -> tuple[Opaque, ...]:
    """A block of the provider's own, as it came but for cache markers."""
    raw = {key: valid(value) for key, value in block.items() if key not in MARKERS}
    return (Opaque(provider, kind or str(block.get("type")), raw),)


def own(parts: Iterable[Part], provider: str) -> Iterator[tuple[Part, Json]]:
    """The parts this provider may see, each with a copy of its further fields. Opaque parts of others are left out."""
    pending: tuple[Part, Json] | None = None
    for part in parts:
        if isinstance(part, Opaque) and part.provider != provider:
            continue
        if isinstance(part, Opaque) and part.kind in ("+text", "+call", "+image", "+file"):
            if pending is not None and _annotation(pending[0]) == part.kind:
                pending = (pending[0], copied(part.raw))
            continue
        if pending is not None:
            yield pending
        pending = (part, {})
    if pending is not None:
        yield pending


def fields_of(parts: Iterable[Part], provider: str, kind: str) -> Json:
    """The further fields of a message or result as a whole, if this provider gave any."""
    for part in parts:
        if isinstance(part, Opaque) and part.provider == provider and part.kind == kind:
            fields: Json = copied(part.raw)
            return fields
    return {}


def _annotation(part: Part) -> str:
    match part:
        case Text() | Blob():
            return "+text"
        case Call():
            return "+call"
        case Image():
            return "+image"
        case File():
            return "+file"
        case Result() | Opaque():
            return ""


# ------------------------------------------------------------------ calls


def dumped(value: object) -> str:
    """JSON without spaces, the way most models write arguments, so that their own text rarely has to be kept beside."""
    return msgspec.json.encode(value).decode()


def call_from(call_id: str, name: str, arguments: str | Json) -> Call:
    """A call whose arguments came as text, which is kept where dumping the values would not give it back.

    Some servers that speak a provider's format send the values themselves.
    """
    if not isinstance(arguments, str):
        return Call(call_id, name, valid(arguments))
    arguments = said(text_part(arguments))
    try:
        values = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, RecursionError):
        return Call(call_id, name, raw=arguments)
    if values is None or dumped(values) != arguments:
        return Call(call_id, name, values, arguments)
    return Call(call_id, name, values)


def free_form_call(call_id: str, name: str, text: str) -> Call:
    """A call whose argument is free text and no JSON."""
    return Call(call_id, name, {"input": said(text_part(text))})


def arguments_text(call: Call) -> str:
    """The arguments as text, byte for byte what the model wrote. A call without any has an empty object."""
    if call.raw is not None:
        return call.raw
    return "{}" if call.input is None else dumped(call.input)


def arguments_object(call: Call) -> Json:
    """The arguments as an object. What is none stands in the field `_raw` as text; empty text is an empty object."""
    if isinstance(call.input, dict):
        fields: Json = copied(call.input)
        return fields
    text = arguments_text(call)
    return {"_raw": text} if text not in ("", "{}") else {}


def arguments_json(call: Call) -> str:
    """The arguments as the JSON text of an object, for servers that read it: byte for byte what the model wrote, if it
    is one. What is none, such as one that was cut off, stands in an object as `arguments_object` has it.
    """
    return arguments_text(call) if isinstance(call.input, dict) else dumped(arguments_object(call))


def free_form_text(call: Call) -> str:
    """The argument of a free-text call; JSON if its fields are no longer the one it came with."""
    match call.input:
        case {"input": str(text), **others} if not others:
            return text
        case _:
            return arguments_text(call)


def flagged(result: Result) -> tuple[Part, ...]:
    """The parts of a result for a provider without an error flag: a failed one begins with `ERROR`, always.

    Whether the text tells of the error by itself is not judged: the rule must not depend on wording.
    """
    match result.parts:
        case _ if not result.error:
            return result.parts
        case (Text() | Blob() as first, *others):
            return (Text(ERROR + said(first)), *others)
        case others:
            return (Text(ERROR.rstrip()), *others)


# ------------------------------------------------------------------ images and files


def data_url(media_type: str, data: str) -> str:
    """Inline data as a URL; bare base64 stays bare when nobody said what it is."""
    return f"data:{media_type};base64,{data}" if media_type else data


def split_data_url(url: str) -> tuple[str, str] | None:
    """Media type and base64 of a plain data URL; None for every other address."""
    head, found, data = url.partition(";base64,")
    media_type = head.removeprefix("data:")
    if not found or media_type == head or "/" not in media_type or ";" in media_type or "," in media_type:
        return None
    return media_type, data


MAGIC = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}


def image_type(image: Image) -> str:
    """The media type of an inline image, from its first bytes where nobody said it."""
    return image.media_type or next((kind for magic, kind in MAGIC.items() if image.data.startswith(magic)), "")


def label(part: Image | File) -> str:
    """A line of text for a picture or file where the provider accepts none: what it is and, if short, where."""
    kind = "image" if isinstance(part, Image) else "file"
    name = part.name if isinstance(part, File) else ""
    url = "" if part.url.startswith("data:") else part.url
    facts = [fact for fact in (name, part.media_type, url, part.file_id) if fact]
    return f"[{' '.join([kind, *facts])}]"


def file_of(vendor: str) -> Json:
    """The `extra` of a part given by file id: such ids mean something to their own vendor only."""
    return {"vendor": vendor}


def usable_id(part: Image | File, vendor: str) -> str:
    """The file id, if this vendor may know it."""
    return part.file_id if part.extra.get("vendor", vendor) == vendor else ""


# ------------------------------------------------------------------ usage


def whole(counts: object, *names: str) -> list[int]:
    """Counts as a provider reports them; 0 for what is none: a reply is not refused for how it was counted."""
    found = [counts.get(name) for name in names] if isinstance(counts, dict) else [None] * len(names)
    return [int(count) if isinstance(count, int | float) and 0 <= count < 1 << 53 else 0 for count in found]


# ------------------------------------------------------------------ tools


def tools_for(tools: Iterable[ToolDefinition], provider: str) -> Iterator[ToolDefinition]:
    """The tools this provider can be offered: one with a schema is anyone's, one only raw its own provider's."""
    return (tool for tool in tools if tool.schema or not tool.raw or tool.provider == provider)


def tool_from(provider: str, tool: Json, function: Json, schema: object, fields: Json) -> ToolDefinition:
    """A tool the client runs. `raw` is kept only where the neutral fields would not give the definition back."""
    name, description = str(function["name"]), str(function.get("description") or "")
    known = valid(schema) if isinstance(schema, dict) and schema else {"type": "object", "properties": {}}
    raw = opaque(provider, tool)[0].raw if fields else {}
    return ToolDefinition(name, description, known, provider if raw else "", raw)


def tool_raw(provider: str, tool: Json) -> ToolDefinition:
    """A tool the provider runs, or one we know nothing of."""
    return ToolDefinition(str(tool.get("name") or tool["type"]), provider=provider, raw=opaque(provider, tool)[0].raw)


def without_media(parts: Iterable[Part]) -> list[Part]:
    """For those who may not show pictures and files: a line of text names each."""
    return [Text(label(part)) if isinstance(part, Image | File) else part for part in parts]
