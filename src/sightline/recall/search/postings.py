"""Postings: the rows that contain a term, how often each does, and how long these rows are."""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import add, mul
from typing import NamedTuple

from sightline.recall.search.terms import CUE, MAX_TERM_CHARS, word_terms

MAX_SPAN = 1 << 16  # row numbers have 16 bits within a segment

# A term's count in a row (3 bits) and the row's length (5 bits) share one byte, the posting's class. That is exact
# enough, because BM25 flattens both.
COUNT_STARTS = (1, 2, 3, 4, 5, 8, 14, 28)  # the least count of each class
COUNTS = (1, 2, 3, 4, 6, 10, 18, 40)  # what each class counts as
LENGTHS = tuple(2 ** ((i + 0.5) / 2) for i in range(32))

# While postings are collected, each is one number: its row, the class of the row's length, and the exact count.
ROW, LENGTH = 25, 20  # how far they are shifted
COUNT = (1 << LENGTH) - 1  # a mask; no row has a million terms
_COUNT_CLASSES = bytes(max(bisect_right(COUNT_STARTS, n) - 1, 0) << 5 for n in range(COUNT_STARTS[-1] + 1))


class Postings(NamedTuple):
    """The rows that contain one term, ascending and counted from the segment's base, and their classes."""

    rows: "array[int]"
    classes: bytes

    def pack(self, shift: int) -> list[int]:
        """Return each posting as one number, its row counted from a base that is `shift` lower.

        Of its count only the class is known, and stays the same.
        """
        return [
            row + shift << ROW | (class_ & 31) << LENGTH | COUNT_STARTS[class_ >> 5]
            for row, class_ in zip(self.rows, self.classes, strict=True)
        ]


def unpack(packed: Sequence[int]) -> Postings:
    """Return the postings that these numbers are."""
    most = COUNT_STARTS[-1]
    classes = [each >> LENGTH & 31 | _COUNT_CLASSES[n if (n := each & COUNT) < most else most] for each in packed]
    return Postings(array("H", [each >> ROW for each in packed]), bytes(classes))


class RecentRows:
    """The newest rows, in memory until there are enough for a segment."""

    def __init__(self) -> None:
        self.packed: defaultdict[str, list[int]] = defaultdict(list)  # the postings of each term
        self.lengths: dict[int, int] = {}  # by row, ascending
        self.count = 0  # of postings
        self._words = _Words(self.packed)
        self._unpacked: dict[str, Postings] = {}  # of terms that were asked for, as far as there were postings then

    @property
    def base(self) -> int:
        return next(iter(self.lengths), 0)

    def can_add(self, row: int) -> bool:
        """Return whether this row's number fits into 16 bits, counted from the first row here."""
        return not self.lengths or row - self.base < MAX_SPAN

    def add(self, row: int, words: Mapping[str, int]) -> None:
        """Add a row, which must be later than all others, and how often it has each of its words and cues."""
        found = [*map(self._words.__getitem__, words)]
        length = self.lengths[row] = sum(map(mul, map(len, found), words.values()))
        first = row - self.base << ROW | min(31, int(2 * math.log2(max(length, 1)))) << LENGTH
        once, added = first + 1, 0
        for lists, n in zip(found, words.values(), strict=True):
            posting = once if n == 1 else first + n  # one number for many lists
            for packed in lists:
                if packed and packed[-1] >= first:  # another word of this row has the same term
                    packed[-1] += n
                else:
                    packed.append(posting)
                    added += 1
        self.count += added

    def postings(self, term: str) -> Postings | None:
        """Return the rows that contain a term; None if none does. Only those since the last question are unpacked."""
        if not (packed := self.packed.get(term)):
            return None
        known = self._unpacked.get(term)
        if known is None:
            known = self._unpacked[term] = unpack(packed)
        elif new := packed[len(known.rows) :]:
            known = self._unpacked[term] = Postings(*map(add, known, unpack(new)))
        return known

    def since(self, row: int) -> "RecentRows":
        """Return a copy without the rows before this one."""
        later = RecentRows()
        later.lengths = {r: length for r, length in self.lengths.items() if r >= row}
        skipped = later.base - self.base << ROW
        for term, packed in self.packed.items() if later.lengths else ():
            if rest := [each - skipped for each in packed[bisect_left(packed, skipped) :]]:
                later.packed[term] = rest
                later.count += len(rest)
        return later


class _Words(dict[str, tuple[list[int], ...]]):
    """The postings of the terms of each word or cue, so that a row is added with one look-up for each of its words.

    What is longer than a term, such as a line of Chinese, hardly comes again, and is not kept.
    """

    def __init__(self, packed: defaultdict[str, list[int]]) -> None:
        super().__init__()
        self._packed = packed

    def __missing__(self, word: str) -> tuple[list[int], ...]:
        terms = (word,) if word.startswith(CUE) else word_terms(word)
        found = tuple([self._packed[term] for term in terms])
        if len(word) <= MAX_TERM_CHARS:
            self[word] = found
        return found
