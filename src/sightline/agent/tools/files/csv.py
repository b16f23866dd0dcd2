"""A part of a CSV file of any size: its columns, some of its rows unchanged, and the number of all rows."""

import csv
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import BinaryIO, NamedTuple

from sightline.agent.tools.files.text import BLOCK, MOST_BYTES
from sightline.agent.tools.in_thread import go_on
from sightline.shorten.file_description import HEADER, separator

MOST_COUNTED = 2 << 30  # bytes that are read to count rows: a gigabyte takes some seconds

_LONGEST = 200_000  # bytes of one line; the csv module takes fields of 131,072 characters
_LONGEST_ROW = MOST_BYTES // 2  # bytes: the header and any one row can be shown together


class NoTable(Exception):
    """The text is not rows of fields: a quote is never closed, or a line or row is too long."""


class Table(NamedTuple):
    """Rows `first` to `last` of `rows`, the header not counted; `data` has the header and these rows."""

    columns: tuple[str, ...]  # as Latin-1, because the encoding of the bytes is not yet known
    rows: int
    first: int
    last: int
    data: bytes
    counted: bool = True  # False: there are more rows beyond MOST_COUNTED


def table(file: BinaryIO, start: int, rows: int, most_bytes: int = MOST_BYTES) -> Table:
    """Return rows from number `start` on, at most so many rows and bytes, but at least one.

    The file is streamed: memory is bounded by a row and a block, and the size of a row is bounded. A quoted field may
    have line breaks in it. Empty lines are not rows.

    Raises:
        NoTable: the text is not rows of fields.
    """
    file.seek(0)
    delimiter = separator(file.read(HEADER).decode("latin-1"))
    file.seek(0)
    records = _records(_lines(file), delimiter)
    page: list[bytes] = []
    try:
        columns, header = next(records, ([], b""))
        before = sum(1 for _ in zip(range(start - 1), records, strict=False))
        taken, room = 0, most_bytes - len(header)
        for _, (_, data) in zip(range(rows), records, strict=False):
            taken += 1
            room -= len(data)
            if room < 0 and page:
                break
            page.append(data)
        more, whole = _count_rest(file)
    except csv.Error as error:
        raise NoTable(str(error)) from None
    return Table(tuple(columns), before + taken + more, before + 1, before + len(page), header + b"".join(page), whole)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_LONGEST):
        if len(line) == _LONGEST and not line.endswith(b"\n"):
            raise csv.Error(f"a line of more than {_LONGEST} bytes")
        yield line


def _records(lines: Iterable[bytes], delimiter: str = ",") -> Iterator[tuple[list[str], bytes]]:
    """Yield each row: its fields, and its bytes unchanged. No line after the row is taken. Raises csv.Error."""
    row = bytearray()

    def texts() -> Iterator[str]:
        # Latin-1 keeps every byte, and in UTF-8 and GB 18030 no other character has the byte of a quote or newline.
        for line in lines:
            go_on()
            row.extend(line)
            if len(row) > _LONGEST_ROW:
                raise csv.Error(f"a row of more than {_LONGEST_ROW} bytes")
            yield line.decode("latin-1")

    for fields in csv.reader(texts(), delimiter=delimiter):
        if fields:
            yield fields, bytes(row)
        row.clear()


def _count_rest(file: BinaryIO) -> tuple[int, bool]:
    """Count the rows from here to the end; whether the end was reached within MOST_COUNTED bytes."""
    rows, until = 0, file.tell() + MOST_COUNTED
    while block := file.read(BLOCK):
        go_on()
        rows += _count_in_block(block + file.readline(_LONGEST), file)
        if file.tell() > until:
            return rows, not file.read(1)
    return rows, True


def _count_in_block(block: bytes, file: BinaryIO) -> int:
    """Count the rows that begin in a block of lines. The last row is read to its end, also beyond the block.

    A line with an even number of quotes is a row. The end of any other row is found by the csv module.
    """
    *ended, last = block.split(b"\n")
    lines, beyond = iter(ended), iter(partial(file.readline, _LONGEST), b"")
    rows = 1 if last and last != b"\r" else 0
    if b'"' not in block:
        return rows + sum(1 for line in lines if line and line != b"\r")
    for line in lines:
        if line.count(b'"') % 2:
            next(_records(chain([line], lines, beyond)))  # takes the other lines of the row
            rows += 1
        else:
            rows += bool(line and line != b"\r")
    return rows
