"""A running summary: a light model adds the oldest turns to one summary, in the background, again and again."""

from typing import Annotated

from msgspec import Meta, Struct

from sightline.errors import BadInput
from sightline.plan.plan import Plan
from sightline.plan.strategies.sliding import begins_turn, is_still_right, reachable_units, show_newest
from sightline.plan.strategy import Hooks
from sightline.plan.view import View, body_units


class Summary(Hooks, Struct, frozen=True, forbid_unknown_fields=True):
    """Shows a summary of the oldest turns, then the newest turns that fit. A light model extends the summary."""

    name = "summary"
    apart = True  # the model that summarises sees the turns to add and the summary so far, and nothing newer

    threshold: Annotated[int, Meta(description="a summary is wanted when there are more turns than this")] = 10
    batch: Annotated[int, Meta(ge=1, description="how many of the oldest turns are added to the summary each time")] = 5
    compression_model: Annotated[str, Meta(description="the name of the model that writes the summaries")] = ""

    def __post_init__(self) -> None:
        if self.threshold <= self.batch:
            raise BadInput(f"threshold must be more than batch, or nothing is left; got {self.threshold}, {self.batch}")

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`. A new summary replaces the turns that it covers at the next call."""
        waits = view.summary_waits
        if not view.command and not waits and is_still_right(view, by_turn=True):
            return Plan.extended(view, {}, {})
        reason = view.command or ("sweep: summary" if waits else "sweep: window")
        return show_newest(view, reachable_units(view), reason, by_turn=True)

    def wants(self, view: View) -> tuple[int, int] | None:
        """The first and last unit of the next summary, once there are more turns than `threshold`; None before that.

        It covers what was summarised before and the `batch` oldest turns since.
        """
        timeline = view.timeline
        if (first := next(body_units(timeline, view.path), -1)) < 0:
            return None
        since = max(
            (compaction.last + 1 for compaction in view.compactions if compaction.first <= first), default=first
        )
        start = timeline.unit_row[since] if since < len(timeline.unit_row) else len(timeline)
        units: list[int] = []
        turns: list[int] = []  # where each begins among them
        for unit in body_units(timeline, view.path, start):
            if not view.is_covered(unit):
                turns += [len(units)] if begins_turn(timeline, unit) else []
                units.append(unit)
            if len(turns) > self.threshold:
                return first, units[turns[self.batch] - 1]
        return None
