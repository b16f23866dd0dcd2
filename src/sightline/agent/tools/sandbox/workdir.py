"""The folder of one program: made, given files, looked through when the program has ended, and removed.

What a program leaves is as untrusted as the program: names that cannot be shown, links in place of folders. So its
files are opened from descriptor to descriptor and never through a link, each by its real name; the name that is shown
opens nothing.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple, TypeVar

from sightline.agent.tools.files.folders import FILE, printable
from sightline.agent.tools.in_thread import GivenUp, go_on
from sightline.agent.tools.sandbox.run import DEEPEST, MOST_FILES

Result = TypeVar("Result")

_BLOCK = 1 << 20
_LONGEST = 500  # characters of the path of a folder that is entered: what is in it can also be named where it is kept


class Place:
    """A folder for one program. Whoever removes it waits for whoever is still at work in it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._removed = False

    def used(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """What a function of the folder's path gives. The folder is made for the first one. Raises GivenUp."""
        with self._lock:
            if self._removed:
                raise GivenUp
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="sightline-run-", ignore_cleanup_errors=True)
            return function(Path(self._folder.name).resolve(), *arguments)

    def remove(self) -> None:
        """For good: it is not made again."""
        with self._lock:
            self._removed = True
            if self._folder is not None:
                with suppress(RecursionError):  # folders within folders without end
                    self._folder.cleanup()


class File(NamedTuple):
    """A file that a program wrote: its name to show, and whether it was kept."""

    shown: str
    size: int
    kept: bool


class Left(NamedTuple):
    """What a program left behind, and the folder where some of it is kept."""

    files: tuple[File, ...] = ()
    where: str = ""


class _Open(NamedTuple):
    """A regular file of the program's own, open. `path` is its real one, below its folder."""

    file: BinaryIO | None  # None: it cannot be read
    path: str
    size: int


def left_behind(work: Path, given: Collection[str], keep: Path | None, room: int) -> Left:
    """The files a program wrote beside those it was given, copied into a new folder of `keep` as far as there is room.

    What is beyond the room, or cannot be read, is named and not kept.
    """
    files: list[File] = []
    target: Path | None = None
    try:
        for found in _files(work):
            if found.path in given:
                continue
            source = found.file if found.size <= room and len(files) < MOST_FILES else None
            if keep is not None and source is not None:
                target = target or _new(keep)
                copied(source, target / found.path, found.size)
                room -= found.size
            files.append(File(printable(found.path), found.size, keep is not None and source is not None))
    except BaseException:  # half of what it wrote is not what it wrote
        if target is not None:
            shutil.rmtree(target, ignore_errors=True)
        raise
    return Left(tuple(files), str(target or ""))


def copied(source: BinaryIO, target: Path, size: int) -> None:
    """So many bytes of a file into another, with the folders on the way to it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as copy:
        while size > 0 and (block := source.read(min(size, _BLOCK))):
            go_on()
            copy.write(block)
            size -= len(block)


def _files(work: Path) -> Iterator[_Open]:
    """The regular files below a folder, by name, each open while it is looked at. Where links lead is not entered."""
    for place, folders, names, descriptor in os.fwalk(work, follow_symlinks=False):
        inside = os.path.relpath(place, work)
        folders.sort()
        if inside.count(os.sep) >= DEEPEST or len(inside) > _LONGEST:
            folders.clear()
        for name in sorted(names):
            go_on()
            path = name if inside == "." else f"{inside}/{name}"
            with suppress(FileNotFoundError):
                yield from _opened(name, descriptor, path)


def _opened(name: str, folder: int, path: str) -> Iterator[_Open]:
    if not _own(state := os.stat(name, dir_fd=folder, follow_symlinks=False)):
        return
    try:
        descriptor = os.open(name, FILE, dir_fd=folder)
    except OSError:
        yield _Open(None, path, state.st_size)
        return
    with open(descriptor, "rb") as file:  # noqa: PTH123 - of a descriptor
        state = os.fstat(descriptor)
        if _own(state):  # still: it may have been exchanged since
            yield _Open(file, path, state.st_size)


def _own(state: os.stat_result) -> bool:
    """Whether this is a regular file, and has no second name: it may be another's file."""
    return stat.S_ISREG(state.st_mode) and state.st_nlink == 1


def _new(keep: Path) -> Path:
    """The next folder for what a program wrote. Others may be making theirs."""
    keep.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(each.name[4:]) for each in keep.glob("run_*") if each.name[4:].isdecimal()), default=0)
    while True:
        target = keep / f"run_{number:04d}"
        try:
            target.mkdir()
        except FileExistsError:
            number += 1
        else:
            return target
