"""A code file in pieces that can be parsed one by one.

A parser that recovers from errors takes time that grows with the square of what it cannot read: a minute for 64 KB of
quotation marks. In small pieces the time is bounded whatever the text is. Code loses little by it, because a line
without indentation usually begins something new.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SIZE = 4096  # characters of a piece at most: the worst pieces take a third of a second, code some milliseconds

_CONTINUES = re.compile(r"[\s)\]}{]|(?:else|elif|except|finally|catch|rescue|ensure|end|then|fi|done|esac|when)\b")


class Piece(NamedTuple):
    """Some lines. `continues` is true if they are inside something that began in an earlier piece."""

    text: str
    continues: bool = False

    @property
    def is_within_line(self) -> bool:
        """Whether this is a part of a line that nobody has written by hand, because it is longer than a piece."""
        return len(self.text) == SIZE and "\n" not in self.text


def pieces(text: str) -> Iterator[Piece]:
    """Yield the text in pieces, cut before lines without indentation, or else before the least indented line."""
    whole = text.splitlines(keepends=True)
    lines = [line[at : at + SIZE] for line in whole for at in range(0, len(line), SIZE)]
    start, continues = 0, False
    while start < len(lines):
        end = _find_end(lines, start, continues=continues)
        yield Piece("".join(lines[start:end]), continues)
        start, continues = end, end < len(lines) and not _starts_definition(lines[end])


def _starts_definition(line: str) -> bool:
    return _CONTINUES.match(line) is None


def _find_end(lines: Sequence[str], start: int, *, continues: bool) -> int:
    """Return where the piece that begins here ends: before the line with this number."""
    size, end = 0, start
    while end < len(lines) and (size + len(lines[end]) <= SIZE or end == start):
        if continues and end > start and _starts_definition(lines[end]):
            return end
        size += len(lines[end])
        end += 1
    if end == len(lines):
        return end
    starts = [at for at in range(start + 1, end + 1) if _starts_definition(lines[at])]
    if starts and not continues:
        return next((at for at in reversed(starts) if not lines[at - 1].strip()), starts[-1])
    later = range((start + end) // 2 + 1, end + 1)
    return min(later, key=lambda at: (_indentation(lines[at]), -at), default=end)


def _indentation(line: str) -> int:
    text = line.lstrip()
    # A line that closes a block or is empty is not a place to begin.
    return len(line) - len(text) if text and text[0] not in ")]}" else len(line) + SIZE
