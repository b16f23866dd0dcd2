"""Markdown as it comes in: which blocks are finished, so that each is shown once and for good."""

import re
from typing import NamedTuple

_FENCE = re.compile(r"(?P<indent>\s*)(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")


class _Fence(NamedTuple):
    """An open fence: its mark, and whether it stands alone rather than inside a list."""

    mark: str
    alone: bool


class Blocks:
    """Takes an answer piece by piece, gives back its blocks as soon as nothing that follows can change them.

    A block is what a reader sees as one: a paragraph, a heading, a whole list, a table, a fenced piece of code. Work is
    proportional to what comes in. All blocks together, one after the other, are the answer, blank lines aside.
    """

    def __init__(self) -> None:
        self._line = ""  # the beginning of a line that has not ended
        self._lines: list[str] = []  # of the block that is open
        self._blank = 0  # blank lines after them: they belong to the block if it goes on
        self._fence: _Fence | None = None

    def take(self, piece: str) -> list[str]:
        """The blocks that this piece finishes."""
        *ended, self._line = (self._line + piece).split("\n")
        return [block for line in ended for block in self._ended(line.removesuffix("\r"))]

    def rest(self) -> list[str]:
        """What is left at the end of the answer."""
        last, self._line = self._line, ""
        found = self._ended(last.removesuffix("\r")) if last else []
        self._fence = None
        return [*found, *self._finished()]

    @property
    def open(self) -> list[str]:
        """The lines of the block that is not finished, the last one as far as it has come."""
        return [*self._lines, *[""] * self._blank, *([self._line] if self._line else [])]

    def _ended(self, line: str) -> list[str]:
        """Take in one whole line. The blocks that it finishes: at most one before it, and perhaps its own."""
        if self._fence is not None:
            return self._fenced(self._fence, line)
        if not line.strip():
            self._blank += bool(self._lines)
            return []
        fence = _FENCE.fullmatch(line)
        if fence is not None and "`" in fence["mark"] and "`" in fence["info"]:
            fence = None  # code within a line
        alone = fence is not None and not fence["indent"]
        before = self._finished() if alone or self._begins(line) else []
        self._add(line)
        if fence is not None:
            self._fence = _Fence(fence["mark"], alone)
        elif _HEADING.match(line) and len(self._lines) == 1:
            return [*before, *self._finished()]
        return before

    def _fenced(self, fence: _Fence, line: str) -> list[str]:
        self._lines.append(line)
        mark = line.strip()
        if not (mark.startswith(fence.mark) and set(mark) == {fence.mark[0]}):
            return []
        self._fence = None
        return self._finished() if fence.alone else []

    def _begins(self, line: str) -> bool:
        """Whether a line begins a new block: after a blank one, unless it is indented or goes on with a list."""
        if not self._lines:
            return False
        if _HEADING.match(line):
            return True
        return bool(self._blank) and not line[0].isspace() and not (_ITEM.match(line) and _ITEM.match(self._lines[0]))

    def _add(self, line: str) -> None:
        self._lines += [""] * self._blank
        self._blank = 0
        self._lines.append(line)

    def _finished(self) -> list[str]:
        lines, self._lines, self._blank = self._lines, [], 0
        return ["\n".join(lines)] if lines else []
