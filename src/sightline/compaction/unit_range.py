"""The run of units that a compaction covers."""

from typing import NamedTuple

from sightline.log.columns import Compaction, Path, Timeline
from sightline.plan.view import body_units, said_units
from sightline.values.items import Kind


class UnitRange(NamedTuple):
    """The units from `first` to `last` on one branch."""

    timeline: Timeline
    path: Path
    first: int
    last: int

    def units(self) -> list[int]:
        """Return the units of the body except summaries."""
        timeline = self.timeline
        return said_units(timeline, self.path, timeline.unit_row[self.first], timeline.unit_row[self.last] + 1)

    def next_speaker(self) -> Kind | None:
        """Return who speaks first after the range: the user, or the assistant without a call; None if nobody does."""
        timeline = self.timeline
        for unit in body_units(timeline, self.path, timeline.unit_row[self.last] + 1):
            if timeline.is_users_own(timeline.unit_row[unit]):
                return Kind.USER
            if timeline.unit_kind(unit) is Kind.ASSISTANT and timeline.unit_rows[unit] == 1:
                return Kind.ASSISTANT
        return None

    def compactions(self) -> list[Compaction]:
        """Return the compactions in force inside the range. A compaction of the whole range replaces them."""
        return [
            compaction
            for compaction in self.timeline.compacted(self.path)
            if self.first <= compaction.first and compaction.last <= self.last
        ]

    def summaries(self) -> list[int]:
        """Return the units with the summaries of these compactions."""
        return [unit for compaction in self.compactions() for unit in compaction.summaries]

    def not_summarised(self) -> list[int]:
        """Return the units that no summary covers yet."""
        inside = self.compactions()
        return [unit for unit in self.units() if not any(unit in compaction for compaction in inside)]
