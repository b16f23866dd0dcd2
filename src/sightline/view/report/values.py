"""The values of a report. What a provider reported is told apart from what is a forecast."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

S = TypeVar("S", bound=Struct)


class Spent(Struct, frozen=True, kw_only=True):
    """Tokens by how a provider charges for them, and what they cost.

    cost: in uncached input tokens, by the provider's relative prices, with the answers. money: in the currency of the
    price; None if the price of a model is not known.
    """

    calls: int = 0
    input: int = 0  # all of it
    cached: int = 0  # of the input: read from the provider's cache
    written: int = 0  # of the input: written to the cache
    output: int = 0
    cost: float = 0.0
    read_cost: float = 0.0  # of the cost: reading from the cache
    write_cost: float = 0.0  # writing to it
    output_cost: float = 0.0
    money: float | None = None


class Share(Struct, frozen=True):
    """Where tokens went: a kind of item, a tool, or a file."""

    name: str
    items: int = 0
    tokens: int = 0  # once, as all views count them
    sent: int = 0  # as often as a call sent them, as the provider counts


class Break(Struct, frozen=True):
    """A call whose provider could not use the cache for what the call before it had sent."""

    call: int
    cause: str  # "pause", "model", "compaction", "sweep", "joined", "other"
    tokens: int  # that were sent before and had to be processed again
    cost: float  # more than if they had been in the cache
    seconds: int = 0  # since the call before
    share: float = 1.0  # of the prompt of the call before


class Again(Struct, frozen=True):
    """A file that was read again although its lines stood in the context, or because a compaction had removed them."""

    file: str
    reads: int
    again: int  # readings that showed nothing new
    tokens: int  # of these readings
    sent: int
    cost: float  # of sending them
    after_compaction: int = 0  # readings again of what a compaction had removed
    after_tokens: int = 0
    after_cost: float = 0.0


class CompactionLoss(Struct, frozen=True, kw_only=True):
    """What one compaction removed, and what later answers needed of it."""

    call: int  # the first one after it
    trigger: str
    tokens: int  # before it, as the log says, else as counted here
    summary: int  # tokens of what replaced them
    constraints: int = 0  # of the user, that the summary does not say; and so on
    paths: int = 0
    identifiers: int = 0
    numbers: int = 0
    errors: int = 0
    named: tuple[str, ...] = ()  # the first of these constraints
    names: dict[str, tuple[str, ...]] = {}  # by kind, as above, the first of what was lost; empty in a sum
    needed: int = 0  # later answers that used something the summary does not say
    needed_tokens: int = 0  # of the messages that said it


class Forecast(Struct, frozen=True, kw_only=True):
    """What the same calls would cost with Sightline and without it, by a replay. Nothing of it was measured.

    `spent` includes what would have been read again. The replay's counts are brought to the provider's: `factor` is
    how many tokens the provider counts for one of ours, `unlogged` what each call has that no log shows.
    """

    economy: str
    window: int
    spent: Spent
    full: Spent  # if everything is sent (see `report.forecast`), by the same rules
    rereads: int = 0  # answers that used what the prompt did not show
    reread_cost: float = 0.0
    sweeps: int = 0
    sessions: int = 1
    unchanged: int = 0  # sessions in which every prompt would have been sent as it was
    largest: int = 0  # tokens of the largest prompt
    factor: float = 1.0
    unlogged: int = 0

    @property
    def change(self) -> float:
        """How much more it would have cost than sending everything, as a share of that; less than 0 is a saving."""
        return self.spent.cost / self.full.cost - 1 if self.full.cost else 0.0


class Advice(Struct, frozen=True, kw_only=True):
    """One thing that would save cost. `kind` says what to do; `saved` is how much, in uncached input tokens.

    is_forecast: it is the difference of two forecasts, and a share of the first. facts: the numbers and names to tell
    it with.
    """

    kind: str
    saved: float
    share: float  # of the whole cost
    money: float | None = None
    is_forecast: bool = False
    facts: dict[str, int | float | str] = {}


class SessionReport(Struct, frozen=True, kw_only=True):
    """Everything about one session."""

    name: str
    title: str = ""  # as the list of sessions has it
    kind: str
    models: dict[str, int]  # calls of each
    unpriced: tuple[str, ...]  # models whose price is not known
    begin: int  # of the first and the last message, in milliseconds since 1970; 0: not known
    end: int
    turns: int  # messages of the user's own
    calls: int
    economy: str = ""  # with which Sightline composed it; empty: it did not
    is_reported: bool  # the log has its provider's usage: `spent` is that, else a forecast of sending everything
    is_cached: bool = True  # False: the provider reported no token as read from its cache or written to it
    spent: Spent
    spent_elsewhere: int = 0  # input tokens of calls that are not in the conversation: subagents, turns taken back
    kinds: tuple[Share, ...] = ()
    tools: tuple[Share, ...] = ()
    files: tuple[Share, ...] = ()
    breaks: tuple[Break, ...] = ()
    again: tuple[Again, ...] = ()
    compactions: tuple[CompactionLoss, ...] = ()
    large: tuple[Share, ...] = ()  # by tool: results above `contents.LARGE` tokens, and only what is above
    large_cost: float = 0.0  # of sending that
    forecasts: tuple[Forecast, ...] = ()
    unit: float | None = None  # money for one uncached input token; None: not known, or the models differ
    advice: tuple[Advice, ...] = ()


class Refused(Struct, frozen=True):
    """A file that is no session, or cannot be read."""

    name: str
    why: str


class Report(Struct, frozen=True, kw_only=True):
    """Several sessions: sums, the largest shares, and what would save most.

    What was measured and what is a forecast are not added up: what was spent, its shares and what caching and reading
    cost are of the sessions that `counted` names. Compactions and forecasts are of all.
    """

    sessions: tuple[SessionReport, ...]
    calls: int
    spent: Spent
    reported: int  # sessions whose log has its provider's usage
    expected: Spent | None  # of the other sessions, if there are both: the forecast of sending everything
    unpriced: tuple[str, ...]
    kinds: tuple[Share, ...]
    tools: tuple[Share, ...]
    files: tuple[Share, ...]
    breaks: dict[str, Share]  # by cause: how many, their tokens, their cost
    break_cost: dict[str, float]
    again: tuple[Again, ...]
    compactions: int
    lost: CompactionLoss | None  # the sums over all compactions
    forecasts: tuple[Forecast, ...]
    advice: tuple[Advice, ...]
    refused: tuple[Refused, ...] = ()


def counted(sessions: Sequence[SessionReport]) -> Sequence[SessionReport]:
    """Return the sessions whose provider reported what they spent; if none did, all of them."""
    return [session for session in sessions if session.is_reported] or sessions


def add_up(values: Sequence[S]) -> S:
    """Return values of one class, at least one of them, as one: each number is their sum, and None if one of it is.

    What is no number is that of the first.
    """
    sums: dict[str, Any] = {}
    for name in values[0].__struct_fields__:
        column = [getattr(value, name) for value in values]
        if None in column:
            sums[name] = None
        elif isinstance(column[0], Struct):
            sums[name] = add_up(column)
        elif isinstance(column[0], int | float):
            sums[name] = sum(column)
    return replace(values[0], **sums)


def add_up_by(values: Iterable[S], key: Callable[[S], str]) -> list[S]:
    """Return the sum of the values of each key."""
    groups: defaultdict[str, list[S]] = defaultdict(list)
    for value in values:
        groups[key(value)].append(value)
    return [add_up(group) for group in groups.values()]
