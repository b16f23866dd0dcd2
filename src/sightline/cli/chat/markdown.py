"""Markdown on a terminal: which blocks of a stream are finished, and how they are drawn.

Nothing in a text can act on the terminal.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import Markdown
from rich.segment import Segment, Segments

from sightline.cli.render import printable

if TYPE_CHECKING:
    from markdown_it.token import Token

_FENCE = re.compile(r"(?P<indent>\s*)(?P<mark>`{3,}(?=[^`]*$)|~{3,}).*")  # backticks follow only in code within a line
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")


def parse_markdown(text: str) -> Markdown:
    """Return the text as something that rich can draw: tags stay visible, addresses follow the link's text."""
    shown = Markdown("", code_theme="ansi_dark", hyperlinks=False)
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    shown.markup, shown.parsed = text, parser.parse(printable(text))
    _make_harmless(shown.parsed)
    return shown


def draw_markdown(out: Console, text: str) -> Segments:
    """Return the text as it is printed: no blank lines around it, no blanks at the ends of lines to be copied along."""
    lines = [_trim(line) for line in out.render_lines(parse_markdown(text), pad=False)]
    filled = [number for number, line in enumerate(lines) if line]
    shown = lines[filled[0] : filled[-1] + 1] if filled else []
    return Segments([segment for line in shown for segment in (*line, Segment.line())])


def _trim(line: Sequence[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = kept[-1]._replace(text=kept[-1].text.rstrip())
    return kept


def _make_harmless(tokens: "Iterable[Token]") -> None:
    """Make what comes out of the parser printable again, because `&#27;` is an escape character to Markdown."""
    for token in tokens:
        token.content = printable(token.content)
        token.info = printable(token.info)
        token.attrs = {
            name: printable(value) if isinstance(value, str) else value for name, value in token.attrs.items()
        }
        _make_harmless(token.children or ())


# ---------------------------------------------------------------------- blocks of a stream


class Blocks:
    """Splits an answer that comes in pieces into blocks. A block is returned once nothing that follows can change it.

    A block is a paragraph, a heading, a whole list, a table, or a fenced piece of code. The work is proportional to
    the text. All blocks together are the answer, apart from blank lines.
    """

    def __init__(self) -> None:
        self._line = ""  # the beginning of a line that has not ended
        self._lines: list[str] = []  # of the unfinished block
        self._blank = 0  # blank lines after them, which belong to the block if it goes on
        self._fence: re.Match[str] | None = None  # that is still open

    def add(self, piece: str) -> list[str]:
        """Add a piece and return the blocks that it finishes."""
        *ended, self._line = (self._line + piece).split("\n")
        return [block for line in ended for block in self._add_line(line.removesuffix("\r"))]

    def finish(self) -> list[str]:
        """End the answer and return its last blocks."""
        last, self._line = self._line, ""
        found = self._add_line(last.removesuffix("\r")) if last else []
        self._fence = None
        return [*found, *self._end_block()]

    @property
    def unfinished(self) -> list[str]:
        """The lines of the block that is not finished, the last one as far as it has come."""
        return [*self._lines, *[""] * self._blank, *([self._line] if self._line else [])]

    def _add_line(self, line: str) -> list[str]:
        """Add a whole line and return the blocks that it finishes: at most the one before it, and its own."""
        if self._fence is not None:
            return self._add_fenced(self._fence, line)
        if not line.strip():
            self._blank += bool(self._lines)
            return []
        self._fence = fence = _FENCE.fullmatch(line)
        before = self._end_block() if (fence is not None and not fence["indent"]) or self._begins_block(line) else []
        self._lines += [*[""] * self._blank, line]
        self._blank = 0
        if _HEADING.match(line) and len(self._lines) == 1:
            return [*before, *self._end_block()]
        return before

    def _add_fenced(self, fence: re.Match[str], line: str) -> list[str]:
        self._lines.append(line)
        mark = line.strip()
        if not (mark.startswith(fence["mark"]) and set(mark) == {fence["mark"][0]}):
            return []
        self._fence = None
        return self._end_block() if not fence["indent"] else []  # an indented one is part of a list

    def _begins_block(self, line: str) -> bool:
        """Whether a line begins a new block: after a blank line, unless it is indented or the next item of a list."""
        if _HEADING.match(line):
            return True
        return bool(self._blank) and not line[0].isspace() and not (_ITEM.match(line) and _ITEM.match(self._lines[0]))

    def _end_block(self) -> list[str]:
        lines, self._lines, self._blank = self._lines, [], 0
        return ["\n".join(lines)] if lines else []
