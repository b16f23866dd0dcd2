"""Nearness: a turn answers a question by what it says and by what is said around it, by whom, and when.

The weights were fitted on 574 questions about long chats and meetings whose evidence is known (a regression over the
turns of each, five folds, no conversation in both parts: `benchmarks/quality/fitting.py`), then rounded: others around
them find as much.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from sightline.recall.search.bm25 import Chosen, Hit, Part, Scored
from sightline.recall.search.terms import DATED, SPEAKER

WEIGHTS = {100: 2.1, 300: 2.3, 800: 2.7}  # what a term counts at this many tokens' distance, divided by e
OWN = 0.3  # a row that matches stands before its neighbours
SPEAKS = 1.0  # said by somebody whom the question names
MATCHES = 2.2  # so much more where that also matches best
TIMED = 1.2  # names a time, where the question asks for one
STEP = 8  # tokens; distances are told apart no finer
NEAR = [sum(w * math.exp(-STEP * i / reach) for reach, w in WEIGHTS.items()) for i in range(300)]  # to 2,400 tokens
FAR = STEP * len(NEAR)  # tokens, beyond which nothing counts


class Where(NamedTuple):
    """Where to look. `size` is a row's tokens, 0 for one that is not of the conversation: as if it were not there."""

    size: Callable[[int], int]
    among: Callable[[int], bool]  # whether a row may be found
    reach: int  # rows on each side of one that matches
    terms: int  # of a long message, the rarest: they say what it is about
    common: float  # a term in more than this share of the rows counts only where there are no others


def best_around(
    parts: Sequence[Part], chosen: Sequence[Chosen], seeds: Sequence[Hit], scores: Scored, where: Where
) -> list[Hit]:
    """The rows near the seeds that may be found, best first, the newer one first where they are equal."""
    if not seeds:
        return []
    best, everything = seeds[0].score, sum(term.idf for term in chosen)
    speakers = {term for part in parts for term in part.postings if term.startswith(SPEAKER)}
    hits = []
    for first, end in _stretches(sorted(hit.row for hit in seeds), where):
        here = [part for part in _covering(parts, first) if part.base < end]
        by = {row for term in speakers for row in _standing(here, term, first, end)}
        dated = set(_standing(here, DATED, first, end))
        for row, near in enumerate(_near(here, chosen, first, [where.size(row) for row in range(first, end)]), first):
            if near and where.among(row):
                own = _score(scores, row)
                said = OWN * own / best + (SPEAKS + MATCHES * own / best) * (row in by) + TIMED * (row in dated)
                hits.append(Hit(row, near / everything + said, own / everything))
    return sorted(hits, key=lambda hit: (hit.score, hit.row), reverse=True)


def _score(scores: Scored, row: int) -> float:
    """How well a row itself matches."""
    return next((own.get(row - base, 0.0) for base, own in scores if own and row >= base), 0.0)


def _near(parts: Sequence[Part], chosen: Sequence[Chosen], first: int, sizes: Sequence[int]) -> list[float]:
    """What each of the rows from `first` on and its surroundings say of the terms: 7 times their rarity for all."""
    centres = [end - size // 2 for end, size in zip(accumulate(sizes), sizes, strict=True)]
    scores = [0.0] * len(sizes)
    for term in chosen:
        rows = [row - first for row in _standing(parts, term.term, first, first + len(sizes))]
        held = sorted(centres[at] for at in rows if sizes[at])
        if held:
            _add(scores, centres, held, term.idf)
    return [score if size else 0.0 for score, size in zip(scores, sizes, strict=True)]


def _covering(parts: Iterable[Part], first: int) -> Iterator[Part]:
    """The parts, newest first, that may hold this row or later ones."""
    for part in parts:
        if part.postings:
            yield part
            if part.base <= first:
                return


def _standing(parts: Iterable[Part], term: str, first: int, end: int) -> Iterator[int]:
    """The rows of this range in which a term stands."""
    for base, postings in parts:
        if term in postings:
            rows = postings[term].rows
            low, high = bisect_left(rows, max(first - base, 0)), bisect_left(rows, end - base)
            yield from [local + base for local in rows[low:high]]


def _stretches(rows: Sequence[int], where: Where) -> Iterator[tuple[int, int]]:
    """Half-open runs of rows around these, which ascend; those that touch are one."""
    first = end = -1
    for row in rows:
        if row >= end:  # else it is in the run already
            low = _reach(row, -where.reach, where.size)
            if first >= 0 and low > end:
                yield first, end
                first = low
            first = low if first < 0 else first
        end = max(end, _reach(row, where.reach, where.size) + 1)
    if first >= 0:
        yield first, end


def _reach(row: int, most: int, size: Callable[[int], int]) -> int:
    """How far from a row its surroundings go: so many rows to one side, or as far as anything counts."""
    tokens, step = 0, 1 if most > 0 else -1
    for at in range(row + step, max(row + most + step, -1), step):
        if tokens > FAR:
            break
        tokens += size(at)
        row = at
    return row


def _add(scores: list[float], centres: Sequence[int], held: Sequence[int], share: float) -> None:
    """Give each row what the nearest of these places gives it. The inner loop of a search."""
    at, last = 0, len(held) - 1
    for index, centre in enumerate(centres):
        while at < last and held[at + 1] - centre <= centre - held[at]:
            at += 1
        distance = abs(held[at] - centre)
        if distance < FAR:
            scores[index] += share * NEAR[distance // STEP]
