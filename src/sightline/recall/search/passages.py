"""Passages: the lines of a text that match a query."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from heapq import nsmallest
from itertools import islice
from unicodedata import normalize

from sightline.recall.search.terms import terms

CONTEXT = 2  # lines shown around a matching line
MAX_CANDIDATES = 100  # lines tried for one set of passages; a reader has no use for more places
LONGEST_TOKEN = 128  # characters; no vocabulary in use has a longer one, so a longer text need not be counted
MAX_SEARCHED = 1 << 24  # characters searched for all terms together, a millisecond each MB: 16 terms in 1 MB
MIN_TERMS = 4  # that are searched for in any case
MAX_TERMS = 16  # the rarest of a long message tell what it is about
MAX_LINES = 1_000  # lines that one term brings in; a term in more lines tells little
MAX_READ = 1 << 14  # characters of likely lines that are split into terms: about 10 ms
FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}  # as Chinese and Japanese keyboards may write them


def passages(text: str, wanted: Sequence[str], max_tokens: int, count: Callable[[str], int]) -> list[tuple[int, int]]:
    """Return the best lines with wanted terms, as 1-based inclusive ranges in order, within `max_tokens` together.

    A text that fits is returned whole. Matching lines come with CONTEXT lines around them if these fit too; ranges that
    touch are one. Lines are those of `text.split("\n")`, so joining a range gives its text back exactly. The result is
    empty if no line matches or no matching line fits by itself: the caller then shows the text's beginning, or a part
    of the line. Only the first MAX_TERMS terms count, in a long text fewer, and only the likeliest lines are tried.
    """
    lines = text.split("\n")

    @cache
    def tokens(line: str) -> int:
        return count(f"{line}\n") if len(line) <= max_tokens * LONGEST_TOKEN else max_tokens + 1

    if len(text) <= max_tokens * LONGEST_TOKEN and count(text) <= max_tokens:
        return [(1, len(lines))]
    numbers, left = set[int](), max_tokens
    for number in _matching_lines(text, lines, wanted, lambda number: tokens(lines[number - 1]) <= max_tokens):
        if number in numbers:
            continue
        for around in (CONTEXT, 0):
            new = set(range(max(1, number - around), min(len(lines), number + around) + 1)) - numbers
            if (needed := sum(tokens(lines[near - 1]) for near in new)) <= left:
                numbers |= new
                left -= needed
                break
    return merge_ranges((number, number) for number in numbers)


def merge_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return inclusive ranges in order. Ranges that touch become one."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _matching_lines(text: str, lines: Sequence[str], wanted: Sequence[str], fits: Callable[[int], bool]) -> list[int]:
    """Return the numbers of lines that contain a wanted term and fit, best first: by the rarity of their terms.

    Splitting a line into terms is slow, so that is done only for lines that contain a term's letters, likeliest first.
    """
    most = min(MAX_TERMS, max(MIN_TERMS, MAX_SEARCHED // (len(text) + 1)))
    occurrences = _occurrences(text, wanted[:most])
    weights = {term: math.log(1 + len(lines) / total) for term, (_, total) in occurrences.items()}
    likely: defaultdict[int, float] = defaultdict(float)
    for term, (numbers, _) in occurrences.items():
        for number in numbers:
            likely[number] += weights[term]
    matching: list[tuple[float, int]] = []
    read = 0
    for number in nsmallest(MAX_CANDIDATES, likely, key=lambda n: (-likely[n], n)):
        if read < MAX_READ and fits(number):
            read += len(lines[number - 1])
            contained = weights.keys() & set(terms(lines[number - 1]))
            matching.append((math.fsum(weights[term] for term in contained), -number))
    return [-number for score, number in sorted(matching, reverse=True) if score]


def _occurrences(text: str, wanted: Iterable[str]) -> dict[str, tuple[set[int], int]]:
    """Return for each term the lines that may contain it, at most about MAX_LINES of them, and how many there are.

    Letters are compared, not terms, so a few lines are too many.
    """
    lowered = text.lower().replace("’", "'")
    cased = text if len(text) == len(lowered) else lowered  # a capital may be two letters in lower case
    occurrences = {}
    for term in wanted:
        stem = term[:-1] if term.endswith("y") and len(term) > 3 else term  # studies
        grouped = f"{int(term):,}" if term.isdecimal() else stem
        spellings = {stem, grouped}  # as its words may begin
        if not text.isascii():
            spellings |= {normalize("NFD", stem), stem.translate(FULL_WIDTH)}
        numbers = {n for spelling in spellings for n in islice(_lines_with(spelling, lowered, cased), MAX_LINES)}
        if numbers:
            total = sum(map(lowered.count, spellings)) if len(numbers) >= MAX_LINES else len(numbers)
            occurrences[term] = numbers, total
    return occurrences


def _lines_with(spelling: str, lowered: str, cased: str) -> Iterator[int]:
    """Yield the numbers of lines in which a word, or a part of an identifier, begins with this spelling."""
    number, counted = 1, 0
    at = lowered.find(spelling)
    while at >= 0:
        before = cased[at - 1 : at]
        if cased[at].islower() and before.lower() != before.upper():  # inside a word
            at = lowered.find(spelling, at + 1)
            continue
        number += lowered.count("\n", counted, at)
        yield number
        counted = lowered.find("\n", at)
        at = lowered.find(spelling, counted) if counted >= 0 else -1
