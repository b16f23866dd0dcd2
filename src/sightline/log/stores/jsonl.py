"""A log in a file of JSON lines: append-only, one write per batch, safe between processes, repaired when opened."""

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
    """The `Store` of one session in a file, which the first append creates.

    fsync: "always" syncs after each append. "turn" syncs when `sync` is called, which a session does before it returns
    a payload and after it adds a reply. "never" leaves it to the operating system.
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
        with self._lock:
            file = self._opened()
            with file.locked():
                self._read_on(file)
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
        return self._opened().read(*span)

    def scan(self, start: int = 0) -> Iterator[Line]:
        if self._file is None:
            return
        for line in _lines(self._file, start, self.tips.size):
            if not line.data.isspace():
                yield line

    def refresh(self) -> None:
        if self._file is None and not os.path.lexists(self.path):
            return  # nothing has been written yet
        with self._lock:
            file = self._opened()
            with file.locked():
                try:
                    self._read_on(file)
                except Unwritable as error:  # a torn end on a read-only disk: everything before it can be read
                    self.repairs.torn_bytes = file.size() - self.tips.size
                    logger.warning("%s", error)

    def side_file(self, suffix: str) -> Path | None:
        return self.path.with_suffix(suffix)

    def sync(self) -> None:
        if self._unsynced and self.fsync != "never":
            self._unsynced = False  # before the sync, because it may not cover what is appended meanwhile
            try:
                self._opened().sync()
            except OSError as error:
                self._unsynced = True
                raise Unwritable(str(self.path), error.strerror or str(error)) from error

    def close(self) -> None:
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
                    raise StoreError(
                        f"cannot open {self.path}: {why}; "
                        "it must be a file that this user may read and write, or be moved away"
                    ) from error
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
                    file.truncate(self.tips.size)  # a full disk may have written a part of it
            raise Unwritable(str(self.path), error.strerror or str(error)) from error
        self._unsynced = self.fsync != "always"

    def _read_on(self, file: DiskFile) -> None:
        """Read what is after `tips`: lines of other writers, or what a crash left. The file must be locked."""
        size = file.size()
        if size == self.tips.size:
            return
        if size < self.tips.size:
            raise StoreError(f"{self.path} is shorter than it was: another program cut it; resume the session anew")
        progress = _Progress(self.tips.copy(), self.repairs.damaged)
        for line in _lines(file, self.tips.size, size):
            progress.add(_with_newline(file, line))
        self.tips = progress.tips
        if self.tips.size < (size := file.size()):
            self._cut(file, self.tips.size, size)

    def _cut(self, file: DiskFile, good: int, size: int) -> None:
        """Move the torn end into the side file: a write that a crash interrupted and that was never acknowledged."""
        torn = self.path.with_suffix(".torn")
        try:
            file.truncate(size)  # changes nothing, but raises before the copy if the file may not be cut
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


class _Progress:
    """How far a log is complete while its lines are read: to the end of the last line that completes its batch."""

    def __init__(self, tips: Tips, damaged: list[int]) -> None:
        self.tips, self._damaged = tips, damaged
        self._batch: list[Tip] = []

    def add(self, line: Line) -> None:
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
            if not line.data.isspace() and not _is_json_object(line.data):
                self._damaged.append(line.span.offset)
                logger.warning("[JSONLStore] 解析 JSON 行失败 (offset %d)", line.span.offset)
            return None


def _ends_batch(tip: Tip) -> bool:
    return tip.batch is None or tip.batch[0] >= tip.batch[1]


def _with_newline(file: DiskFile, line: Line) -> Line:
    """The line, with its newline written to the file if only that is missing, as other programs leave it."""
    if line.data.endswith(b"\n"):
        return line
    try:
        if not _ends_batch(decode_tip(line.data)):
            return line
        file.append(b"\n")
    except (*UNREADABLE, OSError):
        return line  # torn
    return Line(Span(line.span.offset, line.span.length + 1), line.data + b"\n")


def _is_json_object(data: bytes) -> bool:
    """Whether a line that is no entry is the JSON object of another program, which is not damage.

    A bare number or word is damage, because a torn write may leave it.
    """
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except UNREADABLE:
        return False


def _lines(file: DiskFile, start: int, end: int) -> Iterator[Line]:
    """The lines between two offsets. The last one may lack its newline."""
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
