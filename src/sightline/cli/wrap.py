"""Words on a terminal: lines that end between them. Where there is no terminal every line stays whole."""

import re

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_WIDE = "\u2e80-\u303f\u3041-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef"  # between two of these any line may end
_OPENING, _CLOSING = (
    "（【《「『",
    "，。；：、！？）】》」』",
)  # but none ends with the former, or begins with the latter
_PIECES = re.compile(f" +|[{_OPENING}]*(?:[{_WIDE}]|[^ {_WIDE}]+)[{_CLOSING}]*")
# What stands before a column. Not where a sentence ends: some people write two blanks between sentences.
_COLUMN = re.compile(r"""^ +|(?<![ .!?。！？])(?<![.!?]["')\]”’]) {2,}""")


def folded(text: str, width: int) -> str:
    """The text in lines of at most `width` columns. What goes on from a line begins below its last column.

    A word that is longer than a line, such as a path, is left to the terminal to break: copied, it is whole.
    """
    return "\n".join(each for line in text.split("\n") for each in _lines(line, width))


def _lines(line: str, width: int) -> list[str]:
    done, now, indent = [], "", _indent(line, width)
    for piece in _PIECES.findall(line):
        if now.strip() and not piece.isspace() and cell_len(now + piece) > width:
            done.append(now.rstrip())
            now = indent
        now += piece
    return [*done, now.rstrip()]


def _indent(line: str, width: int) -> str:
    columns = (cell_len(line[: found.end()]) for found in _COLUMN.finditer(line[:width]))
    return " " * max((column for column in columns if column <= width // 2), default=0)


def shaped(out: Console, text: str) -> str:
    """The text as it is printed there: folded on a terminal, as it is for a program."""
    return folded(text, out.width) if out.is_terminal else text


def prose(out: Console, text: str, style: str = "", *, lead: tuple[str, str] = ("", "")) -> None:
    """Print it. `lead`: what stands before it, and its style. The caller has made both printable."""
    shown = Text(shaped(out, lead[0] + text), style=style)
    shown.stylize(lead[1], 0, len(lead[0].rstrip()))
    out.print(shown, soft_wrap=True)
