"""Time, sequence numbers and ids. Only this module gets time and randomness from the machine."""

import os
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

Clock = Callable[[], int]
"""Milliseconds since 1970. A constructor argument wherever time is needed, so that tests can set it."""

Ids = Callable[[], str]
"""Makes one new unique id."""


def wall_clock() -> int:
    """The machine's time in milliseconds."""
    return time.time_ns() // 1_000_000


def nanoid() -> str:
    """21 URL-safe characters, 126 random bits."""
    return urlsafe_b64encode(os.urandom(16))[:21].decode()


@lru_cache(maxsize=8)  # an imported list makes many entries in the same millisecond
def iso(milliseconds: int) -> str:
    """ISO 8601 in UTC with milliseconds, as in entries."""
    seconds, millis = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat()[:19]}.{millis:03d}Z"


def timestamp(clock: Clock) -> str:
    """The time that a clock shows now, as `iso` writes it."""
    return iso(clock())


def milliseconds(timestamp: str) -> int:
    """The inverse of `iso`. Accepts every ISO 8601 form that Python reads; raises ValueError for others."""
    moment = datetime.fromisoformat(timestamp)
    in_zone = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return round(in_zone.timestamp() * 1000)


def known_milliseconds(timestamp: str) -> int | None:
    """As `milliseconds`, for what any program may have written; None: it is no time."""
    try:
        return milliseconds(timestamp)
    except (ValueError, OverflowError):
        return None


def seconds_between(first: str, second: str) -> float:
    """Return the seconds between two times; 0 if one of them is none."""
    begun, ended = known_milliseconds(first), known_milliseconds(second)
    return 0.0 if begun is None or ended is None else (ended - begun) / 1000


def day(seconds: float | None) -> str:
    """The day of a time in seconds since 1970, in UTC: 2026-01-31; empty if it is not known."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).date().isoformat()


class SeqClock:
    """A counter for sequence numbers. Safe under threads."""

    def __init__(self, start: int = 0) -> None:
        self._last = start
        self._lock = threading.Lock()

    @property
    def current(self) -> int:
        """The last number returned by `next`; 0 before the first."""
        return self._last

    def next(self) -> int:
        """The next number, greater than all before."""
        with self._lock:
            self._last += 1
            return self._last
