"""The content of annotations: one struct per subtype, stored in the `data` field of an entry.

A value that no session writes is refused when an annotation is decoded, because it would fail wherever it is used.
"""

from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct

from sightline.values.excerpt import Piece
from sightline.values.items import Lod, ToolDefinition

Count = Annotated[int, Meta(ge=0, le=1 << 62)]
Level = Annotated[int, Meta(ge=int(Lod.GIST), le=int(Lod.FULL))]

RECEIPT_FORMAT = 2  # 1: of a text only the beginning was escaped, and a recall could be for a program's message


class WindowNote(Struct, omit_defaults=True):
    """A window was opened, referred to again, changed, or closed.

    Without `closed` and `changed` it is a reference: the window is shown from here on. The fields from `app` on are
    set for windows that an app host opened.
    """

    id: str
    closed: bool = False
    changed: bool = False
    app: str = ""
    target: str = ""
    options: dict[str, Any] | None = None
    state: Any = UNSET  # the data of the app, if they changed
    version: tuple[Count, Count, Count] | None = None
    lod: Level | None = None
    round: tuple[str, str, str] | None = None  # action, result, time
    failed: bool = False  # that action failed
    call: str = ""  # id of the model's call that opened or changed it
    summary: str = ""  # of a closed window: what to remember of it
    shared: bool = False  # its data are in a log of its own, which other sessions write to as well
    origin: str = ""  # of an opened window: the item of a closed one, whose data it goes on with

    def __post_init__(self) -> None:
        if self.round is not None:
            datetime.fromisoformat(self.round[2])  # raises ValueError


LOWERING = frozenset(("collapse", "summary", "out"))
"""What a mark may say that shows less of an item."""


CLEARED = "cleared"
"""What a mark says of a result that an agent took out of its own prompt. It tells of that agent's calls, and asks for
nothing."""


class PinNote(Struct, omit_defaults=True):
    """An item was pinned ("pin"), unpinned, or is to be shown at another level from the next sweep on.

    `by`: "model", if the model asked for it; "agent", if it follows from what an agent sends, see `follow.rewritten`;
    else the program or a user did.
    """

    item: str
    what: str
    by: str = ""


class StateNote(Struct, omit_defaults=True):
    """What a strategy remembers. `read`: the seq of the last user message that it accounts for; 0: all before it."""

    state: dict[str, Any]
    read: int = 0


class HeadNote(Struct, omit_defaults=True):
    """Another branch is the current one. `parent`, `at` and `uuid` say where a new branch begins."""

    branch: str
    parent: str | None = None
    at: int = 0
    uuid: str = ""


class HistoryNote(Struct, omit_defaults=True):
    """The entries after it are messages of a list that another program holds.

    Each link is one message: the digest of the list up to it, and how many entries it has. A `reply` is the model's: a
    digest of the list that it answers and of what it says, its item, and the id by which the provider knows it. `base`
    is the reply after which the messages were said without the list before it. `after` is an item: the other program
    began a new list there with a summary of its own, and everything up to this item is not part of the new list.
    `program`: whose list it is, if several programs follow lists of their own in one session.
    """

    links: list[tuple[str, Count]] = []
    reply: tuple[str, ...] | None = None
    base: str | None = None
    after: str = ""
    program: str = ""


class CompactNote(Struct, omit_defaults=True):
    """The run of items that a compaction covers, by seq and by uuid. Empty: everything before it."""

    first: int = 0
    last: int = 0
    uuids: tuple[str, str] | None = None


class UncompactNote(Struct, omit_defaults=True):
    """A compaction was undone. `boundary` is its seq."""

    boundary: int


class FoundQuote(Struct, frozen=True, omit_defaults=True):
    """Words of the user in which a model found that they lay something down, and how the model reads them."""

    quote: str  # a part of the message, word for word
    reading: str = ""


class LaidDownNote(Struct, omit_defaults=True):
    """A model has read a user message for what it lays down, and found this, or nothing."""

    item: str
    found: list[FoundQuote] = []


class RenditionNote(Struct, omit_defaults=True, array_like=True):
    """A shortened text, logged when it is first sent and read from the log from then on. An entry has a few."""

    item: str
    lod: Annotated[int, Meta(ge=int(Lod.GIST), le=int(Lod.SUMMARY))]
    pieces: tuple[Piece, ...]  # places in the text of the item, and words of its own
    tokens: int = -2  # of the item with this text; -2: to be counted, because an earlier version did not say it


class PlanNote(Struct, omit_defaults=True):
    """A whole plan: it shows every unit of the branch up to the seq of the receipt, except those in `out`."""

    out: list[tuple[int, int]] = []  # runs of seqs, first and last
    lods: dict[str, Level] = {}  # item id → level, for those below FULL
    marker: str = ""  # the line shown in the place of what is left out
    preface: str = ""  # the text before the history
    left_out: tuple[Count, Count, Count, Count] | None = None  # messages, tokens, first and last seq
    base: Count = 0  # tokens of the body right after this sweep


class ReceiptNote(Struct, omit_defaults=True):
    """What was decided before a call and what was sent. Its size is proportional to what changed."""

    number: Count
    seq: Count  # of the newest entry that the payload considered
    tokens: Count
    limit: Annotated[int, Meta(gt=0, le=1 << 62)]
    hash: str
    format: int = 1
    factor: Annotated[float, Meta(gt=0, le=1e9)] = 1.0
    reason: str = ""  # why the prompt prefix changed; empty: it did not
    changed: int | None = None  # the first changed block
    kept: Count | None = None  # tokens at its beginning that the payload before had; an earlier version did not say
    plan: PlanNote | None = None  # the whole plan, at a sweep
    lods: dict[str, Level] = {}  # otherwise: new items below FULL
    faults: list[str] = []  # new results that fetch again what had been shortened
    windows: dict[str, str] = {}  # id → hash of what was shown
    spared: dict[str, int] = {}  # id of a window that was shortened or hidden → tokens saved
    idle: int = 0  # seconds since the previous call, if that influenced the decision
    breakpoints: tuple[int, ...] = ()
    question: bool = False  # it was for one question only: the next payload does not continue from it
    unchanged: dict[
        str, tuple[str, Count]
    ] = {}  # new results, with a whole plan all, that only name the same one above
    asked: dict[str, str] = {}  # id of a window, at a sweep also of items → the level that the model asked for, and got


class ToolsNote(Struct, frozen=True, omit_defaults=True):
    """The tools of all payloads from here on."""

    hash: str
    tokens: Count
    definitions: tuple[ToolDefinition, ...] = ()


NO_TOOLS = ToolsNote("", 0)


class Source(Struct, frozen=True, omit_defaults=True):
    """A piece of an item: lines `first` to `last`, counted from 1. If `first` is 0: all of it, or only `quotes`."""

    item: str
    first: int = 0
    last: int = 0
    quotes: tuple[tuple[int, int], ...] = ()  # characters of its text, first and end


class FileLines(Struct, frozen=True, omit_defaults=True):
    """Lines of a file that stand together, and which item has them: a result, or a call that writes or changes it."""

    path: str
    number: int  # of the first of them in the file
    item: str
    first: int = 0  # lines of the item's text, or of an argument, counted from 1
    last: int = 0
    argument: str = ""
    mark: str = ""  # what a tool put between the number of a line and the line
    text: str = ""  # the lines themselves, if the item has none that are the same; then `first` is 0


class RecallNote(Struct, frozen=True, omit_defaults=True):
    """The pieces that a recall shows again, and the query they were found for. Their text is not copied."""

    sources: tuple[Source, ...] = ()
    query: str = ""
    overview: str = ""  # of all that is not shown, made by rule, if the question names nothing to search for
    by_day: bool = False  # what was written on one day stands under one date
    bare: bool = False  # it names no handles, because the model had no tool to expand them when it was made
    files: tuple[FileLines, ...] = ()  # of the files in work, in place of `sources`
