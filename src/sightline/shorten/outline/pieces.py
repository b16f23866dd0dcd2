"""A file of code in pieces that can be parsed one by one.

A parser that recovers from errors takes time that grows with the square of what it cannot read: a minute for 64 KB of
quotation marks. In small pieces the time is bounded whatever the text is, and code loses little by it, since what
begins at the margin begins something new.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SIZE = 4096  # characters of a piece at most: the worst of them take a third of a second, code some milliseconds

_GOES_ON = re.compile(r"[\s)\]}{]|(?:else|elif|except|finally|catch|rescue|ensure|end|then|fi|done|esac|when)\b")


class Piece(NamedTuple):
    """Some lines. `continues`: they stand inside of something that began in a piece before."""

    text: str
    continues: bool = False


def pieces(text: str) -> Iterator[Piece]:
    """The text from its beginning to its end, cut where something begins at the margin; what is larger than a piece is
    cut where it is indented least.
    """
    lines = [part for line in text.splitlines(keepends=True) for part in _parts(line)]
    start, continues = 0, False
    while start < len(lines):
        end = _end(lines, start, continues=continues)
        yield Piece("".join(lines[start:end]), continues)
        start, continues = end, end < len(lines) and not _begins(lines[end])


def _parts(line: str) -> list[str]:
    return [line] if len(line) <= SIZE else [line[at : at + SIZE] for at in range(0, len(line), SIZE)]


def _begins(line: str) -> bool:
    return _GOES_ON.match(line) is None


def _end(lines: Sequence[str], start: int, *, continues: bool) -> int:
    """Where the piece that begins here ends: before the line of this number."""
    size, end = 0, start
    while end < len(lines) and (size + len(lines[end]) <= SIZE or end == start):
        if continues and end > start and _begins(lines[end]):
            return end
        size += len(lines[end])
        end += 1
    if end == len(lines):
        return end
    starts = [at for at in range(start + 1, end + 1) if _begins(lines[at])]
    if starts and not continues:
        return next((at for at in reversed(starts) if not lines[at - 1].strip()), starts[-1])
    later = range((start + end) // 2 + 1, end + 1)
    return min(later, key=lambda at: (_indentation(lines[at]), -at), default=end)


def _indentation(line: str) -> int:
    bare = line.lstrip()
    # What closes a block, or says nothing, is no place to begin.
    return len(line) - len(bare) if bare and bare[0] not in ")]}" else len(line) + SIZE
