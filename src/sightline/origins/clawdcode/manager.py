"""The document's ContextManager: the current session, and the saving of it."""

import logging
import os
import platform
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from sightline.errors import BadInput, SightlineError
from sightline.files.project import git_branch
from sightline.log.entries import CompactMetadata
from sightline.origins.clawdcode.compaction import CompactionOptions, CompactionResult, ContextCompressor
from sightline.origins.clawdcode.layers import observe
from sightline.origins.clawdcode.messages import (
    ContextFilter,
    check,
    provider_messages,
    readable,
    split_system,
)
from sightline.origins.clawdcode.stores import (
    CacheStore,
    MemoryStore,
    PersistentStore,
    SessionStore,
    get_storage_root,
)
from sightline.origins.clawdcode.values import (
    DEFAULT_THRESHOLD,
    ContextData,
    ContextLayer,
    ContextManagerOptions,
    ContextMessage,
    ContextMetadata,
    ContextRole,
    ConversationContext,
    FilterOptions,
    NoSession,
    SessionContext,
    SystemContext,
    ToolContext,
    Trigger,
    WorkspaceContext,
)
from sightline.origins.exchanges import has_pending_calls
from sightline.origins.given_session import plain_session
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.values.clock import Clock, Ids, nanoid, wall_clock
from sightline.values.decoders import convert
from sightline.values.tokens import TokenCounter, counter

logger = logging.getLogger("sightline")


class _Saving:
    """Saves in the background: in order, in one thread. What the disk refuses is tried again with the next save."""

    def __init__(self, store: PersistentStore) -> None:
        self._store = store
        self._waiting: deque[Callable[[], None]] = deque()
        self._failure: Exception | None = None
        self._thread = ThreadPoolExecutor(1, "sightline-saving")

    def put(self, save: Callable[[], None]) -> None:
        """Call `save` soon, after all that was put before."""
        self._waiting.append(save)
        self._thread.submit(self._save)

    def flush(self) -> None:
        self._thread.submit(self._save).result()
        if self._failure is not None:
            raise self._failure
        self._store.sync()

    def close(self) -> None:
        """Wait for the saves that wait, and end the thread. A later save begins another."""
        self._thread.shutdown()
        self._thread = ThreadPoolExecutor(1, "sightline-saving")

    def _save(self) -> None:
        self._failure = None
        while self._waiting and self._failure is None:
            try:
                self._waiting[0]()
                self._waiting.popleft()
            except (SightlineError, OSError) as error:
                self._failure = error
                logger.warning("%d messages are not saved yet: %s", len(self._waiting), error)


class ContextManager:
    """The current session in memory and in its file, and a cache.

    `options` may be a mapping in the document's spelling. A field that it leaves out keeps its default. Of `compaction`
    only the summarizer, its time, the locale and the model's name count; the manager sets the rest.
    """

    def __init__(
        self,
        options: ContextManagerOptions | Mapping[str, Any] | None = None,
        *,
        project_path: str | Path = ".",
        clock: Clock = wall_clock,
        ids: Ids = nanoid,
        token_counter: TokenCounter | None = None,
        compaction: CompactionOptions | None = None,
        session: Session | AsyncSession | None = None,
    ) -> None:
        """`session` is one that others use too, or that is kept elsewhere: it is the current and only one, its messages
        are the conversation, and its owner closes it. Without one, sessions are files.
        """
        self.options = _options(options)
        self._project, self._clock, self._ids = Path(project_path).absolute(), clock, ids
        storage = self.options.storage
        self.memory = MemoryStore(storage.max_memory_size, clock=clock, token_counter=token_counter)
        self._given = plain_session(session) if session is not None else None
        if self._given is not None:
            self.persistent: PersistentStore = SessionStore(self._given, project_path, clock=clock)
        else:
            self.persistent = PersistentStore(
                project_path, root=storage.persistent_path, clock=clock, ids=ids, token_counter=token_counter
            )
        self.cache = CacheStore(storage.cache_size, clock=clock)
        self._saving = _Saving(self.persistent)
        self.current_session_id: str | None = None
        self._lock = threading.Lock()  # threads that add messages: memory and file have them in the same order
        self._counter = token_counter or counter()
        self._compaction = compaction or CompactionOptions()
        self._compacting = threading.Lock()  # one at a time
        self._trigger = self.options.threshold_tokens
        if self._given is not None:
            self.load_session(self._given.id)

    def create_session(self, user_id: str | None = None, preferences: Mapping[str, Any] | None = None) -> str:
        """Begin a session, make it the current one and return its id. It is on disk when this returns.

        A session that was given is the current one already: only its user and preferences are noted.
        """
        if self._given is not None:
            now = self._clock()
            facts = SessionContext(self._given.id, dict(preferences or {}), now, user_id)
            self.persistent.save_context(self._given.id, self._context(facts, now))
            self.load_session(self._given.id)
            return self._given.id
        session_id, now = self._ids(), self._clock()
        context = self._context(SessionContext(session_id, dict(preferences or {}), now, user_id), now)
        self.persistent.save_context(session_id, context)
        self._make_current(context)
        return session_id

    def load_session(self, session_id: str) -> None:
        """Make an earlier session of this project the current one. Raises SessionNotFound."""
        messages = self.persistent.load_conversation(session_id)
        context = self._context(replace(self.persistent.load_session(session_id), session_id=session_id), self._clock())
        for message in self.persistent.load_conversation(session_id, whole=True):
            observe(context.layers, message)
        self._make_current(context)
        self.memory.set_messages(messages)

    def _context(self, session: SessionContext, now: int) -> ContextData:
        project = str(self._project)
        layers = ContextLayer(
            system=SystemContext(platform.system(), platform.release(), os.environ.get("SHELL", ""), project),
            session=session,
            conversation=ConversationContext([], [], now),
            tool=ToolContext([], {}, {}),
            workspace=WorkspaceContext(project, git_branch(self._project) or None),
        )
        return ContextData(layers, ContextMetadata(total_tokens=0, priority=1, last_updated=now))

    def _make_current(self, context: ContextData) -> None:
        with self._lock:
            self.memory.set_context(context)
            self.current_session_id = context.layers.session.session_id
            self._trigger = self.options.threshold_tokens

    def add_message(self, role: ContextRole, content: str, metadata: dict[str, Any] | None = None) -> None:
        """Add a message to the current session, and compress the context if it is larger than the threshold now.

        The message is saved in the background. A disk or a summarizer that fails does not make this fail.

        Raises:
            NoSession: no session has been created.
            BadInput: an unknown role, or metadata that is no JSON.
        """
        if self.current_session_id is None:
            raise NoSession
        if role not in get_args(ContextRole):
            raise BadInput(f"unknown role {role!r}; choose one of {', '.join(get_args(ContextRole))}")
        message = ContextMessage(self._ids(), role, content, self._clock(), metadata)
        check(message)  # now: the saving is in the background
        with self._lock:
            self.memory.add_message(message)
            self._saving.put(partial(self.persistent.save_message, self.current_session_id, message))
        context = self.memory.get_context()
        if context is not None and self._should_compress(context):
            self.compress_current_context()

    def _should_compress(self, context: ContextData) -> bool:
        """Whether the context is larger than the threshold and no tool call waits for its result."""
        return (
            self.options.storage.compression_enabled
            and context.metadata.total_tokens > self._trigger
            and not has_pending_calls([readable(message) for message in context.layers.conversation.messages])
        )

    def compress_current_context(self, trigger: Trigger = "auto") -> CompactionResult | None:
        """Replace all but the newest messages by a summary, in memory and in what `load_session` reads.

        Messages that are added meanwhile stay. Return None if there is nothing to replace, if the current session
        changed meanwhile, or if another thread is compressing and the trigger is "auto".

        Raises:
            NoSession: no session has been created.
        """
        context, session_id = self.memory.get_context(), self.current_session_id
        if context is None or session_id is None:
            raise NoSession
        if not self._compacting.acquire(blocking=trigger == "manual"):
            return None
        try:
            with self._lock:
                messages = list(context.layers.conversation.messages)
                options = self._compaction_options(trigger, context.metadata.total_tokens)
            if len(split_system(messages)[1]) < 2:  # the newest message stays in any case
                return None
            result = ContextCompressor(options).compress_now(messages)
            with self._lock:
                if len(result.compacted_messages) > len(messages) or self.memory.get_context() is not context:
                    return None  # nothing was replaced, or the session changed
                self._take_over(result, messages, context, trigger)
        finally:
            self._compacting.release()
        return result

    def _compaction_options(self, trigger: Trigger, tokens: int) -> CompactionOptions:
        return replace(
            self._compaction,
            trigger=trigger,
            max_context_tokens=self.options.max_context_tokens,
            retain_percent=self.options.retain_percent,
            actual_pre_tokens=tokens,
            most_tokens=self.options.threshold_tokens if trigger == "auto" else None,
            project_dir=self._project,
            token_counter=self._counter,
            clock=self._clock,
            ids=self._ids,
        )

    def _take_over(
        self, result: CompactionResult, messages: list[ContextMessage], context: ContextData, trigger: Trigger
    ) -> None:
        """Put a compaction of `messages` into memory, and save it in the background."""
        session_id, threshold = context.layers.session.session_id, self.options.threshold_tokens
        compacted = {message.id for message in messages}
        added = [message for message in context.layers.conversation.messages if message.id not in compacted]
        _, (summary, *kept) = split_system([*result.compacted_messages, *added])
        self.memory.set_messages([*result.compacted_messages, *added])
        tokens = context.metadata.total_tokens
        # If what must stay is larger than the threshold, compressing again at every message would gain nothing.
        self._trigger = threshold if tokens <= threshold else tokens + threshold // 4
        self.cache.set(f"compaction:{session_id}", result)
        sizes = CompactMetadata(trigger, result.pre_tokens, result.post_tokens, result.files_included)
        first_kept = kept[0].id if kept else ""
        self._saving.put(partial(self.persistent.save_compaction, session_id, self._ids(), summary, sizes, first_kept))

    def get_context(self) -> ContextData | None:
        """Return the current session's context; None before the first session."""
        return self.memory.get_context()

    def get_messages(self, limits: FilterOptions | None = None) -> list[dict[str, Any]]:
        """Return the messages for a model in OpenAI's form, within these limits (by default `default_filter`).

        There is no tool call without its result and no result without its call.
        """
        context = self.memory.get_context()
        chosen = ContextFilter(limits or self.options.default_filter, clock=self._clock, token_counter=self._counter)
        return provider_messages(chosen.filter(context.layers.conversation.messages if context is not None else []))

    def flush(self) -> None:
        """Return when every message is saved and durable. Raises StoreError if one cannot be."""
        self._saving.flush()

    def close(self) -> None:
        """Flush, close the file and end the thread. Later calls open them again."""
        try:
            self.flush()
        finally:
            self._saving.close()
            self.persistent.close()


def _options(options: ContextManagerOptions | Mapping[str, Any] | None) -> ContextManagerOptions:
    if not isinstance(options, ContextManagerOptions):
        try:
            options = convert(options or {}, ContextManagerOptions)
        except msgspec.ValidationError as error:
            raise BadInput(f"these options cannot be used: {error}") from error
    root = options.storage.persistent_path or str(get_storage_root())
    threshold = options.compression_threshold or DEFAULT_THRESHOLD  # the document takes 0 for none given
    return replace(options, storage=replace(options.storage, persistent_path=root), compression_threshold=threshold)
