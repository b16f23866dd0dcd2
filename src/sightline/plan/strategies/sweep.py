"""What a sweep takes: one batch of level changes, so that a payload fits again. When to sweep is up to a strategy.

Every sweep makes the provider write all from the first changed item on into its cache again. So one sweep does enough
that the next one is far away. `Sweep.reduce` takes these steps in this order, each only if the body is still too large:

1. Set the levels that somebody asked for (pin, expand, collapse), because the prefix changes anyway.
2. If not even gists of everything fit, leave out the oldest units.
3. Shorten the long items of the units that came since the last sweep to gists. All before them stays in the cache.
4. Lower levels anywhere, FULL to SUMMARY to GIST, the demotions first that lose least worth per token saved.
5. Shorten a question or task that takes more than half of the body's tokens.
6. Leave out whole units, again those first that lose least worth per token. Index lines replace them.
7. Only if the payload is still over the limit: reduce the protected units too (see `_protected_units`).
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from sightline.log.columns import FAILED, OBSOLETE
from sightline.plan.plan import INDEX, MARKER, Plan
from sightline.plan.view import LeftOut, View, body_units, messages_of
from sightline.values.items import Kind, Lod

# An item's worth is the product of the factors below (see `_worth`). They are first guesses that behave well on the
# recorded runs; only their relation to each other matters.
# What losing an item of each kind costs, compared with a tool result. What the user wrote is the task. A summary
# replaces many messages. A recalled piece can go first, because its source remains.
_KIND_WORTH: dict[int, float] = {
    Kind.SYSTEM: inf, Kind.USER: 20.0, Kind.ASSISTANT: 2.0, Kind.CALL: 1.2, Kind.RESULT: 1.0, Kind.WINDOW: 1.0,
    Kind.SUMMARY: 50.0, Kind.RECALL: 0.05,
}  # fmt: skip
_USER_KINDS = frozenset(kind for kind, worth in _KIND_WORTH.items() if worth >= _KIND_WORTH[Kind.USER])
_HALF_LIFE = 10  # an item is worth half as much after so many newer units; a mention counts half after so many rows
_SUPERSEDED = 0.2  # a newer result is about the same file, command or URL
_OBSOLETE = 0.05  # its window is closed
_FAILED = 1.5  # an error, which the model should not run into again
_LEVEL_SHARE = {Lod.FULL: 1.0, Lod.SUMMARY: 0.65, Lod.GIST: 0.3}  # how much of its worth an item has at a level

_USER_SHARE = 0.4  # of the tokens to reach: the user's messages get so much even if other units are newer
_FAULT_UNITS = 30  # what was fetched again stays protected until so many newer units have come,
_FAULT_SHARE = 0.25  # in up to this share of the body's tokens
# Where between target (0) and trigger (1) a sweep begins to leave units out, and how far it goes then. The two are far
# apart, because the index lines for left-out units stand first: each time they change, all after them is written again.
_LEAVE_OUT_ABOVE, _LEAVE_OUT_TO = 0.67, 0.35


def first_unshortened(plan: Plan | None, keep: int) -> int:
    """The index in a plan of the first unit that no sweep may have shortened yet.

    The last sweep has kept its newest units as they were: `keep` of them, or one more if a question came last then.
    """
    return max(0, plan.swept_count - keep - 1) if plan else 0


class _Step(NamedTuple):
    """One possible demotion. Steps sort by the worth lost per token saved; of equal ones the later item comes first."""

    worth_per_token: float
    stage: int  # keeps the steps of one item in order: SUMMARY, GIST, left out
    minus_row: int
    unit: int
    to: Lod | None  # None: the unit is left out
    saved_tokens: int


class Sweep:
    """One sweep over the units of a view. Call `reduce` or `shorten_recent`, once.

    `lods` are the levels at which the new units would appear, `why` the reasons for them. `keep` is how many of the
    newest units are protected.
    """

    def __init__(self, view: View, lods: dict[int, Lod], why: dict[int, str]) -> None:
        last, unit = view.last, view.timeline.unit
        self.view, self.timeline = view, view.timeline
        self.units = view.candidates()
        self.unit_set = set(self.units)
        known = (last.levels() if last else {}) | lods
        self.lods = {row: lod for row, lod in known.items() if unit[row] in self.unit_set}
        self.why = dict(last.why if last else {}) | why
        self.body = view.full_tokens(self.units) - view.saved(self.lods)  # tokens, with the changes made so far
        self.out: set[int] = set()  # units that are left out
        self.task = next((unit for unit in self.units if self._is_by_user(unit)), -1)  # the user's first message
        self.summaries = [unit for each in view.compactions for unit in each.summaries]

    def shorten_recent(self, keep: int, reason: str) -> Plan:
        """Shorten the units that came since the last sweep. All before them stays as it is, and in the cache."""
        self._set_wanted_levels()
        self._shorten_recent(keep, self._protected_units(keep))
        return self._plan(reason)

    def reduce(self, keep: int, reason: str) -> Plan:
        """Reduce the body as far as its budget demands, in the steps that the module lists.

        Raises:
            PinnedOverflow: the items that may not be reduced are larger than the limit.
        """
        view, limit = self.view, self.view.body_limit
        notices = MARKER + view.notices.preface_limit
        last_index = int(INDEX * limit) if view.last and view.last.left_out else 0
        target, trigger = view.budget.target * limit - notices, view.budget.trigger * limit - notices
        leave_out_above = target + _LEAVE_OUT_ABOVE * (trigger - target) - last_index
        leave_out_to = int(target + _LEAVE_OUT_TO * (trigger - target)) - int(INDEX * limit)
        protected = self._protected_units(keep)
        self._set_wanted_levels()
        if view.trims and sum(map(view.least_tokens, self.units)) > leave_out_above:
            self._leave_out_oldest(leave_out_to, protected)
        self._shorten_recent(keep, protected)
        if self.body > leave_out_above:
            self._take_steps(int(target), self.units, protected, leave_out=False)
        if self.body > leave_out_above:
            self._shorten_question(limit // 2)
        if self.body > leave_out_above:
            self._take_steps(leave_out_to, self.units, protected)
        # The protected units: the newest after the others, and last the question, which is never left out.
        most, asked, newest = limit - notices, view.asked, self.units[-1:]
        self._take_steps(most, sorted(protected - {asked, *newest}))
        self._take_steps(most, [unit for unit in newest if unit in protected and unit != asked])
        self._take_steps(most, [unit for unit in self.units if unit == asked], leave_out=False)
        return self._plan(reason)

    def _protected_units(self, keep: int) -> set[int]:
        """The units that are reduced only if the limit demands it.

        They are the newest, the question, the task, what was fetched again, and summaries, which are short already.
        With `keep` 0 only the question and the summaries are protected.
        """
        newest = {*self.units[-keep:], self.task, *self._units_fetched_again()} - {-1} if keep else set()
        return newest | {self.view.asked, *self.summaries}

    def _units_fetched_again(self) -> set[int]:
        """Recent units that the agent fetched again after a sweep had shortened them: it may need them a third time.

        The newest come first, up to a share of the body's tokens. A superseded one does not count.
        """
        timeline, unit = self.timeline, self.timeline.unit
        first = self.units[-1] - _FAULT_UNITS if self.units else 0
        free = _FAULT_SHARE * self.view.body_limit
        found: set[int] = set()
        for row in sorted({*timeline.faults[-_FAULT_UNITS:], *self.view.faults}, reverse=True):
            if unit[row] >= first and unit[row] in self.unit_set and not timeline.superseded(row):
                free -= timeline.unit_full[unit[row]]
                if free < 0:
                    break
                found.add(unit[row])
        return found

    def _set_level(self, row: int, lod: Lod, why: str = "swept") -> None:
        self.body += self.timeline.size(row, lod) - self.timeline.size(row, self.lods.get(row, Lod.FULL))
        self.lods[row], self.why[row] = lod, why

    def _set_wanted_levels(self) -> None:
        """Raise or lower the items that somebody asked for."""
        for row, wanted in self.view.wanted.items():
            now, lod, unit = self.lods.get(row, Lod.FULL), self.timeline.level(row, wanted), self.timeline.unit[row]
            if unit in self.unit_set and (lod >= now or lod in self._lower_levels(row, now)):
                self._set_level(row, lod, "asked for")

    def _leave_out_oldest(self, target: int, protected: set[int]) -> None:
        """Leave out, from the oldest on, the units that would not fit even if everything were a gist.

        The user's messages have a share of their own. The task always stays. This is done before the worth of single
        items is computed, because otherwise a sweep would do that for all of a long history that was never shown.
        """
        least_tokens = self.view.least_tokens
        stay = self.view.must_show & self.unit_set | protected | {self.task}
        free = target - sum(least_tokens(unit) for unit in stay if unit >= 0)
        free_for_user = target * _USER_SHARE
        for unit in reversed(self.units):
            if unit in stay:
                continue
            tokens = least_tokens(unit)
            if self._is_by_user(unit) and free_for_user >= tokens:
                free_for_user -= tokens
            elif free < tokens:
                self.out.add(unit)
                free = 0  # nothing older takes its place, unless it is the user's
                continue
            free -= tokens
        shorter = {row: lod for row, lod in self.lods.items() if self.timeline.unit[row] in self.out}
        self.body -= self.view.full_tokens(self.out) - self.view.saved(shorter)

    def _is_by_user(self, unit: int) -> bool:
        """Whether a unit is a message of the user, or as valuable: a system item or a summary."""
        return self.timeline.kind[self.timeline.unit_row[unit]] in _USER_KINDS

    def _shorten_recent(self, keep: int, protected: set[int]) -> None:
        """Shorten what no sweep has shortened yet: straight to gists, so that it is written again only once."""
        timeline = self.timeline
        for unit in self.units[first_unshortened(self.view.last, keep) :]:
            if unit in protected or unit in self.out:
                continue
            for row in timeline.rows_of(unit):
                now = self.lods.get(row, Lod.FULL)
                lower = self._lower_levels(row, now)
                saved = timeline.size(row, now) - timeline.size(row, lower[-1]) if lower else 0
                if self.view.is_worth_shortening(row, saved):
                    self._set_level(row, lower[-1])

    def _shorten_question(self, most: int) -> None:
        """Lower the question and the task by one level if they take more than this. Nothing else is left out before.

        They may take more while the tokens are free (see `Focus`).
        """
        for unit in sorted({self.view.asked, self.task}.intersection(self.units)):
            if self.view.unit_tokens(unit, self.lods) <= most:
                continue
            for row in self.timeline.rows_of(unit):
                if lower := self._lower_levels(row, self.lods.get(row, Lod.FULL)):
                    self._set_level(row, lower[0])

    def _take_steps(
        self, target: int, units: Sequence[int], protected: Iterable[int] = (), *, leave_out: bool = True
    ) -> None:
        """Take the demotions that lose least worth per token saved, until the body has at most `target` tokens."""
        if self.body <= target:
            return
        steps: list[_Step] = []
        for age, unit in enumerate(reversed(units)):
            if unit not in protected and unit not in self.out:
                self._add_steps(steps, unit, age, leave_out)
        for step in sorted(steps):
            if self.body <= target:
                break
            if step.to is None:
                self.out.add(step.unit)
                self.body -= step.saved_tokens
            else:
                self._set_level(-step.minus_row, step.to)

    def _add_steps(self, steps: list[_Step], unit: int, age: int, leave_out: bool) -> None:
        """Add the steps down of each item of a unit, and after them the step that leaves the unit out."""
        timeline = self.timeline
        highest = worth_left = 0.0
        tokens_left = self.view.framing(unit)
        rows = timeline.rows_of(unit)
        for row in rows:
            worth = self._worth(row, age)
            lod = self.lods.get(row, Lod.FULL)
            lost, size = 0.0, timeline.size(row, lod)
            for to in self._lower_levels(row, lod):
                saved = size - timeline.size(row, to)
                # A later step never counts as cheaper than an earlier one of the same item: so they stay in order.
                lost = max(lost, worth * (_LEVEL_SHARE[lod] - _LEVEL_SHARE[to]) / saved)
                steps.append(_Step(lost, 1 - to, -row, unit, to, saved))
                lod, size = to, size - saved
            highest = max(highest, lost)
            worth_left += worth * _LEVEL_SHARE[lod]
            tokens_left += size
        if leave_out and worth_left < inf and self.view.trims:
            steps.append(_Step(max(highest, worth_left / tokens_left), 2, -rows[0], unit, None, tokens_left))

    def _lower_levels(self, row: int, lod: Lod) -> Sequence[Lod]:
        """The levels below this one that an item has and may be shown at, the richest first."""
        if not self.view.may_shorten(row):
            return ()
        sizes = ((Lod.SUMMARY, self.timeline.summary[row]), (Lod.GIST, self.timeline.gist[row]))
        return [level for level, tokens in sizes if tokens >= 0 and level < lod]

    def _worth(self, row: int, age: int) -> float:
        """What losing an item would cost: kind × recency × mentioned since × superseded × obsolete × failed."""
        timeline, state = self.timeline, self.timeline.state[row]
        if row in self.view.pinned:
            return inf
        worth = _KIND_WORTH[timeline.kind[row]] / (1 + age / _HALF_LIFE)
        mention = timeline.mention[row]
        if mention >= 0:  # up to twice the worth, if the newest item names something that this one names
            worth *= 1 + 1 / (1 + (len(timeline) - mention) / _HALF_LIFE)
        if timeline.superseded(row):
            worth *= _SUPERSEDED
        if state & OBSOLETE:
            worth *= _OBSOLETE
        return worth * _FAILED if state & FAILED else worth

    def _plan(self, reason: str) -> Plan:
        units = [unit for unit in self.units if unit not in self.out]
        lods = {row: lod for row, lod in self.lods.items() if self.timeline.unit[row] not in self.out}
        why = {row: reason for row, reason in self.why.items() if row in lods}
        return Plan.swept(self.view, units, lods, why, reason=reason, left_out=self._count_left_out())

    def _count_left_out(self) -> LeftOut | None:
        """Count what is left out: what the last plan counted, less what came back, and what this sweep leaves out.

        All is counted again only if a summary appears or ends, because that looks at the whole history.
        """
        view, last = self.view, self.view.last
        if any(unit not in (last or ()) for unit in (*view.back, *self.summaries)):
            pending = {self.timeline.unit[row] for row in self.timeline.open_calls}
            hidden = {*body_units(self.timeline, view.path)} - (self.unit_set - self.out) - pending
            return self._count([unit for unit in hidden if self._is_missed(unit)])
        before = last.left_out if last else None
        if last and before:
            if back := self._count([unit for unit in self.units if unit <= before.last and unit not in last]):
                before = before._replace(messages=before.messages - back.messages, tokens=before.tokens - back.tokens)
            first, end = before.first, before.last
            if before.messages <= 0 or any(each.first <= first and end <= each.last for each in view.compactions):
                before = None  # all came back, or one summary covers it
        now = self._count([unit for unit in self.out if self._is_missed(unit)])
        if before is None or now is None:
            return before or now
        ends = min(before.first, now.first), max(before.last, now.last)
        return LeftOut(before.messages + now.messages, before.tokens + now.tokens, *ends)

    def _count(self, units: Sequence[int]) -> LeftOut | None:
        if not units:
            return None
        return LeftOut(
            messages=sum(messages_of(self.timeline, unit) for unit in units),
            tokens=sum(self.timeline.unit_full[unit] for unit in units),
            first=min(units),
            last=max(units),
        )

    def _is_missed(self, unit: int) -> bool:
        """Whether nothing else shows what a left-out unit says.

        A recalled piece has its source, a covered unit its summary, and an undone summary the units it covered.
        """
        kind = self.timeline.unit_kind(unit)
        if kind is Kind.SUMMARY:
            return unit in self.summaries
        return kind is not Kind.RECALL and not self.view.is_covered(unit)
