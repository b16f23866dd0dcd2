"""The document's ContextManager: the current session, and the saving of it."""

import logging
import os
import platform
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from sightline.clock import Clock, Ids, nanoid, wall_clock
from sightline.errors import BadInput, SightlineError
from sightline.origins.clawdcode.messages import kept_metadata, neutral
from sightline.origins.clawdcode.stores import MemoryStore, PersistentStore, get_storage_root
from sightline.origins.clawdcode.values import (
    DEFAULT_THRESHOLD,
    ContextData,
    ContextLayer,
    ContextManagerOptions,
    ContextMessage,
    ContextMetadata,
    ContextRole,
    ConversationContext,
    NoSession,
    SessionContext,
    SystemContext,
    ToolContext,
    WorkspaceContext,
)
from sightline.project import git_branch
from sightline.stores.cache import CacheStore
from sightline.tokens import TokenCounter

logger = logging.getLogger("sightline")


class _Saving:
    """Messages on their way to the disk: in order, by one thread, each kept until it is saved."""

    def __init__(self, store: PersistentStore) -> None:
        self._store = store
        self._waiting: deque[tuple[str, ContextMessage]] = deque()
        self._failure: Exception | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def put(self, session_id: str, message: ContextMessage) -> None:
        """Save a message soon."""
        self._waiting.append((session_id, message))
        self._soon()

    def flush(self) -> None:
        """Return when everything put so far is durable. Raises StoreError if it cannot be."""
        if self._waiting:
            self._soon().result()
        if self._failure is not None:
            raise self._failure
        self._store.sync()

    def close(self) -> None:
        """Wait for what can still be saved, and let go of the thread until there is more."""
        with self._lock:
            if self._thread is not None:
                self._thread.shutdown()
                self._thread = None

    def _soon(self) -> "Future[None]":
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "sightline-saving")
            return self._thread.submit(self._save)

    def _save(self) -> None:
        """Save what waits. What the disk refuses stays first in line, for the next message or flush to try again."""
        self._failure = None
        while self._waiting and self._failure is None:
            try:
                self._store.save_message(*self._waiting[0])
                self._waiting.popleft()
            except (SightlineError, OSError) as error:
                self._failure = error
                logger.warning("%d messages are not saved yet: %s", len(self._waiting), error)


class ContextManager:
    """The current session: in memory, in its file, with a cache beside it.

    `options` may be a mapping in the document's spelling; what it leaves out keeps its default, field by field.
    """

    def __init__(
        self,
        options: ContextManagerOptions | Mapping[str, Any] | None = None,
        *,
        project_path: str | Path = ".",
        clock: Clock = wall_clock,
        ids: Ids = nanoid,
        token_counter: TokenCounter | None = None,
    ) -> None:
        self.options = _options(options)
        self._project, self._clock, self._ids = Path(project_path).absolute(), clock, ids
        storage = self.options.storage
        self.memory = MemoryStore(storage.max_memory_size, clock=clock, token_counter=token_counter)
        self.persistent = PersistentStore(
            project_path, root=storage.persistent_path, clock=clock, ids=ids, token_counter=token_counter
        )
        self.cache = CacheStore(storage.cache_size, clock=clock)
        self._saving = _Saving(self.persistent)
        self.current_session_id: str | None = None
        self._lock = threading.Lock()  # memory and file have the messages in the same order, whoever adds them

    def create_session(self, user_id: str | None = None, preferences: Mapping[str, Any] | None = None) -> str:
        """Begin a session and make it the current one. Its id; it is in memory and on disk when this returns."""
        session_id, now = self._ids(), self._clock()
        context = ContextData(
            layers=ContextLayer(
                system=self._system_context(),
                session=SessionContext(session_id, dict(preferences or {}), now, user_id),
                conversation=ConversationContext([], [], now),
                tool=ToolContext([], {}, {}),
                workspace=WorkspaceContext(str(self._project), git_branch(self._project) or None),
            ),
            metadata=ContextMetadata(total_tokens=0, priority=1, last_updated=now),
        )
        self.persistent.save_context(session_id, context)
        self.memory.set_context(context)
        self.current_session_id = session_id
        return session_id

    def add_message(self, role: ContextRole, content: str, metadata: dict[str, Any] | None = None) -> None:
        """Add a message to the current session. It is saved in the background: a disk that fails does not fail this.

        Raises:
            NoSession: no session has been created.
            BadInput: a role there is not, or metadata that is no JSON.
        """
        if self.current_session_id is None:
            raise NoSession
        if role not in get_args(ContextRole):
            raise BadInput(f"unknown role {role!r}; choose one of {', '.join(get_args(ContextRole))}")
        message = ContextMessage(self._ids(), role, content, self._clock(), metadata)
        neutral(message), kept_metadata(message)  # what cannot be saved is refused now, not in the background
        with self._lock:
            self.memory.add_message(message)
            self._saving.put(self.current_session_id, message)

    def get_context(self) -> ContextData | None:
        """The current session's context, as memory holds it."""
        return self.memory.get_context()

    def flush(self) -> None:
        """Return when every message is saved and durable. Raises StoreError if one cannot be."""
        self._saving.flush()

    def close(self) -> None:
        """Flush, and let go of files and threads; whatever is done later takes them again."""
        try:
            self.flush()
        finally:
            self._saving.close()
            self.persistent.close()

    def _system_context(self) -> SystemContext:
        return SystemContext(platform.system(), platform.release(), os.environ.get("SHELL", ""), str(self._project))


def _options(options: ContextManagerOptions | Mapping[str, Any] | None) -> ContextManagerOptions:
    if not isinstance(options, ContextManagerOptions):
        try:
            options = msgspec.convert(options or {}, ContextManagerOptions)
        except msgspec.ValidationError as error:
            raise BadInput(f"these options cannot be used: {error}") from error
    root = options.storage.persistent_path or str(get_storage_root())
    threshold = options.compression_threshold or DEFAULT_THRESHOLD  # the document takes 0 for none given
    return replace(options, storage=replace(options.storage, persistent_path=root), compression_threshold=threshold)
