"""What a session holds of its store after it was closed: the log can still be read, and nothing is written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TypeVar

from sightline.errors import SessionClosed
from sightline.log.stores import Line, Make, Placement, Span, Store, Tips

T = TypeVar("T")


class ClosedStore:
    """The `Store` of a closed session. Each reading opens another handle and closes it again.

    What would write to the log raises SessionClosed. Derived data are not kept.
    """

    def __init__(self, store: Store, project: str = "") -> None:
        self.session_id, self.tips, self.repairs = store.session_id, store.tips, store.repairs
        self._store, self._project = store, project

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:  # noqa: ARG002
        raise SessionClosed(self.session_id, self._project)

    def keep_texts(self, texts: Mapping[str, str]) -> None:  # noqa: ARG002
        raise SessionClosed(self.session_id, self._project)

    def keep(self, parts: Mapping[str, bytes]) -> None:
        """Keeps nothing."""

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

    def refresh(self, known: Tips | None = None) -> None:
        """Does nothing: what others write now is read when the session is opened again."""

    def reopened(self) -> Store:
        return self._store.reopened()

    def sync(self) -> None:
        """Does nothing, because closing has synced."""

    def close(self) -> None:
        """Does nothing."""

    def _read(self, read: Callable[[Store], T]) -> T:
        with closing(self._store.reopened()) as store:
            return read(store)
