"""A disk that counts what is asked of it, and refuses what it is told to refuse."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EROFS
from pathlib import Path

from sightline.log.stores.disk import DiskFile, OsDisk


class CountedDisk:
    """The real disk, with counters: bytes read and written, writes, syncs. `refuse` maps an operation to its error.

    A refused write first takes `part` of the data, as a disk does that becomes full. `taken` writes are not refused.
    """

    def __init__(self) -> None:
        self.did: Counter[str] = Counter()
        self.refuse: dict[str, OSError] = {}
        self.part = self.taken = 0

    def open(self, path: Path) -> DiskFile:
        """See `Disk`."""
        if "open" in self.refuse and not path.exists():
            raise self.refuse["open"]
        return CountedFile(self, OsDisk().open(path))


class CountedFile:
    """One file of a CountedDisk."""

    def __init__(self, disk: CountedDisk, file: DiskFile) -> None:
        self._disk, self._file = disk, file

    def size(self) -> int:
        """See `DiskFile`."""
        return self._file.size()

    def append(self, data: bytes) -> None:
        """See `DiskFile`."""
        if (error := self._disk.refuse.get("append")) and self._disk.did["writes"] >= self._disk.taken:
            self._file.append(data[: self._disk.part])
            raise error
        self._disk.did["writes"] += 1
        self._disk.did["bytes written"] += len(data)
        self._file.append(data)

    def read(self, offset: int, length: int) -> bytes:
        """See `DiskFile`."""
        data = self._file.read(offset, length)
        self._disk.did["bytes read"] += len(data)
        return data

    def truncate(self, size: int) -> None:
        """See `DiskFile`."""
        if error := self._disk.refuse.get("truncate"):
            raise error
        self._file.truncate(size)

    def sync(self) -> None:
        """See `DiskFile`."""
        if error := self._disk.refuse.get("sync"):
            raise error
        self._disk.did["syncs"] += 1
        self._file.sync()

    @contextmanager
    def locked(self, wait: float | None = None) -> Iterator[None]:
        """See `DiskFile`."""
        with self._file.locked(wait):
            yield

    def close(self) -> None:
        """See `DiskFile`."""
        self._file.close()


def read_only() -> CountedDisk:
    """A disk that can only be read."""
    disk = CountedDisk()
    error = OSError(EROFS, "Read-only file system")
    disk.refuse = {"open": error, "append": error, "truncate": error}
    return disk
