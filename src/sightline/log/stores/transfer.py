"""Copies sessions from one place to another, between files and databases, byte for byte."""

from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import zip_longest
from typing import Literal, NamedTuple

from sightline.errors import BadInput, SessionNotFound
from sightline.log.entries import UNREADABLE, decode_tip
from sightline.log.stores import PlacedStores, RawStore, Tips, advance

_AT_ONCE = 8 << 20  # bytes that are written at once, and up to the end of a batch

State = Literal["copied", "grown", "same", "older"]


class Copied(NamedTuple):
    """What was done with a session. "older": the target has all of it and more. `lines` were written."""

    session_id: str
    state: State
    lines: int


def copy_session(source: PlacedStores, target: PlacedStores, session_id: str, *, name: str = "") -> Copied:
    """Copy a session with its texts. What is derived is made again where it is used. `name`: its id in the target.

    If the target has the beginning of it, as after an interrupted copy, only the rest is written.

    Raises:
        SessionNotFound: there is none of this id.
        BadInput: the target has another session of this id.
        StoreError: one of the places failed. Copying again goes on from there.
    """
    with closing(source.open(session_id)) as ours, closing(_opened(target, name or session_id)) as theirs:
        ours.refresh()
        theirs.refresh()
        start, tips = _common(ours, theirs, target.where)
        if start is None:
            return Copied(session_id, "older", 0)
        before = theirs.tips.size
        if texts := dict(ours.all_texts()):
            theirs.keep_texts(texts)
        written = 0
        for lines in _pieces(ours, start, tips):
            theirs.write_raw(lines, tips)
            written += len(lines)
    if not written:
        return Copied(session_id, "same", 0)
    target.date(name or session_id, source.look(session_id).seconds)
    return Copied(session_id, "grown" if before else "copied", written)


def _opened(target: PlacedStores, session_id: str) -> RawStore:
    try:  # not `has`: a copy that was interrupted before the first line left an empty log
        return target.open(session_id)
    except SessionNotFound:
        return target.create(session_id)


def _common(ours: RawStore, theirs: RawStore, where: str) -> tuple[int | None, Tips]:
    """The offset in our log up to which theirs is the same, and the tips there; None if theirs has more."""
    tips = Tips()
    if not theirs.tips.size:
        return 0, tips
    for mine, other in zip_longest(ours.raw_lines(), theirs.raw_lines()):
        if mine is None:
            return None, tips
        if other is None:
            return mine.span.offset, tips
        if mine.data != other.data:
            raise BadInput(
                f"{where} has another session {ours.session_id!r}; delete one of them, or copy to another place"
            )
        _follow(tips, mine.data)
    return ours.tips.size, tips


def _pieces(store: RawStore, start: int, tips: Tips) -> Iterator[list[bytes]]:
    """The lines from there on, each piece up to the end of a batch; `tips` are moved past it."""
    lines: list[bytes] = []
    size = 0
    for line in store.raw_lines(start):
        lines.append(line.data)
        size += len(line.data)
        if _follow(tips, line.data) and size >= _AT_ONCE:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def _follow(tips: Tips, line: bytes) -> bool:
    """Move tips past a line. Whether a batch may end with it."""
    with suppress(*UNREADABLE):
        tip = decode_tip(line)
        advance(tips, tip)
        return tip.batch is None or tip.batch[0] >= tip.batch[1]
    return False
