"""What of an agent's own must stay whole: the newest state of the list of steps that it keeps by a tool of its own, and
what its provider keeps of the conversation before a compaction, which nobody else can read.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from sightline.errors import SightlineError
from sightline.follow.model_request import Format, read_all
from sightline.log import AGENT
from sightline.providers.agents import LISTS
from sightline.session.session import Session
from sightline.shorten import effect_of
from sightline.values.items import COMPACTIONS, Call, Kind, Opaque, Part

_MARKS = tuple(f"{key}{end}".encode() for key in LISTS for end in ('":', '\\":'))  # also within a text of JSON
_COMPACTION = b"compaction"  # in the name of such a block
_STATES = (b'"status"', b'\\"status\\"', b"[ ] ", b"[x] ", b"[X] ")
_BOX = re.compile(r"(?:[-*+] |\d{1,4}[.)] )?\[[ xX~>/✓✔-]?\] *(\S.*)")
_MOSTLY = 0.5  # of the lines that say something
_LONGEST_LIST = 40_000  # characters
_MOST_LOOKED = 64  # messages that are read for a list under a name that nobody knows
_SHARE = 0.2  # of the window that such a list may have


class _NewerList(NamedTuple):
    """A list that may replace an older one."""

    call_id: str
    steps: frozenset[str]


class Own(NamedTuple):
    """What must stay whole in a request."""

    list_call: str  # the provider's id of the newest call that replaces a list; empty: there is none
    compaction: bytes  # the message; empty: there is none
    window: int  # tokens


def hold(session: Session, own: Own) -> None:
    """Have the newest of each stay whole."""
    if own.list_call:
        hold_list(session, own.list_call, own.window)
    if own.compaction:
        hold_compaction(session)


def newest_list(format: Format, messages: Sequence[bytes]) -> str:  # noqa: A002
    """Return the provider's id of the newest call that replaces a list; empty: there is none.

    Under a name that nobody knows, a list is one that a later call of the same tool gives anew.
    """
    newer: dict[tuple[str, str], _NewerList] = {}
    looked = 0
    for message in reversed(messages):
        is_known = may_have_list(message)
        if not is_known and (looked >= _MOST_LOOKED or not _may_have_steps(message)):
            continue
        looked += not is_known
        try:
            calls = [part for read in read_all(format, [message]) for part in read.parts if isinstance(part, Call)]
        except (SightlineError, ValueError):
            continue
        for call in reversed(calls):
            if is_list(call):
                return call.id
            for key, steps in _lists(call).items():
                found = newer.setdefault((call.name, key), _NewerList(call.id, steps))
                if found.call_id != call.id and found.steps & steps:
                    return found.call_id
    return ""


def may_have_list(message: bytes) -> bool:
    """Whether a message is worth reading: most have no such list, and reading takes longer than looking."""
    return any(mark in message for mark in _MARKS) and _may_have_call(message)


def _may_have_steps(message: bytes) -> bool:
    """Whether a message may have a list under a name that nobody knows."""
    return any(mark in message for mark in _STATES) and _may_have_call(message)


def _may_have_call(message: bytes) -> bool:
    return b'"assistant"' in message or b"_call" in message or b'"functionCall"' in message


def is_list(call: Call) -> bool:
    """Whether a call replaces a list of steps with their states, under a name by which an agent is known."""
    arguments: Any = call.input
    return isinstance(arguments, dict) and any(steps_of(arguments[key]) for key in LISTS if key in arguments)


def _lists(call: Call) -> dict[str, frozenset[str]]:
    """Return the steps of each argument that may be a list. What is written into a file is none, nor is a command."""
    arguments: Any = call.input
    if not isinstance(arguments, dict) or effect_of(call).subjects:
        return {}
    return {key: steps for key, value in arguments.items() if (steps := steps_of(value))}


def steps_of(value: Any) -> frozenset[str]:
    """Return what the steps of a list say; empty: this is none.

    Each step is an object with a status, or a line of text with a box before it, as most lines are then.
    """
    if isinstance(value, list):
        return frozenset(_said(step) for step in value) if all(_has_state(step) for step in value) else frozenset()
    if not isinstance(value, str) or len(value) > _LONGEST_LIST:
        return frozenset()
    lines = [line.strip() for line in value.splitlines() if line.strip()]
    steps = [match[1] for line in lines if (match := _BOX.match(line))]
    return frozenset(steps) if len(steps) > _MOSTLY * len(lines) else frozenset()


def newest_compaction(messages: Sequence[bytes]) -> bytes:
    """Return the newest message in which the provider keeps what was before; empty: there is none."""
    return next((message for message in reversed(messages) if _COMPACTION in message and _has_compaction(message)), b"")


def _has_compaction(message: bytes) -> bool:
    """Whether it is such a block, and not a text that speaks of one."""
    read = msgspec.json.decode(message)
    content = read.get("content")
    blocks = [read, *(content if isinstance(content, list) else ())]
    return any(isinstance(block, dict) and block.get("type") in COMPACTIONS for block in blocks)


def hold_compaction(session: Session) -> None:
    """Have the newest compaction of the provider's stay whole. Those before it are in it."""
    timeline, path = session.log.timeline, session.log.path
    marks = timeline.marked(path)
    newest = -1
    for row in timeline.newest_of(Kind.ASSISTANT, path):
        if not kept_by_provider(session.items[timeline.id(row)].parts):
            continue
        is_pinned = row in marks and marks[row].what == "pin"
        if newest >= 0 and is_pinned and marks[row].by == AGENT:
            session.items.mark(row, "unpin", AGENT)
        elif newest < 0 and not is_pinned:
            session.items.mark(row, "pin", AGENT)
        newest = max(newest, row)


def kept_by_provider(parts: Sequence[Part]) -> list[Any]:
    """Return that in which a provider keeps what was before, as far as these parts have it."""
    blocks = [part.raw for part in parts if isinstance(part, Opaque) and part.kind in COMPACTIONS]
    return [block.get("encrypted_content") or block.get("content") for block in blocks]


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
    """Return the row of the newest call with this id that has a list: some servers give one id many times.

    -1: there is none.
    """
    timeline = session.log.timeline
    for row in timeline.newest_of(Kind.CALL, session.log.path):
        call = session.items[timeline.id(row)].parts[0]
        if isinstance(call, Call) and call.id == call_id and (is_list(call) or _lists(call)):
            return row
    return -1


def _has_state(step: object) -> bool:
    return isinstance(step, dict) and "status" in step


def _said(step: dict[str, Any]) -> str:
    """Return what a step says: its longest text."""
    texts = (value for key, value in step.items() if key != "status" and isinstance(value, str))
    return max(texts, key=len, default="")
