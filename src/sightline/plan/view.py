"""What a strategy sees of a conversation: numbers, never text."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.log.branches import Compaction, Path
from sightline.log.columns import HEAD, Timeline
from sightline.plan.budget import Budget
from sightline.values.items import Kind, Lod
from sightline.values.profiles import Profile
from sightline.values.settings import REDUCTIONS

if TYPE_CHECKING:
    from sightline.plan.plan import Plan

WORTHWHILE = 100  # tokens: an item that would save less stays as it is while there is room
SETTLING = frozenset((Kind.ASSISTANT, Kind.CALL, Kind.RESULT))


class LeftOut(NamedTuple):
    """The units that are out: how many messages and tokens, and the first and last of them."""

    messages: int
    tokens: int
    first: int
    last: int


class Notices:
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
    notices: "Notices" = field(default_factory=Notices)  # what the engine says about a plan
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
        if not self.back and not self.timeline.compactions:
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
        rows = [*self.timeline.systems, *self.pinned]
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
    rows = [row for row in timeline.open_calls if view.path.holds(timeline.branch[row], row)]
    return min((timeline.unit[row] for row in rows), default=1 << 62)


def messages_of(timeline: Timeline, unit: int) -> int:
    """How many messages a unit is: calls stand in the message that makes them."""
    return timeline.unit_rows[unit] - timeline.unit_rows[unit] // 2


def body_unit(timeline: Timeline, unit: int) -> bool:
    """Whether a unit stands in the body: not a head's system item, not a window, which stands where the layout says."""
    row = timeline.unit_row[unit]
    return timeline.kind[row] != Kind.WINDOW and not timeline.state[row] & HEAD
