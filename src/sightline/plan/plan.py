"""Plans: which units are in, and the level of each of their items. Data; the laws are checked when one is made."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import pairwise
from math import ceil, floor
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import Struct

from sightline.errors import BadInput, PinnedOverflow, StrategyError
from sightline.log.annotations import REDUCTIONS
from sightline.log.branches import Compaction, Path
from sightline.log.timeline import HEAD, Timeline
from sightline.values.items import Kind, Lod
from sightline.values.profiles import Profile

if TYPE_CHECKING:
    from sightline.plan.reductions import Reduction


class Budget(Struct, frozen=True):
    """How much may be sent, in tokens of the model.

    window: what the model takes; output: room kept for its answer. A sweep must come above `trigger` of what the head
    leaves of the rest and goes down to `target` if levels alone can: far below, because each sweep makes the provider
    cache everything after it again. recall: the share that recalled pieces may take in a running conversation.
    windows: the share that live windows may take; those that do not fit are shown at a lower level.
    """

    window: int
    output: int = 0
    trigger: float = 0.95
    target: float = 0.5
    recall: float = 0.1
    windows: float = 0.25

    def __post_init__(self) -> None:
        shares = (self.trigger, self.target, self.recall, self.windows)
        if not isinstance(self.window, int) or not isinstance(self.output, int):
            raise BadInput(f"a budget's window and output are whole tokens; got {self.window!r} and {self.output!r}")
        if not all(isinstance(share, int | float) for share in shares):
            raise BadInput(f"a budget's trigger, target, recall and windows are shares between 0 and 1; got {shares!r}")
        if self.window <= 0 or not 0 <= self.output < self.window:
            raise BadInput(f"a budget needs 0 <= output < window; got window={self.window}, output={self.output}")
        if not 0 < self.target <= self.trigger <= 1 or not 0 <= self.recall <= 1 or not 0 <= self.windows <= 1:
            raise BadInput("a budget needs 0 < target <= trigger <= 1, 0 <= recall <= 1 and 0 <= windows <= 1")

    def limit(self, factor: float = 1.0, margin: float = 0.0) -> int:
        """Tokens as we count them that a payload may have, when the model counts `factor` times as many."""
        room = self.window - self.output
        return min(room, floor(room / (factor * (1 + margin))))


WORTHWHILE = 100  # tokens: an item that would save less stays as it is while there is room
SETTLING = frozenset((Kind.ASSISTANT, Kind.CALL, Kind.RESULT))
INDEX = 0.15  # of the room beside the head: what the lines for left-out units may take
MARKER = 80  # tokens: the line before them is never longer
_NAMED = 3  # items that an error names where all of them together are too much


class LeftOut(NamedTuple):
    """The units that are out: how many messages and tokens, and the first and last of them."""

    messages: int
    tokens: int
    first: int
    last: int


class Line(NamedTuple):
    """One item of a plan, for printing."""

    id: str
    kind: Kind
    lod: Lod
    tokens: int
    full_tokens: int
    why: str


class Words:
    """What the engine itself says in a payload: for what is out, and before the history. Each with its tokens."""

    room = 0  # tokens that the preface may take
    locale = "en"

    def marker(
        self,
        left_out: LeftOut,  # noqa: ARG002 - nothing is said by default
        shown: Collection[int] = (),  # noqa: ARG002
        room: int = 0,  # noqa: ARG002
    ) -> tuple[str, int]:
        """One line that stands for what is left out, and in so many tokens a line for each unit that is not shown."""
        return "", 0

    def preface(
        self,
        units: Collection[int],  # noqa: ARG002
        lods: Mapping[int, Lod],  # noqa: ARG002
        says: str,  # noqa: ARG002
        most: int | None = None,  # noqa: ARG002
    ) -> tuple[str, int]:
        """What a plan of these units at these levels would hide and may not, and what its strategy says.

        With `most`, in at most so many tokens, except for what the strategy says.
        """
        return "", 0


@dataclass(frozen=True, slots=True)
class View:
    """What a strategy sees: numbers, never text."""

    timeline: Timeline
    path: Path
    profile: Profile
    budget: Budget
    limit: int
    fixed: int  # tokens of the head, the tail and the request's framing
    last: "Plan | None"
    new: Sequence[int]  # body units that no plan has seen yet
    pinned: frozenset[int] = frozenset()  # rows a caller pinned
    asked: int = -1  # the unit of the last user message; -1 before the first
    cold: bool = False  # the provider has forgotten the prefix, or it breaks anyway
    command: str = ""  # somebody asked for a sweep
    wanted: Mapping[int, Lod] = field(default_factory=dict)  # rows asked to be at a level from the next sweep on
    compactions: Sequence[Compaction] = ()  # that hold: from the next sweep on, summaries stand for what they cover
    state: Mapping[str, Any] = field(default_factory=dict)  # what the strategy was told to remember
    faults: frozenset[int] = frozenset()  # new rows that show again what had been shortened
    back: Sequence[int] = ()  # units that somebody wants to see again
    words: "Words" = field(default_factory=Words)  # what the engine says about a plan
    reductions: Collection[str] = REDUCTIONS  # those that are allowed; without gists the timeline has no lower levels

    def row_tokens(self, row: int, lod: Lod) -> int:
        """What an item costs at a level, framing included."""
        framing = self.profile.call_tokens if self.timeline.kind[row] == Kind.CALL else self.profile.message_tokens
        return self.timeline.size(row, lod) + framing

    def unit_tokens(self, unit: int, lods: Mapping[int, Lod]) -> int:
        """What a unit costs at these levels."""
        return sum(self.row_tokens(row, lods.get(row, Lod.FULL)) for row in self.timeline.rows_of(unit))

    def full_tokens(self, units: Iterable[int]) -> int:
        """What whole units cost in full, without looking at their rows."""
        full, rows = self.timeline.unit_full, self.timeline.unit_rows
        tokens = messages = calls = 0
        for unit in units:
            tokens += full[unit]
            calls += rows[unit] // 2
            messages += rows[unit] - rows[unit] // 2
        return tokens + self.profile.message_tokens * messages + self.profile.call_tokens * calls

    def framing(self, unit: int) -> int:
        """What the framing of a whole unit costs: half of an assistant message's further rows are calls."""
        rows = self.timeline.unit_rows[unit]
        return self.profile.message_tokens * (rows - rows // 2) + self.profile.call_tokens * (rows // 2)

    def saved(self, lods: Mapping[int, Lod]) -> int:
        """What these levels save against showing their rows in full."""
        full, size = self.timeline.full, self.timeline.size
        return sum(full[row] - size(row, lod) for row, lod in lods.items())

    def spare(self, unit: int, lods: Mapping[int, Lod]) -> int:
        """What settling a unit would save: every item that is worth it goes to its lowest level."""
        timeline = self.timeline
        if timeline.unit_full[unit] - timeline.unit_least[unit] < WORTHWHILE:
            return 0
        rows = timeline.rows_of(unit)
        saved = [timeline.size(row, lods.get(row, Lod.FULL)) - timeline.size(row, Lod.GIST) for row in rows]
        return sum(tokens for row, tokens in zip(rows, saved, strict=True) if self.settles(row, tokens))

    def settles(self, row: int, saved: int) -> bool:
        """Whether an item sinks when its unit settles: it saves enough by it and is not what the user said."""
        return saved >= WORTHWHILE and self.timeline.kind[row] in SETTLING and not self.never_reduced(row)

    def candidates(self) -> list[int]:
        """The units a sweep chooses from: those shown, the new ones, those that come back, and summaries.

        What a compaction covers is not among them, except what the laws keep in every plan.
        """
        known = [*(self.last or ()), *self.new]
        if not self.back and not self.timeline.more.compactions:
            return known
        summaries = {unit for compaction in self.compactions for unit in compaction.summaries}
        kept = [unit for unit in known if not self.is_covered(unit)]
        return sorted({*kept, *self.back, *summaries, *self.must_show.intersection(known)})

    def covers(self, left_out: LeftOut) -> bool:
        """Whether a summary stands for everything that is left out."""
        return any(each.first <= left_out.first and left_out.last <= each.last for each in self.compactions)

    def is_covered(self, unit: int) -> bool:
        """Whether a summary stands for this unit, or it is one itself."""
        if self.timeline.kind[self.timeline.unit_row[unit]] == Kind.SUMMARY:
            return True  # those that hold are added
        return any(compaction.first <= unit <= compaction.last for compaction in self.compactions)

    @property
    def must_show(self) -> set[int]:
        """The units that the laws keep in every plan: with system items and callers' pins, and the question."""
        rows = [*self.timeline.more.systems, *self.pinned]
        return {self.asked, *(self.timeline.unit[row] for row in rows)}

    @property
    def trims(self) -> bool:
        """Whether units may be left out."""
        return "trim" in self.reductions

    def required(self) -> set[int]:
        """The units that a sweep must show: what the laws keep or, where none may be left out, all it chooses from."""
        units = set(self.candidates())
        return units & self.must_show if self.trims else units

    @property
    def summary_waits(self) -> bool:
        """Whether a summary has been made that no sweep has shown yet."""
        return any(unit not in (self.last or ()) for each in self.compactions for unit in each.summaries)

    def never_reduced(self, row: int) -> bool:
        """Whether the laws keep this item in full: system items and callers' pins."""
        return self.timeline.kind[row] == Kind.SYSTEM or row in self.pinned


class Strategy(Protocol):
    """Decides levels. Pure and synchronous: the same view gives the same plan."""

    name: str

    def plan(self, view: View) -> "Plan":
        """A plan for the next call: `Plan.extended` where nothing shown changes, else `Plan.swept`."""
        ...


class Plan:
    """Units in seq order and the level of every item in them. Immutable; plans share what they have in common."""

    __slots__ = (
        "_count", "_from", "_key", "_units", "base", "body", "calls", "checked", "fixed", "left_out", "limit", "lods",
        "marker", "path", "preface", "preface_tokens", "profile", "reason", "rows", "spare", "timeline", "weighed",
        "why",
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
        self.lods, self.why = lods, why  # of this plan's rows; later plans add rows of their own
        self.body, self.fixed, self.limit = body, view.fixed, view.limit
        self.base = base  # tokens of the body right after the last sweep
        self.weighed = 0  # how many of its units the last sweep weighed
        self.spare = 0  # tokens that settling the units since then would save
        self.calls = 0  # how many plans were made since then, this one included
        self.reason, self.left_out, self.marker = reason, left_out, marker
        self.preface, self.preface_tokens = "", 0
        self.checked = False  # whether the laws were: `extended` and `swept` do
        self.rows = len(view.timeline)  # rows it knows of
        self._key = object()
        self._from: object = None  # the key of the plan it extends

    @property
    def tokens(self) -> int:
        """Of the whole payload."""
        return self.fixed + self.body

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return True  # a plan that shows nothing but what it left out is still a plan

    def __iter__(self) -> Iterator[int]:
        """The units that are in."""
        return iter(self._units[: self._count])

    def __contains__(self, unit: int) -> bool:
        at = bisect_left(self._units, unit, 0, self._count)
        return at < self._count and self._units[at] == unit

    def after(self, count: int, most: int | None = None) -> Sequence[int]:
        """The units after the first so many, or only the next few of them."""
        first = max(0, count)
        return self._units[first : self._count if most is None else min(first + most, self._count)]

    def since(self, plan: "Plan | None") -> Sequence[int]:
        """The units this plan adds to one it extends."""
        return self._units[len(plan) if plan is not None else 0 : self._count]

    def lod(self, row: int) -> Lod:
        """The level of an item of a unit that is in."""
        return self.timeline.level(row, self.lods.get(row, Lod.FULL))

    def levels(self) -> dict[int, Lod]:
        """The levels of this plan's rows, without those that a plan made from it has added."""
        return {row: lod for row, lod in self.lods.items() if row < self.rows}

    def extends(self, plan: "Plan | None") -> bool:
        """Whether everything the other plan shows is shown the same way here, first."""
        return plan is not None and self._from is plan._key

    def reductions(self, spared: Mapping[str, int]) -> "tuple[Reduction, ...]":
        """See `Payload.reductions`; `spared` is what windows saved."""
        from sightline.plan.reductions import reductions

        return reductions(self, spared)

    def gaps(self) -> list[tuple[int, int]]:
        """What is not shown, as runs of units (first, last)."""
        edges = [-1, *self, self.timeline.unit_count(self.rows)]
        return [(before + 1, after - 1) for before, after in pairwise(edges) if after > before + 1]

    @classmethod
    def extended(cls, view: View, lods: Mapping[int, Lod], why: Mapping[int, str]) -> "Plan":
        """The last plan and the new units, at these levels; nothing shown before changes.

        Raises:
            StrategyError: that is more than the limit, or a pinned or system item is reduced.
        """
        _check_levels(view, lods)
        last = view.last or cls(view, [], {}, {}, body=0)
        _check_allowed(view, last)
        body = last.body + view.full_tokens(view.new) - view.saved(lods)
        if view.fixed + body > view.limit:
            raise StrategyError(f"a plan of {view.fixed + body} tokens is over the limit of {view.limit}")
        units, all_lods, all_why = last._units, last.lods, last.why
        if len(units) != len(last):  # another plan went on from here before: leave it alone
            units = units[: len(last)]
            all_lods = {row: lod for row, lod in all_lods.items() if row < last.rows}
            all_why = {row: reason for row, reason in all_why.items() if row < last.rows}
        units.extend(view.new)
        all_lods.update(lods)
        all_why.update(why)
        plan = cls(view, units, all_lods, all_why, body=body, left_out=last.left_out, marker=last.marker)
        plan.preface, plan.preface_tokens = last.preface, last.preface_tokens
        plan.base, plan._from, plan.checked = last.base, last._key, True
        plan.weighed, plan.calls = last.weighed, last.calls + 1
        plan.spare = last.spare + sum(view.spare(unit, lods) for unit in view.new)
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
        """A new list of units at these levels, in place of the last plan. One line stands for what `left_out` counts,
        and after it one for each of its newest units, as far as there is room.

        `says` is what the strategy itself has to tell the model, before the history.

        Raises:
            PinnedOverflow: what may not be reduced is larger than the limit.
            StrategyError: the units are out of order, or a pinned item, a system item or the question is missing.
        """
        if any(before >= after for before, after in pairwise(units)):
            raise StrategyError("the units of a plan must stand in seq order, each once")
        shown = set(units)
        lods = {row: lod for row, lod in lods.items() if lod is Lod.FULL or view.timeline.level(row, lod) < Lod.FULL}
        _check_levels(view, lods)
        for unit in view.required() - shown:
            item = view.timeline.id(view.timeline.unit_row[unit])
            because = "it is pinned, a system item or the question" if view.trims else "nothing may be left out"
            raise StrategyError(f"item #{item} must be in every plan: {because}")
        preface = view.words.preface(shown, lods, says)
        body = preface[1] + view.full_tokens(units) - view.saved(lods)
        room, free = int(INDEX * (view.limit - view.fixed)), view.limit - view.fixed - body - MARKER
        text, tokens = view.words.marker(left_out, shown, min(room, free // 2)) if left_out else ("", 0)
        body += tokens
        if view.fixed + body > view.limit:  # what must be in has all the room: rules give way before anything fails
            without = body - preface[1]
            preface = view.words.preface(shown, lods, says, view.limit - view.fixed - without)
            body = without + preface[1]
        if view.fixed + body > view.limit:
            _overflow(view, view.fixed + body, preface[1] if says else 0)
        plan = cls(view, units, lods, why, body=body, base=body, reason=reason, left_out=left_out, marker=text)
        plan.preface, plan.preface_tokens, plan.checked = *preface, True
        plan.weighed = len(plan)
        return plan

    def lines(self) -> Iterator[Line]:
        """Every item that is in."""
        for unit in self:
            for row in self.timeline.rows_of(unit):
                lod = self.lod(row)
                yield Line(
                    self.timeline.id(row),
                    Kind(self.timeline.kind[row]),
                    lod,
                    self.timeline.size(row, lod),
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


def _check_levels(view: View, lods: Mapping[int, Lod]) -> None:
    for row, lod in lods.items():
        if lod is not Lod.FULL and view.never_reduced(row):
            raise StrategyError(f"item #{view.timeline.id(row)} is pinned or a system item: it is shown in full")


def _check_allowed(view: View, last: "Plan") -> None:
    """What the last plan shows can stay only if the settings still allow it: a change of them is a command to sweep."""
    if "gists" not in view.reductions and any(lod is not Lod.FULL for lod in last.levels().values()):
        raise StrategyError("items are shown below FULL, which is switched off: only a sweep can go on from here")
    if not view.trims and any(unit not in last for unit in {*view.back} - {*view.new}):
        raise StrategyError("units are left out, which is switched off: only a sweep can go on from here")


def _overflow(view: View, tokens: int, said: int) -> None:
    timeline = view.timeline
    pinned = [f"what the strategy says ({said} tokens)"] if said else []
    pinned += [f"#{timeline.id(row)} ({timeline.full[row]} tokens)" for row in sorted(view.pinned)]
    if not view.trims:
        rows = [row for unit in view.candidates() for row in timeline.rows_of(unit)]
        largest = nsmallest(_NAMED, rows, key=lambda row: (-timeline.full[row], row))
        pinned += ["all that was said, since trim is switched off"]
        pinned += [f"of it #{timeline.id(row)} ({timeline.full[row]} tokens)" for row in largest]
    if view.asked >= 0 and not pinned:
        pinned = [f"the last user message, #{timeline.id(timeline.unit_row[view.asked])}"]
    raise PinnedOverflow([f"system, tools and windows ({view.fixed} tokens)", *pinned], tokens - view.limit)


def oldest(view: View, units: Iterable[int], share: float) -> tuple[int, int] | None:
    """What a compaction would cover if the newest share of the messages in these units stays: its first and last unit.

    It begins with the first unit of the branch, shown or not. None where that is too little.
    """
    timeline = view.timeline
    shown = [unit for unit in units if not view.is_covered(unit)]
    sizes = [messages_of(timeline, unit) for unit in shown]
    stay, waits = ceil(sum(sizes) * share), _waits_from(view)
    while sizes and (stay > 0 or shown[len(sizes) - 1] >= waits):
        stay -= sizes.pop()
    every = timeline.units_between(view.path, 0, len(timeline))
    first = next((unit for unit in every if body_unit(timeline, unit)), -1)
    return (first, shown[len(sizes) - 1]) if first >= 0 and sum(sizes) > 1 else None


def _waits_from(view: View) -> int:
    """The first unit that still waits for a result: nobody can tell yet what it is."""
    timeline = view.timeline
    rows = [row for row in timeline.more.open_calls if view.path.holds(timeline.branch[row], row)]
    return min((timeline.unit[row] for row in rows), default=1 << 62)


def messages_of(timeline: Timeline, unit: int) -> int:
    """How many messages a unit is: calls stand in the message that makes them."""
    return timeline.unit_rows[unit] - timeline.unit_rows[unit] // 2


def body_unit(timeline: Timeline, unit: int) -> bool:
    """Whether a unit stands in the body: not a head's system item, not a window, which stands where the layout says."""
    row = timeline.unit_row[unit]
    return timeline.kind[row] != Kind.WINDOW and not timeline.state[row] & HEAD
