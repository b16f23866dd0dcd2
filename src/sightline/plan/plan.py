"""Plans: which units are shown, and each of their items at which level of detail.

`Plan.extended` and `Plan.swept` check what must hold for every payload, so that no strategy can break it. `allowed` is
the view that a strategy gets, `check_plan` refuses a plan that was made for another view.
"""

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from heapq import nsmallest
from itertools import pairwise
from typing import NamedTuple, cast

from msgspec.structs import replace

from sightline.errors import PinnedOverflow, StrategyError
from sightline.log.annotations import RecallNote
from sightline.log.columns import HEAD, LEADING, NONE
from sightline.plan.view import (
    LeftOut,
    Notices,
    Unchanged,
    View,
    body_unit,
    complete_units,
    named_again,
    row_tokens,
    spared_tokens,
)
from sightline.shorten.sample import encodable
from sightline.values.items import FULL, GIST, Kind, Lod

INDEX = 0.08  # share of the body's tokens that the index lines of left-out units may take
MARKER = 80  # tokens: the line before the index lines is never longer
_NAMED = 3  # how many of the largest items an error names


class Reduction(NamedTuple):
    """The ids of what one reduction shortened or removed, and the tokens saved, less those of what replaces it."""

    kind: str
    removed: tuple[str, ...]
    tokens: int


class Line(NamedTuple):
    """One item of a plan, for printing."""

    id: str
    kind: Kind
    lod: Lod
    tokens: int
    full_tokens: int
    why: str


class Plan:
    """Units in seq order and the level of every item in them. Immutable; plans share what they have in common."""

    __slots__ = (
        "_count", "_extended_key", "_key", "_units", "base", "body", "checked", "files", "fixed",
        "left_out", "limit", "lods", "marker", "path", "preface", "preface_tokens", "profile", "reason", "rows", "says",
        "timeline", "unchanged", "why", "windows",
    )  # fmt: skip

    def __init__(
        self,
        view: View,
        units: list[int],
        lods: dict[int, Lod],
        why: dict[int, str],
        *,
        body: int,
        base: int = 0,
        reason: str = "",
        left_out: LeftOut | None = None,
        marker: str = "",
    ) -> None:
        self.timeline, self.path, self.profile = view.timeline, view.path, view.profile
        self._units, self._count = units, len(units)
        self.lods, self.why = lods, why  # by row; a plan that extends this one adds rows to the same dicts
        self.unchanged: Mapping[
            int, Unchanged
        ] = {}  # results that name the earlier one they are the same as; no sweep has any
        self.body, self.fixed, self.limit = body, view.fixed, view.limit  # in tokens
        self.windows = view.windows  # of `fixed`
        self.base = base  # tokens of the body right after the last sweep
        self.reason, self.left_out, self.marker = reason, left_out, marker
        self.preface, self.preface_tokens = "", 0
        self.says = ""  # what the strategy says in the preface
        self.files: RecallNote | None = None  # lines of files to be shown after a sweep, which made room for them
        self.checked = False  # `extended` and `swept` set it once the plan has passed their checks
        self.rows = len(view.timeline)  # rows that there were when it was made
        self._key = object()
        self._extended_key: object = None  # the key of the plan it extends

    @property
    def tokens(self) -> int:
        """Tokens of the whole payload."""
        return self.fixed + self.body

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return True  # also if it shows no unit

    def __iter__(self) -> Iterator[int]:
        """The units that are shown."""
        return iter(self._units[: self._count])

    def __contains__(self, unit: int) -> bool:
        at = bisect_left(self._units, unit, 0, self._count)
        return at < self._count and self._units[at] == unit

    def after(self, count: int, most: int | None = None) -> Sequence[int]:
        """The units after the first `count`, at most `most` of them."""
        first = max(0, count)
        return self._units[first : self._count if most is None else min(first + most, self._count)]

    def since(self, plan: "Plan | None") -> Sequence[int]:
        """The units that this plan adds to the one it extends."""
        return self._units[len(plan) if plan is not None else 0 : self._count]

    def lod(self, row: int) -> Lod:
        """The level of an item whose unit is shown."""
        return self.timeline.level(row, self.lods.get(row, FULL))

    def size(self, row: int) -> int:
        """Tokens of an item whose unit is shown, without framing."""
        return same.tokens if (same := self.unchanged.get(row)) else self.timeline.size(row, self.lod(row))

    def levels(self) -> dict[int, Lod]:
        """The levels of this plan's rows, without those that an extending plan has added to `lods`."""
        return {row: lod for row, lod in self.lods.items() if row < self.rows}

    def extends(self, plan: "Plan | None") -> bool:
        """Whether this plan begins with all that the other one shows, at the same levels."""
        return plan is not None and self._extended_key is plan._key

    def reductions(self, spared: Mapping[str, int]) -> tuple[Reduction, ...]:
        """What a payload of this plan leaves out, compared with showing everything in full.

        `spared` is what lower levels of windows saved, in tokens by window. Everything in full, less what these four
        saved, plus the preface, is what is shown. Looks at the whole conversation: call it only when somebody asks.
        """
        timeline = self.timeline
        summarised = [
            compaction
            for compaction in timeline.compactions
            if self.path.knows(compaction) and any(unit in self for unit in compaction.summaries)
        ]
        hidden = [unit for unit in complete_units(timeline, self.path, 0, self.rows) if unit not in self]
        covered = [unit for unit in hidden if any(unit in compaction for compaction in summarised)]
        trimmed = sorted({*hidden}.difference(covered))
        summaries = [unit for unit in self if timeline.unit_kind(unit) is Kind.SUMMARY]
        rows = [row for unit in self for row in timeline.rows_of(unit)]
        shorter = [row for row in rows if self.lod(row) is not FULL or row in self.unchanged]
        saved = sum(timeline.full[row] - self.size(row) for row in shorter)
        units_tokens = sum(self.size(row) + self.profile.framing(timeline.kind[row]) for row in rows)
        marker_tokens = self.body - self.preface_tokens - units_tokens  # of the lines that replace what is left out
        return (
            Reduction("gists", tuple(map(timeline.id, shorter)), saved),
            Reduction("windows", tuple(spared), sum(spared.values())),
            Reduction("summaries", _items(self, covered), _tokens(self, covered) - _tokens(self, summaries)),
            Reduction("trim", _items(self, trimmed), _tokens(self, trimmed) - marker_tokens),
        )

    def gaps(self) -> list[tuple[int, int]]:
        """The units that are not shown, as runs (first, last)."""
        edges = [-1, *self, bisect_left(self.timeline.unit_row, self.rows)]  # the last: units that had begun by then
        return [(before + 1, after - 1) for before, after in pairwise(edges) if after > before + 1]

    @classmethod
    def extended(cls, view: View, lods: Mapping[int, Lod], why: Mapping[int, str]) -> "Plan":
        """The last plan and after it the new units, at these levels. Nothing that was shown before changes.

        In a pipe, it is the plan of the stage before, with these levels of new units.

        Raises:
            StrategyError: the plan is over the limit, reduces a pinned or system item, has a level for a row that is
                not new, or goes on from a plan whose reductions are now switched off.
        """
        _check_levels(view, {*view.new}, lods)
        if (stage := view.last_stage) is not None:
            return _after_stage(view, stage, lods, why)
        last = view.last or cls(view, [], {}, {}, body=0)
        if "gists" not in view.reductions and any(lod is not FULL for lod in last.levels().values()):
            raise StrategyError("items are shown below FULL, which is switched off: only a sweep can go on from here")
        if not view.trims and any(unit not in last for unit in {*view.back} - {*view.new}):
            raise StrategyError("units are left out, which is switched off: only a sweep can go on from here")
        named = named_again(view, lods)
        body = last.body + view.full_tokens(view.new) - view.saved(lods) - spared_tokens(view.timeline, named)
        if body > view.body_limit and not view.fits_later:
            raise StrategyError(
                f"a plan of {view.fixed + body} tokens is over the limit of {view.limit}: where the new units do not "
                "fit, return Plan.swept, which may show fewer units, or some at lower levels"
            )
        units, all_lods, all_why = last._units, last.lods, last.why
        if len(units) != len(last):  # another plan extends `last` already and uses the same lists: copy them
            units = units[: len(last)]
            all_lods = {row: lod for row, lod in all_lods.items() if row < last.rows}
            all_why = {row: reason for row, reason in all_why.items() if row < last.rows}
        units.extend(view.new)
        all_lods.update(lods)
        all_why.update(why)
        all_why.update((row, f"as in #{view.timeline.id(same.source)}, unchanged") for row, same in named.items())
        plan = cls(view, units, all_lods, all_why, body=body, left_out=last.left_out, marker=last.marker)
        plan.preface, plan.preface_tokens = last.preface, last.preface_tokens
        plan.base, plan._extended_key, plan.checked = last.base, last._key, True
        plan.unchanged = {**last.unchanged, **named} if named else last.unchanged
        return plan

    @classmethod
    def swept(
        cls,
        view: View,
        units: list[int],
        lods: dict[int, Lod],
        why: dict[int, str],
        *,
        reason: str,
        left_out: LeftOut | None = None,
        says: str = "",
    ) -> "Plan":
        """A new list of units at these levels, in place of the last plan.

        One line says what `left_out` counts, if it fits. Index lines follow for as many of its newest units as fit.
        `says` is a text of the strategy for the model, shown before the history. What was recalled for a message goes
        with it. In a pipe, what has no level here keeps that of the stage before.

        Raises:
            PinnedOverflow: the items that may not be reduced are larger than the limit.
            StrategyError: the units are unknown or out of order, a row has a level although its unit is not shown, or
                a pinned item, a system item or the question is missing; or there is more than fits although what must
                be shown does.
        """
        _check_units(view, units)
        unit_set = set(units)
        _check_levels(view, unit_set, lods)
        if view.last_stage is not None:
            lods, why, says = _on_stage(view, view.last_stage, unit_set, lods, why, says)
        lods = {row: lod for row, lod in lods.items() if lod is FULL or view.timeline.level(row, lod) < FULL}
        for unit in view.required() - unit_set:
            item = view.timeline.id(view.timeline.unit_row[unit])
            because = "it is pinned, a system item or the question" if view.trims else "nothing may be left out"
            raise StrategyError(f"item #{item} must be in every plan: {because}")
        units = [unit for unit in units if not _stands_alone(view, unit, unit_set)]
        if len(units) < len(unit_set):
            unit_set = set(units)
            lods = {row: lod for row, lod in lods.items() if view.timeline.unit[row] in unit_set}
        body = view.full_tokens(units) - view.saved(lods)
        notices = Notices() if view.fits_later else view.notices
        line = notices.marker(left_out)[1] if left_out else 0
        preface = notices.preface(unit_set, lods, encodable(says), view.body_limit - body - line)
        body += preface[1]
        index, free = int(INDEX * view.body_limit), view.body_limit - body - MARKER
        text, tokens = notices.marker(left_out, unit_set, min(index, free // 2), preface[0]) if left_out else ("", 0)
        if body + tokens > view.body_limit:  # what must be shown goes before our own line
            text, tokens = "", 0
        body += tokens
        if body > view.body_limit and not view.fits_later:
            _raise_overflow(view, unit_set, view.fixed + body, preface[1] if says else 0)
        if not isinstance(reason, str):
            raise StrategyError(f"the reason of a plan is a text, not {reason!r}")
        reason = encodable(reason)
        plan = cls(view, units, lods, why, body=body, base=body, reason=reason, left_out=left_out, marker=text)
        plan.preface, plan.preface_tokens, plan.says, plan.checked = *preface, says, True
        return plan

    def lines(self) -> Iterator[Line]:
        """Every item that is shown."""
        for unit in self:
            for row in self.timeline.rows_of(unit):
                yield Line(
                    self.timeline.id(row),
                    Kind(self.timeline.kind[row]),
                    GIST if row in self.unchanged else self.lod(row),
                    self.size(row),
                    self.timeline.full[row],
                    self.why.get(row, ""),
                )

    def __str__(self) -> str:
        heading = f"{self.tokens:,} of {self.limit:,} tokens, {len(self)} units" + (
            f", {self.reason}" if self.reason else ""
        )
        rows = [
            f"{'#' + line.id:>8}  {line.kind.name.lower():<9} {line.lod.name.lower():<7} {line.tokens:>7,}  {line.why}"
            for line in self.lines()
        ]
        return "\n".join([heading, *filter(None, (self.preface, self.marker)), *map(str.rstrip, rows)])


def check_plan(plan: object, view: View, name: str) -> None:
    """Raise StrategyError unless the strategy of this name has made this plan from this view.

    A plan that was made for an earlier view, and kept, lacks what was said since.
    """
    if not isinstance(plan, Plan) or not plan.checked:
        raise StrategyError(f"strategy {name!r} must return what Plan.extended or Plan.swept gives")
    is_other = plan.timeline.unit_row is not view.timeline.unit_row or plan.path is not view.path
    if is_other or plan.rows != len(view.timeline):
        raise StrategyError(f"strategy {name!r} returned a plan of another view; make a new one from each view")
    if plan.limit > view.limit:
        raise StrategyError(f"strategy {name!r} returned a plan for {plan.limit} tokens; {view.limit} are allowed")


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


def _after_stage(view: View, stage: Plan, lods: Mapping[int, Lod], why: Mapping[int, str]) -> Plan:
    """The plan of the stage before with these levels of new units, for a stage that changes nothing else."""
    if stage.reason:
        return Plan.swept(view, [*stage], {**lods}, {**why}, reason=stage.reason, left_out=stage.left_out)
    if not lods and (view.fits_later or stage.body <= view.body_limit):
        return stage
    rows = [row for unit in view.new for row in view.timeline.rows_of(unit) if row in stage.lods]
    before = {row: stage.lods[row] for row in rows}, {row: stage.why[row] for row in rows if row in stage.why}
    return Plan.extended(replace(view, last_stage=None), before[0] | {**lods}, before[1] | {**why})


def _on_stage(
    view: View, stage: Plan, unit_set: Collection[int], lods: dict[int, Lod], why: dict[int, str], says: str
) -> tuple[dict[int, Lod], dict[int, str], str]:
    """Levels, reasons and text of a stage, over those of the stage before."""
    rows = {row for row in stage.levels() if view.timeline.unit[row] in unit_set and not view.never_reduced(row)}
    lods = {row: stage.lods[row] for row in rows} | lods
    why = {row: stage.why[row] for row in rows if row in stage.why} | why
    return lods, why, "\n\n".join(filter(None, (stage.says, says)))


def _stands_alone(view: View, unit: int, unit_set: Collection[int]) -> bool:
    """Whether a unit was recalled for a message that is not shown. It stays if a caller pinned it."""
    timeline, row = view.timeline, view.timeline.unit_row[unit]
    if not timeline.state[row] & LEADING or row in view.pinned:
        return False
    return timeline.led_message(view.path, row) not in unit_set


def _check_units(view: View, units: Sequence[int]) -> None:
    if any(type(unit) is not int for unit in units) or any(before >= after for before, after in pairwise(units)):
        raise StrategyError("the units of a plan must be numbers in seq order, each once: take them from the view")
    candidates = set(view.candidates())
    for unit in units:
        if unit not in candidates and not _is_on_path(view, unit):
            raise StrategyError(
                f"there is no unit {unit} to show: view.candidates() lists the {len(candidates)} there are"
            )


def _is_on_path(view: View, unit: int) -> bool:
    """Whether a unit is of the body of this branch, also if an earlier plan has left it out."""
    timeline = view.timeline
    if not 0 <= unit < len(timeline.unit_row):
        return False
    row = timeline.unit_row[unit]
    return body_unit(timeline, unit) and view.path.holds(timeline.branch[row], row)


def _check_levels(view: View, unit_set: Collection[int], lods: Mapping[int, Lod]) -> None:
    timeline = view.timeline
    for row, lod in lods.items():
        if type(row) is not int or not 0 <= row < len(timeline) or timeline.unit[row] not in unit_set:
            raise StrategyError(
                f"a level is given for row {row!r}, which is of no unit that this plan shows or adds: levels are by "
                "row, and view.timeline.rows_of(unit) gives the rows of a unit"
            )
        if type(lod) is not Lod:
            raise StrategyError(f"the level of row {row} is {lod!r}: pass Lod.FULL, Lod.SUMMARY or Lod.GIST")
        if lod is not FULL and view.never_reduced(row):
            raise StrategyError(f"item #{timeline.id(row)} is pinned or a system item: it is shown in full")


def _raise_overflow(view: View, unit_set: set[int], tokens: int, strategy_tokens: int) -> None:
    """Raise PinnedOverflow with what is too large; StrategyError, if a plan shows units that it could leave out.

    `strategy_tokens` is the size of the strategy's own text.
    """
    timeline, must = view.timeline, view.required()
    if not strategy_tokens and unit_set - must and view.fixed + view.full_tokens(must) <= view.limit:
        raise StrategyError(
            f"a plan of {tokens} tokens is over the limit of {view.limit}: what must be shown fits, so show fewer of "
            "the other units, or some of them at lower levels"
        )
    pinned = [f"what the strategy says ({strategy_tokens} tokens)"] if strategy_tokens else []
    notes = [row for row in timeline.rows_on(view.path, timeline.systems) if not timeline.state[row] & HEAD]
    pinned += [f"#{timeline.id(row)} ({timeline.full[row]} tokens)" for row in sorted({*view.pinned, *notes})]
    if not view.trims:
        rows = [row for unit in view.candidates() for row in timeline.rows_of(unit)]
        largest = nsmallest(_NAMED, rows, key=lambda row: (-timeline.full[row], row))
        pinned += ["all that was said, since trim is switched off"]
        pinned += [f"of it #{timeline.id(row)} ({timeline.full[row]} tokens)" for row in largest]
    if view.asked >= 0 and not pinned:
        pinned = [f"the last user message, #{timeline.id(timeline.unit_row[view.asked])}"]
    raise PinnedOverflow([f"system, tools and windows ({view.fixed} tokens)", *pinned], tokens - view.limit)


def _tokens(plan: Plan, units: Iterable[int]) -> int:
    """Tokens of units in full, framing included."""
    rows = [row for unit in units for row in plan.timeline.rows_of(unit)]
    return sum(row_tokens(plan.timeline, plan.profile, row, FULL) for row in rows)


def _items(plan: Plan, units: Iterable[int]) -> tuple[str, ...]:
    return tuple(plan.timeline.id(row) for unit in units for row in plan.timeline.rows_of(unit))
