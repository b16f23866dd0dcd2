"""Which rows of a log somebody wants to see: those of a kind, a tool or a file, or what failed. No text is read."""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from sightline.log import FAILED, Journal
from sightline.session.session import Session
from sightline.values.items import Kind
from sightline.view.branch_index import BranchIndex
from sightline.view.tool_calls import tool_calls

_MOST_FILTERS = 8  # of a session whose rows are kept


class RowFilter(NamedTuple):
    """What is wanted; what is empty is not asked for. Tools and files are those that contain the text, in any case."""

    kind: str = ""
    tool: str = ""
    path: str = ""  # of the file, or the command, that a call is about
    errors: bool = False


EVERY = RowFilter()


def row_test(session: Session, wanted: RowFilter) -> Callable[[int], bool]:
    """Return what says of a row whether it is wanted. Hold the session's lock while you use it."""
    timeline = session.log.timeline
    names = tool_calls(session) if wanted.tool else None
    kinds = {int(kind) for kind in Kind if not wanted.kind or kind.name.lower() == wanted.kind}
    tool, path = wanted.tool.casefold(), wanted.path.casefold()
    subjects = {at for at, subject in enumerate(timeline.subjects) if path in subject.casefold()} if path else set()

    def fits(row: int) -> bool:
        return (
            timeline.kind[row] in kinds
            and (not wanted.errors or bool(timeline.state[row] & FAILED))
            and (not path or not subjects.isdisjoint(timeline.subjects_at(row)))
            and (names is None or tool in (names.name(row).casefold() or "\0"))
        )

    return fits


class _Filtered(BranchIndex):
    """The wanted rows of a branch. `update` looks at those that are new."""

    def __init__(self, journal: Journal, wanted: RowFilter) -> None:
        super().__init__(journal)
        self._wanted = wanted
        self.rows = array("i")

    def update(self, session: Session) -> None:
        """Add the wanted rows that are new."""
        timeline, first = self.timeline, self._next_row
        if first < len(timeline):
            fits = row_test(session, self._wanted)
            self.rows.extend(filter(fits, timeline.rows_on(self._path, range(first, len(timeline)))))
            self._next_row = len(timeline)


_known: "WeakKeyDictionary[Session, OrderedDict[RowFilter, _Filtered]]" = WeakKeyDictionary()


def wanted_rows(session: Session, wanted: RowFilter) -> Sequence[int]:
    """Return the wanted rows of a session's branch, in order. Hold the session's lock while you use them."""
    kept = _known.setdefault(session, OrderedDict())
    filtered = kept.pop(wanted, None)
    if filtered is None or not filtered.fits(session.log):
        filtered = _Filtered(session.log, wanted)
    filtered.update(session)
    kept[wanted] = filtered
    if len(kept) > _MOST_FILTERS:
        kept.popitem(last=False)
    return filtered.rows
