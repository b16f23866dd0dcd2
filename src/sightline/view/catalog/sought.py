"""What somebody looks for in all sessions: words, phrases, and what else must be so. Command and page ask alike."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

from sightline.view.catalog.search_documents import Document
from sightline.view.catalog.search_rows import SearchRow

_PHRASE = re.compile(r'"([^"]+)"')
_WORDS = re.compile(r'"[^"]*"|[^\s"]+')


class Sought(NamedTuple):
    """What to look for."""

    words: str
    phrases: tuple[str, ...]
    path: str
    tool: str
    since: str  # days as 2026-01-31; empty: any
    until: str
    errors: bool

    @property
    def query(self) -> str:
        """All that the index is asked for: a path and a tool stand in the text of a result, with its call."""
        return " ".join(filter(None, (self.words, *self.phrases, self.path, self.tool)))

    def is_in(self, row: SearchRow) -> bool:
        """Whether a row is what was asked for, besides by its words."""
        text, when = " ".join(row.text.split()).casefold(), row.when[:10]
        return (
            all(phrase in text for phrase in self.phrases)
            and self.path.casefold() in text
            and (not self.tool or (row.kind == "tool" and text.partition(" ")[0] == self.tool.casefold()))
            and (row.failed or not self.errors)
            and (not self.since or when >= self.since)
            and (not self.until or "" < when <= self.until)
        )


def sought(words: Sequence[str], path: str, tool: str, since: str, until: str, *, errors: bool) -> Sought:
    """Return what to look for. An argument with blanks, or what stands in double quotes, is a phrase."""
    single: list[str] = []
    phrases: list[str] = []
    for word in words:
        phrases += _PHRASE.findall(word)
        rest = _PHRASE.sub(" ", word).strip()
        (phrases if " " in rest and rest == word.strip() else single).append(rest)
    plain = tuple(" ".join(phrase.split()).casefold() for phrase in phrases)
    return Sought(" ".join(filter(None, single)), plain, path, tool, since, until, errors)


def split_words(line: str) -> list[str]:
    """Return the words and the phrases of a line, such as one typed into a field."""
    return _WORDS.findall(line)


class AmongProject:
    """Lets the sessions of one project through; all, if none is named."""

    def __init__(self, folder: PurePath | None) -> None:
        self._folder = folder

    def __call__(self, _: str, document: Document) -> bool:
        """Whether a session is of the project."""
        return self._folder is None or PurePath(document.look.project or "/").is_relative_to(self._folder)
