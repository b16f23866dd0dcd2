"""What is known of single logs for the list of sessions: counted a piece at a time, and again if they are others."""

import time
from contextlib import closing
from os import stat_result
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sightline.errors import SightlineError
from sightline.log.stores import Store, Tips
from sightline.replay.log_count import Counted, LogCount
from sightline.replay.places import Place

_QUIET = 3600.0  # seconds since a log was last written to, after which it counts as ended


class Kept(Struct, array_like=True):
    """What was counted of a log when it was this file, of this size and time."""

    changed: int
    size: int
    inode: int
    counted: Counted


class LogFile:
    """A log in a file."""

    def __init__(self, place: Place, session_id: str, file: Path, kept: Kept | None = None) -> None:
        self.place, self.session_id, self.file = place, session_id, file
        self.size = self.changed = self._inode = self._seen = -1  # seen: the size up to which it was counted
        self.looked = False  # its beginning was read
        self.counted, self._count = Counted(), LogCount()
        self._kept = kept

    @property
    def is_ready(self) -> bool:
        """Whether all of it has been counted."""
        return self._seen == self.size

    def note(self, status: stat_result) -> None:
        """Note which file it is now, how large, and when it was last changed."""
        size, changed, inode = status.st_size, status.st_mtime_ns, status.st_ino
        if (size, changed, inode) == (self.size, self.changed, self._inode):
            return
        kept, self._seen = self._kept, -1
        if kept is not None and (kept.size, kept.changed, kept.inode) == (size, changed, inode):
            self.counted, self._seen, self.looked = kept.counted, size, True
        elif inode != self._inode or size <= self._count.offset:  # another file, or nothing was added and it changed
            self._count = LogCount()
        self.size, self.changed, self._inode, self._kept = size, changed, inode, None

    def read(self, most: int) -> int:
        """Count on for about so many bytes. Return how many were read."""
        size, before = self.size, 0
        try:
            if not self._count.continues(self.file):
                self._count = LogCount()
            before = self._count.offset
            done = self._count.read(self.file, most)
            self.counted = self._count.counted()
        except OSError as error:
            done, self.counted = True, replace(self.counted, error=error.strerror or str(error))
        self.looked = True
        self._seen = size if done else -1
        read = self._count.offset - before
        if done and time.time() - self.changed / 1e9 > _QUIET:
            self._count = LogCount()  # it takes room, and will hardly be needed: a log that grows again is read anew
        return read

    def kept(self) -> Kept:
        """Return what to keep of it for the next run."""
        return Kept(self.changed, self.size, self._inode, self.counted)


class StoredLog:
    """A log in a store that is no folder."""

    def __init__(self, place: Place, session_id: str) -> None:
        self.place, self.session_id = place, session_id
        self._forget()

    def _forget(self) -> None:
        self.counted, self.error, self.is_ready = Counted(), "", False
        self._count, self._tips = LogCount(), Tips()
        self._last: tuple[int, bytes] | None = None  # offset and data of the last line that was counted

    def has_grown(self) -> bool:
        """Whether it has other lines than were counted. Reads none of them."""
        if not self.is_ready:
            return True
        try:
            with closing(self.place.stores.open(self.session_id)) as store:
                store.refresh(self._tips.copy())
                self.is_ready = store.tips.size == self._tips.size and self._continues(store)
        except SightlineError:
            self.is_ready = False
        return not self.is_ready

    def read(self, most: int) -> int:
        """Count on for about so many bytes. Return how many were read."""
        read = 0
        try:
            with closing(self.place.stores.open(self.session_id)) as store:
                store.refresh()
                if not self._continues(store):
                    self._forget()
                lines = store.scan(self._last[0] if self._last is not None else 0)
                if self._last is not None:
                    next(lines, None)
                for line in lines:
                    if read >= most:
                        break
                    self._count.add([line.data])
                    self._last = (line.span.offset, line.data)
                    read += len(line.data)
                else:
                    self.is_ready, self._tips = True, store.tips.copy()
            self.error = ""
        except SightlineError as failure:
            self.error, self.is_ready = str(failure), True
        self.counted = self._count.counted()
        return read

    def _continues(self, store: Store) -> bool:
        """Whether the last line that was counted is still where it was: a log may be deleted and begun anew."""
        if self._last is None:
            return True
        offset, data = self._last
        line = next(store.scan(offset), None) if offset < store.tips.size else None
        return line is not None and line.data == data


class StoredLogs:
    """The logs of a place that is no folder."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._logs: dict[str, StoredLog] = {}

    def now(self) -> list[StoredLog]:
        """Return the logs that there are now, the one written to last first. Nothing of them is read.

        Those that were written to since the last time come first, so it is enough to ask until one has not grown.
        """
        found = [self._logs.get(each) or StoredLog(self.place, each) for each in self.place.stores.sessions()]
        self._logs = {log.session_id: log for log in found}
        for log in found:
            if log.is_ready and not log.has_grown():
                break
        return found
