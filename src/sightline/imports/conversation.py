"""The values that all readers of recorded conversations give: lines, turns, steps."""

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from sightline.errors import BadInput
from sightline.values.items import Message, Usage


class Use(StrEnum):
    """What an import makes of a line. Every line has exactly one, and every line is kept, whatever it is."""

    MESSAGE = "message"  # it says something in the conversation
    SUMMARY = "summary"  # it replaces what came before it
    ASIDE = "aside"  # a message that is not of the conversation: taken back, written twice, or of a side chain
    METADATA = "metadata"  # of a known type, and no message
    UNKNOWN = "unknown"  # of a type or form that is not known here
    UNREADABLE = "unreadable"  # no JSON


class Line(NamedTuple):
    """One line of a source, or one message of a list. Nothing of it is changed."""

    number: int  # counted from 1
    data: bytes
    type: str = ""  # for counting: the types that the format itself has
    is_torn: bool = False  # the last line, which is no JSON and has no end: it may still be written
    use: Use = Use.METADATA  # what the import makes of it, once its step is known


class FileMark(Struct, frozen=True, array_like=True):
    """A file as it was when it was imported, by which it is known again on any machine: by its name and beginning."""

    name: str
    size: int
    compared: int  # bytes of its beginning
    digest: str  # of these


class Turn(Struct, frozen=True, kw_only=True):
    """One message that a line of the source says."""

    message: Message
    uuid: str = ""  # that of the source, if it has one
    timestamp: str = ""
    by_program: bool = False  # the harness wrote it in the place of the user or of the system
    cwd: str = ""
    git_branch: str = ""


class Compaction(Struct, frozen=True, kw_only=True):
    """The recording program replaced everything before this place by a summary."""

    summary: str
    trigger: str = "auto"
    pre_tokens: int = 0
    post_tokens: int | None = None
    kept_from: str = ""  # uuid of the first turn that stayed as it was; empty: none did
    quoted: tuple[str, str] = ("", "")  # the user's words that the prompts before and after it repeated
    unseen: frozenset[str] = frozenset()  # uuids of turns that the last prompt before it did not show in full
    uuid: str = ""
    timestamp: str = ""


class ClearedResults(Struct, frozen=True):
    """Results that the recording program, or its provider, had taken out of the prompt before a step's turns."""

    calls: frozenset[str] = frozenset()  # the ids of their calls
    oldest: int = 0  # or so many of the oldest


class Step(Struct, frozen=True):
    """Lines that follow each other, and what they add to the conversation: nothing, turns, or a compaction."""

    lines: tuple[Line, ...]
    turns: tuple[Turn, ...] = ()
    compaction: Compaction | None = None
    cleared: ClearedResults | None = None


class Conversation(Protocol):
    """One recorded conversation. Its source is read again by each call, a step at a time.

    kind: the format. name: where it was found, for people. modified: when its file was last changed, in seconds since
    1970; 0 if that is not known. mark: the file as it is now; None if it is no file.
    is_list: it is one JSON document, whose messages are counted as lines; `envelope` is what stands around them.
    """

    kind: str
    name: str
    modified: float
    mark: FileMark | None
    is_list: bool
    envelope: dict[str, Any] | None

    @property
    def key(self) -> str:
        """The id of the session that it is imported as."""

    @property
    def profile(self) -> str:
        """The profile of its provider, by which tokens and prices are counted; empty if that is not known."""

    @property
    def tools(self) -> tuple[Any, ...]:
        """The definitions of its tools, in any provider's form."""

    @property
    def usage(self) -> Usage | None:
        """The tokens of all model calls in the source, each counted once; None if it says nothing about them."""

    def lines(self) -> Iterator[Line]:
        """Yield every line that is not blank, unread."""

    def steps(self, after: int = 0) -> Iterator[Step]:
        """Yield the steps of all lines after this one. Every line is in exactly one step, in order. Raises BadInput."""

    def is_active(self, number: int) -> bool:
        """Whether a line belongs to the conversation as it is now: it was not taken back, and is no side chain."""


def summed(usages: Iterator[Usage]) -> Usage | None:
    """Return the sum of several; None if there are none."""
    total: Usage | None = None
    for usage in usages:
        total = usage if total is None else total + usage
    return total


def check_speaks(conversation: Conversation) -> None:
    """Raise BadInput if nobody says anything, so that no empty session is made of what is no conversation."""
    types: Counter[str] = Counter()
    for step in conversation.steps():
        if step.turns:
            return
        types.update(line.type for line in step.lines)
    types_read = ", ".join(f"{kind} ×{count}" for kind, count in types.most_common(8)) or "nothing"
    raise BadInput(f"{conversation.name} holds no messages; found lines of type: {types_read}")
