"""What the REST interface takes, and what it gives besides the values of `view`, as types: they describe both."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from sightline.values.items import Usage
from sightline.values.settings import Settings
from sightline.view.catalog.listed_sessions import SessionFacts
from sightline.view.catalog.snippets import SnippetPart
from sightline.view.inspection import CompactionFacts, ItemFacts, WindowFacts
from sightline.view.row_filter import RowFilter

Limit = Annotated[int, Meta(ge=1, le=1000, description="how many at most")]
Start = Annotated[int, Meta(ge=0, le=1 << 53, description="the place of the first: 0, or `next` of the page before")]
Tokens = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Window = Annotated[int, Meta(ge=1, le=1_000_000_000, description="tokens of the context window")]
Branch = Annotated[str, Meta(max_length=100, description="the branch; `main` is the first, without one the current")]
Economy = Literal["off", "safe", "thrifty"]
Number = Annotated[int, Meta(ge=1, le=1 << 53)]
Sort = Literal[
    "updated", "created", "title", "project", "turns", "calls", "tokens", "cost", "compactions", "rereads"
]  # fmt: skip
ImportState = Literal["running", "done", "failed"]
Query = Annotated[str, Meta(min_length=1, max_length=10_000)]

# ---------------------------------------------------------------------- queries


class BranchQuery(Struct, frozen=True):
    """Which branch is meant."""

    branch: Branch | None = None


class PageQuery(BranchQuery, frozen=True):
    """A page of a list, on a branch."""

    start: Start = 0
    limit: Limit = 100


class WantedQuery(PageQuery, frozen=True):
    """A page of what is wanted; what is left out is not asked for."""

    kind: Annotated[str, Meta(max_length=20, description="only of this kind")] = ""
    tool: Annotated[str, Meta(max_length=200, description="only of tools with this in their name")] = ""
    path: Annotated[str, Meta(max_length=1000, description="only those about a file or a command with this in it")] = ""
    errors: Annotated[bool, Meta(description="only what failed")] = False

    @property
    def wanted(self) -> RowFilter:
        """Which rows these are."""
        return RowFilter(self.kind, self.tool, self.path, self.errors)


class ItemsQuery(WantedQuery, frozen=True):
    """A page of items."""

    text: Annotated[Literal["beginning", "full"], Meta(description="how much of each text")] = "beginning"


class SearchQuery(Struct, frozen=True):
    """What to look for."""

    q: Query
    branch: Branch | None = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 6


class TranscriptQuery(PageQuery, frozen=True):
    """A page of messages."""

    start: Annotated[
        int, Meta(ge=-1000, le=1 << 53, description="the place of the first; below 0: so many before the end")
    ] = 0
    at: Annotated[str, Meta(max_length=60, description="an item: the page that has it, instead of `start`")] = ""
    text: Annotated[Literal["beginning", "full"], Meta(description="how much of each text")] = "beginning"


class FindQuery(PageQuery, frozen=True):
    """What to find, from which message on."""

    q: Annotated[str, Meta(max_length=1000, description="words that stand there so, in any case")] = ""
    alone: Annotated[bool, Meta(description="only where they are no part of a longer name or number")] = False


class ContextQuery(BranchQuery, frozen=True):
    """For which budget, and whether to list what is not shown."""

    window: Window | None = None
    output: Tokens | None = None
    includeObsolete: Annotated[bool, Meta(description="also list items that are not shown")] = False  # noqa: N815


class RawQuery(BranchQuery, frozen=True):
    """In which provider's format, and of which call."""

    wire: Annotated[str, Meta(max_length=40, description="openai, responses, anthropic")] = "openai"
    call: Annotated[int, Meta(ge=1, le=1 << 53, description="an earlier call; without one, the next")] | None = None


class ExportQuery(BranchQuery, frozen=True):
    """In which format, and language for people."""

    format: Annotated[str, Meta(max_length=40, description="jsonl, markdown, html, or a provider's")] = "jsonl"
    lang: Literal["en", "zh"] = "en"


class CallExportQuery(BranchQuery, frozen=True):
    """In which provider's format."""

    wire: Annotated[str, Meta(max_length=40, description="as a wire is called; empty: that of the session")] = ""


class ReportQuery(BranchQuery, frozen=True):
    """Whether to forecast what Sightline would have sent, and the language of the advice."""

    forecast: Annotated[bool, Meta(description="replay the session, which takes longer")] = False
    lang: Literal["en", "zh"] = "en"


class EventsQuery(Struct, frozen=True):
    """Whose events; without a session, of all."""

    session: Annotated[str, Meta(max_length=128)] = ""


class TimelineQuery(PageQuery, frozen=True):
    """Which calls."""

    limit: Limit = 200
    every: Annotated[int, Meta(ge=1, le=100_000, description="only one of so many calls, for an overview")] = 1


class TimeQuery(WantedQuery, frozen=True):
    """Which steps of a run: of the `kind` model, tool or user."""

    sort: Annotated[Literal["order", "longest"], Meta(description="longest: without waits for the user")] = "order"


class CallQuery(WantedQuery, frozen=True):
    """Which items of a call, and how much of each text."""

    limit: Limit = 500
    level: Literal["", "full", "summary", "gist"] = ""
    text: Literal["beginning", "full"] = "beginning"


class TokensQuery(BranchQuery, frozen=True):
    """How to group the tokens, and of which call."""

    by: Annotated[str, Meta(max_length=60, description="kind, tool, file, level, in any order")] = "kind,tool,file"
    call: Annotated[Number, Meta(description="one call; without one, all items in full")] | None = None


class SessionsQuery(Struct, frozen=True):
    """A part of the list of sessions."""

    start: Annotated[int, Meta(ge=0, le=1 << 53, description="the place of the first")] = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    q: Annotated[str, Meta(max_length=200, description="words in title, project or id, in any case")] = ""
    source: Annotated[str, Meta(max_length=40, description="sightline, proxy, claude-code, codex or messages")] = ""
    project: Annotated[str, Meta(max_length=4096, description="the whole path")] = ""
    sort: Sort = "updated"
    order: Literal["desc", "asc"] = "desc"


Day = Annotated[str, Meta(pattern=r"^(\d{4}-\d{2}-\d{2})?$", description="a day as in 2026-01-31")]


class FindSessionsQuery(Struct, frozen=True):
    """What to find in all sessions, as `sightline find` does."""

    q: Annotated[str, Meta(max_length=1000, description="words; what stands in double quotes is a phrase")] = ""
    path: Annotated[str, Meta(max_length=1000, description="only where this path, or a part of one, is named")] = ""
    tool: Annotated[str, Meta(max_length=200, description="only results of this tool")] = ""
    project: Annotated[str, Meta(max_length=4096, description="only sessions of this folder")] = ""
    since: Day = ""
    until: Day = ""
    errors: Annotated[bool, Meta(description="only results of calls that failed")] = False
    limit: Annotated[int, Meta(ge=1, le=200, description="sessions")] = 20


class OverviewQuery(Struct, frozen=True):
    """Which sessions are added up."""

    project: Annotated[str, Meta(max_length=4096, description="the whole path; empty: all")] = ""
    since: Annotated[str, Meta(pattern=r"^(\d{4}-\d{2}-\d{2})?$", description="a day; empty: from the beginning")] = ""


class UploadQuery(Struct, frozen=True):
    """The name of a file that is uploaded."""

    name: Annotated[str, Meta(min_length=1, max_length=255)]
    modified: (
        Annotated[int, Meta(ge=0, le=1 << 40, description="when it was last changed, in seconds since 1970")] | None
    ) = None


# ---------------------------------------------------------------------- bodies


class FileChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """A file to import: one that the list of sessions offers."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]


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


class PreviewChoice(BudgetChoice, frozen=True, forbid_unknown_fields=True):
    """What to try. What is not given is as it is in the session."""

    strategy: Annotated[str, Meta(max_length=60)] | None = None
    config: dict[str, Any] | None = None
    economy: Annotated[Economy, Meta(description="of the strategy focus")] | None = None
    call: Annotated[int, Meta(ge=1, le=1 << 53, description="an earlier call; without one, the next")] | None = None


# ---------------------------------------------------------------------- answers


class SessionPage(Struct, frozen=True):
    """Some sessions. `total`, `files`, `next`: of those that match; `sources` and `projects` count all there are."""

    sessions: list[SessionFacts]
    total: int
    files: int  # of these: files of which something was not imported
    next: int | None
    pending: int  # sessions that are still being counted; an event tells when they are
    sources: dict[str, int]
    projects: dict[str, int]


class ImportedSession(Struct, frozen=True):
    """A session that an import made, or added to."""

    id: str
    state: str  # "new", "grown", "unchanged"
    lines: int  # of the file, those that are not blank
    added: int  # lines that were new
    messages: int  # added to the conversation
    types: dict[str, int]  # how many of the new lines are of each type
    usage: Usage | None


class ImportFacts(Struct, frozen=True):
    """An import. `share` is how much of it is done, up to 1."""

    id: str
    name: str
    path: str
    state: ImportState
    share: float = 0.0
    sessions: list[ImportedSession] = []
    error: str = ""


class ImportList(Struct, frozen=True):
    """The last imports, the newest first."""

    imports: list[ImportFacts]


class ModelFacts(Struct, frozen=True):
    """The model that answers in the chat."""

    name: str
    window: int


class ServerFacts(Struct, frozen=True):
    """What this server has and can do."""

    version: str
    project: str
    everywhere: bool  # sessions of all projects are listed, and files of other agents
    model: ModelFacts | None
    strategies: list[str]
    economies: list[str]
    wires: list[str]
    formats: list[str]  # of exports
    apps: list[str]


class SessionDetails(Struct, frozen=True):
    """What a session is."""

    facts: SessionFacts
    settings: Settings
    kinds: dict[str, int]
    open_calls: list[str]
    windows: int  # that are open
    damaged: int
    summary_running: bool
    chat_tools: list[str]  # that act on this machine, for people: the model of the chat gets them in this session
    chat_recalls: bool  # it can bring back earlier parts of this session


class Created(Struct, frozen=True):
    """A session or branch that was begun."""

    id: str
    branch: str


class Pins(Struct, frozen=True):
    """The items that somebody pinned, in order."""

    items: list[ItemFacts]


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


class FoundMessage(Struct, frozen=True):
    """Something that was said or done in a session, and matches. Of a file that was not imported, `id` is a line."""

    id: str
    kind: str
    when: str
    failed: bool
    snippet: list[SnippetPart]


class FoundSession(Struct, frozen=True):
    """A session in which something matches, the best first; or a file that could become one."""

    id: str
    file: str | None
    source: str
    project: str
    title: str
    updated: float
    hits: list[FoundMessage]


class FoundSessions(Struct, frozen=True):
    """The sessions that match best, of the logs read so far. `unread`: how many are not; ask again for the rest."""

    sessions: list[FoundSession]
    unread: int


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


class Compactions(Struct, frozen=True):
    """The compactions of a branch, oldest first."""

    compactions: list[CompactionFacts]


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
