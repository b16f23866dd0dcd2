"""The few operations that a log file needs of the operating system. Tests use a disk that loses unsynced writes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOENT
from pathlib import Path
from typing import Protocol

from sightline.errors import DELETED
from sightline.files.private_files import make_directory, sync_directory
from sightline.values.file_lock import locked_file


class DiskFile(Protocol):
    """One open file. It can be appended to, and its end can be cut off."""

    def size(self) -> int:
        """Bytes in the file."""

    def append(self, data: bytes) -> None:
        """Write at the end, with one system call if possible. Raises OSError if not all of it was written."""

    def read(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`."""

    def truncate(self, size: int) -> None:
        """Cut the file to this size."""

    def sync(self) -> None:
        """Return when the content has reached the disk."""

    @contextmanager
    def locked(self, wait: float | None = None) -> Iterator[None]:  # noqa: ARG002 - it is a protocol
        """Lock the file against all other processes, and against other openings of it in this one.

        Raises:
            Locked: it could not be locked for `wait` seconds, by default `file_lock.WAIT_SECONDS`.
        """
        yield

    def close(self) -> None:
        """Close the file."""


class Disk(Protocol):
    """Opens files."""

    def open(self, path: Path) -> DiskFile:
        """Open a file. A missing file or directory is made, readable by its owner only."""


class OsFile:
    """A `DiskFile` of the operating system. If it is forgotten before it is closed, it closes itself."""

    _fd = -1

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
        self._path = path
        self._refusal: OSError | None = None
        try:
            self._fd = os.open(path, flags)
        except FileNotFoundError:
            make_directory(path.parent)
            self._fd = os.open(path, flags | os.O_CREAT, 0o600)
            sync_directory(path.parent)
        except IsADirectoryError:
            raise
        except OSError as error:  # a read-only disk can still be read; the first append raises this error
            self._refusal = error
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def append(self, data: bytes) -> None:
        self._check_writable()
        written = os.write(self._fd, data)
        while written < len(data):  # a signal, a quota or a nearly full disk
            written += os.write(self._fd, data[written:])

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._fd, length, offset)

    def truncate(self, size: int) -> None:
        self._check_writable()
        os.ftruncate(self._fd, size)

    def _check_writable(self) -> None:
        if self._refusal is not None:
            raise self._refusal
        if os.fstat(self._fd).st_nlink == 0:  # data written now would be lost when the last process closes it
            raise FileNotFoundError(ENOENT, f"it {DELETED}")

    def sync(self) -> None:
        os.fsync(self._fd)

    @contextmanager
    def locked(self, wait: float | None = None) -> Iterator[None]:
        with locked_file(self._fd, self._path, wait):
            yield

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    __del__ = close


class OsDisk:
    """The `Disk` of the operating system."""

    def open(self, path: Path) -> DiskFile:
        return OsFile(path)
