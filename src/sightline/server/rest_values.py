"""What the REST interface takes and gives, as types: they decode requests, make answers, and describe both.

This file is longer than others because it is only data.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from sightline.compaction.loss import Loss
from sightline.server.rest_list_values import SessionFacts
from sightline.server.snippets import SnippetPart
from sightline.values.items import Usage
from sightline.values.settings import Settings

Limit = Annotated[int, Meta(ge=1, le=1000, description="how many at most")]
Start = Annotated[int, Meta(ge=0, le=1 << 53, description="the place of the first: 0, or `next` of the page before")]
Tokens = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Window = Annotated[int, Meta(ge=1, le=1_000_000_000, description="tokens of the context window")]
Branch = Annotated[str, Meta(max_length=100, description="the branch; `main` is the first, without one the current")]
Economy = Literal["off", "safe", "thrifty"]
Query = Annotated[str, Meta(min_length=1, max_length=10_000)]

# ---------------------------------------------------------------------- queries


class BranchQuery(Struct, frozen=True):
    """Which branch is meant."""

    branch: Branch | None = None


class PageQuery(Struct, frozen=True):
    """A page of a list, on a branch."""

    branch: Branch | None = None
    start: Start = 0
    limit: Limit = 100


class ItemsQuery(Struct, frozen=True):
    """A page of items."""

    branch: Branch | None = None
    start: Start = 0
    limit: Limit = 100
    text: Annotated[Literal["beginning", "full"], Meta(description="how much of each text")] = "beginning"


class SearchQuery(Struct, frozen=True):
    """What to look for."""

    q: Query
    branch: Branch | None = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 6


class ContextQuery(Struct, frozen=True):
    """For which budget, and whether to list what is not shown."""

    branch: Branch | None = None
    window: Window | None = None
    output: Tokens | None = None
    includeObsolete: Annotated[bool, Meta(description="also list items that are not shown")] = False  # noqa: N815


class RawQuery(Struct, frozen=True):
    """In which provider's format, and of which call."""

    branch: Branch | None = None
    wire: Annotated[str, Meta(max_length=40, description="openai, responses, anthropic")] = "openai"
    call: Annotated[int, Meta(ge=1, le=1 << 53, description="an earlier call; without one, the next")] | None = None


class ExportQuery(Struct, frozen=True):
    """In which format, and language for people."""

    branch: Branch | None = None
    format: Annotated[str, Meta(max_length=40, description="jsonl, markdown, html, or a provider's")] = "jsonl"
    lang: Literal["en", "zh"] = "en"


class ReportQuery(Struct, frozen=True):
    """Whether to forecast what Sightline would have sent, and the language of the advice."""

    branch: Branch | None = None
    forecast: Annotated[bool, Meta(description="replay the session, which takes longer")] = False
    lang: Literal["en", "zh"] = "en"


class EventsQuery(Struct, frozen=True):
    """Whose events; without a session, of all."""

    session: Annotated[str, Meta(max_length=128)] = ""


# ---------------------------------------------------------------------- bodies


class NewSession(Struct, frozen=True, forbid_unknown_fields=True):
    """A session to begin. Without an id it gets a random one."""

    id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    strategy: str | None = None
    config: dict[str, Any] = {}
    locale: Literal["en", "zh"] = "en"
    profile: str | None = None


class Fork(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a branch begins: after this item."""

    at: Annotated[str, Meta(min_length=1, max_length=60)]
    name: Annotated[str, Meta(min_length=1, max_length=40)] | None = None
    keep_summaries: bool = False


class Message(Struct, frozen=True, forbid_unknown_fields=True):
    """What the user says."""

    message: Annotated[str, Meta(min_length=1, max_length=1_000_000)]


class ActionCall(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of an action."""

    params: dict[str, Any] = {}


class Expansion(Struct, frozen=True, forbid_unknown_fields=True):
    """Which lines to bring back. `now`: show the whole item at its own place instead."""

    start: Annotated[int, Meta(ge=1, le=1 << 31)] = 1
    lines: Annotated[int, Meta(ge=1, le=1 << 31)] | None = None
    grep: Annotated[str, Meta(max_length=1000)] | None = None
    now: bool = False


class Recall(Struct, frozen=True, forbid_unknown_fields=True):
    """What to bring back to the conversation."""

    query: Query
    tokens: Annotated[int, Meta(ge=1, le=1_000_000)] = 2000


class BudgetChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """For which budget; without one, that of the last call."""

    window: Window | None = None
    output: Tokens | None = None


class Undo(Struct, frozen=True, forbid_unknown_fields=True):
    """Which item to show again; without one, all that the last compaction covers."""

    item: Annotated[str, Meta(min_length=1, max_length=60)] | None = None


class PreviewChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """What to try. What is not given is as it is in the session."""

    window: Window | None = None
    output: Tokens | None = None
    strategy: Annotated[str, Meta(max_length=60)] | None = None
    config: dict[str, Any] | None = None
    economy: Annotated[Economy, Meta(description="of the strategy focus")] | None = None
    call: Annotated[int, Meta(ge=1, le=1 << 53, description="an earlier call; without one, the next")] | None = None


# ---------------------------------------------------------------------- answers


class SessionDetails(Struct, frozen=True):
    """What a session is."""

    facts: SessionFacts
    settings: Settings
    kinds: dict[str, int]
    open_calls: list[str]
    last_call: "CallFacts | None"
    damaged: int
    summary_running: bool


class Created(Struct, frozen=True):
    """A session or branch that was begun."""

    id: str
    branch: str


class ItemFacts(Struct, frozen=True):
    """One item. `text` is its beginning, unless all of it was asked for."""

    id: str
    kind: str
    tokens: int
    summary_tokens: int | None
    gist_tokens: int | None
    pinned: bool
    by_program: bool
    window: str
    changed: bool
    timestamp: str
    text: str
    characters: int


class ItemPage(Struct, frozen=True):
    """Some items of a branch, in order."""

    items: list[ItemFacts]
    total: int
    next: int | None


class Pins(Struct, frozen=True):
    """The items that somebody pinned, in order."""

    items: list[ItemFacts]


class ItemDetails(Struct, frozen=True):
    """One item in full: its parts as the log has them, and its text at each level of detail."""

    item: ItemFacts
    levels: dict[str, str]
    parts: list[Any]
    compacted_by: int | None  # the boundary of the compaction that hides it


class FoundItem(Struct, frozen=True):
    """An earlier item that matches."""

    id: str
    score: float
    text: str
    kind: str = ""
    snippet: list[SnippetPart] = []  # where the words were found


class FoundItems(Struct, frozen=True):
    """Earlier items that match, the best first."""

    found: list[FoundItem]


class ConstraintFacts(Struct, frozen=True, omit_defaults=True):
    """What the user laid down for the work. `by_model`: a model found it, and reads it so."""

    id: str
    text: str
    revoked: bool
    by_model: bool = False
    reading: str = ""


class Constraints(Struct, frozen=True):
    """What the user laid down, oldest first."""

    constraints: list[ConstraintFacts]


class Lines(Struct, frozen=True):
    """The lines that were brought back."""

    id: str
    text: str


class Done(Struct, frozen=True):
    """It was done."""

    id: str
    done: str


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


class Context(Struct, frozen=True):
    """What a payload would hold."""

    window: int
    output: int
    limit: int
    tokens: int
    free: int
    factor: float
    reason: str  # of the sweep that it would be; empty: none
    strategy: str
    next_sweep: dict[str, int]
    kinds: dict[str, dict[str, int]]
    levels: dict[str, int]
    left_out: dict[str, int]
    reductions: list[dict[str, Any]]
    marker: str
    summaries: list[dict[str, Any]]
    faults: dict[str, int]
    lines: list[Line]
    hidden: list[Line] = []  # the newest that are not shown, if they were asked for


class LossFacts(Struct, frozen=True):
    """A compaction and what it hid."""

    boundary: int
    timestamp: str
    state: str
    first: str
    last: str
    messages: int
    tokens: int
    summaries: list[str]
    by_rule: bool
    trigger: str
    pre_tokens: int
    post_tokens: int | None
    text: str
    loss: Loss | None


class Compactions(Struct, frozen=True):
    """The compactions of a branch, oldest first."""

    compactions: list[LossFacts]


class WindowFacts(Struct, frozen=True):
    """An open window. If its app does not run here, the text is as it was last sent and nothing can be done."""

    id: str
    app: str
    target: str
    text: str
    running: bool
    level: str
    actions: list[dict[str, Any]]


class Windows(Struct, frozen=True):
    """The open windows, in the order they were opened."""

    windows: list[WindowFacts]


class Acted(Struct, frozen=True):
    """What an action did. `reason`: in a word, why it failed; `ways`: what can be done instead."""

    success: bool
    message: str
    reason: str
    window: str
    summary: str
    ways: list[str]


class Branches(Struct, frozen=True):
    """The branches of a session; the first one is called main."""

    current: str
    branches: list[str]


class Interaction(Struct, frozen=True):
    """The model's answer."""

    success: bool
    response: str
    error: str
    rounds: int
    usage: Usage | None
    cost: float | None


class Mismatch(Struct, frozen=True):
    """A payload that cannot be made again as it was sent."""

    branch: str
    number: int
    expected: str
    found: str


class Verification(Struct, frozen=True):
    """Whether the log and every payload are as they were written."""

    good: bool
    payloads: int
    mismatches: list[Mismatch]
    damaged: list[int]
    changed: list[int]


class Health(Struct, frozen=True):
    """The server runs. `sessions` that are open are told to whoever has the token."""

    status: str
    version: str
    sessions: int | UnsetType = UNSET
    server: str = "sightline"  # so that programs know whose server this is
