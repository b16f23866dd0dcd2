"""Dynamic summarising: a light model folds the oldest turns into one summary, in the background, again and again."""

from typing import Annotated

from msgspec import Meta, Struct

from sightline.errors import BadInput
from sightline.plan.plan import Plan
from sightline.plan.strategies.sliding import begins_turn, newest, stands, within_reach
from sightline.plan.view import View, body_unit
from sightline.values.items import Kind


class Summary(Struct, frozen=True, forbid_unknown_fields=True):
    """A summary of the oldest turns, then the newest turns that fit. Older turns are folded in by a light model."""

    name = "summary"
    apart = True  # whoever summarises is shown the turns to fold and the summary so far, and nothing newer

    threshold: Annotated[int, Meta(description="turns that are kept as they are; with more, a summary is wanted")] = 10
    batch: Annotated[int, Meta(ge=1, description="turns that are folded in at a time, the oldest")] = 5
    compression_model: Annotated[str, Meta(description="the light model's name, for whoever owns models")] = ""

    def __post_init__(self) -> None:
        if self.threshold <= self.batch:
            raise BadInput(f"threshold must be more than batch, or nothing is left; got {self.threshold}, {self.batch}")

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`. A new summary enters at once: the turns it stands for are no longer sent."""
        waits = view.summary_waits
        if not view.command and not waits and stands(view, by_turn=True):
            return Plan.extended(view, {}, {})
        reason = view.command or ("sweep: summary" if waits else "sweep: window")
        return newest(view, within_reach(view), reason, by_turn=True)

    def wants(self, view: View) -> tuple[int, int] | None:
        """The oldest turns and everything summarised before them, once there are more turns than the threshold."""
        timeline = view.timeline
        first, since = _begins(view)
        if first < 0:
            return None
        start = timeline.unit_row[since] if since < len(timeline.unit_row) else len(timeline)
        units: list[int] = []
        turns: list[int] = []  # where each begins among them
        for unit in timeline.units_between(view.path, start, len(timeline)):
            if _counts(view, unit):
                turns += [len(units)] if begins_turn(timeline, unit) else []
                units.append(unit)
            if len(turns) > self.threshold:
                return first, units[turns[self.batch] - 1]
        return None


def _begins(view: View) -> tuple[int, int]:
    """The first unit of the conversation, and the first that no summary from the beginning stands for."""
    timeline = view.timeline
    units = timeline.units_between(view.path, 0, len(timeline))
    first = next((unit for unit in units if body_unit(timeline, unit)), -1)
    return first, max((each.last + 1 for each in view.compactions if each.first <= first), default=first)


def _counts(view: View, unit: int) -> bool:
    """Whether a unit is one to summarise: part of the conversation, and no other summary stands for it."""
    timeline = view.timeline
    if not body_unit(timeline, unit) or timeline.kind[timeline.unit_row[unit]] == Kind.SUMMARY:
        return False
    return not any(each.first <= unit <= each.last for each in view.compactions)
