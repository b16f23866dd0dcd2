"""Rounds: a round is a question and all that is done to answer it. A file that was read is in full for one round."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from sightline.errors import BadInput
from sightline.log.columns import FILE_READ, LABELLED, Timeline
from sightline.plan.plan import Plan
from sightline.plan.strategies.sliding import begins_turn, show_newest
from sightline.plan.strategy import Hooks
from sightline.plan.view import View, messages_of
from sightline.values.items import Kind, Lod

_READ = "read in an earlier round"


class Rounds(Hooks, Struct, frozen=True, forbid_unknown_fields=True):
    """Files that were read become gists with the next question; everything else is in full while it fits.

    If there are more than `messages` messages when a question comes, only the newest `keep` stay, the system messages,
    and what every plan must show. The question, system items and windows count as messages too; a note with the system
    role counts only when it comes. If that is over the budget, older units are left out as in the sliding window. What
    is left out does not come back. In a pipe, what is left out is up to the stages after it.
    """

    name = "rounds"
    messages: Annotated[int, Meta(ge=1, description="with more messages, a question leaves the older out")] = 20
    keep: Annotated[int, Meta(ge=1, description="newest messages that stay then, with the results of their calls")] = 5

    def __post_init__(self) -> None:
        if self.keep > self.messages:
            raise BadInput(f"keep must not be more than messages; got {self.keep} and {self.messages}")

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`. If all fits, only a question changes what is shown: once, at its first call."""
        has_question = any(begins_turn(view.timeline, unit) for unit in view.new)
        if not has_question and not view.command and view.last is not None and _fits(view):
            return Plan.extended(view, {}, {})
        first = _round_start(view)
        units = self._select_units(view, first) if has_question and not view.fits_later else view.candidates()
        gists, unseen = _file_gists(view, units, first), set(view.new)
        new = {row: lod for row, lod in gists.items() if view.timeline.unit[row] in unseen}
        if not view.command and _extends_last(view, units, gists) and _fits(view, new):
            return Plan.extended(view, new, dict.fromkeys(new, _READ))
        reason = view.command or ("sweep: rounds" if has_question else "sweep: window")
        tokens = view.fixed + view.notices.preface_limit + view.full_tokens(units) - view.saved(gists)
        if view.fits_later or tokens <= view.limit:
            return Plan.swept(view, units, gists, dict.fromkeys(gists, _READ), reason=reason)
        return show_newest(view, units, reason, most=gists)

    def _select_units(self, view: View, first: int) -> list[int]:
        """All units or, if they are too many messages, the newest. The round that begins at `first` is never cut."""
        units, timeline = view.candidates(), view.timeline
        windows = [window for window in timeline.windows if timeline.references(window, view.path)]
        around = len(timeline.head_rows(view.path)) + len(windows)
        notes = {unit for unit in units if _is_system_note(timeline, unit)}
        counted = (unit for unit in units if unit not in notes or unit in view.new)
        if not view.trims or around + sum(messages_of(timeline, unit) for unit in counted) <= self.messages:
            return units
        summaries = {unit for unit in units if timeline.unit_kind(unit) is Kind.SUMMARY}
        staying = view.required() | summaries | notes | set(view.back)
        count, start = 0, first
        for unit in reversed(units):
            if count >= self.keep:
                break
            if timeline.unit_kind(unit) not in (Kind.SYSTEM, Kind.SUMMARY, Kind.RECALL):
                count, start = count + messages_of(timeline, unit), min(start, unit)
        return [unit for unit in units if unit >= start or unit in staying]


def _is_system_note(timeline: Timeline, unit: int) -> bool:
    """Whether a unit is a system message of the program, at its place in the conversation."""
    row = timeline.unit_row[unit]
    return timeline.kind[row] == Kind.SYSTEM and bool(timeline.state[row] & LABELLED)


def _round_start(view: View) -> int:
    """The unit with which the round began: the last user message; -1 before the first."""
    timeline = view.timeline
    newest_first = (timeline.unit[row] for row in timeline.rows_on(view.path, reversed(timeline.unit_row)))
    return next((unit for unit in newest_first if begins_turn(timeline, unit)), -1)


def _file_gists(view: View, units: Sequence[int], first: int) -> dict[int, Lod]:
    """The files read before unit `first`, each at its lowest level or at the one that somebody asked for."""
    timeline, lods = view.timeline, dict[int, Lod]()
    for unit in units:
        for row in timeline.rows_of(unit) if unit < first else ():
            is_read = timeline.kind[row] == Kind.RESULT and timeline.state[row] & FILE_READ
            lod = timeline.level(row, view.wanted.get(row, Lod.GIST))
            if is_read and lod is not Lod.FULL and not view.never_reduced(row):
                lods[row] = lod
    return lods


def _fits(view: View, lods: dict[int, Lod] | None = None) -> bool:
    """Whether the last plan with the new units added is within the limit, or a later stage makes it so."""
    return view.fits_later or view.tokens_with_new(lods) <= view.limit


def _extends_last(view: View, units: Sequence[int], gists: dict[int, Lod]) -> bool:
    """Whether these units are those of the last plan, at the same levels, and the new ones."""
    if (last := view.last) is None:
        return len(units) == len(view.new)
    if view.last_stage is not None and view.last_stage.reason:
        return False
    if view.back or view.summary_waits or len(units) != len(last) + len(view.new):
        return False
    return all(last.lod(row) == lod for row, lod in gists.items() if view.timeline.unit[row] in last)
