"""The log of one session, open for reading and writing on one branch; and the constraints that its user laid down."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

from msgspec.json import encode
from msgspec.structs import replace

from sightline import shorten
from sightline.errors import BadInput, Conflict, OpenCalls, StoreError
from sightline.files.project import NOWHERE, Place
from sightline.log import column_cache
from sightline.log import entries as log
from sightline.log.annotations import NO_TOOLS, CompactNote, FoundQuote, HeadNote, StateNote, ToolsNote
from sightline.log.columns import FIRST, NONE, Compaction, check_branch_name
from sightline.log.drafts import Drafts, PendingCall
from sightline.log.entries import Entry
from sightline.log.fold import fold_entry, fold_line
from sightline.log.levels import Reader
from sightline.log.stores import Placement, Repairs, Span, Store
from sightline.log.stores.closed_store import ClosedStore
from sightline.values.clock import Clock, Ids, timestamp
from sightline.values.found_mark import mark_found
from sightline.values.items import Call, Kind, Message
from sightline.values.phrases import check_locale
from sightline.values.profiles import profile
from sightline.values.recall_tools import offered
from sightline.values.settings import Settings
from sightline.values.tokens import TokenCounter, counter

T = TypeVar("T")

_CACHE_AFTER = 4 << 20  # bytes of log that opening may parse; beyond it the column cache is written anew
_WORTH_CACHING = 4  # new bytes of log for each byte of the cache, so that writing it stays a small part of the work


class Blobs:
    """The texts of a store by hash."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: set[str] = set()  # hashes of texts that are stored

    def keep(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Store the texts that are not stored yet. Returns name → hash. Raises Unwritable."""
        hashes = {name: blake2b(text.encode(), digest_size=16).hexdigest() for name, text in texts.items()}
        if fresh := {hashes[name]: text for name, text in texts.items() if hashes[name] not in self._known}:
            self.store.keep_texts(fresh)
            self._known.update(fresh)
        return hashes

    def read(self, hashes: Mapping[str, str]) -> dict[str, str]:
        """Name → text for name → hash, without the texts that were never stored."""
        texts = self.store.texts(hashes.values()) if hashes else {}
        return {name: texts[digest] for name, digest in hashes.items() if digest in texts}


class Journal:
    """Writes a session's entries with `append`, and folds all entries of the log into `timeline`."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        ids: Ids,
        settings: Settings | None = None,
        token_counter: TokenCounter | None = None,
        where: Place = NOWHERE,
        states_settings: bool = True,
    ) -> None:
        """Read the log, with the column cache where the store has kept one that fits.

        `states_settings`: a new log begins with its settings; without them it has the default ones.
        """
        self.store, self._clock, self._ids, self.where = store, clock, ids, where
        self._closed = False
        cached = self._read_store()
        self.blobs = Blobs(store)
        self.drafts = Drafts(store.session_id, clock, ids, where)
        first = self._first_settings(cached)
        self.settings = _check_format(first or settings or Settings())
        token_counter = token_counter or counter(self.settings.encoding)
        self.reader = Reader(store, token_counter, profile(self.settings.profile), self.settings.locale)
        self.timeline = self.reader.timeline
        self._folded = 0  # how far the store has been folded
        self._cached = 0  # how far the column cache reaches
        self._cache_size = 0  # bytes of the column cache
        self._uncached = 0  # bytes of the lines that it does not know
        self._last = Span(0, 0)
        # What the log has in force, with the branch and the number of annotations of this subtype that it follows from.
        self._tools: tuple[tuple[int, int], ToolsNote] = ((NONE, 0), NO_TOOLS)
        self._stated: tuple[tuple[int, int], Settings | None] = ((NONE, 0), None)
        self._pending: list[Entry] = []  # written with the first append, so that a session nobody uses leaves no file
        if cached is not None:
            self.timeline.restore(cached.columns, cached.state)
            self._folded = self._cached = cached.tips.size
            self._cache_size, self._last = cached.size, cached.last
        self.catch_up()
        self.branch = self.timeline.current
        self.path = self.timeline.path(self.branch)
        if first is not None:
            self.configure(self.reader.in_force(self.timeline.settings, self.path, Settings) or self.settings)
        elif states_settings:
            self._pending.append(self.drafts.annotation(log.SETTINGS, self.settings))

    def _read_store(self) -> "column_cache.Index | None":
        """Have the store read its log, and return the column cache if it fits."""
        cached = column_cache.load(self.store)
        self.store.refresh(cached.tips if cached else None)
        return cached if cached is not None and cached.tips.size <= self.store.tips.size else None

    def reopened(self) -> "Journal":
        """Open another journal over the same log, with a handle of its own."""
        self.catch_up()
        self.save_index()
        store = self.store.reopened()
        try:
            return Journal(store, clock=self._clock, ids=self._ids, token_counter=self.reader.counter, where=self.where)
        except BaseException:
            store.close()
            raise

    # ------------------------------------------------------------------ settings, state and tools

    def _first_settings(self, cached: "column_cache.Index | None") -> Settings | None:
        """The settings that the log was begun with, because its tokens were counted with them; None in a new log."""
        spans = [Span(note.offset, note.length) for note in cached.state.settings[:1]] if cached else []
        line = self.store.read_many(spans)[0] if spans else next((line.data for line in self.store.scan()), b"")
        try:
            entry = log.decode(line)
            is_stated = entry.subtype == log.SETTINGS and log.is_intact(line)
            return log.decode_data(entry, Settings) if is_stated else Settings()
        except (*log.UNREADABLE, BadInput):
            return Settings() if line else None

    def configure(self, settings: Settings) -> None:
        """Use these settings from now on. What was sent stays as it was sent."""
        self.settings = _check_format(settings)
        self.reader.profile, self.reader.locale = profile(settings.profile), check_locale(settings.locale)

    def follow_settings(self) -> bool:
        """Use the settings that the log has for this branch. Whether they differ from those used so far."""
        key = (self.branch, len(self.timeline.settings))
        if self._stated[0] != key:
            self._stated = (key, self.reader.in_force(self.timeline.settings, self.path, Settings))
        if differ := self._stated[1] not in (None, self.settings):
            self.configure(self._stated[1])
        return differ

    @property
    def state(self) -> dict[str, Any]:
        """What the strategy of this branch remembers."""
        placed = self.timeline.state_in_force(self.path)
        note = self.reader.in_force([placed], self.path, StateNote) if placed is not None else None
        return {} if note is None else note.state

    @property
    def tools(self) -> ToolsNote:
        """The tools in force on this branch."""
        key = (self.branch, len(self.timeline.tools))
        if self._tools[0] != key:
            span = self.timeline.placed(self.timeline.tools, self.path)
            note = self.reader.in_force(self.timeline.tools, self.path, ToolsNote) or NO_TOOLS
            if span is not None and span.offset in self.timeline.changed:  # counted again; setting them replaces them
                tokens = self.reader.counter.count(encode(note.definitions).decode())
                note = ToolsNote("", tokens, note.definitions)
            self._tools = (key, note)
        return self._tools[1]

    # ------------------------------------------------------------------ reading

    @property
    def repairs(self) -> Repairs:
        """What the store repaired, and every line that cannot be read or is not as it was written."""
        store = self.store.repairs
        damaged = sorted({*store.damaged, *self.timeline.damaged})
        return Repairs(store.torn_bytes, store.torn_file, damaged, self.timeline.changed)

    @property
    def today(self) -> str:
        """The date that an entry written now would carry."""
        return timestamp(self._clock)[: len("2026-01-31")]

    def row(self, item_id: str) -> int | None:
        """The row of an item of this branch; None if there is none."""
        row = self.timeline.row(item_id)
        return row if row is not None and self.path.holds(self.timeline.branch[row], row) else None

    def open_calls(self) -> list[Call]:
        """Return the calls on this branch that wait for a result."""
        if not self.timeline.open_calls:  # as nearly always
            return []
        items = map(self.reader.item, self.timeline.rows_on(self.path, self.timeline.open_calls))
        return [call for item in items if isinstance(call := item.parts[0], Call)]

    def waiting(self, call_id: str) -> PendingCall | None:
        """The pending call of this id on this branch."""
        if (row := self.timeline.open_call(call_id, self.branch)) is None:
            return None
        call = self.reader.item(row).parts[0]
        assert isinstance(call, Call)
        return PendingCall.of(call)

    def behind(self) -> bool:
        """Whether other writers have appended entries that are not folded yet."""
        self.store.refresh()
        return self._folded != self.store.tips.size

    def refresh(self) -> bool:
        """Fold what other writers have appended. Return whether there was something."""
        if is_behind := self.behind():
            self.catch_up()
        return is_behind

    def catch_up(self) -> None:
        """Fold every entry that the store knows of and that is not folded yet, whoever wrote it."""
        end = self.store.tips.size  # a store that threads share may grow meanwhile
        for line in self.store.scan(self._folded):
            if line.span.offset >= end:
                break
            fold_line(self.timeline, line, self.store.session_id)
            self._last = line.span
            self._uncached += line.span.length
        self._folded = end
        self._cache_if_behind()

    # ------------------------------------------------------------------ writing

    @property
    def branch_name(self) -> str:
        """The name of the branch that this journal writes to."""
        return self.timeline.branches[self.branch].name

    @property
    def head(self) -> str | None:
        """The uuid of the entry that the next conversation entry follows."""
        return self.timeline.heads.get(self.branch) or self.timeline.branches[self.branch].uuid or None

    def drafted(self, messages: Iterable[Message], system_flags: int = 0) -> tuple[list[Entry], list[PendingCall]]:
        """Draft the entries of these messages. Also returns the calls among them that got no result.

        `system_flags`: of the entries of system messages.
        """
        pages = offered(self.tools.definitions)
        return self.drafts.messages(messages, self.waiting, self.settings.locale, system_flags, pages)

    def annotate(self, *notes: tuple[str, Any], if_unchanged: bool = False) -> None:
        """Append annotations as one batch; `if_unchanged` as for `append`."""
        self.append([self.drafts.annotation(subtype, note) for subtype, note in notes], if_unchanged=if_unchanged)

    def append(self, drafts: Sequence[Entry], *, if_unchanged: bool = False) -> list[range]:
        """Write entries as one batch after the head of the branch. Returns the rows that each of them made.

        With `if_unchanged`, annotations too are written only if nobody wrote to the branch since the last `catch_up`.

        Raises:
            Conflict: another writer appended to the branch first. Nothing was written.
            Unwritable: the disk refused. Nothing was written.
        """
        if not (drafts := [*self._pending, *drafts]):
            return []
        end, caught_up = self.store.tips.ends.get(self.branch_name), self._folded == self.store.tips.size
        chained = [draft.in_conversation for draft in drafts]
        tokens = [  # outside the store's lock, because it takes a moment; the rest is made when it is first needed
            tuple(self.reader.measure(draft)) if is_chained and draft.subtype != log.BOUNDARY else ()
            for draft, is_chained in zip(drafts, chained, strict=True)
        ]

        def make(first: int) -> list[Entry]:
            if if_unchanged and not (caught_up and self.store.tips.ends.get(self.branch_name) == end):
                raise Conflict(self.branch_name, self.head, self.store.tips.heads.get(self.branch_name))
            return self._chained(zip(drafts, chained, tokens, strict=True), first)

        skip, expected = len(self._pending), self.timeline.heads.get(self.branch)
        written = self.store.append(make, branch=self.branch_name, expected_head=expected)
        self._pending.clear()
        rows = self._fold_written(written)
        self._cache_if_behind()
        return rows[skip:]

    def _chained(self, drafts: Iterable[tuple[Entry, bool, tuple[int, ...]]], first: int) -> list[Entry]:
        """The entries with their tokens, parents and seqs, if the first has this seq.

        `drafts`: with whether others may follow each in the chain, and with the tokens of its items in full.
        """
        entries: list[Entry] = []
        parent, branch = self.head, self.branch_name
        for seq, (draft, is_chained, sizes) in enumerate(drafts, start=first):
            entries.append(replace(draft, parent_uuid=parent, seq=seq, branch=branch, tokens=sizes or draft.tokens))
            parent = draft.uuid if is_chained else parent
        return entries

    def _fold_written(self, placements: list[Placement]) -> list[range]:
        if placements[0].span.offset != self._folded:  # another writer was faster: fold its entries first, in order
            self.catch_up()
            seqs, written = self.timeline.seq, [placement.entry.seq for placement in placements]
            return [range(bisect_left(seqs, seq), bisect_right(seqs, seq)) for seq in written]
        rows = []
        for entry, span in placements:
            rows.append(fold_entry(self.timeline, entry, span, self.store.session_id))
            self.reader.cache(entry, span)
            self._last = span
            self._uncached += span.length
        self._folded = self.store.tips.size
        return rows

    # ------------------------------------------------------------------ branches

    def branch_name_of(self, row: int) -> str:
        """The name of the branch that a row was written on."""
        return self.timeline.branches[self.timeline.branch[row]].name

    def switch(self, name: str) -> None:
        """Write to another branch from now on. Raises BadInput if there is none of this name."""
        names = [branch.name for branch in self.timeline.branches]
        if name == FIRST and name not in names:
            name = ""
        if name not in names:
            raise BadInput(f"no branch {name!r}; there are {', '.join(repr(branch or FIRST) for branch in names)}")
        self.branch = names.index(name)
        self.path = self.timeline.path(self.branch)
        self.follow_settings()

    def fork(self, row: int, name: str | None = None) -> str:
        """Begin a branch after the unit of this row and make it the current one. Returns its name, by default an id.

        Calls and their results are not separated: the branch begins after the last of these results. Raises OpenCalls.
        If the row is -1, the branch begins before the first row and shares none.
        """
        timeline, row = self.timeline, self._after_results(row) if row != NONE else NONE
        waiting = timeline.rows_on(self.path, timeline.open_calls)
        if pending := [timeline.open_calls[call] for call in waiting if call <= row]:
            raise OpenCalls(pending)
        wanted_name, uuid = name, self.reader.entry(row).uuid if row != NONE else ""
        name = self._ids() if wanted_name is None else wanted_name
        left = (self.branch_name_of(row), timeline.seq[row]) if row != NONE else ("", 0)
        note = HeadNote(name, *left, uuid)

        def make(seq: int) -> list[Entry]:
            if wanted_name is not None:  # under the store's lock, because two writers may want the same name
                check_branch_name(wanted_name, self.store.tips.ends)
            return [replace(self.drafts.annotation(log.HEAD_MOVED, note), parent_uuid=uuid or None, seq=seq)]

        self.store.append(make, branch=name, expected_head=None)
        self.catch_up()
        return name

    def forked(self, row: int, name: str | None = None, *, keep_summaries: bool = False) -> "Journal":
        """Begin a branch as `fork` does, and open another journal that writes to it. This one stays where it is.

        With `keep_summaries`, compactions that cover only what both branches share are written again on the new one,
        also those made after this row.
        """
        name, journal = self.fork(row, name), self.reopened()
        try:
            journal.switch(name)
            if keep_summaries:
                for compaction in self.timeline.compacted(self.path, within=journal.path):
                    if not journal.path.knows(compaction):
                        journal.append(self._drafts_of(compaction))
        except BaseException:
            journal.close(writes=False)
            raise
        return journal

    def _drafts_of(self, compaction: Compaction) -> list[Entry]:
        """Draft the entries of a compaction again."""
        first, last = (self.timeline.unit_row[unit] for unit in (compaction.first, compaction.last))
        ends = (self.reader.entry(first).uuid, self.reader.entry(last).uuid)
        note = CompactNote(self.timeline.seq[first], self.timeline.seq[last], ends)
        made = [self.reader.entry(self.timeline.unit_row[unit]) for unit in compaction.summaries]
        boundary = self.drafts.boundary(note, made[0].compact_metadata or log.CompactMetadata("auto", 0))
        return [boundary, *(replace(entry, uuid=self._ids()) for entry in made)]

    def _after_results(self, row: int) -> int:
        """The last row of the branch that answers a call made up to this row, or the last row of its own unit."""
        timeline = self.timeline
        end = max(timeline.rows_of(timeline.unit[row]))
        for later in timeline.rows_on(self.path, range(row + 1, len(timeline))):
            if timeline.kind[later] == Kind.RESULT and timeline.partner[later] <= end:
                end = max(end, later)
        return end

    # ------------------------------------------------------------------ column cache, end

    def _cache_if_behind(self) -> None:
        if self._uncached > max(_CACHE_AFTER, _WORTH_CACHING * self._cache_size):
            self.save_index()

    def save_index(self, *, measured: bool = False) -> None:
        """Have the store keep the column cache, if there are new entries or levels were `measured`."""
        # If the store knows of lines that are not folded, a cache with its tips would hide them.
        is_behind, is_kept = self._folded != self.store.tips.size, self._folded == self._cached and not measured
        if is_behind or is_kept or self._last.length == 0 or self.reader.is_stale:
            return
        self.store.sync()  # the cache must not know of lines that a power cut may lose
        with self.reader.usual_sizes():
            self._cache_size = column_cache.save(self.store, self.timeline, self._last)
        self._cached, self._uncached = self._folded, 0

    def close(self, *, writes: bool = True) -> None:
        """Sync, write the column cache for the next opening, and close the store. Then the log can only be read.

        A second call does nothing. Without `writes` the store is only closed.
        """
        if self._closed:
            return
        self._closed = True
        store = self.store
        try:
            if writes:
                self.catch_up()
                store.sync()
                self.save_index()
        finally:
            self.store = self.reader.store = self.blobs.store = ClosedStore(store, self.where.cwd)
            store.close()


def retry_on_conflict(write: Callable[[], T], refresh: Callable[[], object], attempts: int = 2) -> T:
    """Call `write`. After a Conflict call `refresh` and then `write` again, at most `attempts` times in all.

    Only for what does not depend on what the other writer said. `refresh` is `Journal.refresh`, or a session's.

    Raises:
        Conflict: the last attempt failed too.
    """
    for _ in range(attempts - 1):
        with suppress(Conflict):
            return write()
        refresh()
    return write()


class LaidDown(NamedTuple):
    """A constraint of the user, word for word."""

    row: int  # of its message
    sentence: str
    revoked: bool  # all of it, by later sentences
    found: FoundQuote | None = None  # by a model; None: by the rules

    def marked(self, text: str, locale: str) -> str:
        """Return the sentence, or this text of it, with a mark if a model found it, and with how the model reads it."""
        return mark_found(text, self.found.reading, locale) if self.found else text


def laid_down(journal: Journal) -> Iterator[LaidDown]:
    """Yield the constraints on the branch that the journal writes to, the newest first.

    Of a message, those that the rules find come before those that only a model found.
    """
    timeline, path = journal.timeline, journal.path

    def message_before(row: int) -> int:
        unit = timeline.last_user(path, row)
        return timeline.unit_row[unit] if unit >= 0 else row

    lifted = shorten.Lifted(message_before)
    for row in journal.reader.constraint_rows(path):
        for sentence in reversed(journal.reader.constraints(row)):
            yield LaidDown(row, sentence, lifted.takes(sentence, row))
        for by_model in reversed(journal.reader.found(row)):
            # What a model chose or wrote never revokes anything. Its reading says more clearly what is revoked.
            yield LaidDown(row, by_model.quote, lifted.is_lifted(by_model.reading or by_model.quote, row), by_model)


def _check_format(settings: Settings) -> Settings:
    """The settings themselves. Raises StoreError if their log is newer than this version can write."""
    if settings.format > Settings.__struct_defaults__[0]:
        raise StoreError(
            f"this log has format {settings.format}, newer than this version of Sightline can write; "
            "nothing was changed: install the newest version to open it"
        )
    return settings
