"""How much of the disk a program holds in files without a name.

A file that is removed while it is open, or that never had a name, stands in no folder and takes its room until nobody
has it open or mapped.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from sightline.agent.tools.in_thread import go_on


def nameless(session: int, folder: Path, largest: int) -> int:
    """The bytes of the files without a name that the processes of a session hold.

    A file that is mapped and closed says its size only to those who may look into any process, such as root. To others
    one that was in this folder counts as the `largest` there can be: its first page may be mapped, and the rest fill
    the disk.
    """
    sizes: dict[int, int] = {}  # by inode: a process and those that it forked hold the same file
    inside = os.fsencode(folder.resolve()) + b"/"
    for process in _processes(session):
        for inode, size in _mapped(process, inside, largest):
            sizes.setdefault(inode, size)
        for state in _open(process):
            if stat.S_ISREG(state.st_mode) and not state.st_nlink:
                sizes[state.st_ino] = state.st_blocks * 512
    return sum(sizes.values())


def _processes(session: int) -> Iterator[str]:
    """Where the system tells of each process of a session. With the filter of system calls, nobody leaves his."""
    for name in filter(str.isdigit, _names("/proc")):
        go_on()
        with suppress(OSError):  # ended since
            if os.getsid(int(name)) == session:
                yield f"/proc/{name}"


def _open(process: str) -> Iterator[os.stat_result]:
    """What its threads have open: each can have files of its own."""
    for thread in _names(f"{process}/task"):
        for name in _names(f"{process}/task/{thread}/fd"):
            with suppress(OSError):  # closed since
                yield os.stat(f"{process}/task/{thread}/fd/{name}")  # noqa: PTH116 - many of them, often


def _mapped(process: str, inside: bytes, largest: int) -> Iterator[tuple[int, int]]:
    """The inodes of the removed files that it has in its memory, and their bytes."""
    with suppress(OSError), open(f"{process}/maps", "rb") as lines:  # noqa: PTH123 - as above
        for line in lines:
            if line.endswith(b" (deleted)\n") and line.split(maxsplit=5)[5].startswith(inside):
                addresses, _, _, _, inode, _ = line.split(maxsplit=5)
                yield int(inode), _size(f"{process}/map_files/{addresses.decode()}", largest)


def _size(mapped: str, largest: int) -> int:
    try:
        return os.stat(mapped).st_blocks * 512  # noqa: PTH116 - as above
    except OSError:  # not permitted; or it is mapped elsewhere by now, which hides nothing
        return largest


def _names(folder: str) -> Sequence[str]:
    """What stands there; nothing where the process has ended."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - as above
    except OSError:
        return ()
