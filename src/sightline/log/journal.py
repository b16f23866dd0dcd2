"""One session's log, open for reading and writing on one branch: makes entries, appends them, and folds what is new."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path as FilePath
from typing import Any

from msgspec.structs import replace

from sightline.errors import BadInput, Conflict, OpenCalls, StoreError
from sightline.files.project import NOWHERE, Place
from sightline.log import column_cache
from sightline.log import entries as log
from sightline.log.annotations import NO_TOOLS, HeadNote, ToolsNote
from sightline.log.drafts import Drafts, PendingCall
from sightline.log.entries import Entry
from sightline.log.levels import Reader
from sightline.log.stores import Line, Placement, Span, Store
from sightline.log.stores.jsonl import Fsync, JsonlStore
from sightline.log.window_snapshots import Blobs
from sightline.values.clock import Clock, Ids, iso
from sightline.values.items import Call, Kind, Message
from sightline.values.phrases import check_locale
from sightline.values.profiles import profile
from sightline.values.settings import Settings
from sightline.values.tokens import TokenCounter, counter

_INDEX_AFTER = 4 << 20  # bytes of log that opening may parse; beyond it the index is written anew

_MOST, _MOST_TOKENS = 1 << 62, 1 << 31  # what the columns hold

_SPOKEN_OF = 8  # earlier entries that one entry is known to speak of: the newest ones
_NAMES = 200_000  # identifiers remembered: older ones say nothing about what is being worked on

logger = logging.getLogger("sightline")


class Journal:
    """Everything a session writes goes through `append`; everything it knows follows from what was folded."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        ids: Ids,
        settings: Settings | None = None,
        token_counter: TokenCounter | None = None,
        where: Place = NOWHERE,
        known: "column_cache.Index | None" = None,
    ) -> None:
        self.store, self._clock, self._ids, self.where = store, clock, ids, where
        self.blobs = Blobs(store.side_file(".blobs"))
        self.drafts = Drafts(store.session_id, clock, ids, where)
        first = self._first_settings(known)
        self.settings = _known_format(first or settings or Settings())
        counting = token_counter or counter(self.settings.encoding)
        self.reader = Reader(store, counting, profile(self.settings.profile), self.settings.locale)
        self.timeline = self.reader.timeline
        self._folded = 0  # how far the store has been folded
        self._indexed = 0  # how far the side index reaches
        self._last = Span(0, 0)
        self._tools: tuple[Span | None, ToolsNote] = (None, NO_TOOLS)
        self._named: dict[str, int] = {}  # identifier → the entry that named it last, since this journal was opened
        self._pending: list[Entry] = []  # written with the first append, so that a session nobody uses leaves no file
        if known is not None:
            self._load(known)
        self.catch_up()
        self.branch = self.timeline.current
        self.path = self.timeline.path(self.branch)
        if first is None:
            self._pending.append(self.drafts.annotation(log.SETTINGS, self.settings))
        elif self.timeline.settings:
            self.configure(self._read_settings())

    @property
    def today(self) -> str:
        """The day on which an entry would be written now."""
        return iso(self._clock())[: len("2026-01-31")]

    @classmethod
    def open_file(cls, path: FilePath, *, fsync: Fsync = "turn", **options: Any) -> "Journal":
        """The journal in this file, with the help of its side index where there is a good one."""
        known = column_cache.load(path.with_suffix(column_cache.SUFFIX), path)
        store = JsonlStore(path, fsync=fsync, tips=known.tips.copy() if known else None)
        try:
            return cls(store, known=known, **options)
        except BaseException:
            store.close()
            raise

    def _first_settings(self, known: "column_cache.Index | None") -> Settings | None:
        """How the log was begun: what its sizes were counted with."""
        spans = known.state.settings if known else []
        if spans:
            line = self.store.read(Span(spans[0].offset, spans[0].length))
        else:
            line = next((line.data for line in self.store.scan()), b"")
        try:
            entry = log.decode(line)
            note: Settings = log.decode_data(entry, Settings) if entry.subtype == log.SETTINGS else Settings()
        except (*log.UNREADABLE, BadInput):
            return Settings() if line else None
        return note

    def _read_settings(self) -> Settings:
        span = self.timeline.placed(self.timeline.settings, self.path)
        if span is None:
            return self.settings
        return self.reader.note(self.reader.entry_at(span), Settings)

    def configure(self, settings: Settings) -> None:
        """Keep and show things this way from now on. What was sent stays as it was sent."""
        self.settings = _known_format(settings)
        self.reader.profile, self.reader.locale = profile(settings.profile), check_locale(settings.locale)

    def follow_settings(self) -> bool:
        """Take over the settings that the log says now. Whether another writer changed them."""
        now = self._read_settings() if self.timeline.settings else self.settings
        if now == self.settings:
            return False
        self.configure(now)
        return True

    @property
    def state(self) -> dict[str, Any]:
        """What the branch's strategy was last told to remember."""
        span = self.timeline.placed(self.timeline.states, self.path)
        return {} if span is None else self.reader.note(self.reader.entry_at(span), dict[str, Any])

    @property
    def tools(self) -> ToolsNote:
        """The tools in force on this branch."""
        span = self.timeline.placed(self.timeline.tools, self.path)
        if self._tools[0] != span:
            self._tools = (span, NO_TOOLS if span is None else self.reader.note(self.reader.entry_at(span), ToolsNote))
        return self._tools[1]

    def _load(self, known: "column_cache.Index") -> None:
        for name, column in known.columns.items():
            setattr(self.timeline, name, column)
        self.timeline.load_state(known.state)
        self._folded = self._indexed = known.tips.size

    # ------------------------------------------------------------------ reading

    def behind(self) -> bool:
        """Whether others have written what is not folded yet."""
        self.store.refresh()
        return self._folded < self.store.tips.size

    def catch_up(self) -> None:
        """Fold everything that has been appended since, by whomever."""
        end = self.store.tips.size  # a store that threads share may move on meanwhile
        for line in self.store.scan(self._folded):
            if line.span.offset >= end:
                break
            try:
                entry = log.decode(line.data)
            except log.UNREADABLE as error:
                self.timeline.damaged += 1
                self._pass_over(line, error)
            else:
                self._fold(self._sound(entry), line.span)
            self._last = line.span
        self._folded = end
        self._index_if_behind()

    def _pass_over(self, line: Line, error: Exception) -> None:
        """A line that cannot be shown may still be one that the next follows: a writer goes on from it."""
        where = f"{self.store.session_id}: the line at {line.span.offset}"
        logger.warning("%s is no entry of a form we know and is passed over: %s", where, error)
        with suppress(*log.UNREADABLE):
            self.timeline.follow(log.decode_tip(line.data))

    def _sound(self, entry: Entry) -> Entry:
        """The entry with numbers that the columns can hold: other programs write none, or others, or join two logs."""
        least = (self.timeline.seq[-1] if len(self.timeline) else 0) + 1
        if not least <= entry.seq < _MOST and (entry.seq <= 0 or log.kind_of(entry) is not None):
            entry = replace(entry, seq=least)
        if any(not -1 <= size < _MOST_TOKENS for sizes in entry.tokens for size in sizes) or entry.flags >> 16:
            entry = replace(entry, tokens=(), flags=0)
        return entry

    def _fold(self, entry: Entry, span: Span) -> range:
        try:
            return self.timeline.fold(entry, span)
        except (BadInput, *log.UNREADABLE) as error:  # another program's idea of one of our annotations
            logger.warning("%s: entry %s is passed over: %s", self.store.session_id, entry.uuid, error)
            self.timeline.follow(entry)
            return range(0)

    # ------------------------------------------------------------------ writing

    @property
    def branch_name(self) -> str:
        """The name of the branch this journal writes to."""
        return self.timeline.branches[self.branch].name

    @property
    def head(self) -> str | None:
        """The entry that the next conversation entry follows."""
        branch = self.timeline.branches[self.branch]
        return self.timeline.heads.get(self.branch) or branch.uuid or None

    def append(self, drafts: Sequence[Entry], *, if_unchanged: bool = False) -> list[range]:
        """Write entries as one batch after the branch's head; the rows each of them made.

        With `if_unchanged`, also annotations are written only if nobody wrote to the branch since the last `catch_up`.

        Raises:
            Conflict: another writer went on from that head first. Nothing was written.
            Unwritable: the disk refused. Nothing was written.
        """
        drafts = self._chained([*self._pending, *drafts])
        guess, end = self.store.tips.seq + 1, self.store.tips.ends.get(self.branch_name)
        caught_up = self._folded == self.store.tips.size
        measured = {guess: self._measured(drafts, guess)}  # outside the store's lock: it takes a moment

        def make(first: int) -> list[Entry]:
            if if_unchanged and not (caught_up and self.store.tips.ends.get(self.branch_name) == end):
                raise Conflict(self.branch_name, self.head, self.store.tips.heads.get(self.branch_name))
            if first not in measured:
                measured[first] = self._measured(drafts, first)
            return measured[first][0]

        expected = self.timeline.heads.get(self.branch)
        placements = self.store.append(make, branch=self.branch_name, expected_head=expected)
        skip = len(self._pending)
        self._pending.clear()
        if len(self._named) > _NAMES:
            self._named.clear()
        self._named |= measured[placements[0].entry.seq][1]
        return self._take_in(placements)[skip:]

    def _take_in(self, placements: list[Placement]) -> list[range]:
        if placements[0].span.offset != self._folded:  # somebody else wrote in between: fold theirs first, in order
            self.catch_up()
            return [self._rows_of_seq(placement.entry.seq) for placement in placements]
        rows = []
        for entry, span in placements:
            rows.append(self._fold(entry, span))
            self.reader.cache(entry, span)
            self._last = span
        self._folded = self.store.tips.size
        self._index_if_behind()
        return rows

    def _rows_of_seq(self, seq: int) -> range:
        first = self.timeline.row(str(seq))
        if first is None:
            return range(0)
        end = first
        while end < len(self.timeline) and self.timeline.seq[end] == seq:
            end += 1
        return range(first, end)

    def _chained(self, drafts: Sequence[Entry]) -> list[Entry]:
        parent = self.head
        chained = []
        for draft in drafts:
            chained.append(replace(draft, parent_uuid=parent))
            if draft.in_conversation:
                parent = draft.uuid
        return chained

    def _measured(self, drafts: Sequence[Entry], first: int) -> tuple[list[Entry], dict[str, int]]:
        """The entries with their numbers, their sizes and the entries they speak of; and what they name.

        A shortened text names its own item, so all of it waits for the numbers.
        """
        entries: list[Entry] = []
        named: dict[str, int] = {}
        tools: dict[str, str] = {}  # of the calls among them
        for seq, draft in enumerate(drafts, start=first):
            entry = replace(draft, seq=seq, branch=self.branch_name)
            if entry.in_conversation and entry.subtype != log.BOUNDARY:
                names = self.reader.named_identifiers(entry)
                before = {named.get(name) or self._named.get(name, 0) for name in names}
                speaks_of = tuple(sorted(before - {0}, reverse=True)[:_SPOKEN_OF])
                entry = replace(entry, tokens=tuple(self.reader.measure(entry, tools)), names=speaks_of)
                named |= dict.fromkeys(names, seq)
            entries.append(entry)
        return entries, named

    def annotate(self, *notes: tuple[str, Any], if_unchanged: bool = False) -> None:
        """Append annotations as one batch; `if_unchanged` as for `append`."""
        self.append([self.drafts.annotation(subtype, note) for subtype, note in notes], if_unchanged=if_unchanged)

    def drafted(self, messages: Iterable[Message]) -> tuple[list[Entry], list[PendingCall]]:
        """The entries of messages that go on from here, and the calls among them that got no result."""
        return self.drafts.messages(messages, self.waiting, self.settings.locale)

    def row(self, item_id: str) -> int | None:
        """The row of an item of this branch; None if there is none."""
        row = self.timeline.row(item_id)
        return row if row is not None and self.path.holds(self.timeline.branch[row], row) else None

    def waiting(self, call_id: str) -> PendingCall | None:
        """The call of this id that waits for its result on this branch."""
        row = self.timeline.open_call(call_id, self.branch)
        if row is None:
            return None
        call, subject = self.reader.item(row).parts[0], self.timeline.subject[row]
        assert isinstance(call, Call)
        return PendingCall(call_id, call.name, self.timeline.subjects[subject] if subject >= 0 else "")

    # ------------------------------------------------------------------ branches, index, end

    def fork(self, row: int) -> str:
        """Begin a branch after the unit of this row, and make it current. Its name.

        Calls and their results are not parted: the branch begins after the last of them. Raises OpenCalls.
        """
        timeline, row = self.timeline, self._after_results(row)
        waiting = [
            call_id
            for call, call_id in timeline.open_calls.items()
            if call <= row and self.path.holds(timeline.branch[call], call)
        ]
        if waiting:
            raise OpenCalls(waiting)
        name = self._ids()
        entry = self.reader.entry(row)
        note = HeadNote(name, self.branch_name_of(row), self.timeline.seq[row], entry.uuid)
        draft = self.drafts.annotation(log.HEAD_MOVED, note)
        self.store.append(
            lambda seq: [replace(draft, seq=seq, parent_uuid=entry.uuid)], branch=name, expected_head=None
        )
        self.catch_up()
        return name

    def _after_results(self, row: int) -> int:
        """The last row of the branch that answers a call made up to this row; the row itself where none does."""
        timeline = self.timeline
        end = max(timeline.rows_of(timeline.unit[row]))
        for later in range(row + 1, len(timeline)):
            answers = timeline.kind[later] == Kind.RESULT and timeline.partner[later] <= end
            if answers and self.path.holds(timeline.branch[later], later):
                end = max(end, later)
        return end

    def reopened(self) -> "Journal":
        """Another journal over the same log: files are opened again, memory is shared."""
        counting = self.reader.counter
        options: dict[str, Any] = {
            "clock": self._clock,
            "ids": self._ids,
            "token_counter": counting,
            "where": self.where,
        }
        if isinstance(self.store, JsonlStore):
            self.catch_up()
            self.save_index()
            return Journal.open_file(self.store.path, fsync=self.store.fsync, **options)
        return Journal(self.store, **options)

    def branch_name_of(self, row: int) -> str:
        """The branch a row was written on."""
        return self.timeline.branches[self.timeline.branch[row]].name

    def switch(self, name: str) -> None:
        """Write to another branch from now on."""
        names = [branch.name for branch in self.timeline.branches]
        if name == "main" and name not in names:
            name = ""  # as people call the first one
        if name not in names:
            raise BadInput(f"no branch {name!r}; there are {', '.join(repr(known or 'main') for known in names)}")
        self.branch = names.index(name)
        self.path = self.timeline.path(self.branch)
        if self.timeline.settings:
            self.configure(self._read_settings())  # those of this branch

    def _index_if_behind(self) -> None:
        if self._folded - self._indexed > max(_INDEX_AFTER, self._indexed // 4):
            self.save_index()

    def save_index(self) -> None:
        """Write the side index, if there is something new to index and a place for it."""
        side = self.store.side_file(column_cache.SUFFIX)
        if side is None or self._folded == self._indexed or self._last.length == 0:
            return
        if self._folded != self.store.tips.size:
            return  # the store knows of lines that are not folded: an index of these tips would hide them
        self.store.sync()  # an index must not know of lines that a power cut may take
        column_cache.save(side, side.with_suffix(".jsonl"), self.timeline, self.store.tips, self._last)
        self._indexed = self._folded

    def close(self) -> None:
        """Sync, leave an index for the next opening, and let go of the file."""
        self.catch_up()
        self.store.sync()
        self.save_index()
        self.store.close()


def _known_format(settings: Settings) -> Settings:
    """The settings, if they are of a log that this version may write to. Raises StoreError."""
    if settings.format > Settings.__struct_defaults__[0]:
        raise StoreError(
            f"this log has format {settings.format}, newer than this version of Sightline can write; "
            "nothing was changed: install the newest version to open it"
        )
    return settings
