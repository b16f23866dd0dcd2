"""Reading one turn: its values, and the spans that quote them."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from sightline.recall.quotes import chinese, english
from sightline.recall.quotes.value import Value

LONGEST = 4_000  # characters of a turn that are read: what is longer is a document, and found by searching
GAP = 3  # characters between two spans that are shown as they are: they cost no more than the mark for what is left out
HAN = re.compile("[\u3400-\u9fff]")
LETTERS = 4  # Latin letters to one Chinese character: beyond it an English turn names something in Chinese


class Quote(NamedTuple):
    """A span of a turn's text: characters first..end, within a line."""

    first: int
    end: int


def quotes(text: str) -> list[Quote]:
    """The spans of a turn that state something to keep: names, moments, figures, what is asked for, with the few words
    that say what it is. Ascending, not overlapping; none for small talk. Reads English and Chinese."""
    return joined(text, [Quote(value.label, value.end) for value in values(text) if value.worth])


def values(text: str) -> tuple[Value, ...]:
    """The values a turn states, in order."""
    return _values(text[:LONGEST])


@lru_cache(maxsize=1 << 12)  # the turns of a session are read again for every ledger
def _values(text: str) -> tuple[Value, ...]:
    latin = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    if latin < (len(text) - latin) * LETTERS and HAN.search(text):
        return tuple(chinese.values(text))
    return tuple(english.values(text))


def joined(text: str, parts: Iterable[Value | Quote]) -> list[Quote]:
    """The parts in order; those that stand close together are one."""
    spans: list[Quote] = []
    for first, end, *_ in sorted(parts):
        if spans and first - spans[-1].end <= GAP and text[spans[-1].end : first].isprintable():
            spans[-1] = Quote(spans[-1].first, max(end, spans[-1].end))
        else:
            spans.append(Quote(first, end))
    return spans
