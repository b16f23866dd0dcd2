"""How output looks: consoles, rows of columns, bars, sizes, and JSON."""

import os
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import click
import msgspec
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from sightline.cli.wrap import print_text

_PIPED_WIDTH = 120  # columns if there is no terminal: wide enough for every column, narrow enough to read
_GAP = 2
_EIGHTHS = " ▏▎▍▌▋▊▉"
# Characters of a log that would move the cursor, colour the screen or turn the line around: control characters,
# those that change the direction of text, and line ends other than \n.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def console() -> Console:
    """Return a console for standard output. No colour when piped or if NO_COLOR is set; COLUMNS sets the width."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, markup=False, emoji=False, width=_PIPED_WIDTH if piped else None)


def error_console() -> Console:
    """Return a console for standard error."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def print_json(value: Any) -> None:
    """Print one JSON object, indented, in UTF-8. On a terminal, characters that it would act on are escaped."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    if sys.stdout.isatty():  # the same object, because such characters occur only in strings
        text = _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text.decode()).encode()
    click.echo(text)


def printable(text: str) -> str:
    """Return the text with U+FFFD for every character that a terminal would act on."""
    return _UNPRINTABLE.sub("\ufffd", text)


def print_stderr(text: str, style: str) -> None:
    """Print a text on standard error, made printable."""
    print_text(error_console(), printable(text), style)


def first_words(text: str, length: int = 200) -> str:
    """Return the beginning of a text on one line, with an ellipsis if it is cut off."""
    line = printable(" ".join(text[: length * 4].split()))
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def truncate(text: str, width: int) -> str:
    """Return the text in at most `width` columns, with an ellipsis if it is cut off."""
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def bar(share: float, width: int, *, plain: bool = False) -> str:
    """Return a bar that fills this share of its width, exact to an eighth of a column. `plain`: only ASCII."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    if plain:
        return "#" * -(-eighths // 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def human_size(size: int) -> str:
    """Return a number of bytes in the unit that keeps it short."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def local_time(seconds: float) -> str:
    """Return a date and time in the reader's time zone."""
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"


class Column(NamedTuple):
    """One column of a table. Width 0: it takes the columns of the screen that are left."""

    title: str
    width: int = 0
    right: bool = False
    spare: int = 0  # above 0: left out on a narrow screen, the highest first
    style: str = ""


class Rows:
    """Prints a table whose columns have a fixed width, so that each row can be printed at once."""

    def __init__(self, console: Console, columns: Sequence[Column], *, least: int = 16) -> None:
        self._console = console
        kept = list(columns)
        while self._fixed(kept) + least > console.width and any(column.spare for column in kept):
            kept.remove(max(kept, key=lambda column: column.spare))
        self._indexes = [columns.index(column) for column in kept]
        self._columns = kept
        self._rest = max(console.width - self._fixed(kept), 1)

    def _fixed(self, columns: Sequence[Column]) -> int:
        return sum(column.width for column in columns) + _GAP * (len(columns) - 1)

    def print(self, *cells: str | Text, style: str = "") -> None:
        """Print one row: a cell for every column, also for those that were left out."""
        kept = [cells[index] for index in self._indexes]
        texts = [
            cell if isinstance(cell, Text) else Text(cell, style=column.style)
            for cell, column in zip(kept, self._columns, strict=True)
        ]
        self._print(texts, style)

    def print_titles(self) -> None:
        """Print the row of titles."""
        self._print([Text(column.title, style="dim") for column in self._columns])

    def _print(self, cells: Sequence[Text], style: str = "") -> None:
        line = Text(style=style)
        for index, (cell, column) in enumerate(zip(cells, self._columns, strict=True)):
            width = column.width or self._rest
            fitted = Text(truncate(cell.plain, width), style=cell.style)
            blanks = " " * (width - fitted.cell_len)
            line.append(" " * _GAP if index else "")
            line.append(blanks if column.right else "")
            line.append(fitted)
            line.append("" if column.right else blanks)
        line.rstrip()
        self._console.print(line, no_wrap=True, crop=False, overflow="ignore")
