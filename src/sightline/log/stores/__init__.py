"""Stores: where logs are kept, as two protocols: `Store` for one session, `Stores` for the sessions of one place.

Others import the protocols and the values they pass from here, and the stores of this package from `jsonl`, `memory`
and `session_folder`. `sightline.testing.stores` has a suite that every store must pass.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from sightline.errors import BadInput, BadSessionId, Conflict
from sightline.log.entries import Entry, Tip
from sightline.values.pattern import pattern

_MOST_SEQ = 1 << 62  # a larger seq is not ours, and no column could store the next one

WINDOW_LOG = "_window."  # how the names of logs begin that belong to no session: those of shared windows

_PLAIN = pattern(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}")


class Span(NamedTuple):
    """The place of a line in its store. Only the store that returned it knows what the numbers mean."""

    offset: int
    length: int


class Line(NamedTuple):
    """A stored line and its place."""

    span: Span
    data: bytes


class Written(NamedTuple):
    """A session of some stores: its bytes, and when it was written to last, in seconds since 1970."""

    session_id: str
    size: int
    seconds: float


class Tips(Struct):
    """What a writer knows of a log: how far it has read, the last seq, the last conversation entry of each branch."""

    size: int = 0
    seq: int = 0
    heads: dict[str, str] = {}
    ends: dict[str, int] = {}  # the last seq on each branch, annotations included

    def copy(self) -> "Tips":
        """A copy that shares nothing with this one."""
        return Tips(self.size, self.seq, dict(self.heads), dict(self.ends))


class Repairs(Struct):
    """What was repaired when a damaged log was opened. Empty for a healthy one."""

    torn_bytes: int = 0  # cut from the end and moved to `torn_file`
    torn_file: str = ""
    damaged: list[int] = []  # offsets of lines that cannot be read; they stay in the file
    changed: list[int] = []  # offsets of lines that are not as they were written; they are used as they are now


class Placement(NamedTuple):
    """An entry as it was written, and its place."""

    entry: Entry
    span: Span


Make = Callable[[int], Sequence[Entry]]
"""Makes the entries of one append, given the seq of the first, because a text may contain its own handle."""


class Derived(Protocol):
    """Named data made from a log. All of it can be made again, so any of it may be lost or damaged at any time."""

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        """What is kept under these names, without those under which nothing is kept. Raises nothing."""

    def keep(self, parts: Mapping[str, bytes]) -> None:
        """Keep data under names, if possible; empty data deletes a name. Raises nothing, also if nothing was kept.

        A part is replaced as a whole. Another process that reads meanwhile gets the old or the new data.
        """


class Store(Derived, Protocol):
    """One handle to the log of one session. Entries are added with `append` only, and never change.

    Several handles to one log may be open, also in other processes. Each may be used by several threads.
    """

    session_id: str
    tips: Tips  # what this handle has read; `refresh` and `append` replace it
    repairs: Repairs

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:
        """Write the entries that `make` returns for the next seq as one batch: all of them or none.

        Conversation entries are written only if `expected_head` is still the last conversation entry of `branch`.
        Annotations never conflict. `make` may be called again with another seq if other writers were faster.
        `sequence.number` does what is the same in every store.

        Raises:
            Conflict: the branch has another last entry. Nothing was written.
            Unwritable: the store refused. Nothing was written.
        """

    def read_many(self, spans: Sequence[Span]) -> list[bytes]:
        """The lines at these places, in the order of the places. Empty bytes for a place where there is no line."""

    def scan(self, start: int = 0) -> Iterator[Line]:
        """The lines from this offset up to `tips.size`, in order, not all in memory at once.

        Damaged lines come as they are.
        """

    def refresh(self, known: Tips | None = None) -> None:
        """Read what other writers have appended, and move `tips` past it.

        `known` are tips of an earlier handle to this log, from which a handle that has read nothing yet may read on. If
        the log has become shorter than they say, it is read from its beginning.
        """

    def texts(self, digests: Iterable[str]) -> dict[str, str]:
        """The texts that were kept under these digests, without those that never were."""

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """Keep texts by their digests. They are part of the session like the log: durable when this returns.

        Raises:
            Unwritable: the store refused.
        """

    def reopened(self) -> "Store":
        """Another handle to the same log, which is closed on its own. Also after `close`."""

    def sync(self) -> None:
        """Return when everything appended so far survives a power cut. Raises Unsynced."""

    def close(self) -> None:
        """Release files and connections. What is stored stays. A second call does nothing.

        Afterwards `keep` keeps nothing and `append` and `keep_texts` raise Unwritable, or they open the store again.
        """


class Stores(Protocol):
    """The sessions in one place, such as the folder of a project or a database. `check_session_id` checks ids."""

    def sessions(self) -> list[str]:
        """The ids of all sessions that something was written to, the one written to last first."""

    def create(self, session_id: str) -> Store:
        """A handle to a new log. It counts as a session when the first entry is written.

        Raises:
            BadSessionId: the id is no plain name.
            BadInput: a session of this id exists.
        """

    def open(self, session_id: str) -> Store:
        """A handle to an existing log, which need not have been read yet: the caller calls `refresh`.

        Raises:
            BadSessionId: the id is no plain name.
            SessionNotFound: there is no such session.
            StoreError: it cannot be opened.
        """

    def delete(self, session_id: str) -> None:
        """Delete a session with everything that was derived from it. Raises BadSessionId, SessionNotFound."""


class RawStore(Store, Protocol):
    """A `Store` whose log can be copied to another place as it is, byte for byte, lines of other programs included."""

    def raw_lines(self, start: int = 0) -> Iterator[Line]:
        """As `scan`, with blank lines too."""

    def all_texts(self) -> Iterable[tuple[str, str]]:
        """The texts that were kept, with their digests, in the order in which they were."""

    def write_raw(self, lines: Sequence[bytes], tips: Tips) -> None:
        """Write lines as they are, after those there are, all or none. `tips` are those after them, but for `size`.

        Raises:
            Conflict: somebody else has written to the log since this handle read it.
            Unwritable: the store refused.
        """


class PlacedStores(Stores, Protocol):
    """`Stores` that a command or a server works on: a folder of files, or a database. They know sizes and times."""

    @property
    def where(self) -> str:
        """The place in words, without secrets."""

    @property
    def tenant(self) -> str:
        """Whose sessions these are; empty where a place has one owner."""

    def check(self) -> None:
        """Do the cheapest thing that shows whether sessions can be read and written. Raises what is wrong."""

    def has(self, session_id: str, *, wait: bool = True) -> bool:
        """Whether something was written to a session of this id. Without `wait` a lost database is not waited for.

        Raises BadSessionId, StoreError.
        """

    def written(self, prefix: str = "") -> list[Written]:
        """The sessions whose ids begin so, the one written to last first, without reading their logs."""

    def look(self, session_id: str) -> Written:
        """The size and time of one session. Raises BadSessionId, SessionNotFound, StoreError."""

    def containing(self, session_ids: Sequence[str], text: bytes) -> str:
        """The first of these sessions whose log has these bytes; empty: none has. Lines are not decoded."""

    def date(self, session_id: str, seconds: float) -> None:
        """Have a session count as written to at this time, in seconds since 1970. Raises SessionNotFound."""

    def create(self, session_id: str) -> RawStore:
        """As for all `Stores`."""

    def open(self, session_id: str) -> RawStore:
        """As for all `Stores`."""


def check_session_id(session_id: str) -> str:
    """The id itself, if it is a plain file name.

    Raises:
        BadSessionId: it contains separators, dots at the start, or anything beyond letters, digits, `-`, `_`, `.`.
    """
    if not isinstance(session_id, str) or not _PLAIN.fullmatch(session_id) or ".." in session_id:
        raise BadSessionId(session_id)
    return session_id


def missing(candidate: object, protocol: type) -> list[str]:
    """The names of a protocol that an object does not have."""
    names = {*dir(protocol), *getattr(protocol, "__annotations__", ())}
    return sorted(name for name in names if not name.startswith("_") and not hasattr(candidate, name))


def as_placed(stores: Stores) -> PlacedStores | None:
    """These stores, if they know sizes and times of their sessions; None if they do not."""
    return None if missing(stores, PlacedStores) else cast(PlacedStores, stores)


def check_store(store: object) -> None:
    """Raise BadInput if this is no `Store`, with everything that it lacks."""
    if lacks := missing(store, Store):
        hint = "Session.open(project) opens the sessions of a folder"
        if not missing(store, Stores):
            hint = "these are Stores: Session.new(stores=…) begins a session in them"
        raise BadInput(f"a {type(store).__name__} is no Store: it lacks {', '.join(lacks)}; {hint}")


def check_stores(stores: object) -> None:
    """Raise BadInput if these are no `Stores`, with everything that they lack."""
    if lacks := missing(stores, Stores):
        hint = "one Store is for Session(store)" if not missing(stores, Store) else "such are MemoryStores()"
        if isinstance(stores, str):
            hint = "sightline.PostgresStores(address) has the sessions of a database"
        raise BadInput(f"a {type(stores).__name__} is no Stores: it lacks {', '.join(lacks)}; {hint}")


def number(make: Make, branch: str, expected_head: str | None, tips: Tips) -> list[Entry]:
    """Make the entries with seq, branch and batch set, and move `tips` past them.

    Raises:
        Conflict: there is a conversation entry among them, and `expected_head` is no longer the last of the branch.
    """
    entries = list(make(tips.seq + 1))
    head = tips.heads.get(branch)
    if head != expected_head and any(entry.in_conversation for entry in entries):
        raise Conflict(branch, expected_head, head)
    count = len(entries)
    for at, entry in enumerate(entries):  # in place, because a long list would be in memory twice
        seq, batch = tips.seq + at + 1, (at + 1, count) if count > 1 else None
        if (entry.seq, entry.branch, entry.batch) != (seq, branch, batch):
            entries[at] = replace(entry, seq=seq, branch=branch, batch=batch)
        if entry.in_conversation:
            tips.heads[branch] = entry.uuid
    tips.seq += count
    tips.ends[branch] = tips.seq
    return entries


def advance(tips: Tips, tip: Tip) -> None:
    """Move `tips` past a line of another writer. Lines without a seq (from other programs) are numbered in order."""
    tips.seq = max(tips.seq + 1, tip.seq if tip.seq < _MOST_SEQ else 0)
    tips.ends[tip.branch] = tips.seq
    if tip.in_conversation:
        tips.heads[tip.branch] = tip.uuid
