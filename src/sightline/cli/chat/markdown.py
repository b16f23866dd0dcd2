"""Markdown on a terminal: which blocks of a stream are finished, and how they are drawn.

Nothing in a text can act on the terminal.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import Markdown
from rich.segment import Segment, Segments

from sightline.cli.render import printable

if TYPE_CHECKING:
    from markdown_it.token import Token

_FENCE = re.compile(r"(?P<indent>\s*)(?P<mark>`{3,}(?=[^`]*$)|~{3,}).*")  # backticks follow only in code within a line
_ITEM = re.compile(r"(?P<indent> *)(?P<mark>[-*+]|(?P<number>\d{1,9})(?P<end>[.)]))(?P<gap> +|$)")
_DEEPEST = 3  # blanks before the mark of an item; with more it is code, or part of another item
_WIDEST = 4  # blanks after the mark; with more it is followed by code
_CLOSING = 3  # blanks before the end of a fence, more than before its container; with more the line is code
_DEFINITION = re.compile(r"^( {0,3}\[[^\]\n]+\]:[ \t]*\S.*?)[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")


class Block(NamedTuple):
    """A part of an answer that is drawn by itself: a paragraph, an item of a list, a table, a piece of code."""

    text: str
    number: int | None = None  # of the item of a numbered list, which counts on whatever the text says
    continues: bool = False  # it is the next item of the list before it


def parse_markdown(text: str, number: int | None = None) -> Markdown:
    """Return the text as something that rich can draw: tags stay visible, addresses follow the link's text.

    Where an address stands apart (`[1]: https://…`), that line is shown as it is, because the link's text may be
    another block, which has been drawn already. `number`: of the first item, if the text is one of a numbered list.
    """
    markdown = Markdown("", code_theme="ansi_dark", hyperlinks=False)
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("reference")
    text = _DEFINITION.sub(r"\1  ", text)  # two blanks end the line on the screen too
    markdown.markup, markdown.parsed = text, parser.parse(printable(text))
    _make_harmless(markdown.parsed)
    if number is not None and markdown.parsed and markdown.parsed[0].type == "ordered_list_open":
        markdown.parsed[0].attrs["start"] = number
    return markdown


def draw_markdown(out: Console, text: str, number: int | None = None) -> Segments:
    """Return the text as it is printed: no blank lines around it, no blanks at the ends of lines to be copied along."""
    lines = markdown_lines(out, text, number)
    return Segments([segment for line in lines for segment in (*line, Segment.line())])


def markdown_lines(out: Console, text: str, number: int | None = None) -> list[list[Segment]]:
    """Return the lines of `draw_markdown`."""
    lines = [_trim(line) for line in out.render_lines(parse_markdown(text, number), pad=False)]
    filled = [number for number, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []


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

    A block is a paragraph, a heading, an item of a list with all that is indented under it, a table, or a fenced piece
    of code. The work is proportional to the text. All blocks together are the answer, apart from blank lines.
    """

    def __init__(self) -> None:
        self._line: list[str] = []  # the pieces of a line that has not ended; joined only at its end
        self._lines: list[str] = []  # of the unfinished block
        self._blank = 0  # blank lines after them, which belong to the block if it goes on
        self._fence: re.Match[str] | None = None  # that is still open
        self._item: _Item | None = None  # that the unfinished block is
        self._last: _Item | None = None  # that the block before it is

    def add(self, piece: str) -> list[Block]:
        """Add a piece and return the blocks that it finishes."""
        first, *others = piece.split("\n")
        self._line.append(first)
        blocks: list[Block] = []
        for other in others:
            blocks += self._add_line(self._take_line())
            self._line.append(other)
        return blocks

    def _take_line(self) -> str:
        line, self._line = "".join(self._line), []
        return line.removesuffix("\r")

    def finish(self) -> list[Block]:
        """End the answer and return its last blocks."""
        last = self._take_line()
        blocks = self._add_line(last) if last else []
        self._fence = None
        return [*blocks, *self._end_block()]

    @property
    def unfinished(self) -> list[str]:
        """The lines of the block that is not finished, the last one as far as it has come."""
        line = "".join(self._line)
        return [*self._lines, *[""] * self._blank, *([line] if line else [])]

    @property
    def number(self) -> int | None:
        """The number of the unfinished item of a numbered list."""
        return self._item.number if self._item is not None else None

    def _add_line(self, line: str) -> list[Block]:
        """Add a whole line and return the blocks that it finishes: at most the one before it, and its own."""
        if self._fence is not None:
            return self._add_fenced(self._fence, line)
        if not line.strip():
            self._blank += bool(self._lines)
            return []
        self._fence = fence = self._opens_fence(line)
        item = self._begins_item(line) if fence is None else None
        begins = item is not None or (fence is not None and not fence["indent"]) or self._begins_block(line)
        before = self._end_block() if begins else []
        if item is not None:
            self._item = item.after(self._last)
            self._fence = _FENCE.fullmatch(" " * item.inside + line.expandtabs(4)[item.inside :])  # after the mark
        self._lines += [*[""] * self._blank, line]
        self._blank = 0
        if _HEADING.match(line) and len(self._lines) == 1:
            return [*before, *self._end_block()]
        return before

    def _add_fenced(self, fence: re.Match[str], line: str) -> list[Block]:
        self._lines.append(line)
        mark, outside = line.strip(), len(fence["indent"]) if self._item is not None else 0
        indent = _indent_of(line)
        is_end = mark.startswith(fence["mark"]) and set(mark) == {fence["mark"][0]}
        if not is_end or indent > outside + _CLOSING:
            return []
        self._fence = None
        return self._end_block() if not fence["indent"] else []  # an indented one is part of a list

    def _opens_fence(self, line: str) -> re.Match[str] | None:
        """Return the fence that a line opens. In no list, a line that is indented by more is code, or goes on."""
        fence = _FENCE.fullmatch(line)
        in_list = self._item is not None and bool(self._lines)
        return fence if fence is not None and (in_list or _indent_of(line) <= _DEEPEST) else None

    def _begins_item(self, line: str) -> "_Item | None":
        """Return the item of a list that a line begins; None if it is none, or is part of the item before it."""
        match = _ITEM.match(line.expandtabs(4))
        if match is None:
            return None
        if self._item is not None and self._lines:
            return _Item.of(match) if len(match["indent"]) < self._item.inside else None
        if len(match["indent"]) > _DEEPEST:
            return None
        in_paragraph = bool(self._lines) and not self._blank  # which few marks end
        return _Item.of(match) if not in_paragraph or _ends_paragraph(match) else None

    def _begins_block(self, line: str) -> bool:
        """Whether a line begins a new block: after a blank line, unless it is indented."""
        return _HEADING.match(line) is not None or (bool(self._blank) and not line[0].isspace())

    def _end_block(self) -> list[Block]:
        lines, item, last = self._lines, self._item, self._last
        self._lines, self._blank, self._item = [], 0, None
        if not lines:
            return []
        self._last = item
        continues = item is not None and last is not None and item.mark == last.mark
        return [Block("\n".join(lines), item.number if item is not None else None, continues)]


def _indent_of(line: str) -> int:
    """Return how many columns a line is indented by."""
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip())


def whole_blocks(text: str) -> list[Block]:
    """Return the blocks of a text that has come as a whole."""
    blocks = Blocks()
    return [*blocks.add(text), *blocks.finish()]


class _Item(NamedTuple):
    """The beginning of an item of a list."""

    mark: str  # that the items of one list have in common
    inside: int  # columns that a line of the item is indented by
    number: int | None

    @classmethod
    def of(cls, match: re.Match[str]) -> "_Item":
        gap = len(match["gap"]) if 1 <= len(match["gap"]) <= _WIDEST else 1
        inside = len(match["indent"]) + len(match["mark"]) + gap
        number = int(match["number"]) if match["number"] else None
        return cls(match["end"] or match["mark"], inside, number)

    def after(self, last: "_Item | None") -> "_Item":
        """Return the item as it is after another one: in the same list it has the next number."""
        if last is None or last.mark != self.mark or last.number is None:
            return self
        return self._replace(number=last.number + 1)


def _ends_paragraph(match: re.Match[str]) -> bool:
    """Whether a list can begin in the middle of a paragraph: not with an empty item, and only with the number 1."""
    return bool(match["gap"]) and match.end() < len(match.string) and match["number"] in (None, "1")
