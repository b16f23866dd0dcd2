"""Ranks rows by their own text, by the text around them, and by who wrote them and when.

The weights were fitted on 574 questions about long chats and meetings whose evidence is known (a regression over the
turns of each, five folds, no conversation in both parts: `benchmarks/quality/fitting.py`), then rounded: others around
them find as much. Those of AROUND and SHORT were fitted to one half of the questions and find as much in the other.
"""

import math
import sys
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import mul
from typing import NamedTuple

from sightline.recall.search.bm25 import Hit, SegmentPostings, WeightedTerm
from sightline.recall.search.passages import merge_ranges
from sightline.recall.search.terms import DATED, SPEAKER

WEIGHTS = {100: 1.8, 300: 1.9, 800: 2.2}  # distance in tokens → weight of a term there, divided by e
OWN = 0.5  # a row's own match, which puts it before its neighbours; from 0 to 1 as much is found
AROUND = 2.0  # the matches around a row, all of them: a stretch that keeps to a subject has many
AROUND_TOKENS = 300  # at this distance they count e times less
SHORT, SHORT_TOKENS = 2.0, 16  # taken from shorter rows: "Mm-hmm", "Okay, go on"
SPEAKS = 1.0  # the speaker is somebody whom the question names
SPEAKS_AND_MATCHES = 2.2  # added to that in proportion to the row's own match
NAMES_TIME = 1.2  # the row names a time and the question asks for one
STEP = 8  # tokens: distances are distinguished no finer
STEPS = [sum(w * math.exp(-STEP * i / reach) for reach, w in WEIGHTS.items()) for i in range(300)]  # to 2,400 tokens
NEAR = [weight for weight in STEPS for _ in range(STEP)]  # what a term weighs at each distance
FAR = len(NEAR)  # tokens, beyond which a term does not count
LARGEST_POWER = 500  # of e, with which distances in a stretch are computed; in a longer one matches count further
LACKS = [SHORT * math.log(max(tokens, 1) / SHORT_TOKENS) for tokens in range(SHORT_TOKENS)]
MAX_RANKED = 20_000  # tokens around the best matches: several times what is brought back
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


class _Stretch:
    """Consecutive rows, with how well each matches the terms and how near to it they are."""

    def __init__(self, first: int, end: int, segments: Sequence[SegmentPostings], size: Callable[[int], int]) -> None:
        self.rows = range(first, end)
        self._segments = [segment for segment in _from_row(segments, first) if segment.base < end][::-1]
        self._sizes = [size(row) for row in self.rows]
        self._centres = [last - size // 2 for last, size in zip(accumulate(self._sizes), self._sizes, strict=True)]
        self.own = self.around = [0.0] * len(self.rows)
        self.near = [0.0] * len(self.rows)  # 7 times the terms' rarity where all are in the row itself

    def add(self, terms: Iterable[WeightedTerm]) -> None:
        """Count terms: for the rows that contain them, and for those near them."""
        alike: dict[tuple[int, ...], float] = {}  # places → rarity, in all, of the terms at just these places
        for term, idf, weights, _ in terms:
            places = []
            for at, posting_class in self._postings(term):
                if self._sizes[at]:
                    self.own[at] += idf * weights[posting_class]
                    places.append(self._centres[at])
            if places:
                together = tuple(sorted(places))
                alike[together] = alike.get(together, 0.0) + idf
        for together, idf in alike.items():
            _add_nearest(self.near, self._centres, together, idf)
        self.around = self._sum_around()

    def _sum_around(self) -> list[float]:
        """Return how well all rows around each match, and it itself: a near one counts more than one further away."""
        fades_in = max(AROUND_TOKENS, self._centres[-1] / LARGEST_POWER)
        grown = [math.exp(centre / fades_in) for centre in self._centres]
        shrunk = [1 / factor for factor in grown]
        upto = accumulate(map(mul, self.own, grown))
        since = [*accumulate(map(mul, reversed(self.own), reversed(shrunk)))][::-1]
        both_sides = zip(map(mul, upto, shrunk), map(mul, since, grown), self.own, strict=True)
        return [before + after - own for before, after, own in both_sides]

    def matches(self) -> Iterator[tuple[int, float, float, float, int]]:
        """Yield the rows on or near which there is a term.

        With how well each matches, how near the terms are to it, how well those around it match, and its size.
        """
        columns = zip(self.rows, self.own, self.near, self.around, self._sizes, strict=True)
        return (match for match in columns if match[2] and match[4])

    def with_any(self, terms: Iterable[str]) -> set[int]:
        """Return the rows that contain one of these terms."""
        return {self.rows[at] for term in terms for at, _ in self._postings(term)}

    def _postings(self, term: str) -> list[tuple[int, int]]:
        """Return the places of the rows that contain a term, counted from the first row, and their classes."""
        places, count = [], len(self.rows)
        for base, postings in self._segments:
            if term in postings:
                rows, classes = postings[term]
                first = self.rows.start - base
                for number in range(bisect_left(rows, first), bisect_left(rows, first + count)):
                    if 0 <= (at := rows[number] - first) < count:  # the rows of a damaged file may be in any order
                        places.append((at, classes[number]))
        return places


def rank_with_neighbours(
    segments: Sequence[SegmentPostings],
    terms: Sequence[WeightedTerm],
    seeds: Iterable[int],
    scope: SearchScope,
    exact: Collection[str] = (),
) -> list[Hit]:
    """Return the rows on and around the seeds that may be found, best first, of equal ones the newer first.

    Those come before all others that contain one of the `exact` terms, if few do.
    """
    total = sum(term.idf for term in terms)
    speaker_terms = {term for segment in segments for term in segment.postings if term.startswith(SPEAKER)}
    other_terms = [term.term for term in terms if SPEAKER + term.term not in speaker_terms]
    holding = {
        term: sum(len(segment.postings[term].rows) for segment in segments if term in segment.postings)
        for term in exact
    }
    rare = [term for term, rows in holding.items() if rows <= RARE]
    stretches = [_Stretch(first, last + 1, segments, scope.size) for first, last in _surroundings(seeds, scope)]
    for stretch in stretches:
        stretch.add(terms)
    best = max((max(stretch.own) for stretch in stretches), default=0.0)
    most = max((max(stretch.around) for stretch in stretches), default=0.0)
    hits = []
    for stretch in stretches:
        spoken, dated, named, said = map(stretch.with_any, (speaker_terms, [DATED], rare, other_terms))
        for row, own, near, around, size in stretch.matches():
            if scope.among(row):
                share = own / best
                lacks = LACKS[size] if size < SHORT_TOKENS else 0.0
                context = AROUND * around / most + lacks
                extra = (OWN + AROUND) * share + context * (1 - share)  # of rows with all words the newer comes first
                if row in spoken:
                    # What matches may be no more than the name before "Yeah".
                    extra += SPEAKS + (SPEAKS_AND_MATCHES + (0.0 if row in said else lacks)) * share
                if row in dated:
                    extra += NAMES_TIME
                score = round(near / total + extra, 9)  # rows with the same words are equal, however they were added up
                hits.append(Hit(row in named, score, row, own / total))
    hits.sort(reverse=True)
    return hits


def _surroundings(seeds: Iterable[int], scope: SearchScope) -> list[tuple[int, int]]:
    """Return the ranges of rows around the best seeds, of MAX_RANKED tokens together or a few more."""
    reach, size = scope.breadth.reach, scope.size
    around: set[int] = set()
    ranges, tokens = [], 0
    for seed in seeds:
        ranges.append((_reach(seed, -reach, size), _reach(seed, reach, size)))
        new = set(range(ranges[-1][0], ranges[-1][1] + 1)) - around
        around |= new
        tokens += sum(map(size, new))
        if tokens >= MAX_RANKED:
            break
    return merge_ranges(ranges)


def _from_row(segments: Iterable[SegmentPostings], first: int) -> Iterator[SegmentPostings]:
    """Yield the segments, newest first, that may contain this row or later ones."""
    for segment in segments:
        if segment.postings:
            yield segment
            if segment.base <= first:
                return


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
    nearest = zip(places, [*((before + after) // 2 for before, after in pairwise(places)), sys.maxsize], strict=True)
    place, until = next(nearest)
    for at, centre in enumerate(centres):
        while centre > until:
            place, until = next(nearest)
        if (distance := abs(centre - place)) < FAR:
            scores[at] += weight * NEAR[distance]
