"""Columns over a log: one row per item, found without reading the log again.

`fold` takes entries in, one by one; all of it follows from them. Text is not kept: it is read by offset when shown.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from sightline.errors import BadInput
from sightline.log import entries
from sightline.log.annotations import (
    CompactNote,
    HeadNote,
    PinNote,
    ReceiptNote,
    RenditionNote,
    Settings,
    ToolsNote,
    UncompactNote,
    WindowNote,
)
from sightline.log.branches import NONE, Branch, Compaction, Mark, Path, Placed, State
from sightline.log.entries import Entry
from sightline.log.stores import Span
from sightline.values.items import Call, Kind, Lod

Sizes = tuple[int, int, int]
"""Tokens of one item at GIST, SUMMARY and FULL; -1 where it has no such level."""

# State bits of a row.
HEAD = 1  # a system item that stood before the first call
WHOLE = 2  # a page the model asked for: never shortened on entry
FAILED = 4  # a result that is an error
OBSOLETE = 8  # a closed window
OPAQUE = 16  # holds a provider's own blocks, which must stay while their turn is open
ORPHAN = 32  # a result whose call is not in the log: shown as the user's side saying so
LABELLED = 64  # a user message whose first words are ours: where it comes from
REPLACING = 128  # a system item that stands in the place of all before it
BY_RULE = 256  # a summary that no model made
NOTICE = 1024  # a summary that only says that there is none
FAULT = 512  # a result fetched again because the earlier one was shortened
FILE_READ = 2048  # a call that reads a file, and its result if it is no error

_COLUMNS = {
    "seq": "q", "sub": "H", "unit": "i", "branch": "H", "kind": "B", "state": "H", "gist": "i", "summary": "i",
    "full": "i", "partner": "i", "subject": "i", "mention": "i", "same": "i", "offset": "q", "length": "i",
    "gist_offset": "q", "gist_length": "i", "summary_offset": "q", "summary_length": "i",
}  # fmt: skip
_UNIT_COLUMNS = {"unit_row": "i", "unit_rows": "i", "unit_full": "q", "unit_least": "q"}
_RECEIPT_COLUMNS = {
    "receipt_offset": "q",
    "receipt_length": "i",
    "receipt_seq": "q",
    "receipt_branch": "H",
}


class Timeline:
    """What is in the log, as numbers."""

    seq: "array[int]"
    sub: "array[int]"
    unit: "array[int]"
    branch: "array[int]"
    kind: "array[int]"
    state: "array[int]"
    gist: "array[int]"
    summary: "array[int]"
    full: "array[int]"
    partner: "array[int]"  # of a call: the row of its result; of a result: the row of its call
    subject: "array[int]"
    mention: "array[int]"  # the latest row that names something its entry names
    same: "array[int]"  # of a result: the one before it about the same subject
    offset: "array[int]"
    length: "array[int]"
    gist_offset: "array[int]"  # where a rendition that was sent stands in the log; -1: it was not sent
    gist_length: "array[int]"
    summary_offset: "array[int]"
    summary_length: "array[int]"
    unit_row: "array[int]"  # unit → its first row
    unit_rows: "array[int]"  # how many rows it has
    unit_full: "array[int]"  # tokens of all of them in full
    unit_least: "array[int]"  # and at the lowest level of each
    subject_row: "array[int]"  # subject → the last row about it
    receipt_offset: "array[int]"
    receipt_length: "array[int]"
    receipt_seq: "array[int]"
    receipt_branch: "array[int]"

    COLUMNS: ClassVar = {**_COLUMNS, **_UNIT_COLUMNS, "subject_row": "i", **_RECEIPT_COLUMNS}

    def __init__(
        self,
        measure: Callable[[Entry], Sequence[Sizes]],
        subject_of: Callable[[Call], str],
        is_file_read: Callable[[str, str], bool] = lambda _id, _tool: False,
    ) -> None:
        """`measure` gives the sizes of an entry's items where the entry does not say them; `subject_of`, what a call is
        about: a path, a command, a URL; `is_file_read`, by id and tool, whether a call reads a file.
        """
        for name, typecode in self.COLUMNS.items():
            setattr(self, name, array(typecode))
        self.more = State([Branch("")])
        self._measure, self._subject_of, self._is_file_read = measure, subject_of, is_file_read
        self._subject_ids: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.seq)

    # ------------------------------------------------------------------ taking entries in

    def fold(self, entry: Entry, span: Span) -> range:
        """Take one entry in, in log order. The rows it made."""
        first = len(self.seq)
        branch = self._branch_of(entry)
        kind = entries.kind_of(entry)
        if kind is Kind.WINDOW:
            self._window(entry, span, branch)
        elif kind is not None:
            self._add_rows(entry, span, branch, kind)
            self._speaks_of(entry.names, first)
        elif entry.type == "system":
            self._annotate(entry, span, branch)
        if kind is Kind.SUMMARY:
            self._summarised(entry, span, branch)
        if entry.in_conversation:
            self.more.heads[branch] = entry.uuid
            self.more.current = branch  # a session goes on where it was last written to
        return range(first, len(self.seq))

    def follow(self, entry: Entry | entries.Tip) -> None:
        """Know that the next conversation entry follows this one, which itself cannot be shown."""
        if entry.in_conversation:
            self.more.heads[self._branch_of(entry)] = entry.uuid

    def _branch_of(self, entry: Entry | entries.Tip) -> int:
        if not entry.branch:
            return 0
        for index, branch in enumerate(self.more.branches):
            if branch.name == entry.branch:
                return index
        self.more.branches.append(Branch(entry.branch, 0, len(self.seq) - 1))
        return len(self.more.branches) - 1

    def _add_rows(self, entry: Entry, span: Span, branch: int, kind: Kind) -> None:
        sizes = entry.tokens or self._measure(entry)
        if kind is Kind.RESULT:
            self._add_result(entry, span, branch, sizes[0])
            return
        calls = _calls(entry) if len(sizes) > 1 or entry.tool is not None else []
        if len(sizes) != len(calls) + 1:  # another program's idea of our sizes
            sizes = self._measure(entry)
        unit = self._new_unit()
        state = entry.flags
        if kind is Kind.SYSTEM and (state & REPLACING or not self.more.branches[branch].called):
            state |= HEAD
        row = self._add_row(entry.seq, 0, unit, branch, kind, state, sizes[0], span)
        if kind is Kind.SYSTEM:
            self.more.systems.append(row)
        if entry.binding:
            self.more.binding.append(row)
        for number, call in enumerate(calls, start=1):
            self.more.open_calls[len(self.seq)] = call.id
            own = state & OPAQUE | (FILE_READ if self._is_file_read(call.id, call.name) else 0)
            row = self._add_row(entry.seq, number, unit, branch, Kind.CALL, own, sizes[number], span)
            self.subject[row] = self._subject_id(self._subject_of(call))

    def _speaks_of(self, seqs: Sequence[int], row: int) -> None:
        for seq in seqs:
            earlier = bisect_left(self.seq, seq)
            while earlier < row and self.seq[earlier] == seq:
                self.mention[earlier] = row
                earlier += 1

    def _add_result(self, entry: Entry, span: Span, branch: int, sizes: Sizes) -> None:
        assert entry.tool_result is not None
        state = entry.flags | (FAILED if entry.tool_result.error else 0)
        call = self.open_call(entry.tool_result.id, branch)
        if call is None:
            self._add_row(entry.seq, 0, self._new_unit(), branch, Kind.USER, state | ORPHAN, sizes, span)
            return
        del self.more.open_calls[call]
        if not entry.tool_result.error:
            state |= self.state[call] & FILE_READ
        row = self._add_row(entry.seq, 0, self.unit[call], branch, Kind.RESULT, state, sizes, span)
        self.partner[row], self.partner[call] = call, row
        self.more.interrupted.pop(entry.tool_result.id, None)
        if entry.tool_result.error == "interrupted":
            self.more.interrupted[entry.tool_result.id] = entry.tool_result.name
        self.subject[row] = subject = self.subject[call]
        if subject != NONE:
            self.same[row] = self.subject_row[subject]
            self.subject_row[subject] = row

    def _new_unit(self) -> int:
        self.unit_row.append(len(self.seq))
        for column in (self.unit_rows, self.unit_full, self.unit_least):
            column.append(0)
        return len(self.unit_row) - 1

    def _add_row(
        self, seq: int, sub: int, unit: int, branch: int, kind: Kind, state: int, sizes: Sizes, span: Span
    ) -> int:
        self.seq.append(seq)
        self.sub.append(sub)
        self.unit.append(unit)
        self.branch.append(branch)
        self.kind.append(kind)
        self.state.append(state)
        self.gist.append(sizes[0])
        self.summary.append(sizes[1])
        self.full.append(sizes[2])
        self.offset.append(span.offset)
        self.length.append(span.length)
        for column in (self.partner, self.subject, self.mention, self.same, self.gist_offset, self.summary_offset):
            column.append(NONE)
        self.gist_length.append(0)
        self.summary_length.append(0)
        row = self.more.branches[branch].last = len(self.seq) - 1
        self.unit_rows[unit] += 1
        self.unit_full[unit] += sizes[2]
        self.unit_least[unit] += self.size(row, Lod.GIST)
        return row

    def _subject_id(self, subject: str) -> int:
        if not subject:
            return NONE
        if self._subject_ids is None:
            self._subject_ids = {known: index for index, known in enumerate(self.more.subjects)}
        index = self._subject_ids.setdefault(subject, len(self.more.subjects))
        if index == len(self.more.subjects):
            self.more.subjects.append(subject)
            self.subject_row.append(NONE)
        return index

    def _window(self, entry: Entry, span: Span, branch: int) -> None:
        window = entries.decode_data(entry, WindowNote)
        rows = self.more.windows.setdefault(window.id, [])
        note = Placed(*span, branch, len(self.seq))
        self.more.noted.setdefault(window.id, []).append(note)
        self.more.notes += 1
        if window.closed:
            for row in rows:
                self.state[row] |= OBSOLETE
            self.more.closed.setdefault(window.id, []).append(note)
        if window.closed or window.changed:
            return
        rows.append(len(self.seq))
        self._add_row(entry.seq, 0, self._new_unit(), branch, Kind.WINDOW, entry.flags, (NONE, NONE, 0), span)

    def _annotate(self, entry: Entry, span: Span, branch: int) -> None:
        match entry.subtype:
            case entries.RECEIPT:
                self._receipt(entry, span, branch)
            case entries.RENDITION:
                self._rendition(entry, span)
            case entries.PIN:
                pin = entries.decode_data(entry, PinNote)
                row = self.row(pin.item)
                if row is not None:
                    self.more.marks.append(Mark(row, pin.what, span.offset, branch, self._end(branch)))
            case entries.BOUNDARY:
                self._compact(entry, span, branch)
            case entries.UNCOMPACT:
                self._uncompact(entries.decode_data(entry, UncompactNote), span, branch)
            case entries.HEAD_MOVED:
                self._move_head(entries.decode_data(entry, HeadNote), span.offset)
            case entries.SETTINGS:
                entries.decode_data(entry, Settings)  # one that cannot be read does not hold
                self.more.settings.append(Placed(*span, branch, self._end(branch)))
            case entries.STATE:
                self.more.states.append(Placed(*span, branch, self._end(branch)))
            case entries.TOOLS:
                entries.decode_data(entry, ToolsNote)
                self.more.tools.append(Placed(*span, branch, self._end(branch)))
            case _:
                pass  # somebody else's annotation

    def _compact(self, entry: Entry, span: Span, branch: int) -> None:
        """A boundary: what it covers, or, where another program wrote it, everything before it."""
        note = entries.decode_data(entry, CompactNote) if bytes(entry.data) != b"null" else CompactNote()
        first = self.unit_at(note.first) if note.first else 0
        last = self.unit_at(note.last) if note.last else len(self.unit_row) - 1
        manual = entry.compact_metadata is None or entry.compact_metadata.trigger != "auto"
        compaction = Compaction(entry.seq, span.offset, branch, self._end(branch), first, last, manual)
        self.more.compactions.append(compaction)

    def _summarised(self, entry: Entry, span: Span, branch: int) -> None:
        """A summary belongs to the boundary before it; one without a boundary covers everything before it."""
        unit, row = len(self.unit_row) - 1, len(self.seq) - 1
        own = [each for each in self.more.compactions if each.branch == branch]
        if not own or self._went_on(own[-1], row):
            own = [Compaction(entry.seq, span.offset, branch, row, 0, unit - 1)]
            self.more.compactions += own
        if not own[-1].summaries:
            own[-1].at = row + 1
        own[-1].summaries.append(unit)
        own[-1].at = self._end(branch)  # a branch that parts between two summaries knows of neither

    def _went_on(self, compaction: Compaction, row: int) -> bool:
        """Whether something else was said on the branch between a boundary and this row."""
        since = range(compaction.at, row)
        return any(
            self.branch[each] == compaction.branch and self.unit[each] not in compaction.summaries for each in since
        )

    def _uncompact(self, note: UncompactNote, span: Span, branch: int) -> None:
        for compaction in self.more.compactions:
            if compaction.seq == note.boundary:
                compaction.undone.append(Placed(*span, branch, self._end(branch)))

    def _end(self, branch: int) -> int:
        """The first row after what the branch says: an annotation holds wherever that is."""
        own = self.more.branches[branch]
        return (own.at if own.last == NONE else own.last) + 1

    def _receipt(self, entry: Entry, span: Span, branch: int) -> None:
        note = entries.decode_data(entry, ReceiptNote)
        if not 0 <= note.seq <= entry.seq:
            raise BadInput(f"receipt {note.number} speaks of entries that there are not yet")
        self.receipt_offset.append(span.offset)
        self.receipt_length.append(span.length)
        self.receipt_seq.append(note.seq)
        self.receipt_branch.append(branch)
        self.more.branches[branch].called = True
        for item in note.faults:
            row = self.row(item)
            if row is not None:
                self.state[row] |= FAULT
                self.more.faults.append(row)

    def _rendition(self, entry: Entry, span: Span) -> None:
        for note in entries.decode_data(entry, list[RenditionNote]):
            row = self.row(note.item)
            if row is None:
                continue
            gist = note.lod == Lod.GIST
            offsets, lengths = (
                (self.gist_offset, self.gist_length) if gist else (self.summary_offset, self.summary_length)
            )
            offsets[row], lengths[row] = span

    def _move_head(self, note: HeadNote, offset: int) -> None:
        names = [branch.name for branch in self.more.branches]
        if note.branch not in names:
            return
        branch = self.more.branches[names.index(note.branch)]
        parent = names.index(note.parent) if note.parent in names else NONE
        if NONE < parent < names.index(note.branch):  # a branch is younger than the one it leaves
            at = bisect_left(self.seq, note.at + 1) - 1
            branch.parent, branch.at, branch.uuid, branch.offset = parent, at, note.uuid, offset
            path = self.path(names.index(note.branch))
            sent = zip(self.receipt_branch, self.receipt_seq, strict=True)
            branch.called = any(seq <= note.at and by in path.limits for by, seq in sent)
        self.more.current = names.index(note.branch)

    # ------------------------------------------------------------------ looking things up

    def row(self, item_id: str) -> int | None:
        """The row of an item: "412", "#412" or "412.2"; None if there is none."""
        seq, _, sub = item_id.removeprefix("#").partition(".")
        if not (seq + sub).isascii() or not (seq + sub).isdigit() or not seq or len(seq + sub) > 24:
            return None
        row = bisect_left(self.seq, int(seq)) + int(sub or 0)
        if row < len(self.seq) and self.seq[row] == int(seq) and self.sub[row] == int(sub or 0):
            return row
        return None

    def id(self, row: int) -> str:
        """The item's id, as models and people see it."""
        return f"{self.seq[row]}.{self.sub[row]}" if self.sub[row] else str(self.seq[row])

    def path(self, branch: int) -> Path:
        """The rows of a branch."""
        limits, ends = {branch: 1 << 62}, {}
        while self.more.branches[branch].parent != NONE:
            left, branch = self.more.branches[branch], self.more.branches[branch].parent
            limits[branch] = min(left.at, limits.get(branch, 1 << 62))
            ends[branch] = left.offset
        return Path(limits, ends)

    def unit_kind(self, unit: int) -> Kind:
        """The kind of a unit: of its first item."""
        return Kind(self.kind[self.unit_row[unit]])

    def rows_of(self, unit: int) -> list[int]:
        """A unit's rows as they are shown: the message, its calls, their results in call order."""
        first = self.unit_row[unit]
        rows = [first]
        if self.kind[first] != Kind.ASSISTANT:
            return rows
        end, row = len(self.seq), first + 1
        while row < end and self.kind[row] == Kind.CALL and self.unit[row] == unit:
            rows.append(row)
            row += 1
        rows += [self.partner[call] for call in rows[1:] if self.partner[call] != NONE]
        return rows

    def units_between(self, path: Path, first_row: int, end_row: int) -> Iterator[int]:
        """The units of a path that begin in this range of rows, in order."""
        straight = len(self.more.branches) == 1
        for row in range(first_row, end_row):
            if self.unit_row[self.unit[row]] == row and (straight or path.holds(self.branch[row], row)):
                yield self.unit[row]

    def open_call(self, call_id: str, branch: int) -> int | None:
        """The call of this id that waits for a result on the branch: of the nearest message, its first."""
        path, found = self.path(branch), None
        for row in reversed(self.more.open_calls):
            if found is not None and self.unit[row] != self.unit[found]:
                break
            if self.more.open_calls[row] == call_id and path.holds(self.branch[row], row):
                found = row
        return found

    def size(self, row: int, lod: Lod) -> int:
        """Tokens of an item at a level; where it has no such level, of the next richer one it has."""
        if lod == Lod.GIST and self.gist[row] != NONE:
            return self.gist[row]
        if lod <= Lod.SUMMARY and self.summary[row] != NONE:
            return self.summary[row]
        return self.full[row]

    def last_row(self, path: Path) -> int:
        """The newest row of a path; -1 where it has none."""
        return max(min(self.more.branches[branch].last, limit) for branch, limit in path.limits.items())

    def last_user(self, path: Path, rows: int) -> int:
        """The unit of the newest user message on this path among the first so many rows; -1 if there is none."""
        for row in range(rows - 1, -1, -1):
            if self.kind[row] == Kind.USER and path.holds(self.branch[row], row):
                return self.unit[row]
        return NONE

    def level(self, row: int, lod: Lod) -> Lod:
        """The level an item is really shown at when this one is asked for: the next richer one it has."""
        if lod == Lod.GIST and self.gist[row] != NONE:
            return Lod.GIST
        return Lod.SUMMARY if lod <= Lod.SUMMARY and self.summary[row] != NONE else Lod.FULL

    def unit_at(self, seq: int) -> int:
        """The unit of the item of this seq, or of the next one there is."""
        row = bisect_left(self.seq, seq)
        return self.unit[row] if row < len(self.unit) else len(self.unit_row) - 1

    def unit_count(self, rows: int) -> int:
        """How many units had begun when there were this many rows."""
        return bisect_left(self.unit_row, rows)

    def head_rows(self, path: Path, end: int = 1 << 62) -> list[int]:
        """The system items among the first so many rows that stood before the first call, or replaced those."""
        known = [row for row in self.more.systems if row < end and path.holds(self.branch[row], row)]
        rows = [row for row in known if self.state[row] & HEAD]
        replacing = [index for index, row in enumerate(rows) if self.state[row] & REPLACING]
        return rows[replacing[-1] :] if replacing else rows

    def references(self, window: str, path: Path, end: int = 1 << 62, before: int = 1 << 62) -> list[int]:
        """The rows of a path that refer to a window and were not closed there since: among the first `end` rows, closed
        before this place in the log.
        """
        closed = [note.at for note in self.more.closed.get(window, ()) if note.offset < before and path.saw(note)]
        since = max(closed, default=0)
        rows = self.more.windows.get(window, ())
        return [row for row in rows if since <= row < end and path.holds(self.branch[row], row)]

    def placed(self, annotations: Sequence[Placed], path: Path) -> Span | None:
        """The last of these annotations on this path."""
        for note in reversed(annotations):
            if path.knows(note):
                return Span(note.offset, note.length)
        return None

    def marked(self, path: Path) -> dict[int, str]:
        """What was last said of each marked row on this path."""
        return {mark.row: mark.what for mark in self.more.marks if path.knows(mark)}

    def superseded(self, row: int) -> bool:
        """Whether a later result is about the same thing."""
        subject = self.subject[row]
        return subject != NONE and self.subject_row[subject] > row


def _calls(entry: Entry) -> list[Call]:
    return [part for part in entries.parts_of(entry) if isinstance(part, Call)]
