"""The values that all other modules pass around: parts, messages, items. Frozen and without behaviour."""

from base64 import b64decode
from enum import IntEnum, StrEnum
from typing import Any

import msgspec
from msgspec import Struct


class Lod(IntEnum):
    """Level of detail of an item. Leaving an item out is not a level."""

    GIST = 0
    SUMMARY = 1
    FULL = 2


GIST, SUMMARY, FULL = Lod  # for inner loops: before Python 3.12 it takes long to look a member up in its class


class Kind(IntEnum):
    """The kind of an item. Its number is stored in logs and columns: add kinds at the end, never renumber."""

    SYSTEM = 0
    USER = 1
    ASSISTANT = 2
    CALL = 3
    RESULT = 4
    WINDOW = 5
    SUMMARY = 6
    RECALL = 7

    @property
    def least(self) -> int:
        """Tokens from which on a text of this kind has lower levels. What the user wrote is the task, and brief."""
        return 200 if self is Kind.USER else 80  # a handle and a label would use up what is saved


class Role(StrEnum):
    """The role of a neutral message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Text(Struct, frozen=True, tag="text", gc=False):
    """Valid Unicode."""

    text: str


class Blob(Struct, frozen=True, tag="bytes", gc=False):
    """Text that was not valid Unicode, kept byte for byte and shown with replacement characters."""

    data: str  # base64
    surrogates: bool = False  # it came as a str with lone surrogates, not as bytes


class Image(Struct, frozen=True, tag="image", omit_defaults=True, gc=False):
    """An image, inline or by address. `extra` has fields of one provider, such as OpenAI's `detail`."""

    media_type: str = ""
    data: str = ""  # base64
    url: str = ""
    file_id: str = ""
    width: int = 0
    height: int = 0
    extra: dict[str, Any] = {}


class File(Struct, frozen=True, tag="file", omit_defaults=True, gc=False):
    """A document, inline or by address."""

    media_type: str = ""
    data: str = ""  # base64
    url: str = ""
    file_id: str = ""
    name: str = ""
    extra: dict[str, Any] = {}


class Call(Struct, frozen=True, tag="call", omit_defaults=True, gc=False):
    """One tool call of the model."""

    id: str
    name: str
    input: Any = None  # the arguments, as JSON values; an object for every well-behaved model
    raw: str | None = None  # the argument text as the provider sent it, if dumping `input` would not give it back

    @property
    def arguments(self) -> dict[str, Any]:
        """The input, if it is an object; else an empty one."""
        return self.input if isinstance(self.input, dict) else {}


class Opaque(Struct, frozen=True, tag="opaque", gc=False):
    """A block that only its provider knows (thinking, reasoning, server tools). It is passed on, never edited."""

    provider: str
    kind: str
    raw: dict[str, Any]


COMPACTIONS = frozenset(("compaction", "compaction_summary", "context_compaction"))
"""The kinds of opaque parts in which a provider keeps all that was said before them, readable by itself only."""

BY_PROGRAM = "+program"  # the kind of an opaque part of a user message: a program wrote this, and not the user


class Result(Struct, frozen=True, tag="result", omit_defaults=True, gc=False):
    """The result of a tool call. `id` is that of the call."""

    id: str
    parts: tuple[Text | Blob | Image | File | Opaque, ...]
    error: str = ""  # empty: no error; otherwise one word: "failed", "interrupted"
    name: str = ""  # of the tool, if the provider says it


Part = Text | Blob | Image | File | Call | Opaque | Result


class Message(Struct, frozen=True, omit_defaults=True, gc=False):
    """A neutral message, read from a provider's format or to be written to one.

    Roles and parts: SYSTEM, USER: Text, Blob, Image, File, Opaque. ASSISTANT: the same and Call, in the model's order.
    TOOL: exactly one Result.
    """

    role: Role
    parts: tuple[Part, ...]
    id: str = ""  # of the item it shows: "412"
    merge_into_previous: bool = False  # it continues the user message before it
    model: str = ""
    usage: "Usage | None" = None
    when: str = ""  # when it was said, in any form; empty: now. Shown with the message when it is recalled


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """Tokens as the provider reports them. `input_tokens` includes those read from and written to its cache.

    hour_tokens: of those written, as many as it keeps for an hour, which costs more.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    written_tokens: int = 0
    hour_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class ToolDefinition(Struct, frozen=True, omit_defaults=True, gc=False):
    """A tool that the model may call. `raw` is the unchanged definition of a provider's own (server-side) tool."""

    name: str
    description: str = ""
    schema: dict[str, Any] = {}
    provider: str = ""
    raw: dict[str, Any] = {}


class Item(Struct, frozen=True, gc=False):
    """One thing that the model may see, as the log has it."""

    id: str  # "412"; the second call of that message is "412.2"
    kind: Kind
    parts: tuple[Part, ...]
    timestamp: str = ""
    by_program: bool = False  # it stands in the place of the user or of the system, and a program wrote it
    when: str = ""  # when it was said, in the words of the caller; empty: at `timestamp`


def plain_text(parts: tuple[Part, ...]) -> str:
    """The text of parts: texts and blobs, also those in results; not calls, images, files and opaque parts."""
    pieces: list[str] = []
    for part in parts:
        match part:
            case Text():
                pieces.append(part.text)
            case Blob():
                pieces.append(blob_text(part))
            case Result():
                pieces.append(plain_text(part.parts))
    return pieces[0] if len(pieces) == 1 else "\n".join(pieces)


def arguments(call: Call) -> str:
    """The arguments of a call as text: as the provider sent them, or else as JSON."""
    return call.raw if call.raw is not None else msgspec.json.encode(call.input).decode()


def blob_text(blob: Blob) -> str:
    """The text of a blob, with U+FFFD for every byte that is no UTF-8."""
    return b64decode(blob.data).decode("utf-8", "replace")
