"""Logs in memory: for tests and throw-away sessions, and as the simplest example of a store."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from sightline.errors import BadInput, SessionNotFound
from sightline.log.entries import encode
from sightline.log.stores import WINDOW_LOG, Line, Make, Placement, Repairs, Span, Tips, check_session_id, number

_order = count(1)


class _Log:
    """What the handles to one log share."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.tips = Tips()
        self.written = 0  # when last, in the order of all appends
        self.parts: dict[str, bytes] = {}
        self.texts: dict[str, str] = {}
        self.lock = threading.Lock()


class MemoryStore:
    """A `Store` that keeps the lines of a log in a list. An offset is an index."""

    def __init__(self, session_id: str = "memory", _log: _Log | None = None) -> None:
        self.session_id = session_id
        self.repairs = Repairs()
        self._log = _log or _Log()
        self.tips = self._log.tips

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:
        log = self._log
        with log.lock:
            self.tips = log.tips
            tips = log.tips.copy()
            entries = number(make, branch, expected_head, tips)
            lines = [encode(entry) for entry in entries]
            first = tips.size
            tips.size += len(lines)
            log.lines += lines
            log.tips = self.tips = tips
            log.written = next(_order)
        return [
            Placement(entry, Span(first + at, len(line)))
            for at, (entry, line) in enumerate(zip(entries, lines, strict=True))
        ]

    def read_many(self, spans: Sequence[Span]) -> list[bytes]:
        lines = self._log.lines
        return [lines[span.offset] if span.offset < len(lines) else b"" for span in spans]

    def scan(self, start: int = 0) -> Iterator[Line]:
        for index in range(start, self.tips.size):
            line = self._log.lines[index]
            yield Line(Span(index, len(line)), line)

    def refresh(self, known: Tips | None = None) -> None:  # noqa: ARG002 - there is nothing to read
        self.tips = self._log.tips

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        parts = self._log.parts
        return {name: data for name in names if (data := parts.get(name))}

    def keep(self, parts: Mapping[str, bytes]) -> None:
        for name, data in parts.items():
            if data:
                self._log.parts[name] = data
            else:
                self._log.parts.pop(name, None)

    def texts(self, digests: Iterable[str]) -> dict[str, str]:
        texts = self._log.texts
        return {digest: texts[digest] for digest in digests if digest in texts}

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        self._log.texts.update(texts)

    def reopened(self) -> "MemoryStore":
        return MemoryStore(self.session_id, self._log)

    def sync(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


class MemoryStores:
    """The `Stores` in memory. They are gone when the program ends."""

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}

    def sessions(self) -> list[str]:
        return [name for name in self._written() if not name.startswith(WINDOW_LOG)]

    def _written(self) -> list[str]:
        written = [(log.written, name) for name, log in self._logs.items() if log.lines]
        return [name for _, name in sorted(written, reverse=True)]

    def create(self, session_id: str) -> MemoryStore:
        if check_session_id(session_id) in self._written():
            raise BadInput(f"session {session_id!r} exists already; Session.resume({session_id!r}) opens it")
        return MemoryStore(session_id, self._logs.setdefault(session_id, _Log()))

    def open(self, session_id: str) -> MemoryStore:
        return MemoryStore(session_id, self._existing(session_id))

    def delete(self, session_id: str) -> None:
        self._existing(session_id)
        del self._logs[session_id]

    def _existing(self, session_id: str) -> _Log:
        if check_session_id(session_id) not in self._written():
            raise SessionNotFound(session_id, "memory")
        return self._logs[session_id]
