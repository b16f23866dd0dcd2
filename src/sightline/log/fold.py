"""Adds the entries of a log to a timeline, one by one. All its columns follow from the entries alone.

What calls are about has numbers in the columns (`SubjectNumbers`): a file has one, however its path is written.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from msgspec.structs import replace

from sightline.errors import BadInput
from sightline.log import entries
from sightline.log.annotations import (
    CompactNote,
    HeadNote,
    LaidDownNote,
    PinNote,
    ReceiptNote,
    RenditionNote,
    StateNote,
    ToolsNote,
    UncompactNote,
    WindowNote,
)
from sightline.log.columns import (
    CHANGED,
    CONSTRAINT,
    FAILED,
    FAULT,
    FILE_READ,
    HEAD,
    LABELLED,
    NONE,
    OBSOLETE,
    OPAQUE,
    ORPHAN,
    REPLACING,
    SEARCHED,
    UNASKED,
    UNMADE,
    WHOLE,
    Branch,
    Compaction,
    Mark,
    Placed,
    Timeline,
)
from sightline.log.entries import Entry, full_tokens
from sightline.log.stores import Line, Span
from sightline.shorten import Effect
from sightline.values.items import Call, Kind, Lod
from sightline.values.logger import log_damage
from sightline.values.recall_tools import RECALL_NAMES
from sightline.values.settings import Settings

CHANGED_LINE = "has changed since it was written, and is used as it is now"

_WINDOW, _SUMMARY = Kind.WINDOW, Kind.SUMMARY  # looked up once: a class does it slowly
_MOST_SEQ, _MOST_TOKENS = 1 << 62, 1 << 31  # what the columns can store
_PAGES = RECALL_NAMES | {""}  # a list of another program may not say whose result it is
_LEAST = {kind: kind.least for kind in Kind}  # looking one up is quicker than asking it
_GIST = 45  # tokens of a gist in recorded runs, or nearly so many
_DEEPEST = 12  # parts of a relative path that is known again in an absolute one
_FOUND_OUT = (  # never written: a session finds it out
    HEAD | FAILED | ORPHAN | FAULT | FILE_READ | SEARCHED | CONSTRAINT | UNASKED
)
_NO_MODEL = "<synthetic>"  # what Claude Code writes in the place of the model


class GrowingTimeline(Timeline, kw_only=True):
    """A timeline that entries can be added to."""

    measure: Callable[[Entry], Sequence[int]]  # tokens of an entry's items in full, if the entry does not state them
    effect_of: Callable[[Call], Effect]  # what a call does, and what it is about: paths, a command, a URL
    is_file_read: Callable[[str, str], bool] = lambda _id, _tool: False  # of a call, by its id and tool
    forget: Callable[[int], object] = lambda _row: None  # what was made of a row: the log has it now
    _numbers: "SubjectNumbers | None" = None  # made when first needed
    _written: int = NONE  # when the entry that is added was

    def fold(self, entry: Entry, span: Span) -> range:
        """Add one entry, in log order. Returns the rows it made. Raises BadInput for an annotation of another form."""
        first = len(self.seq)
        branch, self._written = self._branch_of(entry), _time_of(entry)
        kind, is_chained = entries.kind_of(entry), entry.in_conversation
        if kind is _WINDOW:
            self._add_window_note(entry, span, branch)
        elif kind is not None:
            self._add_rows(entry, span, branch, kind)
        elif entry.type == "system":
            self._annotate(entry, span, branch)
        if kind is _SUMMARY:
            self._add_summary(entry, span, branch)
        if is_chained:
            self.heads[branch] = entry.uuid
            self.current = branch  # a session continues on the branch that was written to last
        self.last_seq = entry.seq
        return range(first, len(self.seq))

    def with_valid_numbers(self, entry: Entry, *, changed: bool = False) -> Entry:
        """The entry with numbers that the columns can store.

        Other programs write no numbers, or numbers of their own, or join two logs into one. The numbers of a `changed`
        line are not believed: it follows the one before it, and its tokens are counted again.
        """
        if changed or entry.flags & CHANGED:
            entry = replace(entry, flags=entry.flags & ~CHANGED | (CHANGED if changed else 0))
        if changed:
            entry = replace(entry, seq=self.last_seq + 1, tokens=())
        least = (self.seq[-1] if len(self) else 0) + 1
        if not least <= entry.seq < _MOST_SEQ and (entry.seq <= 0 or entries.kind_of(entry) is not None):
            entry = replace(entry, seq=least)
        if any(not 0 <= full < _MOST_TOKENS for full in full_tokens(entry.tokens)) or entry.flags >> 17:
            entry = replace(entry, tokens=(), flags=entry.flags & CHANGED)
        if entry.flags & _FOUND_OUT:
            entry = replace(entry, flags=entry.flags & ~_FOUND_OUT)
        return entry

    def follow(self, entry: Entry | entries.Tip) -> None:
        """Note that the next conversation entry follows this one, which makes no row because it cannot be read."""
        self.last_seq += 1
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
        sizes: Sequence[int] = full_tokens(entry.tokens) or self.measure(entry)
        if kind is Kind.RESULT:
            self._add_result(entry, span, branch, sizes[0])
            return
        parts = entries.parts_of(entry) if len(sizes) > 1 or entry.tool is not None else ()
        calls = [part for part in parts if isinstance(part, Call)]
        if len(sizes) != len(calls) + 1:  # another program wrote sizes of its own
            sizes = self.measure(entry)
        unit = self._new_unit()
        state = entry.flags
        if kind is Kind.SYSTEM and (state & REPLACING or not (state & LABELLED or self.branches[branch].called)):
            state |= HEAD
        if kind is Kind.ASSISTANT and entry.message is not None and entry.message.model == _NO_MODEL:
            state |= UNASKED
        row = self._add_row(entry.seq, 0, unit, branch, kind, state, sizes[0], span)
        if kind is Kind.SYSTEM and not state & LABELLED:  # a note of the program may be left out
            self.systems.append(row)
        for number, call in enumerate(calls, start=1):
            own = state & OPAQUE | (FILE_READ if self.is_file_read(call.id, call.name) else 0)
            row = self._add_row(entry.seq, number, unit, branch, Kind.CALL, own, sizes[number], span)
            self.add_call(row, call.id)
            self._add_effect(row, self.effect_of(call))

    def _add_effect(self, row: int, effect: Effect) -> None:
        """Note what the call in this row does, and what it is about."""
        self.purpose[row], self.shows[row] = effect.purpose, effect.result
        subjects = list(dict.fromkeys(map(self._subject_number, effect.subjects)))
        if subjects:
            self.subject[row] = subjects[0]
        for subject in subjects[1:]:
            self.more_row.append(row)
            self.more_subject.append(subject)
            self.more_same.append(NONE)

    def _add_result(self, entry: Entry, span: Span, branch: int, full: int) -> None:
        assert entry.tool_result is not None
        state = entry.flags | (FAILED if entry.tool_result.error else 0)
        if entry.tool_result.name not in _PAGES:  # earlier versions set it for the results of window calls too
            state &= ~WHOLE
        if (call := self.open_call(entry.tool_result.id, branch)) is None:
            if not state & LABELLED:  # measured as a result
                state |= LABELLED
                full = self.measure(replace(entry, flags=state))[0]
            self._add_row(entry.seq, 0, self._new_unit(), branch, Kind.USER, state | ORPHAN, full, span)
            return
        self.end_call(call)
        if not entry.tool_result.error:
            state |= self.state[call] & FILE_READ
        row = self._add_row(entry.seq, 0, self.unit[call], branch, Kind.RESULT, state, full, span)
        self.partner[row], self.partner[call] = call, row
        self.purpose[row] = self.shows[call]
        self.interrupted.pop(entry.tool_result.id, None)
        if entry.tool_result.error == "interrupted":
            self.interrupted[entry.tool_result.id] = entry.tool_result.name
        self.subject[row] = subject = self.subject[call]
        if subject != NONE:
            self.same[row] = self.subject_row[subject]
            self.subject_row[subject] = row
        for at in self._more_at(call):
            self.more_same[at] = self.subject_row[self.more_subject[at]]
            self.subject_row[self.more_subject[at]] = row

    def _new_unit(self) -> int:
        self.unit_row.append(len(self.seq))
        self.unit_rows.append(0)
        self.unit_full.append(0)
        self.unit_least.append(0)
        return len(self.unit_row) - 1

    def _add_row(
        self, seq: int, sub: int, unit: int, branch: int, kind: Kind, state: int, full: int, span: Span
    ) -> int:
        if state & OBSOLETE:
            self.obsolete.append(len(self.seq))
        self.seq.append(seq)
        self.sub.append(sub)
        self.unit.append(unit)
        self.branch.append(branch)
        self.kind.append(kind)
        self.state.append(state)
        self.gist.append(UNMADE)
        self.summary.append(UNMADE)
        self.full.append(full)
        self.time.append(self._written)
        self.offset.append(span.offset)
        self.length.append(span.length)
        for column in (self.partner, self.subject, self.same, self.gist_offset, self.summary_offset):
            column.append(NONE)
        self.purpose.append(0)
        self.shows.append(0)
        self.gist_length.append(0)
        self.summary_length.append(0)
        row = self.branches[branch].last = len(self.seq) - 1
        self.unit_rows[unit] += 1
        self.unit_full[unit] += full
        self.unit_least[unit] += guess_least(kind, full)
        return row

    def _subject_number(self, subject: str) -> int:
        if self._numbers is None:
            self._numbers = SubjectNumbers(self.subjects, self.spellings)
        number = self._numbers.number(subject)
        if number == len(self.subject_row):
            self.subject_row.append(NONE)
        return number

    def _add_window_note(self, entry: Entry, span: Span, branch: int) -> None:
        window = entries.decode_data(entry, WindowNote)
        rows = self.windows.setdefault(window.id, [])
        note = Placed(*span, branch, len(self.seq))
        self.noted.setdefault(window.id, []).append(note)
        self.notes += 1
        if window.closed:
            for row in rows:
                self.state[row] |= OBSOLETE
            self.obsolete += rows
            self.closed.setdefault(window.id, []).append(note)
        if window.closed or window.changed:
            return
        rows.append(len(self.seq))
        self._add_row(entry.seq, 0, self._new_unit(), branch, Kind.WINDOW, entry.flags, 0, span)

    def _annotate(self, entry: Entry, span: Span, branch: int) -> None:
        match entry.subtype:
            case entries.RECEIPT:
                self._add_receipt(entry, span, branch)
            case entries.RENDITION:
                self._add_renditions(entry, span)
            case entries.PIN:
                self._add_mark(entries.decode_data(entry, PinNote), span, branch)
            case entries.LAID_DOWN:
                self._add_found(entries.decode_data(entry, LaidDownNote))
            case entries.BOUNDARY:
                self._add_boundary(entry, span, branch)
            case entries.LOSS:
                self._note_tokens(entry, branch)
            case entries.UNCOMPACT:
                self._uncompact(entries.decode_data(entry, UncompactNote), span, branch)
            case entries.HEAD_MOVED:
                self._move_head(entries.decode_data(entry, HeadNote), span.offset)
            case entries.SETTINGS:
                self._add_settings(entry, span, branch)
            case entries.STATE:
                row = self.row(str(entries.decode_data(entry, StateNote).read))
                at = (branch, self._end(branch)) if row is None else (self.branch[row], row + 1)
                self.states.append(Placed(*span, *at, max([at[1], *(state.most for state in self.states[-1:])])))
            case entries.TOOLS:
                entries.decode_data(entry, ToolsNote)
                self.tools.append(Placed(*span, branch, self._end(branch)))
            case _:
                pass  # an annotation that this version does not know

    def _add_mark(self, pin: PinNote, span: Span, branch: int) -> None:
        if (row := self.row(pin.item)) is not None:
            self.marks.append(Mark(row, pin.what, span.offset, branch, self._end(branch), pin.by))

    def _add_found(self, note: LaidDownNote) -> None:
        if (row := self.row(note.item)) is not None:
            self.found[row] = note.found

    def _add_settings(self, entry: Entry, span: Span, branch: int) -> None:
        entries.decode_data(entry, Settings)  # raises if it cannot be read: then it is not in force
        if entry.flags & CHANGED:  # a session with settings that nobody has could not be opened
            raise BadInput("its checksum fails")
        self.settings.append(Placed(*span, branch, self._end(branch)))

    def _add_boundary(self, entry: Entry, span: Span, branch: int) -> None:
        """Add a compaction. One that another program wrote covers everything before it."""
        note = entries.decode_data(entry, CompactNote) if bytes(entry.data) != b"null" else CompactNote()
        first = self.unit_at(note.first) if note.first else 0
        last = self.unit_at(note.last) if note.last else len(self.unit_row) - 1
        manual = entry.compact_metadata is None or entry.compact_metadata.trigger != "auto"
        self.compactions.append(Compaction(entry.seq, span.offset, branch, self._end(branch), first, last, manual))

    def _add_summary(self, entry: Entry, span: Span, branch: int) -> None:
        """Add a summary to the compaction before it. One without a compaction covers everything before it."""
        unit, row = len(self.unit_row) - 1, len(self.seq) - 1
        own = [compaction for compaction in self.compactions if compaction.branch == branch]
        if not own or self._has_other_rows(own[-1], row):
            own = [Compaction(entry.seq, span.offset, branch, row, 0, unit - 1)]
            self.compactions += own
        own[-1].summaries.append(unit)
        own[-1].at = self._end(branch)  # a branch that begins between two summaries knows of neither

    def _note_tokens(self, entry: Entry, branch: int) -> None:
        """Note how large the payload after a compaction is. This is known when its summary has been written."""
        own = [compaction for compaction in self.compactions if compaction.branch == branch]
        if own and entry.compact_metadata is not None:
            own[-1].post_tokens = entry.compact_metadata.post_tokens

    def _has_other_rows(self, compaction: Compaction, row: int) -> bool:
        """Whether the branch has rows between a compaction and this row that are not its summaries."""
        since = range(compaction.at, row)
        return any(
            self.branch[other] == compaction.branch and self.unit[other] not in compaction.summaries for other in since
        )

    def _uncompact(self, note: UncompactNote, span: Span, branch: int) -> None:
        for compaction in self.compactions:
            if compaction.seq == note.boundary:
                compaction.undone.append(Placed(*span, branch, self._end(branch)))

    def _end(self, branch: int) -> int:
        """The row after the last of a branch. An annotation made now applies wherever that last row is on the path."""
        own = self.branches[branch]
        return (own.at if own.last == NONE else own.last) + 1

    def _add_receipt(self, entry: Entry, span: Span, branch: int) -> None:
        note = entries.decode_data(entry, ReceiptNote)
        if not 0 <= note.seq <= entry.seq:
            raise BadInput(f"receipt {note.number} names entries that do not exist yet")
        self.receipt_offset.append(span.offset)
        self.receipt_length.append(span.length)
        self.receipt_seq.append(note.seq)
        self.receipt_branch.append(branch)
        self.receipt_time.append(self._written)
        self.branches[branch].called = True
        if note.format == 1:
            self.format_1 = max(self.format_1, bisect_left(self.seq, note.seq + 1))
        for item in note.faults:
            if (row := self.row(item)) is not None:
                self.state[row] |= FAULT
                self.faults.append(row)

    def _add_renditions(self, entry: Entry, span: Span) -> None:
        for note in entries.decode_data(entry, list[RenditionNote]):
            if (row := self.row(note.item)) is None:
                continue
            tokens = note.tokens if UNMADE <= note.tokens < _MOST_TOKENS and not entry.flags & CHANGED else UNMADE
            if note.lod == Lod.GIST:
                self.gist_offset[row], self.gist_length[row] = span
                self.gist[row] = tokens
            else:
                self.summary_offset[row], self.summary_length[row] = span
                self.summary[row] = tokens
            self.forget(row)

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


def _time_of(entry: Entry) -> int:
    """When an entry was written, in milliseconds since 1970; -1: it does not say so."""
    try:  # as `values.clock` reads a time; here, because every entry comes by
        moment = datetime.fromisoformat(entry.timestamp)
        in_zone = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return max(round(in_zone.timestamp() * 1000), NONE)
    except (ValueError, OverflowError):
        return NONE


def guess_least(kind: Kind, full: int) -> int:
    """About how many tokens an item of so many has at its lowest level."""
    return full if full < _LEAST[kind] else _GIST


def fold_line(timeline: GrowingTimeline, line: Line, session_id: str) -> None:
    """Fold a line as it is in the store. Damage is listed in the timeline and logged; nothing is raised."""
    try:
        entry = entries.decode(line.data)
    except entries.UNREADABLE as error:
        _report(timeline.damaged, line.span, session_id, f"is no entry of a form we know and is passed over: {error}")
        with suppress(*entries.UNREADABLE):  # the next entry may follow it: its own writer could read it
            timeline.follow(entries.decode_tip(line.data))
        return
    changed = not entries.is_intact(line.data)
    if changed:
        _report(timeline.changed, line.span, session_id, CHANGED_LINE)
    fold_entry(timeline, timeline.with_valid_numbers(entry, changed=changed), line.span, session_id)


def fold_entry(timeline: GrowingTimeline, entry: Entry, span: Span, session_id: str) -> range:
    """Fold an entry and return its rows. An annotation that cannot be read is listed, logged and has no effect."""
    try:
        return timeline.fold(entry, span)
    except (BadInput, *entries.UNREADABLE) as error:
        _report(timeline.damaged, span, session_id, f"(entry {entry.uuid}) is passed over: {error}")
        timeline.follow(entry)
        return range(0)


def warn(session_id: str, span: Span, what: str) -> None:
    """Tell whoever runs this of a line."""
    log_damage("%s: the line at byte %d %s", session_id, span.offset, what)


def _report(offsets: list[int], span: Span, session_id: str, what: str) -> None:
    offsets.append(span.offset)
    warn(session_id, span, what)


class SubjectNumbers:
    """The numbers of subjects. They follow from the subjects and spellings that are known, not from their order.

    A relative path and an absolute one that ends with it are the same file. If several absolute ones do, it is the one
    with the lowest number.
    """

    def __init__(self, subjects: list[str], spellings: dict[str, int]) -> None:
        """Both are extended: the subjects by number, and other spellings of them."""
        self._subjects, self._spellings = subjects, spellings
        self._numbers = {subject: number for number, subject in enumerate(subjects)} | spellings
        self._ends: dict[str, int] = {}  # how absolute paths end → the lowest of their numbers
        self._absolute: set[int] = set()  # numbers that have an absolute path
        for subject, number in self._numbers.items():
            self._note_path(subject, number)

    def number(self, subject: str) -> int:
        """The number of a subject, a new one if it is not known; -1 for an empty one."""
        if not subject:
            return NONE
        if (number := self._numbers.get(subject)) is not None:
            return number
        if (same := self._same_file(subject)) is not None:
            self._spellings[subject] = number = same
        else:
            number = len(self._subjects)
            self._subjects.append(subject)
        self._numbers[subject] = number
        self._note_path(subject, number)
        return number

    def _same_file(self, subject: str) -> int | None:
        """The number of the file that this path is another spelling of."""
        if not subject.startswith("/"):
            return self._ends.get(subject)
        for end in _ends(subject):
            number = self._numbers.get(end)
            if number is not None and number not in self._absolute:
                return number
        return None

    def _note_path(self, subject: str, number: int) -> None:
        if subject.startswith("/"):
            self._absolute.add(number)
            for end in _ends(subject):
                self._ends[end] = min(number, self._ends.get(end, number))


def _ends(path: str) -> Iterator[str]:
    """Yield the relative paths that an absolute one ends with, the longest first; none of a text that is no path."""
    if " " in path or "\n" in path:
        return
    parts = path.strip("/").rsplit("/", _DEEPEST)[-_DEEPEST:]
    yield from ("/".join(parts[at:]) for at in range(len(parts)))
