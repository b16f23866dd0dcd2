"""How output looks: consoles, lines broken between words, rows of columns, bars, sizes, progress, and JSON."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import click
import msgspec
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from sightline.values import screen_text

printable, first_words, human_size = screen_text.printable, screen_text.first_words, screen_text.human_size
bar = screen_text.bar

_PIPED_WIDTH = 120  # columns if there is no terminal: wide enough for every column, narrow enough to read
_GAP = 2
_WIDE = "\u2e80-\u303f\u3041-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef"  # a line may end between any two of these
_OPENING, _CLOSING = "（【《「『", "，。；：、！？）】》」』"  # no line ends with the former or begins with the latter
_PIECES = re.compile(f" +|[{_OPENING}]*(?:[{_WIDE}]|[^ {_WIDE}]+)[{_CLOSING}]*")
# The blanks before a column. Not those after a sentence: some people write two blanks there.
_COLUMN = re.compile(r"""^ +|(?<![ .!?。！？])(?<![.!?]["')\]”’]) {2,}""")


def console() -> Console:
    """Return a console for standard output. No colour when piped or if NO_COLOR is set; COLUMNS sets the width."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, markup=False, emoji=False, width=_PIPED_WIDTH if piped else None)


def error_console() -> Console:
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def print_json(value: Any) -> None:
    """Print one JSON object, indented, in UTF-8. On a terminal, characters that it would act on are escaped."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    if sys.stdout.isatty():  # the same object, because such characters occur only in strings
        text = screen_text.UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text.decode()).encode()
    click.echo(text)


def print_result(sentence: str, facts: Any, *, as_json: bool) -> None:
    """Print what a command did: a sentence for people, or an object for programs."""
    if as_json:
        print_json(facts)
    else:
        console().print(sentence, soft_wrap=True)


def print_stderr(text: str, style: str) -> None:
    """Print a text on standard error, made printable."""
    print_text(error_console(), printable(text), style)


def truncate(text: str, width: int) -> str:
    """Return the text in at most `width` columns, with an ellipsis if it is cut off."""
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def local_time(seconds: float) -> str:
    """Return a date and time in the reader's time zone."""
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"


@contextmanager
def progress(
    screen: Console, text: str, total: int | None = None, *, width: int | None = 40, hidden: bool = False
) -> Iterator[Callable[[], None]]:
    """Show on a terminal what the user waits for, and yield what advances it; nothing where nobody watches.

    With a total: how much is done, and a bar of `width` columns, as wide as the terminal if that is None. Else: since
    when.
    """
    from rich import progress as columns  # few commands let anybody wait

    label = columns.TextColumn("{task.description}", markup=False)
    shape: tuple[columns.ProgressColumn, ...] = (label, columns.BarColumn(width), columns.MofNCompleteColumn())
    if total is None:
        spinner = columns.SpinnerColumn("line" if screen.options.ascii_only else "dots")
        shape = (spinner, label, columns.TimeElapsedColumn())
    with columns.Progress(*shape, console=screen, transient=True, disable=hidden or not screen.is_terminal) as display:
        task = display.add_task(text, total=total)
        yield lambda: display.advance(task)


# ---------------------------------------------------------------------- line breaks


def wrap_text(text: str, width: int) -> str:
    """Return the text in lines of at most `width` columns. A continued line begins below the last column of its line.

    A word that is longer than a line, such as a path, is left to the terminal to break, so that it is copied whole.
    """
    return "\n".join(piece for line in text.split("\n") for piece in _lines(line, width))


def _lines(line: str, width: int) -> list[str]:
    columns = (cell_len(line[: blanks.end()]) for blanks in _COLUMN.finditer(line[:width]))
    indent = " " * max((column for column in columns if column <= width // 2), default=0)
    done, current = [], ""
    for piece in _PIECES.findall(line):
        if current.strip() and not piece.isspace() and cell_len(current + piece) > width:
            done.append(current.rstrip())
            current = indent
        current += piece
    return [*done, current.rstrip()]


def wrap_for(out: Console, text: str) -> str:
    """Return the text as it is printed there: wrapped on a terminal, unchanged for a program."""
    return wrap_text(text, out.width) if out.is_terminal else text


def print_text(out: Console, text: str, style: str = "", *, lead: tuple[str, str] = ("", "")) -> None:
    """Print a text. `lead`: words before it, and their style. The caller has made both printable."""
    styled = Text(wrap_for(out, lead[0] + text), style=style)
    styled.stylize(lead[1], 0, len(lead[0].rstrip()))
    out.print(styled, soft_wrap=True)


# ---------------------------------------------------------------------- tables


def align(rows: Sequence[tuple[str, ...]], indent: int = 2) -> list[str]:
    """Return rows as lines in columns as wide as they need. The terminal wraps the last column."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    cells = ([text + " " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True)] for row in rows)
    return [(" " * indent + "  ".join(row)).rstrip() for row in cells]


class Column(NamedTuple):
    """One column of a table. Width 0: it takes the columns of the screen that are left."""

    title: str
    width: int = 0
    right: bool = False
    spare: int = 0  # above 0: left out on a narrow screen, the highest first
    style: str = ""
    whole: bool = (
        False  # of the last one: nothing is cut off. It goes on below on a terminal, and in the line elsewhere
    )


class Rows:
    """Prints a table whose columns have a fixed width, so that each row can be printed at once."""

    def __init__(self, console: Console, columns: Sequence[Column], *, least: int = 16) -> None:
        self._console, self._columns = console, columns
        self._kept = list(columns)
        while self._rest() < least and any(column.spare for column in self._kept):
            self._kept.remove(max(self._kept, key=lambda column: column.spare))
        self._last_width = max(self._rest(), 1)  # once, so that all rows stay below their titles

    def _rest(self) -> int:
        return self._console.width - sum(column.width for column in self._kept) - _GAP * (len(self._kept) - 1)

    def print(self, *cells: str | Text, style: str = "") -> None:
        """Print one row: a cell for every column, also for those that were left out."""
        line, below = Text(style=style), []
        for cell, column in zip(cells, self._columns, strict=True):
            if column not in self._kept:
                continue
            text = cell if isinstance(cell, Text) else Text(cell, style=column.style)
            width = column.width or self._last_width
            visible = truncate(text.plain, width)
            if column.whole:
                visible, *below = self._pieces(text.plain, width)
            fitted = Text(visible, style=text.style)
            blanks = " " * (width - fitted.cell_len)
            line.append(" " * _GAP if line else "")
            line.append(blanks if column.right else "")
            line.append(fitted)
            line.append("" if column.right else blanks)
        line.rstrip()
        self._console.print(line, no_wrap=True, crop=False, overflow="ignore")
        for piece in below:
            self.print(*([""] * (len(cells) - 1)), Text(piece, style=text.style), style=style)

    def _pieces(self, text: str, width: int) -> list[str]:
        return wrap_text(text, width).splitlines() or [""] if self._console.is_terminal else [text]

    def print_titles(self) -> None:
        self.print(*(Text(column.title, style="dim") for column in self._columns))


def print_table(
    out: Console, columns: Sequence[Column], rows: Iterable[Sequence[str | Text]], *, least: int = 16
) -> None:
    """Print the titles, then each row as soon as it is known."""
    table = Rows(out, columns, least=least)
    table.print_titles()
    for cells in rows:
        table.print(*cells)
