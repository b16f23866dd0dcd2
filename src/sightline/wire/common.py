"""What the formats share: plain values, text, call arguments, media, and the further fields of a provider.

A provider says more about a part than the neutral values have room for: citations of a text, the item id of a call.
Such fields follow their part as an Opaque whose kind is "+" and the name of the part ("+text", "+call", "+image",
"+file"). "+result" is the last part of its Result; "+message" comes before the parts of its message, and "+role" before
those of a message that the provider gets in the role of the system in the middle of its list. So readers of plain text
see a plain Text, the same provider gets its block back whole, and dropping the opaque parts drops the item ids with
them.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from sightline.errors import BadInput
from sightline.values.escape import plain_name
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
    Usage,
    blob_text,
)

Json = dict[str, Any]
ReadBlock = Callable[[Json], tuple[Part, ...]]

# Levels of a call's arguments: no tool has as many, and copying needs two frames of about 1,000 for each. Deeper values
# are kept as text, because a copy could exhaust a caller's stack.
DEEPEST = 64

_ATOMS = frozenset({str, int, float, bool, type(None)})  # types of values that cannot be changed
_NESTED = (dict, list, tuple)
_KINDS = ("role", "type")  # the fields that tell messages and blocks apart
_IN_RESULTS = Text | Blob | Image | File | Opaque  # named once, because a union is made anew wherever it is written

EMPTY = "[empty]"  # the text of a message that would have none, because providers refuse that

STOPS = {
    "length": "length", "model_length": "length", "max_tokens": "length", "model_context_window_exceeded": "length",
    "incomplete": "length", "content_filter": "refused", "refusal": "refused",
}  # fmt: skip
"""Why a reply ended early, by the words of OpenAI, Mistral and Anthropic. Any other word is a normal end."""

ROLE = "+role"
MARKER = "cache_control"
MARKERS = frozenset({MARKER, "prompt_cache_breakpoint"})  # breakpoints are the plan's, never the caller's


def bad_input(where: str, found: object, accepted: str) -> BadInput:
    """The error for a value that cannot be read: where it is, what it is, and what would be accepted."""
    return BadInput(f"{where}: found {found}; accepted: {accepted}")


def describe(value: object) -> str:
    """The kind of a value, in words for an error message."""
    if isinstance(value, dict):
        return f"an object with the keys {sorted(map(str, value))}"
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


# ------------------------------------------------------------------ plain values


def is_deep(value: Any) -> bool:
    """Whether values are nested more than `DEEPEST` levels deep. Does not recurse."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, _NESTED)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return any(isinstance(outer, _NESTED) for outer in level)


def plain(value: Any, where: str) -> Any:
    """Copy a value as plain JSON values, so that later changes by the caller do not reach them.

    SDK objects are dumped as they came from the server; mappings and iterables are copied; bytes stay bytes.

    Raises:
        BadInput: something in it is no JSON value (an open file, a path).
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict or kind is list:  # nearly everything is one of these: the others take longer to tell apart
        return _plain_dict(value, where) if kind is dict else _plain_list(value, where)
    if isinstance(value, str):
        return str.__str__(value)  # LangChain's texts are of a class of their own
    if isinstance(value, int | float):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, Mapping):
        return _plain_dict(value, where)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return plain(_dump_object(dump, value), where)
    if isinstance(value, Iterable) and not hasattr(value, "read"):
        return _plain_list(value, where)
    raise bad_input(where, describe(value), "JSON values, SDK objects, and base64 text for what is in a file")


def _plain_dict(values: Mapping[Any, object], where: str) -> Json:
    return {str(key): inner if type(inner) in _ATOMS else plain(inner, where) for key, inner in values.items()}


def _plain_list(values: Iterable[object], where: str) -> list[Any]:
    return [inner if type(inner) in _ATOMS else plain(inner, where) for inner in values]


def _dump_object(dump: Callable[..., object], value: object) -> object:
    # Only fields that were set: the SDKs send their objects back this way, and explicit nulls survive.
    try:
        dumped = dump(mode="json", exclude_unset=True, by_alias=True, warnings=False, exclude=_not_sent(value))
    except TypeError:  # some other method of that name
        return dump()
    _add_kinds(dumped, value)
    return dumped


def _add_kinds(dumped: object, value: object) -> None:
    """Add to a dumped SDK object the role and the type that its class gives to all of its objects: nobody sets them."""
    if isinstance(dumped, list) and isinstance(value, list | tuple):
        for inner, field in zip(dumped, value, strict=False):
            _add_kinds(inner, field)
    elif isinstance(dumped, dict):
        for name, field in getattr(type(value), "model_fields", {}).items():
            key = field.serialization_alias or name
            if key in dumped:
                _add_kinds(dumped[key], getattr(value, name, None))
            elif key in _KINDS and isinstance(field.default, str):
                dumped[key] = field.default


def _not_sent(value: object) -> Any:
    """What the classes of an SDK object say is only for the program, such as what `parse` made of a text; or None.

    They say it each for itself, but pydantic heeds it only as an argument for the outermost object.
    """
    if isinstance(value, list):
        inner: Iterable[tuple[Any, object]] = enumerate(value)
    elif hasattr(value, "model_dump") and not isinstance(value, type):
        inner = getattr(value, "__dict__", {}).items()
    else:
        return None
    nested = {key: names for key, field in inner if (names := _not_sent(field))}
    own = getattr(value, "__api_exclude__", ())
    return nested | (own if isinstance(own, dict) else dict.fromkeys(own or (), True)) or None


def copy_json(value: Any) -> Any:
    """Copy JSON values, because the caller owns what is written to it."""
    match value:
        case dict():
            return {key: copy_json(inner) for key, inner in value.items()}
        case list() | tuple():
            return [copy_json(inner) for inner in value]
        case _:
            return value


def copy_object(fields: Json) -> Json:
    """Copy a JSON object, as `copy_json` does."""
    copied: Json = copy_json(fields)
    return copied


def valid(value: Any) -> Any:
    """A copy of JSON values in which every string is valid Unicode and nothing is bytes."""
    match value:
        case dict():
            return {valid(key): valid(inner) for key, inner in value.items()}
        case list() | tuple():
            return [valid(inner) for inner in value]
        case str() | bytes():
            return text_of(text_part(value))
        case _:
            return value


def dumped(value: object) -> str:
    """Dump JSON without spaces, as most models write arguments, so that their own text rarely has to be stored too."""
    return msgspec.json.encode(value).decode()


# ------------------------------------------------------------------ text and content


def text_part(text: str | bytes) -> Text | Blob:
    """Text if it is valid Unicode, otherwise a Blob that keeps every byte."""
    try:
        if isinstance(text, bytes):
            return Text(text.decode())
        if not text.isascii():
            text.encode()
        return Text(text)
    except UnicodeDecodeError:
        return Blob(encode_base64(text))
    except UnicodeEncodeError:
        return Blob(encode_base64(text), surrogates=True)


def text_of(part: Text | Blob) -> str:
    """The text of a part as the model reads it."""
    return part.text if isinstance(part, Text) else blob_text(part)


def encode_base64(text: str | bytes) -> str:
    """The bytes, or the UTF-8 of the text, in base64."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return b64encode(data).decode("ascii")


def decode_base64(data: str) -> str:
    """The text in a base64 string, with replacement characters for bytes that are no UTF-8."""
    try:
        return b64decode(data).decode("utf-8", "replace")
    except ValueError:
        return data


def parts_of(content: object, read_block: ReadBlock, where: str) -> tuple[Part, ...]:
    """The parts of a message's content, which is text or a list of blocks. Empty text is no part.

    Raises:
        BadInput: it is neither, or a block has no type.
    """
    if isinstance(content, (str, bytes)):
        return (text_part(content),) if content else ()
    if not isinstance(content, list):
        raise bad_input(where, describe(content), "text or a list of content blocks")
    parts: list[Part] = []
    for number, block in enumerate(content):
        if isinstance(block, str | bytes):
            parts += (text_part(block),) if block else ()
        elif isinstance(block, dict) and isinstance(block.get("type"), str):
            parts += read_block(block)
        else:
            raise bad_input(f"{where}, content block {number}", describe(block), 'text or an object with a "type"')
    return tuple(parts)


def result_parts(content: object, read_block: ReadBlock, where: str) -> tuple[Text | Blob | Image | File | Opaque, ...]:
    """The parts of a result's content. Calls and results cannot be among them. Raises BadInput as `parts_of` does."""
    every = parts_of(content, read_block, where)
    return tuple(part for part in every if isinstance(part, _IN_RESULTS))


def is_empty(parts: Iterable[Part]) -> bool:
    """Whether parts say nothing: they are empty text, or only further fields of a message."""
    return not any(part.text if isinstance(part, Text) else not _is_fields(part) for part in parts)


def is_block(value: Any, fields: Mapping[str, str]) -> bool:
    """Whether a value is a content block of one of these types with the field that belongs to its type."""
    return isinstance(value, Mapping) and fields.get(str(value.get("type", ""))) in value


def block_types(message: Any) -> set[str]:
    """The types of the content blocks of a message that is not read yet."""
    match message:
        case {"content": [*blocks]}:
            return {str(block.get("type")) for block in blocks if isinstance(block, dict)}
        case _:
            return set()


def reply_message(reply: Json, parts: tuple[Part, ...], usage: Usage | None) -> Message:
    """The ASSISTANT message of a response object, with its model and usage."""
    return Message(Role.ASSISTANT, parts, model=str(reply.get("model") or ""), usage=usage)


def read_counts(counts: object, *names: str) -> list[int]:
    """Token counts that a provider reports. What is no count is 0, because a reply is not refused for its counts."""
    reported = [counts.get(name) for name in names] if isinstance(counts, dict) else [None] * len(names)
    return [int(count) if isinstance(count, int | float) and 0 <= count < 1 << 53 else 0 for count in reported]


# ------------------------------------------------------------------ cache breakpoints


def last_marker(messages: Sequence[Any]) -> Json | None:
    """Return the last cache marker of these messages."""
    blocks = (block for message in reversed(messages) for block in reversed(_blocks_of(message)))
    markers = (block.get(MARKER) for block in blocks if isinstance(block, dict))
    return next((marker for marker in markers if isinstance(marker, dict)), None)


def set_markers(messages: Sequence[Any], marker: Json) -> None:
    """Put this marker in the place of each cache marker of these messages."""
    for block in (block for message in messages for block in _blocks_of(message)):
        if MARKER in block:
            block[MARKER] = marker


def _blocks_of(message: Any) -> list[Any]:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


# ------------------------------------------------------------------ further fields of a provider


def other_fields(block: Json, *read: str) -> Json:
    """The fields of a block that neutral values have no place for, without nulls, empty lists and cache markers."""
    if block.keys() <= {*read}:  # nearly always
        return {}
    return {
        key: valid(value)
        for key, value in block.items()
        if key not in read and key not in MARKERS and value is not None and value != []
    }


def with_fields(part: Part, provider: str, fields: Json) -> tuple[Part, ...]:
    """The part, and after it the further fields that its provider gave it."""
    return (part, *fields_part(provider, _fields_kind(part), fields)) if fields else (part,)


def fields_part(provider: str, kind: str, fields: Json) -> tuple[Opaque, ...]:
    """Further fields as an opaque part of this kind, such as "+message"; nothing if there are no fields."""
    return (Opaque(provider, kind, fields),) if fields else ()


def in_role(message: Message, provider: str) -> Message:
    """Return a message that the provider gets in its list, with a part that says so if it is one of the system."""
    if message.role is not Role.SYSTEM:
        return message
    return replace(message, parts=(Opaque(provider, ROLE, {}), *message.parts))


def is_role(part: Part) -> bool:
    """Whether a part says that the provider gets its message in the role of the system in the middle of its list."""
    return isinstance(part, Opaque) and part.kind == ROLE


def text_block(block: Json, provider: str) -> tuple[Part, ...]:
    """The part of a block with `text`, and its further fields. Empty text is no part."""
    return with_fields(text_part(block["text"]), provider, other_fields(block, "type", "text")) if block["text"] else ()


def opaque(provider: str, block: Json, kind: str = "") -> tuple[Opaque, ...]:
    """A block that only this provider knows, unchanged but for cache markers."""
    raw = {key: valid(_unmarked(value)) for key, value in block.items() if key not in MARKERS}
    return (Opaque(provider, kind or str(block.get("type")), raw),)


def _unmarked(value: Any, depth: int = 3) -> Any:
    """Return what a block has inside without the markers of blocks there. Other data is as it was."""
    if isinstance(value, list) and depth:
        return [_unmarked(each, depth - 1) for each in value]
    if not isinstance(value, dict) or not depth or "type" not in value:
        return value
    return {key: _unmarked(each, depth - 1) for key, each in value.items() if key not in MARKERS}


def visible_parts(parts: Iterable[Part], provider: str) -> Iterator[tuple[Part, Json]]:
    """The parts that this provider may see, each with a copy of its further fields, without opaque parts of others."""
    pending: tuple[Part, Json] | None = None
    for part in parts:
        if isinstance(part, Opaque) and part.provider != provider:
            continue
        if isinstance(part, Opaque) and part.kind in ("+text", "+call", "+image", "+file"):
            if pending is not None and _fields_kind(pending[0]) == part.kind:
                pending = (pending[0], copy_json(part.raw))
            continue
        if pending is not None:
            yield pending
        pending = (part, {})
    if pending is not None:
        yield pending


def fields_of(parts: Iterable[Part], provider: str, kind: str) -> Json:
    """The further fields of a whole message or result, if this provider gave any."""
    for part in parts:
        if isinstance(part, Opaque) and part.provider == provider and part.kind == kind:
            return copy_object(part.raw)
    return {}


def _is_fields(part: Part) -> bool:
    return isinstance(part, Opaque) and part.kind.startswith("+")


def _fields_kind(part: Part) -> str:
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


def call_from(call_id: str, name: str, arguments: str | Json | None) -> Call:
    """A call with these arguments. Their text is kept if dumping the values would not give it back.

    Some servers that use a provider's format send the values themselves. Those that `is_deep` are kept as text.
    """
    if not isinstance(arguments, str):
        values = valid(arguments)
        return Call(call_id, name, raw=dumped(values)) if is_deep(values) else Call(call_id, name, values)
    arguments = text_of(text_part(arguments))
    try:
        values = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, RecursionError):
        return Call(call_id, name, raw=arguments)
    if is_deep(values):
        return Call(call_id, name, raw=arguments)
    is_whole = values is not None and dumped(values) == arguments
    return Call(call_id, name, values, None if is_whole else arguments)


def arguments_text(call: Call) -> str:
    """The arguments as text, byte for byte as the model wrote them. A call without arguments has an empty object."""
    if call.raw is not None:
        return call.raw
    return "{}" if call.input is None else dumped(call.input)


def arguments_object(call: Call) -> Json:
    """The arguments as an object. Text that is no object is put in the field `_raw`; empty text is an empty object."""
    if isinstance(call.input, dict) and not is_deep(call.input):
        return copy_object(call.input)
    text = arguments_text(call)
    return {"_raw": text} if text not in ("", "{}") else {}


# ------------------------------------------------------------------ images and files

MAGIC = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}


def image_type(image: Image) -> str:
    """The media type of an inline image, guessed from its first bytes if it is not given."""
    return image.media_type or next((kind for magic, kind in MAGIC.items() if image.data.startswith(magic)), "")


def label(part: Image | File) -> str:
    """A line of text in the place of an image or file that the provider does not accept: its kind, name and address."""
    kind = "image" if isinstance(part, Image) else "file"
    name = part.name if isinstance(part, File) else ""
    url = "" if part.url.startswith("data:") else part.url
    return f"[{' '.join(filter(None, map(plain_name, (kind, name, part.media_type, url, part.file_id))))}]"


def without_media(parts: Iterable[Part]) -> list[Part]:
    """The parts with a line of text in the place of each image and file."""
    return [Text(label(part)) if isinstance(part, Image | File) else part for part in parts]


def usable_id(part: Image | File, vendor: str) -> str:
    """The file id of a part, if it may be valid at this vendor: its `extra` names the one that gave it."""
    return part.file_id if part.extra.get("vendor", vendor) == vendor else ""
