"""What losing an item would cost: its worth for each of its tokens, compared with that of other items.

Worth = kind × recency × mentioned since × failed × superseded × obsolete, and a little more for a short item than for a
long one. What the model works with, the working set, is not compared by its worth: a sweep takes it after all else.
The numbers behave well on recorded runs; only their relation to each other matters. They give this order of loss:
superseded results, closed windows, searches and listings, command output, the text of files that nobody used since,
the assistant's words and other agents' reports, and last what the user wrote.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping
from math import inf

from sightline.log.columns import FAILED, OBSOLETE, Timeline, last_use
from sightline.plan.view import View
from sightline.shorten import Purpose
from sightline.values.items import Kind

# What losing an item of each kind costs, compared with command output. What the user wrote is the task. A system item
# here is a note of the program, because the others are never reduced. A summary replaces many messages. A recalled
# piece can go first, because its source remains.
_BY_KIND: dict[int, float] = {
    Kind.SYSTEM: 20.0, Kind.USER: 20.0, Kind.ASSISTANT: 3.0, Kind.CALL: 3.0, Kind.RESULT: 1.0, Kind.WINDOW: 1.0,
    Kind.SUMMARY: 50.0, Kind.RECALL: 0.05,
}  # fmt: skip
# The same for results: a report of another agent is worth as much as the assistant's words.
_BY_PURPOSE: dict[int, float] = {
    Purpose.READ: 3.0, Purpose.SHOW: 3.0, Purpose.CHANGE: 3.0, Purpose.WRITE: 3.0, Purpose.REPORT: 3.0,
    Purpose.SEARCH: 0.7,
}  # fmt: skip
USER_KINDS = frozenset(kind for kind, worth in _BY_KIND.items() if worth >= _BY_KIND[Kind.USER])
_RESULT = int(Kind.RESULT)  # columns have plain numbers, which compare faster

_SLOWER = 10  # times: what the user wrote ages slower than the rest
_SUPERSEDED = 0.05  # newer results show nearly all of its lines
_OBSOLETE = 0.05  # its window is closed
_FAILED = 1.5  # an error, which the model should not run into again
_SOON = 10  # rows: a later mention counts half after so many
_TYPICAL, _POWER = 400, 0.25  # tokens: a long item is taken a little before a short one, because that saves more
LEFT_OUT = 50.0  # times what a lower level costs: not even the values of an item that is left out can be read

_READS = frozenset((Purpose.READ, Purpose.SHOW))
FILE_TEXT = _READS | {Purpose.CHANGE, Purpose.WRITE}
_IN_USE = 4  # units: a file is being worked on until so many have come since it was last changed,
_TO_EDIT = 8  # or so many since it was last read: what was read is often edited later


def is_output(timeline: Timeline, row: int) -> bool:
    """Whether an item is a result other than the text of a file: an edit needs exact lines, so that is not paged."""
    return timeline.kind[row] == _RESULT and timeline.purpose[row] not in FILE_TEXT


class Worth:
    """The worth of the items of these units at a sweep."""

    def __init__(self, view: View, units: list[int], superseded: Collection[int]) -> None:
        self._view, self._timeline, self._superseded = view, view.timeline, superseded
        self.mentions: Mapping[int, int] = {}  # row → the latest row that speaks of it
        self._units = units

    def in_working_set(self, row: int) -> bool:
        """Whether an item shows text of a file that is being worked on: changed not long ago, or read to be changed."""
        if not self._shows_file(row):
            return False
        to_edit = self._timeline.purpose[last_use(self._timeline, row, self._view.path)] in _READS
        return self.unused(row) <= (_TO_EDIT if to_edit else _IN_USE)

    def per_token(self, row: int) -> float:
        """What each token costs that a lower level saves. An item that is left out costs `LEFT_OUT` times as much."""
        timeline, state, kind = self._timeline, self._timeline.state[row], self._timeline.kind[row]
        if self._view.never_reduced(row):
            return inf
        worth = _BY_PURPOSE.get(timeline.purpose[row], 1.0) if kind == _RESULT else _BY_KIND[kind]
        age = 1 + self.unused(row) / _SLOWER if kind in USER_KINDS else self.unused(row)
        brief: float = (_TYPICAL / max(1, timeline.full[row])) ** _POWER
        worth *= brief / age
        if (mention := self.mentions.get(row)) is not None:  # up to twice the worth, if the newest item speaks of it
            worth *= 1 + 1 / (1 + (len(timeline) - mention) / _SOON)
        if row in self._superseded:
            worth *= _SUPERSEDED
        if state & OBSOLETE:
            worth *= _OBSOLETE
        return worth * _FAILED if state & FAILED else worth

    def unused(self, row: int) -> int:
        """How many units have come since an item; for the text of a file, since the file was last used."""
        timeline = self._timeline
        age = self._age(timeline.unit[row])
        if not self._shows_file(row):
            return age
        used = last_use(timeline, row, self._view.path)
        return min(age, self._age(timeline.unit[used], age)) if used != row else age

    def _age(self, unit: int, otherwise: int = 0) -> int:
        """How many units there are from this one on: 1 for the newest. `otherwise` if the sweep has no such unit."""
        units = self._units
        at = bisect_left(units, unit)
        return len(units) - at if at < len(units) and units[at] == unit else otherwise

    def _shows_file(self, row: int) -> bool:
        """Whether an item shows text of a file that no newer item shows: a result, or a call that writes it."""
        timeline = self._timeline
        shows = timeline.kind[row] == _RESULT or timeline.purpose[row] not in _READS
        return shows and timeline.purpose[row] in FILE_TEXT and row not in self._superseded
