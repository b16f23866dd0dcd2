"""How things look: consoles, rows of columns, bars, sizes, and JSON."""

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

from sightline.cli.wrap import prose

_PIPED_WIDTH = 120  # columns where there is no terminal to ask: wide enough for every column, narrow enough to read
_GAP = 2
_EIGHTHS = " ▏▎▍▌▋▊▉"
# Whatever a log holds must not move the cursor, colour the screen or turn the line around: control characters,
# those that change the direction of text, and line ends that are not ours.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def console() -> Console:
    """Standard output as it is now. No colour when piped or where NO_COLOR is set; COLUMNS is heeded."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, markup=False, emoji=False, width=_PIPED_WIDTH if piped else None)


def error_console() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def print_json(value: Any) -> None:
    """One JSON object, readable, UTF-8 whatever the terminal's encoding, with nothing that a terminal would act on."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    if sys.stdout.isatty():  # the same object: such characters stand only in strings, which may hold them escaped
        text = _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text.decode()).encode()
    click.echo(text)


def printable(text: str) -> str:
    """The text with what a terminal would act on shown as U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", text)


def tell(text: str, style: str) -> None:
    """Say something beside the output: on standard error, whatever is in it."""
    prose(error_console(), printable(text), style)


def first_words(text: str, length: int = 200) -> str:
    """The beginning of a text, on one line; where it is cut off there, with an ellipsis."""
    line = printable(" ".join(text[: length * 4].split()))
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns; what is cut off is an ellipsis."""
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def bar(share: float, width: int, *, plain: bool = False) -> str:
    """A bar that fills this share of its width, exact to an eighth of a column; `plain` where only ASCII is safe."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    if plain:
        return "#" * -(-eighths // 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def human_size(size: int) -> str:
    """Bytes, in the unit that keeps the number short."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def local_time(seconds: float) -> str:
    """A moment, in the reader's own time."""
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"


class Column(NamedTuple):
    """One column of rows that are printed as they come. Width 0: it takes the room that is left."""

    title: str
    width: int = 0
    right: bool = False
    spare: int = 0  # above 0: left away where there is no room, the highest first
    style: str = ""


class Rows:
    """Prints rows under each other in columns of fixed width: none waits for the last one."""

    def __init__(self, console: Console, columns: Sequence[Column], *, least: int = 16) -> None:
        self._console = console
        kept = list(columns)
        while self._fixed(kept) + least > console.width and any(column.spare for column in kept):
            kept.remove(max(kept, key=lambda column: column.spare))
        self._places = [columns.index(column) for column in kept]
        self._columns = kept
        self._room = max(console.width - self._fixed(kept), 1)

    def _fixed(self, columns: Sequence[Column]) -> int:
        return sum(column.width for column in columns) + _GAP * (len(columns) - 1)

    def titles(self) -> Text:
        """The row of titles."""
        return self._row([Text(column.title, style="dim") for column in self._columns])

    def row(self, *cells: str | Text, style: str = "") -> Text:
        """One row: a cell for every column, also for those that there is no room for."""
        kept = [cells[place] for place in self._places]
        texts = [
            cell if isinstance(cell, Text) else Text(cell, style=column.style)
            for cell, column in zip(kept, self._columns, strict=True)
        ]
        return self._row(texts, style)

    def print(self, *cells: str | Text, style: str = "") -> None:
        """Print one row."""
        self._console.print(self.row(*cells, style=style), no_wrap=True, crop=False, overflow="ignore")

    def print_titles(self) -> None:
        """Print the row of titles."""
        self._console.print(self.titles(), no_wrap=True, crop=False, overflow="ignore")

    def _row(self, cells: Sequence[Text], style: str = "") -> Text:
        line = Text(style=style)
        for index, (cell, column) in enumerate(zip(cells, self._columns, strict=True)):
            width = column.width or self._room
            fitted = Text(cut(cell.plain, width), style=cell.style)
            room = " " * (width - fitted.cell_len)
            line.append(" " * _GAP if index else "")
            line.append(room if column.right else "")
            line.append(fitted)
            line.append("" if column.right else room)
        line.rstrip()
        return line
