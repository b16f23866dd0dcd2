"""A bounded look at a text of any length: its lines, or head, tail and windows between when it is too long to read."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

ROOM = 44 * 1024  # characters read at most; more than this cannot be searched within the time an append may take
HEAD, TAIL, WINDOW = 24 * 1024, 8 * 1024, 4 * 1024
EXACT = 128 * 1024  # characters up to which tokens are counted, not estimated
SEGMENT = 320  # a longer line is read in pieces of about this length, so that one line can be shown in part

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]{0,32}[A-Za-z]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|.)")
_UNSHOWABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_BREAK = re.compile(r"[\s,;>}]")


class Line(NamedTuple):
    """A line, or a piece of a long one; pieces of one line have the same number."""

    number: int  # counted from 1 in the whole text
    text: str


class Sample(NamedTuple):
    """What was looked at."""

    lines: list[Line]
    text: str  # "\\n" and each line: a pattern that begins with a line end is found much faster than one with ^
    starts: list[int]  # where each line's "\\n" stands in it


def legal(text: str) -> str:
    """The text with every lone surrogate replaced, so that it can be encoded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def look(text: str) -> Sample:
    """The lines of a text; of a long one those of its head, its tail and evenly spaced windows."""
    lines: list[Line] = []
    before = number = 0
    for start, end in windows(len(text)):
        number += text.count("\n", before, start)
        before = start
        _read(text[start:end], number + 1, lines)
    texts = [line.text for line in lines]
    starts = list(accumulate([len(text) + 1 for text in texts], initial=0))
    return Sample(lines, "\n" + "\n".join(texts), starts[:-1])


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


def _read(window: str, number: int, lines: list[Line]) -> None:
    if "\x1b" in window:
        window = _ANSI.sub("", window)
    window = _UNSHOWABLE.sub("\ufffd", window)
    for offset, line in enumerate(window.split("\n")):
        # of a progress bar, what was left standing
        standing = line.rstrip("\r").rsplit("\r", 1)[-1] if "\r" in line else line
        if len(standing) <= SEGMENT:
            lines.append(Line(number + offset, standing.rstrip()))
        else:
            lines.extend(Line(number + offset, piece) for piece in _segments(standing))


def _segments(line: str) -> list[str]:
    pieces, start = [], 0
    while len(line) - start > SEGMENT:
        breaks = [match.end() for match in _BREAK.finditer(line, start + SEGMENT // 2, start + SEGMENT)]
        end = breaks[-1] if breaks else start + SEGMENT
        pieces.append(line[start:end])
        start = end
    pieces.append(line[start:])
    return pieces
