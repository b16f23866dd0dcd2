"""Files that were uploaded and wait for their import: where they lie, and how many bytes they may have together.

A process has one folder for them, which it keeps locked. So whoever starts later knows the folder of a process that was
killed by its lock, which nobody has, and deletes it.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from sightline.server.rest_operation import Busy, TooLarge

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_WAITING = 1 << 30  # bytes of the uploads of one process: the longest recordings have some hundred megabytes
MOST_OF_A_TENANT = 256 << 20  # bytes of those of one tenant, so that no tenant takes the room of all others
_PREFIX = "sightline-upload-"
_LOCK = "lock"
_YOUNG = 60.0  # seconds for which the folder of another process may not be locked yet
_DAY = 86_400.0  # the same for a folder that has no lock at all

Quota = Callable[["Request", int, bool], Awaitable[None]]
"""Raises QuotaExceeded if who sent a request may not store so many bytes more. True: what is stored is counted anew."""


class UploadRoom:
    """The room that the uploads of a process have. For one event loop, but for the folders."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self.most, self.used = most, 0
        self._guard = Lock()
        self._folder: Path | None = None
        self._locked = -1  # the open lock file of the folder

    def make_folder(self) -> Path:
        """Make a folder for one file."""
        with self._guard:
            if self._folder is None:
                folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
                self._locked = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._folder = folder
            return Path(tempfile.mkdtemp(dir=self._folder))

    def delete_left(self) -> None:
        """Delete the folders of processes that were killed."""
        with suppress(OSError):
            for entry in os.scandir(tempfile.gettempdir()):
                if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                    _delete_if_left(Path(entry.path))

    def close(self) -> None:
        """Delete the folder of this process."""
        with self._guard:
            folder, self._folder = self._folder, None
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(self._locked)


class Uploads:
    """What one application may take of the room. For one event loop."""

    def __init__(self, room: UploadRoom | None = None, most: int = MOST_WAITING, quota: Quota | None = None) -> None:
        self.room, self.most, self.quota = room or UploadRoom(), most, quota
        self._used = 0

    def check(self, more: int) -> None:
        """Raise TooLarge if there is never room for so many bytes of one file, and Busy if there is none now."""
        if more > min(self.most, self.room.most):
            raise self.too_large()
        if self._used + more > self.most or self.room.used + more > self.room.most:
            raise Busy("the files that wait for their import are as many bytes as there is room for")

    def too_large(self) -> TooLarge:
        """Return the error that says how large a file may be."""
        most = min(self.most, self.room.most)
        return TooLarge(f"a file has at most {most:,} bytes; use `sightline import` for a larger one")

    def take(self, more: int) -> None:
        """Take room for so many bytes that have come. Raises as `check`."""
        self.check(more)
        self._used += more
        self.room.used += more

    def give_back(self, size: int) -> None:
        """Have the room of a file again that is there no longer."""
        self._used -= size
        self.room.used -= size


def _delete_if_left(folder: Path) -> None:
    with suppress(OSError):
        status = folder.stat()
        age = time.time() - status.st_mtime
        if status.st_uid != os.getuid() or age < _YOUNG:
            return
        if not (folder / _LOCK).exists():
            if age >= _DAY:
                shutil.rmtree(folder, ignore_errors=True)
            return
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its process lives
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
