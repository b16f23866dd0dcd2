"""The document's cache: bounded, each value with a lifetime. For what can be made again, such as tool results."""

from collections import OrderedDict
from typing import Any

from sightline.values.clock import Clock, wall_clock

DEFAULT_TTL = 5 * 60 * 1000  # milliseconds; the ClawdCode document's


class CacheStore:
    """Holds at most `size` values, each for `ttl` milliseconds after it was set. The least recently used goes first."""

    def __init__(self, size: int = 100, ttl: int = DEFAULT_TTL, *, clock: Clock = wall_clock) -> None:
        self._size, self._ttl, self._clock = size, ttl, clock
        self._values: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def set(self, key: str, value: Any, ttl: int | None = None) -> None:
        """Store a value under a key, in place of an earlier one."""
        self._values[key] = (self._clock() + (self._ttl if ttl is None else ttl), value)
        self._values.move_to_end(key)
        while len(self._values) > self._size:
            self._values.popitem(last=False)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value, or `default` if there is none or it is too old. Reading does not prolong its lifetime."""
        if key not in self._values:
            return default
        expires, value = self._values[key]
        if self._clock() >= expires:
            del self._values[key]
            return default
        self._values.move_to_end(key)
        return value
