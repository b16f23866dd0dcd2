"""What all views of one database share in a process: its connections, and who has how many of them."""

import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

_FRESH = 10.0  # seconds after which it is no longer known that the database is away


class Pool:
    """The connections of one process, and whose settings each of them has."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.opened: ConnectionPool[Connection[Any]] | None = None
        self.owner = 0  # the process that has the pool: a fork needs its own
        self.closer: weakref.finalize[..., Any] | None = None
        self.check: Callable[[Connection[Any]], None] | None = None  # raises StoreError if it may not be used
        self.unreachable: tuple[float, BaseException] | None = None  # when it was not reached, and what libpq said
        self._lost: tuple[float, float] | None = None  # when the database was lost, and when that was seen last
        self.settings: weakref.WeakKeyDictionary[Connection[Any], tuple[str, str]] = weakref.WeakKeyDictionary()
        self.shares: weakref.WeakValueDictionary[str, threading.Semaphore] = weakref.WeakValueDictionary()

    def share_of(self, tenant: str, most: int) -> threading.Semaphore:
        """What counts the connections that a tenant has now, in all views for it."""
        with self.lock:
            return self.shares.setdefault(tenant, threading.Semaphore(most))

    def note_lost(self) -> None:
        """Remember that the database is away now."""
        now, known = time.monotonic(), self._lost
        self._lost = known[0] if known is not None and now - known[1] < _FRESH else now, now

    def note_found(self) -> None:
        """Remember that the database is there."""
        self._lost = None

    def end_of_patience(self, seconds: float) -> float:
        """Until when it is waited for. That begins when the database was lost, so that not everybody waits for it."""
        now, known = time.monotonic(), self._lost
        return now + seconds if known is None or now - known[1] >= _FRESH else known[0] + seconds
