"""The histories of several conversations, found by name: each has a session of its own, which is opened when needed."""

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from threading import Lock, RLock
from typing import Any, TypeVar
from weakref import WeakSet

import msgspec

from sightline.apps.window import WindowStyle, window_tools
from sightline.compaction.prompt import summary_in
from sightline.errors import BadInput, BadSessionId, SessionNotFound, StoreError
from sightline.follow.history import History
from sightline.follow.model_request import STEM, ModelRequest, name_of, read_all
from sightline.follow.own_lists import kept_by_provider, newest_compaction
from sightline.follow.windows import WINDOW_TOOLS, AppNames, load_apps
from sightline.log.stores import PlacedStores, Stores, Written, check_session_id, missing
from sightline.plan import Budget
from sightline.plan.strategies import strategy
from sightline.session.async_session import AsyncSession
from sightline.session.attention import own_tools
from sightline.session.session import Session
from sightline.values.items import Call, Kind
from sightline.values.phrases import say
from sightline.values.settings import Settings
from sightline.wire.wire import Reader

Sessions = Session | AsyncSession | Stores | str | Path | Callable[[str], Session]
"""Where conversations are kept: a project's folder, stores, a function that opens a session by its id, or one session
for one conversation."""

K = TypeVar("K", str, bytes)

_log = logging.getLogger("sightline.follow")
_MOST_OPEN = 64  # sessions whose files are open at once
_MOST_HELD = 256 * 1024 * 1024  # bytes of messages that open histories hold, to know them again

_ANY = Budget(1 << 40)
_MOST_NOTED = 10_000  # replies and openings whose conversation is known
_MOST_SEARCHED, _MOST_BYTES = 64, 64 * 1024 * 1024  # logs that are searched for the id of a reply, and their bytes
_ALIKE = 0.8  # of the characters of two system prompts are in lines that both have
_LOCKS = 64
_MOST_OTHERS = 16  # conversations of an agent's session that are looked at for the one that a request goes on from
_MOST_UNNAMED, _MOST_UNNAMED_BYTES = 8, 8 * 1024 * 1024  # the same, and their bytes, if the agent names no session
_LEAST_OPENING = 400  # bytes of a message that has a summary and the words around it
_LEAST_SUMMARY = 40  # characters: shorter ones may be found in any text


class _Entry:
    """A conversation that is open: its history, how many use it now, and the objects that have used it."""

    def __init__(self) -> None:
        self.lock, self.users = RLock(), 0
        self.owners: WeakSet[object] = WeakSet()
        self.held = 0  # bytes, see `History.held`
        self.history: History | None = None


def resume_or_begin(session_id: str, project: str | Path, *, settings: Settings | None, **where: Any) -> Session:
    """Open a session, or begin it with these settings if there is none. Several processes may do so at once.

    `where` as for `Session.resume`, which also says what is raised.
    """
    with suppress(SessionNotFound):
        return Session.resume(session_id, project, **where)
    try:
        return Session.new(project, session_id=session_id, settings=settings, **where)
    except BadInput:
        with suppress(SessionNotFound):  # another process has begun it meanwhile
            return Session.resume(session_id, project, **where)
        raise


class Conversations:
    """Opens the session of a conversation by the name of the conversation, and follows its list of messages.

    Those that were not used for long are closed, and opened again when they are used.
    """

    def __init__(
        self,
        sessions: Sessions,
        *,
        settings: Settings | None = None,
        most_open: int = _MOST_OPEN,
        wire: str | Reader = "",
        program: str = "",
        apps: AppNames = (),
    ) -> None:
        """`settings` are those of new sessions, `wire` and `program` as for `History`.

        `apps`: those whose windows the model sees, if it has the tools for them: `own_tools`, which `answer` answers.
        Raises BadInput if `sessions` is nothing that sessions come from, or for an app that there is not.
        """
        self._apps = load_apps(apps)
        shown_as = settings or Settings()
        style = WindowStyle(shown_as.locale, "brief" if shown_as.windows == "brief" else "xml")
        self._sessions = source = sessions.session if isinstance(sessions, AsyncSession) else sessions
        planner = source.strategy if isinstance(source, Session) else strategy(shown_as.strategy, shown_as.config)
        self.own_tools = (*(window_tools(self._apps, style) if self._apps else ()), *own_tools(planner))
        self._settings, self._most_open, self._wire, self._program = settings, most_open, wire, program
        is_source = isinstance(sessions, Session | AsyncSession | str | Path) or callable(sessions)
        if not is_source and missing(sessions, Stores):
            raise BadInput(
                "sessions are a project's folder, Stores, a function that opens a session by its id, or one Session; "
                f"not {sessions!r}"
            )
        if settings is not None and (callable(sessions) or isinstance(sessions, Session | AsyncSession)):
            raise BadInput("a session that you open has its settings: give them to Session.new")
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = Lock()
        self._only = ""  # the conversation that the one session belongs to

    @property
    def is_one(self) -> bool:
        """Whether there is one session, for one conversation."""
        return isinstance(self._sessions, Session)

    @contextmanager
    def use(self, name: str, owner: object = None) -> Iterator[History]:
        """Give the history of a conversation. Others who want the same one wait until this block ends.

        `owner`: an object on whose behalf it is used, if several share these conversations. See `close`.

        Raises:
            BadInput: there is one session, and it belongs to another conversation.
        """
        if self.is_one:
            name = self._check_only(name)
        with self._lock:
            entry = self._entries.setdefault(name, _Entry())
            self._entries.move_to_end(name)
            entry.users += 1
            if owner is not None:
                entry.owners.add(owner)
        try:
            with entry.lock:
                if entry.history is None:
                    session = self._open(name)
                    session.windows.register(*self._apps)
                    entry.history = History(session, wire=self._wire, program=self._program)
                yield entry.history
        finally:
            with self._lock:
                entry.users -= 1
                entry.held = entry.history.held if entry.history is not None else 0
                oldest = self._take_oldest()
            for oldest_entry in oldest:  # not inside the lock, because closing takes a while
                try:
                    self._close(oldest_entry)
                except StoreError as error:  # what was said in it is in its log; who uses this one is not to blame
                    _log.warning("a session did not close well: %s", error)

    def session_of(self, name: str) -> Session:
        """Return the session of a conversation, on the branch of the messages that it had last."""
        with self.use(name) as history:
            return history.session

    def answer(
        self, name: str, tool: str, arguments: Mapping[str, Any], *, call_id: str = "", owner: object = None
    ) -> str:
        """Return the answer to a model's call of one of `own_tools`. Raises SightlineError, for the model to read.

        A window is acted on once for each `call_id`, also if a program that was killed makes the call again.
        """
        with self.use(name, owner) as history:
            session, call = history.session, Call(call_id, tool, dict(arguments))
            if tool not in WINDOW_TOOLS:
                return session.items.answer(call)
            return str(session.windows.call(call, resumed=bool(call_id)))

    def __contains__(self, name: str) -> bool:
        """Whether a conversation is open here."""
        with self._lock:
            return name in self._entries

    @contextmanager
    def closed(self, name: str) -> Iterator[bool]:
        """Have the session of a conversation closed while the block runs; who wants to use it waits.

        Gives False, and closes nothing, if somebody uses it now.
        """
        with self._lock:
            entry = self._entries.setdefault(name, _Entry())
            is_free = not entry.users
            entry.users += 1
        try:
            if not is_free:
                yield False
                return
            with entry.lock:
                self._close(entry)
                entry.history, entry.held = None, 0
                yield True
        finally:
            with self._lock:
                entry.users -= 1
                if not entry.users and entry.history is None:
                    self._entries.pop(name, None)

    def close(self, owner: object = None) -> None:
        """Close the sessions that were opened here, each when nobody uses it. One that was passed in stays open.

        With an owner, only those that it has used and that no other owner, alive and not closed, has used too. One that
        cannot be closed, on a full disk say, does not keep the others open: its error is raised after that.
        """
        with self._lock:
            taken = [(name, entry) for name, entry in self._entries.items() if owner is None or _is_left(entry, owner)]
            for _, entry in taken:
                entry.users += 1  # so that no other thread closes it meanwhile
        errors: list[StoreError] = []
        for name, entry in taken:
            with entry.lock:
                try:
                    self._close(entry)
                except StoreError as error:
                    errors.append(error)
                entry.history = None  # whoever waits for it opens it again
            with self._lock:
                entry.users -= 1
                if not entry.users and self._entries.get(name) is entry:
                    del self._entries[name]
        if errors:
            raise errors[0]

    def _check_only(self, name: str) -> str:
        if name and self._only and name != self._only:
            raise BadInput(
                f"the one session here belongs to conversation {self._only!r}, and this is {name!r}: pass a folder or "
                "stores instead of a session, and each conversation has a session of its own"
            )
        self._only = self._only or name
        return ""

    def _open(self, name: str) -> Session:
        source, session_id = self._sessions, id_of(name)
        if isinstance(source, Session):
            return source
        if callable(source):
            session = source(session_id)
            session = session.session if isinstance(session, AsyncSession) else session
            if not isinstance(session, Session):
                raise BadInput(f"the function for sessions gave {session!r}, which is no Session")
            return session
        project: str | Path = source if isinstance(source, str | Path) else "."
        stores = None if isinstance(source, str | Path) else source
        return resume_or_begin(session_id, project, stores=stores, settings=self._settings)

    def _take_oldest(self) -> list[_Entry]:
        """Take out those that were not used for the longest time, if too many are open, or hold too much."""
        taken, held = [], sum(entry.held for entry in self._entries.values())
        for name in [name for name, entry in self._entries.items() if not entry.users][:-1]:
            if len(self._entries) <= self._most_open and held <= _MOST_HELD:
                break
            taken.append(self._entries.pop(name))
            held -= taken[-1].held
        return taken

    def _close(self, entry: _Entry) -> None:
        if entry.history is not None:
            entry.history.close(with_first=not self.is_one)


def _is_left(entry: _Entry, owner: object) -> bool:
    """Take an owner away from an entry. Return whether it was the last one."""
    is_own = owner in entry.owners
    entry.owners.discard(owner)
    return is_own and not entry.owners


def id_of(name: str) -> str:
    """Return the id of the session of a conversation: its name, or a digest of a name that no session may have."""
    try:
        return check_session_id(name)
    except BadSessionId:
        return f"conversation-{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


# ---------------------------------------------------------------------- which conversation a request belongs to


class ConversationNames:
    """Finds the session that has the conversation of a request, where the request alone does not say so.

    An agent that has replaced its history by a summary begins its list with another message. A request that goes on
    from what its provider keeps has only the new messages.
    """

    def __init__(self, stores: PlacedStores, conversations: Mapping[str, Conversations]) -> None:
        """`conversations`: by provider."""
        self._stores, self._conversations = stores, conversations
        self._replied: OrderedDict[str, str] = OrderedDict()  # id of a reply at its provider → its conversation
        self._begun_again: OrderedDict[str, str] = OrderedDict()  # name by its opening → conversation that has it
        self._unnamed: deque[str] = deque(maxlen=_MOST_OTHERS)  # the last answers to requests that name no session
        self._answers: OrderedDict[bytes, str] = OrderedDict()  # digest of a first answer that was looked at → its name
        self._finds = [Lock() for _ in range(_LOCKS)]  # by session of an agent

    def history(self, request: ModelRequest) -> AbstractContextManager[History]:
        """The history of the conversation that a request is named for. Others wait until the block ends."""
        return self._conversations[request.format.provider].use(request.name)

    def find(self, request: ModelRequest) -> ModelRequest:
        """Return a request with the name of the session that has its conversation. It may read other logs.

        It is another than the request says where the provider has the earlier part, or where the agent has replaced
        the history by a summary: then its list begins with another message.
        """
        if request.kept_upstream:
            kept = request.own_id(request.kept_upstream)
            if kept not in self._replied:
                name = self._find_replied(kept, request.format.provider)
                opening = kept.encode("utf-8", "surrogatepass")
                _note(self._replied, kept, name or name_of(request.format, request.session, opening))
            return request._replace(name=self._replied[kept], pieces=None)
        with self._finds[hash(request.stem) % _LOCKS]:
            shown = self._new_answer(request)
            if request.name not in self._begun_again and _may_go_on(request):  # so the stores are asked once
                is_new = shown or not self._stores.has(request.name)
                name = self._find_summarized(request) if is_new else ""
                _note(self._begun_again, request.name, name or request.name)
            elif shown and (name := self._find_summarized(request)):
                _note(self._begun_again, request.name, name)
        return self.with_name(request)

    def _new_answer(self, request: ModelRequest) -> bool:
        """Whether the first answer of a request may be a summary, and was not looked at yet.

        opencode begins each list after a compaction with the same question, and shows the newest summary as its answer.
        """
        first = b"".join(request.listed[request.opening :][:1])
        key = blake2b(request.name.encode() + first, digest_size=16).digest()
        if key in self._answers:
            return False
        _note(self._answers, key, request.name)
        return len(request.first_answer) >= _LEAST_SUMMARY or bool(newest_compaction([first]))

    def with_name(self, request: ModelRequest) -> ModelRequest:
        """Return a request with the name of the session that has its conversation, as far as that is known at once."""
        return request._replace(name=self._begun_again.get(request.name, request.name))

    def name_at_once(self, request: ModelRequest) -> str:
        """Return the name of the session that has a request's conversation; empty: other logs may have to be read."""
        if request.kept_upstream:
            return self._replied.get(request.own_id(request.kept_upstream), "")
        is_sure = request.most_tokens is not None or not _may_go_on(request) or request.name in self._begun_again
        return self.with_name(request).name if is_sure else ""

    def _logs(self, stem: str, most: int) -> list[Written]:
        """Return the sessions whose names begin like this, those that were written to last."""
        return self._stores.written(stem)[:most]

    def _find_replied(self, reply_id: str, provider: str) -> str:
        """Return the conversation that has a reply with this id; empty: there is none among those of late.

        That a log has these words somewhere is not enough: anybody can say them.
        """
        quoted = msgspec.json.encode(reply_id)
        logs, left = list[str](), _MOST_BYTES
        for log in self._logs(STEM, _MOST_SEARCHED):
            if log.size <= left:  # a shorter one after it may still be searched
                left -= log.size
                logs.append(log.session_id)
        while name := self._stores.containing(logs, quoted):
            with self._conversations[provider].use(name) as history:
                if reply_id in history.reply_ids:
                    return name
            logs = logs[logs.index(name) + 1 :]
        return ""

    def _find_summarized(self, request: ModelRequest) -> str:
        """Return the conversation whose agent goes on from a summary with this request; empty: there is none.

        It belongs to the same session of the agent, or neither names one. It has this list already, or the summary is
        its last reply: the agent has asked for it under the same system prompt, or shows it as an answer (opencode).
        Or the agent has asked for it in a request of its own (pi, aider, opencode): then it is the newest conversation
        that has the same system prompt. Else it is one that has the same opening.
        """
        logs = self._logs(request.stem, _MOST_OTHERS if request.session else _MOST_UNNAMED)
        sizes = accumulate(log.size for log in logs)
        others = [
            log.session_id
            for log, size in zip(logs, sizes, strict=True)
            if request.session or size <= _MOST_UNNAMED_BYTES
        ]
        said, answered, system = request.opening_text, request.first_answer, request.system_text()
        is_agent, alike, same_opening = bool(request.tools or request.anew), [], ""
        is_apart = any(_has_summary(said, reply) for reply in self._unnamed)  # pi asks OpenAI so, within its session
        opening, answer = request.listed[request.first : request.opening], request.first_reply
        begun = [part for message in read_all(request.format, opening) for part in message.parts]
        kept = kept_by_provider([*begun, *answer])
        for name in others:
            with self._conversations[request.format.provider].use(name) as history, suppress(BadInput):
                if history.knows(opening, answer or None):
                    return name
                is_like = is_agent and any(is_alike(text, system) for text in _systems(history.session))
                item = history.last_reply()
                reply = history.session.items.text(item.id) if item else ""
                begins = _has_summary(said, reply)
                shows = _has_summary(answered, reply) or bool(kept and item and kept == kept_by_provider(item.parts))
                if (begins and is_like) or (shows and _was_asked_before(history.session)):
                    self._begin_again(history)
                    return name
                is_apart = is_apart or begins or shows
                if is_like:
                    alike.append(name)
                same_opening = same_opening or (name if answer and history.knows(opening) else "")
        if is_apart and alike:
            with self._conversations[request.format.provider].use(alike[0]) as history, suppress(BadInput):
                self._begin_again(history)
                return alike[0]
        return same_opening

    def _begin_again(self, history: History) -> None:
        """Have a conversation go on after a summary of its agent. Raises BadInput if there is too little before it."""
        history.begin_again(say("summary follows", history.session.settings.locale), _ANY)

    def note_unnamed(self, reply: str) -> None:
        """Note an answer to a request without tools that names no session: it may be a summary of one that has a name.

        After a restart it is not known.
        """
        self._unnamed.append(reply)

    def note_reply(self, reply_id: str, name: str) -> None:
        """Note the conversation of a reply that its provider may keep. Without an id nothing is noted.

        `reply_id` as of `ModelRequest.own_id`.
        """
        if reply_id:
            _note(self._replied, reply_id, name)


def _may_go_on(request: ModelRequest) -> bool:
    """Whether a request whose conversation is new may go on from a summary of another one.

    Where nobody names a session, it has several messages, or a long one of an agent: others wait for nothing.
    """
    if request.session or len(request.listed) - request.first > 1:
        return True
    return bool(request.tools) and len(request.listed[-1]) >= _LEAST_OPENING


def _systems(session: Session) -> Iterator[str]:
    """Yield the system prompts of a conversation: Gemini CLI and Qwen Code ask for the summary under another one."""
    yield session.items.system()
    yield from (session.items.text(item.id) for item in session.items if item.kind is Kind.SYSTEM)


def _was_asked_before(session: Session) -> bool:
    """Whether something was answered before the last question."""
    kinds = [item.kind for item in session.items]
    last = max((at for at, kind in enumerate(kinds) if kind is Kind.USER), default=0)
    return any(kind in (Kind.ASSISTANT, Kind.CALL) for kind in kinds[:last])


def _note(notes: OrderedDict[K, str], key: K, value: str) -> None:
    """Note something, and forget the oldest if there is too much."""
    notes[key] = value
    while len(notes) > _MOST_NOTED:
        notes.popitem(last=False)


def is_alike(one: str, other: str) -> bool:
    """Whether two system prompts are the same but for a few lines. Agents put dates and version numbers into theirs."""
    lines, others = ({line.strip() for line in text.splitlines()} for text in (one, other))
    same, most = sum(map(len, lines & others)), max(sum(map(len, lines)), sum(map(len, others)))
    return same >= _ALIKE * most


def _has_summary(said: str, reply: str) -> bool:
    """Whether a text has the summary that this reply is. Agents put words of their own around it, and change blanks."""
    summary = " ".join(summary_in(reply).split())
    return len(summary) >= _LEAST_SUMMARY and summary in " ".join(said.split())
