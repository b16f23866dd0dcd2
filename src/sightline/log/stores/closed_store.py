"""Stores that can only be read: what a session holds after it was closed, and a log as it was earlier."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import takewhile
from typing import TypeVar

from sightline.errors import SessionClosed
from sightline.log.stores import Line, Make, Placement, Repairs, Span, Store, Tips

T = TypeVar("T")


class _ReadOnly:
    """What would write to the log raises SessionClosed. Derived data are not kept."""

    def __init__(self, store: Store, tips: Tips, repairs: Repairs, project: str = "") -> None:
        self.session_id, self.tips, self.repairs = store.session_id, tips, repairs
        self._store, self._project = store, project

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:  # noqa: ARG002
        raise SessionClosed(self.session_id, self._project)

    def keep_texts(self, texts: Mapping[str, str]) -> None:  # noqa: ARG002
        raise SessionClosed(self.session_id, self._project)

    def keep(self, parts: Mapping[str, bytes]) -> None:
        """Keeps nothing."""

    def refresh(self, known: Tips | None = None) -> None:
        """Does nothing: what others write now is read when the session is opened again."""

    def sync(self) -> None:
        """Does nothing, because nothing is written."""


class LogUpTo(_ReadOnly):
    """The `Store` of a log as it was when it ended at this offset."""

    def __init__(self, store: Store, end: int) -> None:
        store.refresh()
        super().__init__(store, Tips(size=end, seq=1), Repairs())
        self._end = end

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """Keeps nothing: what is composed from it is not sent."""

    def read_many(self, spans: Sequence[Span]) -> list[bytes]:
        return self._store.read_many(spans)

    def scan(self, start: int = 0) -> Iterator[Line]:
        return takewhile(lambda line: line.span.offset < self._end, self._store.scan(start))

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:  # noqa: ARG002 - what is kept is of a longer log
        return {}

    def texts(self, digests: Iterable[str]) -> dict[str, str]:
        return self._store.texts(digests)

    def reopened(self) -> "LogUpTo":
        return LogUpTo(self._store.reopened(), self._end)

    def close(self) -> None:
        self._store.close()


class ClosedStore(_ReadOnly):
    """The `Store` of a closed session. Each reading opens another handle and closes it again."""

    def __init__(self, store: Store, project: str = "") -> None:
        super().__init__(store, store.tips, store.repairs, project)

    def read_many(self, spans: Sequence[Span]) -> list[bytes]:
        return self._read(lambda store: store.read_many(spans)) if spans else []

    def scan(self, start: int = 0) -> Iterator[Line]:
        if start >= self.tips.size:
            return
        with closing(self._store.reopened()) as store:
            store.refresh(self.tips)
            yield from store.scan(start)

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        return self._read(lambda store: store.cache(names))

    def texts(self, digests: Iterable[str]) -> dict[str, str]:
        return self._read(lambda store: store.texts(digests))

    def reopened(self) -> Store:
        return self._store.reopened()

    def close(self) -> None:
        """Does nothing."""

    def _read(self, read: Callable[[Store], T]) -> T:
        with closing(self._store.reopened()) as store:
            return read(store)
