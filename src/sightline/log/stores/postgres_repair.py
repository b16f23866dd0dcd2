"""Mends the row of a session that does not fit its lines, as after only some of the tables were restored.

The lines are the log. What the row says of them follows from them, so it can be made again.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec

from sightline.log.entries import UNREADABLE, decode_tip
from sightline.log.stores import Line, Span, Tips
from sightline.log.stores.sequence import advance
from sightline.values.decoders import decode_msgpack

LAST_LINE = """SELECT coalesce(max(seq), 0), coalesce(sum(octet_length(data)), 0)::bigint FROM {s}.entry
    WHERE tenant = %s AND session = %s"""
MEND = """UPDATE {s}.session SET lines = %s, bytes = %s, tips = %b
    WHERE tenant = %s AND session = %s AND lines = %s RETURNING session"""
_AT_ONCE = 64  # lines from the end that are read at once: the last entry of a branch is among the last ones


def fitting_tips(lines: int, data: bytes) -> Tips | None:
    """What a row says of so many lines; None if that is damaged, or of another number of lines."""
    if not lines:
        return Tips()
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        tips = decode_msgpack(data, Tips)
        return tips if tips.size == lines else None
    return None


def last_head(read: Callable[[Sequence[Span]], list[bytes]], count: int, branch: str) -> str | None:
    """The last conversation entry on a branch that can be read, of so many lines; None if there is none."""
    for end in range(count, 0, -_AT_ONCE):
        for line in reversed(read([Span(at, 0) for at in range(max(end - _AT_ONCE, 0), end)])):
            with suppress(*UNREADABLE):
                tip = decode_tip(line)
                if tip.in_conversation and tip.branch == branch:
                    return tip.uuid
    return None


def tips_of(lines: Iterable[Line], count: int) -> Tips:
    """What a row must say of these lines. Lines that cannot be read have their numbers, too."""
    tips = Tips(size=count)
    for line in lines:
        with suppress(*UNREADABLE):
            advance(tips, decode_tip(line.data))
        tips.seq = max(tips.seq, line.span.offset + 1)
    return tips
