"""The tools that a session's calls are of, and the arguments of those that read files. Each call is read once."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Raw, Struct

from sightline.log import NONE, Journal, Timeline, entries
from sightline.log.stores import Span
from sightline.session.session import Session
from sightline.values.decoders import decode_json
from sightline.values.items import Kind
from sightline.view.file_reads import READS

_READ_AT_ONCE = 512  # entries
_CALL_PART = b'{"type":"call"'


class _Call(Struct):
    name: str = ""
    input: Raw = Raw(b"null")


class _Body(Struct):
    content: Raw = Raw(b'""')


class _Line(Struct):
    message: _Body | None = None
    tool: _Call | None = None


class ToolCalls:
    """What is known of the calls of a log, by row."""

    def __init__(self, journal: Journal) -> None:
        self.timeline, self._store = journal.timeline, journal.store
        self.arguments: dict[int, bytes] = {}  # of calls that read files: to know the same read again by
        self._names: dict[int, str] = {}
        self._rows = 0

    def name(self, row: int) -> str:
        """Return the tool of a call, or of a result; empty if the row is neither."""
        call = self.timeline.partner[row] if self.timeline.kind[row] == Kind.RESULT else row
        if call >= self._rows and call not in self._names and self.timeline.kind[call] == Kind.CALL:
            self._read([call - self.timeline.sub[call] + 1])
        return self._names.get(call, "")

    def update(self) -> None:
        """Read the calls that are new in the log."""
        timeline, first, end = self.timeline, self._rows, len(self.timeline)
        rows = [row for row in range(first, end) if timeline.sub[row] == 1 and timeline.kind[row] == Kind.CALL]
        waiting = iter(rows)  # the first call of each message
        while batch := list(islice(waiting, _READ_AT_ONCE)):
            self._read(batch)
        self._rows = end

    def _read(self, rows: Sequence[int]) -> None:
        """Read the calls of messages, each given by the row of its first one."""
        spans = [Span(self.timeline.offset[row], self.timeline.length[row]) for row in rows]
        for row, line in zip(rows, self._store.read_many(spans), strict=True):
            self._add(row, [*_calls(line)])

    def _add(self, row: int, calls: Sequence[_Call]) -> None:
        for call_row, call in enumerate(calls, start=row):
            if call_row >= len(self.timeline) or self.timeline.kind[call_row] != Kind.CALL:
                return  # its line was changed since
            self._names[call_row] = call.name
            if self.timeline.shows[call_row] in READS:
                self.arguments[call_row] = bytes(call.input)


def _calls(line: bytes) -> Iterator[_Call]:
    try:
        read = decode_json(line, _Line)
        parts: list[Any] = []
        if read.message is not None and bytes(read.message.content).startswith(b"["):
            parts = decode_json(read.message.content, list[Raw])
        calls = [decode_json(part, _Call) for part in parts if bytes(part).startswith(_CALL_PART)]
    except entries.UNREADABLE:
        return
    yield from calls
    if read.tool is not None:
        yield read.tool


def subject_at(timeline: Timeline, row: int) -> str:
    """Return what a call or result is about: a path, a command, a URL; empty if nothing says so."""
    subject = timeline.subject[row]
    return timeline.subjects[subject] if subject != NONE else ""


_known: "WeakKeyDictionary[Session, ToolCalls]" = WeakKeyDictionary()


def tool_calls(session: Session, *, whole: bool = True) -> ToolCalls:
    """Return the calls of a session's log as they are now. Hold the session's lock while you use it.

    Without `whole` nothing is read yet: names of calls are read where they are asked for.
    """
    calls = _known.get(session)
    if calls is None or calls.timeline is not session.log.timeline or calls._rows > len(calls.timeline):
        calls = _known[session] = ToolCalls(session.log)
    if whole:
        calls.update()
    return calls
