"""The default: full detail where the model is looking. Levels change rarely, in batches, when it pays or must be."""

from collections.abc import Sequence
from math import inf
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from sightline.log.columns import FAILED, OBSOLETE, OPAQUE, WHOLE
from sightline.plan.budget import Budget
from sightline.plan.plan import INDEX, MARKER, Plan
from sightline.plan.view import LeftOut, View, body_unit, messages_of, oldest
from sightline.values.items import Kind, Lod

# What losing an item of each kind costs, against losing a tool result. The user's own words are the task.
_WORTH: dict[int, float] = {
    Kind.SYSTEM: inf, Kind.USER: 20.0, Kind.ASSISTANT: 2.0, Kind.CALL: 1.2, Kind.RESULT: 1.0, Kind.WINDOW: 1.0,
    Kind.SUMMARY: 50.0, Kind.RECALL: 0.05,
}  # fmt: skip
_LEFT = {Lod.FULL: 1.0, Lod.SUMMARY: 0.65, Lod.GIST: 0.3}  # the share of its worth an item still has at a level
_HALF_LIFE = 10  # units after which an item is worth half
_USER_SHARE = 0.4  # of the target: what the user said holds so much against newer words of others
_WANTED = 0.7  # of the limit, from which on a summary is wanted
_RETAINED = 0.2  # of the messages: the newest are not summarised
_PROTECTED = 30  # units, as long as which a sweep leaves what was fetched again as it is while it can,
_FETCHED = 0.25  # up to this part of the room
_ENTRY = 20  # no more than this part of the room enters in full at once,
_SMALL = 200  # but what has fewer tokens always does: the model has just asked for it
# Between target and trigger: from where on a sweep leaves units out, and down to where. They are far apart, since the
# lines for what is left out stand first: everything after them is written anew.
_TIGHT, _LOOSE = 0.67, 0.35
# How many times its rent counts, what could be shortened having been read since the last sweep, against the price of a
# sweep. More than once, since what is shortened stays so until the end; from 1.5 to 4 replayed runs cost within 5 % of
# each other.
_RENT = 2.0
_ROOMY = 0.25  # of the room: below, nothing is shortened for its price; replayed runs cost the same
_HELD = 1  # unit more than a sweep keeps now may have been kept by the last one, before a question
_COLD = 0.1  # of the body: what a sweep must save when the prefix is written anyway


class Focus(Struct, frozen=True, forbid_unknown_fields=True):
    """entry: a tool result or call larger than this is first shown as its summary, so the cache never holds the rest.
    keep: the newest units, which a sweep leaves as they are while it can. A question keeps what it follows.

    A sweep settles what came since the last one: long items sink to their gists, all before them stays as it is and in
    the provider's cache. It comes when reading them in full has cost as much as the sweep will. Only where gists fill
    the room does a sweep weigh everything, and leave out what is worth least.
    """

    name = "focus"
    entry: Annotated[int, Meta(description="tokens above which a tool result or call first appears as a summary")] = (
        2000
    )
    keep: Annotated[int, Meta(description="newest units that a sweep leaves as they are while it can")] = 1

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`. Between sweeps it touches only new units."""
        lods = self._enter(view)
        why = dict.fromkeys(lods, "large on entry")
        body = (view.last.body if view.last else 0) + view.full_tokens(view.new) - view.saved(lods)
        reason = _moment(view, view.fixed + body)
        keep = self.keep and self.keep + _asks(view)
        if reason:
            return _Sweep(view, lods, why).plan(keep, reason)
        plan = Plan.extended(view, lods, why)
        pays = _pays(view, plan, keep)
        return _Sweep(view, lods, why).settled(keep, pays) if pays else plan

    def wants(self, view: View) -> tuple[int, int] | None:
        """The oldest units, once most of the room is taken: a summary should be there before it must be."""
        tokens = view.fixed + (view.last.body if view.last else 0) + view.full_tokens(view.new)
        if tokens < _within(view, _WANTED) or view.summary_waits:
            return None
        return oldest(view, view.candidates(), _RETAINED)

    def _enter(self, view: View) -> dict[int, Lod]:
        """The levels at which new items first appear: nothing is lost by it, since nothing of it is cached yet."""
        lods: dict[int, Lod] = {}
        timeline, least = view.timeline, self._entering(view)
        for unit in view.new:
            if timeline.unit_full[unit] <= least:
                continue
            for row in timeline.rows_of(unit):
                if timeline.full[row] <= least:
                    continue
                most = self._most(view, row)
                if timeline.full[row] <= most or view.never_reduced(row) or timeline.state[row] & OPAQUE:
                    continue
                if row in view.faults and timeline.full[row] <= view.limit // 4:
                    continue  # shortened again, it would be fetched again
                lod = Lod.SUMMARY if timeline.size(row, Lod.SUMMARY) <= max(most, view.limit // 2) else Lod.GIST
                if timeline.level(row, lod) is not Lod.FULL:
                    lods[row] = timeline.level(row, lod)
        return lods

    def _most(self, view: View, row: int) -> int:
        """Tokens up to which an item enters in full: a quarter of the limit, for tools' words also `entry`.

        What is being asked may have half of the room, for which older words give way, and all of it that is free.
        """
        quarter = view.limit // 4
        if view.timeline.unit[row] == view.asked:
            others = (
                view.fixed + (view.last.body if view.last else 0) + view.full_tokens(view.new) - view.timeline.full[row]
            )
            return max(quarter, (view.limit - view.fixed) // 2, int(_forced(view)) - others)
        if view.timeline.kind[row] == Kind.SUMMARY:
            return view.limit  # it was made to fit
        if view.timeline.state[row] & WHOLE or view.timeline.kind[row] not in (Kind.RESULT, Kind.CALL):
            return quarter
        return min(quarter, self._entering(view))

    def _entering(self, view: View) -> int:
        """Tokens of a tool's words up to which they enter in full."""
        return min(self.entry, max(_SMALL, (view.limit - view.fixed) // _ENTRY))


def _asks(view: View) -> bool:
    """Whether the newest unit is the user's: the answer that it follows is what it most likely speaks of."""
    return bool(view.new) and view.new[-1] == view.asked


def _moment(view: View, tokens: int) -> str:
    """Why to sweep now; empty: not now."""
    if view.command:
        return view.command
    if tokens > _forced(view):
        return "sweep: forced"
    if view.cold and tokens > _within(view, view.budget.target) and view.last and len(view.last):
        return "sweep: cold"
    return ""


def _forced(view: View) -> float:
    """Tokens of a payload above which a sweep is forced."""
    base = view.fixed + view.last.base if view.last and view.last.base else 0
    return trigger(view.budget, view.limit, base, view.fixed)


def _within(view: View, share: float) -> float:
    """Tokens of a payload whose body takes this share of the room."""
    return view.fixed + share * (view.limit - view.fixed)


def trigger(budget: Budget, limit: int, base: int, fixed: int = 0) -> float:
    """Tokens of a payload above which a sweep is forced; `base` is what the last sweep left, 0 before the first, and
    `fixed` what stands in every payload.
    """
    # A sweep that could not reach the target must not be tried again on every call.
    room = limit - fixed
    return max(fixed + budget.trigger * room, min(limit, base + 0.1 * room) if base else 0)


def _pays(view: View, plan: Plan, keep: int) -> str:
    """Why settling what came since the last sweep costs no more than not to; empty: it does.

    What it would save is paid for at every call: since the last sweep half of it on average, as it grew. A sweep is
    paid for once, by writing anew all from the first item that changes. So each waits for the other's price, which
    needs no guess how long the conversation will be.
    """
    if view.last is None or plan.tokens < _within(view, _ROOMY):
        return ""
    before = min(_HELD + keep, plan.swept_count)
    held, newest = plan.after(plan.swept_count - before, before), plan.after(len(plan) - keep) if keep else ()
    saved = plan.possible_saving + sum(view.possible_saving(unit, plan.lods) for unit in held)
    saved -= sum(view.possible_saving(unit, plan.lods) for unit in newest)
    if saved <= 0:
        return ""
    if view.cold and saved >= _COLD * plan.body:
        return "sweep: cold"
    rewritten = plan.body - plan.base + sum(view.unit_tokens(unit, plan.lods) for unit in held) - saved
    prices = view.profile.prices
    rent = prices.read * saved * plan.calls_since_sweep / 2
    return "sweep: pays" if rent * _RENT >= (prices.write - prices.read) * rewritten else ""


class _Step(NamedTuple):
    """One demotion that could be made. Sorts by worth lost per token saved, of equals the later item first."""

    density: float
    stage: int  # an item's own steps stay in order
    minus_row: int
    unit: int
    to: Lod | None  # None: the unit is left out
    saved: int


class _Sweep:
    """Takes the demotions that lose least worth per token saved, until what is shown fits."""

    def __init__(self, view: View, lods: dict[int, Lod], why: dict[int, str]) -> None:
        last = view.last
        self.view, self.timeline = view, view.timeline
        self.units = view.candidates()
        shown, unit = set(self.units), self.timeline.unit
        self.lods = {row: lod for row, lod in ((last.levels() if last else {}) | lods).items() if unit[row] in shown}
        self.why = dict(last.why if last else {}) | why
        self.out: set[int] = set()

    def settled(self, keep: int, reason: str) -> Plan:
        """What came since the last sweep at its lowest levels, everything before it as it is."""
        body = self._heed(self.view.full_tokens(self.units) - self.view.saved(self.lods))
        self._settle(body, keep, self._spared(keep))
        return self._swept(reason)

    def plan(self, keep: int, reason: str) -> Plan:
        """Settled and, if that is not enough, down to the target; the newest units and the last user message give way
        only if the limit demands it.
        """
        view, room = self.view, self.view.limit - self.view.fixed
        said = MARKER + view.notices.room
        index = int(INDEX * room) if view.last and view.last.left_out else 0
        target, trigger = view.budget.target * room - said, view.budget.trigger * room - said
        tight = target + _TIGHT * (trigger - target) - index
        loose = int(target + _LOOSE * (trigger - target)) - int(INDEX * room)
        newest = self._spared(keep)
        body = self._heed(view.full_tokens(self.units) - view.saved(self.lods))
        if view.trims and self._least() > tight:
            body = self._drop_hopeless(body, loose, newest)
        body = self._settle(body, keep, newest)
        if body > tight:
            body = self._reduce(body, int(target), self.units, newest, leave_out=False)
        if body > tight:
            body = self._with_smaller_question(body, room // 2)
        if body > tight:
            body = self._reduce(body, loose, self.units, newest)
        self._fit(body, room - said, newest)
        return self._swept(reason)

    def _spared(self, keep: int) -> set[int]:
        """What a sweep leaves as it is while it can: the newest, the question, the task, what was fetched again, and
        summaries, which are short as they are.
        """
        newest = {*self.units[-keep:], self._task, *self._fetched_again()} - {-1} if keep else set()
        return newest | {self.view.asked, *self._summaries()}

    def _with_smaller_question(self, body: int, most: int) -> int:
        """A question or task that took more than this while it was free is a summary before anything else is out."""
        timeline, lods = self.timeline, self.lods
        for unit in sorted({self.view.asked, self._task}.intersection(self.units)):
            for row in timeline.rows_of(unit) if self.view.unit_tokens(unit, lods) > most else ():
                now = lods.get(row, Lod.FULL)
                if levels := self._lower_levels(row, now, unit):
                    body -= timeline.size(row, now) - timeline.size(row, levels[0])
                    lods[row], self.why[row] = levels[0], "swept"
        return body

    def _least(self) -> int:
        """Tokens of all units at their lowest levels."""
        least, framing = self.timeline.unit_least, self.view.framing
        return sum(least[unit] + framing(unit) for unit in self.units)

    def _settle(self, body: int, keep: int, spared: set[int]) -> int:
        """The units that no sweep has settled sink to their gists: at once, so that they are written only once more."""
        last, timeline, lods = self.view.last, self.timeline, self.lods
        for unit in self.units[max(0, last.swept_count - keep - _HELD) if last else 0 :]:
            if unit in spared or unit in self.out:
                continue
            for row in timeline.rows_of(unit):
                levels = self._lower_levels(row, lods.get(row, Lod.FULL), unit)
                saved = timeline.size(row, lods.get(row, Lod.FULL)) - timeline.size(row, levels[-1]) if levels else 0
                if self.view.is_worth_shortening(row, saved):
                    lods[row], self.why[row] = levels[-1], "swept"
                    body -= saved
        return body

    def _fit(self, body: int, most: int, newest: set[int]) -> None:
        """What was spared gives way where it is too much, the very last after the others, the question last and never
        wholly.
        """
        asked, last = self.view.asked, self.units[-1:]
        for spared in (sorted(newest - {asked, *last}), [unit for unit in last if unit in newest and unit != asked]):
            if body > most:
                body = self._reduce(body, most, spared, set())
        if body > most:
            self._reduce(body, most, [unit for unit in self.units if unit == asked], set(), leave_out=False)

    def _swept(self, reason: str) -> Plan:
        view = self.view
        units = [unit for unit in self.units if unit not in self.out]
        shown = set(units)
        lods = {row: lod for row, lod in self.lods.items() if self.timeline.unit[row] in shown}
        why = {row: reason for row, reason in self.why.items() if row in lods}
        return Plan.swept(view, units, lods, why, reason=reason, left_out=self._left_out())

    def _fetched_again(self) -> set[int]:
        """Units that an agent had to fetch again not long ago: what it needed twice it may need a third time.

        The newest first, in a part of the room, and none that something newer says again.
        """
        shown, unit = set(self.units), self.timeline.unit
        first, room = self.units[-1] - _PROTECTED if self.units else 0, _FETCHED * (self.view.limit - self.view.fixed)
        found: set[int] = set()
        for row in sorted({*self.timeline.faults[-_PROTECTED:], *self.view.faults}, reverse=True):
            again = self.timeline.subject[row] >= 0 and self.timeline.superseded(row)
            if unit[row] >= first and unit[row] in shown and not again:
                room -= self.timeline.unit_full[unit[row]]
                if room < 0:
                    break
                found.add(unit[row])
        return found

    def _heed(self, body: int) -> int:
        """What somebody asked for happens now, when the prefix changes anyway: items rise or sink."""
        shown = set(self.units)
        for row, wanted in self.view.wanted.items():
            now, lod, unit = self.lods.get(row, Lod.FULL), self.timeline.level(row, wanted), self.timeline.unit[row]
            if unit not in shown or (lod < now and lod not in self._lower_levels(row, now, unit)):
                continue
            body += self.view.row_tokens(row, lod) - self.view.row_tokens(row, now)
            self.lods[row], self.why[row] = lod, "asked for"
        return body

    def _drop_hopeless(self, body: int, target: int, spared: set[int]) -> int:
        """What cannot be shown even if everything were a gist goes first, oldest first: what the user said only when it
        alone fills its share, the first message, which is the task, not at all.

        Without it a sweep would weigh every item of a long history that was never shown.
        """
        least, kind, first_row = self.timeline.unit_least, self.timeline.kind, self.timeline.unit_row
        framing, precious = self.view.framing, self._precious
        keep = self.view.must_show & set(self.units) | spared | {self._task}
        room = target - sum(least[unit] + framing(unit) for unit in keep if unit >= 0)
        words = target * _USER_SHARE
        for unit in reversed(self.units):
            if unit in keep:
                continue
            said = kind[first_row[unit]] in precious
            if room <= 0 and (words <= 0 or not said):
                self.out.add(unit)
                continue
            tokens = least[unit] + framing(unit)
            if said and words >= tokens:
                words -= tokens
            elif room < tokens:
                self.out.add(unit)
                room = 0  # nothing older is shown in its place
                continue
            room -= tokens
        shorter = {row: lod for row, lod in self.lods.items() if self.timeline.unit[row] in self.out}
        return body - self.view.full_tokens(self.out) + self.view.saved(shorter)

    _precious = frozenset(kind for kind, worth in _WORTH.items() if worth >= _WORTH[Kind.USER])

    @property
    def _task(self) -> int:
        """The first thing the user said; -1 where nothing was."""
        kind, first_row = self.timeline.kind, self.timeline.unit_row
        return next((unit for unit in self.units if kind[first_row[unit]] in self._precious), -1)

    def _kind(self, unit: int) -> int:
        return self.timeline.kind[self.timeline.unit_row[unit]]

    def _reduce(self, body: int, target: int, units: list[int], spared: set[int], *, leave_out: bool = True) -> int:
        if body <= target:
            return body
        steps: list[_Step] = []
        for age, unit in enumerate(reversed(units)):
            if unit not in spared and unit not in self.out:
                self._offer(steps, unit, age, leave_out)
        steps.sort()
        for step in steps:
            if body <= target:
                break
            body -= step.saved
            if step.to is None:
                self.out.add(step.unit)
            else:
                self.lods[-step.minus_row], self.why[-step.minus_row] = step.to, "swept"
        return body

    def _offer(self, steps: list[_Step], unit: int, age: int, leave_out: bool) -> None:
        """The steps down of each item of a unit, and after them leaving the unit out."""
        timeline, lods = self.timeline, self.lods
        worst = worth_left = 0.0
        tokens_left = self.view.framing(unit)
        rows = timeline.rows_of(unit)
        for row in rows:
            worth = self._worth(row, age)
            lod = lods.get(row, Lod.FULL)
            density, size = 0.0, timeline.size(row, lod)
            for to in self._lower_levels(row, lod, unit):
                smaller = timeline.size(row, to)
                density = max(density, worth * (_LEFT[lod] - _LEFT[to]) / (size - smaller))
                steps.append(_Step(density, 1 - to, -row, unit, to, size - smaller))
                lod, size = to, smaller
            worst = max(worst, density)
            worth_left += worth * _LEFT[lod]
            tokens_left += size
        if leave_out and worth_left < inf and self.view.trims:
            steps.append(_Step(max(worst, worth_left / tokens_left), 2, -rows[0], unit, None, tokens_left))

    def _lower_levels(self, row: int, lod: Lod, unit: int) -> Sequence[Lod]:
        timeline = self.timeline
        if (timeline.gist[row] < 0 and timeline.summary[row] < 0) or lod is Lod.GIST or self.view.never_reduced(row):
            return ()
        if timeline.state[row] & OPAQUE and unit > self.view.asked:
            return ()  # a provider's own blocks must come back untouched while their turn is open
        if lod is Lod.SUMMARY or timeline.summary[row] < 0:
            return (Lod.GIST,) if timeline.gist[row] >= 0 else ()
        return (Lod.SUMMARY, Lod.GIST) if timeline.gist[row] >= 0 else (Lod.SUMMARY,)

    def _worth(self, row: int, age: int) -> float:
        """Kind × recency × whether it is still spoken of × whether something newer says the same."""
        timeline = self.timeline
        if row in self.view.pinned:
            return inf
        worth = _WORTH[timeline.kind[row]] / (1 + age / _HALF_LIFE)
        mention = timeline.mention[row]
        if mention >= 0:
            worth *= 1 + 1 / (1 + (len(timeline.seq) - mention) / _HALF_LIFE)
        if timeline.subject[row] >= 0 and timeline.superseded(row):
            worth *= 0.2
        state = timeline.state[row]
        if state & OBSOLETE:
            worth *= 0.05
        return worth * 1.5 if state & FAILED else worth

    def _left_out(self) -> LeftOut | None:
        shown = self.view.last or ()
        if any(unit not in shown for unit in (*self.view.back, *self._summaries())):
            return self._counted_out()
        before = self._still_out()
        said = [unit for unit in self.out if self._is_missed(unit)]
        if not said:
            return before
        rows, full = self.timeline.unit_rows, self.timeline.unit_full
        messages = sum(rows[unit] - rows[unit] // 2 for unit in said)  # calls are no messages of their own
        tokens = sum(full[unit] for unit in said)
        if before is None:
            return LeftOut(messages, tokens, min(said), max(said))
        first, last = min(before.first, *said), max(before.last, *said)
        return LeftOut(before.messages + messages, before.tokens + tokens, first, last)

    def _is_missed(self, unit: int) -> bool:
        """Whether nothing stands for a unit that is out: what was recalled has its source, what is covered its summary,
        and a summary that was undone has what it stood for.
        """
        kind = self._kind(unit)
        if kind == Kind.SUMMARY:
            return unit in self._summaries()
        return kind != Kind.RECALL and not self.view.is_covered(unit)

    def _summaries(self) -> list[int]:
        return [unit for each in self.view.compactions for unit in each.summaries]

    def _counted_out(self) -> LeftOut | None:
        """What is out, counted anew: a summary begins to stand for something that was counted, or no longer does."""
        view, timeline = self.view, self.timeline
        shown = {*self.units} - self.out
        waiting = {timeline.unit[row] for row in timeline.open_calls}
        every = [unit for unit in timeline.units_between(view.path, 0, len(timeline)) if not view.is_covered(unit)]
        said = [unit for unit in every if body_unit(timeline, unit) and self._kind(unit) != Kind.RECALL]
        out = [unit for unit in (*said, *self._summaries()) if unit not in shown and unit not in waiting]
        if not out:
            return None
        messages, tokens = (messages_of(timeline, unit) for unit in out), (timeline.unit_full[unit] for unit in out)
        return LeftOut(sum(messages), sum(tokens), min(out), max(out))

    def _still_out(self) -> LeftOut | None:
        """What was out before, less what came back."""
        last = self.view.last
        if last is None or last.left_out is None or self.view.covers(last.left_out):
            return None
        rows, full = self.timeline.unit_rows, self.timeline.unit_full
        back = [unit for unit in self.units if unit <= last.left_out.last and unit not in last]
        messages = last.left_out.messages - sum(rows[unit] - rows[unit] // 2 for unit in back)
        tokens = last.left_out.tokens - sum(full[unit] for unit in back)
        return last.left_out._replace(messages=messages, tokens=tokens) if messages > 0 else None
