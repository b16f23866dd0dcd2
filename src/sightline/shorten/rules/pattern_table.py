"""Cues as data: a table has one pattern to a line, and its patterns share word classes.

`<name>` is replaced by the class of that name. In a line, an example follows after two spaces and a number sign.
"""

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import pairwise, repeat
from typing import NamedTuple

from sightline.values.pattern import pattern


class Table:
    """Many patterns as one, compiled when first used: all tables together take longer than the package to load."""

    def __init__(self, lines: str, **classes: str) -> None:
        self._lines, self._classes = lines, classes

    def rows(self) -> list[tuple[str, str]]:
        """Return each line's pattern and its example, or the empty string if it has none."""
        halves = (line.partition("  #") for line in self._lines.strip().splitlines())
        return [(self._filled(row.strip()), example.strip()) for row, _, example in halves]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """All patterns in one, to search with."""
        return _compiled(row for row, _ in self.rows())

    @cached_property
    def _by_place(self) -> "tuple[re.Pattern[str], _Patterns, _Patterns]":
        """The patterns that match only at the start of the text, only at the start of a word, and anywhere."""
        every = [alternative for row, _ in self.rows() for alternative in _alternatives(row)]
        begins = {alternative: _BEHIND.sub("", alternative) for alternative in every}
        first = [alternative for alternative in every if begins[alternative].startswith("^")]
        words = [alternative for alternative in every if begins[alternative].startswith(_WORD)]
        others = [alternative for alternative in every if alternative not in {*first, *words}]
        by_word, anywhere = (
            _Patterns(
                _compiled(some),
                _union(_first_characters(begins[alternative].removeprefix(_WORD)) for alternative in some),
            )
            for some in (words, others)
        )
        return _compiled(first), by_word, anywhere

    def in_(self, text: str) -> bool:
        """Whether a pattern occurs in the text. Most begin at a word, and a text has fewer words than characters."""
        first, (word, characters), (anywhere, begins) = self._by_place
        if first.match(text) or ((begins is None or not begins.isdisjoint(text)) and anywhere.search(text)):
            return True
        starts = [at for at, character in _word_starts(text) if characters is None or character in characters]
        return bool(starts) and any(map(word.match, repeat(text), starts))

    def at(self, text: str, position: int = 0) -> bool:
        """Whether a pattern begins at this position of the text."""
        return bool(self.pattern.match(text, position))

    def _filled(self, row: str) -> str:
        return re.sub(r"<(\w+)>", lambda name: self._filled(self._classes[name[1]]), row)


class _Patterns(NamedTuple):
    """Patterns as one, and the characters with which a match can begin."""

    pattern: re.Pattern[str]
    characters: set[str] | None  # None: any


_WORD = r"\b"
_BEHIND = re.compile(r"^(?:\(\?<[!=][^()]*\))+")  # conditions for what is before a match
_NOTHING = r"(?!)"
_SYNTAX = "\\.[]()^$|"  # a pattern that begins with one of these may match many characters
_LISTED = re.compile(r"\\([^\w\s])|\[([^\\^\]-]+-?)\]")  # an escaped sign, or a class that names its characters
_STARTS = re.compile(r"\b\w")
_DEPTH = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]")  # brackets and bars outside escapes and classes


def _compiled(patterns: Iterable[str]) -> re.Pattern[str]:
    return pattern("|".join(patterns) or _NOTHING)


def _alternatives(pattern: str) -> list[str]:
    """Split a pattern at the alternatives that are not inside a group."""
    depth, cuts = 0, [-1]
    for sign in _DEPTH.finditer(pattern):
        depth += {"(": 1, ")": -1}.get(sign[0], 0)
        if sign[0] == "|" and not depth:
            cuts.append(sign.start())
    return [pattern[first + 1 : end] for first, end in pairwise([*cuts, len(pattern)])]


def _first_characters(pattern: str) -> set[str] | None:
    """Return the characters with which a match can begin; None if that cannot be told."""
    if pattern.startswith("(?:"):
        end = _group_end(pattern)
        begins, rest = (
            [_first_characters(alternative) for alternative in _alternatives(pattern[3:end])],
            pattern[end + 1 :],
        )
    elif listed := _LISTED.match(pattern):
        begins, rest = [{*(listed[1] or listed[2])}], pattern[listed.end() :]
    else:
        begins, rest = [{pattern[0]} if pattern and pattern[0] not in _SYNTAX else None], pattern[1:]
    if rest[:1] in ("?", "*"):
        begins.append(_first_characters(rest[1:].removeprefix("?")))
    return None if rest.startswith("{") else _union(begins)


def _union(characters: Iterable[set[str] | None]) -> set[str] | None:
    """Return all of these characters; None if one of the sets is not known."""
    every = set[str]()
    for some in characters:
        if some is None:
            return None
        every |= some
    return every


def _group_end(pattern: str) -> int:
    """Return where the group ends with which a pattern begins."""
    depth = 0
    for sign in _DEPTH.finditer(pattern):
        depth += {"(": 1, ")": -1}.get(sign[0], 0)
        if not depth:
            return sign.start()
    return len(pattern)


@lru_cache(maxsize=8)  # every table searches the same sentence
def _word_starts(text: str) -> tuple[tuple[int, str], ...]:
    return tuple((start.start(), start[0]) for start in _STARTS.finditer(text))


def any_of(words: str) -> str:
    """Return a pattern for one of these words; `~` in a word is a space."""
    return f"(?:{'|'.join(words.split())})".replace("~", " ")


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())
