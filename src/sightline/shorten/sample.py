"""A bounded look at a text of any length: its lines, or head, tail and windows between when it is too long to read."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct

ROOM = 44 * 1024  # characters read at most; more than this cannot be searched within the time an append may take
HEAD, TAIL, WINDOW = 24 * 1024, 8 * 1024, 4 * 1024
EXACT = 128 * 1024  # characters up to which tokens are counted, not estimated
SEGMENT = 320  # a longer line is read in pieces of about this length, so that one line can be shown in part
BEGINNING = 120  # characters of the beginning that are always shown as they are, to the end of their line
FULLER = 400  # characters the end of that line may be away

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]{0,32}[A-Za-z]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|.)")
_UNSHOWABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_CONTROLS = bytes(b for b in (*range(32), 127) if b not in b"\t\n")
_BREAKS = " \t,;>}"


class Sample(Struct, frozen=True, dict=True):
    """What was looked at: lines, or pieces of long ones. Pieces of one line have the same number."""

    lines: list[str]
    numbers: list[int]  # of each line, counted from 1 in the whole text

    @cached_property
    def text(self) -> str:
        """A line end and each line: a pattern that begins with a line end is found much faster than one with ^."""
        return "\n" + "\n".join(self.lines)

    @cached_property
    def starts(self) -> list[int]:
        """Where the line end before each line stands in the text."""
        return starts_of(self.lines)


def starts_of(lines: list[str]) -> list[int]:
    """Where each line stands in all of them joined, the character before it counted as its own."""
    return [at + i for i, at in enumerate(accumulate(map(len, lines[:-1]), initial=0))]


class Beginning(NamedTuple):
    """The first characters of a text as they are, and how many lines of its sample they show."""

    text: str = ""
    lines: int = 0


def legal(text: str) -> str:
    """The text with every lone surrogate replaced, so that it can be encoded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def look(text: str, longest: int = SEGMENT) -> Sample:
    """The lines of a text; of a long one those of its head, its tail and evenly spaced windows.

    Lines longer than `longest` are read in pieces.
    """
    lines: list[str] = []
    numbers: list[int] = []
    before = number = 0
    for start, end in windows(len(text)):
        number += text.count("\n", before, start)
        before = start
        _read(text[start:end], number + 1, longest, lines, numbers)
    return Sample(lines, numbers)


def beginning(text: str, sample: Sample, most: int) -> Beginning:
    """The first lines of a text, at least 120 characters of it if `most` allows.

    A long first line is cut where its sample is.
    """
    end = text.find("\n", BEGINNING - 1)
    end = len(text) if end < 0 else end
    if end <= min(FULLER, most):
        return Beginning(legal(text[:end]), text.count("\n", 0, end) + 1)
    first = sample.lines[0]
    if BEGINNING <= len(first) <= most and text.startswith(first) and sample.numbers[:2] == [1, 1]:
        return Beginning(legal(f"{first}…"), 1)
    cut = min(BEGINNING, most)
    return Beginning(legal(f"{text[:cut]}…"), text.count("\n", 0, cut))


def where(pattern: re.Pattern[str], sample: Sample) -> Iterator[tuple[int, re.Match[str]]]:
    """Every match of a pattern with the line it ends in: one search over all lines is far quicker than one for each."""
    for match in pattern.finditer(sample.text):
        yield bisect_right(sample.starts, match.end() - 1) - 1, match


def windows(length: int) -> list[tuple[int, int]]:
    """The stretches of a text of this length that are read."""
    if length <= ROOM:
        return [(0, length)]
    count = (ROOM - HEAD - TAIL) // WINDOW
    step = (length - HEAD - TAIL) / count
    starts = [
        HEAD + int(step * (i + 0.5)) - WINDOW // 2 for i in range(count)
    ]  # step is at least a window: they do not overlap
    return [(0, HEAD), *((start, start + WINDOW) for start in starts), (length - TAIL, length)]


def counted(text: str) -> tuple[str, int]:
    """A text whose tokens stand for the tokens of this one, and how many characters of it that text covers."""
    if len(text) <= EXACT:
        return legal(text), len(text)
    parts = [text[start : start + WINDOW // 2] for start, _ in windows(len(text))]
    return legal("".join(parts)), sum(map(len, parts))


def _read(window: str, number: int, longest: int, lines: list[str], numbers: list[int]) -> None:
    found = list(map(str.rstrip, _shown(window).split("\n")))
    if max(map(len, found)) <= longest:
        lines += found
        numbers += range(number, number + len(found))
        return
    for offset, line in enumerate(found):
        pieces = [line] if len(line) <= longest else _segments(line)
        lines += pieces
        numbers += [number + offset] * len(pieces)


def _shown(window: str) -> str:
    """A text as a terminal would leave it standing."""
    if _plain(window):
        return window
    if "\x1b" in window:
        window = _ANSI.sub("", window)
    if "\r" in window:  # of a progress bar, what was left standing
        window = "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in window.split("\n"))
    return _UNSHOWABLE.sub("\ufffd", window)


def _plain(window: str) -> bool:
    """Whether nothing in it needs care: nearly always, and told at the speed of memory."""
    try:
        data = window.encode()
    except UnicodeEncodeError:
        return False
    return len(data.translate(None, _CONTROLS)) == len(data)


def _segments(line: str) -> list[str]:
    pieces, start = [], 0
    while len(line) - start > SEGMENT:
        ends = [line.rfind(mark, start + SEGMENT // 2, start + SEGMENT) for mark in _BREAKS]
        end = max(ends) + 1 or start + SEGMENT
        pieces.append(line[start:end])
        start = end
    pieces.append(line[start:])
    return pieces
