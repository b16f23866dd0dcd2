"""What the REST interface takes and gives about the list of sessions, and about imports, as types."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from sightline.values.items import Usage

Sort = Literal[
    "updated", "created", "title", "project", "turns", "calls", "tokens", "cost", "compactions", "rereads"
]  # fmt: skip


class SessionsQuery(Struct, frozen=True):
    """A part of the list of sessions."""

    start: Annotated[int, Meta(ge=0, le=1 << 53, description="the place of the first")] = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    q: Annotated[str, Meta(max_length=200, description="words in title, project or id, in any case")] = ""
    source: Annotated[str, Meta(max_length=40, description="sightline, proxy, claude-code, codex or messages")] = ""
    project: Annotated[str, Meta(max_length=4096, description="the whole path")] = ""
    sort: Sort = "updated"
    order: Literal["desc", "asc"] = "desc"


class UploadQuery(Struct, frozen=True):
    """The name of a file that is uploaded."""

    name: Annotated[str, Meta(min_length=1, max_length=255)]
    modified: (
        Annotated[int, Meta(ge=0, le=1 << 40, description="when it was last changed, in seconds since 1970")] | None
    ) = None


class FileChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """A file to import: one that the list of sessions offers."""

    path: Annotated[str, Meta(min_length=1, max_length=4096)]


class SessionFacts(Struct, frozen=True):
    """What a session is, in short; or a file that could become one. What is counted is counted on all branches."""

    id: str  # as paths have it; empty: a file that is not imported
    state: str = "session"  # or "file": not imported; "grown": its file has grown since it was imported
    name: str = ""
    title: str = ""  # the beginning of the first question
    project: str = ""  # the folder that it is about; empty: not known
    source: str = "sightline"
    created: int | None = None  # seconds since 1970
    updated: int | None = None  # where the store tells it
    bytes: int | None = None
    ready: bool = True  # false: what follows is not known, or not whole yet
    turns: int = 0  # questions of the user
    calls: int = 0  # of a model
    composed: int = 0  # payloads that Sightline composed for them
    items: int = 0
    entries: int = 0
    tokens: int = 0  # of all items in full
    model: str = ""  # that answered last
    usage: Usage | None = None
    cost: float | None = None  # dollars; null: no price is known, or nothing was reported
    compactions: int = 0
    faults: int = 0  # results that were fetched again because they had been shortened
    rereads: int = 0  # readings of files that showed nothing new
    pins: int = 0
    branch: str = ""
    branches: list[str] = []
    live: bool = False  # written to within the last minute
    open: bool = False  # in this server, now
    file: str | None = None  # that it comes from
    error: str = ""  # why it cannot be read


class SessionPage(Struct, frozen=True):
    """Some sessions. `total` and `next` are of those that match; `sources` and `projects` count all there are."""

    sessions: list[SessionFacts]
    total: int
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
    state: str  # "running", "done", "failed"
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
