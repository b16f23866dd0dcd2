"""The disk space of a program's files that have no name.

A file that is removed while it is open, or that never had a name, is in no folder and uses disk space until no process
has it open or mapped.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sightline.agent.tools.sandbox.process_use import names, processes_of


def unnamed_bytes(session: int, folder: Path, largest: int) -> int:
    """Return the bytes of the unnamed files of the processes of a session.

    The size of a file that is mapped and closed can be read only by users such as root, who may inspect any process.
    For others a file that was in this folder counts as the `largest` possible, because one mapped page of it is enough
    to keep the whole file on the disk.
    """
    sizes: dict[int, int] = {}  # by inode, because forked processes share open files
    inside = os.fsencode(folder.resolve()) + b"/"
    for process in processes_of(session):
        for inode, size in _mapped(process, inside, largest):
            sizes.setdefault(inode, size)
        for state in _open_files(process):
            if stat.S_ISREG(state.st_mode) and not state.st_nlink:
                sizes[state.st_ino] = state.st_blocks * 512
    return sum(sizes.values())


def _open_files(process: str) -> Iterator[os.stat_result]:
    """Yield the open files of its threads, because each thread can have its own."""
    for thread in names(f"{process}/task"):
        for name in names(f"{process}/task/{thread}/fd"):
            with suppress(OSError):  # it was closed
                yield os.stat(f"{process}/task/{thread}/fd/{name}")  # noqa: PTH116 - many of them, often


def _mapped(process: str, inside: bytes, largest: int) -> Iterator[tuple[int, int]]:
    """Yield the inodes and bytes of the removed files that it has mapped."""
    with suppress(OSError), open(f"{process}/maps", "rb") as lines:  # noqa: PTH123 - as above
        for line in lines:
            if line.endswith(b" (deleted)\n") and line.split(maxsplit=5)[5].startswith(inside):
                addresses, _, _, _, inode, _ = line.split(maxsplit=5)
                yield int(inode), _size(f"{process}/map_files/{addresses.decode()}", largest)


def _size(mapped: str, largest: int) -> int:
    try:
        return os.stat(mapped).st_blocks * 512  # noqa: PTH116 - as above
    except OSError:  # not permitted; or it is now mapped at another address
        return largest
