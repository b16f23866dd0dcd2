"""Columns over a log: one row per item, so that items are found without reading the log again.

Texts are not here. They are read from the log, by offset, when they are shown. `fold` adds the rows. With the columns
comes what applies to runs of rows: branches and their paths, marks, annotations by place, and compactions.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct, field

from sightline.errors import BadInput
from sightline.log.annotations import CLEARED, FoundQuote
from sightline.log.stores import Span
from sightline.values.escape import plain_name, without_hidden
from sightline.values.items import FULL, GIST, SUMMARY, Kind, Lod
from sightline.values.pattern import pattern

Column: TypeAlias = "array[int]"

NONE = -1  # no row, no unit, no such level
UNMADE = -2  # tokens of a level that nobody has needed yet
UNBOUNDED = 1 << 62  # beyond every row and every offset

FIRST = "main"  # what people call the first branch, which has no name in the log
LONGEST_NAME = 40  # characters: a name stands in a column
_NAME = pattern(rf"[^\W\d_][\w./-]{{0,{LONGEST_NAME - 1}}}")

_KINDS = {int(kind): kind for kind in Kind}  # looking one up is quicker than making it
_USER, _ASSISTANT, _CALL = int(Kind.USER), int(Kind.ASSISTANT), int(Kind.CALL)

# State bits of a row.
HEAD = 1  # a system item that was written before the first call
WHOLE = 2  # a page of `expand` or `recall`: never shortened when it is new, and no source of a recall
FAILED = 4  # a result that is an error
OBSOLETE = 8  # a closed window
OPAQUE = 16  # has blocks of a provider's own, which must stay while their turn is open
ORPHAN = 32  # a result whose call is not in the log: shown as a labelled user message
LABELLED = 64  # a user or system message at its place that is the program's: a note, or what an import labelled
REPLACING = 128  # a system item that replaces all system items before it
BY_RULE = 256  # a summary that no model made
FAULT = 512  # a result fetched again because the earlier one was shortened
NOTICE = 1024  # a summary that only says that there is none
FILE_READ = 2048  # a call that reads a file, and its result if it is no error
LEADING = 4096  # a recall for the user message before it: shown in that message, before its words
SEARCHED = 8192  # an item that was searched for constraints,
CONSTRAINT = 16384  # and is a user message that has some
TITLED = 32768  # a message of the program whose first text begins with a label of the engine
CHANGED = 65536  # its line is not as it was written: the checksum fails
UNASKED = 131072  # an answer that an agent wrote itself, as when it is started again: no model was asked


class Branch(Struct):
    """A branch of the conversation. It shares the rows of its parent up to `at`."""

    name: str
    parent: int = NONE
    at: int = NONE  # the last shared row
    uuid: str = ""  # the entry that its first entry follows
    offset: int = UNBOUNDED  # where in the log it was begun
    last: int = NONE  # the last row of its own
    called: bool = False  # a payload has been sent on it


class Path(NamedTuple):
    """The rows of a branch: its own, and those of its ancestors up to where it left them."""

    limits: dict[int, int]  # branch → the last of its rows on this path
    ends: dict[int, int]  # branch → the offset in the log at which this path left it

    def holds(self, branch: int, row: int) -> bool:
        """Whether a row of that branch is on this path."""
        return row <= self.limits.get(branch, NONE)

    def knows(self, note: "Mark | Placed | Compaction") -> bool:
        """Whether an annotation applies to this path: it was made after a row of this path."""
        return self.holds(note.branch, note.at - 1)

    def saw(self, note: "Placed") -> bool:
        """Whether an annotation was made before this path left its branch, because a window belongs to one branch."""
        return self.knows(note) and note.offset <= self.ends.get(note.branch, UNBOUNDED)


AGENT = "agent"  # the `by` of a mark that follows from what an agent sends


class Mark(Struct):
    """A row was pinned, unpinned or asked for at another level. Applies to every branch that contains `at`."""

    row: int
    what: str
    offset: int
    branch: int
    at: int  # rows there were on the branch when it was made
    by: str = ""  # see `PinNote`


def pinned_rows(marked: Mapping[int, Mark]) -> set[int]:
    """The rows whose last mark is a pin."""
    return {row for row, mark in marked.items() if mark.what == "pin"}


def replaced_rows(marked: Mapping[int, Mark]) -> set[int]:
    """The rows that an agent no longer sends, because it has written something else in their place."""
    return {row for row, mark in marked.items() if mark.by == AGENT and mark.what == "out"}


class Placed(Struct):
    """An annotation that applies until the next of its subtype, on every branch that contains `at`."""

    offset: int
    length: int
    branch: int
    at: int  # rows there were on the branch when it was made
    most: int = NONE  # of a state: the greatest `at` of this one and those before it


class Compaction(Struct):
    """A run of units that summaries replace from the next sweep on."""

    seq: int  # of its boundary
    offset: int
    branch: int
    at: int  # rows there were with its last summary: a branch that begins earlier does not know of it
    first: int  # the units it covers
    last: int
    manual: bool = True  # somebody asked for it, so the next call is a sweep
    summaries: list[int] = []  # the units that replace them
    undone: list[Placed] = []
    post_tokens: int | None = None  # of the payload after it; None: only its summary says how many there may be

    def covers(self, other: "Compaction") -> bool:
        """Whether every unit that the other covers is covered by this one."""
        return self.first <= other.first and other.last <= self.last

    def __contains__(self, unit: int) -> bool:
        """Whether it covers this unit."""
        return self.first <= unit <= self.last


class State(Struct):
    """The part of a timeline that does not fit in columns. It is small, however long the log is."""

    branches: list[Branch] = field(default_factory=lambda: [Branch("")])
    current: int = 0  # the branch that was written to last
    open_calls: dict[int, str] = {}  # row of a call without a result → the id of the call
    subjects: list[str] = []  # what calls and results are about, by number
    spellings: dict[str, int] = {}  # other ways in which paths among them were written → their number
    marks: list[Mark] = []
    found: dict[int, list[FoundQuote]] = {}  # row of a user message that a model read → what it found laid down there
    systems: list[int] = []  # rows of system prompts
    compactions: list[Compaction] = []
    obsolete: list[int] = []  # rows that are OBSOLETE; one that became so twice is here twice
    faults: list[int] = []  # rows of results that were fetched again
    settings: list[Placed] = []
    tools: list[Placed] = []
    states: list[Placed] = []  # what a strategy remembers
    heads: dict[int, str] = {}  # branch → the uuid of its last conversation entry
    interrupted: dict[str, str] = {}  # id of an interrupted call → its tool
    windows: dict[str, list[int]] = {}  # window id → rows that refer to it
    closed: dict[str, list[Placed]] = {}  # window id → where it was closed
    noted: dict[str, list[Placed]] = {}  # window id → all annotations on it
    notes: int = 0  # annotations on windows, in all
    last_seq: int = 0  # of the last line
    damaged: list[int] = []  # offsets of lines and annotations that could not be read,
    changed: list[int] = []  # and of those whose checksum fails
    format_1: int = 0  # rows that payloads of format 1 may have shown: what was sent of them is not written otherwise


def _column(typecode: str) -> Any:
    return field(default_factory=lambda: array(typecode))


def pick(column: Column, places: Sequence[int]) -> Sequence[int]:
    """The values of a column at these places, which ascend. In half the time that a comprehension takes, or less."""
    if places and places[-1] - places[0] == len(places) - 1:
        return column[places[0] : places[-1] + 1]
    return itemgetter(*places)(column) if len(places) > 1 else [column[place] for place in places]


def kind_table(kinds: Collection[int]) -> bytes:
    """A byte for each kind, 1 for these: the kinds of thousands of units are compared in one `bytes.translate`."""
    return bytes(kind in kinds for kind in range(256))


def _no_levels(_row: int, lod: Lod) -> dict[Lod, int]:
    return {lod: NONE}


class Timeline(State, eq=False):
    """The items of a log as columns of numbers, and look-ups over them."""

    make_levels: Callable[[int, Lod], Mapping[Lod, int]] = _no_levels  # shortens an item; tokens of this level, or both
    # Id of open calls → their rows in each message, the newest message last.
    waiting: dict[str, list[deque[int]]] = field(default_factory=dict)

    # One element per row.
    seq: Column = _column("q")
    sub: Column = _column("H")  # 0, or the number of the call in its message
    unit: Column = _column("i")
    branch: Column = _column("H")
    kind: Column = _column("B")
    state: Column = _column("I")
    gist: Column = _column("i")  # tokens at GIST; -1: it has no such level, -2: nobody has needed it yet
    summary: Column = _column("i")
    full: Column = _column("i")
    time: Column = _column("q")  # when it was written, in milliseconds since 1970; -1: nothing says it
    partner: Column = _column("i")  # of a call: the row of its result; of a result: the row of its call
    subject: Column = _column("i")  # of a call, and of its result: what the call is about
    purpose: Column = _column("B")  # of a call: what it does; of a result: what it shows
    shows: Column = _column("B")  # of a call: the purpose that its result will have
    same: Column = _column("i")  # of a result: the one before it about the same subject
    offset: Column = _column("q")
    length: Column = _column("i")
    gist_offset: Column = _column("q")  # where the log has the rendition that was sent; -1: none was
    gist_length: Column = _column("i")
    summary_offset: Column = _column("q")
    summary_length: Column = _column("i")

    # One element per unit.
    unit_row: Column = _column("i")  # its first row
    unit_rows: Column = _column("i")  # how many rows it has
    unit_full: Column = _column("q")  # tokens of all of them in full
    unit_least: Column = _column("q")  # about how many they have at the lowest level of each, which none is made for

    subject_row: Column = _column("i")  # subject → the last row about it

    # One element for each further subject of a call: a command may show or change several files.
    more_row: Column = _column("i")  # of the call
    more_subject: Column = _column("i")
    more_same: Column = _column("i")  # the result about the same subject before that of the call

    # One element per receipt.
    receipt_offset: Column = _column("q")
    receipt_length: Column = _column("i")
    receipt_seq: Column = _column("q")
    receipt_branch: Column = _column("H")
    receipt_time: Column = _column("q")

    def columns(self) -> dict[str, Column]:
        """The columns by name."""
        others = {*State.__struct_fields__, "make_levels", "waiting"}
        return {name: getattr(self, name) for name in Timeline.__struct_fields__ if name not in others}

    def restore(self, columns: Mapping[str, Column], state: State) -> None:
        """Replace everything in this timeline by what was saved."""
        for name, column in columns.items():
            setattr(self, name, column)
        for name in State.__struct_fields__:
            setattr(self, name, getattr(state, name))
        self.waiting = {}
        for row, call_id in self.open_calls.items():
            self._wait(row, call_id)

    def __len__(self) -> int:
        return len(self.seq)

    # ------------------------------------------------------------------ items

    def row(self, item_id: str) -> int | None:
        """The row of an item: "412", "#412" or "412.2"; None if there is none."""
        seq, _, sub = item_id.removeprefix("#").partition(".")
        if not (seq + sub).isascii() or not (seq + sub).isdigit() or not seq or len(seq + sub) > 24:
            return None
        row = bisect_left(self.seq, int(seq)) + int(sub or 0)
        return row if row < len(self.seq) and self.seq[row] == int(seq) and self.sub[row] == int(sub or 0) else None

    def id(self, row: int) -> str:
        """The id of the item in a row, as models and people see it."""
        return f"{self.seq[row]}.{self.sub[row]}" if self.sub[row] else str(self.seq[row])

    def size(self, row: int, lod: Lod) -> int:
        """Tokens of an item at a level, or at the next richer level that it has."""
        if lod == FULL:
            return self.full[row]
        tokens = self.short_size(row, lod)
        if tokens == NONE and lod == GIST:
            tokens = self.short_size(row, SUMMARY)
        return self.full[row] if tokens == NONE else tokens

    def level(self, row: int, lod: Lod) -> Lod:
        """The level at which an item is shown if this one is asked for: this one, or the next richer that it has."""
        while lod < FULL and self.short_size(row, lod) == NONE:
            lod = Lod(lod + 1)
        return lod

    def short_size(self, row: int, lod: Lod) -> int:
        """Tokens of an item at GIST or SUMMARY, which is made now if nobody has needed it yet; -1: it has none."""
        column = self.gist if lod == GIST else self.summary
        if column[row] == UNMADE:
            for level, tokens in self.make_levels(row, lod).items():
                (self.gist if level == GIST else self.summary)[row] = tokens
        return column[row]

    def subjects_at(self, row: int) -> Sequence[int]:
        """The subjects of a call or result, the main one first; none if nothing says what it is about."""
        if (subject := self.subject[row]) == NONE:
            return ()
        more = self._more_at(row)
        return (subject, *self.more_subject[more.start : more.stop]) if more else (subject,)

    def results_about(self, subject: int, path: Path) -> Iterator[int]:
        """The results on a path about a subject, the newest first."""
        row = self.subject_row[subject]
        while row >= 0:
            if path.holds(self.branch[row], row):
                yield row
            row = self._same_before(row, subject)

    def _more_at(self, row: int) -> range:
        """The places of the further subjects of a call, or of the call of a result."""
        call = row if self.kind[row] == _CALL else self.partner[row]
        first = bisect_left(self.more_row, call)
        return range(first, bisect_left(self.more_row, call + 1, first))

    def _same_before(self, row: int, subject: int) -> int:
        """The result about this subject before a result about it."""
        if self.subject[row] == subject:
            return self.same[row]
        return next(self.more_same[at] for at in self._more_at(row) if self.more_subject[at] == subject)

    def open_call(self, call_id: str, branch: int) -> int | None:
        """The row of the pending call of this id on a branch: the first one in the newest message that has any."""
        path = self.path(branch)
        for rows in reversed(self.waiting.get(call_id, ())):
            if path.holds(self.branch[rows[0]], rows[0]):
                return rows[0]
        return None

    def add_call(self, row: int, call_id: str) -> None:
        """Note that the call in this row waits for a result."""
        self.open_calls[row] = call_id
        self._wait(row, call_id)

    def _wait(self, row: int, call_id: str) -> None:
        messages = self.waiting.setdefault(call_id, [])
        if not messages or self.unit[messages[-1][0]] != self.unit[row]:
            messages.append(deque())
        messages[-1].append(row)

    def end_call(self, row: int) -> None:
        """Note that the call in this row, the first of its id in its message, has its result."""
        messages = self.waiting[call_id := self.open_calls.pop(row)]
        at = next(at for at in reversed(range(len(messages))) if messages[at][0] == row)
        messages[at].popleft()
        if not messages[at]:
            del messages[at]
        if not messages:
            del self.waiting[call_id]

    # ------------------------------------------------------------------ units

    def unit_kind(self, unit: int) -> Kind:
        """The kind of a unit is that of its first item."""
        return _KINDS[self.kind[self.unit_row[unit]]]

    def unit_kinds(self, units: Sequence[int]) -> bytes:
        """The kinds of these units, a byte each."""
        return bytes(pick(self.kind, pick(self.unit_row, units)))

    def rows_of(self, unit: int) -> list[int]:
        """The rows of a unit as they are shown: the message, its calls, their results in call order."""
        first, kind = self.unit_row[unit], self.kind
        if kind[first] != _ASSISTANT or self.unit_rows[unit] == 1:
            return [first]
        if self.unit_rows[unit] == 3 and self.partner[first + 1] != NONE:  # one call and its result: the usual case
            return [first, first + 1, self.partner[first + 1]]
        end, row, units = len(kind), first + 1, self.unit
        while row < end and kind[row] == _CALL and units[row] == unit:
            row += 1
        results = self.partner[first + 1 : row]
        return [*range(first, row), *([result for result in results if result != NONE] if NONE in results else results)]

    def calls_of(self, row: int) -> range:
        """The rows of the calls that the message of this row makes: they follow it."""
        end = row + 1
        while end < len(self.sub) and self.sub[end]:
            end += 1
        return range(row + 1, end)

    def unit_at(self, seq: int) -> int:
        """The unit of the item with this seq, or of the next item."""
        row = bisect_left(self.seq, seq)
        return self.unit[row] if row < len(self.unit) else len(self.unit_row) - 1

    def units_between(self, path: Path, first_row: int, end_row: int) -> list[int]:
        """The units of a path that begin in this range of rows, in order."""
        straight, unit, unit_row = len(self.branches) == 1, self.unit, self.unit_row
        return [
            unit[row]
            for row in range(first_row, end_row)
            if unit_row[unit[row]] == row and (straight or path.holds(self.branch[row], row))
        ]

    # ------------------------------------------------------------------ branches

    def path(self, branch: int) -> Path:
        """The path of a branch: its rows and those of its ancestors."""
        limits, ends = {branch: UNBOUNDED}, {}
        while self.branches[branch].parent != NONE:
            left, branch = self.branches[branch], self.branches[branch].parent
            limits[branch] = min(left.at, limits.get(branch, UNBOUNDED))
            ends[branch] = left.offset
        return Path(limits, ends)

    def newest_of(self, kind: Kind, path: Path) -> Iterator[int]:
        """The rows of a kind on a path, the newest first."""
        kinds, row = self.kind.tobytes(), len(self.kind)
        while (row := kinds.rfind(kind, 0, row)) >= 0:
            if path.holds(self.branch[row], row):
                yield row

    def rows_on(self, path: Path, rows: Iterable[int]) -> Iterator[int]:
        """Those of these rows that are on a path."""
        if len(self.branches) == 1:
            return iter(rows)
        return (row for row in rows if path.holds(self.branch[row], row))

    def receipts_on(self, path: Path, receipts: Iterable[int]) -> Iterator[int]:
        """Those of these receipts that are of payloads all of whose rows are on a path."""
        if len(self.branches) == 1:
            return iter(receipts)
        rows = self.rows_until
        return (at for at in receipts if path.holds(self.receipt_branch[at], rows(self.receipt_seq[at]) - 1))

    def rows_until(self, seq: int) -> int:
        """How many rows the log has up to this seq."""
        return bisect_right(self.seq, seq)

    def last_row(self, path: Path) -> int:
        """The newest row of a path; -1 where it has none."""
        return max(min(self.branches[branch].last, limit) for branch, limit in path.limits.items())

    def last_user(self, path: Path, rows: int) -> int:
        """The unit of the user's own last message of a path among the first `rows` rows; -1 if there is none."""
        return self._last_unit(path, rows, self.is_users_own)

    def led_message(self, path: Path, recall: int) -> int:
        """The unit of the message that a recall was made for, by the row of the recall; -1 if there is none.

        In a log of format 1 that could be a program's.
        """
        is_user = self.is_users_own if recall >= self.format_1 else lambda row: self.kind[row] == Kind.USER
        return self._last_unit(path, recall, is_user)

    def _last_unit(self, path: Path, rows: int, among: Callable[[int], bool]) -> int:
        rows_back = (row for row in range(rows - 1, -1, -1) if among(row) and path.holds(self.branch[row], row))
        return self.unit[row] if (row := next(rows_back, NONE)) != NONE else NONE

    def is_users_own(self, row: int) -> bool:
        """Whether a row is the user's own words: no note of the program, and no result in the place of a message.

        Only these are requests, constraints, tasks and questions.
        """
        return self.kind[row] == _USER and not self.is_by_program(row)

    def is_by_program(self, row: int) -> bool:
        """Whether a row stands in the place of the user or of the system, and a program wrote it."""
        return bool(self.state[row] & (LABELLED | ORPHAN))

    def head_rows(self, path: Path, end: int = UNBOUNDED) -> list[int]:
        """The rows of the system prompt, among the first `end`: written before the first call, or replacing those."""
        rows: list[int] = []
        for row in self.rows_on(path, self.systems):
            if row < end and self.state[row] & HEAD:
                rows = [row] if self.state[row] & REPLACING else [*rows, row]
        return rows

    def references(self, window: str, path: Path, end: int = UNBOUNDED, before: int = UNBOUNDED) -> list[int]:
        """The rows of a path that refer to a window since it was last closed there.

        Only the first `end` rows count, and only what was closed before the offset `before`.
        """
        closed = [note.at for note in self.closed.get(window, ()) if note.offset < before and path.saw(note)]
        since = max(closed, default=0)
        return [row for row in self.rows_on(path, self.windows.get(window, ())) if since <= row < end]

    # ------------------------------------------------------------------ annotations

    def placed(self, annotations: Sequence[Placed], path: Path, before: int = UNBOUNDED) -> Span | None:
        """Where the log has the last of these annotations that applies to a path and is before this offset."""
        for note in reversed(annotations):
            if note.offset < before and path.knows(note):
                return Span(note.offset, note.length)
        return None

    def state_in_force(self, path: Path) -> Placed | None:
        """The state of a path that accounts for the most rows, of equal ones the last; None if there is none."""
        best: Placed | None = None
        for note in reversed(self.states):
            if best is not None and best.at >= note.most:
                break
            if path.knows(note) and (best is None or note.at > best.at):
                best = note
        return best

    def rows_read(self, path: Path) -> int:
        """The rows that the state in force on a path accounts for; -1 if there is no state."""
        note = self.state_in_force(path)
        return NONE if note is None else note.at

    def marked(self, path: Path) -> dict[int, Mark]:
        """Row → its last mark on a path, of those that ask for something."""
        return {mark.row: mark for mark in self.marks if mark.what != CLEARED and path.knows(mark)}

    def compacted(self, path: Path, within: Path | None = None) -> list[Compaction]:
        """The compactions in force on a path: not undone and not covered by another; of equal ones the last.

        Compactions that cover a row which is not on the path `within` do not count.
        """
        in_force: list[Compaction] = []  # the newest first, because it nearly always covers all before it
        for compaction in reversed(self.compactions):
            if not compaction.summaries or not path.knows(compaction) or any(map(path.knows, compaction.undone)):
                continue
            last = self.unit_row[compaction.last]
            if within is not None and not within.holds(self.branch[last], last):
                continue
            if not any(other.covers(compaction) for other in in_force):
                in_force = [*(other for other in in_force if not compaction.covers(other)), compaction]
        return in_force[::-1]


def is_branch_name(name: object) -> bool:
    """Whether a branch may have this name: plain text on one line that cannot be taken for the id of an item."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and without_hidden(name) == name


def check_branch_name(name: str, taken: Container[str]) -> None:
    """Raise BadInput if no branch may have this name, or one of the log has it."""
    if not is_branch_name(name):
        raise BadInput(
            f"{name!r} cannot name a branch: a name begins with a letter and has at most {LONGEST_NAME} letters, "
            "digits, - _ . and /"
        )
    if name == FIRST or name in taken:
        raise BadInput(f"there is a branch {name!r} already: choose another name, or resume the session on it")


def branch_label(name: str) -> str:
    """Return a branch's name for people, as plain text: the first branch has none in the log."""
    return plain_name(without_hidden(name)) or FIRST


def last_use(timeline: Timeline, row: int, path: Path) -> int:
    """The last result on a path about a subject of this row; the row itself if there is none."""
    return max([row, *(next(timeline.results_about(subject, path), row) for subject in timeline.subjects_at(row))])
