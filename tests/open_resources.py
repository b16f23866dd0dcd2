"""A plugin: what a test leaves open fails it by its own name. Files, sockets and pipes, threads, and processes.

Without this, a socket that nobody owns is noticed when garbage is collected, in another test or after the last one.
What fixtures of a module or of the whole run open stays for later tests, and so does what is opened under `lasting`.
Where there is no /proc, only threads are looked at.
"""

import gc
import os
import sys
import threading
import time
import warnings
from collections.abc import Generator, Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

SECONDS = 2.0  # for what is closed by a thread or a process that is just ending

_POOLS = ("sightline session_",)  # threads of the one pool that all asynchronous sessions of a process share
_lasting: set[Hashable] = set()
_growing: set[str] = set()


@contextmanager
def lasting() -> Iterator[list[Hashable]]:
    """Nothing that is opened in here counts as left by the test that happens to run. The list has it at the end."""
    before, opened = _everything(), list[Hashable]()
    yield opened
    opened += _opened_since(before)
    _lasting.update(opened)


@pytest.fixture(scope="session", autouse=True)
def _kept_by_libraries() -> None:
    """What a library opens once for the whole process: libuv has a pipe for signals from its first loop on."""
    try:
        import uvloop
    except ImportError:  # an environment of another framework, or a system that has none
        return
    with lasting():
        uvloop.new_event_loop().close()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """What a fixture of several tests opens stays until the fixture ends.

    If a thread is among it, such as that of a server, it opens more while it is used: no test is blamed for that.
    """
    if fixturedef.scope == "function":
        return (yield)
    with lasting() as opened:
        fixturedef.addfinalizer(lambda: _check_end(fixturedef.argname, opened))  # is called after the fixture's own end
        result = yield
    if any(isinstance(key, threading.Thread) for key in opened):
        _growing.add(fixturedef.argname)
    return result


def _check_end(name: str, opened: list[Hashable]) -> None:
    _lasting.difference_update(opened)
    warned = _collect_garbage() if name in _growing else []
    end = time.monotonic() + SECONDS
    while (left := [key for key in opened if key in _everything()]) and time.monotonic() < end:
        time.sleep(0.005)
    _growing.discard(name)
    if left or warned:
        raise AssertionError(f"the fixture {name} left open:\n" + "\n".join([*map(_describe, left), *warned]))


@pytest.fixture(autouse=True)
def _closed(request: pytest.FixtureRequest) -> Iterator[None]:
    with closed_at_end() if _growing.isdisjoint(request.fixturenames) else lasting():
        yield


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
    return {*_files(), *threads, *(_numbers("/proc") if _has_children() else ())}


def _has_children() -> bool:
    """Whether this process has started one that still is there: to list all processes takes longer than many tests."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _opened_since(before: set[Hashable]) -> list[Hashable]:
    new = _everything() - before - _lasting - _tracker()
    ours = {os.getpid(), *_lasting}
    return [key for key in new if not isinstance(key, int) or _parent(key) in ours]


def _tracker() -> set[Hashable]:
    """The process that `multiprocessing` starts once, for as long as this one lives, and the pipe to it."""
    if (module := sys.modules.get("multiprocessing.resource_tracker")) is None:
        return set()
    tracker = module._resource_tracker
    return {tracker._pid, *(file for file in _files() if file[0] == tracker._fd)}


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
