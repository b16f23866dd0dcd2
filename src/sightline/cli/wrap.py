"""Line breaks between words on a terminal. Where there is no terminal every line stays whole."""

import re

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_WIDE = "\u2e80-\u303f\u3041-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef"  # a line may end between any two of these
_OPENING, _CLOSING = "（【《「『", "，。；：、！？）】》」』"  # no line ends with the former or begins with the latter
_PIECES = re.compile(f" +|[{_OPENING}]*(?:[{_WIDE}]|[^ {_WIDE}]+)[{_CLOSING}]*")
# The blanks before a column. Not those after a sentence: some people write two blanks there.
_COLUMN = re.compile(r"""^ +|(?<![ .!?。！？])(?<![.!?]["')\]”’]) {2,}""")


def wrap_text(text: str, width: int) -> str:
    """Return the text in lines of at most `width` columns. A continued line begins below the last column of its line.

    A word that is longer than a line, such as a path, is left to the terminal to break, so that it is copied whole.
    """
    return "\n".join(each for line in text.split("\n") for each in _lines(line, width))


def _lines(line: str, width: int) -> list[str]:
    done, current, indent = [], "", _indent(line, width)
    for piece in _PIECES.findall(line):
        if current.strip() and not piece.isspace() and cell_len(current + piece) > width:
            done.append(current.rstrip())
            current = indent
        current += piece
    return [*done, current.rstrip()]


def _indent(line: str, width: int) -> str:
    columns = (cell_len(line[: found.end()]) for found in _COLUMN.finditer(line[:width]))
    return " " * max((column for column in columns if column <= width // 2), default=0)


def wrap_for(out: Console, text: str) -> str:
    """Return the text as it is printed there: wrapped on a terminal, unchanged for a program."""
    return wrap_text(text, out.width) if out.is_terminal else text


def print_text(out: Console, text: str, style: str = "", *, lead: tuple[str, str] = ("", "")) -> None:
    """Print a text. `lead`: words before it, and their style. The caller has made both printable."""
    shown = Text(wrap_for(out, lead[0] + text), style=style)
    shown.stylize(lead[1], 0, len(lead[0].rstrip()))
    out.print(shown, soft_wrap=True)
