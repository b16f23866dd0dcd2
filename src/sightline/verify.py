"""Composing again, from the log alone, every payload that was ever sent, and comparing the hashes."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from sightline import decide, log
from sightline.blobs import Blobs
from sightline.compose import Surroundings, compose, layout
from sightline.items import Lod
from sightline.journal import Journal
from sightline.log import Entry
from sightline.notes import NO_TOOLS, ReceiptNote, Settings, ToolsNote
from sightline.payload import Payload
from sightline.plan import Budget, Plan, View
from sightline.stores import Span
from sightline.timeline import Placed

T = TypeVar("T")


class Verified(NamedTuple):
    """One payload made again."""

    branch: str
    number: int
    expected: str
    found: str  # its hash now; empty where a window that it showed is no longer kept

    @property
    def good(self) -> bool:
        """Whether it is the same, byte for byte."""
        return self.expected == self.found


def verify(journal: Journal) -> Iterator[Verified]:
    """Every payload ever sent, branch by branch, in the order they were sent."""
    blobs = Blobs(journal.store.side_file(".blobs"))
    for branch in list(journal.timeline.more.branches):
        journal.switch(branch.name)
        before: Payload | None = None
        for entry, offset in reversed(list(_receipts(journal))):
            payload = _again(journal, log.decode_data(entry, ReceiptNote), offset, before, blobs)
            note: ReceiptNote = log.decode_data(entry, ReceiptNote)
            if entry.branch == branch.name:
                yield Verified(branch.name, note.number, note.hash, payload.hash if payload else "")
            before = payload


def _receipts(journal: Journal) -> Iterator[tuple[Entry, int]]:
    """The receipts of the branch and where each stands, newest first."""
    timeline = journal.timeline
    for index in range(len(timeline.receipt_offset) - 1, -1, -1):
        rows = bisect_right(timeline.seq, timeline.receipt_seq[index])
        if journal.path.holds(timeline.receipt_branch[index], rows - 1):
            span = Span(timeline.receipt_offset[index], timeline.receipt_length[index])
            yield journal.reader.entry_at(span), span.offset


def _again(journal: Journal, note: ReceiptNote, offset: int, before: Payload | None, blobs: Blobs) -> Payload | None:
    windows = {window: blobs.text(digest) for window, digest in note.windows.items()}
    if None in windows.values():
        return None
    settings = _in_force(journal, journal.timeline.more.settings, offset, Settings) or journal.settings
    tools = _in_force(journal, journal.timeline.more.tools, offset, ToolsNote) or NO_TOOLS
    rows = bisect_right(journal.timeline.seq, note.seq)
    around = Surroundings(
        system=tuple(row for row in journal.timeline.head_rows(journal.path) if row < rows),
        tools=tools.definitions,
        windows={window: text for window, text in windows.items() if text is not None},
        window_rows=decide.window_rows(journal, set(windows), layout(settings.layout).windows, rows),
        breakpoints=note.breakpoints,
    )
    plan = _plan(journal, note, rows, before.plan if before else None)
    return compose(journal.reader, plan, layout(settings.layout), around, before)


def _in_force(journal: Journal, notes: list[Placed], offset: int, type_: type[T]) -> T | None:
    """The last of these annotations on the branch that stands before this place in the log."""
    span = journal.timeline.placed([note for note in notes if note.offset < offset], journal.path)
    return None if span is None else log.decode_data(journal.reader.entry_at(span), type_)


def _plan(journal: Journal, note: ReceiptNote, rows: int, before: Plan | None) -> Plan:
    timeline = journal.timeline
    new = [] if before is None else decide.new_units(journal, before.rows, rows)
    view = View(timeline, journal.path, journal.reader.profile, Budget(1), 1 << 62, 0, before, new)
    if note.plan is None and before is not None:
        lods = {row: Lod(lod) for item, lod in note.lods.items() if (row := timeline.row(item)) is not None}
        plan = Plan.extended(view, lods, {})
    else:
        whole = decide.sent_plan(journal, view, iter([note]))
        assert whole is not None
        plan = whole
    plan.rows = rows
    return plan
