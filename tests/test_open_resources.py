"""A test that leaves something open fails, and is told what."""

import gc
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import open_resources
from open_resources import closed_at_end, lasting


@contextmanager
def left_file() -> Iterator[Any]:
    with tempfile.TemporaryFile() as left:
        yield left


@contextmanager
def left_socket() -> Iterator[Any]:
    with socket.socket() as left:
        yield left


@contextmanager
def left_thread() -> Iterator[Any]:
    end = threading.Event()
    left = threading.Thread(target=end.wait, name="left behind")
    left.start()
    yield left
    end.set()
    left.join()


@contextmanager
def left_process() -> Iterator[Any]:
    with subprocess.Popen([sys.executable, "-S", "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as left:
        yield left


@pytest.mark.parametrize(
    ("leave", "told"),
    [
        (left_file, "file"),
        (left_socket, "socket:"),
        (left_thread, "left behind"),
        (left_process, "sys.stdin.read"),
    ],
)
def test_what_is_left_open_is_named(leave: Callable[[], Any], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, a socket, a thread, a process; nothing is said of what stays for later tests."""
    monkeypatch.setattr(open_resources, "SECONDS", 0.05)
    leaving = leave()
    with leave():  # what was there before
        with pytest.raises(AssertionError, match=f"left open:\n(.*\n)*.*{told}"), closed_at_end():
            leaving.__enter__()
        leaving.__exit__(None, None, None)
        leaving = leave()
        with closed_at_end(), lasting():
            leaving.__enter__()
        leaving.__exit__(None, None, None)


def test_what_nobody_owns_any_more_is_named_too() -> None:
    """A socket in a ring of references would be found when garbage is collected, in some other test."""

    def make_ring() -> None:
        ring: list[Any] = [socket.socket()]
        ring.append(ring)

    gc.disable()
    with pytest.raises(AssertionError, match=r"unclosed <socket"), closed_at_end():
        make_ring()
    gc.enable()
