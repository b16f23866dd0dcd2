"""What is told of the calls of a model and of their contexts: values for whoever shows or serves them."""

from typing import Literal

from msgspec import Struct

from sightline.values.items import Usage

MarkKind = Literal["sweep", "prefix", "compaction", "cleared", "branch", "error"]

HIDDEN = "hidden"
"""The level of what was not shown."""

Tokens = dict[str, dict[str, int]]
"""By kind and level."""


class Mark(Struct, frozen=True):
    """Something that happened at a call."""

    kind: MarkKind
    reason: str = ""
    item: str = ""
    count: int = 0
    tokens: int = 0


class CallRow(Struct, frozen=True):
    """A call and what its context held, in tokens by kind and level; `total` is without what is hidden."""

    number: int
    reply: str | None  # the item of its answer
    timestamp: str
    model: str
    composed: bool  # by Sightline; if not, the context is all before the reply, after the last compaction, but for
    # `cleared` results with so many tokens, which the agent took out by itself
    tokens: Tokens
    total: int
    limit: int | None
    limit_from: str  # "budget", "model", or empty
    reported: int | None  # tokens of the input as the provider counted them
    cached: int
    cached_from: str  # "usage" or "forecast"
    relative_cost: float  # of the input, in fresh input tokens
    cost: float | None  # dollars, with the answer
    input_cost: float | None  # of them, without the answer
    cost_from: str  # "usage", "forecast", or empty
    output: int  # tokens of the answer
    usage: Usage | None
    reason: str  # why the prompt prefix changed; empty: it did not
    marks: list[Mark]
    cleared: int = 0
    cleared_tokens: int = 0


class TimelinePage(Struct, frozen=True):
    """Some calls of a branch, oldest first."""

    calls: list[CallRow]
    total: int
    next: int | None


class CallFacts(Struct, frozen=True):
    """One call: what was decided, if Sightline composed its payload, and what its provider reported."""

    number: int
    reply: str | None  # the item of its answer
    composed: bool
    timestamp: str
    tokens: int
    limit: int  # that it was composed for
    model: str
    usage: Usage | None
    seq: int = 0  # of the newest entry that it considered
    hash: str = ""
    reason: str = ""  # why the prompt prefix changed; empty: it did not
    changed: int | None = None  # the first changed block
    factor: float = 1.0
    breakpoints: list[int] = []
    lowered: int = 0  # items below full that were added, or at a sweep all of them
    faults: list[str] = []
    windows: list[str] = []
    question: bool = False


class CallPage(Struct, frozen=True):
    """Some calls of a branch, oldest first."""

    calls: list[CallFacts]
    total: int
    next: int | None


class Line(Struct, frozen=True):
    """An item in a payload. `level` is full, summary or gist; hidden: it is not shown."""

    id: str
    kind: str
    level: str
    tokens: int
    full_tokens: int
    why: str = ""
    tool: str = ""  # of a call or a result
    subject: str = ""  # the file, command or address that it is about


class ContentLine(Line, frozen=True):
    """An item in a payload, or a text of the engine, which has no id. `text` is as the model got it."""

    framed: int = 0  # its tokens with what frames it
    block: int = 0  # the message of the request that it is in; 0 is the head
    cached: bool = False
    relative_cost: float = 0.0
    cost: float | None = None
    text: str = ""
    characters: int = 0

    @property
    def key(self) -> str:
        """What tells it from others of the same payload."""
        return self.id or self.kind


class Change(Struct, frozen=True):
    """Where a call first differs from another, and what had to be paid again because of that."""

    block: int  # 0 is the head
    byte: int  # of the request
    item: str
    kind: str
    before: str  # what stands there in the one and in the other
    after: str
    kept_tokens: int  # before it, which both have
    lost_tokens: int  # of the first payload after it, at most those of the second, and what no cache had: no more can
    # be paid again
    reason: str = ""
    relative_cost: float = 0.0
    cost: float | None = None


class CostPart(Struct, frozen=True):
    """A part of a call's price: "items", which are the lines; "unlogged", what the provider counted and no log shows;
    "answer"."""

    name: Literal["items", "unlogged", "answer"]
    tokens: int
    relative_cost: float  # in uncached input tokens
    cost: float | None  # dollars; None: the price is not known


class CallDetails(Struct, frozen=True, kw_only=True):
    """One call item by item. `same`: made again from the log it is what was sent; null: it was not composed.

    `call` and `receipt` are null only for the last call of a branch that has none.
    """

    call: CallRow | None = None
    calls: int = 0  # how many the branch has
    receipt: CallFacts | None = None
    same: bool | None = None
    wire: str
    messages: int = 0
    bytes: int | None = None  # of the request; null: it was not composed
    preface: str = ""
    marker: str = ""
    change: Change | None = None  # since the call before; null: it begins with all of that
    costs: list[CostPart] = []  # together the price of the call
    lines: list[ContentLine] = []
    total: int = 0
    next: int | None = None


class ChangedLine(Struct, frozen=True):
    """An item that two calls show at different levels."""

    id: str
    kind: str
    tool: str
    subject: str
    level_a: str
    level_b: str
    tokens_a: int
    tokens_b: int


class CallDifference(Struct, frozen=True):
    """What differs between two calls. The lists have the first of each; the totals count all."""

    a: CallRow
    b: CallRow
    first: Change | None
    added: list[ContentLine]
    removed: list[ContentLine]
    changed: list[ChangedLine]
    same: int
    added_total: int
    removed_total: int
    changed_total: int
