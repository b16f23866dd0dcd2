"""A bounded cache with a lifetime: for what may be lost and made again, such as tool results kept between sessions."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from sightline.values.clock import Clock, wall_clock

DEFAULT_TTL = 5 * 60 * 1000  # milliseconds; the ClawdCode document's


class CacheStore:
    """At most `size` values, each for `ttl` milliseconds from when it was set; the least recently used goes first."""

    def __init__(self, size: int = 100, ttl: int = DEFAULT_TTL, *, clock: Clock = wall_clock) -> None:
        self._size, self._ttl, self._clock = size, ttl, clock
        self._values: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def set(self, key: str, value: Any, ttl: int | None = None) -> None:
        """Keep a value under a key, replacing what was there."""
        self._values[key] = (self._clock() + (self._ttl if ttl is None else ttl), value)
        self._values.move_to_end(key)
        while len(self._values) > self._size:
            self._values.popitem(last=False)

    def get(self, key: str, default: Any = None) -> Any:
        """The value, or `default` if it was never set, was evicted or is too old. Reading does not make it younger."""
        if key not in self._values:
            return default
        expires, value = self._values[key]
        if self._clock() >= expires:
            del self._values[key]
            return default
        self._values.move_to_end(key)
        return value

    def get_or_set(self, key: str, make: Callable[[], Any]) -> Any:
        """The value, made and kept if it is not there."""
        absent = object()
        value = self.get(key, absent)
        if value is absent:
            value = make()
            self.set(key, value)
        return value

    def cleanup(self) -> int:
        """Remove what is too old; how many that were."""
        now = self._clock()
        old = [key for key, (expires, _) in self._values.items() if now >= expires]
        for key in old:
            del self._values[key]
        return len(old)
