"""What is known of each log in the list of sessions, and how that is kept for the next run."""

import os
from contextlib import closing, suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sightline import __version__
from sightline.errors import SightlineError
from sightline.log.stores.side_files import read_whole
from sightline.replay.log_count import Counted, LogCount
from sightline.replay.offered_files import FirstLook
from sightline.replay.places import Place


class KeptCount(Struct, array_like=True):
    """What was counted of a log when it was of this size and time."""

    changed: int
    size: int
    counted: Counted


class KeptList(Struct):
    """What is kept for the next run, by path."""

    version: str = ""
    logs: dict[str, KeptCount] = {}
    looks: dict[str, tuple[int, FirstLook]] = {}  # the size that a file had then


class ListedLog:
    """One log and what is known of it."""

    def __init__(self, place: Place, session_id: str, file: Path, kept: KeptCount | None) -> None:
        self.place, self.session_id, self.file = place, session_id, file
        self.size = self.changed = self.seen = -1  # seen: the size up to which it was counted
        self.looked = False  # its beginning was read
        self.counted, self._count = Counted(), LogCount()
        self._kept = kept

    @property
    def is_ready(self) -> bool:
        """Whether all of it was counted."""
        return self.seen == self.size

    def note(self, size: int, changed: int) -> None:
        """Note how large a log is now, and when it was last changed."""
        if (size, changed) == (self.size, self.changed):
            return
        if self._kept is not None and (self._kept.size, self._kept.changed) == (size, changed):
            self.counted, self.seen, self.looked = self._kept.counted, size, True
        elif size < self._count.offset or self._count.offset == 0:
            self._count, self.seen = LogCount(), -1
        else:
            self.seen = -1
        self.size, self.changed, self._kept = size, changed, None

    def read(self, most: int) -> int:
        """Count on for about so many bytes. Return how many were read."""
        before, size = self._count.offset, self.size
        try:
            done = self._count.read(self.file, most)
            self.counted = self._count.counted()
        except OSError as error:
            done, self.counted = True, replace(self.counted, error=error.strerror or str(error))
        self.looked = True
        self.seen = size if done else -1
        return self._count.offset - before

    def kept(self) -> KeptCount:
        """Return what to keep of it."""
        return KeptCount(self.changed, self.size, self.counted)


class StoredLog(ListedLog):
    """One log in a database and what is known of it."""

    def __init__(self, place: Place, session_id: str, kept: KeptCount | None) -> None:
        super().__init__(place, session_id, Path(os.devnull, f"{session_id}.jsonl"), kept)  # there is no such file
        self._next = 0  # the offset of the line after the last that was counted

    def read(self, most: int) -> int:
        """Count on for about so many bytes. Return how many were read."""
        if not self._count.offset:
            self._next = 0
        before, size, done = self._count.offset, self.size, True
        try:
            with closing(self.place.stores.open(self.session_id)) as store:
                store.refresh()
                for line in store.scan(self._next):
                    if self._count.offset - before >= most:
                        done = False
                        break
                    self._count.add([line.data])
                    self._count.offset += len(line.data)
                    self._next = line.span.offset + 1
            self.counted = self._count.counted()
        except SightlineError as error:
            self.counted = replace(self.counted, error=str(error))
        self.looked = True
        self.seen = size if done else -1
        return self._count.offset - before


def read_kept(file: Path) -> KeptList:
    """Return what an earlier run kept; nothing if that was another version."""
    with suppress(msgspec.DecodeError):
        found = msgspec.msgpack.decode(read_whole(file) or b"\x80", type=KeptList)
        if found.version == __version__:
            return found
    return KeptList()  # of another version, which may have counted in another way
