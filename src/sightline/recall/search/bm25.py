"""BM25: which rows match the terms of a query best."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from sightline.recall.search.postings import COUNTS, LENGTHS, Postings

K1 = 1.2  # a repeated word adds little; the usual value: 0.9 and 1.6 found within a point of the same
B = 0.6  # how much length counts against a row; 0.4 found most in English chats and meetings, 0.75 in Chinese ones
COMMON = 0.3  # a term in more than this share of the rows tells nothing about any of them
COMMON_FROM = 20  # rows; in fewer, such a share tells nothing either
MAX_SCANNED = 3_000  # postings of the rarest terms, which bring in rows; further terms only add to those: 1 ms


class Hit(NamedTuple):
    """A row that matches, and how well. The greater of two is the better, of equal ones the newer.

    Scores compare only within one search. share: its own match, as a share of that of a row of usual length that
    contains every term of the query once. A row that is only near a match has a small share.
    """

    exact: bool  # it contains something rare that the query names as it is written: a number, an id, a name
    score: float
    row: int
    share: float


class ScoredRow(NamedTuple):
    """A row, and what the terms score in it that bring in rows."""

    score: float
    row: int


class SegmentPostings(NamedTuple):
    """The postings of the wanted terms in one segment, or in the recent rows."""

    base: int
    postings: dict[str, Postings]


class WeightedTerm(NamedTuple):
    """A query term that counts."""

    term: str
    idf: float
    weights: list[float]  # what each class of posting scores, without idf
    brings_rows: bool  # False: it only adds to the scores of rows at which other terms have a search look


def weigh_terms(
    wanted: Sequence[str],
    segments: Sequence[SegmentPostings],
    rows: int,
    mean_length: float,
    common: float,
    limit: int,
) -> list[WeightedTerm]:
    """Return the terms to score by, rarest first. Those in more than a `common` share of the rows count only alone."""
    frequency = _document_frequency(segments)
    frequencies = sorted((frequency[term], term) for term in wanted if frequency[term])
    rare = [(df, term) for df, term in frequencies if df <= common * rows or rows < COMMON_FROM] or frequencies
    floors = [K1 * (1 - B + B * length / mean_length) for length in LENGTHS]
    weights = [count * (K1 + 1) / (count + floor) for count in COUNTS for floor in floors]
    weighted: list[WeightedTerm] = []
    scanned = 0
    for df, term in rare[:limit]:
        scanned += df
        idf = rarity(df, rows)
        brings_rows = scanned <= MAX_SCANNED or not weighted
        weighted.append(WeightedTerm(term, idf, weights, brings_rows))
    return weighted


def rarity(df: int, rows: int) -> float:
    """Return the inverse document frequency of a term that `df` of the rows contain."""
    return math.log(1 + (rows - df + 0.5) / (df + 0.5))


def _document_frequency(segments: Iterable[SegmentPostings]) -> Counter[str]:
    """Return how many rows contain each term."""
    frequency: Counter[str] = Counter()
    for segment in segments:
        frequency.update({term: len(postings.rows) for term, postings in segment.postings.items()})
    return frequency


def best_rows(
    segments: Iterable[SegmentPostings], terms: Sequence[WeightedTerm], limit: int, can_be_found: Callable[[int], int]
) -> list[ScoredRow]:
    """Return the best rows by the terms that bring in rows, of equal ones the newer first.

    `segments` are newest first. Only rows that score enough are asked about.
    """
    best: list[tuple[float, int]] = []
    for base, postings in segments:
        scored = _score_segment(postings, terms)
        least = best[-1][0] if len(best) == limit else 0.0
        good = sorted([(score, local + base) for local, score in scored.items() if score >= least], reverse=True)
        findable = islice(((score, row) for score, row in good if can_be_found(row)), limit)
        best = sorted([*best, *findable], reverse=True)[:limit]
    return [ScoredRow(score, row) for score, row in best]


def highest_share(best: Sequence[ScoredRow], terms: Iterable[WeightedTerm]) -> float:
    """Return what no row's `Hit.share` is above, given the best row by the terms that bring in rows."""
    total = unseen = 0.0
    for term in terms:
        total += term.idf
        unseen += 0.0 if term.brings_rows else term.idf * (K1 + 1)  # the most that a term scores in one row
    return (best[0].score + unseen) / total if best and total else 0.0


def _score_segment(postings: dict[str, Postings], terms: Iterable[WeightedTerm]) -> dict[int, float]:
    """Score the rows of one segment. This is an inner loop of a search."""
    scored: dict[int, float] = {}
    score = scored.get
    for term, idf, weights, brings_rows in terms:
        if brings_rows and term in postings:
            for row, posting_class in zip(*postings[term], strict=False):
                scored[row] = score(row, 0.0) + idf * weights[posting_class]
    return scored
