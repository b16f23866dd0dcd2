"""How many tokens what is recalled for a user message may take, from where they come, and the plan with it."""

from msgspec.structs import replace

from sightline.log.annotations import Source
from sightline.log.journal import Journal
from sightline.plan.budget import Budget
from sightline.plan.plan import Plan
from sightline.plan.reductions import allowed
from sightline.plan.view import View, said_units
from sightline.values.items import Kind, Lod

FRAMING_TOKENS = 24  # at most, for one more message in any profile and the frame of what is recalled
_ENOUGH = 4_500  # tokens for one message
_BESIDE = 2_500  # of them beside what else a payload shows; more take its place: a small model wants no more text
_RUNNING = 800  # tokens: so much in a running conversation, if the budget's share is less
_DEEPER = 0.75  # of its target: how much deeper a sweep may go for what is recalled, which matters more than old talk
_RECENT_UNITS = 60  # what was recalled within these units is not recalled again


def free_tokens(view: View, plan: Plan) -> int:
    """Return what this plan leaves free below the budget's trigger."""
    return view.fixed + int(view.budget.trigger * view.body_limit) - plan.tokens - FRAMING_TOKENS


def recall_tokens(view: View, plan: Plan, *, deeper: bool = True) -> int:
    """Return what may be recalled for a message: the budget's share or, if that is more, all that is free.

    It is never more than enough. In a running conversation it is the share, or a little: passages stay there, and
    sweeps pay for what fills a window. deeper: a sweep that is made anyway can leave out more for it.
    """
    share = int(view.budget.recall * view.limit)
    most = _ENOUGH if view.last is None else max(share, _RUNNING)
    spare = int(_DEEPER * view.budget.target * view.body_limit) if deeper and plan.reason and view.trims else 0
    return min(max(share, free_tokens(view, plan) + spare), most)


def missing_tokens(view: View, plan: Plan, needed: int) -> int:
    """Return by how many tokens a sweep must go deeper for what is recalled, which takes so many.

    In the first payload, what is recalled beyond a limit takes the place of old talk, also where both would fit.
    """
    instead = needed - _BESIDE if view.last is None else 0
    return max(needed - free_tokens(view, plan), instead)


def deeper_budget(view: View, needed: int) -> Budget:
    """Return the budget with which a sweep leaves so many more tokens free, or as many as it may."""
    budget = view.budget
    less = min(needed / view.body_limit, _DEEPER * budget.target)
    return replace(budget, trigger=budget.trigger - less, target=budget.target - less)


def sources_shown(journal: Journal, plan: Plan) -> set[Source]:
    """Return what the newest recalls show that this plan still shows."""
    timeline = journal.timeline
    recent = [timeline.unit_row[unit] for unit in plan.after(len(plan) - _RECENT_UNITS)]
    recalls = [row for row in recent if timeline.kind[row] == Kind.RECALL and plan.lod(row) is Lod.FULL]
    return {source for row in recalls for source in journal.reader.sources(row)}


def with_recalled(view: View, plan: Plan) -> Plan:
    """Return a plan that was just made, with what was recalled since."""
    new = said_units(view.timeline, view.path, plan.rows)
    recalled = Plan.extended(replace(allowed(view), last=plan, new=new), {}, {})
    recalled.reason = plan.reason
    return recalled
