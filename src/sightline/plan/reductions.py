"""Reductions: the four ways to make a payload fit. Each can be switched off, and each reports what it saved."""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import NamedTuple, cast

from sightline.log.branches import NONE
from sightline.log.columns import Timeline
from sightline.plan.plan import Plan
from sightline.plan.view import View, body_unit
from sightline.values.items import Kind, Lod


class Reduction(NamedTuple):
    """The ids of what one reduction shortened or removed, and the tokens saved, less those of what replaces it."""

    kind: str
    removed: tuple[str, ...]
    tokens: int


def allowed(view: View) -> View:
    """The view as a strategy may see it. Without gists no item has lower levels, so that no strategy can choose one."""
    return view if "gists" in view.reductions else replace(view, timeline=_without_lower_levels(view.timeline))


class _EmptyColumn:
    """A column that has a value for no row."""

    def __getitem__(self, row: int) -> int:
        return NONE


def _without_lower_levels(timeline: Timeline) -> Timeline:
    """A copy that shares all other columns, so that it grows with the timeline."""
    same = copy(timeline)
    same.gist = same.summary = cast("array[int]", _EmptyColumn())
    same.unit_least = same.unit_full
    return same


def reductions(plan: Plan, spared: Mapping[str, int]) -> tuple[Reduction, ...]:
    """What a payload of this plan leaves out, compared with showing everything in full.

    `spared` is what lower levels of windows saved, in tokens by window. Everything in full, less what these four saved,
    plus the preface, is what is shown. Looks at the whole conversation, so call it only when somebody asks.
    """
    covered, trimmed = _hidden(plan)
    summaries = [unit for unit in plan if plan.timeline.unit_kind(unit) is Kind.SUMMARY]
    shorter = [row for unit in plan for row in plan.timeline.rows_of(unit) if plan.lod(row) is not Lod.FULL]
    full, size = plan.timeline.full, plan.timeline.size
    return (
        Reduction("gists", _ids(plan, shorter), sum(full[row] - size(row, plan.lod(row)) for row in shorter)),
        Reduction("windows", tuple(spared), sum(spared.values())),
        Reduction("summaries", _items(plan, covered), _tokens(plan, covered) - _tokens(plan, summaries)),
        Reduction("trim", _items(plan, trimmed), _tokens(plan, trimmed) - _marker_tokens(plan)),
    )


def _hidden(plan: Plan) -> tuple[list[int], list[int]]:
    """The units that are not shown: those covered by a summary that is shown, and the others."""
    known = plan.timeline.compactions
    shown = [each for each in known if plan.path.knows(each) and any(unit in plan for unit in each.summaries)]
    covered: list[int] = []
    trimmed: list[int] = []
    for unit in _sendable_units(plan):
        if unit not in plan:
            (covered if any(each.first <= unit <= each.last for each in shown) else trimmed).append(unit)
    return covered, trimmed


def _sendable_units(plan: Plan) -> Iterator[int]:
    """The body units that could be sent when the plan was made: without pending calls and summaries."""
    timeline = plan.timeline
    pending = {timeline.unit[row] for row in timeline.open_calls}
    for unit in timeline.units_between(plan.path, 0, plan.rows):
        if body_unit(timeline, unit) and unit not in pending and timeline.unit_kind(unit) is not Kind.SUMMARY:
            yield unit


def _tokens(plan: Plan, units: Iterable[int]) -> int:
    """Tokens of units in full, framing included."""
    return sum(_row_tokens(plan, row, Lod.FULL) for unit in units for row in plan.timeline.rows_of(unit))


def _row_tokens(plan: Plan, row: int, lod: Lod) -> int:
    framing = plan.profile.call_tokens if plan.timeline.kind[row] == Kind.CALL else plan.profile.message_tokens
    return plan.timeline.size(row, lod) + framing


def _marker_tokens(plan: Plan) -> int:
    """Tokens of the lines that replace what is left out."""
    shown = sum(_row_tokens(plan, row, plan.lod(row)) for unit in plan for row in plan.timeline.rows_of(unit))
    return plan.body - plan.preface_tokens - shown


def _items(plan: Plan, units: Iterable[int]) -> tuple[str, ...]:
    return _ids(plan, [row for unit in units for row in plan.timeline.rows_of(unit)])


def _ids(plan: Plan, rows: Iterable[int]) -> tuple[str, ...]:
    return tuple(map(plan.timeline.id, rows))
