"""The memory and the number of a program's processes, all of them together.

The kernel's own limits are per process, or do not hold for root, so the sum is measured while the program runs.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

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
        resident += _size(facts)
        counted.append(process)
    if resident <= memory:
        return ""
    return "memory" if sum(map(_own_share, counted)) > memory else ""


def _own_share(process: str) -> int:
    """Return the bytes of a process, those that it shares divided by the number of processes that have them."""
    parts = [int(value) << 10 for value in _SHARE.findall(_content(f"{process}/smaps_rollup"))]
    return sum(parts) if parts else _size(_facts(process))  # asked again, because one that has ended has none


def _facts(process: str) -> dict[bytes, int]:
    return {name: int(value) for name, value in _FACT.findall(_content(f"{process}/status"))}


def _size(facts: dict[bytes, int]) -> int:
    return (facts.get(b"VmRSS", 0) + facts.get(b"VmSwap", 0)) << 10


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - many of them, often
            return file.read()
    except OSError:  # it has ended, or may not be read
        return b""
