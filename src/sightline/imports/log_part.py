"""The lines of a log that another program is still writing, from a place on."""

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from sightline.imports.conversation import Line
from sightline.imports.source import LONGEST, Source

_BLOCK = 1 << 16  # bytes that are read at once to find the end of the last line
_COMPARED = 256  # bytes before a place by which a file is known to be the same


class LogPart(Source):
    """The complete lines between two places of a file, which stay as they are however the file grows.

    start: where it begins. end: after the last complete line, or after `most` bytes, which may be inside a line.
    is_cut: the file goes on after `most` bytes.
    """

    def __init__(self, path: str | Path, start: int = 0, *, most: int | None = None) -> None:
        """Raises OSError if there is no such file."""
        super().__init__(path)
        self.start, self.end = start, start
        with self._path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            stop = size if most is None else min(size, start + most)
            self.is_cut = stop < size
            while stop > start:
                at = max(start, stop - _BLOCK)
                file.seek(at)
                if (newline := file.read(stop - at).rfind(b"\n")) >= 0:
                    self.end = at + newline + 1
                    break
                stop = at
        if most is not None and self.is_cut and self.end == start:
            self.end = start + most  # a single line is longer: it is passed over, a piece at a time

    def lines(self) -> Iterator[Line]:
        """Yield the lines that are not blank, numbered from 1."""
        with self._path.open("rb") as file:
            file.seek(self.start)
            left, number = self.end - self.start, 0
            while left > 0 and (data := file.readline(min(left, LONGEST))):
                number += 1
                left -= len(data)
                if data := data.strip(b" \t\r\n\x00\xef\xbb\xbf" if number == 1 else b" \t\r\n\x00"):
                    yield Line(number, data)


def mark_of(path: str | Path, place: int) -> str:
    """Return a digest of what stands before a place in a file; "" if the file is shorter. Raises OSError."""
    first = max(0, place - _COMPARED)
    with Path(path).open("rb") as file:
        file.seek(first)
        data = file.read(place - first)
    return blake2b(data, digest_size=8).hexdigest() if len(data) == place - first else ""
