"""The list of steps that an agent keeps by a tool of its own, and replaces as a whole: its newest state stays whole."""

from collections.abc import Sequence
from typing import Any

from sightline.errors import SightlineError
from sightline.follow.model_request import Format, read_all
from sightline.log import AGENT
from sightline.providers.agents import LISTS
from sightline.session.session import Session
from sightline.values.items import Call, Kind

_MARKS = tuple(f"{key}{end}".encode() for key in LISTS for end in ('":', '\\":'))  # also within a text of JSON
_SHARE = 0.2  # of the window that such a list may have


def newest_list(format: Format, messages: Sequence[bytes]) -> str:  # noqa: A002
    """Return the provider's id of the newest call that replaces a list; empty: there is none."""
    for message in reversed(messages):
        if not may_have_list(message):
            continue
        try:
            calls = [part for read in read_all(format, [message]) for part in read.parts if isinstance(part, Call)]
        except (SightlineError, ValueError):
            continue
        if ids := [call.id for call in calls if is_list(call)]:
            return ids[-1]
    return ""


def may_have_list(message: bytes) -> bool:
    """Whether a message is worth reading: most have no such list, and reading takes longer than looking."""
    return any(mark in message for mark in _MARKS) and (
        b'"assistant"' in message or b"_call" in message or b'"functionCall"' in message
    )


def is_list(call: Call) -> bool:
    """Whether a call replaces a list of steps with their states."""
    arguments: Any = call.input
    steps = [arguments.get(key) for key in LISTS] if isinstance(arguments, dict) else []
    return any(isinstance(step, list) and step and all(_has_state(entry) for entry in step) for step in steps)


def hold_list(session: Session, call_id: str, window: int) -> None:
    """Have the list of this call stay whole, and no other one. One that takes much of the window is left alone.

    What somebody else has pinned stays pinned.
    """
    timeline, path = session.log.timeline, session.log.path
    marks = timeline.marked(path)
    newest = _row_of(session, call_id)
    is_held = newest >= 0 and timeline.full[newest] <= _SHARE * window
    for row, mark in marks.items():
        is_list_mark = mark.by == AGENT and mark.what == "pin" and timeline.kind[row] == Kind.CALL
        if is_list_mark and not (is_held and row == newest):
            session.items.mark(row, "unpin", AGENT)
    if is_held and (newest not in marks or marks[newest].what != "pin"):
        session.items.mark(newest, "pin", AGENT)


def _row_of(session: Session, call_id: str) -> int:
    """Return the row of the newest call with this id that replaces a list: some servers give one id many times.

    -1: there is none.
    """
    timeline = session.log.timeline
    for row in timeline.rows_on(session.log.path, timeline.newest_of(Kind.CALL)):
        call = session.items[timeline.id(row)].parts[0]
        if isinstance(call, Call) and call.id == call_id and is_list(call):
            return row
    return -1


def _has_state(step: object) -> bool:
    return isinstance(step, dict) and "status" in step
