"""The folder of one program: created, filled with files, read when the program has ended, and removed.

What a program leaves is as untrusted as the program: unprintable names, links in place of folders. So its files are
opened relative to open folders and never through a link, by their real names; shown names are never opened.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple, TypeVar

from sightline.agent.tools.files.folders import FILE, printable
from sightline.agent.tools.in_thread import GivenUp, go_on
from sightline.agent.tools.sandbox.run import DEEPEST, MOST_FILES

Result = TypeVar("Result")

MOST_KEPT = 2 << 30  # bytes of the files of all programs of a session: four times what one program may write
SMALLEST = 4096  # bytes that a file or folder counts at least, because that is what it takes on a disk
_BLOCK = 1 << 20
_PREFIX, _IN_USE = "sightline-run-", "in-use"  # the folder of a program, and the file in it that is locked
_LONGEST = 500  # characters of a folder's path that is entered, so that its files can be named in the target folder too


class Place:
    """A folder for one program. `remove` waits for functions that still use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._removed = False

    def use(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function with the folder's path. The first call creates the folder. Raises GivenUp."""
        with self._lock:
            if self._removed:
                raise GivenUp
            if self._folder is None:
                remove_abandoned(Path(tempfile.gettempdir()))
                self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
                used = Path(self._folder.name, _IN_USE)
                fresh = used.with_suffix(".new")  # it is locked before others see it: else they remove the folder
                self._used = open(fresh, "wb")  # noqa: PTH123, SIM115 - as long as the folder
                fcntl.flock(self._used, fcntl.LOCK_EX)
                fresh.rename(used)
            return function(Path(self._folder.name).resolve(), *arguments)

    def remove(self) -> None:
        """Remove the folder. It is not created again."""
        with self._lock:
            self._removed = True
            if self._folder is not None:
                self._used.close()
                with suppress(RecursionError):  # too many folders within folders
                    self._folder.cleanup()


def remove_abandoned(parent: Path) -> None:
    """Remove the folders that killed processes of this user left. One that is in use is locked."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # gone, another user's, or in use
            state = folder.lstat()
            if stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid():
                with open(folder / _IN_USE, "r+b", opener=_open_plain) as used:
                    fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)


def _open_plain(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


class File(NamedTuple):
    """A file that a program wrote: its name to show, and whether it was copied."""

    shown: str
    size: int
    kept: bool


class Left(NamedTuple):
    """The files that a program wrote, and the folder to which some of them were copied."""

    files: tuple[File, ...] = ()
    where: str = ""
    full: str = ""  # the folder of all programs' files, if it had no more room


class _Open(NamedTuple):
    """An open regular file of the program. `path` is its real path in the program's folder."""

    file: BinaryIO | None  # None: it cannot be read
    path: str
    size: int


def collect_files(work: Path, times: Mapping[str, int], keep: Path | None, room: int) -> Left:
    """Copy the files that a program wrote into a new folder of `keep`: all but those it was given and left unchanged.

    `times`: when the program got each file that it was given, in nanoseconds. A program cannot set the time of a file.

    A file beyond `room` bytes, or one that cannot be read, is listed and not copied. `keep` has a limit for the files
    of all programs together.
    """
    files: list[File] = []
    target: Path | None = None
    free = MOST_KEPT - (_size_of(keep) if keep is not None else 0)
    is_full = False
    try:
        for own in _files(work):
            if own.file is not None and times.get(own.path) == os.fstat(own.file.fileno()).st_mtime_ns:
                continue
            source = own.file if own.size <= room and len(files) < MOST_FILES else None
            if source is not None and max(own.size, SMALLEST) > free:
                source, is_full = None, keep is not None
            if keep is not None and source is not None:
                target = target or _new_folder(keep)
                copy_bytes(source, target / own.path, own.size)
                room -= own.size
                free -= max(own.size, SMALLEST)
            files.append(File(printable(own.path), own.size, keep is not None and source is not None))
    except BaseException:  # no incomplete copy is left
        if target is not None:
            shutil.rmtree(target, ignore_errors=True)
        raise
    return Left(tuple(files), str(target or ""), str(keep) if is_full else "")


def _size_of(keep: Path) -> int:
    """Return the bytes of the files that are kept already."""
    size = 0
    for place, folders, names in os.walk(keep):
        go_on()
        size += SMALLEST * len(folders)
        for name in names:
            with suppress(OSError):  # the user has deleted it
                size += max(os.lstat(os.path.join(place, name)).st_size, SMALLEST)  # noqa: PTH118 - many of them
    return size


def copy_bytes(source: BinaryIO, target: Path, size: int) -> None:
    """Copy so many bytes of a file into another, and create its folders."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as copy:
        while size > 0 and (block := source.read(min(size, _BLOCK))):
            go_on()
            copy.write(block)
            size -= len(block)


def _files(work: Path) -> Iterator[_Open]:
    """Yield the regular files below a folder, by name, each open until the next. Links are not followed."""
    for place, folders, names, descriptor in os.fwalk(work, follow_symlinks=False):
        inside = os.path.relpath(place, work)
        folders.sort()
        if inside.count(os.sep) >= DEEPEST or len(inside) > _LONGEST:
            folders.clear()
        for name in sorted(names):
            go_on()
            path = name if inside == "." else f"{inside}/{name}"
            with suppress(FileNotFoundError):
                yield from _open_own(name, descriptor, path)


def _open_own(name: str, folder: int, path: str) -> Iterator[_Open]:
    if not _is_own(state := os.stat(name, dir_fd=folder, follow_symlinks=False)):
        return
    try:
        descriptor = os.open(name, FILE, dir_fd=folder)
    except OSError:
        yield _Open(None, path, state.st_size)
        return
    with open(descriptor, "rb") as file:  # noqa: PTH123 - of a descriptor
        state = os.fstat(descriptor)
        if _is_own(state):  # again, because it may have been replaced
            yield _Open(file, path, state.st_size)


def _is_own(state: os.stat_result) -> bool:
    """Whether it is a regular file without a second name, which could be another user's file."""
    return stat.S_ISREG(state.st_mode) and state.st_nlink == 1


def _new_folder(keep: Path) -> Path:
    """Create the next folder for the files of a program. Other processes may do so at the same time."""
    keep.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(folder.name[4:]) for folder in keep.glob("run_*") if folder.name[4:].isdecimal()), default=0)
    while True:
        target = keep / f"run_{number:04d}"
        try:
            target.mkdir()
        except FileExistsError:
            number += 1
        else:
            return target
