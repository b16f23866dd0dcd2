"""A whole conversation as one payload, whatever its size: for export."""

from sightline.compose.render import ComposeInputs, layout, render
from sightline.log.journal import Journal
from sightline.plan.plan import Plan
from sightline.plan.view import Budget, View, said_units
from sightline.values.items import Kind
from sightline.values.recall_tools import RECALL_TOOLS
from sightline.wire.payload import Payload

_NO_LIMIT = 1 << 62


def compose_all(journal: Journal) -> Payload:
    """Compose everything that was said on the journal's branch, in full.

    What the engine adds is left out: summaries, recalled passages, and its own tools.
    """
    timeline = journal.timeline
    units = [unit for unit in said_units(timeline, journal.path) if timeline.unit_kind(unit) is not Kind.RECALL]
    inputs = ComposeInputs(
        system=tuple(timeline.head_rows(journal.path)),
        tools=tuple(tool for tool in journal.tools.definitions if tool not in RECALL_TOOLS),
    )
    view = View(timeline, journal.path, journal.reader.profile, Budget(_NO_LIMIT), _NO_LIMIT, 0, None, units)
    return render(journal.reader, Plan.extended(view, {}, {}), layout("stable"), inputs)
