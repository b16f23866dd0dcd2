"""Branches of a conversation, and the annotations that apply to some of them: marks, settings, compactions."""

from collections.abc import Container
from typing import NamedTuple

from msgspec import Struct

from sightline.errors import BadInput
from sightline.values.escape import plain_name, without_hidden
from sightline.values.pattern import pattern

NONE = -1  # no row, no unit, no such level
UNBOUNDED = 1 << 62  # beyond every row and every offset
FIRST = "main"  # what people call the first branch, which has no name in the log
LONGEST_NAME = 40  # characters: a name stands in a column
_NAME = pattern(rf"[^\W\d_][\w./-]{{0,{LONGEST_NAME - 1}}}")


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


class Mark(Struct):
    """A row was pinned, unpinned or asked for at another level. Applies to every branch that contains `at`."""

    row: int
    what: str
    offset: int
    branch: int
    at: int  # rows there were on the branch when it was made


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
