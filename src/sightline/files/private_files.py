"""Our own files beside the user's: folders and files that only their owner may read, written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sightline.errors import Locked
from sightline.values.file_lock import locked_file

_PRIVATE = 0o600
FRESH = "-new"  # the end of the name of a file until it is complete


def make_directory(path: Path) -> None:
    """Make a directory and its missing parents, each synced and accessible to its owner only."""
    if not path.is_dir():
        make_directory(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Sync a directory, because the name of a new file survives a power cut only then."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def read_whole(path: Path) -> bytes:
    """The content of a file; nothing if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def replace_whole(path: Path, *pieces: bytes) -> None:
    """Write a file, whole or not at all. If the disk refuses, nothing is raised. Without content it is deleted.

    If another process writes it at this moment, nothing is done. What a killed process left is written over.
    """
    fresh = path.with_name(path.name + FRESH)
    try:
        if not any(pieces):
            path.unlink(missing_ok=True)
            return
        with locked_in_place(fresh, os.O_CREAT, wait=0) as fd:
            os.ftruncate(fd, 0)
            try:
                with open(fd, "wb", closefd=False) as file:
                    file.writelines(pieces)
                fresh.replace(path)
            except OSError:
                fresh.unlink(missing_ok=True)
    except (OSError, Locked):
        return


@contextmanager
def locked_in_place(path: Path, flags: int = 0, *, wait: float | None = None) -> Iterator[int]:
    """Open a file and lock it against other writers. It is still the one of this name: another may have replaced it.

    `flags` are further ones for opening it; `wait` as for `locked_file`. Raises OSError, Locked.
    """
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, _PRIVATE)
        try:
            with locked_file(fd, path, wait):
                if _identity(os.fstat(fd)) == _identity(path.stat()):
                    yield fd
                    return
        finally:
            os.close(fd)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
