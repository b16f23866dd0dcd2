"""The oldest part of a conversation alone: for a model that is to summarise it and needs to see nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from msgspec.structs import replace as with_fields

from sightline.compose.render import ComposeInputs, layout, render
from sightline.log.reader import Reader
from sightline.plan.plan import Plan
from sightline.plan.strategies.focus import Focus
from sightline.plan.strategies.sliding import begins_turn
from sightline.plan.view import Notices, View, body_unit
from sightline.values.items import Kind
from sightline.wire.payload import Payload

_FULL = 0.8  # of the limit: the rest is for the request and the answer


class Passage(NamedTuple):
    """A payload that shows a passage, and the last unit of it that is in."""

    payload: Payload
    last: int


def passage(reader: Reader, view: View, around: Payload, first: int, last: int) -> Passage:
    """The units from first to last behind the head of another payload, with the summaries that stand for some of them.

    A summary must have seen what it stands for. So what was left out of the conversation's own payloads is shown too,
    large items are shortened, and where all of it does not fit the passage ends with an earlier turn.
    """
    for end in _ends(view, first, last):
        plan = _plan(view, first, end)
        if set(plan).issuperset(_alone(view, first, end).candidates()):
            break
    shown = render(reader, plan, layout("stable"), ComposeInputs())
    return Passage(replace(around, body=shown.body, tail=(), breakpoints=(), plan=plan, tokens=plan.tokens), end)


def _ends(view: View, first: int, last: int) -> Iterator[int]:
    """Where the passage may end: as wished, or before one of the turns in it, the latest first."""
    yield last
    units = [unit for unit in _units(view, first, last) if not any(c.first <= unit <= c.last for c in view.compactions)]
    starts = [at for at, unit in enumerate(units) if at and begins_turn(view.timeline, unit)]
    yield from (units[at - 1] for at in reversed(starts))


def _plan(view: View, first: int, last: int) -> Plan:
    return Focus().plan(_alone(view, first, last))


def _alone(view: View, first: int, last: int) -> View:
    """The conversation as if there were only these units."""
    inside = [each for each in view.compactions if first <= each.first and each.last <= last]
    return replace(
        view, budget=with_fields(view.budget, trigger=_FULL, target=_FULL), last=None, new=_units(view, first, last),
        compactions=inside, pinned=frozenset(), asked=-1, wanted={}, back=(), command="passage", notices=Notices(),
    )  # fmt: skip


def _units(view: View, first: int, last: int) -> list[int]:
    timeline = view.timeline
    units = timeline.units_between(view.path, timeline.unit_row[first], timeline.unit_row[last] + 1)
    return [
        unit for unit in units if body_unit(timeline, unit) and timeline.kind[timeline.unit_row[unit]] != Kind.SUMMARY
    ]
