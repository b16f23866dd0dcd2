"""Where the document keeps sessions: in memory for the current one, in files for all of them."""

import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from sightline import log
from sightline.clock import Clock, Ids, nanoid, wall_clock
from sightline.errors import Conflict, Unwritable
from sightline.journal import Journal
from sightline.log import Entry
from sightline.origins.clawdcode.counting import message_tokens
from sightline.origins.clawdcode.messages import is_message, kept_metadata, message_of, neutral
from sightline.origins.clawdcode.values import (
    ContextData,
    ContextMessage,
    ContextMetadata,
    ConversationContext,
    NoContext,
)
from sightline.project import place
from sightline.stores.disk import Disk, OsDisk
from sightline.stores.folder import Folder
from sightline.tokens import TokenCounter, counter

SESSION = "session"  # subtype of the annotation that says whose session it is
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
        return list(self._entries())

    async def read_stream(self, callback: Callable[[Entry], Awaitable[None] | None]) -> None:
        """Hand the entries to `callback` one by one, in order, each read when the one before has been dealt with."""
        for entry in self._entries():
            waiting = callback(entry)
            if waiting is not None:
                await waiting

    def _entries(self) -> Iterator[Entry]:
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
            self._saved = message
            draft = replace(journal.draft(neutral(message)), data=kept_metadata(message))
            self._saved = None
            while not _appended(journal, draft):  # another process was first: take its entries in and go on after them
                journal.store.refresh()
                journal.catch_up()

    def load_conversation(self, session_id: str) -> list[ContextMessage]:
        """The messages of a session, in order. Raises SessionNotFound."""
        self._folder.existing(session_id)
        with self._lock:
            journal = self._journal(session_id)
            rows = [row for row in range(len(journal.timeline)) if is_message(journal, row)]
            return [message_of(journal.reader.entry(row)) for row in rows]

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

    # A message's entry has the message's own id and time. Nothing is drawn from `ids` and `clock` while one is saved in
    # the background, so that what they give out depends on what the program did and not on when the disk was ready.

    def _new_id(self) -> str:
        return self._saved.id if self._saved is not None else self._ids()

    def _now(self) -> int:
        return self._saved.timestamp if self._saved is not None else self._clock()


def _appended(journal: Journal, draft: Entry) -> bool:
    try:
        journal.append([draft])
    except Conflict:
        return False
    return True
