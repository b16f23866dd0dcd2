"""What the REST interface takes and gives about calls of a model and their contexts, as types."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from sightline.server.rest_values import Branch, CallFacts, Limit, Line, Start
from sightline.values.items import Usage
from sightline.view.call_rows import Mark
from sightline.view.token_tree import Node, Rereads

Number = Annotated[int, Meta(ge=1, le=1 << 53)]


class TimelineQuery(Struct, frozen=True):
    """Which calls."""

    branch: Branch | None = None
    start: Start = 0
    limit: Limit = 200
    every: Annotated[int, Meta(ge=1, le=100_000, description="only one of so many calls, for an overview")] = 1


class CallQuery(Struct, frozen=True):
    """Which items of a call, and how much of each text."""

    branch: Branch | None = None
    start: Start = 0
    limit: Limit = 500
    text: Literal["beginning", "full"] = "beginning"


class TokensQuery(Struct, frozen=True):
    """How to group the tokens, and of which call."""

    branch: Branch | None = None
    by: Annotated[str, Meta(max_length=60, description="kind, tool, file, level, in any order")] = "kind,tool,file"
    call: Annotated[Number, Meta(description="one call; without one, all items in full")] | None = None


class TimelineCall(Struct, frozen=True):
    """A call and what its context held, in tokens by kind and level; `total` is without what is hidden."""

    number: int
    reply: str | None  # the item of its answer
    timestamp: str
    model: str
    composed: bool  # by Sightline; if not, the context is all before the reply, after the last compaction
    tokens: dict[str, dict[str, int]]
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


class Timeline(Struct, frozen=True):
    """Some calls of a branch, oldest first."""

    calls: list[TimelineCall]
    total: int
    next: int | None


class ContentLine(Line, frozen=True):
    """An item in a payload, or a text of the engine, which has no id. `text` is as the model got it."""

    cached: bool = False
    relative_cost: float = 0.0
    cost: float | None = None
    tool: str = ""
    subject: str = ""
    text: str = ""
    characters: int = 0
    block: int = 0  # the message of the request that it is in; 0 is the head


class ChangeFacts(Struct, frozen=True):
    """Where a call first differs from another, and what had to be paid again because of that."""

    block: int
    byte: int
    item: str
    kind: str
    reason: str
    before: str
    after: str
    kept_tokens: int
    lost_tokens: int
    relative_cost: float
    cost: float | None


class CostPart(Struct, frozen=True):
    """A part of a call's price: "items", which are the lines; "unlogged", what the provider counted and no log shows;
    "answer"."""

    name: str
    tokens: int
    relative_cost: float
    cost: float | None


class CallDetails(Struct, frozen=True, kw_only=True):
    """One call item by item. `same`: made again from the log it is what was sent; null: it was not composed.

    `call` and `receipt` are null only for the last call of a branch that has none.
    """

    call: TimelineCall | None = None
    calls: int = 0  # how many the branch has
    receipt: CallFacts | None = None
    same: bool | None = None
    wire: str
    messages: int = 0
    bytes: int | None = None  # of the request; null: it was not composed
    preface: str = ""
    marker: str = ""
    change: ChangeFacts | None = None  # since the call before; null: it begins with all of that
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

    a: TimelineCall
    b: TimelineCall
    first: ChangeFacts | None
    added: list[ContentLine]
    removed: list[ContentLine]
    changed: list[ChangedLine]
    same: int
    added_total: int
    removed_total: int
    changed_total: int


class TokenTreeFacts(Struct, frozen=True):
    """Where the tokens are, and what was read again."""

    total: int
    call: int | None
    root: Node
    rereads: Rereads
