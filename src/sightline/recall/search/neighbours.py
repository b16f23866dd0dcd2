"""Ranks rows by their own text, by the text around them, and by who wrote them and when.

The weights were fitted on 574 questions about long chats and meetings whose evidence is known (a regression over the
turns of each, five folds, no conversation in both parts: `benchmarks/quality/fitting.py`), then rounded: others around
them find as much.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from sightline.recall.search.bm25 import Hit, RowScores, SegmentPostings, WeightedTerm
from sightline.recall.search.passages import merge_ranges
from sightline.recall.search.terms import DATED, SPEAKER

WEIGHTS = {100: 2.1, 300: 2.3, 800: 2.7}  # distance in tokens → weight of a term there, divided by e
OWN = 1.0  # a row's own match, which puts it before its neighbours; from 0.3 to 2 as much is found
SPEAKS = 1.0  # the speaker is somebody whom the question names
SPEAKS_AND_MATCHES = 2.2  # added to that in proportion to the row's own match
NAMES_TIME = 1.2  # the row names a time and the question asks for one
STEP = 8  # tokens: distances are distinguished no finer
NEAR = [sum(w * math.exp(-STEP * i / reach) for reach, w in WEIGHTS.items()) for i in range(300)]  # to 2,400 tokens
FAR = STEP * len(NEAR)  # tokens, beyond which a term does not count
RARE = 5  # rows at most that contain a number, id or name for which they come first


class Breadth(NamedTuple):
    """How far a search looks."""

    reach: int  # rows on each side of one that matches
    terms: int  # of a long query only so many count, the rarest, because they tell what it is about
    common: float  # a term in more than this share of the rows counts only where there are no others


class SearchScope(NamedTuple):
    """Which rows a search looks at, and how far around a match."""

    size: Callable[[int], int]  # a row's tokens; 0 for a row that is not in the conversation, which counts as absent
    among: Callable[[int], bool]  # whether a row may be found
    breadth: Breadth


def rank_with_neighbours(
    segments: Sequence[SegmentPostings],
    terms: Sequence[WeightedTerm],
    seeds: Sequence[Hit],
    scores: RowScores,
    scope: SearchScope,
    exact: Collection[str] = (),
) -> list[Hit]:
    """Return the rows on and around the seeds that may be found, best first, of equal ones the newer first.

    Those come before all others that contain one of the `exact` terms, if few do.
    """
    if not seeds:
        return []
    best, total = seeds[0].score, sum(term.idf for term in terms)
    speaker_terms = {term for segment in segments for term in segment.postings if term.startswith(SPEAKER)}
    holding = {term: sum(len(each.postings[term].rows) for each in segments if term in each.postings) for term in exact}
    rare = [term for term, rows in holding.items() if rows <= RARE]
    hits = []
    reach, size = scope.breadth.reach, scope.size
    for first, last in merge_ranges((_reach(hit.row, -reach, size), _reach(hit.row, reach, size)) for hit in seeds):
        end = last + 1
        here = [segment for segment in _from_row(segments, first) if segment.base < end]
        spoken = {row for term in speaker_terms for row in _rows_with(here, term, first, end)}
        dated = set(_rows_with(here, DATED, first, end))
        named = {row for term in rare for row in _rows_with(here, term, first, end)}
        sizes = [size(row) for row in range(first, end)]
        for row, near in enumerate(_nearness(here, terms, first, sizes), first):
            if near and scope.among(row):
                own = next((found.get(row - base, 0.0) for base, found in scores if found and row >= base), 0.0)
                by_speaker = (SPEAKS + SPEAKS_AND_MATCHES * own / best) * (row in spoken)
                extra = OWN * own / best + by_speaker + NAMES_TIME * (row in dated)
                hits.append(Hit(row, near / total + extra, own / total, row in named))
    return sorted(hits, key=lambda hit: (hit.exact, hit.score, hit.row), reverse=True)


def _nearness(
    segments: Sequence[SegmentPostings], terms: Sequence[WeightedTerm], first: int, sizes: Sequence[int]
) -> list[float]:
    """Return for each row from `first` on how near the terms are: 7 times their rarity if all are in the row itself."""
    centres = [end - size // 2 for end, size in zip(accumulate(sizes), sizes, strict=True)]
    scores = [0.0] * len(sizes)
    for term in terms:
        rows = [row - first for row in _rows_with(segments, term.term, first, first + len(sizes))]
        if places := sorted(centres[at] for at in rows if sizes[at]):
            _add_nearest(scores, centres, places, term.idf)
    return [score if size else 0.0 for score, size in zip(scores, sizes, strict=True)]


def _from_row(segments: Iterable[SegmentPostings], first: int) -> Iterator[SegmentPostings]:
    """Yield the segments, newest first, that may contain this row or later ones."""
    for segment in segments:
        if segment.postings:
            yield segment
            if segment.base <= first:
                return


def _rows_with(segments: Iterable[SegmentPostings], term: str, first: int, end: int) -> Iterator[int]:
    """Yield the rows of this range that contain a term."""
    for base, postings in segments:
        if term in postings:
            rows = postings[term].rows
            low, high = bisect_left(rows, max(first - base, 0)), bisect_left(rows, end - base)
            # Compared again, because the rows of a damaged file may be in any order.
            yield from [local + base for local in rows[low:high] if first <= local + base < end]


def _reach(row: int, max_rows: int, size: Callable[[int], int]) -> int:
    """Return the last row of the surroundings on one side: `max_rows` away (negative: before), or FAR tokens."""
    tokens, step = 0, 1 if max_rows > 0 else -1
    for at in range(row + step, max(row + max_rows + step, -1), step):
        if tokens > FAR:
            break
        tokens += size(at)
        row = at
    return row


def _add_nearest(scores: list[float], centres: Sequence[int], places: Sequence[int], weight: float) -> None:
    """Add to each row's score what the nearest of these places gives it. This is the inner loop of a search."""
    at, last = 0, len(places) - 1
    for index, centre in enumerate(centres):
        while at < last and places[at + 1] - centre <= centre - places[at]:
            at += 1
        if (distance := abs(places[at] - centre)) < FAR:
            scores[index] += weight * NEAR[distance // STEP]
