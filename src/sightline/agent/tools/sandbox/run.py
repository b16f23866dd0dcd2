"""Runs an untrusted program so that it can do little harm.

If the (Linux) kernel supports it: no network for the program and its processes; limits of memory, time, processes,
output and disk; nothing of our environment; no access to other processes of the user; with Landlock, no files except
Python's own, the system's programs and its own two folders; with seccomp, no change of a file's mode, owner, times or
attributes, not even of its own files. Without Landlock it can read and write what the user can: `Protection` tells.

Memory and processes are bounded for all processes of a program together, because it is measured what they use, and a
program that uses too much is ended. Between two measurements it can have more: of processes only if it runs as root,
because the kernel stops others at the limit; of memory as much as it can fill in that time, and each process no more
addresses than the limit.

It still can see whether a file exists, its size and times (no layer hides them), run native code under the same
limits, and use processor time. It ends when our process ends, even if that is killed.
"""

import asyncio
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.json import decode

from sightline.agent.tools.in_thread import go_on, in_thread
from sightline.agent.tools.sandbox.seccomp import seccomp_filter
from sightline.agent.tools.sandbox.usage import overuse, unnamed_bytes
from sightline.errors import ToolFailed

OUTPUT = 30_000  # bytes of the beginning and of the end of its output: about 15,000 tokens in all
WATCHED = 0.05  # seconds between two measurements of its processes
FILES_EVERY = 4  # measurements of its processes to one of its files, which takes longer
OUTSIDE = 2  # processes of ours in its session
MOST_FILES = 1000  # and folders
DEEPEST = 32  # folders within folders, because files below the longest path could not be counted

_CHILD = Path(__file__).with_name("worker.py")
_READS = (
    # Programs and libraries of the system, and what they need to start. None of it is secret.
    "/usr", "/lib", "/lib64", "/bin", "/sbin", "/opt/conda", "/nix/store",
    "/etc/ld.so.cache", "/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/fonts",
    "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu",
    "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random",
)  # fmt: skip


class Limits(Struct, frozen=True):
    """The limits of a program."""

    seconds: float = 30.0
    memory_mb: int = 1024  # of all processes; of addresses of each: numpy and pandas alone reserve half of it
    file_bytes: int = 100 << 20  # of one file
    disk: int = 500 << 20  # bytes of all files, also of those without a name
    processes: int = 64  # and threads


class Protection(Struct, frozen=True):
    """What this machine can enforce."""

    namespaces: bool = False
    seccomp: bool = False
    landlock: bool = False

    @property
    def network(self) -> bool:
        """Whether a program can be kept from the network: either of the two is enough."""
        return self.namespaces or self.seccomp


class Ran(NamedTuple):
    """The result of a program."""

    status: int  # as in a shell: 128 plus the signal that ended it
    out: str
    err: str
    stopped: str = ""  # why it was ended: "time", "disk", "memory", "processes"


@cache
def protection() -> Protection:
    """Return what this machine can enforce. It is tried once, in a process of its own."""
    if not sys.platform.startswith("linux"):
        return Protection()
    request = {"probe": True, "calls": _calls(own_processes=True)}
    command = [sys.executable, "-I", "-S", str(_CHILD), json.dumps(request)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=20, check=False, stdin=subprocess.DEVNULL, env={})
        return decode(done.stdout, type=Protection)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return Protection()


async def confined(
    program: Path, folder: Path, limits: Limits, protected: Protection | None = None, command: Sequence[str] = ()
) -> Ran:
    """Run a program in the `work` folder of `folder`. It may write only inside `folder`.

    `command` is the system's program that runs it, with its options; none: Python.

    Raises:
        ToolFailed: this machine cannot keep it from the network, so it is not run.
    """
    protected = protection() if protected is None else protected
    if not protected.network:
        raise ToolFailed(
            "programs cannot be run: this system offers no way to keep a program from the network "
            "(neither user namespaces nor seccomp)"
        )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(_CHILD), json.dumps(_request(program, folder, limits, protected, command)),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        cwd=folder / "work", env={}, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    streams = asyncio.gather(_read_ends(process.stdout), _read_ends(process.stderr))
    stopped = "it was not waited for"
    try:
        stopped = await _watch(process, folder, limits)
    finally:
        if stopped or not protected.namespaces:  # a process namespace ends with its first process
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # no process can leave its group
        out, err = await streams
        await process.wait()
    return Ran(process.returncode or 0, out, err, stopped)


def _request(
    program: Path, folder: Path, limits: Limits, protected: Protection, command: Sequence[str] = ()
) -> dict[str, Any]:
    interpreter = {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.realpath(sys.executable)}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # each takes memory
    return {
        "parent": os.getpid(),
        "program": [*(command or (sys.executable, "-I", "-u", "-X", "utf8")), str(program)],
        "environment": {  # no keys, no names
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "home"),
            "LANG": "C.UTF-8",
            "MPLBACKEND": "Agg",
            **threads,
        },
        "reads": [*_READS, *sorted(interpreter - {"/"}), str(program)],
        # Not the folder itself, in which it could replace these by links.
        "writes": [str(folder / "work"), str(folder / "home"), "/dev/null"],
        "memory": limits.memory_mb << 20,
        "file_bytes": limits.file_bytes,
        "seconds": int(limits.seconds) + 2,
        "processes": limits.processes,
        "namespaces": protected.namespaces,
        "calls": _calls(own_processes=protected.namespaces) if protected.seccomp else "",
        "landlock": protected.landlock,
    }


def _calls(*, own_processes: bool) -> str:
    """Return the filter of system calls; empty for a machine type without one."""
    try:
        return seccomp_filter(platform.machine(), own_processes).hex()
    except KeyError:
        return ""


async def _watch(process: asyncio.subprocess.Process, folder: Path, limits: Limits) -> str:
    """Wait for its end. Return why it must be stopped; empty if it ended."""
    ended, clock = asyncio.ensure_future(process.wait()), asyncio.get_running_loop().time
    until = clock() + limits.seconds
    try:
        for turn in count(1):
            left = until - clock()
            done, _ = await asyncio.wait({ended}, timeout=max(0.0, min(left, WATCHED)))
            if done or process.returncode is not None:  # `wait` also waits for other processes that hold its output
                return ""
            if left <= 0:
                return "time"
            if stopped := await in_thread(_overuse, process.pid, folder, limits, turn % FILES_EVERY == 0):
                return stopped
        raise AssertionError("it counts for ever")
    finally:
        ended.cancel()


def _overuse(session: int, folder: Path, limits: Limits, with_files: bool) -> str:
    """Return what it uses too much of; empty if nothing."""
    used = overuse(session, limits.memory_mb << 20, limits.processes + OUTSIDE)
    return used or ("disk" if with_files and _fills_disk(session, folder, limits) else "")


def _fills_disk(session: int, folder: Path, limits: Limits) -> bool:
    """Whether its files are more than allowed: in its folder, or removed files that are still open."""
    files, size = 0, unnamed_bytes(session, folder, limits.file_bytes)
    top = str(folder).count(os.sep)
    for place, folders, names in os.walk(folder):
        go_on()
        files += len(folders) + len(names)
        if place.count(os.sep) - top > DEEPEST or files > MOST_FILES or size > limits.disk:
            return True
        for name in names:
            with suppress(OSError):  # gone since
                size += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - many of them, often
    return size > limits.disk


async def _read_ends(stream: asyncio.StreamReader) -> str:
    """Return the beginning and the end of a program's output."""
    head, tail, left_out = b"", b"", 0
    while block := await stream.read(1 << 16):
        room = OUTPUT - len(head)
        head += block[:room]
        tail += block[room:] if room < len(block) else b""
        if (extra := len(tail) - OUTPUT) > 0:
            left_out += extra
            tail = tail[extra:]
    middle = f"\n[… {left_out} bytes …]\n" if left_out else ""
    return head.decode("utf-8", "replace") + middle + tail.decode("utf-8", "replace")
