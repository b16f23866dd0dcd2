"""The default strategy: when to sweep. What a sweep takes is in `sweep`.

While it fits, everything is shown in full: a model works with what it can read. A provider charges little for a prompt
prefix that is in its cache, and full price for all after the first change. So `focus` adds each new unit at the end and
changes nothing before it, except in a sweep. A sweep happens

- "forced": when the payload is above the budget's trigger;
- on command: after a pin, a compaction or a change of settings, for example;
- "cold": when the provider no longer has the prefix in its cache, so that the change costs nothing extra; not before
  another sweep has changed the prefix.

A forced sweep may reduce anything, and so may a cold one if the payload is large. Otherwise only what newer items show
again is shortened. With `economy="thrifty"` all this happens as if the context window were small.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from sightline.log.columns import WHOLE, pick
from sightline.plan.economies import THRIFTY_WINDOW, described
from sightline.plan.plan import Plan
from sightline.plan.strategies.sweep import PAGED, Sweep
from sightline.plan.strategies.worth import is_output
from sightline.plan.strategy import Hooks
from sightline.plan.view import Budget, View, oldest
from sightline.values.items import SUMMARY, Lod

_LARGE = 0.125  # of the body's tokens: an output that is smaller is never paged
_COLD = 0.6  # of the body's tokens: above, a sweep goes down to the target if the prefix has to be written anyway

# Summaries by a model.
_SUMMARY_ABOVE = 0.7  # of the body's tokens: early enough that the summary is there before a sweep is forced
_RETAINED = 0.2  # share of the messages, the newest, that is not summarised

_RETRY_GROWTH = 0.1  # of the body's tokens: what must come until a sweep that could not reach its target is repeated


class Focus(Hooks, Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in full while it fits; then older and less useful items are shortened, rarely and in batches.

    keep: how many of the newest units a sweep leaves as they are while the limit allows it. If a question comes last,
    it is one more, because the question most likely speaks of the answer before it.
    economy: "off" shortens only what does not fit; "safe" also where that costs nothing extra, once something had to be
    shortened; "thrifty" works in a window of 64,000 tokens, however large the model's is.
    """

    name = "focus"
    lowers = True
    keep: Annotated[int, Meta(description="newest units that a sweep does not shorten if it can")] = 2
    economy: Annotated[
        Literal["off", "safe", "thrifty"],
        Meta(description=described()),
    ] = "safe"

    @property
    def most_tokens(self) -> int:  # type: ignore[override]
        """See `Strategy.most_tokens`."""
        return THRIFTY_WINDOW if self.economy == "thrifty" else Hooks.most_tokens

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`. Between sweeps it looks only at new units."""
        if view.last_stage is None:
            view.uncut()  # what another plan made to measure
        tidy = self.economy != "off"
        pages = _page_outputs(view) if tidy else {}
        tokens = view.tokens_with_new(pages) - _replaced_tokens(view)
        is_forced = tokens > _forced_above(view)
        if is_forced or view.command:
            reason = view.command or "sweep: forced"
            return Sweep(view, pages).reduce(self.keep, reason, to_target=is_forced, tidy=is_forced or tidy)
        if tidy and view.cold and view.last and view.last.base:
            if tokens > cold_trigger(view.limit, view.fixed):
                return Sweep(view, pages).reduce(self.keep, "sweep: cold")
            if plan := Sweep(view, pages).shorten_repeated(self.keep, "sweep: cold"):
                return plan
        return Plan.extended(view, pages, dict.fromkeys(pages, PAGED))

    def wants(self, view: View) -> tuple[int, int] | None:
        """The first and last unit to summarise, once most of the body's tokens are used; None before that."""
        most = view.fixed + _SUMMARY_ABOVE * view.body_limit
        if view.tokens_with_new() < most or view.summary_waits:
            return None
        return oldest(view, view.candidates(), _RETAINED)


def _page_outputs(view: View) -> dict[int, Lod]:
    """The levels of new outputs that are paged, because each would take most of what is free: SUMMARY, cut to measure.

    The text of a file is not paged: an edit needs its exact lines.
    """
    timeline, limit = view.timeline, view.body_limit
    free = view.budget.trigger * limit - (view.last.body if view.last else 0)
    most = max(_LARGE * limit, free / 2)
    large = [unit for unit in view.new if timeline.unit_full[unit] > most]
    rows = [row for unit in large for row in timeline.rows_of(unit) if timeline.full[row] > most]
    outputs = [row for row in rows if _may_be_paged(view, row)]
    if view.tokens_with_new() - sum(pick(timeline.full, outputs)) > view.limit:
        return {}  # most units are left out in any case; the sweep pages those that stay
    return {row: SUMMARY for row in outputs if view.cut(row, int(most / len(outputs)))}


def _may_be_paged(view: View, row: int) -> bool:
    """Whether an item is an output, and not what the model fetched again or asked to see."""
    is_wanted = view.timeline.state[row] & WHOLE or row in view.faults
    if view.last_stage is not None and row in view.last_stage.lods:
        return False  # the stage before has decided
    return is_output(view.timeline, row) and not is_wanted and view.may_shorten(row)


def _replaced_tokens(view: View) -> int:
    """Tokens that a sweep saves because the agent itself no longer sends some units."""
    if not view.replaced:
        return 0
    levels = view.last.levels() if view.last else {}
    return sum(view.unit_tokens(unit, levels) for unit in view.replaced.intersection(view.candidates()))


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


def cold_trigger(limit: int, fixed: int = 0) -> float:
    """Tokens of a payload above which a sweep goes down to the target if the provider's cache has expired."""
    return fixed + _COLD * (limit - fixed)
