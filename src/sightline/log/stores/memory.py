"""A log in memory: for tests, for throw-away sessions, and the plainest statement of what a store does."""

import threading
from collections.abc import Iterator
from pathlib import Path

from sightline.log.entries import encode
from sightline.log.stores import Line, Make, Placement, Repairs, Span, Tips
from sightline.log.stores.sequence import number


class MemoryStore:
    """Keeps the same lines a file would, in a list. An offset is an index."""

    def __init__(self, session_id: str = "memory") -> None:
        self.session_id = session_id
        self.tips = Tips()
        self.repairs = Repairs()
        self._lines: list[bytes] = []
        self._lock = threading.Lock()

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:
        """See `Store.append`."""
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
        """See `Store.read`."""
        return self._lines[span.offset]

    def scan(self, start: int = 0) -> Iterator[Line]:
        """See `Store.scan`."""
        for index in range(start, len(self._lines)):
            line = self._lines[index]
            yield Line(Span(index, len(line)), line)

    def refresh(self) -> None:
        """There is only one list; `tips` is always its end."""

    def side_file(self, suffix: str) -> Path | None:  # noqa: ARG002 - the protocol's parameter
        """Nothing is kept beside memory."""
        return None

    def sync(self) -> None:
        """Memory does not survive; there is nothing to wait for."""

    def close(self) -> None:
        """Nothing to let go of."""
