"""Shows where words were found: a few words of a text around them, with what matched told apart."""

import re
from collections.abc import Iterator

from msgspec import Struct

from sightline.recall.search import CHUNK, CJK_RUN

_LENGTH, _BEFORE = 180, 0.22  # characters of a snippet, and the share of them before the first match
_MOST_WORDS = 32  # of a query
_MOST_MATCHES = 500  # that are weighed against each other
_LABEL = re.compile(r"^\[[^\[\]\n]*\]$|^#\S+ \S+: ", re.MULTILINE)  # what recall puts around passages
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ing|ies|ied|ed|es|s)$", re.IGNORECASE)  # a text may have another: fixed, fixes


class SnippetPart(Struct, frozen=True):
    """A piece of a text; `match`: it is among what was looked for."""

    text: str
    match: bool = False


def excerpt(passages: str, query: str, length: int) -> str:
    """Return the text of a snippet of so many characters."""
    return "".join(part.text for part in snippet(passages, query, length))


def snippet(passages: str, query: str, length: int = _LENGTH) -> list[SnippetPart]:
    """Return the words around the place where most of a query is found. `passages` are as `Session.search` gives them.

    If none of its words stands there as it is, the beginning of the passages is returned.
    """
    text = " ".join(_LABEL.sub("", passages).split())
    words = list(dict.fromkeys(_words(query)))[:_MOST_WORDS]
    matches = []
    if words:
        longest_first = sorted(words, key=len, reverse=True)
        all_matches = re.compile("|".join(longest_first), re.IGNORECASE).finditer(text)
        matches = [match for match, _ in zip(all_matches, range(_MOST_MATCHES), strict=False)]
    before = int(_BEFORE * length)
    start = max(min(_best(matches, length - before) - before, len(text) - length), 0)
    end = min(start + length, len(text))
    return [*_parts(text, matches, start, end)]


def _words(query: str) -> Iterator[str]:
    """Yield patterns of the words of a query as a text may have them: with an ending, or two characters of Chinese."""
    for match in CHUNK.finditer(query):
        word = match.group()
        if CJK_RUN.fullmatch(word):
            yield word
            yield from (word[at : at + 2] for at in range(len(word) - 1))
        elif len(word) > 1:
            yield (
                rf"(?<!\w){re.escape(_ENDING.sub('', word))}(?:\w{{0,3}}(?!\w))?" if word.isalpha() else re.escape(word)
            )


def _best(matches: list[re.Match[str]], length: int) -> int:
    """Return the place from which on most different words are found in so many characters; the first of several."""
    best, most = 0, 0
    for at, match in enumerate(matches):
        end = match.start() + length
        words = {near.group().casefold() for near in matches[at : at + _MOST_WORDS] if near.end() <= end}
        if len(words) > most:
            best, most = match.start(), len(words)
    return best


def _parts(text: str, matches: list[re.Match[str]], start: int, end: int) -> Iterator[SnippetPart]:
    at = start
    lead = "…" if start else ""
    for match in matches:
        if match.start() < at or match.end() > end:
            continue
        if lead or match.start() > at:
            yield SnippetPart(lead + text[at : match.start()])
        yield SnippetPart(match.group(), match=True)
        at, lead = match.end(), ""
    rest = lead + text[at:end] + ("…" if end < len(text) else "")
    if rest:
        yield SnippetPart(rest)
