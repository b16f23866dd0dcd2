"""Ranking: the rows that answer a query best, by BM25."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from sightline.recall.search.postings import LENGTHS, TIMES, Postings

K1 = 1.2  # a word said again adds little; the usual value: 0.9 and 1.6 found within a point of the same
B = 0.6  # how much length counts against a row; 0.4 found most in English chats and meetings, 0.75 in Chinese ones
COMMON = 0.3  # a term in more than this share of the rows says nothing about any of them
COMMON_FROM = 20  # rows; in fewer, a share says nothing either
SCANNED = 6_000  # postings one search reads in full; beyond, terms only add to rows found: 7 ms for 8 at 100,000 rows


class Hit(NamedTuple):
    """A row that matches, and how well; scores compare within one search only.

    share: against a row of usual length that says every term of the query once; what is only near it has little.
    """

    row: int
    score: float
    share: float = 0.0


class Part(NamedTuple):
    """What one segment holds of the terms asked for."""

    base: int
    postings: dict[str, Postings]


class Chosen(NamedTuple):
    """A query term worth scoring: its rarity, what each class of posting scores, whether it may bring in rows alone."""

    term: str
    idf: float
    scores: list[float]
    finds: bool


def chosen_terms(
    wanted: Sequence[str], parts: Sequence[Part], rows: int, mean_length: float, common: float
) -> list[Chosen]:
    """The terms to score by, rarest first. Once SCANNED postings are read, a term only adds to rows already found."""
    standing = _standing(parts)
    found = sorted((standing[term], term) for term in wanted if standing[term])
    telling = [(df, term) for df, term in found if df <= common * rows or rows < COMMON_FROM] or found
    weights = _weights(mean_length)
    chosen: list[Chosen] = []
    read = 0
    for df, term in telling:
        read += df
        idf = rarity(df, rows)
        chosen.append(Chosen(term, idf, [idf * weight for weight in weights], read <= SCANNED or not chosen))
    return chosen


def rarity(df: int, rows: int) -> float:
    """What a term says that stands in so many of the rows."""
    return math.log(1 + (rows - df + 0.5) / (df + 0.5))


def best_coverage(
    parts: Sequence[Part], wanted: Sequence[str], rows: int, may_be_found: Callable[[int], bool]
) -> float:
    """The share of what the terms say, those included that stand nowhere, that the best row holds."""
    standing = _standing(parts)
    said = {term: rarity(standing[term], rows) for term in wanted}
    held: defaultdict[int, float] = defaultdict(float)
    for part in parts:
        for term, postings in part.postings.items():
            if term in said and standing[term] <= max(COMMON * rows, COMMON_FROM):
                for row in postings.rows:
                    held[row + part.base] += said[term]
    best = sorted(held, key=held.__getitem__, reverse=True)
    return next((held[row] for row in best if may_be_found(row)), 0.0) / (sum(said.values()) or 1)


def _standing(parts: Iterable[Part]) -> Counter[str]:
    """In how many rows each term stands."""
    standing: Counter[str] = Counter()
    for part in parts:
        standing.update({term: len(postings.rows) for term, postings in part.postings.items()})
    return standing


def _weights(mean_length: float) -> list[float]:
    """The BM25 weight of every class, without idf."""
    floors = [K1 * (1 - B + B * length / mean_length) for length in LENGTHS]
    return [times * (K1 + 1) / (times + floor) for times in TIMES for floor in floors]


Scored = list[tuple[int, dict[int, float]]]
"""The scores of the rows of each part, newest first: the part's base, and by row counted from it."""


def scored(parts: Iterable[Part], chosen: Sequence[Chosen]) -> Scored:
    """How well every row matches that a term finds."""
    return [(part.base, _scored(part.postings, chosen)) for part in parts]


def best_hits(scored: Scored, chosen: Sequence[Chosen], limit: int, may_be_found: Callable[[int], bool]) -> list[Hit]:
    """The best rows of all parts, the newer first where they are equal. Only good enough ones are asked about."""
    best: list[tuple[float, int]] = []
    for base, scores in scored:
        least = best[-1][0] if len(best) == limit else 0.0
        good = sorted([(s, local + base) for local, s in scores.items() if s >= least], reverse=True)
        best += islice((pair for pair in good if may_be_found(pair[1])), limit)
        best = sorted(best, reverse=True)[:limit]
    everything = sum(term.idf for term in chosen)
    return [Hit(row, score, score / everything) for score, row in best]


def _scored(postings: dict[str, Postings], chosen: Iterable[Chosen]) -> dict[int, float]:
    """The score of every row of one part that a term finds. The inner loop of a search."""
    scored: dict[int, float] = {}
    for term, _, scores, finds in chosen:
        if term not in postings:
            continue
        rows, classes = postings[term]
        gained: Iterable[tuple[int, float]] = zip(rows, map(scores.__getitem__, classes), strict=False)
        if not finds:
            gained = [(row, gain) for row, gain in gained if row in scored]
        for row, gain in gained:
            scored[row] = scored.get(row, 0.0) + gain
    return scored
