"""Opens what conversations are recorded in: a file, plain or compressed, or standard input. It is read by lines."""

import gzip
import os
import re
import shutil
import sys
import tempfile
import time
import weakref
import zlib
from collections.abc import Callable, Iterator
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import msgspec

from sightline.errors import BadInput
from sightline.imports.conversation import FileMark, Line
from sightline.values.decoders import decode_mended

LONGEST = 256 << 20  # bytes of a line, or of a document that is one JSON value: these have to be in memory whole
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # the first bytes of compressed files
_COMPARED = 1 << 16  # bytes at the beginning of a file by which it is known again
_SETTLED = 2_000_000_000  # nanoseconds: in a folder changed just now, another file may come at the same time
_BLANK = b" \t\r\n\x00"  # some programs leave NUL bytes behind after a crash

# In memory, JSON takes many times its bytes if it has little but brackets, and so do messages of a word. So many are
# allowed for its bytes that it takes about sixteen times as much at most; a member of an object takes more than one of
# a list.
SPARSE = 2 << 20  # bytes that may hold anything
_LEAST_BYTES = 5  # for each bracket or comma outside strings
_WEIGHTS = ((b"[", 1), (b",", 1), (b"{", 3))
_MESSAGE, _MESSAGE_WEIGHT = b'"role"', 10  # in a string it is written with backslashes
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)

Tick = Callable[[float], None]


class Source:
    """One file. Every call of `lines` reads it from its beginning; standard input is kept in a temporary file."""

    def __init__(
        self,
        path: str | Path,
        *,
        data: bytes | None = None,
        longest: int = LONGEST,
        most: int = 0,
        tick: Tick = lambda _: None,
    ) -> None:
        """`tick` is told which share of the file has been read, again and again. `data`: what to read instead.

        `longest` are the bytes of a line, `most` those of all lines together once they are unpacked; 0: any number.
        """
        self.name, self._path, self._data, self._longest, self._tick = str(path), Path(path), data, longest, tick
        self._most = most
        if data is None and self.name == "-":
            self._path = _spooled(sys.stdin.buffer)
            weakref.finalize(self, self._path.unlink, missing_ok=True)

    @property
    def stem(self) -> str:
        """The file's name without its endings."""
        return Path(self.name).name.partition(".jsonl")[0].partition(".json")[0]

    @property
    def modified(self) -> float:
        """When the file was last changed, in seconds since 1970; 0 if it is no file."""
        if self._data is not None or self.name == "-":
            return 0.0
        try:
            return self._path.stat().st_mtime
        except OSError:  # whoever reads it says so
            return 0.0

    def mark(self) -> FileMark | None:
        """Return by what the file is known again; None if it is no file."""
        if self._data is not None or self.name == "-":
            return None
        try:
            size = self._path.stat().st_size
            compared = min(size, _COMPARED)
            return FileMark(self._path.name, size, compared, begin_digest(self._path, compared))
        except OSError:  # whoever reads it says so
            return None

    def lines(self) -> Iterator[Line]:
        """Yield the lines that are not blank, with their numbers.

        Raises:
            BadInput: it is no readable archive, or a line is longer than may be in memory.
        """
        number = length = 0
        with self._opened() as raw:
            size, file = max(_size(raw), 1), self._unpacked(raw)
            try:
                while data := file.readline(self._longest + 1):
                    number, length = number + 1, length + len(data)
                    if self._most and length > self._most:
                        limit = f"it holds more than {self._most:,} bytes"
                        raise BadInput(f"{self.name}: {limit}; divide it, or use `sightline import`")
                    if len(data) > self._longest:
                        raise self._too_long(f"line {number}")
                    if is_dense(data):
                        raise self._too_dense(f"line {number}")
                    if number == 1:
                        data = data.removeprefix(b"\xef\xbb\xbf")
                    ends = data.endswith(b"\n")
                    if data := data.strip(_BLANK):
                        yield Line(number, data, is_torn=not ends and value_of(Line(number, data)) is None)
                    self._tick(raw.tell() / size)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise BadInput(f"{self.name}: the archive is damaged or cut off after line {number}: {error}") from None

    def whole(self) -> bytes:
        """Return everything. Raises BadInput if that is more than may be in memory."""
        joined = bytearray()  # no list of lines: a short line takes many times its bytes
        for line in self.lines():
            joined += line.data + b"\n"
            if len(joined) > self._longest:
                raise self._too_long("one JSON value")
        data = bytes(joined)
        del joined
        if is_dense(data):
            raise self._too_dense("one JSON value")
        return data

    def _too_dense(self, what: str) -> BadInput:
        return BadInput(
            f"{self.name}: {what} has little but brackets and commas, which would take many times its size in memory; "
            "write one message per line instead, such as with jq -c '.[]'"
        )

    def _too_long(self, what: str) -> BadInput:
        limit = f"{self._longest >> 20} MB" if self._longest >> 20 else f"{self._longest} bytes"
        return BadInput(
            f"{self.name}: {what} has more than {limit}, which would have to be in memory at once; write one message "
            "per line instead, such as with jq -c '.[]'"
        )

    def _opened(self) -> IO[bytes]:
        return self._path.open("rb") if self._data is None else BytesIO(self._data)

    def _unpacked(self, raw: IO[bytes]) -> IO[bytes]:
        first = raw.read(4)
        raw.seek(0)
        if first.startswith(_ZSTD):
            raise BadInput(f"{self.name} is compressed with zstd; unpack it first: zstd -d {self.name}")
        return gzip.GzipFile(fileobj=raw) if first.startswith(_GZIP) else raw  # type: ignore[return-value]


def is_dense(data: bytes) -> bool:
    """Whether JSON of these bytes would take much more memory than they do. Nothing is decoded."""
    if len(data) <= SPARSE:
        return False
    most = len(data) // _LEAST_BYTES
    over = _weight(data) + _MESSAGE_WEIGHT * data.count(_MESSAGE) - most
    if over <= 0:
        return False
    for string in _STRING.finditer(data):  # one by one, so that other threads have their turn
        over -= _weight(string[0])
        if over <= 0:
            return False
    return True


def _weight(data: bytes) -> int:
    return sum(weight * data.count(mark) for mark, weight in _WEIGHTS)


def begin_digest(path: Path, size: int) -> str:
    """Return a digest of the first so many bytes of a file. Raises OSError."""
    with path.open("rb") as file:
        return blake2b(file.read(size), digest_size=16).hexdigest()


def _spooled(stream: IO[bytes]) -> Path:
    """Copy a stream to a temporary file, because it is read more than once."""
    handle, path = tempfile.mkstemp(prefix="sightline-")
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(stream, file)
    return Path(path)


def _size(raw: IO[bytes]) -> int:
    size = raw.seek(0, os.SEEK_END)
    raw.seek(0)
    return size


def value_of(line: Line) -> Any:
    """Return the JSON value of a line, with U+FFFD for half a character; None if it is no JSON."""
    try:
        return decode_mended(line.data, Any)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


Folders = dict[str, tuple[int, list[str], list[str]]]
"""What was found in folders, by path: when each was changed, its files, and the folders in it."""


def files_in(folder: Path, listed: Folders | None = None) -> Iterator[Path]:
    """Yield the files of a folder and of those in it that may hold conversations, by name.

    Links are not followed: they may lead to any place. With `listed` a folder that has not changed is not read again.
    """
    waiting = [str(folder)]
    while waiting:
        where = waiting.pop()
        try:
            files, folders = _listed(where, {} if listed is None else listed)
        except OSError:  # deleted since, or not to be read
            continue
        yield from (Path(where, name) for name in files)
        waiting += (os.path.join(where, name) for name in reversed(folders))  # noqa: PTH118 - many, and only texts


def _listed(folder: str, listed: Folders) -> tuple[list[str], list[str]]:
    changed = os.stat(folder).st_mtime_ns  # noqa: PTH116
    if (listing := listed.get(folder)) is not None and listing[0] == changed:
        return listing[1], listing[2]
    with os.scandir(folder) as entries:
        every = [entry for entry in entries if not entry.is_symlink()]
    files = sorted(entry.name for entry in every if _may_hold(entry.name) and entry.is_file(follow_symlinks=False))
    folders = sorted(entry.name for entry in every if entry.is_dir(follow_symlinks=False))
    if time.time_ns() - changed > _SETTLED:
        listed[folder] = (changed, files, folders)
    return files, folders


def _may_hold(name: str) -> bool:
    return name.removesuffix(".gz").endswith((".jsonl", ".json", ".ndjson")) or name.endswith(".gz")
