"""Ranking: the rows that answer a query best, by BM25."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from sightline.search.postings import LENGTHS, TIMES, Postings

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


def chosen_terms(wanted: Sequence[str], parts: Sequence[Part], rows: int, mean_length: float) -> list[Chosen]:
    """The terms to score by, rarest first. Once SCANNED postings are read, a term only adds to rows already found."""
    standing: Counter[str] = Counter()
    for part in parts:
        standing.update({term: len(postings.rows) for term, postings in part.postings.items()})
    found = sorted((standing[term], term) for term in wanted if standing[term])
    telling = [(df, term) for df, term in found if df <= COMMON * rows or rows < COMMON_FROM] or found
    weights = _weights(mean_length)
    chosen: list[Chosen] = []
    read = 0
    for df, term in telling:
        read += df
        idf = math.log(1 + (rows - df + 0.5) / (df + 0.5))
        chosen.append(Chosen(term, idf, [idf * weight for weight in weights], read <= SCANNED or not chosen))
    return chosen


def _weights(mean_length: float) -> list[float]:
    """The BM25 weight of every class, without idf."""
    floors = [K1 * (1 - B + B * length / mean_length) for length in LENGTHS]
    return [times * (K1 + 1) / (times + floor) for times in TIMES for floor in floors]


def best_hits(
    parts: Iterable[Part], chosen: Sequence[Chosen], limit: int, may_be_found: Callable[[int], bool]
) -> list[Hit]:
    """The best rows of all parts, the newer first where they are equal. Only good enough ones are asked about."""
    best: list[tuple[float, int]] = []
    for part in parts:
        least = best[-1][0] if len(best) == limit else 0.0
        good = [(s, local + part.base) for local, s in _scored(part.postings, chosen).items() if s >= least]
        best += [pair for pair in good if may_be_found(pair[1])]
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
