"""A log in memory: for tests and throw-away sessions, and as the simplest example of a store."""

import threading
from collections.abc import Iterator
from pathlib import Path

from sightline.log.entries import encode
from sightline.log.stores import Line, Make, Placement, Repairs, Span, Tips
from sightline.log.stores.sequence import number


class MemoryStore:
    """A `Store` that keeps the lines of a log in a list. An offset is an index."""

    def __init__(self, session_id: str = "memory") -> None:
        self.session_id = session_id
        self.tips = Tips()
        self.repairs = Repairs()
        self._lines: list[bytes] = []
        self._lock = threading.Lock()

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:
        with self._lock:
            tips = self.tips.copy()
            placements = []
            for entry in number(make, branch, expected_head, tips):
                line = encode(entry)
                placements.append(Placement(entry, Span(len(self._lines), len(line))))
                self._lines.append(line)
            tips.size = len(self._lines)
            self.tips = tips
            return placements

    def read(self, span: Span) -> bytes:
        return self._lines[span.offset]

    def scan(self, start: int = 0) -> Iterator[Line]:
        for index in range(start, len(self._lines)):
            line = self._lines[index]
            yield Line(Span(index, len(line)), line)

    def refresh(self) -> None:
        """Does nothing, because all writers share the list."""

    def side_file(self, suffix: str) -> Path | None:  # noqa: ARG002 - the protocol's parameter
        """None: this store has no files."""
        return None

    def sync(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""
