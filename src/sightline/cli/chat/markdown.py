"""Markdown on a terminal, such that nothing in it can act on the terminal."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import Markdown
from rich.segment import Segment, Segments

from sightline.cli.render import printable

if TYPE_CHECKING:
    from markdown_it.token import Token


def rendered(text: str) -> Markdown:
    """The text as rich draws it: tags stay visible, addresses stand beside what links to them."""
    shown = Markdown("", code_theme="ansi_dark", hyperlinks=False)
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    shown.markup, shown.parsed = text, parser.parse(printable(text))
    _harmless(shown.parsed)
    return shown


def drawn(out: Console, text: str) -> Segments:
    """The text as it is printed there: no blank lines around it, no blanks at the end of a line to be copied along."""
    lines = [_trimmed(line) for line in out.render_lines(rendered(text), pad=False)]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    return Segments([segment for line in lines for segment in (*line, Segment.line())])


def _trimmed(line: Sequence[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = kept[-1]._replace(text=kept[-1].text.rstrip())
    return kept


def _harmless(tokens: "Iterable[Token]") -> None:
    """`&#27;` is an escape character to Markdown: what comes out of the parser is made harmless once more."""
    for token in tokens:
        token.content = printable(token.content)
        token.info = printable(token.info)
        token.attrs = {
            name: printable(value) if isinstance(value, str) else value for name, value in token.attrs.items()
        }
        _harmless(token.children or ())
