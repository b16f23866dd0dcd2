"""A log in a file of JSON lines: append-only, batches all or nothing, safe between processes, repaired when opened."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Literal

import msgspec

from sightline.errors import DELETED, Conflict, Locked, StoreError, Unsynced, Unwritable
from sightline.log.entries import UNREADABLE, Tip, decode_tip, encode, is_intact
from sightline.log.stores import Line, Make, Placement, Repairs, Span, Tips, advance, number
from sightline.log.stores.disk import Disk, DiskFile, OsDisk
from sightline.log.stores.project_folder import BEGINNING, own_entries
from sightline.log.stores.recency import Recency
from sightline.log.stores.side_files import PartFile, TextFile, read_stamped, replace_stamped
from sightline.values.logger import log_damage, log_warning
from sightline.values.pattern import pattern

Fsync = Literal["always", "turn", "never"]
COLUMNS = "columns"  # a part of derived data that is large and replaced as a whole, so it has a file of its own
_CHUNK = 1 << 20
_READ_WAIT = 1.0  # seconds for which a reader waits while somebody writes
_JOINED = pattern(rb'"crc":"[0-9a-f]{8}"\}[^\n]\{"')  # where two lines have become one by a damaged newline
_GAP = 1 << 12  # bytes between two lines that are rather read than skipped


class JsonlStore:
    """The `Store` of one session in a file, which the first append creates.

    fsync: "always" syncs after each append. "turn" syncs when `sync` is called, which a session does before it returns
    a payload and after it adds a reply. "never" leaves it to the operating system. With `read` False, the log is read
    when `refresh` is called, not now.
    """

    def __init__(self, path: Path, *, fsync: Fsync = "turn", disk: Disk | None = None, read: bool = True) -> None:
        self.path = path
        self.session_id = path.stem
        self.tips = Tips()
        self.repairs = Repairs()
        self.fsync, self._disk = fsync, disk or OsDisk()
        self._lock = threading.Lock()
        self._unsynced = False
        self._file: DiskFile | None = None
        self._ours = self._lacks_newline = False  # whether an entry of ours was seen, and no newline at the end
        self._inode = (0, 0)  # device and inode of the file that was opened
        self._parts = PartFile(path.with_suffix(".search"))
        self._texts = TextFile(path.with_suffix(".blobs"), self._disk)
        self._recency = Recency(path.parent)
        if read:
            self.refresh()

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:
        with self._lock:
            file = self._opened()
            with self._removed_if_empty(file), file.locked():
                self._read_on(file)
                if self._lacks_newline:
                    file.append(b"\n")
                    self.tips.size, self._lacks_newline = self.tips.size + 1, False
                tips = self.tips.copy()
                entries = number(make, branch, expected_head, tips)
                lengths = self._write(file, map(encode, entries))
                starts = list(accumulate(lengths, initial=tips.size))
                tips.size = starts.pop()
                self.tips = tips
            self._recency.note(self.session_id)
        return [Placement(entry, Span(*span)) for entry, *span in zip(entries, starts, lengths, strict=True)]

    def read_many(self, spans: Sequence[Span]) -> list[bytes]:
        if not spans or self._is_new():
            return [b""] * len(spans)
        file = self._opened()
        if len(spans) == 1:
            return [file.read(*spans[0])]
        lines: dict[Span, bytes] = {}
        for run in _runs(spans):
            start = run[0].offset
            data = file.read(start, max(span.offset + span.length for span in run) - start)
            lines |= {span: data[span.offset - start : span.offset - start + span.length] for span in run}
        return [lines[span] for span in spans]

    def scan(self, start: int = 0) -> Iterator[Line]:
        return (line for line in self.raw_lines(start) if not line.data.isspace())

    def raw_lines(self, start: int = 0) -> Iterator[Line]:
        if self._file is not None:
            yield from _lines(self._file, start, self.tips.size)

    def refresh(self, known: Tips | None = None) -> None:
        if self._is_new():
            return
        with self._lock:
            file = self._opened()
            if known is not None and not self.tips.size and known.size <= file.size():
                self.tips = known.copy()
            try:
                with file.locked(_READ_WAIT):
                    self._read_on(file, repair=self._is_ours)
            except Locked as error:  # everything up to the last complete batch can be read
                who = error.holder or "another process"
                log_warning("%s holds the lock of %s, which is read as it was last written", who, self.path)
                self._read_on(file, repair=lambda: False)
            except Unwritable as error:  # a torn end on a read-only disk: everything before it can be read
                self.repairs.torn_bytes = file.size() - self.tips.size
                log_warning("%s", error)

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        wanted = set(names)
        columns = read_stamped(self.path.with_suffix(".idx"), self.path) if COLUMNS in wanted else b""
        wanted.discard(COLUMNS)
        parts = self._parts.cache(wanted) if wanted else {}
        return parts | {COLUMNS: columns} if columns else parts

    def keep(self, parts: Mapping[str, bytes]) -> None:
        if self._is_new() or not self._is_ours():
            return  # nothing is derived from a log without lines, and a file of its own would be left behind
        with suppress(StoreError), self._next_to_log(_READ_WAIT):  # what is derived can be made again
            if (columns := parts.get(COLUMNS)) is not None:
                replace_stamped(self.path.with_suffix(".idx"), columns, self.path)
            if others := {name: data for name, data in parts.items() if name != COLUMNS}:
                self._parts.keep(others)

    def texts(self, digests: Iterable[str]) -> dict[str, str]:
        return self._texts.read(digests)

    def all_texts(self) -> Iterable[tuple[str, str]]:
        return self._texts.read_all()

    def write_raw(self, lines: Sequence[bytes], tips: Tips) -> None:  # noqa: ARG002 - they are read from the file
        with self._lock:
            file = self._opened()
            with self._removed_if_empty(file), file.locked():
                if file.size() != self.tips.size:
                    raise Conflict("", None, None)
                self._write(file, lines)
                file.sync()
                self._read_on(file)

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        with self._next_to_log():
            self._texts.write(texts)

    def reopened(self) -> "JsonlStore":
        return JsonlStore(self.path, fsync=self.fsync, disk=self._disk, read=False)

    def sync(self) -> None:
        if self._unsynced and self.fsync != "never":
            self._unsynced = False  # before the sync, because it may not cover what is appended meanwhile
            try:
                self._opened().sync()
            except OSError as error:
                self._unsynced = True
                raise Unsynced(str(self.path), error.strerror or str(error)) from error

    def close(self) -> None:
        with self._lock:
            if (file := self._file) is not None:
                try:
                    self.sync()
                finally:
                    self._file = None
                    file.close()

    def _is_new(self) -> bool:
        """Whether nothing has been written yet."""
        return self._file is None and not os.path.lexists(self.path)

    def _is_ours(self) -> bool:
        """Whether an entry of ours is in the beginning of the log, or nothing that can be read.

        Reading leaves another program's log as it is. What cannot be read is what a crash left.
        """
        if not self._ours:
            beginning = self._opened().read(0, BEGINNING)
            entries = list(own_entries(beginning))
            self._ours = bool(entries) or not any(map(_is_object, beginning.split(b"\n")))
        return self._ours

    @contextmanager
    def _next_to_log(self, wait: float | None = None) -> Iterator[None]:
        """Write a side file, while nobody deletes the log. Raises Unwritable if somebody did: it would come back."""
        with self._lock:
            if not self.tips.size and self._is_new():
                yield
                return
            deleted = Unwritable(str(self.path), f"it {DELETED}")
            if self._is_new():
                raise deleted
            with self._opened().locked(wait):
                if self._inode != _inode(self.path):
                    raise deleted
                yield

    @contextmanager
    def _removed_if_empty(self, file: DiskFile) -> Iterator[None]:
        """Leave no log behind if the first append to it is refused. Another process may have begun it meanwhile."""
        try:
            yield
        except BaseException:
            if not self.tips.size:
                with suppress(OSError, Locked), file.locked(0):
                    if not file.size() and self._inode == _inode(self.path):
                        self.path.unlink()
                self._file = None
                file.close()
            raise

    def _opened(self) -> DiskFile:
        if self._file is None:
            try:
                self._file = self._disk.open(self.path)
                self._inode = _inode(self.path)
            except OSError as error:
                why = error.strerror or str(error)
                if os.path.lexists(self.path):
                    raise StoreError(
                        f"cannot open {self.path}: {why}; "
                        "it must be a file that this user may read and write, or be moved away"
                    ) from error
                raise Unwritable(str(self.path), why) from error
        return self._file

    def _write(self, file: DiskFile, batch: Iterable[bytes]) -> list[int]:
        """Write the lines of a batch and return their lengths. Its lines are never all in memory: lists are imported.

        A batch with one write missing is cut by whoever reads it next, as one that a crash interrupted.
        """
        lengths: list[int] = []
        lines: list[bytes] = []
        size = 0
        try:
            for line in batch:
                lines.append(line)
                lengths.append(len(line))
                size += len(line)
                if size >= _CHUNK:
                    file.append(b"".join(lines))
                    lines, size = [], 0
            if lines:
                file.append(b"".join(lines))
            if self.fsync == "always":
                file.sync()
        except BaseException as error:
            with suppress(OSError):
                if file.size() > self.tips.size:
                    file.truncate(self.tips.size)  # a full disk may have written a part of it
            if not isinstance(error, OSError):
                raise
            raise Unwritable(str(self.path), error.strerror or str(error)) from error
        self._unsynced = self.fsync != "always"
        return lengths

    def _read_on(self, file: DiskFile, *, repair: Callable[[], bool] = lambda: True) -> None:
        """Read what is after `tips`: lines of other writers, or what a crash left.

        What a crash left is repaired if `repair` says so, for which the file must be locked.
        """
        size = file.size()
        if size == self.tips.size:
            return
        if size < self.tips.size:
            raise StoreError(f"{self.path} is shorter than it was: another program cut it; resume the session anew")
        progress = _Progress(self.tips.copy(), self.repairs.damaged)
        for line in _lines(file, self.tips.size, size):
            if line.data.endswith(b"\n"):
                progress.add(line)
            elif repair():
                progress.add(_with_newline(file, line))
            elif _is_entry(line.data) and not self._is_ours():
                progress.add(Line(line.span, line.data + b"\n"))
                self._lacks_newline = True  # until something is appended
        self.tips = progress.tips
        if self.tips.size < (size := file.size()) and repair():
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
        log_warning("%s: an interrupted write of %d bytes was cut off and kept in %s", self.path, size - good, torn)


class _Progress:
    """How far a log is complete while its lines are read: to the end of the last line that completes its batch.

    A damaged line that has its newline is one of the lines of its batch: what a crash interrupted is whole up to there.
    """

    def __init__(self, tips: Tips, damaged: list[int]) -> None:
        self.tips, self._damaged = tips, damaged
        self._batch: list[Tip] = []
        self._missing = 0  # lines of the batch that are still to come

    def add(self, line: Line) -> None:
        if not line.data.endswith(b"\n"):
            return
        if (tip := self._tip(line)) is not None:
            self._batch.append(tip)
            if (tip.batch or self._missing) and not is_intact(line.data):  # the numbers of a changed line lie
                self._missing -= 1
            else:
                self._missing = tip.batch[1] - tip.batch[0] if tip.batch else 0
        if self._missing <= 0:
            for written in self._batch:
                advance(self.tips, written)
            self._batch.clear()
            self._missing = 0
            self.tips.size = line.span.offset + line.span.length

    def _tip(self, line: Line) -> Tip | None:
        try:
            return decode_tip(line.data)
        except UNREADABLE:
            is_object = _is_json_object(line.data)
            if not line.data.isspace() and not is_object:
                self._damaged.append(line.span.offset)
                log_damage("the line at byte %d is no JSON and is passed over", line.span.offset)
            if not line.data.isspace() and not (is_object and is_intact(line.data)):
                self._missing -= 1 + len(_JOINED.findall(line.data))
            return None


def _inode(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def _ends_batch(tip: Tip) -> bool:
    return tip.batch is None or tip.batch[0] >= tip.batch[1]


def _with_newline(file: DiskFile, line: Line) -> Line:
    """The line, with its newline written to the file if only that is missing, as other programs leave it.

    So too if another byte stands where the newline was, after a whole entry: that is damage, nothing was interrupted.
    """
    try:
        if not _ends_batch(_tip_before(line.data)):
            return line
        file.append(b"\n")
    except (*UNREADABLE, OSError):
        return line  # torn
    return Line(Span(line.span.offset, line.span.length + 1), line.data + b"\n")


def _is_object(line: bytes) -> bool:
    """Whether a line is what some program wrote as an entry of its log."""
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except (ValueError, RecursionError):
        return False


def _is_entry(data: bytes) -> bool:
    try:
        return bool(decode_tip(data))
    except UNREADABLE:
        return False


def _tip_before(data: bytes) -> Tip:
    """The tip of a line that lacks its newline, or has another byte in its place."""
    try:
        return decode_tip(data)
    except UNREADABLE:
        return decode_tip(data[:-1])


def _is_json_object(data: bytes) -> bool:
    """Whether a line that is no entry is the JSON object of another program, which is not damage.

    A bare number or word is damage, because a torn write may leave it.
    """
    try:
        return isinstance(msgspec.json.decode(data), dict)
    except UNREADABLE:
        return False


def _runs(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """These places in the order of the file, those together that are read together."""
    run: list[Span] = []
    end = 0
    for span in sorted(set(spans)):
        if run and (span.offset > end + _GAP or span.offset + span.length > run[0].offset + _CHUNK):
            yield run
            run = []
        run.append(span)
        end = max(end, span.offset + span.length) if len(run) > 1 else span.offset + span.length
    if run:
        yield run


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
