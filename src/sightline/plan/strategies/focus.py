"""The default strategy: when to sweep. What a sweep takes is in `sweep`.

A provider charges little for a prompt prefix that is in its cache, and full price for all after the first change. So
`focus` adds each new unit at the end and changes nothing before it, except in a sweep. A sweep happens

- on command: after a pin, a compaction or a change of settings, for example;
- "forced": when the payload is above the budget's trigger;
- "cold": when the provider no longer has the prefix in its cache, so that the change costs nothing extra;
- "pays": when reading the long items that came since the last sweep has cost as much as the sweep will.

A forced or commanded sweep may reduce anything. One that pays shortens only what came since the last sweep.
"""

from typing import Annotated

from msgspec import Meta, Struct

from sightline.log.columns import OPAQUE, WHOLE
from sightline.plan.budget import Budget
from sightline.plan.plan import Plan
from sightline.plan.strategies.sweep import Sweep, first_unshortened
from sightline.plan.view import View, oldest
from sightline.values.items import Kind, Lod

# Entry: how large a new tool result or call may be to be shown in full.
_ENTRY_PART = 20  # a twentieth of the body's tokens, so that one result does not fill a small context window
_ALWAYS_FULL = 200  # but up to so many tokens in any case, because the model has just asked for it

# Price: when a sweep pays.
_LEAST_FILLED = 0.25  # of the body's tokens: below, no sweep for its price, because replayed runs cost the same without
# How many times the price of reading counts against the price of a sweep. More than once, because what is shortened
# stays so until the end of the conversation. From 1.5 to 4 the cost of replayed runs differs by less than 5 %.
_READING_WEIGHT = 2.0
_COLD_SAVING = 0.1  # of the body: what a sweep must save if the prefix has to be written anyway

# Summaries by a model.
_SUMMARY_ABOVE = 0.7  # of the body's tokens: early enough that the summary is there before a sweep is forced
_RETAINED = 0.2  # share of the messages, the newest, that is not summarised

_RETRY_GROWTH = 0.1  # of the body's tokens: what must come until a sweep that could not reach its target is repeated


class Focus(Struct, frozen=True, forbid_unknown_fields=True):
    """Full detail where the model is working; older and less useful items are shortened, rarely and in batches.

    entry: a tool result or call larger than this is shown as its summary from the start, so that the rest of it is
    never in the cache.
    keep: how many of the newest units a sweep leaves as they are while the limit allows it. If a question comes last,
    it is one more, because the question most likely speaks of the answer before it.
    """

    name = "focus"
    entry: Annotated[int, Meta(description="tokens above which a tool result or call first appears as a summary")] = (
        2000
    )
    keep: Annotated[int, Meta(description="newest units that a sweep does not shorten if it can")] = 1

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`. Between sweeps it looks only at new units."""
        lods = self._entry_levels(view)
        why = dict.fromkeys(lods, "large on entry")
        question_is_newest = bool(view.new) and view.new[-1] == view.asked
        keep = self.keep and self.keep + question_is_newest
        if reason := _sweep_reason(view, view.tokens_with_new(lods)):
            return Sweep(view, lods, why).reduce(keep, reason)
        plan = Plan.extended(view, lods, why)
        reason = _saving_reason(view, plan, keep)
        return Sweep(view, lods, why).shorten_recent(keep, reason) if reason else plan

    def wants(self, view: View) -> tuple[int, int] | None:
        """The first and last unit to summarise, once most of the body's tokens are used; None before that."""
        if view.tokens_with_new() < _share_of_limit(view, _SUMMARY_ABOVE) or view.summary_waits:
            return None
        return oldest(view, view.candidates(), _RETAINED)

    def _entry_levels(self, view: View) -> dict[int, Lod]:
        """The levels of the new items that first appear below FULL. That costs nothing: they are not cached yet."""
        lods: dict[int, Lod] = {}
        timeline, least = view.timeline, self._tool_entry_limit(view)
        for unit in view.new:
            for row in timeline.rows_of(unit) if timeline.unit_full[unit] > least else ():
                full = timeline.full[row]
                if full <= least or view.never_reduced(row) or timeline.state[row] & OPAQUE:
                    continue
                most = self._entry_limit(view, row)
                fetched_again = row in view.faults and full <= view.limit // 4
                if full <= most or fetched_again:  # shortened again, it would be fetched again
                    continue
                lod = Lod.SUMMARY if timeline.size(row, Lod.SUMMARY) <= max(most, view.limit // 2) else Lod.GIST
                if timeline.level(row, lod) is not Lod.FULL:
                    lods[row] = timeline.level(row, lod)
        return lods

    def _entry_limit(self, view: View, row: int) -> int:
        """Tokens up to which a new item appears in full: a quarter of the limit, for tool results and calls less."""
        quarter, timeline = view.limit // 4, view.timeline
        if timeline.unit[row] == view.asked:  # half of the body, for which older units are reduced, or all that is free
            others = view.tokens_with_new() - timeline.full[row]
            return max(quarter, view.body_limit // 2, int(_forced_above(view)) - others)
        if timeline.kind[row] == Kind.SUMMARY:
            return view.limit  # it was made to fit
        if timeline.state[row] & WHOLE or timeline.kind[row] not in (Kind.RESULT, Kind.CALL):
            return quarter
        return min(quarter, self._tool_entry_limit(view))

    def _tool_entry_limit(self, view: View) -> int:
        return min(self.entry, max(_ALWAYS_FULL, view.body_limit // _ENTRY_PART))


def _sweep_reason(view: View, tokens: int) -> str:
    """Why a payload of so many tokens needs a sweep that may reduce anything; empty: it does not."""
    if view.command:
        return view.command
    if tokens > _forced_above(view):
        return "sweep: forced"
    if view.cold and tokens > _share_of_limit(view, view.budget.target) and view.last and len(view.last):
        return "sweep: cold"
    return ""


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


def _saving_reason(view: View, plan: Plan, keep: int) -> str:
    """Why to shorten what came since the last sweep although everything fits; empty: it would cost more than it saves.

    The tokens that it would save are read at every call. Since the last sweep that was half of them on average,
    because they came one by one. A sweep is paid once: all from the first changed item on is written again. It
    happens when the first price has reached the second, so nobody has to guess how long the conversation will be.
    """
    if view.last is None or plan.tokens < _share_of_limit(view, _LEAST_FILLED):
        return ""
    first = first_unshortened(plan, keep)
    kept_by_last_sweep = plan.after(first, plan.swept_count - first)
    kept_now = plan.after(len(plan) - keep) if keep else ()
    saved = plan.possible_saving + sum(view.possible_saving(unit, plan.lods) for unit in kept_by_last_sweep)
    saved -= sum(view.possible_saving(unit, plan.lods) for unit in kept_now)
    if saved <= 0:
        return ""
    if view.cold and saved >= _COLD_SAVING * plan.body:
        return "sweep: cold"
    rewritten = plan.body - plan.base + sum(view.unit_tokens(unit, plan.lods) for unit in kept_by_last_sweep) - saved
    prices = view.profile.prices
    reading = prices.read * saved * plan.calls_since_sweep / 2
    return "sweep: pays" if reading * _READING_WEIGHT >= (prices.write - prices.read) * rewritten else ""
