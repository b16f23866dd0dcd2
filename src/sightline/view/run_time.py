"""Where the time of a run went: its model calls, its tool calls, and its waiting for the user, each from when to when.

All times are those of the log's columns, so that no text is read to find the longest call of a long session.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

from msgspec import Struct

from sightline.log import FAILED, NONE, UNASKED, Journal
from sightline.session.session import Session
from sightline.values.items import Kind, plain_text
from sightline.view.messages import Messages, messages_of
from sightline.view.row_filter import EVERY, RowFilter, row_test
from sightline.view.tool_calls import subject_at, tool_calls

_FASTEST = 50  # milliseconds: what was answered sooner has the times at which an import wrote it
_BEGINNING = 200  # characters of what a user said
_MOST_ORDERS = 4  # of a session that are kept
_MODEL, _TOOL, _USER = int(Kind.ASSISTANT), int(Kind.CALL), int(Kind.USER)

StepKind = Literal["model", "tool", "user"]
_STEPS: dict[int, StepKind] = {_MODEL: "model", _TOOL: "tool", _USER: "user"}


class TimeStep(Struct, frozen=True):
    """A model call, a tool call, or a wait for the user. `seconds` is null where the log has no times for it."""

    id: str  # the item: an answer, a call, or what the user said
    kind: StepKind
    name: str  # the model or the tool
    about: str  # the file or command of a tool call; the beginning of what the user said
    began: float | None  # in seconds since 1970
    seconds: float | None
    error: bool  # the tool failed
    open: bool  # the log has no result of the tool call


class TimeSums(Struct, frozen=True):
    """Seconds of a whole branch. Tool calls that one answer made count together: from the answer to the last result."""

    model: float
    tools: float
    user: float
    calls: int  # of models and tools
    timed: int  # of them, those that the log has times for
    length: float  # of the run: from the first message to the last message or result
    rest: float  # of the length, what is none of the three: commands that were typed, an agent's own compactions


class TimePage(Struct, frozen=True):
    """Some steps of a branch. `longest`: how long the longest of all these steps took, if they are sorted by that."""

    steps: list[TimeStep]
    total: int
    next: int | None
    sums: TimeSums
    longest: float | None


class Stretch(NamedTuple):
    """From when to when something took place, in milliseconds since 1970; -1: the log does not say it."""

    began: int
    ended: int

    @property
    def length(self) -> int:
        """Its milliseconds; -1: they are not known."""
        return self.ended - self.began if NONE < self.began <= self.ended else NONE


_UNKNOWN = Stretch(NONE, NONE)


def answer_time(journal: Journal, row: int) -> Stretch:
    """Return from when to when an answer was waited for: since its request, or where the log has none since what stands
    before it. What an agent wrote itself was not waited for."""
    timeline = journal.timeline
    if timeline.state[row] & UNASKED:
        return _UNKNOWN
    sent = _request(journal, row)
    if sent == NONE and (before := next(_rows_before(journal, row), NONE)) != NONE:
        sent = timeline.time[before]
    stretch = Stretch(sent, timeline.time[row])
    return stretch if stretch.length >= _FASTEST else _UNKNOWN


def answer_seconds(journal: Journal, row: int) -> float | None:
    """Return how long an answer took, if the log says it."""
    return _seconds(answer_time(journal, row).length)


def _request(journal: Journal, row: int) -> int:
    """Return when the request was composed that this answer is to; -1: it was not composed."""
    timeline = journal.timeline
    last = bisect_left(timeline.receipt_offset, timeline.offset[row]) - 1
    if last < 0:
        return NONE
    before = next((each for each in _rows_before(journal, row) if timeline.kind[each] == _MODEL), NONE)
    earliest = timeline.offset[before] if before != NONE else NONE
    first = bisect_left(timeline.receipt_offset, earliest)  # those before were answered before
    sent = next(timeline.receipts_on(journal.path, range(last, first - 1, -1)), NONE)
    return timeline.receipt_time[sent] if sent != NONE else NONE


def _rows_before(journal: Journal, row: int) -> Iterator[int]:
    """Yield the rows of the branch before this one, the last first."""
    return journal.timeline.rows_on(journal.path, range(row - 1, -1, -1))


def _user_time(journal: Journal, row: int) -> Stretch:
    """Return from when to when the user was waited for; only after an answer or a result somebody waits."""
    timeline = journal.timeline
    said = (each for each in _rows_before(journal, row) if not timeline.is_by_program(each))
    before = next((each for each in said if not timeline.state[each] & UNASKED), NONE)
    if before == NONE or timeline.kind[before] not in (_MODEL, _TOOL, Kind.RESULT):
        return _UNKNOWN
    stretch = Stretch(timeline.time[before], timeline.time[row])
    return stretch if stretch.length >= _FASTEST else _UNKNOWN


def _seconds(milliseconds: int) -> float | None:
    return None if milliseconds == NONE else milliseconds / 1000


# ---------------------------------------------------------------------- the steps of a branch


class _Run:
    """The steps of a branch in order, and what they add up to. `update` adds what is new in the log."""

    def __init__(self, journal: Journal, messages: Messages) -> None:
        self._journal, self.messages = journal, messages
        self.rows = array("i")
        self.began = array("q")  # of each step, in milliseconds since 1970
        self.lengths = array("q")  # of each step, in milliseconds; -1: not known
        self._next_message = 0
        self._open: list[int] = []  # places of tool calls that have no result yet
        self._tools: dict[int, int] = {}  # row of an answer → how long its tool calls took together
        self._totals = {_MODEL: 0, _USER: 0, _TOOL: 0}
        self._counts = [0, 0]  # calls, and those whose times are known
        self._first = self._last = NONE  # of the run, in milliseconds since 1970
        self._orders: dict[tuple[bool, RowFilter], tuple[tuple[int, int], Sequence[int]]] = {}

    def update(self) -> None:
        """Add the steps that are new, and the results that have come."""
        timeline, messages = self._journal.timeline, self.messages
        self._open = [place for place in self._open if not self._end(place)]
        for row in messages.rows[self._next_message :]:
            if timeline.kind[row] != Kind.SYSTEM:
                self._extend(timeline.time[row])
            if timeline.kind[row] == _MODEL:
                self._add(row, answer_time(self._journal, row))
                for call in timeline.calls_of(row):
                    self._add(call, _UNKNOWN)
                    if not self._end(len(self.rows) - 1):
                        self._open.append(len(self.rows) - 1)
            elif timeline.is_users_own(row):
                self._add(row, _user_time(self._journal, row))
        self._next_message = len(messages.rows)

    def _extend(self, time: int) -> None:
        """Note when something was written: the run lasts from the first until the last of these times."""
        if time > NONE:
            self._first = time if self._first == NONE else min(self._first, time)
            self._last = max(self._last, time)

    def _add(self, row: int, stretch: Stretch) -> None:
        kind, length = self._journal.timeline.kind[row], stretch.length
        self.rows.append(row)
        self.began.append(stretch.began)
        self.lengths.append(length)
        self._counts[0] += kind != _USER and not self._journal.timeline.state[row] & UNASKED
        if length != NONE:
            self._totals[kind] += length
            self._counts[1] += kind != _USER

    def _end(self, place: int) -> bool:
        """Note when the tool call at this place ended. Whether it has a result."""
        timeline, row = self._journal.timeline, self.rows[place]
        if (result := self.messages.results.get(row)) is None:
            return False
        self._extend(timeline.time[result])
        stretch, answer = Stretch(timeline.time[row], timeline.time[result]), row - timeline.sub[row]
        # Of what an import wrote at once neither the answer nor its tool calls have times of their own.
        is_known = stretch.length >= _FASTEST or self.lengths[place - timeline.sub[row]] != NONE
        if is_known and stretch.length != NONE:
            self.began[place], self.lengths[place] = stretch.began, stretch.length
            longest = max(self._tools.get(answer, 0), stretch.length)
            self._totals[_TOOL] += longest - self._tools.get(answer, 0)
            self._tools[answer] = longest
            self._counts[1] += 1
        return True

    @property
    def sums(self) -> TimeSums:
        """What the steps add up to."""
        model, tools, user = (self._totals[kind] / 1000 for kind in (_MODEL, _TOOL, _USER))
        length = (self._last - self._first) / 1000
        calls, timed = self._counts
        return TimeSums(model, tools, user, calls, timed, length, max(length - model - tools - user, 0.0))

    def places(self, session: Session, wanted: RowFilter, *, longest: bool) -> Sequence[int]:
        """Return the places of the wanted steps, in order or the longest first. Waits for the user are not sorted."""
        if wanted == EVERY and not longest:
            return range(len(self.rows))
        version, key = (len(self.rows), len(self._open)), (longest, wanted)
        known = self._orders.pop(key, None)
        if known is None or known[0] != version:
            places: Sequence[int] = [*self._wanted(session, wanted, longest=longest)]
            if longest:
                places = sorted(places, key=self.lengths.__getitem__, reverse=True)
            known = version, places
        self._orders[key] = known
        if len(self._orders) > _MOST_ORDERS:
            del self._orders[next(iter(self._orders))]
        return known[1]

    def _wanted(self, session: Session, wanted: RowFilter, *, longest: bool) -> Iterator[int]:
        kinds, results = self._journal.timeline.kind, self.messages.results
        step = {name: kind for kind, name in _STEPS.items()}.get(wanted.kind)  # type: ignore[call-overload]
        of_tools = bool(wanted.tool or wanted.path or wanted.errors)
        fits = row_test(session, wanted._replace(kind=""))
        for place, row in enumerate(self.rows):
            kind = kinds[row]
            if (kind == _USER and longest) or (step is not None and kind != step):
                continue
            if not of_tools or (kind == _TOOL and fits(results.get(row, row))):
                yield place


_known: "WeakKeyDictionary[Session, _Run]" = WeakKeyDictionary()


def time_page(
    session: Session, start: int, limit: int, *, longest: bool = False, wanted: RowFilter = EVERY
) -> TimePage:
    """Return steps of a branch, in order or the longest first. Of the log no more is read than is returned."""
    with session._lock:
        messages = messages_of(session)
        run = _known.get(session)
        if run is None or run.messages is not messages:
            run = _known[session] = _Run(session.log, messages)
        run.update()
        places = run.places(session, wanted, longest=longest)
        picked = places[start : start + limit]
        session.log.reader.prefetch(run.rows[place] for place in picked)
        steps = [_step(session, run, place) for place in picked]
        end = start + len(steps)
        most = _seconds(run.lengths[places[0]]) if longest and places else None
        return TimePage(steps, len(places), end if steps and end < len(places) else None, run.sums, most)


def _step(session: Session, run: _Run, place: int) -> TimeStep:
    timeline, reader, row = session.log.timeline, session.log.reader, run.rows[place]
    kind, result = _STEPS[timeline.kind[row]], run.messages.results.get(row)
    name = about = ""
    if kind == "tool":
        name, about = tool_calls(session, whole=False).name(row), subject_at(timeline, row)
    elif kind == "user":
        about = plain_text(reader.item(row).parts)[:_BEGINNING]
    elif (message := reader.entry(row).message) is not None:
        name = message.model
    return TimeStep(
        timeline.id(row),
        kind,
        name,
        about,
        _seconds(run.began[place]),
        _seconds(run.lengths[place]),
        error=result is not None and bool(timeline.state[result] & FAILED),
        open=kind == "tool" and result is None,
    )
