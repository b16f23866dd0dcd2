"""One call item by item, as the model got it; and what differs between two calls."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from sightline.compose import first_change
from sightline.log import NONE
from sightline.session.session import Session
from sightline.values.items import Kind, Lod, Message, Role, plain_text
from sightline.view.call_payloads import call_payload, find_call, uncomposed_plan
from sightline.view.call_values import HIDDEN, Change, ChangedLine, ContentLine
from sightline.view.model_calls import call_index
from sightline.view.tool_calls import subject_at, tool_calls
from sightline.wire.payload import Payload

BEGINNING = 400  # characters of a text in a list
_AROUND = 100  # characters that are shown on each side of the first difference
_LEVELS = {lod: lod.name.lower() for lod in Lod}


class CallContents:
    """What one call held. The texts of a call that was not composed are read only where they are asked for."""

    def __init__(self, session: Session, number: int) -> None:
        """Raises UnknownCallNumber, and BadInput if the text of a window that it showed is lost."""
        with session._lock:
            self._session, self._journal, self._index = session, session.log, call_index(session)
            self._ledger = self._index.ledger
            self.call, self._calls = find_call(self._index, number), tool_calls(session, whole=False)
            self.is_composed = self.call.receipt != NONE
            if self.is_composed:
                self._plan = self.payload.plan
                self.lines, self.total = [*self._sent_lines()], self.payload.tokens
            else:
                self._plan, self._inputs = uncomposed_plan(self._journal, self.call)
                self._cleared = self._index.clearings.rows_at(number)
                self.lines = [*self._logged_lines()]
                self.total = sum(line.framed for line in self.lines)

    @cached_property
    def payload(self) -> Payload:
        """The payload, made again from the log."""
        return call_payload(self._session, self.call.number)

    @property
    def messages(self) -> int:
        """How many messages the request has."""
        heads = sum(line.kind == "system" and not line.block for line in self.lines)
        return heads + len({line.block for line in self.lines if line.block})

    def text(self, line: ContentLine) -> str:
        """Return the text of a line at its level."""
        if (row := self.row(line)) is None:
            return line.text
        reader = self._journal.reader
        lod = Lod.FULL if line.level == HIDDEN else Lod[line.level.upper()]
        with self._session._lock:
            return reader.text(row) if lod is Lod.FULL else reader.rendition(row, lod)

    def parts(self, line: ContentLine) -> list[tuple[str, int]]:
        """Return the kinds of what a line says, each with its tokens. The line's own kind is the last."""
        row = self.row(line)
        return (
            [(line.kind, line.framed)]
            if row is None or line.level == HIDDEN
            else self._ledger.parts(row, Lod[line.level.upper()])
        )

    def row(self, line: ContentLine) -> int | None:
        """Return the row of a line's item in the log; None for a window, and for a text of the engine."""
        return self._journal.timeline.row(line.id) if line.id and line.kind != "window" else None

    def request(self, wire: str) -> bytes:
        """Return the request, without cache markers: they move from call to call and are no part of what is cached."""
        return replace(self.payload, breakpoints=()).json(wire)

    def change_since(self, before: "CallContents", wire: str) -> Change | None:
        """Return where this call first differs from another one; None if it begins with all of that."""
        if self._goes_on(before):
            return None
        with self._session._lock:
            block = first_change(before.payload.chain, self.payload.chain)
            if block is None:
                return None
            one, other = before.request(wire), self.request(wire)
        here = next((line for line in self.lines if line.block == block), None)
        here = here or next((line for line in before.lines if line.block == block), None)
        kept = sum(line.framed for line in before.lines if line.block < block)
        byte = _common_length(one, other)
        return Change(
            block, byte, here.id if here else "", here.kind if here else "", _around(one, byte), _around(other, byte),
            kept, max(min(before.total, self.total) - kept, 0),
        )  # fmt: skip

    # ------------------------------------------------------------------ private

    def _goes_on(self, before: "CallContents") -> bool:
        """Whether two calls that were not composed are known to begin alike, by their columns alone."""
        if self.is_composed or before.is_composed or before.call.number > self.call.number:
            return False
        between = self._index.sums[before.call.number : self.call.number]
        is_same = before._inputs == self._inputs and before._cleared.keys() == self._cleared.keys()
        return is_same and not any(sums.compactions for sums in between)

    def _logged_lines(self) -> Iterator[ContentLine]:
        """Yield the lines of a call that was not composed, in the order in which its messages stand."""
        timeline, plan = self._journal.timeline, self._plan
        yield from self._head([timeline.id(row) for row in self._inputs.system], 0)
        stands = {unit: compaction.first for compaction in timeline.compactions for unit in compaction.summaries}
        block = 0
        for unit in sorted(plan, key=lambda unit: (stands.get(unit, unit), unit not in stands)):
            for row in timeline.rows_of(unit):
                block += timeline.kind[row] != Kind.CALL
                line = self._row_line(row, block)
                if row in self._cleared:
                    line = replace(line, level=HIDDEN, tokens=0, framed=0, why=f"cleared: {self._cleared[row].reason}")
                yield line

    def _sent_lines(self) -> Iterator[ContentLine]:
        payload, reader = self.payload, self._journal.reader
        framing = reader.profile.message_tokens
        windows = sum(reader.counter.count(text) + framing for text in payload.shown_windows.values())
        yield from self._head([message.id for message in payload.system], windows)
        for block, message in enumerate((*payload.body, *payload.tail), start=1):
            yield from self._message_lines(message, block)

    def _head(self, system: Sequence[str], windows: int) -> Iterator[ContentLine]:
        """Yield the system prompt, and what is left of the fixed tokens: the tools."""
        rows = [row for item in system if (row := self._journal.timeline.row(item)) is not None]
        lines = [self._row_line(row, 0) for row in rows]
        yield from lines
        tools = self.payload.tools if self.is_composed else self._inputs.tools
        rest = self._plan.fixed - windows - sum(line.framed for line in lines)
        if rest > 0:
            names = ", ".join(tool.name for tool in tools)
            yield ContentLine("", "tools" if tools else "request", "full", rest, rest, framed=rest, text=names)

    def _message_lines(self, message: Message, block: int) -> list[ContentLine]:
        """Return the lines of a message: an answer has one for each of its calls too."""
        timeline, reader = self._journal.timeline, self._journal.reader
        row = timeline.row(message.id) if message.id else None
        if row is None or timeline.kind[row] == Kind.WINDOW:
            text, framing = plain_text(message.parts), reader.profile.message_tokens
            tokens = reader.counter.count(text)
            own = "window" if row is not None else "preface" if text == self._plan.preface else "index"
            return [
                ContentLine(message.id, own, "full", tokens, tokens, framed=tokens + framing, block=block, text=text)
            ]
        rows = [row, *timeline.calls_of(row)] if message.role is Role.ASSISTANT else [row]
        return [self._row_line(line_row, block) for line_row in rows]

    def _row_line(self, row: int, block: int) -> ContentLine:
        timeline, plan, profile = self._journal.timeline, self._plan, self._journal.reader.profile
        lod = plan.lod(row) if block else Lod.FULL
        tokens = plan.size(row) if block else timeline.full[row]
        if block and row in plan.unchanged:
            lod = Lod.GIST
        framing = profile.framing(timeline.kind[row])
        return ContentLine(
            timeline.id(row), self._ledger.parts(row)[-1][0], _LEVELS[lod], tokens, timeline.full[row],
            plan.why.get(row, ""), tool=self._calls.name(row), subject=subject_at(timeline, row)[:BEGINNING],
            framed=tokens + framing, block=block,
        )  # fmt: skip


class Difference(NamedTuple):
    """What differs between two calls."""

    added: list[ContentLine]
    removed: list[ContentLine]
    changed: list[ChangedLine]
    same: int


def compare(one: CallContents, other: CallContents) -> Difference:
    """Return what the second call shows and the first does not, and the other way round."""
    before, after = ({line.key: line for line in contents.lines} for contents in (one, other))
    shared = [(line, after[key]) for key, line in before.items() if key in after]
    changed = [
        ChangedLine(a.id, a.kind, a.tool, a.subject, a.level, b.level, a.tokens, b.tokens)
        for a, b in shared
        if (a.level, a.tokens) != (b.level, b.tokens)
    ]
    added = [line for key, line in after.items() if key not in before]
    removed = [line for key, line in before.items() if key not in after]
    return Difference(added, removed, changed, len(shared) - len(changed))


def _common_length(one: bytes, other: bytes) -> int:
    """Return how many bytes both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _around(data: bytes, byte: int) -> str:
    return data[max(byte - _AROUND, 0) : byte + _AROUND].decode("utf-8", "replace")
