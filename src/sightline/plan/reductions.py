"""Reductions: the four ways to make a payload fit. Each can be switched off, and each reports what it saved."""

from array import array
from collections.abc import Iterable, Mapping
from copy import copy
from typing import NamedTuple, cast

from msgspec.structs import replace

from sightline.log.branches import NONE
from sightline.plan.plan import Plan
from sightline.plan.view import View, complete_units, row_tokens
from sightline.values.items import Kind, Lod


class Reduction(NamedTuple):
    """The ids of what one reduction shortened or removed, and the tokens saved, less those of what replaces it."""

    kind: str
    removed: tuple[str, ...]
    tokens: int


def allowed(view: View) -> View:
    """The view as a strategy may see it. Without gists no item has lower levels, so that no strategy can choose one."""
    if "gists" in view.reductions:
        return view
    same = copy(view.timeline)  # it shares all other columns, so that it grows with the timeline
    same.gist = same.summary = cast("array[int]", _EmptyColumn())
    same.unit_least = same.unit_full
    return replace(view, timeline=same, cut=lambda _row, _tokens: False)


class _EmptyColumn:
    """A column that has a value for no row."""

    def __getitem__(self, row: int) -> int:
        return NONE


def reductions(plan: Plan, spared: Mapping[str, int]) -> tuple[Reduction, ...]:
    """What a payload of this plan leaves out, compared with showing everything in full.

    `spared` is what lower levels of windows saved, in tokens by window. Everything in full, less what these four saved,
    plus the preface, is what is shown. Looks at the whole conversation, so call it only when somebody asks.
    """
    timeline, profile = plan.timeline, plan.profile
    known = [each for each in timeline.compactions if plan.path.knows(each)]
    summarised = [each for each in known if any(unit in plan for unit in each.summaries)]
    hidden = [unit for unit in complete_units(timeline, plan.path, 0, plan.rows) if unit not in plan]
    covered = [unit for unit in hidden if any(each.first <= unit <= each.last for each in summarised)]
    trimmed = sorted({*hidden}.difference(covered))
    summaries = [unit for unit in plan if timeline.unit_kind(unit) is Kind.SUMMARY]
    shown = [row for unit in plan for row in timeline.rows_of(unit)]
    shorter = [row for row in shown if plan.lod(row) is not Lod.FULL]
    saved = sum(timeline.full[row] - timeline.size(row, plan.lod(row)) for row in shorter)
    units_tokens = sum(row_tokens(timeline, profile, row, plan.lod(row)) for row in shown)
    marker_tokens = plan.body - plan.preface_tokens - units_tokens  # of the lines that replace what is left out
    return (
        Reduction("gists", tuple(map(timeline.id, shorter)), saved),
        Reduction("windows", tuple(spared), sum(spared.values())),
        Reduction("summaries", _items(plan, covered), _tokens(plan, covered) - _tokens(plan, summaries)),
        Reduction("trim", _items(plan, trimmed), _tokens(plan, trimmed) - marker_tokens),
    )


def _tokens(plan: Plan, units: Iterable[int]) -> int:
    """Tokens of units in full, framing included."""
    rows = [row for unit in units for row in plan.timeline.rows_of(unit)]
    return sum(row_tokens(plan.timeline, plan.profile, row, Lod.FULL) for row in rows)


def _items(plan: Plan, units: Iterable[int]) -> tuple[str, ...]:
    return tuple(plan.timeline.id(row) for unit in units for row in plan.timeline.rows_of(unit))
