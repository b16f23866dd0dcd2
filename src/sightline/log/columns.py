"""Columns over a log: one row per item, found without reading the log again.

Text is not kept here: it is read by its place in the log when it is shown. `fold` adds rows.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import ClassVar

from sightline.log.branches import NONE, Branch, Compaction, Mark, Path, Placed, State
from sightline.log.stores import Span
from sightline.values.items import Kind, Lod

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

    # What columns have no place for: small, whatever the length of the log.
    branches: list[Branch]
    current: int
    open_calls: dict[int, str]  # row of a call without a result → its id
    subjects: list[str]
    marks: list[Mark]
    systems: list[int]  # rows of system items
    constraints: list[int]  # rows of user messages that set a rule or name a task
    compactions: list[Compaction]
    faults: list[int]  # rows of results fetched again
    settings: list[Placed]
    tools: list[Placed]
    states: list[Placed]  # what a strategy remembers
    heads: dict[int, str]  # last conversation entry written on each branch
    interrupted: dict[str, str]  # id of a call given up on → its tool
    windows: dict[str, list[int]]  # id → rows that refer to it
    closed: dict[str, list[Placed]]  # id → where it was closed
    noted: dict[str, list[Placed]]  # id → every note on it
    notes: int  # on windows, in all
    damaged: int

    COLUMNS: ClassVar = {**_COLUMNS, **_UNIT_COLUMNS, "subject_row": "i", **_RECEIPT_COLUMNS}

    def __init__(self) -> None:
        for name, typecode in self.COLUMNS.items():
            setattr(self, name, array(typecode))
        self.load_state(State([Branch("")]))

    def load_state(self, state: State) -> None:
        """Go on from this state."""
        for name in State.__struct_fields__:
            setattr(self, name, getattr(state, name))

    def kept_state(self) -> State:
        """What has no place in columns, as it is kept in a file."""
        return State(*(getattr(self, name) for name in State.__struct_fields__))

    def __len__(self) -> int:
        return len(self.seq)

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
        while self.branches[branch].parent != NONE:
            left, branch = self.branches[branch], self.branches[branch].parent
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
        straight = len(self.branches) == 1
        for row in range(first_row, end_row):
            if self.unit_row[self.unit[row]] == row and (straight or path.holds(self.branch[row], row)):
                yield self.unit[row]

    def open_call(self, call_id: str, branch: int) -> int | None:
        """The call of this id that waits for a result on the branch: of the nearest message, its first."""
        path, found = self.path(branch), None
        for row in reversed(self.open_calls):
            if found is not None and self.unit[row] != self.unit[found]:
                break
            if self.open_calls[row] == call_id and path.holds(self.branch[row], row):
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
        return max(min(self.branches[branch].last, limit) for branch, limit in path.limits.items())

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
        known = [row for row in self.systems if row < end and path.holds(self.branch[row], row)]
        rows = [row for row in known if self.state[row] & HEAD]
        replacing = [index for index, row in enumerate(rows) if self.state[row] & REPLACING]
        return rows[replacing[-1] :] if replacing else rows

    def references(self, window: str, path: Path, end: int = 1 << 62, before: int = 1 << 62) -> list[int]:
        """The rows of a path that refer to a window and were not closed there since: among the first `end` rows, closed
        before this place in the log.
        """
        closed = [note.at for note in self.closed.get(window, ()) if note.offset < before and path.saw(note)]
        since = max(closed, default=0)
        rows = self.windows.get(window, ())
        return [row for row in rows if since <= row < end and path.holds(self.branch[row], row)]

    def placed(self, annotations: Sequence[Placed], path: Path) -> Span | None:
        """The last of these annotations on this path."""
        for note in reversed(annotations):
            if path.knows(note):
                return Span(note.offset, note.length)
        return None

    def marked(self, path: Path) -> dict[int, str]:
        """What was last said of each marked row on this path."""
        return {mark.row: mark.what for mark in self.marks if path.knows(mark)}

    def superseded(self, row: int) -> bool:
        """Whether a later result is about the same thing."""
        subject = self.subject[row]
        return subject != NONE and self.subject_row[subject] > row

    def compacted(self, path: Path) -> list[Compaction]:
        """The compactions that hold on this path: not undone, and not part of another; of equal ones the last."""
        held: list[Compaction] = []  # the newest first: nearly always it covers all before it
        for each in reversed(self.compactions):
            if not each.summaries or not path.knows(each) or any(map(path.knows, each.undone)):
                continue
            if not any(other.covers(each) for other in held):
                held = [*(other for other in held if not each.covers(other)), each]
        return held[::-1]
