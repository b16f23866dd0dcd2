"""A part of a CSV file of any size: its columns, some of its rows as they stand there, and how many rows it has."""

import csv
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from sightline.agent.tools.files.text import BLOCK, MOST_BYTES
from sightline.agent.tools.in_thread import go_on
from sightline.shorten.file_description import HEADER, separator

MOST_COUNTED = 2 << 30  # bytes looked through to count rows: a gigabyte takes some seconds

_LONGEST = 200_000  # bytes of one line; the csv module takes fields of 131,072 characters
_LONGEST_ROW = MOST_BYTES // 2  # bytes: the header and any one row can be shown together


class NoTable(Exception):
    """The text is not rows of fields: a quote that is never closed, or a line or row without end."""


class Table(NamedTuple):
    """Rows `first` to `last` of `rows`, the header not counted; `data` has the header and these rows."""

    columns: tuple[str, ...]  # as Latin-1: the bytes are known, their encoding is not yet
    rows: int
    first: int
    last: int
    data: bytes
    counted: bool = True  # whether `rows` are all: beyond MOST_COUNTED there are more

    @property
    def whole(self) -> bool:
        """Whether these are all of the rows."""
        return self.first == 1 and self.last == self.rows


def table(file: BinaryIO, start: int, rows: int, most_bytes: int = MOST_BYTES) -> Table:
    """Rows from number `start` on, at most so many and so many bytes, but one at least.

    Streams: memory is bounded by a row and a block, and a row has a bound. A quoted field may have line breaks in it.
    Empty lines are no rows.

    Raises:
        NoTable: it is not rows of fields.
    """
    file.seek(0)
    delimiter = separator(file.read(HEADER).decode("latin-1"))
    file.seek(0)
    records = _records(file, delimiter)
    try:
        header = next(records, ([], b""))
        before = 0
        while before < start - 1 and next(records, None) is not None:
            before += 1
        shown, left = _fitting(records, rows, most_bytes - len(header[1]))
        more, whole = _rest(file, MOST_COUNTED)
    except csv.Error as error:
        raise NoTable(str(error)) from None
    last = before + len(shown)
    return Table(tuple(header[0]), last + left + more, before + 1, last, header[1] + b"".join(shown), whole)


def _fitting(records: "Iterator[tuple[list[str], bytes]]", rows: int, room: int) -> tuple[list[bytes], int]:
    """The next rows while there is room for them, the first in any case; how many were read and are not among them."""
    shown: list[bytes] = []
    for _, (_, data) in zip(range(rows), records, strict=False):
        room -= len(data)
        if room < 0 and shown:
            return shown, 1
        shown.append(data)
    return shown, 0


def _records(file: BinaryIO, delimiter: str) -> Iterator[tuple[list[str], bytes]]:
    """Each row: its fields, and its bytes as they stand there. At each, the file is read exactly up to its end."""
    taken: list[bytes] = []
    size = 0

    def lines() -> Iterator[str]:
        nonlocal size
        # Latin-1 keeps every byte, and in UTF-8 and GB 18030 no other character has the byte of a quote or newline.
        while line := file.readline(_LONGEST):
            go_on()
            if len(line) == _LONGEST and not line.endswith(b"\n"):
                raise csv.Error(f"a line of more than {_LONGEST} bytes")
            size = _longer(size, line)
            taken.append(line)
            yield line.decode("latin-1")

    for fields in csv.reader(lines(), delimiter=delimiter):
        if fields:
            yield fields, b"".join(taken)
        taken.clear()
        size = 0


def _longer(row: int, line: bytes) -> int:
    """How many bytes a row has with one more line of it. Raises csv.Error."""
    if row + len(line) > _LONGEST_ROW:
        raise csv.Error(f"a row of more than {_LONGEST_ROW} bytes")
    return row + len(line)


def _rest(file: BinaryIO, most: int) -> tuple[int, bool]:
    """How many rows stand from here to the end, and whether the end was reached within so many bytes."""
    rows, until = 0, file.tell() + most
    while block := file.read(BLOCK):
        go_on()
        rows += _in_block(block + file.readline(_LONGEST), file)
        if file.tell() > until:
            return rows, not file.read(1)
    return rows, True


def _in_block(block: bytes, file: BinaryIO) -> int:
    """The rows that begin in a block of lines. The last one is read to its end, beyond the block if need be.

    A line with an even number of quotes is a row; the csv module knows where one ends that begins with another.
    """
    lines = block.split(b"\n")
    if b'"' not in block:
        return sum(1 for line in lines if line and line != b"\r")
    rows = at = 0
    while at < len(lines):
        line = lines[at]
        if line.count(b'"') % 2:
            at += _spanned(lines, at, file)
            rows += 1
        else:
            at += 1
            rows += bool(line and line != b"\r")
    return rows


def _spanned(lines: list[bytes], at: int, file: BinaryIO) -> int:
    """How many lines the row takes that begins at this one."""
    given = size = 0

    def following() -> Iterator[str]:
        nonlocal given, size
        while at + given < len(lines) - 1:  # behind the last newline stands nothing
            given += 1
            size = _longer(size, lines[at + given - 1])
            yield lines[at + given - 1].decode("latin-1") + "\n"
        while line := file.readline(_LONGEST):
            go_on()
            given += 1
            size = _longer(size, line)
            yield line.decode("latin-1")

    next(csv.reader(following()), None)
    return max(1, given)
