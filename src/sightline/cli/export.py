"""A whole conversation as one payload: everything in full, for the wire to write."""

from collections.abc import Iterator

from sightline.compose import inputs
from sightline.compose.render import ComposeInputs, layout, render
from sightline.log.journal import Journal
from sightline.plan.budget import Budget
from sightline.plan.plan import Plan
from sightline.plan.view import View
from sightline.recall.recall import RECALL_TOOLS
from sightline.values.items import Kind
from sightline.wire.payload import Payload

FORMATS = ("openai", "anthropic", "responses", "jsonl")
_NO_LIMIT = 1 << 62


def conversation(journal: Journal) -> Payload:
    """What was said on the journal's branch, in full; not what the engine adds, recalled pieces and its own tools."""
    around = ComposeInputs(
        system=tuple(journal.timeline.head_rows(journal.path)),
        tools=tuple(tool for tool in journal.tools.definitions if tool not in RECALL_TOOLS),
    )
    budget = Budget(window=_NO_LIMIT)
    view = View(
        journal.timeline, journal.path, journal.reader.profile, budget, _NO_LIMIT, 0, None, list(_said(journal))
    )
    return render(journal.reader, Plan.extended(view, {}, {}), layout("stable"), around)


def message_count(journal: Journal) -> int:
    """How many messages that are, the head's system messages included."""
    payload = conversation(journal)
    return len(payload.system) + len(payload.body)


def _said(journal: Journal) -> Iterator[int]:
    timeline = journal.timeline
    for unit in inputs.new_units(journal, 0):
        if timeline.kind[timeline.unit_row[unit]] != Kind.RECALL:
            yield unit
