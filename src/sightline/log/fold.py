"""Takes the entries of a log into a timeline, one by one: all of its columns follow from them."""

from bisect import bisect_left
from collections.abc import Callable, Sequence

from sightline.errors import BadInput
from sightline.log import entries
from sightline.log.annotations import (
    CompactNote,
    HeadNote,
    PinNote,
    ReceiptNote,
    RenditionNote,
    ToolsNote,
    UncompactNote,
    WindowNote,
)
from sightline.log.branches import NONE, Branch, Compaction, Mark, Placed
from sightline.log.columns import FAILED, FAULT, FILE_READ, HEAD, OBSOLETE, OPAQUE, ORPHAN, REPLACING, Sizes, Timeline
from sightline.log.entries import Entry
from sightline.log.stores import Span
from sightline.values.items import Call, Kind, Lod
from sightline.values.settings import Settings


class GrowingTimeline(Timeline):
    """A timeline that takes entries in."""

    def __init__(
        self,
        measure: Callable[[Entry], Sequence[Sizes]],
        subject_of: Callable[[Call], str],
        is_file_read: Callable[[str, str], bool] = lambda _id, _tool: False,
    ) -> None:
        """`measure` gives the sizes of an entry's items where the entry does not say them. `subject_of` gives what a
        call is about: a path, a command, a URL. `is_file_read` says, by id and tool, whether a call reads a file.
        """
        super().__init__()
        self._measure, self._subject_of, self._is_file_read = measure, subject_of, is_file_read
        self._subject_ids: dict[str, int] | None = None

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
            self.heads[branch] = entry.uuid
            self.current = branch  # a session goes on where it was last written to
        return range(first, len(self.seq))

    def follow(self, entry: Entry | entries.Tip) -> None:
        """Know that the next conversation entry follows this one, which itself cannot be shown."""
        if entry.in_conversation:
            self.heads[self._branch_of(entry)] = entry.uuid

    def _branch_of(self, entry: Entry | entries.Tip) -> int:
        if not entry.branch:
            return 0
        for index, branch in enumerate(self.branches):
            if branch.name == entry.branch:
                return index
        self.branches.append(Branch(entry.branch, 0, len(self.seq) - 1))
        return len(self.branches) - 1

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
        if kind is Kind.SYSTEM and (state & REPLACING or not self.branches[branch].called):
            state |= HEAD
        row = self._add_row(entry.seq, 0, unit, branch, kind, state, sizes[0], span)
        if kind is Kind.SYSTEM:
            self.systems.append(row)
        if entry.constraints:
            self.constraints.append(row)
        for number, call in enumerate(calls, start=1):
            self.open_calls[len(self.seq)] = call.id
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
        del self.open_calls[call]
        if not entry.tool_result.error:
            state |= self.state[call] & FILE_READ
        row = self._add_row(entry.seq, 0, self.unit[call], branch, Kind.RESULT, state, sizes, span)
        self.partner[row], self.partner[call] = call, row
        self.interrupted.pop(entry.tool_result.id, None)
        if entry.tool_result.error == "interrupted":
            self.interrupted[entry.tool_result.id] = entry.tool_result.name
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
        row = self.branches[branch].last = len(self.seq) - 1
        self.unit_rows[unit] += 1
        self.unit_full[unit] += sizes[2]
        self.unit_least[unit] += self.size(row, Lod.GIST)
        return row

    def _subject_id(self, subject: str) -> int:
        if not subject:
            return NONE
        if self._subject_ids is None:
            self._subject_ids = {known: index for index, known in enumerate(self.subjects)}
        index = self._subject_ids.setdefault(subject, len(self.subjects))
        if index == len(self.subjects):
            self.subjects.append(subject)
            self.subject_row.append(NONE)
        return index

    def _window(self, entry: Entry, span: Span, branch: int) -> None:
        window = entries.decode_data(entry, WindowNote)
        rows = self.windows.setdefault(window.id, [])
        note = Placed(*span, branch, len(self.seq))
        self.noted.setdefault(window.id, []).append(note)
        self.notes += 1
        if window.closed:
            for row in rows:
                self.state[row] |= OBSOLETE
            self.closed.setdefault(window.id, []).append(note)
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
                    self.marks.append(Mark(row, pin.what, span.offset, branch, self._end(branch)))
            case entries.BOUNDARY:
                self._compact(entry, span, branch)
            case entries.UNCOMPACT:
                self._uncompact(entries.decode_data(entry, UncompactNote), span, branch)
            case entries.HEAD_MOVED:
                self._move_head(entries.decode_data(entry, HeadNote), span.offset)
            case entries.SETTINGS:
                entries.decode_data(entry, Settings)  # one that cannot be read does not hold
                self.settings.append(Placed(*span, branch, self._end(branch)))
            case entries.STATE:
                self.states.append(Placed(*span, branch, self._end(branch)))
            case entries.TOOLS:
                entries.decode_data(entry, ToolsNote)
                self.tools.append(Placed(*span, branch, self._end(branch)))
            case _:
                pass  # somebody else's annotation

    def _compact(self, entry: Entry, span: Span, branch: int) -> None:
        """A boundary: what it covers, or, where another program wrote it, everything before it."""
        note = entries.decode_data(entry, CompactNote) if bytes(entry.data) != b"null" else CompactNote()
        first = self.unit_at(note.first) if note.first else 0
        last = self.unit_at(note.last) if note.last else len(self.unit_row) - 1
        manual = entry.compact_metadata is None or entry.compact_metadata.trigger != "auto"
        compaction = Compaction(entry.seq, span.offset, branch, self._end(branch), first, last, manual)
        self.compactions.append(compaction)

    def _summarised(self, entry: Entry, span: Span, branch: int) -> None:
        """A summary belongs to the boundary before it; one without a boundary covers everything before it."""
        unit, row = len(self.unit_row) - 1, len(self.seq) - 1
        own = [each for each in self.compactions if each.branch == branch]
        if not own or self._went_on(own[-1], row):
            own = [Compaction(entry.seq, span.offset, branch, row, 0, unit - 1)]
            self.compactions += own
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
        for compaction in self.compactions:
            if compaction.seq == note.boundary:
                compaction.undone.append(Placed(*span, branch, self._end(branch)))

    def _end(self, branch: int) -> int:
        """The first row after what the branch says: an annotation holds wherever that is."""
        own = self.branches[branch]
        return (own.at if own.last == NONE else own.last) + 1

    def _receipt(self, entry: Entry, span: Span, branch: int) -> None:
        note = entries.decode_data(entry, ReceiptNote)
        if not 0 <= note.seq <= entry.seq:
            raise BadInput(f"receipt {note.number} speaks of entries that there are not yet")
        self.receipt_offset.append(span.offset)
        self.receipt_length.append(span.length)
        self.receipt_seq.append(note.seq)
        self.receipt_branch.append(branch)
        self.branches[branch].called = True
        for item in note.faults:
            row = self.row(item)
            if row is not None:
                self.state[row] |= FAULT
                self.faults.append(row)

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
        names = [branch.name for branch in self.branches]
        if note.branch not in names:
            return
        branch = self.branches[names.index(note.branch)]
        parent = names.index(note.parent) if note.parent in names else NONE
        if NONE < parent < names.index(note.branch):  # a branch is younger than the one it leaves
            at = bisect_left(self.seq, note.at + 1) - 1
            branch.parent, branch.at, branch.uuid, branch.offset = parent, at, note.uuid, offset
            path = self.path(names.index(note.branch))
            sent = zip(self.receipt_branch, self.receipt_seq, strict=True)
            branch.called = any(seq <= note.at and by in path.limits for by, seq in sent)
        self.current = names.index(note.branch)


def _calls(entry: Entry) -> list[Call]:
    return [part for part in entries.parts_of(entry) if isinstance(part, Call)]
