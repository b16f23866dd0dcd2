"""Which rows of a branch are messages, with the results of their calls. Windows, which nobody said, are left out."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator

from sightline.log import Journal
from sightline.session.session import Session
from sightline.values.items import Kind
from sightline.view.branch_index import BranchIndex


class Messages(BranchIndex):
    """The rows of a branch's messages, and of the results of their calls. `update` adds what is new in the log."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.rows = array("i")
        self.results: dict[int, int] = {}  # by the row of the call

    def update(self) -> None:
        """Add the messages that are new."""
        timeline, path, straight = self.timeline, self._path, len(self.timeline.branches) == 1
        for row in range(self._next_row, len(timeline)):
            kind = timeline.kind[row]
            if kind == Kind.CALL or not (straight or path.holds(timeline.branch[row], row)):
                continue
            if kind == Kind.RESULT:
                self.results[timeline.partner[row]] = row
            elif kind != Kind.WINDOW:
                self.rows.append(row)
        self._next_row = len(timeline)

    def place(self, row: int) -> int:
        """Return the place of the message that a row is part of: of a result, that of its call."""
        if self.timeline.kind[row] == Kind.RESULT:
            row = self.timeline.partner[row]
        return max(bisect_right(self.rows, row) - 1, 0)

    def rows_of(self, row: int) -> Iterator[int]:
        """Yield all rows of a message: its own, those of its calls, and those of their results."""
        yield row
        for call in self.timeline.calls_of(row):
            yield call
            if call in self.results:
                yield self.results[call]


def messages_of(session: Session) -> Messages:
    """Return the messages of a session's branch as they are now. Hold the session's lock while you use them."""
    messages = Messages.of(session)
    messages.update()
    return messages
