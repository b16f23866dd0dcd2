"""An exclusive lock on an open file that is waited for in turn, but not for ever: its holder may be stopped.

The system keeps a queue of those who wait in a blocking call, so a thread makes that call, on an opening of its own.
Who only asks again and again may never get a lock that another program takes again at once.
"""

import fcntl
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sightline.errors import Locked

WAIT_SECONDS = 10.0  # a write takes milliseconds, the largest import about a second
_PAUSE = 0.005  # seconds between two attempts where a file cannot be opened a second time


@contextmanager
def locked_file(fd: int, path: str | Path, wait: float | None = None) -> Iterator[None]:
    """Lock an open file against every other opening of it. If nobody else has the lock, that is a single call.

    Raises:
        Locked: it could not be locked for `wait` seconds, by default WAIT_SECONDS.
    """
    owner = fd
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = _wait(fd, path, WAIT_SECONDS if wait is None else wait)
    try:
        yield
    finally:
        fcntl.flock(owner, fcntl.LOCK_UN)  # not only closed: a process that was forked meanwhile has it open too
        if owner != fd:
            os.close(owner)


def _wait(fd: int, path: str | Path, seconds: float) -> int:
    """Wait for the lock, and return the descriptor that has it: this one or a new one. Raises Locked."""
    end = time.monotonic() + seconds
    waiter = _waiter(fd, path) if seconds > 0 else None
    if waiter is not None and (owner := waiter.wait(seconds)) is not None:
        return owner
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise Locked(str(path), seconds, _holder(fd)) from None
            time.sleep(_PAUSE)
        else:
            return fd


class _Waiter:
    """A thread in the queue for the lock of a file. If it gets the lock when nobody wants it any more, it lets go."""

    def __init__(self, fd: int, file: tuple[int, int]) -> None:
        self._fd, self._file = fd, file
        self._state = threading.Condition()
        self._has_lock = self._is_over = False
        self._is_wanted = True
        threading.Thread(target=self._queue, name="sightline-lock", daemon=True).start()

    def _queue(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        except OSError:  # the system cannot queue: whoever waits asks again and again
            with self._state:
                self._is_over = True
                self._state.notify()
                os.close(self._fd)
            return
        with self._state:
            if self._is_wanted:
                self._has_lock = True
                self._state.notify()
                return
            self._is_over = True
            fcntl.flock(self._fd, fcntl.LOCK_UN)
            os.close(self._fd)
        with suppress(KeyError, ValueError):
            _unwanted[self._file].remove(self)

    def wait(self, seconds: float) -> int | None:
        """The descriptor that has the lock, for the caller to close; None if it was not to be had."""
        with self._state:
            try:
                self._state.wait_for(lambda: self._has_lock or self._is_over, seconds)
            except BaseException:  # somebody pressed Ctrl-C
                self._is_wanted = False
                if self._has_lock:
                    fcntl.flock(self._fd, fcntl.LOCK_UN)
                    os.close(self._fd)
                raise
            self._is_wanted = False
            if self._has_lock:
                return self._fd
            if not self._is_over:
                _unwanted[self._file].append(self)  # the next caller takes it over, so that threads do not pile up
            return None

    def want(self) -> bool:
        """Whether this thread is still in the queue, and waits for the caller now."""
        with self._state:
            self._is_wanted = not self._is_over
            return self._is_wanted


_unwanted: defaultdict[tuple[int, int], list[_Waiter]] = defaultdict(list)  # device and inode of a file → who waits
os.register_at_fork(after_in_child=_unwanted.clear)  # a fork has no threads


def _waiter(fd: int, path: str | Path) -> _Waiter | None:
    """A thread in the queue for the lock of an open file; None if the file cannot be opened a second time."""
    file = _identity(fd)
    with suppress(IndexError):
        while True:
            if (waiter := _unwanted[file].pop()).want():
                return waiter
    for name in (f"/proc/self/fd/{fd}", path):
        with suppress(OSError):
            again = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
            if _identity(again) == file:
                return _Waiter(again, file)
            os.close(again)
    return None


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _holder(fd: int) -> str:
    """Who holds the lock, such as "process 4711 (python, stopped)". Empty where the system does not tell."""
    status = os.fstat(fd)
    inode = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        pid = next(fields[4] for fields in locks if "FLOCK" in fields and inode in fields and "->" not in fields)
        name, state = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rsplit(")", 1)
    except (OSError, StopIteration, ValueError, IndexError):
        return ""
    return f"process {pid} ({name}{', stopped' if state.split()[0] in 'Tt' else ''})"
