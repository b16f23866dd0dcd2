"""A round is a question and all that is done to answer it. What was read from files is in full for one round."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from sightline.errors import BadInput
from sightline.log.columns import FILE_READ
from sightline.plan.plan import Plan
from sightline.plan.strategies.sliding import begins_turn, newest
from sightline.plan.view import View, messages_of
from sightline.values.items import Kind, Lod

_READ = "read in an earlier round"


class Rounds(Struct, frozen=True, forbid_unknown_fields=True):
    """Files that were read are gists from the next question on; everything else is in full while it fits.

    When a question finds more than `messages`, itself, system items and windows among them, only the newest `keep` of
    the others stay, and what the laws keep. Whatever is over the budget gives way as in the sliding window. What is out
    stays out.
    """

    name = "rounds"
    messages: Annotated[int, Meta(ge=1, description="messages beyond which a question leaves the older ones out")] = 20
    keep: Annotated[int, Meta(ge=1, description="newest messages that stay then, with the results of their calls")] = 5

    def __post_init__(self) -> None:
        if self.keep > self.messages:
            raise BadInput(f"keep must not be more than messages; got {self.keep} and {self.messages}")

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`. Only a question changes what is shown, if it fits: once, before its first call."""
        asks = any(begins_turn(view.timeline, unit) for unit in view.new)
        if not asks and not view.command and view.last is not None and _fits(view, {}):
            return Plan.extended(view, {}, {})
        first = _round(view)
        units = self._kept(view, first) if asks else view.candidates()
        gists, unseen = _gists(view, units, first), set(view.new)
        new = {row: lod for row, lod in gists.items() if view.timeline.unit[row] in unseen}
        if not view.command and _unchanged(view, units, gists) and _fits(view, new):
            return Plan.extended(view, new, dict.fromkeys(new, _READ))
        return _swept(view, units, gists, view.command or ("sweep: rounds" if asks else "sweep: window"))

    def _kept(self, view: View, first: int) -> list[int]:
        """What a question finds, or, of too many messages, the newest. The round itself is never cut."""
        units, timeline = view.candidates(), view.timeline
        if not view.trims or _around(view) + sum(messages_of(timeline, unit) for unit in units) <= self.messages:
            return units
        staying = (
            view.required() | {unit for unit in units if timeline.unit_kind(unit) is Kind.SUMMARY} | set(view.back)
        )
        count, start = 0, first
        for unit in reversed(units):
            if count >= self.keep:
                break
            if timeline.unit_kind(unit) not in (Kind.SYSTEM, Kind.SUMMARY, Kind.RECALL):
                count, start = count + messages_of(timeline, unit), min(start, unit)
        return [unit for unit in units if unit >= start or unit in staying]


def _around(view: View) -> int:
    """Messages that stand around the units: the system items of the head, and the open windows."""
    timeline, path = view.timeline, view.path
    windows = [window for window in timeline.windows if timeline.references(window, path)]
    return len(timeline.head_rows(path)) + len(windows)


def _swept(view: View, units: list[int], gists: dict[int, Lod], reason: str) -> Plan:
    tokens = view.fixed + view.notices.room + view.full_tokens(units) - view.saved(gists)
    if tokens <= view.limit:
        return Plan.swept(view, units, gists, dict.fromkeys(gists, _READ), reason=reason)
    return newest(view, units, reason, most=gists)


def _round(view: View) -> int:
    """The unit with which the round began: the last thing that the user said; -1 before that."""
    timeline, path = view.timeline, view.path
    for unit in range(len(timeline.unit_row) - 1, -1, -1):
        row = timeline.unit_row[unit]
        if begins_turn(timeline, unit) and path.holds(timeline.branch[row], row):
            return unit
    return -1


def _gists(view: View, units: Sequence[int], first: int) -> dict[int, Lod]:
    """The files that were read in earlier rounds, each at the lowest level it has, unless somebody wants more of it."""
    timeline, lods = view.timeline, dict[int, Lod]()
    for unit in units:
        for row in timeline.rows_of(unit) if unit < first else ():
            if timeline.kind[row] != Kind.RESULT or not timeline.state[row] & FILE_READ or view.never_reduced(row):
                continue
            lod = timeline.level(row, view.wanted.get(row, Lod.GIST))
            if lod is not Lod.FULL:
                lods[row] = lod
    return lods


def _unchanged(view: View, units: Sequence[int], gists: dict[int, Lod]) -> bool:
    """Whether all that is shown stays as it is."""
    last = view.last
    if last is None:
        return len(units) == len(view.new)
    if view.back or view.summary_waits or len(units) != len(last) + len(view.new):
        return False
    return all(last.lod(row) == lod for row, lod in gists.items() if view.timeline.unit[row] in last)


def _fits(view: View, lods: dict[int, Lod]) -> bool:
    """Whether what was shown so far and all that is new, at these levels, is within the limit."""
    body = view.last.body if view.last else 0
    return view.fixed + body + view.full_tokens(view.new) - view.saved(lods) <= view.limit
