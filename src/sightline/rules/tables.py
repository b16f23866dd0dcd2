"""Cues as data: a table has one pattern to a line, and its patterns share classes of words.

`<name>` stands for the class of that name; in a line, an example follows after two spaces and a number sign.
"""

import re
from functools import cached_property


class Table:
    """One pattern out of many. Compiled when first used: all tables together take longer than the package to load."""

    def __init__(self, lines: str, **classes: str) -> None:
        self._lines, self._classes = lines, classes

    def rows(self) -> list[tuple[str, str]]:
        """Each line's pattern and its example; without one, the empty string."""
        halves = (line.partition("  #") for line in self._lines.strip().splitlines())
        return [(self._filled(pattern.strip()), example.strip()) for pattern, _, example in halves]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(pattern for pattern, _ in self.rows()))

    def in_(self, text: str) -> bool:
        """Whether a pattern occurs in the text."""
        return bool(self.pattern.search(text))

    def at(self, text: str, position: int = 0) -> bool:
        """Whether a pattern begins at this position of the text."""
        return bool(self.pattern.match(text, position))

    def _filled(self, pattern: str) -> str:
        return re.sub(r"<(\w+)>", lambda name: self._filled(self._classes[name[1]]), pattern)


def any_of(words: str) -> str:
    """A pattern for one of these words; in a word `~` is a space."""
    return f"(?:{'|'.join(words.split())})".replace("~", " ")


def word_set(words: str) -> frozenset[str]:
    """These words, to look one up."""
    return frozenset(words.split())
