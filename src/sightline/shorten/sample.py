"""A sample of a text of any length: all its lines, or of a long text its head, its tail and windows between them.

The windows are where the text speaks of errors, the rarest words for them first.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple

from msgspec import Struct

from sightline.shorten.signals import ERROR_WORDS
from sightline.values.pattern import pattern

READ_LIMIT = 44 * 1024  # characters read at most: more would take longer than a sweep may
HEAD, TAIL, WINDOW = 24 * 1024, 8 * 1024, 1024
BEFORE = WINDOW // 4  # characters of a window before the word that it is for
WINDOWS = (READ_LIMIT - HEAD - TAIL) // WINDOW
SEARCHED = 2 << 20  # characters after the head, and before the tail, in which words for errors are looked for
EXACT_COUNT = 128 * 1024  # characters up to which tokens are counted, not estimated
LONGEST_LINE = 1000  # characters: whoever reads on by line number gets a longer line as several
SEGMENT = 320  # a longer line is read in pieces of about this length, so that a part of it can be shown
OPENING = 120  # characters of the beginning that are always shown unchanged, to the end of their line
OPENING_LINE = 400  # characters: the opening goes to the end of its line where that is not further away

_ANSI = pattern(r"\x1b(?:\[[0-9;?]{0,32}[A-Za-z]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|.)")
_UNSHOWABLE = pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_CONTROLS = bytes(b for b in (*range(32), 127) if b not in b"\t\n")
_BREAKS = " \t,;>}"


class Sample(Struct, frozen=True, dict=True):
    """The lines that were read, or pieces of long ones. Pieces of one line have the same number."""

    lines: list[str]
    numbers: list[int]  # of each line, counted from 1 in the whole text
    is_whole: bool = True  # every line was read, so that counts are true of the text

    @cached_property
    def text(self) -> str:
        """All lines, each after a line end: a pattern that begins with one is found much faster than one with ^."""
        return "\n" + "\n".join(self.lines)

    @cached_property
    def starts(self) -> list[int]:
        """The position in `text` of the line end before each line."""
        return [at + i for i, at in enumerate(accumulate(map(len, self.lines[:-1]), initial=0))]


class Opening(NamedTuple):
    """The first characters of a text, unchanged, and how many lines of its sample they cover."""

    text: str = ""
    lines: int = 0
    number: int = 0  # of its last line in the whole text, if that is whole


def encodable(text: str) -> str:
    """Return the text with every lone surrogate replaced, so that it can be encoded as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def cut_at_blank(text: str, most: int) -> str:
    """Return the first characters of a text, up to a blank in the second half of `most`, with an ellipsis."""
    blank = text.rfind(" ", most // 2, most)
    return f"{text[: blank if blank > 0 else most]}…"


def read_sample(text: str, longest: int = SEGMENT) -> Sample:
    """Return the lines of a text; of a long text those of its head, its tail and evenly spaced windows.

    Lines longer than `longest` are cut into pieces.
    """
    lines: list[str] = []
    numbers: list[int] = []
    before = number = 0
    for start, end in (_whole_lines(text, *window) for window in _windows_to_read(text)):
        number += text.count("\n", before, start)
        before = start
        own_lines = list(map(str.rstrip, _as_displayed(text[start:end]).split("\n")))
        if max(map(len, own_lines)) <= longest:
            lines += own_lines
            numbers += range(number + 1, number + 1 + len(own_lines))
            continue
        for offset, line in enumerate(own_lines, 1):
            pieces = [line] if len(line) <= longest else _segments(line)
            lines += pieces
            numbers += [number + offset] * len(pieces)
    return Sample(lines, numbers, len(text) <= READ_LIMIT)


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the part of a stretch that is whole lines, or all of it if it has none: half a value is a wrong one."""
    first = start if not start or text[start - 1] == "\n" else text.find("\n", start, end) + 1 or start
    last = end if end == len(text) or text[end] == "\n" else text.rfind("\n", first, end)
    return first, last if last > first else end


def read_opening(text: str, sample: Sample, most: int) -> Opening:
    """Return the first lines of a text, at least 120 characters if `most` allows.

    A long first line is cut where its sample is cut.
    """
    end = text.find("\n", OPENING - 1)
    end = len(text) if end < 0 else end
    if end <= min(OPENING_LINE, most):
        return Opening(encodable(text[:end]), text.count("\n", 0, end) + 1)
    first = sample.lines[0]
    if OPENING <= len(first) <= most and text.startswith(first) and sample.numbers[:2] == [1, 1]:
        return Opening(encodable(f"{first}…"), 1)
    cut = min(OPENING, most)
    return Opening(encodable(f"{text[:cut]}…"), text.count("\n", 0, cut))


def read_page(text: str, sample: Sample, most: int) -> Opening:
    """Return as many of the first lines of a text as `most` characters hold; its usual opening if that is no line."""
    end = text.rfind("\n", 0, most)
    if end < OPENING:
        return read_opening(text, sample, most)
    number = text.count("\n", 0, end) + 1
    return Opening(encodable(text[:end]), bisect_right(sample.numbers, number), number)


def find_lines(pattern: re.Pattern[str], sample: Sample) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield every match with the line it ends in. One search over all lines is far quicker than one for each."""
    for match in pattern.finditer(sample.text):
        yield bisect_right(sample.starts, match.end() - 1) - 1, match


def _windows_to_read(text: str) -> list[tuple[int, int]]:
    """Return the stretches of a text that are read. They do not overlap."""
    if len(text) <= READ_LIMIT:
        return [(0, len(text))]
    head, tail = text.find("\n", HEAD, HEAD + SEGMENT), text.rfind("\n", 0, len(text) - TAIL)
    head, tail = head if head > 0 else HEAD, tail if tail > len(text) - TAIL - SEGMENT else len(text) - TAIL
    starts: list[int] = []
    for place in (*_troubled_places(text, head, tail), *(start + BEFORE for start in _even_starts(len(text)))):
        start = min(max(place - BEFORE, head), tail - WINDOW)
        is_read = start in starts or any(other <= place < other + WINDOW - BEFORE for other in starts)
        if len(starts) < WINDOWS and not is_read:
            starts.append(start)
    parts = [(0, head)]
    for start, end in [*((start, start + WINDOW) for start in sorted(starts)), (tail, len(text))]:
        if start > parts[-1][1]:
            parts.append((start, end))
        else:  # one part with the one before, so that the line between them is read too
            parts[-1] = parts[-1][0], end
    return parts


def _troubled_places(text: str, start: int, end: int) -> list[int]:
    """Return where words for errors are between these places: of each its first and its last, then others.

    The rarest word comes first.
    """
    parts = [(start, end)] if end - start <= 2 * SEARCHED else [(start, start + SEARCHED), (end - SEARCHED, end)]
    counts = {word: sum(text.count(word, *part) for part in parts) for word in ERROR_WORDS}
    words = sorted(filter(counts.__getitem__, ERROR_WORDS), key=counts.__getitem__)
    places = [find(word, *part) for word in words for find in (text.find, text.rfind) for part in parts]
    for word in words:
        places += chain.from_iterable(_places(text, word, *part) for part in parts)
    return [place for place in dict.fromkeys(places) if place >= 0]


def _places(text: str, word: str, start: int, end: int) -> Iterator[int]:
    """Yield where a word is, as many places as there are windows, each at least a window after the one before."""
    for _ in range(WINDOWS):
        start = text.find(word, start, end)
        if start < 0:
            return
        yield start
        start += WINDOW


def _even_starts(length: int) -> list[int]:
    """Return where evenly spaced windows between head and tail of a text of this length begin."""
    step = (length - HEAD - TAIL) / WINDOWS  # at least a window
    return [HEAD + int(step * (i + 0.5)) - WINDOW // 2 for i in range(WINDOWS)]


def count_tokens(text: str, count: Callable[[str], int]) -> int:
    """Return the tokens of a text. Those of a long text are estimated from parts of it."""
    sample = text
    if len(text) > EXACT_COUNT:
        starts = (0, *_even_starts(len(text)), len(text) - TAIL)
        sample = "".join([text[start : start + WINDOW // 2] for start in starts])
    return count(encodable(sample)) * len(text) // max(1, len(sample))


def without_ansi(text: str) -> str:
    """Return a text without the sequences by which a terminal is told to colour or to move the cursor."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def _as_displayed(text: str) -> str:
    """Return a text as a terminal shows it in the end."""
    with suppress(UnicodeEncodeError):  # a surrogate
        data = text.encode()
        if len(data.translate(None, _CONTROLS)) == len(data):  # nearly always, and found out very quickly
            return text
    text = without_ansi(text)
    if "\r" in text:  # of a progress bar, its last state
        text = "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))
    return _UNSHOWABLE.sub("\ufffd", text)


def _segments(line: str) -> list[str]:
    pieces, start = [], 0
    while len(line) - start > SEGMENT:
        ends = [line.rfind(mark, start + SEGMENT // 2, start + SEGMENT) for mark in _BREAKS]
        end = max(ends) + 1 or start + SEGMENT
        pieces.append(line[start:end])
        start = end
    pieces.append(line[start:])
    return pieces
