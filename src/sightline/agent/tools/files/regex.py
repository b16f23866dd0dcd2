"""Which lines of a text match: words plainly, a pattern in a process that is stopped when it takes too long."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import NamedTuple

from sightline.agent.tools.in_thread import ending_with

MEMORY = 1 << 30

_CHILD = Path(__file__).with_name("regex_worker.py")


class Match(NamedTuple):
    """A line that matches, from 1, and where in it."""

    line: int
    place: int


class Stopped(Exception):
    """The time was up."""


Matcher = Callable[[str], list[Match]]


@contextmanager
def matcher(query: str, *, regex: bool, seconds: float, most: int) -> Iterator[Matcher]:
    """A function from a text to its lines that match, at most so many. Capital letters count where the query has one.

    Raises:
        re.error: the query is no pattern.
        Stopped: also by the function, when so many seconds have passed since the beginning.
    """
    ignore_case = query == query.lower()
    if not regex:
        yield lambda text: _plain(query, text, ignore_case, most)
        return
    request = {
        "pattern": query,
        "ignore_case": ignore_case,
        "most": most,
        "seconds": int(seconds) + 1,
        "memory": MEMORY,
    }
    command = [sys.executable, "-I", "-S", str(_CHILD), json.dumps(request)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}
    ) as child:
        assert child.stdin is not None
        timer = Timer(seconds, child.kill)
        timer.daemon = True
        timer.start()
        try:
            with ending_with(child.kill):
                _check(child)
                yield lambda text: _asked(child, text)
        finally:
            timer.cancel()
            child.kill()
            with suppress(BrokenPipeError):  # what it had not read yet
                child.stdin.close()


def _plain(query: str, text: str, ignore_case: bool, most: int) -> list[Match]:
    found: list[Match] = []
    for number, line in enumerate(text.split("\n"), 1):
        place = (line.lower() if ignore_case else line).find(query)
        if place >= 0:
            found.append(Match(number, place))
            if len(found) >= most:
                break
    return found


def _check(child: "subprocess.Popen[bytes]") -> None:
    """Whether the process could read the pattern. Not ours: that alone can take minutes."""
    assert child.stdout is not None
    answer = child.stdout.readline()
    if not answer:
        raise Stopped
    if error := json.loads(answer):
        raise re.error(error)


def _asked(child: "subprocess.Popen[bytes]", text: str) -> list[Match]:
    assert child.stdin is not None
    assert child.stdout is not None
    data = text.encode("utf-8", "replace")
    try:
        child.stdin.write(b"%d\n" % len(data) + data)
        child.stdin.flush()
        answer = child.stdout.readline()
    except BrokenPipeError:
        raise Stopped from None
    if not answer:
        raise Stopped
    return [Match(*each) for each in json.loads(answer)]
