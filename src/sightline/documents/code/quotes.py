"""Where a Markdown text quotes code: in fences and between backticks."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

# A fence, also in a list or a quotation. A fence of backticks has no further backtick in its line.
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<marks>`{3,}(?=[^`]*\Z)|~{3,})")
_TICKS = re.compile("`+")


class Quoted(NamedTuple):
    """One piece of quoted code, with its marks. A fence that is not closed reaches to the end of the text."""

    start: int
    end: int
    is_closed: bool = True


class PlainPlaces:
    """The places of a text outside quoted code. Without `open_fences`, a fence that is not closed quotes nothing."""

    def __init__(self, text: str, *, open_fences: bool = True) -> None:
        inside = [piece for piece in quoted(text) if piece.is_closed or open_fences]
        self._starts = [piece.start for piece in inside]
        self._ends = [piece.end for piece in inside]

    def __contains__(self, place: int) -> bool:
        before = bisect_right(self._starts, place) - 1
        return before < 0 or place >= self._ends[before]


def quoted(text: str) -> Iterator[Quoted]:
    """Yield all quoted code of a text, in order. The time is proportional to its length."""
    paragraph, start, fence, at = 0, 0, "", 0
    for line in text.splitlines(keepends=True):
        begin, at = at, at + len(line)
        if fence:
            marks = line.strip(" \t\r\n>")
            if len(marks) >= len(fence) and not marks.strip(fence[0]):
                yield Quoted(start, at)
                fence, paragraph = "", at
            continue
        opening = _FENCE.match(line)
        if opening or line.isspace():  # backticks do not reach beyond a paragraph
            yield from _inline(text, paragraph, begin)
            paragraph = at
        if opening:
            fence, start = opening["marks"], begin
    if fence:
        yield Quoted(start, len(text), is_closed=False)
    else:
        yield from _inline(text, paragraph, len(text))


def _inline(text: str, start: int, end: int) -> Iterator[Quoted]:
    """Yield code between a run of backticks and the next run of as many. A backslash escapes a backtick."""
    runs = [match.span() for match in _TICKS.finditer(text, start, end)]
    places: dict[int, list[int]] = defaultdict(list)
    for number, (first, last) in enumerate(runs):
        places[last - first].append(number)
    number = 0
    while number < len(runs):
        first, last = runs[number]
        before = text[max(0, first - 64) : first]
        first += (len(before) - len(before.rstrip("\\"))) % 2
        same = places[last - first] if last > first else []
        closing = bisect_right(same, number)
        if closing < len(same):
            number = same[closing]
            yield Quoted(first, runs[number][1])
        number += 1
