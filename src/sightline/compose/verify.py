"""Renders every payload that was ever sent again, from the log alone, and compares the hashes."""

from collections.abc import Iterator
from typing import NamedTuple

from sightline.compose import receipts
from sightline.compose.render import layout, render
from sightline.log.annotations import ReceiptNote
from sightline.log.journal import Journal
from sightline.plan.plan import Plan
from sightline.plan.view import Budget, View, said_units
from sightline.values.items import Lod
from sightline.wire.payload import Payload


class Verified(NamedTuple):
    """One payload rendered again."""

    branch: str
    number: int
    expected: str
    found: str  # its hash now; empty if the text of one of its windows is lost

    @property
    def good(self) -> bool:
        """Whether it is the same, byte for byte."""
        return self.expected == self.found


def verify(journal: Journal) -> Iterator[Verified]:
    """Yield every payload ever sent, branch by branch, in the order they were sent."""
    current = journal.branch_name
    try:
        for branch in list(journal.timeline.branches):
            journal.switch(branch.name)
            payload: Payload | None = None
            for entry, offset in reversed(list(receipts.receipt_entries(journal))):
                note = journal.reader.note(entry, ReceiptNote)
                payload = _render_again(journal, note, offset, payload)
                if entry.branch == branch.name:
                    yield Verified(branch.name, note.number, note.hash, payload.hash if payload else "")
    finally:
        journal.switch(current)


def _render_again(journal: Journal, note: ReceiptNote, offset: int, before: Payload | None) -> Payload | None:
    window_texts = journal.blobs.read(note.windows)
    if window_texts.keys() != note.windows.keys():
        return None
    settings, sent = receipts.as_sent(journal, note, offset, window_texts)
    timeline, rows = journal.timeline, journal.timeline.rows_until(note.seq)
    last = before.plan if before else None
    new = [] if last is None else said_units(timeline, journal.path, last.rows, rows)
    same = receipts.unchanged_at(timeline, note)
    view = View(timeline, journal.path, journal.reader.profile, Budget(1), 1 << 62, 0, last, new, unchanged=same)
    lods = {row: Lod(lod) for item, lod in note.lods.items() if (row := timeline.row(item)) is not None}
    adds = note.plan is None and last is not None
    plan = Plan.extended(view, lods, {}) if adds else receipts.sent_plan(journal, view, [note])
    plan.rows = rows
    return render(journal.reader, plan, layout(settings.layout), sent, before)
