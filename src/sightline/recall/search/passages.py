"""Passages: the lines of a text that answer a query."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple
from unicodedata import normalize

from sightline.recall.search.terms import query_terms, terms

CONTEXT = 2  # lines shown around a matching line
CANDIDATES = 100  # lines tried for one set of passages; a reader has no use for more places
LONGEST_TOKEN = 128  # characters; no vocabulary in use has a longer one, so a text beyond this is not worth counting
SOUGHT = 1 << 24  # characters looked through for all terms together, a millisecond each MB: 16 terms in 1 MB
SOUGHT_TERMS = 4  # but at least so many
PLACES = 1_000  # lines one term brings; one that stands in more of them tells little
READ = 1 << 14  # characters of likely lines that are taken apart into terms: about 10 ms
WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}  # as Chinese and Japanese keyboards may write them


def passages(text: str, query: str, max_tokens: int, count: Callable[[str], int]) -> list[tuple[int, int]]:
    """The lines that match the query best: 1-based inclusive ranges, in order, merged, with CONTEXT lines around where
    there is room, together at most `max_tokens`; everything where that fits.

    Lines are those of `text.split("\n")`, so joining a range gives its text back exactly. Empty where no line matches,
    or none that does fits by itself: the caller then shows the text's beginning, or a cut of the line. In a long text
    a long query counts by its longest terms, and of very many lines that may match only the likeliest are tried.
    """
    lines = text.split("\n")

    def tokens(piece: str) -> int:
        return count(piece) if len(piece) <= max_tokens * LONGEST_TOKEN else max_tokens + 1

    @cache
    def cost(first: int, last: int) -> int:
        return tokens("\n".join(lines[first - 1 : last])) + 1  # the line break after it

    if tokens(text) <= max_tokens:
        return [(1, len(lines))]
    shown: list[tuple[int, int]] = []
    for number in _matching(text, lines, query, lambda number: cost(number, number) <= max_tokens):
        for around in (CONTEXT, 0) if not any(first <= number <= last for first, last in shown) else ():
            wider = _merged(shown, max(1, number - around), min(len(lines), number + around))
            if sum(cost(first, last) for first, last in wider) <= max_tokens:
                shown = wider
                break
    return shown


def _merged(ranges: Iterable[tuple[int, int]], first: int, last: int) -> list[tuple[int, int]]:
    """The ranges and one more, in order; those that touch are one."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted([*ranges, (first, last)]):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _matching(text: str, lines: Sequence[str], query: str, fits: Callable[[int], bool]) -> list[int]:
    """Numbers of lines that hold a query term and fit, the best first: by the rarity of what they hold, then the first.

    Only lines in which a term's letters stand are taken apart, the likeliest first.
    """
    places = _places(text, query_terms(query)[: max(SOUGHT_TERMS, SOUGHT // (len(text) + 1))])
    worth = {term: math.log(1 + len(lines) / found.standing) for term, found in places.items()}
    likely: defaultdict[int, float] = defaultdict(float)
    for term, found in places.items():
        for number in found.numbers:
            likely[number] += worth[term]
    matching: list[tuple[float, int]] = []
    read = 0
    for number in nsmallest(CANDIDATES, likely, key=lambda n: (-likely[n], n)):
        if read < READ and fits(number):
            read += len(lines[number - 1])
            held = worth.keys() & set(terms(lines[number - 1]))
            matching.append((sum(worth[term] for term in sorted(held)), -number))
    return [-number for score, number in sorted(matching, reverse=True) if score]


class Places(NamedTuple):
    """The lines a term may stand in, or the first PLACES of them; and how many there are, counted generously."""

    numbers: set[int]
    standing: int


def _places(text: str, wanted: Iterable[str]) -> dict[str, Places]:
    """Where each term stands that stands anywhere. Letters are compared, not terms: a few lines too many."""
    lowered = text.lower().replace("’", "'")
    cased = text if len(text) == len(lowered) else lowered  # a capital may be two letters in lower case
    places = {}
    for term in wanted:
        spellings = _spellings(term)
        numbers = {n for spelling in spellings for n in islice(_lines_with(spelling, lowered, cased), PLACES)}
        if numbers:
            common = len(numbers) >= PLACES
            places[term] = Places(numbers, sum(map(lowered.count, spellings)) if common else len(numbers))
    return places


def _spellings(term: str) -> set[str]:
    """How what is written where a term stands may begin, in lower case."""
    stem = term[:-1] if term.endswith("y") and len(term) > 3 else term  # studies
    grouped = f"{int(term):,}" if term.isdecimal() else stem
    return {stem, grouped, normalize("NFD", stem), stem.translate(WIDE)}


def _lines_with(spelling: str, lowered: str, cased: str) -> Iterator[int]:
    """The numbers of lines in which a word, or a piece or hump of one, begins so."""
    number, counted = 1, 0
    at = lowered.find(spelling)
    while at >= 0:
        before = cased[at - 1 : at]
        if cased[at].islower() and before.lower() != before.upper():  # amid a word
            at = lowered.find(spelling, at + 1)
            continue
        number += lowered.count("\n", counted, at)
        yield number
        counted = lowered.find("\n", at)
        at = lowered.find(spelling, counted) if counted >= 0 else -1
