"""Postings: the rows that contain a term, how often each does, and how long these rows are."""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from typing import NamedTuple

MAX_SPAN = 1 << 16  # row numbers have 16 bits within a segment

# A term's count in a row (3 bits) and the row's length (5 bits) share one byte, the posting's class. That is exact
# enough, because BM25 flattens both.
COUNT_STARTS = (1, 2, 3, 4, 5, 8, 14, 28)  # the least count of each class
COUNTS = (1, 2, 3, 4, 6, 10, 18, 40)  # what each class counts as
LENGTHS = tuple(2 ** ((i + 0.5) / 2) for i in range(32))


class Postings(NamedTuple):
    """The rows that contain one term, ascending and counted from the segment's base, and their classes."""

    rows: "array[int]"
    classes: bytearray

    def extend(self, later: "Postings", shift: int) -> None:
        """Add later rows, which are counted from a base that is `shift` higher."""
        self.rows.extend([row + shift for row in later.rows] if shift else later.rows)
        self.classes.extend(later.classes)

    def since(self, row: int) -> "Postings":
        """Return the postings from this row on, counted from it."""
        cut = bisect_left(self.rows, row)
        return Postings(array("H", [r - row for r in self.rows[cut:]]), self.classes[cut:])


def no_postings() -> Postings:
    return Postings(array("H"), bytearray())


def unpack(blob: bytes) -> Postings:
    """Return the postings of one term as a segment has them: two bytes for each row, then one for each class."""
    cut = len(blob) // 3 * 2
    return Postings(array("H", blob[:cut]), bytearray(blob[cut:]))


class RecentRows:
    """The newest rows, in memory until there are enough for a segment."""

    def __init__(self) -> None:
        self.postings: defaultdict[str, Postings] = defaultdict(no_postings)
        self.lengths: dict[int, int] = {}  # by row, ascending
        self.count = 0  # of postings

    @property
    def base(self) -> int:
        return next(iter(self.lengths), 0)

    def can_add(self, row: int) -> bool:
        """Return whether this row's number fits into 16 bits, counted from the first row here."""
        return not self.lengths or row - self.base < MAX_SPAN

    def add(self, row: int, terms: list[str]) -> None:
        """Add a row, which must be later than all others."""
        self.lengths[row] = len(terms)
        local, length_class = row - self.base, min(31, int(2 * math.log2(max(len(terms), 1))))
        counts = Counter(terms)
        self.count += len(counts)
        for term, n in counts.items():
            rows, classes = self.postings[term]
            rows.append(local)
            classes.append(length_class if n == 1 else bisect_right(COUNT_STARTS, n) - 1 << 5 | length_class)

    def since(self, row: int) -> "RecentRows":
        """Return a copy without the rows before this one."""
        later = RecentRows()
        later.lengths = {r: length for r, length in self.lengths.items() if r >= row}
        for term, postings in self.postings.items():
            rest = postings.since(later.base - self.base) if later.lengths else no_postings()
            if rest.rows:
                later.postings[term] = rest
                later.count += len(rest.rows)
        return later
