"""What is known of each log in the list of sessions, and how that is kept for the next run."""

import os
import time
from contextlib import closing, suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sightline import __version__
from sightline.errors import SightlineError
from sightline.files.private_files import read_whole
from sightline.log.stores import Store, Tips
from sightline.values.decoders import decode_msgpack
from sightline.view.catalog.log_count import Counted, LogCount
from sightline.view.catalog.offered_files import CLAUDE_CODE, CODEX, SIGHTLINE, SOURCES, FirstLook
from sightline.view.catalog.places import Place

HEAD = 1 << 15  # bytes of a log in which its title is looked for
PROXY = "proxy"
_NAMES = {"proxy-": PROXY, "claude-": CLAUDE_CODE, "codex-": CODEX}  # how the ids of such sessions begin
_QUIET = 3600.0  # seconds since a log was last written to, after which it counts as ended


LIST_VERSION = f"{__version__}-2"  # of what is counted: a list of another one is counted anew


class KeptCount(Struct, array_like=True):
    """What was counted of a log when it was this file, of this size and time."""

    changed: int
    size: int
    inode: int
    counted: Counted


class KeptList(Struct):
    """What is kept for the next run, by path."""

    version: str = ""
    logs: dict[str, KeptCount] = {}
    looks: dict[str, tuple[int, FirstLook]] = {}  # the size that a file had then


class ListedLog:
    """One log in a file and what is known of it."""

    def __init__(self, place: Place, session_id: str, file: Path, kept: KeptCount | None = None) -> None:
        self.place, self.session_id, self.file = place, session_id, file
        self.size = self.changed = self._inode = self._seen = -1  # seen: the size up to which it was counted
        self.looked = False  # its beginning was read
        self.counted, self._count = Counted(), LogCount()
        self._kept = kept

    @property
    def is_ready(self) -> bool:
        """Whether all of it was counted."""
        return self._seen == self.size

    def note(self, size: int, changed: int, inode: int = 0) -> None:
        """Note how large a log is now, when it was last changed, and which file it is."""
        if (size, changed, inode) == (self.size, self.changed, self._inode):
            return
        kept, self._seen = self._kept, -1
        if kept is not None and (kept.size, kept.changed, kept.inode) == (size, changed, inode):
            self.counted, self._seen, self.looked = kept.counted, size, True
        elif inode != self._inode or size <= self.size:  # another file, or nothing was added and it changed
            self._count = LogCount()
        self.size, self.changed, self._inode, self._kept = size, changed, inode, None

    def read(self, most: int) -> int:
        """Count on for about so many bytes. Return how many were read."""
        size, before, done = self.size, 0, True
        try:
            if not self._count.continues(self.file):
                self._count = LogCount()
            before = self._count.offset
            done = self._count.read(self.file, most)
            self.counted = self._count.counted()
        except OSError as error:
            self.counted = replace(self.counted, error=error.strerror or str(error))
        return self._read(before, size if done else -1)

    def look(self) -> FirstLook:
        """Return what it is about, by its first lines."""
        if not self.looked:
            self.read(HEAD)
        counted = self.counted
        source = SOURCES.get(counted.kind) or source_named(self.session_id)
        return FirstLook(source, counted.title, counted.project, counted.created, counted.model)

    def kept(self) -> KeptCount:
        """Return what to keep of it."""
        return KeptCount(self.changed, self.size, self._inode, self.counted)

    def _read(self, before: int, seen: int) -> int:
        self.looked, self._seen = True, seen
        read = self._count.offset - before
        if seen >= 0 and time.time() - self.changed / 1e9 > _QUIET:
            self._count = LogCount()  # it takes room, and will hardly be needed: a log that grows again is read anew
        return read


class StoredLog(ListedLog):
    """One log in a store that is no folder, and what is known of it."""

    def __init__(self, place: Place, session_id: str, kept: KeptCount | None = None) -> None:
        super().__init__(place, session_id, Path(os.devnull, f"{session_id}.jsonl"), kept)  # there is no such file
        self._last: tuple[int, bytes] = (0, b"")  # offset and data of the last line that was counted

    def read(self, most: int) -> int:
        """Count on for about so many bytes. Return how many were read."""
        size, before, done = self.size, 0, True
        try:
            with closing(self.place.stores.open(self.session_id)) as store:
                store.refresh()
                if not self.continues(store):
                    self._count = LogCount()
                before = self._count.offset
                done = self._read_on(store, before + most)
            self.counted = self._count.counted()
        except SightlineError as error:
            self.counted = replace(self.counted, error=str(error))
        return self._read(before, size if done else -1)

    def continues(self, store: Store) -> bool:
        """Whether the last line that was counted is still where it was: a log may be deleted and begun anew."""
        if not self._count.offset:
            return True
        offset, data = self._last
        line = next(iter(store.scan(offset)), None) if offset < store.tips.size else None
        return line is not None and line.data == data

    def _read_on(self, store: Store, end: int) -> bool:
        lines = iter(store.scan(self._last[0] if self._count.offset else 0))
        if self._count.offset:
            next(lines, None)
        for line in lines:
            if self._count.offset >= end:
                return False
            self._count.add([line.data])
            self._count.offset += len(line.data)
            self._last = (line.span.offset, line.data)
        return True


class UnplacedLog(StoredLog):
    """One log in stores that know neither sizes nor times: it is asked whether it has grown."""

    def __init__(self, place: Place, session_id: str) -> None:
        super().__init__(place, session_id)
        self.size, self._tips = 0, Tips()

    def read(self, most: int) -> int:
        """Count on for about so many bytes. Return how many were read."""
        self.changed = time.time_ns()  # nobody knows when; what was counted is not forgotten
        return super().read(most)

    def has_grown(self) -> bool:
        """Whether it has other lines than were counted. Reads none of them."""
        try:
            with closing(self.place.stores.open(self.session_id)) as store:
                store.refresh(self._tips.copy())
                if store.tips.size != self._tips.size or not self.continues(store):
                    self._seen = -1
        except SightlineError:
            self._seen = -1
        return not self.is_ready

    def _read_on(self, store: Store, end: int) -> bool:
        done = super()._read_on(store, end)
        self._tips = store.tips.copy() if done else Tips()
        return done


class UnplacedLogs:
    """The logs of a place whose stores know neither sizes nor times."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._logs: dict[str, UnplacedLog] = {}

    def now(self) -> list[UnplacedLog]:
        """Return the logs that there are now, the one written to last first. Nothing of them is read.

        Those that were written to since the last time come first, so it is enough to ask until one has not grown.
        """
        ids = self.place.stores.sessions()
        logs = [self._logs.get(session_id) or UnplacedLog(self.place, session_id) for session_id in ids]
        self._logs = {log.session_id: log for log in logs}
        for log in logs:
            if log.is_ready and not log.has_grown():
                break
        return logs


def source_named(session_id: str) -> str:
    """Return where a session comes from, by how its id begins."""
    return next((source for begin, source in _NAMES.items() if session_id.startswith(begin)), SIGHTLINE)


def read_kept(file: Path) -> KeptList:
    """Return what an earlier run kept; nothing if that was another version."""
    with suppress(msgspec.DecodeError):
        kept = decode_msgpack(read_whole(file) or b"\x80", KeptList)
        if kept.version == LIST_VERSION:
            return kept
    return KeptList()  # of another version, which may have counted in another way
