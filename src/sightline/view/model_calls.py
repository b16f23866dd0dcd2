"""The model calls of a branch, whether Sightline composed their payloads or not, and what was in their contexts.

A call that was composed has a receipt. Of one that was not, in an imported log or where the proxy passed a request
unchanged, the context is all that stands before the reply, except what compactions cover. The ledger counts
each row once, so that any page of a long session takes little time.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from sightline.log import NONE, Compaction, Journal, Timeline
from sightline.session.session import Session
from sightline.values.items import Kind
from sightline.view.branch_index import BranchIndex
from sightline.view.cleared_results import Clearings
from sightline.view.ledger import CallSums, Ledger, compactions_in_force

_READ_AT_ONCE = 512  # replies


class ModelCall(NamedTuple):
    """One call of a model."""

    number: int  # beginning with 1
    reply: int  # the row of its reply; -1: there is none, or not yet
    receipt: int  # its receipt among all of the log; -1: its payload was not composed
    rows: int  # its context is among the first so many rows
    offset: int  # where in the log it was made


class CallIndex(BranchIndex):
    """The calls of one branch. `update` adds what is new in the log."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.calls: list[ModelCall] = []
        self.sums: list[CallSums] = []
        self._next_receipt = 0
        self.ledger = Ledger(journal)
        self.clearings = Clearings(journal, self.ledger)
        self.windows: dict[str, int] = {}  # of models, as `call_rows` found them when this was the last answer
        self.windows_at = NONE
        self._forgotten: dict[int, CallSums] = {}  # receipt → its sums: the ledger may have read on since

    def place(self, reply: int) -> int:
        """Return the place among the calls of the one that the answer in this row belongs to."""
        at = bisect_right(self.calls, reply, key=lambda call: call.rows) - 1
        while self.calls[at].reply != reply:  # others that have no answer may have been made meanwhile
            at -= 1
        return at

    def update(self, end: int | None = None) -> None:
        """Add the calls that were made since; with `end` only those whose answers stand before this row."""
        timeline = self.timeline
        end = len(timeline) if end is None else min(end, len(timeline))
        if end < self._next_row:
            return
        if self.calls and self.calls[-1].reply == NONE:  # its reply may have come
            self._forget_unanswered()
        receipts = [*timeline.receipts_on(self._path, range(self._next_receipt, len(timeline.receipt_offset)))]
        at = 0
        replies = list(timeline.rows_on(self._path, _replies(timeline, self._next_row, end)))
        for place, row in enumerate(replies):
            if not place % _READ_AT_ONCE:
                self.clearings.read(replies[place : place + _READ_AT_ONCE])
            mine: list[int] = []
            while at < len(receipts) and timeline.receipt_offset[receipts[at]] < timeline.offset[row]:
                mine.append(receipts[at])
                at += 1
            for unanswered in mine[:-1]:
                self._add(NONE, unanswered)
            self._add(row, mine[-1] if mine else NONE)
        self._next_row = end
        if at:
            self._next_receipt = receipts[at - 1] + 1
        if end == len(timeline):
            for unanswered in receipts[at:]:
                self._add(NONE, unanswered)

    def last_replies(self, most: int) -> list[int]:
        """Return the last answers of the branch, in order, whether their calls were added or not."""
        return [*islice(self.timeline.newest_of(Kind.ASSISTANT, self._path), most)][::-1]

    def _forget_unanswered(self) -> None:
        """Forget the calls at the end that have no reply. They are added again, in the same order."""
        while self.calls and self.calls[-1].reply == NONE and self.calls[-1].receipt >= self._next_receipt:
            self._forgotten[self.calls.pop().receipt] = self.sums.pop()

    def _add(self, reply: int, receipt: int) -> None:
        timeline = self.timeline
        if receipt != NONE:
            rows, offset = timeline.rows_until(timeline.receipt_seq[receipt]), timeline.receipt_offset[receipt]
        else:
            rows, offset = reply, timeline.offset[reply]
        self.calls.append(ModelCall(len(self.calls) + 1, reply, receipt, rows, offset))
        sums = self._forgotten.pop(receipt, None) or self.ledger.at(rows, offset)
        if receipt != NONE:
            self.clearings.begin_anew(len(self.calls))
        elif reply != NONE:
            sums = self.clearings.look_at(len(self.calls), reply, sums)
        self.sums.append(sums)


def _replies(timeline: Timeline, first: int, end: int) -> Iterator[int]:
    """Yield the rows of answers from this one on, of all branches."""
    kinds, row = timeline.kind[first:end].tobytes(), first - 1
    while (row := kinds.find(Kind.ASSISTANT, row + 1 - first) + first) >= first:
        yield row


def call_index(session: Session, end: int | None = None) -> CallIndex:
    """Return the calls of a session's branch as they are now; with `end` at least those answered before this row.

    Hold the session's lock while you use it.
    """
    index = CallIndex.of(session)
    index.update(end)
    return index


def compactions_at(journal: Journal, call: ModelCall) -> list[Compaction]:
    """Return the compactions in force when a call was made, without those that another one covers."""
    in_force = [*compactions_in_force(journal.timeline, journal.path, call.rows, call.offset).values()]
    return [
        compaction
        for at, compaction in enumerate(in_force, start=1)
        if not any(later.covers(compaction) for later in in_force[at:])
    ]
