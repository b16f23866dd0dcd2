"""What a strategy sees of a conversation: numbers, never text. Also the seam through which `notices` adds text."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import ceil, floor
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from sightline.errors import BadInput
from sightline.log.annotations import RecallNote
from sightline.log.columns import HEAD, LABELLED, OPAQUE, Compaction, Path, Timeline, pick
from sightline.values.items import FULL, GIST, SUMMARY, Kind, Lod
from sightline.values.profiles import Profile
from sightline.values.settings import REDUCTIONS

if TYPE_CHECKING:
    from sightline.plan.plan import Plan


_LOWER = {FULL: (SUMMARY, GIST), SUMMARY: (GIST,)}
_SYSTEM, _USER, _CALL, _WINDOW, _SUMMARY, _RECALL = (
    int(kind) for kind in (Kind.SYSTEM, Kind.USER, Kind.CALL, Kind.WINDOW, Kind.SUMMARY, Kind.RECALL)
)  # columns have plain numbers, which compare faster


SETTINGS_CHANGED = "settings changed"  # a command: see `View.command`


class Budget(Struct, frozen=True):
    """How much may be sent, in the model's tokens.

    window: tokens of the model's context window; output: those of them that are reserved for its answer.
    trigger, target: shares of the tokens that head and tail leave for the body. Above `trigger` a sweep is forced. It
    shortens items until the body is down to `target`. That is far below, because each sweep makes the provider cache
    everything after the first change again, so sweeps should be rare.
    recall: the share that recalled pieces may take for one message of a running conversation, even if a sweep must make
    room for it; up to 800 tokens if that is more and free, in the first payload up to 4,500. 0: nothing is recalled
    unasked.
    windows: the share that live windows may take; those that do not fit are shown at a lower level.
    """

    window: int
    output: int = 0
    trigger: float = 0.95
    target: float = 0.42
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
        """Tokens that a payload may have, as we count them, if the model counts `factor` times as many.

        `margin` is a share added to every count, for models whose counting is not known.
        """
        tokens = self.window - self.output
        return min(tokens, floor(tokens / (factor * (1 + margin))))


class LeftOut(NamedTuple):
    """The units that a plan leaves out: their messages and tokens, and the first and last of these units."""

    messages: int
    tokens: int
    first: int
    last: int


class Unchanged(NamedTuple):
    """The earlier result, shown in full, that a result is the same as, and the tokens of the text that says so."""

    source: int  # its row
    tokens: int


class Notices:
    """The texts that the engine itself adds to a payload, each with its tokens. By default there are none."""

    preface_limit = 0  # tokens that the constraints in the preface may take
    locale = "en"

    def marker(
        self,
        left_out: LeftOut,  # noqa: ARG002 - there is no text by default
        units_shown: Collection[int] = (),  # noqa: ARG002
        index_limit: int = 0,  # noqa: ARG002
        preface: str = "",  # noqa: ARG002
    ) -> tuple[str, int]:
        """The line that replaces what is left out, then index lines of single units, in up to `index_limit` tokens.

        They do not repeat what the `preface` says.
        """
        return "", 0

    def preface(
        self,
        units: Collection[int],  # noqa: ARG002
        lods: Mapping[int, Lod],  # noqa: ARG002
        says: str,  # noqa: ARG002
        most: int | None = None,  # noqa: ARG002
    ) -> tuple[str, int]:
        """The text before the history: what the strategy `says`, and the user's constraints that this plan would hide.

        `most` is the limit in tokens. It does not shorten what the strategy says.
        """
        return "", 0


class Files:
    """The files that are being worked on: see `recall.files_in_work`. By default there are none."""

    tokens = 0

    def holds(self, row: int) -> bool:  # noqa: ARG002 - there is no file by default
        """Whether the lines that a result shows are known."""
        return False

    def earlier(self, units: Iterable[int]) -> list[int]:  # noqa: ARG002
        """Those of these units that show files after an earlier sweep."""
        return []

    def choose(
        self,
        tokens: int,  # noqa: ARG002
        is_shown: Callable[[int], bool],  # noqa: ARG002
        *,
        only_named: bool = False,  # noqa: ARG002
    ) -> RecallNote | None:
        """The lines to show, in at most so many tokens, of those that no row shows in full."""
        return None


class View(Struct, frozen=True):
    """The conversation and the budget as a strategy sees them. A row is an item, a unit is a number too."""

    timeline: Timeline
    path: Path
    profile: Profile
    budget: Budget
    limit: int  # tokens of the whole payload, as we count them
    fixed: int  # tokens of the head, the tail and the request's framing: part of every payload
    last: "Plan | None"  # the plan of the last payload
    new: Sequence[int]  # body units that no plan has seen yet
    pinned: frozenset[int] = frozenset()  # rows a caller pinned
    asked: int = -1  # the question: the unit of the user's own last message; -1 before the first
    cold: bool = False  # the provider no longer has the prefix in its cache
    command: str = ""  # why a sweep must happen now, such as "command: pin"; empty: it need not
    wanted: Mapping[int, Lod] = field(default_factory=dict)  # rows that get this level at the next sweep
    out: frozenset[int] = frozenset()  # units that the next sweep leaves out, because somebody asked for it
    replaced: frozenset[int] = frozenset()  # those of them that the agent itself no longer sends
    by_model: Collection[int] = ()  # those of the wanted rows that the model asked for
    compactions: Sequence[Compaction] = ()  # in force: at the next sweep, their summaries replace what they cover
    state: Mapping[str, Any] = field(default_factory=dict)  # what the strategy remembers, from the log
    read: int = -1  # rows that this state accounts for; -1: nothing has ever been remembered
    faults: frozenset[int] = frozenset()  # new results that show again what had been shortened
    back: Sequence[int] = ()  # units to show again: of an undone compaction, or asked for
    notices: "Notices" = field(default_factory=Notices)
    superseded: Callable[[Iterable[int]], set[int]] = lambda _rows: set()  # see `Repeats.superseded`; reads texts
    mentions: Callable[[Iterable[int], Path], Mapping[int, int]] = lambda _rows, _path: {}  # see `Mentions.latest`
    cut: Callable[[int, int], bool] = lambda _row, _tokens: False  # see `Reader.cut`; makes texts
    files: "Files" = field(default_factory=Files)
    uncut: Callable[[], None] = lambda: None  # see `Reader.uncut`
    reductions: Collection[str] = REDUCTIONS  # those that are allowed; without gists the timeline has no lower levels
    unchanged: Mapping[int, Unchanged] = field(default_factory=dict)  # new results that may only name an earlier one
    last_stage: "Plan | None" = None  # in a pipe, the plan of the stage before, which this stage changes
    fits_later: bool = False  # in a pipe, whether stages follow, so that the budget is not up to this one
    windows: int = 0  # tokens of the live windows, which are part of `fixed`

    @property
    def body_limit(self) -> int:
        """Tokens that the body may have."""
        return self.limit - self.fixed

    def tokens_with_new(self, lods: Mapping[int, Lod] | None = None) -> int:
        """Tokens of a payload that adds the new units to the last plan, in full or at these levels.

        In a pipe, they are added as the stage before shows them.
        """
        levels = lods or {}
        if (stage := self.last_stage) is not None:
            lowered = {row: same for row, same in stage.unchanged.items() if row in levels}
            return stage.tokens - self.saved(levels) + spared_tokens(self.timeline, lowered)
        body = self.last.body if self.last else 0
        spared = spared_tokens(self.timeline, named_again(self, levels))
        return self.fixed + body + self.full_tokens(self.new) - self.saved(levels) - spared

    def row_tokens(self, row: int, lod: Lod) -> int:
        """Tokens of an item at a level, framing included."""
        return row_tokens(self.timeline, self.profile, row, lod)

    def unit_tokens(self, unit: int, lods: Mapping[int, Lod]) -> int:
        """Tokens of a unit at these levels, framing included."""
        return sum(self.row_tokens(row, lods.get(row, FULL)) for row in self.timeline.rows_of(unit))

    def full_tokens(self, units: Iterable[int]) -> int:
        """Tokens of whole units in full, framing included. Fast, because it does not look at their rows."""
        units = sorted({*units})
        if len(units) == 1:
            return self.timeline.unit_full[units[0]] + self.framing(units[0])
        rows, tokens = pick(self.timeline.unit_rows, units), sum(pick(self.timeline.unit_full, units))
        halves = sum([count // 2 for count in rows])  # see `framing`
        framing = self.profile.message_tokens * (sum(rows) - halves) + self.profile.call_tokens * halves
        return tokens + framing

    def framing(self, unit: int) -> int:
        """Tokens that frame a whole unit. Half of the rows after the first are calls, half are their results."""
        rows = self.timeline.unit_rows[unit]
        return self.profile.message_tokens * (rows - rows // 2) + self.profile.call_tokens * (rows // 2)

    def least_tokens(self, unit: int) -> int:
        """About how many tokens a whole unit has with each item at its lowest level, framing included."""
        return self.timeline.unit_least[unit] + self.framing(unit)

    def saved(self, lods: Mapping[int, Lod]) -> int:
        """Tokens that these levels save, compared with showing their rows in full."""
        full, size = self.timeline.full, self.timeline.size
        return sum([full[row] - size(row, lod) for row, lod in lods.items()]) if lods else 0

    def candidates(self) -> list[int]:
        """The units a sweep chooses from: those in the last plan, the new ones, those to show again, and summaries.

        Units that a compaction covers are not among them, except those in `must_show`. In a pipe, a stage chooses from
        what the stage before shows.
        """
        units = [*(self.last or ()), *self.new] if self.last_stage is None else [*self.last_stage]
        if not self.back and not self.compactions and not self.timeline.compactions:
            return units
        summaries = {unit for compaction in self.compactions for unit in compaction.summaries}
        kept = [unit for unit in units if not self.is_covered(unit)]
        return sorted({*kept, *self.back, *summaries, *self.must_show.intersection(units)})

    def is_covered(self, unit: int) -> bool:
        """Whether a summary covers this unit, or the unit is a summary itself."""
        is_summary = self.timeline.kind[self.timeline.unit_row[unit]] == Kind.SUMMARY  # added by `candidates`
        return is_summary or any(compaction.first <= unit <= compaction.last for compaction in self.compactions)

    @property
    def must_show(self) -> set[int]:
        """The units that must be in every plan: those with a system item or a caller's pin, and the question."""
        return {self.asked, *(self.timeline.unit[row] for row in (*self.timeline.systems, *self.pinned))}

    @property
    def trims(self) -> bool:
        """Whether units may be left out."""
        return "trim" in self.reductions

    def required(self) -> set[int]:
        """The `candidates` that a sweep must show: those in `must_show`, or all if none may be left out."""
        units = set(self.candidates())
        return units & self.must_show if self.trims else units

    @property
    def summary_waits(self) -> bool:
        """Whether there is a summary that the last plan does not show yet."""
        plan = self.last_stage or self.last or ()
        return any(unit not in plan for compaction in self.compactions for unit in compaction.summaries)

    def never_reduced(self, row: int) -> bool:
        """Whether this item must be shown in full, because it is a system prompt or a caller pinned it."""
        is_note = self.timeline.state[row] & LABELLED  # of the program, at its place in the conversation
        return (self.timeline.kind[row] == _SYSTEM and not is_note) or row in self.pinned

    def lower_levels(self, row: int, lod: Lod) -> list[Lod]:
        """The levels below this one that an item has and may be shown at, the richest first."""
        lower = _LOWER[lod] if lod and self.may_shorten(row) else ()
        return [level for level in lower if self.timeline.short_size(row, level) >= 0]

    def may_shorten(self, row: int) -> bool:
        """Whether an item may be shown shortened. A provider wants its own blocks back while their turn is open."""
        is_open = self.timeline.state[row] & OPAQUE and self.timeline.unit[row] > self.asked
        return not is_open and not self.never_reduced(row)


def named_again(view: View, lods: Mapping[int, Lod]) -> dict[int, Unchanged]:
    """The new results that only name an earlier one, if new items have these levels: both would be in full."""
    if not view.unchanged:
        return {}
    units = {*view.new}
    return {
        row: same
        for row, same in view.unchanged.items()
        if view.timeline.unit[row] in units and row not in view.pinned
        if lods.get(row, FULL) is FULL and lods.get(same.source, FULL) is FULL
    }


def spared_tokens(timeline: Timeline, unchanged: Mapping[int, Unchanged]) -> int:
    """Tokens that these results save by only naming an earlier one."""
    return sum(timeline.full[row] - same.tokens for row, same in unchanged.items())


def oldest(view: View, units: Iterable[int], share: float, least: int = 2) -> tuple[int, int] | None:
    """The first and last unit that a compaction would cover if the newest `share` of the messages is retained.

    It begins with the first unit of the branch, shown or not, and ends before the first one that is retained or has a
    pending call. What is left out between two shown units is covered with the first of them.
    If so little is shown that all of it is retained, it covers what is left out before that. None if it would cover
    fewer than `least` messages that no summary covers yet.
    """
    timeline = view.timeline
    uncovered = [unit for unit in units if not view.is_covered(unit)]
    sizes = [messages_of(timeline, unit) for unit in uncovered]
    pending = timeline.rows_on(view.path, timeline.open_calls)
    first_pending = min((timeline.unit[row] for row in pending), default=1 << 62)
    retained = ceil(sum(sizes) * share)
    while sizes and (retained > 0 or uncovered[len(sizes) - 1] >= first_pending):
        retained -= sizes.pop()
    first = next(body_units(timeline, view.path), -1)
    if first >= 0 and sum(sizes) >= least:
        last = uncovered[len(sizes) - 1]
        end = min([*uncovered[len(sizes) : len(sizes) + 1], first_pending])
        later = said_units(timeline, view.path, timeline.unit_row[last])
        return first, max((unit for unit in later if unit < end), default=last)
    end = min([*uncovered[:1], first_pending])
    hidden = [unit for unit in body_units(timeline, view.path) if unit < end and not view.is_covered(unit)]
    hidden = [unit for unit in hidden if timeline.unit_kind(unit) is not Kind.SUMMARY] if uncovered else []
    return (first, hidden[-1]) if sum(messages_of(timeline, unit) for unit in hidden) >= least else None


def row_tokens(timeline: Timeline, profile: Profile, row: int, lod: Lod) -> int:
    """Tokens of an item at a level, framing included."""
    framing = profile.framing(timeline.kind[row])
    return timeline.size(row, lod) + framing


def messages_of(timeline: Timeline, unit: int) -> int:
    """How many messages a unit is. Calls are part of the message that makes them."""
    return timeline.unit_rows[unit] - timeline.unit_rows[unit] // 2


def body_unit(timeline: Timeline, unit: int) -> bool:
    """Whether a unit is in the body of a payload: neither a system item of the head nor an app's window."""
    row = timeline.unit_row[unit]
    return timeline.kind[row] != _WINDOW and not timeline.state[row] & HEAD


def body_units(timeline: Timeline, path: Path, first_row: int = 0, end_row: int | None = None) -> Iterator[int]:
    """The body units of a path that begin in this range of rows, in order."""
    every = timeline.units_between(path, first_row, len(timeline) if end_row is None else end_row)
    return (unit for unit in every if body_unit(timeline, unit))


def said_units(timeline: Timeline, path: Path, first_row: int = 0, end_row: int | None = None) -> list[int]:
    """The body units of this range that are no summaries, because those are added by sweeps only."""
    units = body_units(timeline, path, first_row, end_row)
    return [unit for unit in units if timeline.kind[timeline.unit_row[unit]] != _SUMMARY]


def chat_turns(timeline: Timeline, path: Path, units: Collection[int], by_user: Iterable[int]) -> dict[int, int]:
    """The question to each answer among these units: a user message that was answered with words, then the next came.

    `by_user`: those of them in which a user speaks, among others perhaps.

    Where the assistant worked with tools before it answered, the message is a task and no such question.
    """

    kind, branch, first_row = timeline.kind, timeline.branch, timeline.unit_row

    def next_unit(unit: int) -> int:
        for later in range(unit + 1, len(first_row)):
            row = first_row[later]
            if kind[row] != _RECALL and path.holds(branch[row], row) and body_unit(timeline, later):
                return later
        return -1

    turns: dict[int, int] = {}
    for unit in by_user:
        answer = next_unit(unit) if timeline.is_users_own(first_row[unit]) else -1
        is_answer = answer in units and timeline.unit_kind(answer) is Kind.ASSISTANT and timeline.unit_rows[answer] == 1
        if is_answer and (after := next_unit(answer)) >= 0 and timeline.is_users_own(timeline.unit_row[after]):
            turns[answer] = unit
    return turns


def complete_units(timeline: Timeline, path: Path, first_row: int = 0, end_row: int | None = None) -> list[int]:
    """The `said_units` that can be sent, because none of their calls waits for a result."""
    units = said_units(timeline, path, first_row, end_row)
    if not timeline.open_calls:
        return units
    pending = {timeline.unit[row] for row in timeline.open_calls}
    return [unit for unit in units if unit not in pending]
