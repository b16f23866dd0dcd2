"""What a test has left open, so that it fails by its own name: files, sockets and pipes, threads, and processes.

Without this, a socket that nobody owns is noticed when garbage is collected, in another test or after the last one.
What fixtures of a module or of the whole run open stays for later tests, and so does what is opened under `lasting`.
Where there is no /proc, only threads are looked at.
"""

import gc
import os
import threading
import time
import warnings
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SECONDS = 2.0  # for what is closed by a thread or a process that is just ending

GROWING: set[str] = set()
"""Fixtures of several tests that open more while they are used, such as a server that all tests of a folder ask."""

_POOLS = ("sightline session_",)  # threads of the one pool that all asynchronous sessions of a process share
_lasting: set[Hashable] = set()


@contextmanager
def lasting() -> Iterator[None]:
    """Nothing that is opened in here counts as left by the test that happens to run."""
    before = _everything()
    yield
    _lasting.update(_opened_since(before))


@contextmanager
def closed_at_end() -> Iterator[None]:
    """Fail if something that was opened in here is still open.

    Raises:
        AssertionError: with a line for each.
    """
    before = _everything()
    yield
    if not (left := _opened_since(before)):
        return
    warned = _collect_garbage()
    end = time.monotonic() + SECONDS
    while not warned and (left := _opened_since(before)):
        if time.monotonic() > end:
            break
        time.sleep(0.005)
    if left or warned:
        raise AssertionError("left open:\n" + "\n".join([*map(_describe, left), *warned]))


def _everything() -> set[Hashable]:
    """Files with what they lead to, threads, and the numbers of all processes, which are not all ours."""
    threads = (thread for thread in threading.enumerate() if not thread.name.startswith(_POOLS))
    return {*_files(), *threads, *_numbers("/proc")}


def _opened_since(before: set[Hashable]) -> list[Hashable]:
    new = _everything() - before - _lasting
    ours = {os.getpid(), *_lasting}
    return [key for key in new if not isinstance(key, int) or _parent(key) in ours]


def _files() -> Iterator[tuple[int, str]]:
    for number in _numbers("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the list itself
            yield number, os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115 (half the time of a Path)


def _numbers(folder: str) -> list[int]:
    try:
        return [int(name) for name in os.listdir(folder) if name.isdigit()]  # noqa: PTH208
    except FileNotFoundError:
        return []


def _parent(process: int) -> int | None:
    with suppress(FileNotFoundError, ProcessLookupError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return None


def _describe(key: Hashable) -> str:
    if isinstance(key, int):
        with suppress(FileNotFoundError):
            command = Path(f"/proc/{key}/cmdline").read_text(errors="replace").replace("\0", " ")
            return f"process {key}: {command[:300] or 'ended, and nobody waited for it'}"
    return f"file {key[0]}: {key[1]}" if isinstance(key, tuple) else str(key)


def _collect_garbage() -> list[str]:
    """Return what the objects say that own what was left. They go now, and so blame no other test."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        gc.collect()
    return [str(warning.message) for warning in said if issubclass(warning.category, ResourceWarning)]
