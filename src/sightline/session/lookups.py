"""What a session looks up in its log: the system prompt in force, unread dialogue, annotations, and everything."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec

from sightline.compose.render import ComposeInputs, layout, render
from sightline.log import entries
from sightline.log.journal import Journal
from sightline.log.stores import Store
from sightline.plan.plan import Plan
from sightline.plan.strategies.sliding import begins_turn
from sightline.plan.view import Budget, View, said_units
from sightline.values.items import Item, Kind, Part
from sightline.values.recall_tools import RECALL_TOOLS
from sightline.wire.payload import Payload

_NO_LIMIT = 1 << 62
_OF_MODEL = frozenset({Kind.ASSISTANT, Kind.CALL})


class Answer(NamedTuple):
    """What a model said after an item: its last item, and a branch that has it."""

    item: str
    branch: str
    parts: list[Part]


class Annotation(NamedTuple):
    """An annotation as the log has it: the seq of its entry, the branch it was written on, and its value."""

    seq: int
    branch: str
    value: Any


def read_annotations(store: Store, name: str, start: int = 0) -> Iterator[Annotation]:
    """Yield the annotations of this name from this offset on, in log order. Lines that cannot be read are none."""
    marked = b'"subtype":' + msgspec.json.encode(name)
    for line in store.scan(start):
        if marked not in line.data or not entries.is_intact(line.data):
            continue
        try:
            entry = entries.decode(line.data)
            if entry.type == "system" and entry.subtype == name:  # a message may hold the same words
                yield Annotation(entry.seq, entry.branch, msgspec.json.decode(entry.data))
        except entries.UNREADABLE:
            continue


def find_system(journal: Journal, text: str, *, replace: bool) -> int | None:
    """Return the row of a system prompt with this text that need not be added again; None if there is none."""
    timeline = journal.timeline
    rows = timeline.head_rows(journal.path)
    if not replace:
        rows = list(timeline.rows_on(journal.path, reversed(timeline.systems)))
    elif len(rows) > 1:  # all of them are replaced, also by a text that one of them has
        rows = []
    return next((row for row in rows if journal.reader.text(row) == text), None)


def read_unread(journal: Journal) -> list[Item]:
    """Return the dialogue that the strategy's state does not account for. See `Session.unread`."""
    timeline = journal.timeline
    since = range(max(timeline.rows_read(journal.path), 0), len(timeline))
    questions = {row for row in timeline.rows_on(journal.path, since) if begins_turn(timeline, timeline.unit[row])}
    said = (row for row in timeline.rows_on(journal.path, since) if timeline.kind[row] == Kind.ASSISTANT)
    rows = sorted(questions.union(said)) if questions else []
    answers = rows.index(min(questions)) if questions else 0
    return [journal.reader.item(row) for row in rows[max(answers - 1, 0) :]]


def read_answers(journal: Journal, item_id: str) -> Iterator[Answer]:
    """Yield what a model said right after an item, on each branch that has it."""
    timeline = journal.timeline
    if (row := timeline.row(item_id)) is None or row + 1 == len(timeline):
        return
    for number, branch in enumerate(timeline.branches):
        path = timeline.path(number)
        if not path.holds(timeline.branch[row], row):
            continue
        later = timeline.rows_on(path, range(row + 1, len(timeline)))
        if said := [*takewhile(lambda later_row: timeline.kind[later_row] in _OF_MODEL, later)]:
            parts = [part for said_row in said for part in journal.reader.item(said_row).parts]
            yield Answer(timeline.id(said[-1]), branch.name, parts)


def compose_all(journal: Journal) -> Payload:
    """Compose everything that was said on the journal's branch, in full and whatever its size: for export.

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
