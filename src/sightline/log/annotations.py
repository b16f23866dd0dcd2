"""What annotations say: the content of the `data` field, one form per subtype."""

from typing import Any

from msgspec import UNSET, Struct

from sightline.values.excerpt import Piece
from sightline.values.items import ToolDefinition


class WindowNote(Struct, omit_defaults=True):
    """A window was opened, referred to again, changed, or closed.

    Without `closed` and `changed` it is a reference: the window is shown from here on. The other fields are those of a
    window that a host opened.
    """

    id: str
    closed: bool = False
    changed: bool = False
    app: str = ""
    target: str = ""
    options: dict[str, Any] | None = None
    state: Any = UNSET  # the app's data, where they differ from those before
    version: tuple[int, int, int] | None = None
    lod: int | None = None
    round: tuple[str, str, str] | None = None  # action, result, time
    failed: bool = False  # that action
    call: str = ""  # the model's call that opened or changed it
    summary: str = ""  # what to remember of a closed one


class PinNote(Struct, omit_defaults=True):
    """An item was pinned ("pin"), unpinned, or asked to be shown at a level from the next sweep on."""

    item: str
    what: str


class HeadNote(Struct, omit_defaults=True):
    """Another branch is current. `parent`, `at` and `uuid` say where a new one begins."""

    branch: str
    parent: str | None = None
    at: int = 0
    uuid: str = ""


class CompactNote(Struct, omit_defaults=True):
    """What a compaction covers, by seq and by uuid. Empty: everything before it."""

    first: int = 0
    last: int = 0
    uuids: tuple[str, str] | None = None


class UncompactNote(Struct, omit_defaults=True):
    """A compaction no longer holds: the seq of its boundary."""

    boundary: int


class RenditionNote(Struct, omit_defaults=True, array_like=True):
    """A shortened text, logged when it is first sent and read back from then on. An entry holds a few of them."""

    item: str
    lod: int
    pieces: tuple[Piece, ...]  # of the item's own text, and words between them


class PlanNote(Struct, omit_defaults=True):
    """A whole plan: every unit of the branch up to the receipt's seq is in, except these runs of seqs."""

    out: list[tuple[int, int]] = []
    lods: dict[str, int] = {}  # item id → level, for those below FULL
    marker: str = ""  # the line that stands for what is out
    preface: str = ""  # what is said before the history
    left_out: tuple[int, int, int, int] | None = None  # messages, tokens, first and last seq
    base: int = 0  # tokens of the body right after this sweep


class ReceiptNote(Struct, omit_defaults=True):
    """What was decided before a call and what was sent. Proportional to what changed."""

    number: int
    seq: int  # the last one the payload knows
    tokens: int
    limit: int
    hash: str
    format: int = 1
    factor: float = 1.0
    reason: str = ""  # why the prefix was broken; empty: it was not
    changed: int | None = None  # the first changed block
    plan: PlanNote | None = None  # whole, at a sweep
    lods: dict[str, int] = {}  # else: new items below FULL
    faults: list[str] = []  # new results that show again what had been shortened
    windows: dict[str, str] = {}  # id → hash of what was shown
    spared: dict[str, int] = {}  # windows that gave way → tokens that saved
    idle: int = 0  # seconds since the call before, where that decided
    breakpoints: tuple[int, ...] = ()
    question: bool = False  # it answered one question: the conversation does not go on from what it shows


class ToolsNote(Struct, frozen=True, omit_defaults=True):
    """The tools of the payloads from here on."""

    hash: str
    tokens: int
    definitions: tuple[ToolDefinition, ...] = ()


NO_TOOLS = ToolsNote("", 0)


class Source(Struct, frozen=True, omit_defaults=True):
    """A piece of an item: lines `first` to `last`, counted from 1; 0 is all of it, or only these quotes of it."""

    item: str
    first: int = 0
    last: int = 0
    quotes: tuple[tuple[int, int], ...] = ()  # characters of its text, first and end


class RecallNote(Struct, frozen=True, omit_defaults=True):
    """Which pieces were brought back, and what for. The text itself stays where it is."""

    sources: tuple[Source, ...] = ()
    query: str = ""
    overview: str = ""  # made by rule of all that is not shown, where the question names nothing to look for
