"""A payload with only the oldest part of a conversation, for a model that summarises it and need not see the rest."""

from collections.abc import Iterator

from msgspec.structs import replace

from sightline.compaction.unit_range import UnitRange
from sightline.compose.render import ComposeInputs, layout, render
from sightline.log.levels import Reader
from sightline.plan.strategies.focus import Focus
from sightline.plan.strategies.sliding import begins_turn
from sightline.plan.view import Notices, View
from sightline.wire.payload import Payload

_SHARE = 0.8  # of the token limit; the rest is for the request and the answer


def oldest_part(reader: Reader, view: View, around: Payload, first: int, last: int) -> tuple[Payload, int]:
    """Show the units from first to last, and summaries that cover some of them, behind the head of another payload.

    Return the payload, and the last unit that it shows.

    A model must have seen what its summary covers. So units that the conversation's own payloads leave out are shown
    too, large items are shortened, and if all that does not fit, the part ends with an earlier turn.
    """
    for end in _possible_ends(view, first, last):
        inside = [each for each in view.compactions if first <= each.first and each.last <= end]
        part = replace(  # the conversation as if it had only these units
            view, budget=replace(view.budget, trigger=_SHARE, target=_SHARE), last=None,
            new=_units(view, first, end), compactions=inside, pinned=frozenset(), asked=-1, wanted={}, back=(),
            command="passage", notices=Notices(),
        )  # fmt: skip
        plan = Focus().plan(part)
        if set(plan).issuperset(part.candidates()):
            break
    shown = render(reader, plan, layout("stable"), ComposeInputs())
    return replace(around, body=shown.body, tail=(), breakpoints=(), plan=plan, tokens=plan.tokens), end


def _possible_ends(view: View, first: int, last: int) -> Iterator[int]:
    """Yield the wished end, then the ends of earlier turns, the latest first."""
    yield last
    units = [
        unit
        for unit in _units(view, first, last)
        if not any(each.first <= unit <= each.last for each in view.compactions)
    ]
    starts = [at for at, unit in enumerate(units) if at and begins_turn(view.timeline, unit)]
    yield from (units[at - 1] for at in reversed(starts))


def _units(view: View, first: int, last: int) -> list[int]:
    return UnitRange(view.timeline, view.path, first, last).units()
