"""The sliding window: the newest units that fit. It changes the prompt prefix by design, whenever a unit drops out."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from sightline.log.columns import Timeline
from sightline.plan.plan import Plan
from sightline.plan.strategy import Hooks
from sightline.plan.view import Notices, View, body_unit
from sightline.values.items import Kind, Lod

_DERIVED = (Kind.SUMMARY, Kind.RECALL)  # made from other units, so their age does not decide whether they are shown
_UNWANTED = "not wanted in full"
_QUESTION_PART = 4  # a question of up to a quarter of the limit is shown in full even if newer units need the tokens


ConstraintsShown = Annotated[
    bool, Meta(description="whether the user's constraints that are left out are quoted before the history")
]


class Sliding(Hooks, Struct, frozen=True, forbid_unknown_fields=True):
    """Shows the newest units up to the limit. All older ones are left out; nothing is shortened that fits whole."""

    name = "sliding"
    constraints: ConstraintsShown = True

    def plan(self, view: View) -> Plan:
        view = view if self.constraints else without_constraints(view)
        if not view.command and is_still_right(view):
            return Plan.extended(view, {}, {})
        return show_newest(view, reachable_units(view), view.command or "sweep: window")


def without_constraints(view: View) -> View:
    """The view for a plan that quotes none of the user's constraints before the history."""
    return replace(view, notices=_Unquoting(view.notices))


class _Unquoting(Notices):
    """Other notices without the constraints."""

    def __init__(self, inner: Notices) -> None:
        self.marker, self.locale, self._inner = inner.marker, inner.locale, inner  # type: ignore[method-assign]

    def preface(
        self,
        units: Collection[int],  # noqa: ARG002 - what they show does not matter
        lods: Mapping[int, Lod],  # noqa: ARG002
        says: str,
        most: int | None = None,  # noqa: ARG002
    ) -> tuple[str, int]:
        """See `Notices.preface`."""
        return self._inner.preface((), {}, says, 0)


def is_still_right(view: View, *, by_turn: bool = False) -> bool:
    """Whether the last plan is right with the new units added: they fit, and no unit that is left out would fit now.

    Tokens become free when an app's window closes or the model changes. With `by_turn` only whole turns are shown.
    """
    if view.fits_later:
        return True
    if view.tokens_with_new() > view.limit or (view.last_stage is not None and view.last_stage.reason):
        return False
    if (last := view.last) is None or view.last_stage is not None:  # a stage brings nothing back
        return True
    free = view.limit - view.tokens_with_new() - max(0, view.notices.preface_limit - last.preface_tokens)
    if any(view.saved({row: lod}) <= free for row, lod in last.levels().items() if lod is not Lod.FULL):
        return False
    tokens, new = 0, set(view.new)
    for unit in _newest_first(view):
        if unit in last or unit in new:
            continue
        tokens += view.full_tokens([unit])
        if tokens > free or not by_turn or begins_turn(view.timeline, unit):
            return tokens > free
    return True


def reachable_units(view: View) -> list[int]:
    """The units that a plan of the newest could show. All, if none may be left out.

    They are those that fit from the newest back if all are at their lowest levels, those that must be shown, those
    to show again, summaries and recalled pieces. The rest of a long history is not looked at.
    """
    if not view.trims or view.fits_later or view.last_stage is not None:
        return view.candidates()
    must = view.must_show
    kept = {unit for unit in view.candidates() if unit in must or view.timeline.unit_kind(unit) in _DERIVED}
    kept.update(view.back)
    free = view.body_limit
    for unit in _newest_first(view):
        if free <= 0:
            break
        kept.add(unit)
        free -= view.least_tokens(unit)
    return sorted(kept)


def _newest_first(view: View) -> Iterator[int]:
    """The units of the conversation from the newest back, without pending calls and what summaries cover."""
    timeline = view.timeline
    pending = {timeline.unit[row] for row in timeline.open_calls}
    for row in timeline.rows_on(view.path, reversed(timeline.unit_row)):
        unit = timeline.unit[row]
        is_said = unit not in pending and body_unit(timeline, unit) and timeline.kind[row] != Kind.RECALL
        if is_said and not view.is_covered(unit):
            yield unit


def show_newest(
    view: View,
    units: Sequence[int],
    reason: str,
    *,
    says: str = "",
    by_turn: bool = False,
    most: Mapping[int, Lod] | None = None,
) -> Plan:
    """A sweep that shows the newest of these units, as many as fit without a gap. All older ones are left out.

    Pinned units, the question and summaries get their tokens first. The question, a summary and the newest unit are
    shortened if they would not fit otherwise; every other unit is shown whole or not at all. With `by_turn` the
    oldest turn that is shown begins with its user message. If no unit may be left out, the older ones are shortened
    instead. `most` are the highest levels at which rows are shown, even if more would fit; in a pipe also those of the
    stage before. If a later stage sees to the budget, all of these units are shown.

    Raises:
        PinnedOverflow: the items that may not be reduced are larger than the limit.
    """
    most = most or {}
    if view.fits_later:
        lods = {row: lod for row, lod in most.items() if not view.never_reduced(row)}
        return Plan.swept(view, [*units], lods, dict.fromkeys(lods, _UNWANTED), reason=reason, says=says)
    if view.last_stage is not None:
        most = view.last_stage.levels() | {**most}
    filling = _Filling(view, units, says, most)
    return filling.plan(reason, by_turn) if view.trims else filling.plan_all(reason)


def begins_turn(timeline: Timeline, unit: int) -> bool:
    """Whether a turn begins with this unit: with a user message that is not a tool's late or lost result."""
    row = timeline.unit_row[unit]
    return timeline.is_users_own(row)


class _Filling:
    """Fills the token budget with units, from the newest back."""

    def __init__(self, view: View, units: Sequence[int], says: str, most: Mapping[int, Lod]) -> None:
        self.view, self.says, self.most = view, says, most
        self.timeline, self.lods = view.timeline, dict[int, Lod]()
        pinned = {self.timeline.unit[row] for row in (*self.timeline.systems, *view.pinned)}
        self.shown = pinned.intersection(units) if view.trims else set()
        self.others = [unit for unit in units if unit not in self.shown]
        self.before = view.last.levels() if view.last else {}
        strategy_tokens = view.notices.preface((), {}, says)[1] if says else 0
        self.free = view.body_limit - strategy_tokens - view.notices.preface_limit  # tokens
        for unit in sorted(self.shown):  # other items of a pinned item's unit may be shortened
            lods = self._fitting_levels(unit, self.free, shorten=True)
            self._take_tokens(unit, self._lowest_levels(unit) if lods is None else lods)

    def plan(self, reason: str, by_turn: bool) -> Plan:
        """The pinned units, the summaries, and the newest of the rest."""
        summaries = [unit for unit in self.others if self.timeline.unit_kind(unit) is Kind.SUMMARY]
        history = [unit for unit in self.others if self.timeline.unit_kind(unit) is not Kind.SUMMARY]
        question = self.view.asked if self.view.asked in history else -1
        reserved = self._reserve(question, history[-1] if history else -1)
        self.free -= sum(reserved.values())
        for unit in reversed(summaries):
            if (lods := self._fitting_levels(unit, self.free, shorten=True)) is not None:
                self.shown.add(self._take_tokens(unit, lods))
        chosen = self._choose_newest(history, reserved)
        if question in reserved:
            lods = self._fitting_levels(question, self.free + reserved[question], shorten=True)
            self.shown.add(self._take_tokens(question, self._lowest_levels(question) if lods is None else lods))
        if by_turn:  # without the end of a turn whose beginning is not among them, unless there is nothing else
            starts = (at for at, unit in enumerate(chosen) if unit == question or begins_turn(self.timeline, unit))
            chosen = chosen[next(starts, 0) :]
        self.shown.update(chosen)
        return self._plan(reason)

    def plan_all(self, reason: str) -> Plan:
        """Every unit: from the newest back, each as whole as the older ones at their lowest levels allow."""
        least = {unit: self._lowest_levels(unit) for unit in self.others}
        reserved = {unit: self.view.unit_tokens(unit, lods) for unit, lods in least.items()}
        self.free -= sum(reserved.values())
        for unit in reversed(self.others):
            self.free += reserved[unit]
            lods = self._fitting_levels(unit, self.free, shorten=True)
            self.shown.add(self._take_tokens(unit, least[unit] if lods is None else lods))
        return self._plan(reason)

    def _choose_newest(self, history: Sequence[int], reserved: dict[int, int]) -> list[int]:
        """The newest of these units up to the first that does not fit, in seq order. Uses what is reserved for them."""
        chosen: list[int] = []
        for unit in reversed(history):
            lods = self._fitting_levels(unit, self.free + reserved.get(unit, 0), shorten=unit in reserved)
            if lods is not None:
                self.free += reserved.pop(unit, 0)
                chosen.append(self._take_tokens(unit, lods))
            elif self.timeline.unit_kind(unit) is not Kind.RECALL:  # a recalled piece is skipped: its source remains
                break
        return chosen[::-1]

    def _reserve(self, question: int, last: int) -> dict[int, int]:
        """The tokens that the question and the newest unit need at least, so that no other unit takes them."""
        reserved: dict[int, int] = {}
        if question >= 0:
            whole, least = (
                self.view.unit_tokens(question, {}),
                self.view.unit_tokens(question, self._lowest_levels(question)),
            )
            reserved[question] = whole if whole <= self.view.limit // _QUESTION_PART else least
        if last >= 0 and last != question and self.timeline.unit_kind(last) is not Kind.RECALL:
            least = self.view.unit_tokens(last, self._lowest_levels(last))
            if least <= self.free - sum(reserved.values()):
                reserved[last] = least
        return reserved

    def _take_tokens(self, unit: int, lods: dict[int, Lod]) -> int:
        """Take the tokens of a unit at these levels from those that are free. Returns the unit."""
        self.free -= self.view.unit_tokens(unit, lods)
        self.lods |= lods
        return unit

    def _fitting_levels(self, unit: int, free: int, *, shorten: bool) -> dict[int, Lod] | None:
        """The highest levels at which a unit fits: whole, as in the last plan, or shortened. None if there are none."""
        # An item may have been pinned since the last plan.
        rows = [row for row in self.timeline.rows_of(unit) if not self.view.never_reduced(row)]
        whole = {row: self.most[row] for row in rows if row in self.most}
        as_before = {row: min(self.before[row], whole.get(row, Lod.FULL)) for row in rows if row in self.before}
        choices = [whole, whole | as_before, *(self._shortenings(unit, whole) if shorten else ())]
        return next((lods for lods in choices if self.view.unit_tokens(unit, lods) <= free), None)

    def _shortenings(self, unit: int, lods: dict[int, Lod]) -> list[dict[int, Lod]]:
        """The unit's levels, shortened step by step: its largest items as summaries first, then as gists."""
        steps: list[dict[int, Lod]] = []
        reducible = filter(self.view.may_shorten, self.timeline.rows_of(unit))
        rows = sorted(reducible, key=lambda row: (-self.timeline.full[row], row))
        for wanted in (Lod.SUMMARY, Lod.GIST):
            for row in rows:
                if self.timeline.level(row, wanted) < self.timeline.level(row, lods.get(row, Lod.FULL)):
                    lods = lods | {row: self.timeline.level(row, wanted)}
                    steps.append(lods)
        return steps

    def _lowest_levels(self, unit: int) -> dict[int, Lod]:
        rows = filter(self.view.may_shorten, self.timeline.rows_of(unit))
        return {row: self.timeline.level(row, Lod.GIST) for row in rows}

    def _plan(self, reason: str) -> Plan:
        lods = {row: lod for row, lod in self.lods.items() if self.timeline.unit[row] in self.shown}
        lods = {row: lod for row, lod in lods.items() if lod is not Lod.FULL}
        before = self.view.last_stage.why if self.view.last_stage is not None else {}
        why = {row: before.get(row, _UNWANTED) if row in self.most else "larger than the window" for row in lods}
        return Plan.swept(self.view, sorted(self.shown), lods, why, reason=reason, says=self.says)
