"""Entries: the lines of a session's log, as they are on disk.

One JSON object per line, whose last field is a checksum. *Conversation* entries form a chain by `parentUuid`.
*Annotations* (what was sent, pinned, set …) have the conversation entry before them as their parent, and are never a
parent themselves. Readers skip what another version wrote and this one does not know. It stays in the file, because a
log is never rewritten.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from zlib import crc32

import msgspec
from msgspec import Raw, Struct, field

from sightline.errors import BadInput
from sightline.values.decoders import convert, decode_json, json_decoder
from sightline.values.items import Call, Item, Kind, Opaque, Part, Result, Text, Usage
from sightline.values.pattern import pattern

BOUNDARY = "compact_boundary"
HEAD_MOVED = "head"
HISTORY = "history"  # which messages of another program's list the entries after it are
IMPORT = "import"  # how far another program's log has been imported
LAID_DOWN = "laid_down"  # what a model found that a user message lays down
LOSS = "loss"
PIN = "pin"
RECEIPT = "receipt"
RENDITION = "rendition"
SETTINGS = "settings"
SOURCE = "source"  # a line of that log
STATE = "state"
TOOLS = "tools"
UNCOMPACT = "uncompact"
WINDOW = "window"

T = TypeVar("T")

CONVERSATION = frozenset({"user", "assistant", "tool_use", "tool_result"})
CHAINED = frozenset({"", "recall", BOUNDARY})  # subtypes of `system` that are part of the conversation


def _nothing() -> str:
    """Return an empty text. As a factory it is written out: the document requires these fields, also where empty."""
    return ""


if TYPE_CHECKING:
    Content: TypeAlias = Raw | str
else:
    Content = Raw  # what is read from a log is decoded when it is needed
"""Parts as an entry has them: JSON, a string or a list of parts. Of an entry that was just made, one text is itself."""


class Body(Struct, frozen=True, omit_defaults=True, gc=False):
    """The message inside an entry."""

    role: str
    content: Content = field(default_factory=_nothing)
    model: str = ""
    usage: Usage | None = None


class ToolUse(Struct, frozen=True, omit_defaults=True, gc=False):
    """A message that is one call, in the form of the ClawdCode document."""

    id: str
    name: str
    input: Any = field(default_factory=lambda: None)  # written out, also if it is none
    raw: str | None = None


class ToolResult(Struct, frozen=True, omit_defaults=True, gc=False):
    """A tool result in the form of the ClawdCode document."""

    id: str
    output: Content = field(default_factory=_nothing)
    error: str = ""
    name: str = ""


class CompactMetadata(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """What a compaction did."""

    trigger: str
    pre_tokens: int
    post_tokens: int | None = None
    files_included: list[str] | None = None


class Entry(Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True, gc=False):
    """One line. The fields before `seq` are those of the ClawdCode document; the others are ours."""

    uuid: str
    parent_uuid: str | None
    session_id: str
    timestamp: str
    type: str
    subtype: str = ""
    cwd: str = ""
    git_branch: str = ""
    version: str = ""
    message: Body | None = None
    tool: ToolUse | None = None
    tool_result: ToolResult | None = None
    is_compact_summary: bool = False
    compact_metadata: CompactMetadata | None = None
    seq: int = 0
    branch: str = ""  # empty: the first branch
    batch: tuple[int, int] | None = None  # (i, n): the i-th of n entries written as one
    tokens: tuple[int | tuple[int, int, int], ...] = ()  # of each item in full; earlier versions wrote all three levels
    subject: str = ""  # what a call or result is about: a path, a command, a URL
    flags: int = 0  # state bits known when it was written
    receipt: int = 0  # of a reply: the number of the payload it answers
    when: str = ""  # when it was said, in the words of the caller; empty: when it was written
    data: Raw = field(default=Raw(b"null"))  # the content of an annotation or recall

    @property
    def in_conversation(self) -> bool:
        """Whether other entries may follow this one in the chain."""
        return _in_conversation(self.type, self.subtype)


class Tip(Struct, omit_defaults=True, rename="camel", gc=False):
    """The part of an entry that a writer needs to append after it. Decoding only this is three times as fast."""

    uuid: str
    type: str
    subtype: str = ""
    branch: str = ""
    seq: int = 0
    batch: tuple[int, int] | None = None
    is_compact_summary: bool = False

    @property
    def in_conversation(self) -> bool:
        """Whether other entries may follow this one in the chain."""
        return _in_conversation(self.type, self.subtype)


def _in_conversation(type_: str, subtype: str) -> bool:
    return type_ in CONVERSATION or (type_ == "system" and subtype in CHAINED)


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for a damaged line, or for one that was made to break the decoder."""

_encoder = msgspec.json.Encoder()
_entry_decoder = json_decoder(Entry)
_tip_decoder = json_decoder(Tip)
_parts_decoder = json_decoder(list[Part])
_any_decoder = msgspec.json.Decoder()


_CHECKSUM = pattern(rb',\s*"crc"\s*:\s*"[^"]*"\s*}\s*$')
_LONGEST_CHECKSUM = 40  # bytes that it is looked for in: more than we write, because another tool may add spaces


def encode(entry: Entry) -> bytes:
    """Encode an entry as one line with its newline. Non-ASCII text stays readable.

    The last field, `crc`, is the CRC-32 of everything before it, because a changed byte may leave a line readable.
    """
    written = memoryview(_encoder.encode(entry))[:-1]
    return b"".join((written, _checksum(written), b"\n"))


def _checksum(written: memoryview) -> bytes:
    return b',"crc":"%08x"}' % crc32(written)


def is_intact(line: bytes) -> bool:
    """Whether a line has the checksum that it was written with, or none, as lines of other tools and older logs."""
    checksum = _CHECKSUM.search(line, max(0, len(line) - _LONGEST_CHECKSUM))
    return checksum is None or checksum[0].rstrip() == _checksum(memoryview(line)[: checksum.start()])


def decode(line: bytes) -> Entry:
    """Decode an entry. Raises one of `UNREADABLE` if the line is none."""
    return _entry_decoder.decode(line)


def decode_tip(line: bytes) -> Tip:
    """Decode only what a writer needs. Raises one of `UNREADABLE` if the line is no entry."""
    return _tip_decoder.decode(line)


def encode_parts(parts: tuple[Part, ...]) -> Content:
    """Encode parts for an entry: one text or nothing is a string, anything else a list in JSON.

    The string is encoded with its line, because the texts of a long list would otherwise be in memory twice.
    """
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return Raw(bytes(memoryview(_encoder.encode(parts))))  # a copy, because the encoder's bytes have spare room


def decode_parts(content: Content) -> tuple[Part, ...]:
    """The inverse of `encode_parts`. Blocks that this version does not know become opaque parts."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    data = memoryview(content)
    if not data:
        return ()
    try:
        if data[0] == 0x22:  # a quote: one JSON string
            text = _any_decoder.decode(data)
            return (Text(text),) if text else ()
        return tuple(_parts_decoder.decode(data))
    except msgspec.ValidationError:
        return tuple(_unknown_parts(_any_decoder.decode(data)))
    except UnicodeDecodeError:  # damaged on disk: read what is left of it
        return decode_parts(Raw(bytes(data).decode("utf-8", "replace").encode()))


def _unknown_parts(content: Any) -> list[Part]:
    parts: list[Part] = []
    for block in content if isinstance(content, list) else [content]:
        try:
            parts.append(convert(block, Part))
        except msgspec.ValidationError:
            raw = block if isinstance(block, dict) else {"value": block}
            parts.append(Opaque("", str(raw.get("type", "value")), raw))
    return parts


def decode_data(entry: Entry, type_: type[T]) -> T:
    """Decode the content of an annotation. Raises BadInput if another program wrote it in another form."""
    try:
        return decode_json(entry.data, type_)
    except UNREADABLE as error:
        raise BadInput(f"entry {entry.uuid} ({entry.subtype}) has content of another form: {error}") from error


def parts_of(entry: Entry) -> tuple[Part, ...]:
    """All parts of a conversation entry, in order."""
    if entry.tool_result is not None:
        result = entry.tool_result
        return (Result(result.id, decode_parts(result.output), result.error, result.name),)  # type: ignore[arg-type]
    parts = decode_parts(entry.message.content) if entry.message is not None else ()
    if entry.tool is not None:
        return (*parts, Call(entry.tool.id, entry.tool.name, entry.tool.input, entry.tool.raw))
    return parts


_SYSTEM_KINDS = {"": Kind.SYSTEM, "recall": Kind.RECALL, WINDOW: Kind.WINDOW}
_USER, _ASSISTANT, _CALL, _RESULT, _SUMMARY = Kind.USER, Kind.ASSISTANT, Kind.CALL, Kind.RESULT, Kind.SUMMARY


def kind_of(entry: Entry) -> Kind | None:
    """The kind of the first item of an entry; None if it has no items."""
    match entry.type:
        case "user":
            return _SUMMARY if entry.is_compact_summary else _USER
        case "assistant" | "tool_use":
            return _ASSISTANT
        case "tool_result":
            return _RESULT if entry.tool_result is not None else None
        case "system":
            return _SYSTEM_KINDS.get(entry.subtype)
        case _:
            return None


def full_tokens(sizes: Iterable[int | tuple[int, int, int]]) -> list[int]:
    """The tokens of items in full, as their entry states them."""
    return [size if isinstance(size, int) else size[2] for size in sizes]


def items_of(entry: Entry) -> list[Item]:
    """The items of an entry: the message, and after an assistant message each of its calls."""
    if (kind := kind_of(entry)) is None:
        return []
    parts = parts_of(entry)
    calls = [part for part in parts if isinstance(part, Call)] if kind is _ASSISTANT else []
    others = tuple(part for part in parts if not isinstance(part, Call)) if calls else parts
    numbered = enumerate(calls, start=1)
    return [
        Item(str(entry.seq), kind, others, entry.timestamp, when=entry.when),
        *(Item(f"{entry.seq}.{no}", _CALL, (call,), entry.timestamp, when=entry.when) for no, call in numbered),
    ]
