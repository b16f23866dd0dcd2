"""The lines of a text that match. A regular expression runs in a process, which is stopped if it takes too long."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

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

        def find(text: str) -> list[Match]:
            data = text.encode("utf-8", "replace")
            return [Match(*pair) for pair in _ask(child, b"%d\n" % len(data) + data)]

        timer = Timer(seconds, child.kill)
        timer.daemon = True
        timer.start()
        try:
            with ending_with(child.kill):
                if error := _ask(child):  # it is compiled there, because that can take minutes, too
                    raise re.error(error)
                yield find
        finally:
            timer.cancel()
            child.kill()
            with suppress(BrokenPipeError):  # of a text that it has not read
                child.stdin.close()


def _find_plain(query: str, text: str, ignore_case: bool, most: int) -> list[Match]:
    lines = enumerate((text.lower() if ignore_case else text).split("\n"), 1)
    matches = (Match(number, line.find(query)) for number, line in lines if query in line)
    return list(islice(matches, most))


def _ask(child: "subprocess.Popen[bytes]", question: bytes = b"") -> Any:
    """Return the worker's next answer. Raises Stopped if it has ended."""
    assert child.stdin is not None
    assert child.stdout is not None
    answer = b""
    with suppress(BrokenPipeError):
        child.stdin.write(question)
        child.stdin.flush()
        answer = child.stdout.readline()
    if not answer:
        raise Stopped
    return json.loads(answer)
