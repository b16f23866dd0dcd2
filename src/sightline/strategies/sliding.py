"""The plain sliding window: the newest units that fit, nothing shortened. It breaks the prefix by design."""

from msgspec import Struct

from sightline.items import Lod
from sightline.plan import Plan, View


class Sliding(Struct, frozen=True, forbid_unknown_fields=True):
    """Newest first until the limit; all older ones are out. Pinned units stay."""

    name = "sliding"

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`."""
        tokens = (
            view.fixed + (view.last.body if view.last else 0) + sum(view.unit_tokens(unit, {}) for unit in view.new)
        )
        if tokens <= view.limit and not view.command:
            return Plan.extended(view, {}, {})
        units = view.candidates()
        kept = {unit for unit in units if any(view.never_reduced(row) for row in view.timeline.rows_of(unit))}
        room = view.limit - view.fixed - sum(view.unit_tokens(unit, {}) for unit in kept)
        lods: dict[int, Lod] = {}
        asked = view.asked if view.asked not in kept else -1  # the question must reach the model, however long it is
        held = view.row_tokens(view.timeline.unit_row[asked], Lod.GIST) if asked >= 0 else 0
        for unit in [unit for unit in reversed(units) if unit not in kept]:
            if unit == asked:
                lods, held = self._fitting(view, asked, room), 0
            elif view.unit_tokens(unit, {}) > room - held:
                break
            kept.add(unit)
            room -= view.unit_tokens(unit, lods)
        if held:
            kept.add(asked)
            lods = self._fitting(view, asked, room)
        return Plan.swept(view, sorted(kept), lods, {}, reason=view.command or "sweep: window")

    def _fitting(self, view: View, unit: int, room: int) -> dict[int, Lod]:
        row = view.timeline.unit_row[unit]
        fits = [lod for lod in (Lod.FULL, Lod.SUMMARY) if view.row_tokens(row, lod) <= room]
        return {row: view.timeline.level(row, fits[0] if fits else Lod.GIST)}
