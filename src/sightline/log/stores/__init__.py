"""Where a log is kept. One protocol, compare-and-append; every store passes the same tests."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec import Struct

from sightline.log.entries import Entry


class Span(NamedTuple):
    """Where a line stands in its store. Opaque to everybody but the store that gave it out."""

    offset: int
    length: int


class Line(NamedTuple):
    """One stored line and its place."""

    span: Span
    data: bytes


class Tips(Struct):
    """What a writer knows of a log: how far it has read, the last seq, each branch's last conversation entry."""

    size: int = 0
    seq: int = 0
    heads: dict[str, str] = {}
    ends: dict[str, int] = {}  # the last seq on each branch, annotations included

    def copy(self) -> "Tips":
        """An independent copy."""
        return Tips(self.size, self.seq, dict(self.heads), dict(self.ends))


class Repairs(Struct):
    """What opening a damaged log did. Empty for a healthy one."""

    torn_bytes: int = 0  # cut from the end and kept in the side file
    torn_file: str = ""
    damaged: list[int] = []  # offsets of lines that cannot be read; they stay where they are


class Placement(NamedTuple):
    """An entry as it was written, and where."""

    entry: Entry
    span: Span


Make = Callable[[int], Sequence[Entry]]
"""Makes the entries of one append, given the seq of the first: what an entry says may name its own number."""


class Store(Protocol):
    """One session's log. `append` is the only way in, and nothing that is in ever changes."""

    session_id: str
    tips: Tips
    repairs: Repairs

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:
        """Write the entries that `make` makes for the next seq as one batch, in order; all or none are kept.

        Conversation entries are written only while `expected_head` is still the last conversation entry of `branch`;
        annotations never conflict. `make` may be called again with another seq if other writers were in between.

        Raises:
            Conflict: the branch has moved on. Nothing was written.
            Unwritable: the disk refused. Nothing was written.
        """
        ...

    def read(self, span: Span) -> bytes:
        """The line at this place."""
        ...

    def scan(self, start: int = 0) -> Iterator[Line]:
        """The lines from this offset on, in order, without holding them all. Damaged ones come as they are."""
        ...

    def refresh(self) -> None:
        """Notice what other writers have appended: `tips` moves past it."""
        ...

    def side_file(self, suffix: str) -> Path | None:
        """Where something derived from this log may be kept beside it; None where nothing is kept."""
        ...

    def sync(self) -> None:
        """Return when everything appended so far survives a power cut."""
        ...

    def close(self) -> None:
        """Let go of files and locks. What is stored stays."""
        ...
