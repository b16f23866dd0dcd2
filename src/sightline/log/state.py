"""What a timeline knows beside its columns."""

from msgspec import Struct, field

from sightline.log.annotations import FoundQuote
from sightline.log.branches import Branch, Compaction, Mark, Placed


class State(Struct):
    """The part of a timeline that does not fit in columns. It is small, however long the log is."""

    branches: list[Branch] = field(default_factory=lambda: [Branch("")])
    current: int = 0  # the branch that was written to last
    open_calls: dict[int, str] = {}  # row of a call without a result → the id of the call
    subjects: list[str] = []  # what calls and results are about, by number
    spellings: dict[str, int] = {}  # other ways in which paths among them were written → their number
    marks: list[Mark] = []
    found: dict[int, list[FoundQuote]] = {}  # row of a user message that a model read → what it found laid down there
    systems: list[int] = []  # rows of system prompts
    compactions: list[Compaction] = []
    obsolete: list[int] = []  # rows that are OBSOLETE; one that became so twice is here twice
    faults: list[int] = []  # rows of results that were fetched again
    settings: list[Placed] = []
    tools: list[Placed] = []
    states: list[Placed] = []  # what a strategy remembers
    heads: dict[int, str] = {}  # branch → the uuid of its last conversation entry
    interrupted: dict[str, str] = {}  # id of an interrupted call → its tool
    windows: dict[str, list[int]] = {}  # window id → rows that refer to it
    closed: dict[str, list[Placed]] = {}  # window id → where it was closed
    noted: dict[str, list[Placed]] = {}  # window id → all annotations on it
    notes: int = 0  # annotations on windows, in all
    last_seq: int = 0  # of the last line
    damaged: list[int] = []  # offsets of lines and annotations that could not be read,
    changed: list[int] = []  # and of those whose checksum fails
    format_1: int = 0  # rows that payloads of format 1 may have shown: what was sent of them is not written otherwise
