"""Stores: where a log is kept. One protocol with compare-and-append; every store passes the same tests.

Others import `Store` and the values it passes from here, and the stores from `jsonl`, `memory` and `session_folder`.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec import Struct

from sightline.log.entries import Entry


class Span(NamedTuple):
    """The place of a line in its store. Only the store that returned it knows what the numbers mean."""

    offset: int
    length: int


class Line(NamedTuple):
    """A stored line and its place."""

    span: Span
    data: bytes


class Tips(Struct):
    """What a writer knows of a log: how far it has read, the last seq, the last conversation entry of each branch."""

    size: int = 0
    seq: int = 0
    heads: dict[str, str] = {}
    ends: dict[str, int] = {}  # the last seq on each branch, annotations included

    def copy(self) -> "Tips":
        """A copy that shares nothing with this one."""
        return Tips(self.size, self.seq, dict(self.heads), dict(self.ends))


class Repairs(Struct):
    """What was repaired when a damaged log was opened. Empty for a healthy one."""

    torn_bytes: int = 0  # cut from the end and moved to `torn_file`
    torn_file: str = ""
    damaged: list[int] = []  # offsets of lines that cannot be read; they stay in the file


class Placement(NamedTuple):
    """An entry as it was written, and its place."""

    entry: Entry
    span: Span


Make = Callable[[int], Sequence[Entry]]
"""Makes the entries of one append, given the seq of the first, because a text may contain its own handle."""


class Store(Protocol):
    """The log of one session. Entries are added with `append` only, and never change."""

    session_id: str
    tips: Tips
    repairs: Repairs

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:
        """Write the entries that `make` returns for the next seq as one batch: all of them or none.

        Conversation entries are written only if `expected_head` is still the last conversation entry of `branch`.
        Annotations never conflict. `make` may be called again with another seq if other writers were faster.

        Raises:
            Conflict: the branch has another last entry. Nothing was written.
            Unwritable: the disk refused. Nothing was written.
        """

    def read(self, span: Span) -> bytes:
        """The line at this place."""

    def scan(self, start: int = 0) -> Iterator[Line]:
        """The lines from this offset on, in order, not all in memory at once. Damaged lines come as they are."""

    def refresh(self) -> None:
        """Read what other writers have appended, and move `tips` past it."""

    def side_file(self, suffix: str) -> Path | None:
        """The path of a derived file next to this log; None if this store has no files."""

    def sync(self) -> None:
        """Return when everything appended so far survives a power cut."""

    def close(self) -> None:
        """Close files and release locks. What is stored stays."""
