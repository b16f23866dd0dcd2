"""Postings: which rows a term stands in, how often, and how long those rows are."""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from typing import NamedTuple

SPAN = 1 << 16  # rows are 16 bit within a segment

# How often a term stands in a row and how long the row is share one byte, its class: 3 bits and 5 bits. Coarse is
# enough, since BM25 flattens both.
TIMES_FROM = (1, 2, 3, 4, 5, 8, 14, 28)
TIMES = (1, 2, 3, 4, 6, 10, 18, 40)  # what each of them counts as
LENGTHS = tuple(2 ** ((i + 0.5) / 2) for i in range(32))


class Postings(NamedTuple):
    """The rows one term stands in, ascending, counted from the segment's base; and their classes."""

    rows: "array[int]"
    classes: bytearray

    def extend(self, later: "Postings", shift: int) -> None:
        """Add rows that stand after these and are counted from a base that is `shift` higher."""
        self.rows.extend([row + shift for row in later.rows])
        self.classes.extend(later.classes)

    def since(self, row: int) -> "Postings":
        """Those from this row on, counted from it."""
        cut = bisect_left(self.rows, row)
        return Postings(array("H", [r - row for r in self.rows[cut:]]), self.classes[cut:])


def no_postings() -> Postings:
    return Postings(array("H"), bytearray())


def packed(postings: Postings) -> bytes:
    return postings.rows.tobytes() + bytes(postings.classes)


def unpacked(blob: bytes) -> Postings:
    cut = len(blob) // 3 * 2
    return Postings(array("H", blob[:cut]), bytearray(blob[cut:]))


class Segment(NamedTuple):
    """A run of rows in the file: where it starts, and what it holds."""

    number: int
    base: int
    rows: int
    length: int  # terms of all its rows together
    postings: int


class Recent:
    """The newest rows, in memory."""

    def __init__(self) -> None:
        self.postings: defaultdict[str, Postings] = defaultdict(no_postings)
        self.lengths: dict[int, int] = {}  # by row, ascending
        self.count = 0  # of postings

    @property
    def base(self) -> int:
        return next(iter(self.lengths), 0)

    @property
    def last(self) -> int:
        return next(reversed(self.lengths), 0)

    def spans(self, row: int) -> bool:
        """Whether this row can be one of them."""
        return not self.lengths or row - self.base < SPAN

    def add(self, row: int, found: list[str]) -> None:
        """Take in a row that stands after all others, by its terms."""
        self.lengths[row] = len(found)
        local, length_class = row - self.base, min(31, int(2 * math.log2(max(len(found), 1))))
        times = Counter(found)
        self.count += len(times)
        for term, n in times.items():
            rows, classes = self.postings[term]
            rows.append(local)
            classes.append(bisect_right(TIMES_FROM, n) - 1 << 5 | length_class)

    def since(self, row: int) -> "Recent":
        """The same without the rows before this one."""
        kept = Recent()
        kept.lengths = {r: length for r, length in self.lengths.items() if r >= row}
        for term, postings in self.postings.items():
            later = postings.since(kept.base - self.base) if kept.lengths else no_postings()
            if later.rows:
                kept.postings[term] = later
                kept.count += len(later.rows)
        return kept
