"""The lines of a text that match. A regular expression runs in a process, which is stopped if it takes too long."""

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
    """The number of a line that matches, from 1, and the place of the match in it."""

    line: int
    place: int


class Stopped(Exception):
    """The time limit was reached."""


Matcher = Callable[[str], list[Match]]


@contextmanager
def matcher(query: str, *, regex: bool, seconds: float, most: int) -> Iterator[Matcher]:
    """Yield a function that returns the lines of a text that match, at most `most`.

    Case matters if the query has a capital letter.

    Raises:
        re.error: the query is not a regular expression.
        Stopped: `seconds` have passed since the beginning. The function raises it too.
    """
    ignore_case = query == query.lower()
    if not regex:
        yield lambda text: _find_plain(query, text, ignore_case, most)
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
                _check_pattern(child)
                yield lambda text: _find_pattern(child, text)
        finally:
            timer.cancel()
            child.kill()
            with suppress(BrokenPipeError):  # of a text that it has not read
                child.stdin.close()


def _find_plain(query: str, text: str, ignore_case: bool, most: int) -> list[Match]:
    found: list[Match] = []
    for number, line in enumerate(text.split("\n"), 1):
        place = (line.lower() if ignore_case else line).find(query)
        if place >= 0:
            found.append(Match(number, place))
            if len(found) >= most:
                break
    return found


def _check_pattern(child: "subprocess.Popen[bytes]") -> None:
    """Raise re.error if the worker could not compile the pattern. It is not compiled here: that can take minutes."""
    assert child.stdout is not None
    answer = child.stdout.readline()
    if not answer:
        raise Stopped
    if error := json.loads(answer):
        raise re.error(error)


def _find_pattern(child: "subprocess.Popen[bytes]", text: str) -> list[Match]:
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
