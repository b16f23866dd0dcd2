"""A dictionary that computes what it does not have. A look-up of a known word costs no Python call."""

from collections.abc import Callable
from typing import Generic, TypeVar

MOST = 16384  # words that are remembered, because the same names come again in every result of a session
LONGEST = 320  # characters; a longer word is data and is not remembered

V = TypeVar("V")


class Memo(dict[str, V], Generic[V]):
    """What `compute` returns for every word met so far. When there are too many words, all are forgotten."""

    def __init__(self, compute: Callable[[str], V]) -> None:
        self._compute = compute

    def __missing__(self, word: str) -> V:
        if len(word) > LONGEST:
            return self._compute(word)
        if len(self) >= MOST:
            self.clear()
        computed = self[word] = self._compute(word)
        return computed
