"""A log in a file of JSON lines: append-only, one write per batch, safe between processes, repaired on open."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import accumulate
from pathlib import Path
from typing import Literal

import msgspec

from sightline.errors import StoreError, Unwritable
from sightline.log.entries import UNREADABLE, Tip, decode_tip, encode
from sightline.log.stores import Line, Make, Placement, Repairs, Span, Tips
from sightline.log.stores.disk import Disk, DiskFile, OsDisk
from sightline.log.stores.sequence import advance, number

Fsync = Literal["always", "turn", "never"]
_CHUNK = 1 << 20

logger = logging.getLogger("sightline")


class JsonlStore:
    """One session's file. The file is made by the first append.

    fsync: "always" after each append; "turn" when `sync` is called, which a session does before it returns a payload or
    takes a reply; "never" leaves it to the operating system.
    """

    def __init__(
        self, path: Path, *, fsync: Fsync = "turn", disk: Disk | None = None, tips: Tips | None = None
    ) -> None:
        self.path = path
        self.session_id = path.stem
        self.tips = tips or Tips()
        self.repairs = Repairs()
        self.fsync, self._disk = fsync, disk or OsDisk()
        self._lock = threading.Lock()
        self._unsynced = False
        self._file: DiskFile | None = None
        if os.path.lexists(path):
            self.refresh()

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:
        """See `Store.append`."""
        with self._lock:
            file = self._opened()
            with file.locked():
                self._take_in(file)
                tips = self.tips.copy()
                entries = number(make, branch, expected_head, tips)
                lines = [encode(entry) for entry in entries]
                self._write(file, b"".join(lines))
                starts = list(accumulate(map(len, lines), initial=tips.size))
                tips.size = starts.pop()
                self.tips = tips
        return [
            Placement(entry, Span(start, len(line))) for entry, start, line in zip(entries, starts, lines, strict=True)
        ]

    def read(self, span: Span) -> bytes:
        """See `Store.read`."""
        return self._opened().read(*span)

    def scan(self, start: int = 0) -> Iterator[Line]:
        """See `Store.scan`."""
        if self._file is None:
            return
        for line in _lines(self._file, start, self.tips.size):
            if not line.data.isspace():
                yield line

    def refresh(self) -> None:
        """See `Store.refresh`."""
        if self._file is None and not os.path.lexists(self.path):
            return  # nobody has said anything yet
        with self._lock:
            file = self._opened()
            with file.locked():
                try:
                    self._take_in(file)
                except Unwritable as error:  # a torn end on a read-only disk: it can be read as far as it is whole
                    self.repairs.torn_bytes = file.size() - self.tips.size
                    logger.warning("%s", error)

    def side_file(self, suffix: str) -> Path | None:
        """See `Store.side_file`."""
        return self.path.with_suffix(suffix)

    def sync(self) -> None:
        """See `Store.sync`."""
        if self._unsynced and self.fsync != "never":
            self._unsynced = False  # before, not after: what is appended meanwhile may not be covered
            try:
                self._opened().sync()
            except OSError as error:
                self._unsynced = True
                raise Unwritable(str(self.path), error.strerror or str(error)) from error

    def close(self) -> None:
        """See `Store.close`."""
        with self._lock:
            if self._file is not None:
                self.sync()
                self._file.close()
                self._file = None

    def _opened(self) -> DiskFile:
        if self._file is None:
            try:
                self._file = self._disk.open(self.path)
            except OSError as error:
                why = error.strerror or str(error)
                if os.path.lexists(self.path):
                    what = "it must be a file that this user may read and write, or be moved away"
                    raise StoreError(f"cannot open {self.path}: {why}; {what}") from error
                raise Unwritable(str(self.path), why) from error
        return self._file

    def _write(self, file: DiskFile, data: bytes) -> None:
        try:
            file.append(data)
            if self.fsync == "always":
                file.sync()
        except OSError as error:
            with suppress(OSError):
                if file.size() > self.tips.size:
                    file.truncate(self.tips.size)  # a full disk took a part: nothing of this append is kept
            raise Unwritable(str(self.path), error.strerror or str(error)) from error
        self._unsynced = self.fsync != "always"

    def _take_in(self, file: DiskFile) -> None:
        """Read what lies beyond `tips`: other writers' lines, or what a crash left. The lock is held."""
        size = file.size()
        if size == self.tips.size:
            return
        if size < self.tips.size:
            raise StoreError(f"{self.path} is shorter than it was: another program cut it; resume the session anew")
        reading = _Reading(self.tips.copy(), self.repairs.damaged)
        for line in _lines(file, self.tips.size, size):
            reading.take(_ended(file, line))
        self.tips = reading.tips
        if self.tips.size < (size := file.size()):
            self._cut(file, self.tips.size, size)

    def _cut(self, file: DiskFile, good: int, size: int) -> None:
        """Move the torn end, a write that a crash interrupted and nobody was promised, into the side file."""
        torn = self.path.with_suffix(".torn")
        try:
            file.truncate(size)  # changes nothing: it asks whether the end may be cut at all, before it is copied
            with closing(self._disk.open(torn)) as aside:
                aside.append(file.read(good, size - good) + b"\n")
                aside.sync()
            file.truncate(good)
        except OSError as error:
            raise Unwritable(str(self.path), error.strerror or str(error)) from error
        self.repairs.damaged[:] = [offset for offset in self.repairs.damaged if offset < good]
        self.repairs.torn_bytes += size - good
        self.repairs.torn_file = str(torn)
        logger.warning("%s: an interrupted write of %d bytes was cut off and kept in %s", self.path, size - good, torn)


class _Reading:
    """Follows lines and knows how far the log is whole: to the end of the last line that completes its batch."""

    def __init__(self, tips: Tips, damaged: list[int]) -> None:
        self.tips, self._damaged = tips, damaged
        self._batch: list[Tip] = []

    def take(self, line: Line) -> None:
        if not line.data.endswith(b"\n"):
            return
        tip = self._tip(line)
        if tip is not None:
            self._batch.append(tip)
            if not _ends_batch(tip):
                return
            for each in self._batch:
                advance(self.tips, each)
            self._batch.clear()
        if not self._batch:
            self.tips.size = line.span.offset + line.span.length

    def _tip(self, line: Line) -> Tip | None:
        try:
            return decode_tip(line.data)
        except UNREADABLE:
            if not line.data.isspace() and not _is_anothers(line.data):
                self._damaged.append(line.span.offset)
                logger.warning("[JSONLStore] 解析 JSON 行失败 (offset %d)", line.span.offset)
            return None


def _ends_batch(tip: Tip) -> bool:
    return tip.batch is None or tip.batch[0] >= tip.batch[1]


def _ended(file: DiskFile, line: Line) -> Line:
    """The line; if it is the last one and whole but for its newline, as other programs leave it, with the newline."""
    if line.data.endswith(b"\n"):
        return line
    try:
        if not _ends_batch(decode_tip(line.data)):
            return line
        file.append(b"\n")
    except (*UNREADABLE, OSError):
        return line  # torn
    return Line(Span(line.span.offset, line.span.length + 1), line.data + b"\n")


def _is_anothers(data: bytes) -> bool:
    """Whether a line that is no entry of ours is at least somebody's JSON object, to be kept and passed over.

    A bare number or word is none: it may be what a torn write left of a line.
    """
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except UNREADABLE:
        return False


def _lines(file: DiskFile, start: int, end: int) -> Iterator[Line]:
    """Lines between two offsets; the last one may lack its newline."""
    offset = position = start
    rest: list[bytes] = []
    while position < end:
        chunk = file.read(position, min(_CHUNK, end - position))
        if not chunk:
            break
        position += len(chunk)
        *whole, last = chunk.split(b"\n")
        for piece in whole:
            line = b"".join((*rest, piece, b"\n"))
            rest.clear()
            yield Line(Span(offset, len(line)), line)
            offset += len(line)
        rest.append(last)
    if line := b"".join(rest):
        yield Line(Span(offset, len(line)), line)
