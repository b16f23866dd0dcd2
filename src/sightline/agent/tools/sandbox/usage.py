"""What a program's processes use, all of them together: memory, their number, and disk space of files without a name.

The kernel's own limits are per process, or do not hold for root, so the sum is measured while the program runs.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from sightline.agent.tools.in_thread import go_on

_FACT = re.compile(rb"^(VmRSS|VmSwap|Threads):\s+(\d+)", re.M)
_SHARE = re.compile(rb"^(?:Pss|SwapPss):\s+(\d+)", re.M)


def processes_of(session: int) -> Iterator[str]:
    """Yield the /proc path of each process of a session. The filter of system calls prevents leaving it."""
    for name in filter(str.isdigit, names("/proc")):
        go_on()
        with suppress(OSError):  # it has ended
            if os.getsid(int(name)) == session:
                yield f"/proc/{name}"


def names(folder: str) -> Sequence[str]:
    """Return the names in a folder; none if the process has ended."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - many of them, often
    except OSError:
        return ()


def overuse(session: int, memory: int, tasks: int) -> str:
    """Return what the processes of a session have too much of: "memory" in bytes, "processes" with their threads.

    Memory that processes share counts once. Where it cannot be read how much is shared, all of it counts.
    """
    running, resident, counted = 0, 0, []
    for process in processes_of(session):
        facts = _facts(process)
        running += facts.get(b"Threads", 1)
        if running > tasks:
            return "processes"
        resident += _resident(facts)
        counted.append(process)
    if resident <= memory:
        return ""
    return "memory" if sum(map(_own_share, counted)) > memory else ""


def _own_share(process: str) -> int:
    """Return the bytes of a process, those that it shares divided by the number of processes that have them."""
    parts = [int(value) << 10 for value in _SHARE.findall(_content(f"{process}/smaps_rollup"))]
    return sum(parts) if parts else _resident(_facts(process))  # asked again, because one that has ended has none


def _facts(process: str) -> dict[bytes, int]:
    return {name: int(value) for name, value in _FACT.findall(_content(f"{process}/status"))}


def _resident(facts: dict[bytes, int]) -> int:
    return (facts.get(b"VmRSS", 0) + facts.get(b"VmSwap", 0)) << 10


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - many of them, often
            return file.read()
    except OSError:  # it has ended, or may not be read
        return b""


# ---------------------------------------------------------------------- disk space


def unnamed_bytes(session: int, folder: Path, largest: int) -> int:
    """Return the bytes of the unnamed files of the processes of a session.

    A file that is removed while it is open, or that never had a name, is in no folder and uses disk space until no
    process has it open or mapped.

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
