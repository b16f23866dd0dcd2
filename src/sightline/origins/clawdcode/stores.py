"""The document's stores: the current session in memory, all sessions in files, and a cache for what can be made again.

The files are the core's logs.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from sightline.errors import SessionNotFound, Unwritable
from sightline.files.project import place
from sightline.log import LABELLED, Drafts, Journal, PendingCall, retry_on_conflict
from sightline.log import entries as log
from sightline.log.annotations import CompactNote
from sightline.log.entries import CompactMetadata, Entry
from sightline.log.stores.disk import Disk, OsDisk
from sightline.log.stores.jsonl import JsonlStore
from sightline.log.stores.session_folder import SESSION_FACTS, Folder
from sightline.origins.clawdcode.layers import observe
from sightline.origins.clawdcode.messages import check, count_messages, message_of, neutral, with_metadata
from sightline.origins.clawdcode.values import ContextData, ContextMessage, NoContext, SessionContext
from sightline.session.session import Session
from sightline.values.clock import Clock, Ids, nanoid, wall_clock
from sightline.values.decoders import convert, decode_json
from sightline.values.items import Kind, Result
from sightline.values.lock import locked
from sightline.values.tokens import TokenCounter, counter

MAX_SESSIONS = 100  # listed; this and the next are the document's figures
DEFAULT_TTL = 5 * 60 * 1000  # milliseconds
_FACTS = "clawdcode_session"  # the annotation of a given session that has its user and preferences
_ATTEMPTS = 1000  # to append while others do: each attempt fails only because another writer succeeded
_MESSAGES = (Kind.SYSTEM, Kind.USER, Kind.ASSISTANT, Kind.RESULT, Kind.SUMMARY)

logger = logging.getLogger("sightline")


def get_storage_root() -> Path:
    """`.clawdcode` in the user's home."""
    return Path.home() / ".clawdcode"


def get_project_storage_path(project_path: str | Path, root: str | Path | None = None) -> Path:
    """Return the folder of a project's sessions."""
    return Folder(project_path, root or get_storage_root(), shared=True).path


def get_session_file_path(project_path: str | Path, session_id: str, root: str | Path | None = None) -> Path:
    """Return the file of a session. Raises BadSessionId for an id that is no plain file name."""
    return Folder(project_path, root or get_storage_root(), shared=True).file(session_id)


class MemoryStore:
    """Holds the current session in memory. Beyond `max_size` messages only the newest four fifths stay."""

    def __init__(
        self, max_size: int = 1000, *, clock: Clock = wall_clock, token_counter: TokenCounter | None = None
    ) -> None:
        self.max_size, self._clock, self._counter = max_size, clock, token_counter or counter()
        self._context: ContextData | None = None

    def set_context(self, context: ContextData) -> None:
        self._context = context

    def get_context(self) -> ContextData | None:
        """Return the context; None before the first `set_context`."""
        return self._context

    def add_message(self, message: ContextMessage) -> None:
        """Append a message, and note its tool calls, results and topics. Raises NoContext before `set_context`."""
        if self._context is None:
            raise NoContext
        self._context.layers.conversation.messages.append(message)
        observe(self._context.layers, message)
        tokens = self._context.metadata.total_tokens + count_messages([message], self._counter)
        self._enforce_memory_limit(self._context, tokens)

    def set_messages(self, messages: list[ContextMessage]) -> None:
        """Replace the messages. Raises NoContext before `set_context`."""
        if self._context is None:
            raise NoContext
        self._context.layers.conversation.messages = messages
        self._enforce_memory_limit(self._context, count_messages(messages, self._counter))

    def _enforce_memory_limit(self, context: ContextData, tokens: int) -> None:
        """Drop the oldest messages if there are too many. Set the tokens and the time of the change."""
        conversation, metadata = context.layers.conversation, context.metadata
        if len(conversation.messages) > self.max_size:
            keep = max(1, self.max_size * 4 // 5)  # at least the newest message
            tokens -= count_messages(conversation.messages[:-keep], self._counter)
            conversation.messages = conversation.messages[-keep:]
        metadata.total_tokens = tokens
        conversation.last_activity = metadata.last_updated = self._clock()


class CacheStore:
    """Holds at most `size` values, each for `ttl` milliseconds after it was set. The least recently used goes first."""

    def __init__(self, size: int = 100, ttl: int = DEFAULT_TTL, *, clock: Clock = wall_clock) -> None:
        self._size, self._ttl, self._clock = size, ttl, clock
        self._values: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def set(self, key: str, value: Any, ttl: int | None = None) -> None:
        """Store a value under a key, in place of an earlier one."""
        self._values[key] = (self._clock() + (self._ttl if ttl is None else ttl), value)
        self._values.move_to_end(key)
        while len(self._values) > self._size:
            self._values.popitem(last=False)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value, or `default` if there is none or it is too old. Reading does not prolong its lifetime."""
        if key not in self._values:
            return default
        expires, value = self._values[key]
        if self._clock() >= expires:
            del self._values[key]
            return default
        self._values.move_to_end(key)
        return value


class JSONLStore:
    """One file of entries, one per line: reads any log and writes plain ones.

    It does not number or chain entries. Sessions are written through `PersistentStore`.
    """

    def __init__(self, file_path: str | Path, *, disk: Disk | None = None) -> None:
        self.file_path, self._disk = Path(file_path), disk or OsDisk()

    def append(self, entry: Entry) -> None:
        """Add one line with one write, under the file's lock. The file and its folder are made if they are missing.

        Raises:
            Unwritable: the disk refused.
        """
        try:
            file = self._disk.open(self.file_path)
            with file.locked():
                size = file.size()
                torn = size > 0 and file.read(size - 1, 1) != b"\n"  # a crash left half a line: begin a new one
                file.append(b"\n" * torn + log.encode(entry))
            file.close()
        except OSError as error:
            raise Unwritable(str(self.file_path), error.strerror or str(error)) from error

    def read_all(self) -> list[Entry]:
        """Return every entry; none if there is no file. Blank lines are skipped, damaged lines with a warning."""
        return list(self.entries())

    async def read_stream(self, callback: Callable[[Entry], Awaitable[None] | None]) -> None:
        """Pass the entries to `callback` in order. Each is read when the callback is done with the one before."""
        for entry in self.entries():
            waiting = callback(entry)
            if waiting is not None:
                await waiting

    def entries(self) -> Iterator[Entry]:
        """Yield what `read_all` returns, each entry read when it is asked for."""
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
    """The sessions of one project, each in a log of its own. The newest `max_sessions` are listed; all files stay."""

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
        self._folder = Folder(project_path, root or get_storage_root(), shared=True)
        self._project, self._clock, self._ids, self._counter = project_path, clock, ids, token_counter
        self._open: Journal | None = None  # of the session used last
        self._lock = threading.RLock()  # messages are saved in another thread

    @locked
    def save_context(self, session_id: str, context: ContextData) -> None:
        """Begin the file of a session, and beside it one with its user and preferences, for which the document's
        entries have no place. Durable when this returns. Raises Unwritable.
        """
        path = self._folder.file(session_id)
        try:
            facts = OsDisk().open(path.with_suffix(SESSION_FACTS))
            facts.truncate(0)
            facts.append(msgspec.json.encode(context.layers.session) + b"\n")
            facts.sync()
            facts.close()
            OsDisk().open(path).close()
        except OSError as error:
            raise Unwritable(str(path), error.strerror or str(error)) from error

    @locked
    def save_message(self, session_id: str, message: ContextMessage) -> None:
        """Append a message under its own id and time. `load_conversation` returns it as it is.

        A tool message is a `tool_result`, also if no call waits for it.

        Raises:
            BadInput: it could not be read back as it is.
            StoreError: the disk refused it.
        """
        check(message)
        journal, core = self._journal(session_id), neutral(message)
        drafts, result = _drafts(journal, message), core.parts[0] if core.parts else None
        if isinstance(result, Result):
            call = journal.waiting(result.id)
            flags = 0 if call is not None else LABELLED
            draft = drafts.result(result, call or PendingCall(result.id, "", ""), flags=flags)
        else:
            draft = drafts.message(core)
        _append(journal, [with_metadata(draft, message)])

    @locked
    def save_compaction(
        self, session_id: str, boundary_id: str, summary: ContextMessage, sizes: CompactMetadata, first_kept: str
    ) -> None:
        """Append a boundary and the summary of the messages before `first_kept`, as one batch. Raises StoreError."""
        journal = self._journal(session_id)
        rows, entry = _message_rows(journal), journal.reader.entry
        kept = next((at for at in reversed(range(len(rows))) if entry(rows[at]).uuid == first_kept), len(rows))
        covered = rows[: max(kept, 1)]
        first, last = entry(covered[0]), entry(max(covered, key=journal.timeline.unit.__getitem__))
        boundary = _drafts(journal, replace(summary, id=boundary_id)).boundary(
            CompactNote(first.seq, last.seq, (first.uuid, last.uuid)), CompactMetadata(sizes.trigger, sizes.pre_tokens)
        )
        _append(journal, [boundary, _drafts(journal, summary).summary(summary.content, sizes)])

    @locked
    def load_conversation(self, session_id: str, *, whole: bool = False) -> list[ContextMessage]:
        """Return the messages of a session in order: after a compaction the system messages, the summary, the messages
        that it does not cover, and all later messages. With `whole`, return every message. Raises SessionNotFound.
        """
        self._folder.existing(session_id)
        journal = self._journal(session_id)
        return [message_of(journal.reader.entry(row)) for row in _rows(journal, whole=whole)]

    @locked
    def load_session(self, session_id: str) -> SessionContext:
        """Return the user and preferences of a session, as far as they are known. Raises SessionNotFound."""
        facts = self._folder.existing(session_id).with_suffix(SESSION_FACTS)
        try:
            return decode_json(facts.read_bytes(), SessionContext)
        except (OSError, *log.UNREADABLE):  # another program began it
            return SessionContext(session_id, {}, self._clock())

    def list_sessions(self) -> list[str]:
        """Return the ids, the session written to last first."""
        return self._folder.sessions(empty=True)[: self.max_sessions]

    @locked
    def sync(self) -> None:
        """Return when everything saved survives a power cut."""
        if self._open is not None:
            self._open.store.sync()

    @locked
    def close(self) -> None:
        """Make everything durable and close the file."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _journal(self, session_id: str) -> Journal:
        if self._open is None or self._open.store.session_id != session_id:
            self.close()
            self._open = Journal(
                JsonlStore(self._folder.file(session_id), read=False),
                clock=self._clock,
                ids=self._ids,
                token_counter=self._counter,
                where=place(self._project),
                states_settings=False,
            )
        return self._open


class SessionStore(PersistentStore):
    """One session that was given, under the names of `PersistentStore`. Its owner closes it."""

    def __init__(self, session: Session, project_path: str | Path = ".", *, clock: Clock = wall_clock) -> None:
        super().__init__(project_path, clock=clock)
        self.session, self._open = session, session.log
        self._lock = session._lock  # one lock for whoever writes to the log

    @locked
    def save_context(self, session_id: str, context: ContextData) -> None:
        """Note the user and preferences in the session's log. Raises SessionNotFound for another id, StoreError."""
        self._check(session_id)
        self.session.annotate(_FACTS, msgspec.to_builtins(context.layers.session))

    @locked
    def load_conversation(self, session_id: str, *, whole: bool = False) -> list[ContextMessage]:
        """See `PersistentStore.load_conversation`."""
        journal = self._journal(session_id)
        return [message_of(journal.reader.entry(row)) for row in _rows(journal, whole=whole)]

    @locked
    def load_session(self, session_id: str) -> SessionContext:
        """See `PersistentStore.load_session`."""
        self._check(session_id)
        noted = self.session.annotations(_FACTS)
        return convert(noted[-1].value, SessionContext) if noted else SessionContext(session_id, {}, self._clock())

    def list_sessions(self) -> list[str]:
        return [self.session.id]

    def close(self) -> None:
        """Make everything durable."""
        self.sync()

    def _journal(self, session_id: str) -> Journal:
        self._check(session_id)
        return self.session.log

    def _check(self, session_id: str) -> None:
        if session_id != self.session.id:
            raise SessionNotFound(session_id, f"this manager, which has the session {self.session.id!r} only")


def _rows(journal: Journal, *, whole: bool) -> list[int]:
    return _message_rows(journal) if whole else _uncovered_rows(journal)


def _drafts(journal: Journal, message: ContextMessage) -> Drafts:
    """Make entries with the id and time of a message.

    Nothing is drawn from the store's `ids` and `clock` while a message is saved in the background, because what they
    return next must not depend on when the disk was ready.
    """
    return Drafts(journal.store.session_id, lambda: message.timestamp, lambda: message.id, journal.where)


def _append(journal: Journal, drafts: list[Entry]) -> None:
    """Append entries as one batch, after the entries of other processes."""
    retry_on_conflict(lambda: journal.append(drafts), journal.refresh, attempts=_ATTEMPTS)


def _message_rows(journal: Journal) -> list[int]:
    """Return the rows of the branch that are messages, and no tool calls, windows or recalled passages."""
    kind, branch, path = journal.timeline.kind, journal.timeline.branch, journal.path
    return [row for row in range(len(kind)) if kind[row] in _MESSAGES and path.holds(branch[row], row)]


def _uncovered_rows(journal: Journal) -> list[int]:
    """Return the messages that are in use: of those before the newest summary only what no summary covers.

    System messages are always in use. Those before the newest summary come first, then the summaries.
    """
    timeline, rows = journal.timeline, _message_rows(journal)
    compactions = timeline.compacted(journal.path)
    summaries = sorted({timeline.unit_row[unit] for compaction in compactions for unit in compaction.summaries})
    newest = max(summaries, default=-1)
    earlier = [row for row in rows if row <= newest]
    system = [row for row in earlier if timeline.kind[row] == Kind.SYSTEM]
    uncovered = [
        row
        for row in earlier
        if timeline.kind[row] not in (Kind.SYSTEM, Kind.SUMMARY)
        and not any(timeline.unit[row] in compaction for compaction in compactions)
    ]
    return [*system, *summaries, *uncovered, *rows[len(earlier) :]]
