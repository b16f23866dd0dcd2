"""Where the document keeps sessions: in memory for the current one, in files for all of them."""

import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from sightline.errors import BadInput, Conflict, Unwritable
from sightline.files.project import place
from sightline.log import entries as log
from sightline.log.annotations import CompactNote
from sightline.log.entries import CompactMetadata, Entry
from sightline.log.journal import Journal
from sightline.log.stores.disk import Disk, OsDisk
from sightline.log.stores.session_folder import Folder
from sightline.origins.clawdcode.counting import message_tokens
from sightline.origins.clawdcode.messages import is_message, kept_metadata, message_of, neutral
from sightline.origins.clawdcode.values import (
    CompactionRecord,
    ContextData,
    ContextMessage,
    ContextMetadata,
    ConversationContext,
    NoContext,
    SessionContext,
)
from sightline.values.clock import Clock, Ids, nanoid, wall_clock
from sightline.values.items import Kind
from sightline.values.tokens import TokenCounter, counter

SESSION = "session"  # subtype of the annotation that says whose session it is
BOUNDARY = "=== 上下文压缩边界 ==="
MAX_SESSIONS = 100  # listed; the document's figure

logger = logging.getLogger("sightline")


def get_storage_root() -> Path:
    """`.clawdcode` in the user's home."""
    return Path.home() / ".clawdcode"


def get_project_storage_path(project_path: str | Path, root: str | Path | None = None) -> Path:
    """Where the sessions of a project lie."""
    return Folder(project_path, root or get_storage_root()).path


def get_session_file_path(project_path: str | Path, session_id: str, root: str | Path | None = None) -> Path:
    """The file of a session. Raises BadSessionId for what is no plain file name."""
    return Folder(project_path, root or get_storage_root()).file(session_id)


class MemoryStore:
    """The current session, for quick access. Beyond `max_size` messages only the newest four fifths stay."""

    def __init__(
        self, max_size: int = 1000, *, clock: Clock = wall_clock, token_counter: TokenCounter | None = None
    ) -> None:
        self.max_size, self._clock, self._counter = max_size, clock, token_counter or counter()
        self._context: ContextData | None = None

    def set_context(self, context: ContextData) -> None:
        """Hold this context, and no other."""
        self._context = context

    def get_context(self) -> ContextData | None:
        """The context held; None before the first."""
        return self._context

    def add_message(self, message: ContextMessage) -> None:
        """Append a message. Raises NoContext before `set_context`."""
        if self._context is None:
            raise NoContext
        conversation, metadata = self._context.layers.conversation, self._context.metadata
        conversation.messages.append(message)
        metadata.total_tokens += message_tokens(message, self._counter)
        conversation.last_activity = metadata.last_updated = self._clock()
        self._enforce_memory_limit(conversation, metadata)

    def set_messages(self, messages: list[ContextMessage]) -> None:
        """Hold these messages in place of those there were. Raises NoContext before `set_context`."""
        if self._context is None:
            raise NoContext
        conversation, metadata = self._context.layers.conversation, self._context.metadata
        conversation.messages = messages
        metadata.total_tokens = sum(message_tokens(message, self._counter) for message in messages)
        conversation.last_activity = metadata.last_updated = self._clock()
        self._enforce_memory_limit(conversation, metadata)

    def _enforce_memory_limit(self, conversation: ConversationContext, metadata: ContextMetadata) -> None:
        messages = conversation.messages
        if len(messages) <= self.max_size:
            return
        keep = max(1, self.max_size * 4 // 5)  # at least the message just said
        gone, conversation.messages = messages[:-keep], messages[-keep:]
        metadata.total_tokens -= sum(message_tokens(message, self._counter) for message in gone)


class JSONLStore:
    """One file of entries, line by line, as the document has it: for reading any log and for writing plain ones.

    It gives entries no number and no place in a conversation; sessions are written through `PersistentStore`.
    """

    def __init__(self, file_path: str | Path, *, disk: Disk | None = None) -> None:
        self.file_path, self._disk = Path(file_path), disk or OsDisk()

    def append(self, entry: Entry) -> None:
        """Add one line with one write, under the file's lock; the file and its folder are made if need be.

        Raises:
            Unwritable: the disk refused.
        """
        try:
            file = self._disk.open(self.file_path)
            with file.locked():
                size = file.size()
                torn = size > 0 and file.read(size - 1, 1) != b"\n"  # a crash left half a line: it must not take ours
                file.append(b"\n" * torn + log.encode(entry))
            file.close()
        except OSError as error:
            raise Unwritable(str(self.file_path), error.strerror or str(error)) from error

    def read_all(self) -> list[Entry]:
        """Every entry; none where there is no file. Blank lines are passed over, damaged ones with a warning."""
        return list(self.entries())

    async def read_stream(self, callback: Callable[[Entry], Awaitable[None] | None]) -> None:
        """Hand the entries to `callback` one by one, in order, each read when the one before has been dealt with."""
        for entry in self.entries():
            waiting = callback(entry)
            if waiting is not None:
                await waiting

    def entries(self) -> Iterator[Entry]:
        """The same one by one, each read when it is asked for."""
        if not self.file_path.exists():
            return
        with self.file_path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.isspace():
                    continue
                try:
                    yield log.decode(line)
                except msgspec.DecodeError:
                    logger.warning("[JSONLStore] 解析 JSON 行失败 (%s:%d)", self.file_path, number)


class PersistentStore:
    """The sessions of one project, each a log of its own. All files are kept; the newest `max_sessions` are listed."""

    def __init__(
        self,
        project_path: str | Path = ".",
        max_sessions: int = MAX_SESSIONS,
        *,
        root: str | Path | None = None,
        clock: Clock = wall_clock,
        ids: Ids = nanoid,
        token_counter: TokenCounter | None = None,
    ) -> None:
        self.max_sessions = max_sessions
        self._folder = Folder(project_path, root or get_storage_root())
        self._project, self._clock, self._ids, self._counter = project_path, clock, ids, token_counter
        self._open: Journal | None = None  # of the session used last
        self._saved: ContextMessage | None = None  # its entry is being made
        self._lock = threading.RLock()  # saving happens in another thread

    def save_context(self, session_id: str, context: ContextData) -> None:
        """Begin the session's file by saying whose it is; durable when it returns. Messages follow one by one."""
        with self._lock:
            journal = self._journal(session_id)
            journal.annotate((SESSION, context.layers.session))
            journal.store.sync()

    def save_message(self, session_id: str, message: ContextMessage) -> None:
        """Append one message. Raises StoreError."""
        with self._lock:
            journal = self._journal(session_id)
            _append(journal, [replace(self._draft(journal, message), data=kept_metadata(message))])

    def save_compaction(self, session_id: str, done: CompactionRecord) -> None:
        """Append a boundary and the summary of what came before it, as one. Raises StoreError."""
        before = CompactMetadata(done.trigger, done.pre_tokens)
        after = CompactMetadata(done.trigger, done.pre_tokens, done.post_tokens, done.files_included)
        kept = Raw(msgspec.json.encode({"kept": done.kept}))
        with self._lock:
            journal = self._journal(session_id)
            covered = Raw(msgspec.json.encode(_covered(journal, set(done.kept))))
            mark = ContextMessage(done.boundary_id, "system", BOUNDARY, done.summary.timestamp)
            boundary = replace(self._draft(journal, mark), subtype=log.BOUNDARY, compact_metadata=before, data=covered)
            summary = self._draft(journal, done.summary)
            summary = replace(summary, is_compact_summary=True, compact_metadata=after, data=kept)
            _append(journal, [boundary, summary])

    def load_conversation(self, session_id: str, *, whole: bool = False) -> list[ContextMessage]:
        """The messages of a session, in order: after a compaction the system messages, the summary, what was kept
        beside it, and what was said since; with `whole`, everything ever said. Raises SessionNotFound.
        """
        self._folder.existing(session_id)
        with self._lock:
            journal = self._journal(session_id)
            rows = _message_rows(journal) if whole else _going_on(journal)
            return [message_of(journal.reader.entry(row)) for row in rows]

    def load_session(self, session_id: str) -> SessionContext:
        """Whose session it is, as far as the file says. Raises SessionNotFound."""
        for entry in JSONLStore(self._folder.existing(session_id)).entries():
            if entry.subtype == SESSION:
                with suppress(BadInput):
                    found: SessionContext = log.decode_data(entry, SessionContext)
                    return found
        return SessionContext(session_id, {}, self._clock())

    def list_sessions(self) -> list[str]:
        """Ids, the one written to last first."""
        return self._folder.sessions()[: self.max_sessions]

    def sync(self) -> None:
        """Return when everything saved survives a power cut."""
        with self._lock:
            if self._open is not None:
                self._open.store.sync()

    def close(self) -> None:
        """Make everything durable and let go of the file."""
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    def _journal(self, session_id: str) -> Journal:
        if self._open is None or self._open.store.session_id != session_id:
            self.close()
            self._open = Journal.open_file(
                self._folder.file(session_id),
                clock=self._now,
                ids=self._new_id,
                token_counter=self._counter,
                where=place(self._project),
            )
        return self._open

    def _draft(self, journal: Journal, message: ContextMessage) -> Entry:
        self._saved = message
        try:
            return journal.drafted([neutral(message)])[0][0]
        finally:
            self._saved = None

    # A message's entry has the message's own id and time. Nothing is drawn from `ids` and `clock` while one is saved in
    # the background, so that what they give out depends on what the program did and not on when the disk was ready.

    def _new_id(self) -> str:
        return self._saved.id if self._saved is not None else self._ids()

    def _now(self) -> int:
        return self._saved.timestamp if self._saved is not None else self._clock()


def _append(journal: Journal, drafts: list[Entry]) -> None:
    """Append entries as one. If another process was first, take its entries in and go on after them."""
    while True:
        try:
            journal.append(drafts)
            return
        except Conflict:
            journal.store.refresh()
            journal.catch_up()


def _message_rows(journal: Journal) -> list[int]:
    return [row for row in range(len(journal.timeline)) if is_message(journal, row)]


def _covered(journal: Journal, kept: set[str]) -> CompactNote:
    """What a compaction that keeps these messages covers: up to the one before the first of them."""
    rows = _message_rows(journal)
    last, missing = len(rows), set(kept)
    while missing and last > 0:
        last -= 1
        missing.discard(journal.reader.entry(rows[last]).uuid)
    if not rows:
        return CompactNote()
    ends = [journal.reader.entry(rows[index]) for index in (0, max(last - 1, 0))]
    return CompactNote(ends[0].seq, ends[1].seq, (ends[0].uuid, ends[1].uuid))


def _going_on(journal: Journal) -> list[int]:
    """The rows of the conversation that goes on: of what was compacted the summary, after the system messages."""
    timeline, rows = journal.timeline, _message_rows(journal)
    held = timeline.compacted(journal.path)
    shown = {timeline.unit_row[unit] for compaction in held for unit in compaction.summaries}
    kept = _kept(journal.reader.entry(max(shown))) if shown else None

    def stays(row: int) -> bool:
        if timeline.kind[row] in (Kind.SYSTEM, Kind.SUMMARY):
            return timeline.kind[row] == Kind.SYSTEM or row in shown
        if kept is not None:
            return row > max(shown) or journal.reader.entry(row).uuid in kept
        return not any(each.summaries and each.first <= timeline.unit[row] <= each.last for each in held)

    def order(row: int) -> int:
        if row > max(shown, default=-1):
            return 2
        return {Kind.SYSTEM: 0, Kind.SUMMARY: 1}.get(Kind(timeline.kind[row]), 2)

    return sorted(filter(stays, rows), key=order)  # stable: within each, the log's order


def _kept(summary: Entry) -> set[str] | None:
    """The messages that go on beside a summary, where it says so: the core and other programs do not."""
    match msgspec.json.decode(summary.data):
        case {"kept": [*uuids]}:
            return {uuid for uuid in uuids if isinstance(uuid, str)}
        case _:
            return None
