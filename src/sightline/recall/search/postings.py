"""Postings: the rows that contain a term, how often each does, and how long these rows are."""

import math
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from sightline.recall.search.terms import CUE, MAX_TERM_CHARS, stems_of, word_terms

MAX_SPAN = 1 << 16  # row numbers have 16 bits within a segment
_MOST_WORDS = 1 << 18  # whose postings are looked up quickly: some 50 MB

# A term's count in a row (3 bits) and the row's length (5 bits) share one byte, the posting's class. That is exact
# enough, because BM25 flattens both.
COUNT_STARTS = (1, 2, 3, 4, 5, 8, 14, 28)  # the least count of each class
COUNTS = (1, 2, 3, 4, 6, 10, 18, 40)  # what each class counts as
LENGTHS = tuple(2 ** ((i + 0.5) / 2) for i in range(32))

# While postings are collected, each is one number of 32 bits: its row, and its class. An array of them is taken apart
# as bytes, without a step of Python for each posting.
ROW = 16  # how far the row is shifted
_ROW_HALF, _CLASS_BYTE = (1, 0) if sys.byteorder == "little" else (0, 3)  # where they stand in a number


class Postings(NamedTuple):
    """The rows that contain one term, ascending and counted from the segment's base, and their classes."""

    rows: "array[int]"
    classes: bytes

    def pack(self, shift: int) -> "array[int]":
        """Return each posting as one number, its row counted from a base that is `shift` lower."""
        return array("I", [row + shift << ROW | class_ for row, class_ in zip(self.rows, self.classes, strict=True)])


def unpack(packed: "bytes | array[int]") -> Postings:
    """Return the postings that these numbers are."""
    data = bytes(packed)
    return Postings(array("H", data)[_ROW_HALF::2], data[_CLASS_BYTE::4])


class RecentRows:
    """The newest rows, in memory until there are enough for a segment. `only`: the terms that are wanted; else all."""

    def __init__(self, only: Collection[str] | None = None) -> None:
        self.packed: defaultdict[str, _Collected] = defaultdict(partial(_Collected, "I"))  # the postings of each term
        self.lengths: dict[int, int] = {}  # by row, ascending
        self.count = 0  # of postings
        self._words = _Words(self.packed, only)

    @property
    def base(self) -> int:
        return next(iter(self.lengths), 0)

    def can_add(self, row: int) -> bool:
        """Return whether this row's number fits into 16 bits, counted from the first row here."""
        return not self.lengths or row - self.base < MAX_SPAN

    def add(self, row: int, words: Iterable[str], length: int) -> None:
        """Add a row, which must be later than all others, with its words and cues, and how long its text is.

        Most of the time to make an index is spent here, so each step is one call for all words.
        """
        counts = Counter(chain.from_iterable(filter(None, map(self._words.__getitem__, words))))
        self.lengths[row] = length
        first = row - self.base << ROW | min(31, int(2 * math.log2(max(length, 1))))
        postings = map(first.__add__, map(_COUNT_CLASSES.__getitem__, counts.values()))
        deque(map(_Collected.append, counts, postings), maxlen=0)
        self.count += len(counts)

    def postings(self, term: str) -> Postings | None:
        """Return the rows that contain a term; None if none does."""
        return unpack(packed) if (packed := self.packed.get(term)) else None

    def since(self, row: int) -> "RecentRows":
        """Return a copy without the rows before this one."""
        later = RecentRows()
        later.lengths = {r: length for r, length in self.lengths.items() if r >= row}
        skipped = later.base - self.base << ROW
        for term, packed in self.packed.items() if later.lengths else ():
            if rest := [posting - skipped for posting in packed[bisect_left(packed, skipped) :]]:
                later.packed[term] = _Collected("I", rest)
                later.count += len(rest)
        return later


class _Collected(array):  # type: ignore[type-arg]
    """The postings of one term. They are a key of the terms that are counted in a row, whatever they contain."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]


class _Words(dict[str, tuple[_Collected, ...]]):
    """The postings of the terms of each word or cue, so that a row is added with one look-up for each of its words.

    What is longer than a term, such as a line of Chinese, hardly comes again, and is not kept.
    """

    def __init__(self, packed: defaultdict[str, _Collected], only: Collection[str] | None) -> None:
        super().__init__()
        self._packed, self._only, self._stems = packed, only, stems_of(only or ())

    def __missing__(self, word: str) -> tuple[_Collected, ...]:
        if self._only is not None and word.isascii() and not self._stems.search(word.lower().replace(",", "")):
            terms: Sequence[str] = ()
        else:
            terms = (word,) if word.startswith(CUE) else word_terms(word)
        if self._only is not None:
            terms = [term for term in terms if term in self._only]
        lists = tuple(map(self._packed.__getitem__, terms))
        if len(word) <= MAX_TERM_CHARS:
            if len(self) >= _MOST_WORDS:  # where few terms are wanted, no flush ends it
                self.clear()
            self[word] = lists
        return lists


class _CountClasses(dict[int, int]):
    """The bits of a posting's class that say how often the term is in the row."""

    def __missing__(self, count: int) -> int:
        return bisect_right(COUNT_STARTS, count) - 1 << 5


_COUNT_CLASSES = _CountClasses({n: bisect_right(COUNT_STARTS, n) - 1 << 5 for n in range(1, COUNT_STARTS[-1])})
