"""What a timeline's columns have no place for: branches, and what was said about the conversation on each."""

from typing import NamedTuple

from msgspec import Struct

NONE = -1


class Branch(Struct):
    """A line of the conversation: it shares its parent's rows up to `at` and goes its own way after."""

    name: str
    parent: int = NONE
    at: int = NONE  # the last shared row
    uuid: str = ""  # the entry it goes on from
    offset: int = 1 << 62  # where the log says that it begins
    last: int = NONE  # its own last row
    called: bool = False  # a payload has been sent on it


class Path(NamedTuple):
    """The rows of a branch: its own, and its ancestors' up to where it left them."""

    limits: dict[int, int]  # branch → last row that belongs
    ends: dict[int, int]  # branch → where in the log it was left

    def holds(self, branch: int, row: int) -> bool:
        """Whether a row of that branch is on this path."""
        return row <= self.limits.get(branch, NONE)

    def knows(self, note: "Mark | Placed | Compaction") -> bool:
        """Whether something that was said about the conversation was said on this path."""
        return self.holds(note.branch, note.at - 1)

    def saw(self, note: "Placed") -> bool:
        """Whether it was said on this path before the path left that branch: what happens to a window stays there."""
        return self.knows(note) and note.offset <= self.ends.get(note.branch, 1 << 62)


class Mark(Struct):
    """Something said about a row: pinned, unpinned. Holds on every branch that contains where it was said."""

    row: int
    what: str
    offset: int
    branch: int
    at: int  # rows there were when it was said


class Placed(Struct):
    """An annotation that holds until the next of its subtype, on every branch that contains where it was made."""

    offset: int
    length: int
    branch: int
    at: int  # rows there were then


class Compaction(Struct):
    """A run of units that a summary stands for, from the next sweep on."""

    seq: int  # of its boundary
    offset: int
    branch: int
    at: int  # rows there were with its first summary: before that nothing stands for what it covers
    first: int  # the units it covers
    last: int
    manual: bool = True  # somebody asked for it: the next call is a sweep
    summaries: list[int] = []  # the units that stand for them
    undone: list[Placed] = []

    def covers(self, other: "Compaction") -> bool:
        """Whether what the other covers is part of what this one covers."""
        return self.first <= other.first and other.last <= self.last


class State(Struct):
    """The part of a timeline that columns have no place for, as it is kept in a file."""

    branches: list[Branch]
    current: int = 0
    open_calls: dict[int, str] = {}  # row of a call without a result → its id
    subjects: list[str] = []
    marks: list[Mark] = []
    systems: list[int] = []  # rows of system items
    constraints: list[int] = []  # rows of user messages that set a rule or name a task
    compactions: list[Compaction] = []
    faults: list[int] = []  # rows of results fetched again
    settings: list[Placed] = []
    tools: list[Placed] = []
    states: list[Placed] = []  # what a strategy remembers
    heads: dict[int, str] = {}  # last conversation entry written on each branch
    interrupted: dict[str, str] = {}  # id of a call given up on → its tool
    windows: dict[str, list[int]] = {}  # id → rows that refer to it
    closed: dict[str, list[Placed]] = {}  # id → where it was closed
    noted: dict[str, list[Placed]] = {}  # id → every note on it
    notes: int = 0  # on windows, in all
    damaged: int = 0
