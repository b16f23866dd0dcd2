"""The model calls of a branch, whether Sightline composed their payloads or not, and what was in their contexts.

A call that was composed has a receipt. Of one that was not, in an imported log or where the proxy passed a request
unchanged, the context is all that stands before the reply, except what compactions cover. All of this is counted from
the columns of the log, once for each row, so that any page of a long session takes little time.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from weakref import WeakKeyDictionary

from sightline.log import FAILED, HEAD, LABELLED, NONE, OPAQUE, ORPHAN, REPLACING, Compaction, Journal, Path, Timeline
from sightline.session.session import Session
from sightline.values.items import Kind, Opaque

KINDS = ("system", "user", "note", "assistant", "thinking", "call", "result", "summary", "recall")
"""What tokens of the log are counted as. `note`: a program wrote it in the place of the user or the system."""
_PLACES = {kind: place for place, kind in enumerate(KINDS)}
_SYSTEM, _NOTE, _THINKING = (_PLACES[kind] for kind in ("system", "note", "thinking"))
_BY_KIND = {
    Kind.SYSTEM: "system", Kind.USER: "user", Kind.ASSISTANT: "assistant", Kind.CALL: "call", Kind.RESULT: "result",
    Kind.SUMMARY: "summary", Kind.RECALL: "recall",
}  # fmt: skip
_PLACE_OF = {int(kind): _PLACES[name] for kind, name in _BY_KIND.items()}
_APART = (int(Kind.SYSTEM), int(Kind.WINDOW), int(Kind.SUMMARY))  # kinds that are not just added
_SPECIAL = FAILED | LABELLED | ORPHAN | OPAQUE | HEAD
_READ_AT_ONCE = 512  # entries

Sums = tuple[int, ...]
"""Tokens of each of `KINDS`, framing included."""


class ModelCall(NamedTuple):
    """One call of a model."""

    number: int  # beginning with 1
    reply: int  # the row of its reply; -1: there is none, or not yet
    receipt: int  # its receipt among all of the log; -1: its payload was not composed
    rows: int  # its context is among the first so many rows
    offset: int  # where in the log it was made


class CallSums(NamedTuple):
    """What there was when a call was made."""

    shown: Sums  # in its context, if it was not composed
    said: Sums  # in all, whether shown or not
    compactions: tuple[int, ...]  # made or undone since the call before, as places among those of the log
    failed: int  # results since the call before that are errors


class CallIndex:
    """The calls of one branch. `update` adds what is new in the log."""

    def __init__(self, journal: Journal) -> None:
        self.timeline, self.branch = journal.timeline, journal.branch
        self._journal, self._path = journal, journal.path
        self.calls: list[ModelCall] = []
        self.sums: list[CallSums] = []
        self._next_row = self._next_receipt = 0
        self._tally = _Tally(journal)
        self._forgotten: list[CallSums] = []  # of calls that were taken back: what they tell of is told by the next

    def fits(self, journal: Journal) -> bool:
        """Whether this is of the journal's branch as it is now, so that it can be updated."""
        same = self.timeline is journal.timeline and self.branch == journal.branch
        return same and self._next_row <= len(journal.timeline) and self._path.limits == journal.path.limits

    def update(self) -> None:
        """Add the calls that were made since."""
        if self.calls and self.calls[-1].reply == NONE:  # its reply may have come
            self._forget_unanswered()
        timeline, path = self.timeline, self._path
        receipts = self._receipts()
        at = 0
        replies = list(_replies(timeline, path, self._next_row))
        for row in replies:
            mine: list[int] = []
            while at < len(receipts) and timeline.receipt_offset[receipts[at]] < timeline.offset[row]:
                mine.append(receipts[at])
                at += 1
            for unanswered in mine[:-1]:
                self._add(NONE, unanswered)
            self._add(row, mine[-1] if mine else NONE)
        if replies:
            self._next_row = replies[-1] + 1
        if at:
            self._next_receipt = receipts[at - 1] + 1
        for unanswered in receipts[at:]:
            self._add(NONE, unanswered)

    def parts(self, row: int) -> Iterator[tuple[int, int]]:
        """Yield the places among `KINDS` of what a row says, each with its tokens. The last is the row's own kind."""
        return self._tally.parts(row)

    def read_all(self) -> None:
        """Read what is needed for `parts` of all rows, also those that no call has seen yet."""
        self._tally.read_thinking(len(self.timeline))

    def _forget_unanswered(self) -> None:
        """Forget the calls at the end that have no reply. Their sums are found again."""
        while self.calls and self.calls[-1].reply == NONE and self.calls[-1].receipt >= self._next_receipt:
            self.calls.pop()
            self._forgotten.append(self.sums.pop())

    def _receipts(self) -> list[int]:
        """Return the receipts of the branch after those that are known, by their places among all of the log."""
        timeline, first = self.timeline, self._next_receipt
        every = range(first, len(timeline.receipt_offset))
        if len(timeline.branches) == 1:
            return list(every)
        seqs, branches = timeline.receipt_seq, timeline.receipt_branch
        return [at for at in every if self._path.holds(branches[at], bisect_right(timeline.seq, seqs[at]) - 1)]

    def _add(self, reply: int, receipt: int) -> None:
        timeline = self.timeline
        if receipt != NONE:
            rows, offset = bisect_right(timeline.seq, timeline.receipt_seq[receipt]), timeline.receipt_offset[receipt]
        else:
            rows, offset = reply, timeline.offset[reply]
        self.calls.append(ModelCall(len(self.calls) + 1, reply, receipt, rows, offset))
        sums = self._tally.at(rows, offset)
        if self._forgotten:
            made = tuple(at for forgotten in reversed(self._forgotten) for at in forgotten.compactions)
            failed = sums.failed + sum(forgotten.failed for forgotten in self._forgotten)
            sums = sums._replace(compactions=made + sums.compactions, failed=failed)
            self._forgotten.clear()
        self.sums.append(sums)


class _Tally:
    """Adds up rows in order, and takes off what compactions cover."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._timeline, self._path = journal, journal.timeline, journal.path
        self._shown, self._said = [0] * len(KINDS), [0] * len(KINDS)
        self._head = 0  # tokens of the system prompt in force
        self._hidden: set[int] = set()  # rows that are not shown
        self._row = self._failed = 0
        self._in_force: dict[int, Compaction] = {}
        self._known = (0, 0)  # compactions and undone ones that were looked at
        self._thinking: dict[int, int] = {}  # row of an answer → tokens of its opaque blocks,
        self._read = 0  # of the first so many rows

    def at(self, rows: int, offset: int) -> CallSums:
        """Return the sums over the first so many rows, as the log was up to this offset."""
        failed = self._failed
        self._add_rows(rows)
        changed = self._change(rows, offset)
        in_context, said = list(self._shown), list(self._said)
        in_context[_SYSTEM] += self._head
        said[_SYSTEM] += self._head
        return CallSums(tuple(in_context), tuple(said), changed, self._failed - failed)

    def _add_rows(self, end: int) -> None:
        timeline, first = self._timeline, self._row
        if end <= first:
            return
        self.read_thinking(end)
        straight, path, profile = len(timeline.branches) == 1, self._path, self._journal.reader.profile
        framing = [profile.message_tokens] * len(Kind)
        framing[Kind.CALL] = profile.call_tokens
        kinds, states, full = timeline.kind, timeline.state, timeline.full
        added, thinking = [0] * len(KINDS), self._thinking
        for row in range(first, end):  # a few steps for each row, because there may be a million
            if not (straight or path.holds(timeline.branch[row], row)):
                continue
            kind, state = kinds[row], states[row]
            tokens = full[row] + framing[kind]
            if state & _SPECIAL or kind in _APART:
                if kind == Kind.SYSTEM and state & HEAD:
                    self._head = tokens if state & REPLACING else self._head + tokens
                    continue
                if kind == Kind.WINDOW:
                    continue
                if kind == Kind.SUMMARY:  # shown from its compaction on
                    self._hidden.add(row)
                    continue
                self._failed += bool(state & FAILED)
                if row in thinking:
                    added[_THINKING] += thinking[row]
                    tokens -= thinking[row]
                if state & (LABELLED | ORPHAN):
                    added[_NOTE] += tokens
                    continue
            added[_PLACE_OF[kind]] += tokens
        for place, tokens in enumerate(added):
            self._shown[place] += tokens
            self._said[place] += tokens
        self._row = end

    def _put(self, row: int, sign: int) -> None:
        """Add a row to what is shown, or take it off."""
        for place, tokens in self.parts(row):
            self._shown[place] += sign * tokens

    def parts(self, row: int) -> Iterator[tuple[int, int]]:
        """See `CallIndex.parts`."""
        timeline, profile = self._timeline, self._journal.reader.profile
        kind = timeline.kind[row]
        tokens = timeline.full[row] + profile.framing(kind)
        place = _NOTE if timeline.is_by_program(row) else _PLACE_OF[kind]
        if thinking := self._thinking.get(row, 0):
            yield _THINKING, thinking
        yield place, tokens - thinking

    def _change(self, rows: int, offset: int) -> tuple[int, ...]:
        """Have the compactions in force that were at this place of the log. Return those that were made or undone."""
        timeline, path = self._timeline, self._path
        if not timeline.compactions:
            return ()
        made = sum(compaction.offset < offset and compaction.at <= rows for compaction in timeline.compactions)
        undone = sum(note.offset < offset for compaction in timeline.compactions for note in compaction.undone)
        if (made, undone) == self._known:
            return ()
        self._known = (made, undone)
        now = _in_force(timeline, path, rows, offset)
        changed = now.keys() ^ self._in_force.keys()
        if changed:
            self._in_force = now
            for at in changed:
                compaction = timeline.compactions[at]
                end = min(max(compaction.at, timeline.unit_row[compaction.last] + 1), self._row)
                self._refresh(range(timeline.unit_row[compaction.first], end))
        return tuple(sorted(changed))

    def _refresh(self, rows: Sequence[int]) -> None:
        """Show or hide these rows as the compactions in force say."""
        timeline, path = self._timeline, self._path
        summaries = {unit for compaction in self._in_force.values() for unit in compaction.summaries}
        for row in rows:
            kind, unit = timeline.kind[row], timeline.unit[row]
            if kind == Kind.WINDOW or (kind == Kind.SYSTEM and timeline.state[row] & HEAD):
                continue
            if not path.holds(timeline.branch[row], row):
                continue
            covered = any(compaction.first <= unit <= compaction.last for compaction in self._in_force.values())
            hidden = covered or (kind == Kind.SUMMARY and unit not in summaries)
            if hidden and row not in self._hidden:
                self._hidden.add(row)
                self._put(row, -1)
            elif not hidden and row in self._hidden:
                self._hidden.discard(row)
                self._put(row, 1)

    def read_thinking(self, end: int) -> None:
        """Count how many tokens of the answers up to this row are in blocks that only their provider knows."""
        timeline, reader = self._timeline, self._journal.reader
        rows = (row for row in range(self._read, end) if timeline.kind[row] == Kind.ASSISTANT)
        marked = iter([row for row in rows if timeline.state[row] & OPAQUE])
        while batch := list(islice(marked, _READ_AT_ONCE)):
            reader.prefetch(batch)
            for row in batch:
                opaque = [part for part in reader.item(row).parts if isinstance(part, Opaque)]
                self._thinking[row] = min(reader.full_tokens(opaque), timeline.full[row])
        self._read = max(self._read, end)


def _replies(timeline: Timeline, path: Path, first: int) -> Iterator[int]:
    """Yield the rows of answers from this one on."""
    kinds, straight, row = timeline.kind.tobytes(), len(timeline.branches) == 1, first - 1
    while (row := kinds.find(Kind.ASSISTANT, row + 1)) >= 0:
        if straight or path.holds(timeline.branch[row], row):
            yield row


_known: "WeakKeyDictionary[Session, CallIndex]" = WeakKeyDictionary()


def call_index(session: Session) -> CallIndex:
    """Return the calls of a session's branch as they are now. Hold the session's lock while you use it."""
    index = _known.get(session)
    if index is None or not index.fits(session.log):
        index = _known[session] = CallIndex(session.log)
    index.update()
    return index


def kind_parts(index: CallIndex, row: int) -> list[tuple[str, int]]:
    """Return the kinds of what a row says, each with its tokens in full and framing. The row's own is the last."""
    return [(KINDS[place], tokens) for place, tokens in index.parts(row)]


def compactions_at(journal: Journal, call: ModelCall) -> list[Compaction]:
    """Return the compactions in force when a call was made, without those that another one covers."""
    in_force = [*_in_force(journal.timeline, journal.path, call.rows, call.offset).values()]
    return [
        compaction
        for at, compaction in enumerate(in_force, start=1)
        if not any(later.covers(compaction) for later in in_force[at:])
    ]


def _in_force(timeline: Timeline, path: Path, rows: int, offset: int) -> dict[int, Compaction]:
    """Return the compactions that were made and not undone before this place of the log, by their index."""
    return {
        at: compaction
        for at, compaction in enumerate(timeline.compactions)
        if compaction.summaries and compaction.offset < offset and compaction.at <= rows and path.knows(compaction)
        if not any(note.offset < offset and path.knows(note) for note in compaction.undone)
    }


__all__ = ["KINDS", "CallIndex", "CallSums", "ModelCall", "Sums", "call_index", "compactions_at", "kind_parts"]
