"""For tests, ours and yours: a counter of words, clocks and ids that repeat, a model that says its lines."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from sightline.stores.memory import MemoryStore

__all__ = ["MemoryStore", "ScriptedModel", "Ticking", "WordCounter", "numbered_ids"]


class WordCounter:
    """Counts words, so that a test can count on its fingers."""

    name = "words"

    def count(self, text: str) -> int:
        """Words between white space."""
        return len(text.split())


class Ticking:
    """A clock that moves by `step` milliseconds each time it is read, and further when told."""

    def __init__(self, start: int = 1_700_000_000_000, step: int = 1000) -> None:
        self._now, self._step = start, step

    def __call__(self) -> int:
        self._now += self._step
        return self._now

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._now += round(seconds * 1000)


def numbered_ids(prefix: str = "id") -> Callable[[], str]:
    """Ids that repeat from run to run: id000000000000000000001 and so on, 21 characters."""
    numbers = count(1)
    return lambda: f"{prefix}{next(numbers):0{max(1, 21 - len(prefix))}d}"


class ScriptedModel:
    """Says its lines in order, and remembers what it was asked. A line that is an exception is raised."""

    def __init__(self, lines: Iterable[Any]) -> None:
        self._lines = iter(lines)
        self.asked: list[dict[str, Any]] = []

    def __call__(self, **request: Any) -> Any:
        self.asked.append(request)
        line = next(self._lines)
        if isinstance(line, BaseException):
            raise line
        return line
