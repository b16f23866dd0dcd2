"""The default strategy: when to sweep. What a sweep takes is in `sweep`.

While it fits, everything is shown in full: a model works with what it can read. A provider charges little for a prompt
prefix that is in its cache, and full price for all after the first change. So `focus` adds each new unit at the end and
changes nothing before it, except in a sweep. A sweep happens

- on command: after a pin, a compaction or a change of settings, for example;
- "forced": when the payload is above the budget's trigger;
- "cold": when the provider no longer has the prefix in its cache, so that the change costs nothing extra;
- "pays": with `economy="thrifty"` only, which sweeps as if the context window were small.

A forced sweep may reduce anything, and so may a cold one if the payload is large. Otherwise only what newer items show
again is shortened.
"""

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct

from sightline.log.columns import pick
from sightline.plan.budget import Budget
from sightline.plan.plan import Plan
from sightline.plan.strategies.sweep import ENTERED, Sweep
from sightline.plan.strategy import Hooks
from sightline.plan.view import View, oldest
from sightline.shorten import Purpose
from sightline.values.items import SUMMARY, Kind, Lod

# Tokens up to which the output of a command is shown in full: agents that run commands cut it like this themselves. On
# recorded runs in large windows limits from 1,000 to 2,000 cost the same within a hundredth, so it is the one that
# hides least. In a small window it is a share of the body's tokens, so that one output does not replace ten others.
_COMMAND_OUTPUT, _COMMAND_SHARE, _LEAST_OUTPUT = 2000, 1 / 16, 500
_COLD = 0.75  # of the body's tokens: above, a sweep goes down to the target if the prefix has to be written anyway

# Thrifty: it sweeps as if the body had room for so many tokens, and only if this share of them came since the last
# sweep. Recorded runs do not agree on the room: with 40,000 some cost more and some less. Sweeps that follow each other
# sooner cost more on all.
_THRIFTY_ROOM, _THRIFTY_GROWTH = 32_000, 0.4

# Summaries by a model.
_SUMMARY_ABOVE = 0.7  # of the body's tokens: early enough that the summary is there before a sweep is forced
_RETAINED = 0.2  # share of the messages, the newest, that is not summarised

_RETRY_GROWTH = 0.1  # of the body's tokens: what must come until a sweep that could not reach its target is repeated


class Focus(Hooks, Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in full while it fits; then older and less useful items are shortened, rarely and in batches.

    keep: how many of the newest units a sweep leaves as they are while the limit allows it. If a question comes last,
    it is one more, because the question most likely speaks of the answer before it.
    economy: "off" shortens only if it must; "safe" also large output of commands, and what newer items show again, at a
    sweep that costs nothing extra; "thrifty" also sweeps for its price although there is room, but
    never the files being worked on.
    """

    name = "focus"
    keep: Annotated[int, Meta(description="newest units that a sweep does not shorten if it can")] = 2
    economy: Annotated[
        Literal["off", "safe", "thrifty"],
        Meta(description="what may be shortened while there is room: nothing; what is shown twice; old results too"),
    ] = "safe"

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`. Between sweeps it looks only at new units."""
        shortens, tokens = self.economy != "off", view.tokens_with_new()
        if shortens and _is_certainly_over(view, tokens):
            reason = view.command or "sweep: forced"
            return Sweep(view, {}, {}, partial(_entry_levels, view)).reduce(self.keep, reason)
        lods = _entry_levels(view, view.new) if shortens else {}
        why = dict.fromkeys(lods, ENTERED)
        tokens -= view.saved(lods)
        is_forced, is_cold = tokens > _forced_above(view), view.cold and bool(view.last and len(view.last))
        if is_forced or view.command:
            tidy = is_forced or self.economy != "off"
            reason = view.command or "sweep: forced"
            return Sweep(view, lods, why).reduce(self.keep, reason, to_target=is_forced, tidy=tidy)
        plan = Plan.extended(view, lods, why)
        if self.economy == "off":
            return plan
        if is_cold and tokens > _share_of_limit(view, _COLD):
            return Sweep(view, lods, why).reduce(self.keep, "sweep: cold")
        target: float = plan.body
        if self.economy == "thrifty":
            room = min(_THRIFTY_ROOM, view.body_limit)
            if plan.body > _COLD * room if is_cold else _outgrows(view, plan, room):
                target = view.budget.target * room
        if is_cold or target < plan.body:
            reason = "sweep: cold" if is_cold else "sweep: pays"
            return Sweep(view, lods, why).economise(self.keep, reason, target) or plan
        return plan

    def wants(self, view: View) -> tuple[int, int] | None:
        """The first and last unit to summarise, once most of the body's tokens are used; None before that."""
        if view.tokens_with_new() < _share_of_limit(view, _SUMMARY_ABOVE) or view.summary_waits:
            return None
        return oldest(view, view.candidates(), _RETAINED)


def _is_certainly_over(view: View, tokens: int) -> bool:
    """Whether a payload of these tokens is over the limit however short new items first appear.

    Then most units are left out, and a sweep asks for the levels of the few that stay, because it takes long to make
    those of a long history.
    """
    if tokens <= view.limit or not view.trims:
        return False
    large = [full for full in pick(view.timeline.unit_full, view.new) if full > _LEAST_OUTPUT]
    return tokens - sum(large) > view.limit


def _entry_levels(view: View, units: Iterable[int]) -> dict[int, Lod]:
    """The levels of the items of new units that first appear below FULL: large output of commands.

    What was fetched again is shown in full.
    """
    timeline, full, unit_full = view.timeline, view.timeline.full, view.timeline.unit_full
    most = min(_COMMAND_OUTPUT, max(_LEAST_OUTPUT, _COMMAND_SHARE * view.body_limit))
    large = [unit for unit in units if unit_full[unit] > most]
    rows = [row for unit in large for row in timeline.rows_of(unit) if full[row] > most]
    return {
        row: SUMMARY
        for row in rows
        if timeline.kind[row] == Kind.RESULT
        and timeline.purpose[row] == Purpose.COMMAND
        and timeline.level(row, SUMMARY) is SUMMARY
        and row not in view.faults
        and view.may_shorten(row)
    }


def _outgrows(view: View, plan: Plan, room: int) -> bool:
    """Whether this plan is the first that has outgrown the room, or has grown on by a step since.

    So a sweep that would save nothing is not tried at every call: it looks at the whole history.
    """
    grown, step = max(view.budget.trigger * room, plan.base + _THRIFTY_GROWTH * room), _RETRY_GROWTH * room
    before = view.last.body if view.last else 0
    return plan.body > grown and (before <= grown or (plan.body - grown) // step > (before - grown) // step)


def _forced_above(view: View) -> float:
    base = view.fixed + view.last.base if view.last and view.last.base else 0
    return trigger(view.budget, view.limit, base, view.fixed)


def trigger(budget: Budget, limit: int, base: int, fixed: int = 0) -> float:
    """Tokens of a payload above which a sweep is forced.

    `base` is what the last sweep left, in tokens of the payload, 0 before the first. `fixed` is what every payload
    has. Soon after a sweep the trigger is higher, because a sweep that could not reach its target would otherwise be
    repeated at every call.
    """
    body_limit = limit - fixed
    return max(fixed + budget.trigger * body_limit, min(limit, base + _RETRY_GROWTH * body_limit) if base else 0)


def _share_of_limit(view: View, share: float) -> float:
    """Tokens of a payload whose body has this share of the tokens that it may have."""
    return view.fixed + share * view.body_limit
