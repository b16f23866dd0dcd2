"""The plain sliding window: the newest units that fit. It breaks the prefix by design."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sightline.log.columns import LABELLED, OPAQUE, ORPHAN, Timeline
from sightline.plan.plan import Plan
from sightline.plan.view import View, body_unit
from sightline.values.items import Kind, Lod

_APART = (Kind.SUMMARY, Kind.RECALL)  # what stands for other units, and is shown or not whatever its age
_QUESTION = 4  # the last user message holds this part of the limit, a quarter, against newer words of others


class Sliding(Struct, frozen=True, forbid_unknown_fields=True):
    """Newest first until the limit; all older ones are out. Nothing is shortened that could be shown whole."""

    name = "sliding"

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`."""
        if not view.command and stands(view):
            return Plan.extended(view, {}, {})
        return newest(view, within_reach(view), view.command or "sweep: window")


def fits(view: View) -> bool:
    """Whether everything shown so far and all that is new is within the limit, in full."""
    return view.fixed + (view.last.body if view.last else 0) + view.full_tokens(view.new) <= view.limit


def stands(view: View, *, by_turn: bool = False) -> bool:
    """Whether the window is still right with what is new: all of that fits, and nothing that is out would fit now.

    Room comes back when a live window closes, or the model changes.
    """
    if not fits(view):
        return False
    last = view.last
    if last is None:
        return True
    free = view.limit - view.fixed - last.body - view.full_tokens(view.new)
    free -= max(0, view.notices.room - last.preface_tokens)
    if any(view.saved({row: lod}) <= free for row, lod in last.levels().items() if lod is not Lod.FULL):
        return False
    tokens, new = 0, set(view.new)
    for unit in _back(view):
        if unit in last or unit in new:
            continue
        tokens += view.full_tokens([unit])
        if tokens > free or not by_turn or begins_turn(view.timeline, unit):
            return tokens > free
    return True


def within_reach(view: View) -> list[int]:
    """The units a window could show: those that fit from the newest back, were they all as short as they can be, and
    those that have their place whatever else is shown. All, where none may be left out.
    """
    if not view.trims:
        return view.candidates()
    must = view.must_show
    kept = {unit for unit in view.candidates() if unit in must or view.timeline.unit_kind(unit) in _APART}
    kept.update(view.back)
    room, least = view.limit - view.fixed, view.timeline.unit_least
    for unit in _back(view):
        if room <= 0:
            break
        kept.add(unit)
        room -= least[unit] + view.framing(unit)
    return sorted(kept)


def _back(view: View) -> Iterator[int]:
    """The conversation from the newest unit back: what could be sent, and no summary stands for."""
    timeline, path = view.timeline, view.path
    waiting = {timeline.unit[row] for row in timeline.open_calls}
    for unit in range(len(timeline.unit_row) - 1, -1, -1):
        row = timeline.unit_row[unit]
        if unit in waiting or not path.holds(timeline.branch[row], row) or not body_unit(timeline, unit):
            continue
        covered = any(each.first <= unit <= each.last for each in view.compactions)
        if not covered and timeline.kind[row] not in _APART:
            yield unit


def newest(
    view: View,
    units: Sequence[int],
    reason: str,
    *,
    says: str = "",
    by_turn: bool = False,
    most: Mapping[int, Lod] | None = None,
) -> Plan:
    """A sweep that keeps the newest of these units, as many as fit one after the other; all older ones are out.

    What may not be missing comes first: pinned units, the question, summaries. The question, a summary and the newest
    unit are shortened where they would not fit otherwise; everything else is shown whole or not at all. With `by_turn`
    the oldest turn that is shown begins with its user message. Where no unit may be left out, the older ones are
    shortened instead. `most` are levels above which rows are not shown, however much room there is.

    Raises:
        PinnedOverflow: what may not be reduced is larger than the limit.
    """
    window = _Window(view, units, says, most or {})
    return window.plan(reason, by_turn) if view.trims else window.all(reason)


def begins_turn(timeline: Timeline, unit: int) -> bool:
    """Whether a turn begins here: with what a user said, not with a tool's late or lost result."""
    row = timeline.unit_row[unit]
    return timeline.kind[row] == Kind.USER and not timeline.state[row] & (LABELLED | ORPHAN)


class _Window:
    """Fills the room there is, newest first."""

    def __init__(self, view: View, units: Sequence[int], says: str, most: Mapping[int, Lod]) -> None:
        self.view, self.says, self.most = view, says, most
        self.timeline, self.lods = view.timeline, dict[int, Lod]()
        pinned = {self.timeline.unit[row] for row in (*self.timeline.systems, *view.pinned)}
        self.kept = pinned.intersection(units) if view.trims else set()
        self.others = [unit for unit in units if unit not in self.kept]
        self.before = view.last.levels() if view.last else {}
        said = view.notices.preface((), {}, says)[1] if says else 0
        self.room = view.limit - view.fixed - said - view.notices.room
        for unit in sorted(self.kept):  # what stands beside a pinned item may be shortened
            lods = self._levels(unit, self.room, shorten=True)
            self._take(unit, self._least(unit) if lods is None else lods)

    def plan(self, reason: str, by_turn: bool) -> Plan:
        """The pinned units, the summaries, and the newest of the rest."""
        summaries = [unit for unit in self.others if self.timeline.unit_kind(unit) is Kind.SUMMARY]
        history = [unit for unit in self.others if self.timeline.unit_kind(unit) is not Kind.SUMMARY]
        asked = self.view.asked if self.view.asked in history else -1
        held = self._held(asked, history[-1] if history else -1)
        self.room -= sum(held.values())
        for unit in reversed(summaries):
            if (lods := self._levels(unit, self.room, shorten=True)) is not None:
                self.kept.add(self._take(unit, lods))
        chosen = self._newest(history, held)
        if asked in held:
            lods = self._levels(asked, self.room + held[asked], shorten=True)
            self.kept.add(self._take(asked, self._least(asked) if lods is None else lods))
        self.kept.update(_from_a_turn(self.timeline, chosen, asked) if by_turn else chosen)
        return self._swept(reason)

    def all(self, reason: str) -> Plan:
        """Every unit, the newest as whole as the others leave room for at their lowest levels."""
        least = {unit: self._least(unit) for unit in self.others}
        held = {unit: self._tokens(unit, lods) for unit, lods in least.items()}
        self.room -= sum(held.values())
        for unit in reversed(self.others):
            self.room += held[unit]
            lods = self._levels(unit, self.room, shorten=True)
            self.kept.add(self._take(unit, least[unit] if lods is None else lods))
        return self._swept(reason)

    def _newest(self, history: Sequence[int], held: dict[int, int]) -> list[int]:
        """The newest of these units up to the first that does not fit, in seq order. What was held for them is used."""
        chosen: list[int] = []
        for unit in reversed(history):
            lods = self._levels(unit, self.room + held.get(unit, 0), shorten=unit in held)
            if lods is not None:
                self.room += held.pop(unit, 0)
                chosen.append(self._take(unit, lods))
            elif self.timeline.unit_kind(unit) is not Kind.RECALL:  # what was recalled has its source
                break
        return chosen[::-1]

    def _held(self, asked: int, last: int) -> dict[int, int]:
        """What the question and the newest unit need at least, so that nothing else takes it."""
        held: dict[int, int] = {}
        if asked >= 0:
            whole, least = self._tokens(asked, {}), self._tokens(asked, self._least(asked))
            held[asked] = whole if whole <= self.view.limit // _QUESTION else least
        if last >= 0 and last != asked and self.timeline.unit_kind(last) is not Kind.RECALL:
            least = self._tokens(last, self._least(last))
            if least <= self.room - sum(held.values()):
                held[last] = least
        return held

    def _take(self, unit: int, lods: dict[int, Lod]) -> int:
        """Give a unit the room that it needs at these levels. The unit."""
        self.room -= self._tokens(unit, lods)
        self.lods |= lods
        return unit

    def _levels(self, unit: int, room: int, *, shorten: bool) -> dict[int, Lod] | None:
        """The highest levels at which a unit fits: whole, as shown before, or shortened if it may be. None: at none."""
        rows = [row for row in self.timeline.rows_of(unit) if not self.view.never_reduced(row)]  # pinned since, maybe
        whole = {row: self.most[row] for row in rows if row in self.most}
        as_before = {row: min(self.before[row], whole.get(row, Lod.FULL)) for row in rows if row in self.before}
        choices = [whole, whole | as_before, *(self._shorter(unit, whole) if shorten else ())]
        return next((lods for lods in choices if self._tokens(unit, lods) <= room), None)

    def _shorter(self, unit: int, lods: dict[int, Lod]) -> list[dict[int, Lod]]:
        """The unit shortened step by step: its largest items as summaries, then as gists."""
        steps: list[dict[int, Lod]] = []
        rows = sorted(self._reducible(unit), key=lambda row: (-self.timeline.full[row], row))
        for wanted in (Lod.SUMMARY, Lod.GIST):
            for row in rows:
                if self.timeline.level(row, wanted) < self.timeline.level(row, lods.get(row, Lod.FULL)):
                    lods = lods | {row: self.timeline.level(row, wanted)}
                    steps.append(lods)
        return steps

    def _least(self, unit: int) -> dict[int, Lod]:
        return {row: self.timeline.level(row, Lod.GIST) for row in self._reducible(unit)}

    def _reducible(self, unit: int) -> list[int]:
        """The items that may be shortened: a provider's own blocks come back untouched while their turn is open."""
        rows, state = self.timeline.rows_of(unit), self.timeline.state
        free = [row for row in rows if not self.view.never_reduced(row)]
        return [row for row in free if not (state[row] & OPAQUE and unit > self.view.asked)]

    def _tokens(self, unit: int, lods: dict[int, Lod]) -> int:
        return self.view.unit_tokens(unit, lods)

    def _swept(self, reason: str) -> Plan:
        lods = {row: lod for row, lod in self.lods.items() if self.timeline.unit[row] in self.kept}
        lods = {row: lod for row, lod in lods.items() if lod is not Lod.FULL}
        why = {row: "not wanted in full" if row in self.most else "larger than the window" for row in lods}
        return Plan.swept(self.view, sorted(self.kept), lods, why, reason=reason, says=self.says)


def _from_a_turn(timeline: Timeline, units: list[int], asked: int) -> list[int]:
    """These units without the end of a turn whose beginning is not among them, unless nothing else is."""
    starts = (index for index, unit in enumerate(units) if unit == asked or begins_turn(timeline, unit))
    return units[next(starts, 0) :]
