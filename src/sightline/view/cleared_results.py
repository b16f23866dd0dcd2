"""Results that an agent took out of its own prompts: its log has them, and the model did not see them any more.

Claude Code replaces old results by a line when they are many, and so does its provider. Few logs say so. Of the others
the provider's count tells it: from one call to the next it grows by what was said in between, so a call whose count
falls, or grows by clearly less, had something taken out. The oldest results are the first to go, and the newest stay.
What the results of the log do not explain, such as tools that the agent offers no more, is said without naming any.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from operator import attrgetter, itemgetter
from typing import NamedTuple

from msgspec import Struct

from sightline.log import Journal, entries
from sightline.log.annotations import CLEARED, NO_TOOLS, ToolsNote
from sightline.log.stores import Span
from sightline.values.decoders import json_decoder
from sightline.values.items import Kind, Usage
from sightline.view.ledger import KINDS, CallSums, Ledger

_LEAST = 1_000  # tokens: less may be missing because counts differ
_SHARE = 0.25  # of what was said in between: so much fewer tokens a provider may count for it than we do
_THINKING = 1.5  # tokens that a provider may take off for one of thinking, which it does not count in later turns
_FACTORS = (1.0, 3.0)  # tokens that a provider counts for one of ours,
_GROWN = 5_000  # found from the growth of a prompt, if it is at least this
_STAY = 3  # the newest results, which agents and providers keep
_LINE = 10  # tokens of the line in the place of a result
_EXPLAINED = 0.7  # of what is missing: if the results have less, something else is gone too
_BACK = 0.7  # of what was missing: if so much is back, the call before was another kind of prompt
_MOST_BACK = 3  # times, after which the counts of this log are not of one growing prompt
_THINKING_AT, _USER_AT = KINDS.index("thinking"), KINDS.index("user")


class Clearing(NamedTuple):
    """What was taken out of the prompt before a call."""

    number: int  # of the first call without it
    rows: tuple[int, ...]  # the results; none: they do not explain what is missing
    tokens: int  # that the provider counted fewer; of what the log names, as we count them
    is_logged: bool  # the log itself says it
    end: int = 0  # the number of the first call of which this does not hold any more; 0: none

    @property
    def reason(self) -> str:
        """How it is known."""
        return "logged" if self.is_logged else "counted" if self.rows else "unexplained"

    def holds(self, number: int) -> bool:
        """Whether it was missing in this call."""
        return self.number <= number and not 0 < self.end <= number


class Cleared(NamedTuple):
    """How many results of the log were missing in a call, and their tokens as we count them."""

    results: int = 0
    tokens: int = 0


class _Said(Struct):
    """What a reply says of its call: the little that is read of so many."""

    model: str = ""
    usage: Usage | None = None


class _Reply(Struct):
    message: _Said | None = None


_decoder = json_decoder(_Reply)


class _Counted(NamedTuple):
    """A call as the provider and as we count it."""

    model: str
    reported: int
    cached: int
    total: int
    thinking: int
    user: int

    @property
    def unlogged(self) -> int:
        """The tokens that the provider counted and we did not."""
        return self.reported - self.total


class Clearings:
    """Finds what an agent cleared, call by call, and has the ledger leave it out."""

    def __init__(self, journal: Journal, ledger: Ledger) -> None:
        self.made: list[Clearing] = []
        self._journal, self._ledger = journal, ledger
        self._said: dict[int, _Said] = {}  # of the replies that come next
        self._first: _Counted | None = None  # the call since which prompts have only grown,
        self._last: _Counted | None = None  # and the last one
        self._thinking = 0  # tokens of it when the turn began
        self._open = 0  # the first clearing that may hold
        self._marks_read = self._next_row = self._times_back = 0
        self._sums: list[tuple[int, Cleared]] = [(0, Cleared())]  # from which call on so much was missing

    def rows_at(self, call: int) -> dict[int, Clearing]:
        """Return the results that were missing in a call, each with when it was taken out."""
        return {row: clearing for clearing in self.made if clearing.holds(call) for row in clearing.rows}

    def sum_at(self, call: int) -> Cleared:
        """Return how much was missing in a call."""
        return self._sums[bisect_right(self._sums, call, key=itemgetter(0)) - 1][1]

    def begun_at(self, call: int) -> list[Clearing]:
        """Return what was cleared right before a call."""
        first = bisect_left(self.made, call, key=attrgetter("number"))
        return [clearing for clearing in self.made[first : first + 2] if clearing.number == call]

    def read(self, replies: Iterable[int]) -> None:
        """Read from the log what the provider counted of the calls that come next."""
        timeline = self._journal.timeline
        rows = [*replies]
        lines = self._journal.store.read_many([Span(timeline.offset[row], timeline.length[row]) for row in rows])
        self._said = {}
        for row, line in zip(rows, lines, strict=True):
            with suppress(*entries.UNREADABLE):  # who asks for it is told
                self._said[row] = _decoder.decode(line).message or _Said()

    def begin_anew(self, call: int) -> None:
        """Compare no later call with those so far: a compaction, or Sightline, has changed the prompt."""
        self._first = self._last = None
        self._end(call, [at for at in range(self._open, len(self.made)) if not self.made[at].end])
        self._open = len(self.made)

    def look_at(self, call: int, reply: int, sums: CallSums) -> CallSums:
        """Return what a call that was not composed had in its context: without what had been cleared."""
        times = len(self._sums)
        if sums.compactions:
            self.begin_anew(call)
        if rows := self._logged(reply):
            self._begin(Clearing(call, rows, self._tokens(rows), is_logged=True))
        if len(self._sums) > times:
            sums = self._ledger.as_it_is(sums)
        if (counted := self._counted(reply, sums)) is None:
            return sums
        times = len(self._sums)
        self._compare(call, counted)
        if len(self._sums) > times:
            sums = self._ledger.as_it_is(sums)
            counted = self._counted(reply, sums) or counted
        if self._last is None or self._last.user != counted.user:
            self._thinking = counted.thinking
        self._last = counted
        return sums

    # ------------------------------------------------------------------ private

    def _compare(self, call: int, counted: _Counted) -> None:
        """Find what a call lacks, or has again, of what the one before had."""
        last = self._last
        if last is None or last.model != counted.model:
            self._first = counted
            return
        missing, grown = last.unlogged - counted.unlogged, max(counted.total - last.total, 0)
        if missing > self._slack(last, counted):
            if counted.cached < last.reported - missing / 2:  # else all of the prompt before is still there
                self._explain(call, missing)
        elif self.made:
            self._put_back(call, -missing - (self._factor() - 1 + _SHARE) * grown)

    def _counted(self, reply: int, sums: CallSums) -> _Counted | None:
        """Return a call as the provider counted it; None if it did not."""
        said = self._said.get(reply)
        if said is None or said.usage is None or not said.usage.input_tokens:
            return None
        shown, total = sums.shown, sum(sums.shown) + self._tools(self._journal.timeline.offset[reply])
        counts = (said.usage.input_tokens, said.usage.cached_tokens, total, shown[_THINKING_AT], shown[_USER_AT])
        return _Counted(said.model, *counts)

    def _tools(self, offset: int) -> int:
        journal, tools = self._journal, self._journal.timeline.tools
        note = journal.reader.in_force(tools, journal.path, ToolsNote, offset) if tools else None
        return (note or NO_TOOLS).tokens

    def _slack(self, last: _Counted, counted: _Counted) -> float:
        """Return how many tokens may be missing though nothing was cleared."""
        dropped = max(last.thinking - self._thinking, 0) if counted.user != last.user else 0
        return _LEAST + _SHARE * max(counted.total - last.total, 0) + _THINKING * dropped

    def _factor(self) -> float:
        """Return how many tokens the provider counts for one of ours."""
        assert self._first is not None
        assert self._last is not None
        grown = self._last.total - self._first.total
        factor = (self._last.reported - self._first.reported) / grown if grown >= _GROWN else 1.0
        return min(max(factor, _FACTORS[0]), _FACTORS[1])

    def _explain(self, call: int, missing: int) -> None:
        """Find the results that were cleared: the oldest, by the amount that is missing."""
        if self._times_back < _MOST_BACK:
            self._begin(Clearing(call, self._oldest(missing / self._factor()), missing, is_logged=False))

    def _put_back(self, call: int, more: float) -> None:
        """Show again what a prompt of another kind seemed to lack, if as much as that is back."""
        if not self.made or (last := self.made[-1]).is_logged or last.end or more < _BACK * last.tokens:
            return
        self._times_back += 1
        self._end(call, [len(self.made) - 1])

    def _begin(self, clearing: Clearing) -> None:
        self.made.append(clearing)
        self._ledger.clear(clearing.rows)
        self._add(clearing.number, len(clearing.rows), self._tokens(clearing.rows))

    def _end(self, call: int, places: Sequence[int]) -> None:
        """Have these clearings end before a call."""
        for place in places:
            clearing = self.made[place]
            self.made[place] = clearing._replace(end=call)
            self._ledger.put_back(clearing.rows)
            self._next_row = min((*clearing.rows, self._next_row))
            self._add(call, -len(clearing.rows), -self._tokens(clearing.rows))

    def _add(self, call: int, results: int, tokens: int) -> None:
        before = self._sums[-1][1]
        self._sums.append((call, Cleared(before.results + results, before.tokens + tokens)))

    def _logged(self, reply: int) -> tuple[int, ...]:
        """Return the results that the log names as cleared before this reply, and has not named before."""
        timeline = self._journal.timeline
        if len(timeline.marks) == self._marks_read:
            return ()
        before = [mark for mark in timeline.marks[self._marks_read :] if mark.offset < timeline.offset[reply]]
        self._marks_read += len(before)
        path, is_shown = self._journal.path, self._ledger.shows
        rows = (mark.row for mark in before if mark.what == CLEARED and path.knows(mark) and is_shown(mark.row))
        return tuple(dict.fromkeys(rows))

    def _oldest(self, tokens: float) -> tuple[int, ...]:
        """Return the oldest results that together have so many tokens; none if they have not."""
        results, left, stop = [*self._results(tokens)], tokens, self._next_row
        rows: list[int] = []
        for row in results[:-_STAY]:
            size = self._tokens((row,)) - _LINE
            if size / 2 > left:
                break
            stop = row + 1
            if size > 0:
                rows.append(row)
                left -= size
        if left > (1 - _EXPLAINED) * tokens:
            return ()
        self._next_row = stop
        return tuple(rows)

    def _results(self, tokens: float) -> Iterator[int]:
        """Yield the results that are shown, oldest first: those of so many tokens, and a few more."""
        timeline, path, kinds = self._journal.timeline, self._journal.path, self._journal.timeline.kind.tobytes()
        more, row, end = 2 * _STAY, self._next_row - 1, self._ledger.rows
        while more and (row := kinds.find(Kind.RESULT, row + 1, end)) >= 0:
            if path.holds(timeline.branch[row], row) and self._ledger.shows(row):
                tokens -= self._tokens((row,))
                more -= tokens < 0
                yield row

    def _tokens(self, rows: Iterable[int]) -> int:
        return sum(size for row in rows for _, size in self._ledger.parts(row))
