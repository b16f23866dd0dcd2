"""One call of an agent in the log: its list of messages, what is sent instead of it, and the answer.

Everything here runs in threads, for one conversation one thing after another.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from math import floor
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from sightline.apps.app import App
from sightline.errors import Conflict, PinnedOverflow, SessionNotFound, StoreError
from sightline.follow.context_windows import ContextWindow, ContextWindows, kept_margin, largest_below, speaks_of_window
from sightline.follow.conversations import ConversationNames, Conversations, resume_or_begin
from sightline.follow.history import History
from sightline.follow.message_list import ListPlace
from sightline.follow.model_request import Format, Json, ModelRequest, check_told_apart, has_media, read_all, sender_of
from sightline.follow.own_lists import Own, hold, newest_compaction, newest_list
from sightline.follow.rewritten import Beginnings, hold_anew, let_go_of_reports, replaced_tokens
from sightline.follow.windows import WINDOW_TOOLS, load_apps, open_windows
from sightline.log import retry_on_conflict
from sightline.log.stores import PlacedStores
from sightline.log.stores.session_folder import Folder
from sightline.plan import Budget
from sightline.plan.economies import DEFAULT, THRIFTY_WINDOW, check_economy
from sightline.providers.catalog import GOOGLE, PLACES
from sightline.session.attention import own_tools
from sightline.session.session import Session
from sightline.values.items import ToolDefinition, Usage, plain_text
from sightline.values.profiles import profile
from sightline.values.recall_tools import offered
from sightline.values.settings import Settings
from sightline.values.tokens import counter
from sightline.wire import read_reply, read_tools, registry
from sightline.wire.gemini import camel, join_tools
from sightline.wire.payload import Payload

REMEMBERED = 256 * 1024 * 1024
PROVIDERS = {name: PLACES[name].base_url for name in ("anthropic", "openai")} | {"gemini": GOOGLE}
"""Their addresses: "anthropic" and "gemini" without a version, "openai" with /v1, as the SDKs take them."""
INDEX = "index"  # work in the background: build what a search and a sweep need of a session
SUMMARY = "summary"  # have a model summarise the oldest part of a session
_ANSWER = 4_000  # tokens kept for the answer if the agent does not say how many it may have
_LEAST_ANSWER = 1_000  # where the head leaves less; as many are then for the conversation
_ROOM_MORE = 1.1  # what is missing is counted as we do, and a window as the provider does
_LEAST_WINDOW = 1_000
_ONCE_SHARE = 3  # of four parts of a request that was refused, and not for its tokens: so much is sent once
_ANSWER_SHARE = 4  # of a window that the user has set: at most the fourth part is kept for the answer
_OPENAI = "://api.openai.com/"
_ANY = Budget(1 << 40)
_log = logging.getLogger("sightline.follow")
_SAMPLES, _SAMPLE = 32, 256  # pieces of a body that are counted to estimate it, and their bytes
_SURELY_WHOLE = 0.5  # of the room: below, nothing is shortened, however large one result is
ROUNDS, _WINDOW_ROUNDS = 8, 40  # calls of the model for one of the program; at the last one it has no tools
_MOST_OPEN = 256  # sessions: each holds one file
_ATTEMPTS = 3  # to log a request or an answer while others write to the same session
_INDEX_SHARE, _INDEX_GROWTH = 0.6, 1.1  # a history of this share of the room is indexed; again, when grown by a tenth
_SURE_SHARE = 0.6  # of the room: an estimate below it is sure enough


class FollowSettings(Struct, frozen=True, kw_only=True):
    """Where sessions are kept, where requests go, and how they are composed."""

    folder: Path  # the sessions are those of this folder's project
    root: Path | None = None  # where sessions are stored; None: where the library stores them
    stores: PlacedStores | None = None  # a database that has the sessions instead
    upstreams: Mapping[str, str] = field(default_factory=lambda: dict(PROVIDERS))  # where requests go, by provider
    window: int | None = None  # tokens; None: that of the model
    economy: str = DEFAULT  # see `plan.economies`
    recall: bool = True  # whether `expand` and `recall` join requests that have tools: somebody must answer their calls
    apps: tuple[type[App] | str, ...] = ()  # whose windows the model sees, in requests that have tools
    in_all: bool = False  # also in requests without tools: the program itself has asked for the apps
    remembered: int = REMEMBERED  # bytes of the last requests that are remembered, to read the next ones quickly
    summaries: bool = False  # whether somebody has a model for summaries, so that they are wanted

    def __post_init__(self) -> None:
        """Raises BadInput if there is no such economy or app: else that would fail after the program has begun."""
        check_economy(self.economy)
        load_apps(self.apps)


class Prepared(NamedTuple):
    """What goes upstream, and where the log has the list that it answers."""

    name: str  # of the conversation
    place: ListPlace
    body: bytes  # the agent's own bytes as long as everything fits
    own: frozenset[str]  # our tools in it
    offered: int  # tokens of everything, as we count them
    sent: int
    swept: str = ""  # why items were shortened; empty: none were at this call
    composed: bool = False
    read_again: int = 0  # results in it that the agent had before, and that were shortened since
    number: int = 0  # no other request has it
    after: str = ""  # the item after which its list begins, see `History.after`
    begins: bool = False  # it is the first request of its conversation
    window: int = 0  # tokens of the context window, if something may have to be shortened; 0: everything fits
    kept: int | None = None  # tokens at its beginning that are as the call before sent them; None: all of those
    windows: int = 0  # tokens of the windows at its end, which no later call finds in the cache
    limit: ContextWindow = ContextWindow("", 0, "")  # that holds for its model, and whose word it is
    beginnings: Beginnings = ()  # of the agent's list, if it may have changed what it sent before


class _MadeRoom(NamedTuple):
    """A budget in which a head did not fit, and the one that was taken instead."""

    asked: Budget
    budget: Budget


class _Head(NamedTuple):
    """What a request says before its messages, and which of our tools join its own."""

    system: Any
    messages: list[bytes]
    tools: list[Any]
    recall: tuple[ToolDefinition, ...]
    windows: bool


class _ToldHead(NamedTuple):
    """The head that a session knows, and our tools in it."""

    head: _Head
    own: tuple[ToolDefinition, ...]


class Turns:
    """Logs the calls of agents, and composes what is sent."""

    def __init__(self, settings: FollowSettings, want: Callable[[str, str], None] = lambda _kind, _name: None) -> None:
        """`want`: has work of a kind done for a session in the background."""
        self._settings, self._want = settings, want
        self._conversations = {
            provider: Conversations(
                lambda name, provider=provider: _open(settings, name, provider),  # type: ignore[misc]
                most_open=_MOST_OPEN,
                wire="" if provider == "openai" else provider,
            )
            for provider in settings.upstreams
        }
        self._stores: PlacedStores = settings.stores or Folder(settings.folder, settings.root)
        self.names = ConversationNames(self._stores, self._conversations)
        self._told: WeakKeyDictionary[Session, _ToldHead] = WeakKeyDictionary()
        self._held: WeakKeyDictionary[Session, Own] = WeakKeyDictionary()
        self._shortened: set[str] = set()  # sessions of agents in which something was
        self._windows = ContextWindows()
        self._made_room: dict[str, _MadeRoom] = {}  # conversations whose head does not fit
        self._too_many_bytes: set[str] = set()  # conversations that were refused, and not for their tokens
        self._indexed: dict[str, int] = {}  # conversation → tokens that it had when its index was wanted
        self._numbers = count(1)
        self._taken: dict[tuple[str, ListPlace], int] = {}  # list that is being answered → the request that it is for

    def close(self) -> None:
        """Close all sessions."""
        with ExitStack() as stack:  # each, also after one that cannot be closed well
            for conversations in self._conversations.values():
                stack.callback(conversations.close)

    def know_window(self, model: str, tokens: int) -> None:
        """Say how large the context window of a model is, where somebody knows it. A refusal has told it better."""
        self._windows.tell(model, tokens)

    def know_models(self, models: Any, headers: Mapping[str, str]) -> None:
        """Take in a provider's list of models, as somebody got it who sent these headers."""
        self._windows.serve(models, sender_of(headers).account)

    @property
    def remembered(self) -> int:
        """How many bytes of the last requests are remembered."""
        return self._settings.remembered

    @property
    def asks_database(self) -> bool:
        """Whether `passes` may ask a database, which takes a thread."""
        return self._settings.stores is not None

    @property
    def rounds(self) -> int:
        """The calls of the model that one of the program may take. A model that works in windows needs more."""
        return _WINDOW_ROUNDS if self._settings.apps else ROUNDS

    @contextmanager
    def closed(self, name: str) -> Iterator[bool]:
        """Have a conversation closed while the block runs. Gives False, and closes nothing, if it is used now."""
        with ExitStack() as stack:
            yield all(stack.enter_context(conversations.closed(name)) for conversations in self._conversations.values())

    def passes(self, request: ModelRequest) -> bool:
        """Whether a request certainly fits and is forwarded unchanged, so that it can be logged afterwards.

        It is quick enough for an event loop, unless `asks_database`. Where the window is the model's own, an estimate
        is enough: what is too long is refused, made shorter and sent again.
        """
        if request.kept_upstream:
            return True
        if self._shows_windows(request):
            return False
        most = request.most_tokens
        if most is None:
            if self._has(request.name) or (request.session and request.stem in self._shortened):
                return False  # it may have been shortened before, or go on from a summary of one that was
            if self._settings.window is not None and has_media(request.body):
                return False  # media may have more tokens than their address has bytes
            most = len(request.body)
        if (budget := self._budget(request, None)) is None:
            return True
        room = self._room(budget, request)
        is_own = self._settings.window is None and request.most_tokens is None
        return most <= room or (is_own and _estimate(request.body) <= _SURE_SHARE * room)

    def fits_whole(self, request: ModelRequest) -> bool:
        """Whether a request fits its context window as it came, as far as that can be told without its log."""
        if request.kept_upstream or (budget := self._budget(request, None)) is None:
            return True
        if request.most_tokens is not None and request.most_tokens <= budget.window:
            return True
        return _estimate(_MEDIA_BYTES.sub(b"", request.body)) <= budget.limit(1.0, 0.0)

    def _has(self, name: str) -> bool:
        """Whether a conversation is kept, as far as the store says so at once: the agent does not wait for it."""
        if any(name in conversations for conversations in self._conversations.values()):
            return True
        try:
            return self._stores.has(name, wait=False)
        except StoreError:
            return False

    def prepare(self, request: ModelRequest, *, passed: bool = False) -> Prepared:
        """Log what is new in a request, and return what is sent. `passed`: it was sent as it came already.

        Raises:
            SessionNotFound, Unwritable: its log was deleted by another program; `closed` lets it begin anew.
            SightlineError: it cannot be read or does not fit; then it is passed on as it is.
        """
        check_told_apart(request)
        with self._conversations[request.format.provider].use(request.name) as history:
            return retry_on_conflict(lambda: self._prepare(history, request, passed), history.refresh, _ATTEMPTS)

    def _prepare(self, history: History, request: ModelRequest, passed: bool) -> Prepared:
        name, size, begins = request.name, history.session.size, not history.session.size
        anew = read_all(request.format, request.anew)
        if request.kept_upstream:
            place = history.go_on(_own_reply(request, request.previous_reply), request.messages, in_place=True)
        else:
            history.follow(request.messages, in_place=True, anew=anew)
            place = history.place
        # The same request is being answered, or was by a server that was killed: this one gets its own answer.
        if (name, place) in self._taken or not history.is_last(place):
            place = history.branch_off(place)
        session, number = history.session, next(self._numbers)
        budget, is_composed = self._budget(request, session), session.receipt is not None
        is_composed = is_composed or (self._shows_windows(request) and not passed)
        _configure(session, self._settings)
        self._set_head(session, request, ours=is_composed and not passed)
        if anew:
            hold_anew(session, anew, budget.window if budget is not None else 0, history.after)
        tokens = session.items.tokens(after := history.after) - replaced_tokens(session, history.after)
        fits = budget is None or tokens <= self._room(budget, request)
        if passed or (not is_composed and fits):
            if size and session.size == size and not self._stores.has(name):  # else writing has told it
                raise SessionNotFound(name, self._stores.where)
            self._want_index(request, budget, tokens)
            return Prepared(
                name, place, request.body, frozenset(), tokens, tokens, number=number, begins=begins, after=after,
                limit=self._window(request), beginnings=request.beginnings,
            )  # fmt: skip
        before = Prepared(name, place, b"", frozenset(), tokens, 0, number=number, begins=begins, after=after)
        before = before._replace(beginnings=request.beginnings)
        return self._compose(session, before, request, budget or _ANY)

    def refused(self, request: ModelRequest, before: Prepared, told: str, counted: int) -> Prepared:
        """Compose again after the provider refused a request as too long. Raises SightlineError."""
        with self._conversations[request.format.provider].use(before.name) as history:
            session, before = self._take(history, before, keeps=False)
            if not speaks_of_window(told) and not counted:  # too many bytes, or too much for this minute
                self._too_many_bytes.add(before.name)
                once = largest_below(told, before.sent) or before.sent * _ONCE_SHARE // 4
                return self._compose(session, before, request, Budget(max(once, _LEAST_WINDOW)), refused=True)
            self._windows.refuse(request, told, counted, before.sent)
            if before.composed:
                session.overflowed(counted or None)
            budget = self._budget(request, session) or _ANY
            again = self._compose(session, before, request, budget, refused=True)
            likely = counted or before.sent * self._windows.ratio(request)
            expected = round(again.sent * likely / max(before.sent, 1))  # by the provider's count
            if not before.composed and expected > budget.window - budget.output:
                session.overflowed(expected)
                again = self._compose(session, before, request, budget, refused=True)
            return again

    def reply(
        self,
        format: Format,  # noqa: A002
        prepared: Prepared,
        reply: Json,
        *,
        stopped: bool = False,
    ) -> tuple[str, Prepared]:
        """Log an answer of the model, and answer its calls of our tools. Return the item's id, and where it is.

        If the same request was answered meanwhile, here or by another server, this answer is on a branch of its own.
        """
        with self._conversations[format.provider].use(prepared.name) as history:
            session, prepared = self._take(history, prepared)
            extra = 0 if prepared.composed else None
            for _ in range(_ATTEMPTS):
                said = session.items.last_said
                try:
                    return session.reply(reply, extra_tokens=extra, stopped=stopped), prepared
                except Conflict:
                    history.refresh()
                session = history.session_at(prepared.place)
                if session.items.last_said != said:  # another server has answered the same request
                    break  # else it has only a summary that it did not have before
            prepared = prepared._replace(place=history.branch_off(prepared.place))
            self._taken[prepared.name, prepared.place] = prepared.number
            session = history.session_at(prepared.place)
            return session.reply(reply, extra_tokens=extra, stopped=stopped), prepared

    def note_answer(self, request: ModelRequest, prepared: Prepared, usage: Usage | None) -> None:
        """Note what a request that was answered says about its model's context window."""
        if usage is not None:
            self._windows.answer(request, usage.input_tokens, prepared.sent)

    def next_round(self, request: ModelRequest, prepared: Prepared, *, last: bool) -> Prepared:
        """Compose the request with the answers to the calls of our tools. `last`: the model gets no further call."""
        with self._conversations[request.format.provider].use(prepared.name) as history:
            session = history.session_at(prepared.place)
            budget = self._budget(request, session) or _ANY
            if last and request.forces_call:  # it must be one of the client's tools
                return self._compose(session, prepared, request, budget, ours=False)
            if last:
                request = request._replace(fields=request.fields | _without_calls(request))
            return self._compose(session, prepared, request, budget)

    def expect(self, request: ModelRequest, prepared: Prepared, client_reply: Json, item: str) -> None:
        """Note what the client got, so that it is known when it comes back. The request is done by this.

        `item`: the last one of the answer; empty: nothing was logged.
        """
        with self._conversations[request.format.provider].use(prepared.name) as history:
            if self._taken.get((prepared.name, prepared.place)) == prepared.number:
                del self._taken[prepared.name, prepared.place]
            if item:
                is_kept = request.format.wire == "responses"
                reply_id = _own_reply(request, str(client_reply.get("id") or "")) if is_kept else ""
                parts = read_reply(client_reply).parts
                history.expect(prepared.place, parts, item, reply_id)
                if not (request.session or request.tools):
                    self.names.note_unnamed(plain_text(parts))
                self.names.note_reply(reply_id, prepared.name)
                if self._settings.summaries and history.session.summaries.wanted:
                    self._want(SUMMARY, prepared.name)

    def _want_index(self, request: ModelRequest, budget: Budget | None, tokens: int) -> None:
        """Have a long history indexed before it must be shortened, and again when it has grown by a part."""
        name = request.name
        least = _INDEX_SHARE * self._room(budget, request) if budget is not None else tokens
        if tokens > max(least, _INDEX_GROWTH * self._indexed.get(name, 0)):
            self._want(INDEX, name)
            self._indexed[name] = tokens

    def _take(self, history: History, prepared: Prepared, *, keeps: bool = True) -> tuple[Session, Prepared]:
        """Return the session that a request writes to: a branch of its own, if another one like it was answered.

        `keeps`: others like it get branches of their own from now on, until this one is done.
        """
        taken = self._taken.get((prepared.name, prepared.place))
        is_free = taken is None and history.is_last(prepared.place)
        if taken != prepared.number and not is_free:
            prepared = prepared._replace(place=history.branch_off(prepared.place))
        if keeps:
            self._taken[prepared.name, prepared.place] = prepared.number
        return history.session_at(prepared.place), prepared

    def _shows_windows(self, request: ModelRequest) -> bool:
        """Whether windows and their tools join a request: apps were asked for, and it can take tools of ours.

        A provider that has the earlier part of a conversation itself would keep the windows in it.
        """
        takes_tools = request.takes_tools or (self._settings.in_all and request.is_one_answer)
        return bool(self._settings.apps) and takes_tools and not request.kept_upstream

    def _set_head(
        self, session: Session, request: ModelRequest, *, ours: bool, shortens: bool = False
    ) -> tuple[ToolDefinition, ...]:
        """Tell the session the system prompt and the tools of a request, if they are others than those of before.

        `ours`: whether our tools join. Return those that do: after the request's own, always in the same order, so that
        the provider's cache keeps what is before them. A tool of the agent with the same name stays the agent's.
        Beside windows, those that bring something back join where a payload `shortens` something, and stay.
        """
        windows = ours and self._shows_windows(request)
        shortens = shortens or not windows or bool(offered(session.log.tools.definitions))
        joins = ours and self._settings.recall and (windows or request.takes_tools) and shortens
        recall = own_tools(session.strategy) if joins else ()
        head = _Head(request.system, request.head, request.tools, recall, windows)
        before = self._told.get(session)
        if before is not None and before.head == head:
            return before.own
        if system := request.system_text():
            session.system(system, replace=True)
        taken = {tool.name for tool in read_tools(request.tools)} if ours else set()
        if windows and (clash := WINDOW_TOOLS & taken):
            _log.warning("no windows in %s: the agent has a tool called %s", session.id, min(clash))
            windows = False
        joining = (*(session.windows.tools() if windows else ()), *recall)
        own = tuple(tool for tool in joining if tool.name not in taken)
        session.tools([*request.tools, *own], recall=False)
        self._told[session] = _ToldHead(head, own)
        return own

    def _budget(self, request: ModelRequest, session: Session | None) -> Budget | None:
        """Return the budget of a request; None if nobody knows the model's context window.

        One that a refusal has told is known as long as the server runs. After that it is the last one of the session.
        """
        window, margin = self._window(request), 0.0
        if window.is_own:
            is_counted = session is not None and session.receipt is not None and session.receipt.factor != 1
            if is_counted or not profile(request.format.provider).margin:  # else the profile's is kept by composing
                margin = kept_margin(request)
            tokens = floor(window.tokens / (1 + margin))
            return Budget(tokens, min(request.output or _ANSWER, tokens // _ANSWER_SHARE))
        if window.tokens:
            return Budget(window.tokens, min(request.output or _ANSWER, window.tokens // 2))
        is_budget = session is not None and request.name not in self._too_many_bytes
        return session.budget if session is not None and is_budget else None

    def _window(self, request: ModelRequest) -> ContextWindow:
        """Return the context window that holds for a request, and whose word it is."""
        if self._settings.window is not None:
            return self._windows.set_to(self._settings.window, request)
        return self._windows.find(request)

    def _room(self, budget: Budget, request: ModelRequest) -> float:
        """Return the tokens up to which nothing is shortened."""
        own = profile(request.format.provider)
        factor = self._windows.ratio(request) if self._settings.window is not None else 1.0
        limit = budget.limit(factor, own.margin)
        return budget.trigger * (min(limit, THRIFTY_WINDOW) if self._settings.economy == "thrifty" else limit)

    def _takes_key(self, request: ModelRequest) -> bool:
        """Whether the upstream takes a key for its cache. Of those that speak chat completions, some refuse it."""
        is_own = _OPENAI in self._settings.upstreams["openai"] and request.is_for_openai  # not Google's
        return request.format.wire == "responses" or (request.format.wire == "openai" and is_own)

    def _compose(
        self,
        session: Session,
        before: Prepared,
        request: ModelRequest,
        budget: Budget,
        *,
        ours: bool = True,
        refused: bool = False,
    ) -> Prepared:
        own = self._set_head(session, request, ours=ours)
        if request.anew:
            let_go_of_reports(session)
        tokens = session.items.tokens(before.after) - replaced_tokens(session, before.after)
        if any(tool.name in WINDOW_TOOLS for tool in own):
            open_windows(session)
            is_near = refused or tokens > _SURELY_WHOLE * self._room(budget, request)
            if session.log.timeline.closed or (is_near and _shortens(session, budget)):
                own = self._set_head(session, request, ours=ours, shortens=True)
        self._shortened.add(request.stem)
        if (is_first := session.receipt is None) and self._indexed.pop(before.name, 0):
            session.items.adopt_index()
        held = Own(newest_list(request.format, request.messages), newest_compaction(request.messages), budget.window)
        if self._held.get(session) != held:
            hold(session, held)
            self._held[session] = held
        payload = self._make_payload(session, before.name, budget)
        body = _body(request, payload, own, before.name if self._takes_key(request) else "")
        swept = payload.plan.reason or ("sweep: first" if is_first and payload.tokens < tokens else "")
        again, kept = (receipt.faults, receipt.kept) if (receipt := session.receipt) else ([], None)
        return before._replace(
            body=body, own=frozenset(tool.name for tool in own), offered=tokens, sent=payload.tokens, swept=swept,
            composed=True, read_again=len(again), window=budget.window, kept=kept,
            windows=sum(map(session.count, payload.shown_windows.values())), limit=self._window(request),
        )  # fmt: skip

    def _make_payload(self, session: Session, name: str, budget: Budget) -> Payload:
        """Compose. Where the system prompt and the tools alone do not fit, everything else is as short as it can be.

        First the answer's room is used. What is missing then goes over the window, and a line says so once.
        """
        made = self._made_room.get(name)
        wider = made.budget if made is not None and made.asked == budget else budget
        for _ in range(_ATTEMPTS):
            try:
                return session.compose(wider)
            except PinnedOverflow as error:
                wider = _with_room(budget, wider, error.short_by)
                if made is None:
                    _log.warning(
                        "%s: system prompt, tools and the last request need a context window of at least %d tokens "
                        "and room for an answer, and it has %d: all else is sent as short as it can be",
                        name, wider.window - wider.output, budget.window,
                    )  # fmt: skip
                made = self._made_room[name] = _MadeRoom(budget, wider)
        return session.compose(wider)


def _shortens(session: Session, budget: Budget) -> bool:
    """Whether the next payload leaves anything out, or shows it below full. Then its prefix changes anyway."""
    try:
        plan = session.preview(budget).plan
    except PinnedOverflow:
        return True
    return bool(plan.reason or plan.lods) or plan.left_out is not None


def _with_room(budget: Budget, tried: Budget, short_by: int) -> Budget:
    """Return a budget that holds so many tokens more than the one that was tried, and a little conversation."""
    needed = tried.window - tried.output + round(short_by * _ROOM_MORE) + 1
    output = (budget.window - needed) // 2  # the other half is for the conversation
    if output >= _LEAST_ANSWER:
        return replace(budget, output=output)
    return replace(budget, window=max(budget.window, needed + 2 * _LEAST_ANSWER), output=_LEAST_ANSWER)


# Images and documents, whose tokens are not their bytes. Another text may have such letters, and is counted.
_MEDIA_BYTES = re.compile(rb'(?:;base64,|"(?:data|file_data)"\s*:\s*")[A-Za-z0-9+/]{2000,}={0,2}')


def _estimate(body: bytes) -> float:
    """Return about how many tokens a body has: pieces of it are counted."""
    step = max(len(body) // _SAMPLES, _SAMPLE)
    pieces = [body[at : at + _SAMPLE] for at in range(0, len(body), step)]
    counted = counter().count("\n".join(piece.decode("utf-8", "replace") for piece in pieces))
    return counted * len(body) / sum(map(len, pieces))


def _open(follow: FollowSettings, name: str, provider: str) -> Session:
    where: dict[str, Any] = {"root": follow.root} if follow.stores is None else {"stores": follow.stores}
    settings = Settings(profile=provider, config={"economy": follow.economy}, windows=_form_of_windows(follow))
    session = resume_or_begin(name, follow.folder, settings=settings, apps=load_apps(follow.apps), **where)
    session.windows.in_text = False  # a model acts on windows by their tools, and its text stays text
    return session


def _configure(session: Session, follow: FollowSettings) -> None:
    """Let a session compose as this server is set. The branch that it is on may have begun with other settings."""
    changed: dict[str, Any] = {"windows": _form_of_windows(follow)} if follow.apps else {}
    if session.settings.strategy == Settings().strategy:
        changed["config"] = session.settings.config | {"economy": follow.economy}
    session.configure(**changed)


def _form_of_windows(follow: FollowSettings) -> str:
    return "brief" if follow.apps else Settings().windows  # our own tools tell the actions, once and cached


def _body(request: ModelRequest, payload: Payload, own: Sequence[ToolDefinition], cache_key: str) -> bytes:
    """Return the agent's request with other messages, and with our tools after its own. All else stays."""
    wire = request.format.wire
    fields: Json = dict(request.fields)
    messages = payload.messages_json(wire, breakpoints=4 - request.breakpoints, marker=request.last_marker)
    if request.head:
        head = b"[" + b",".join(request.head)
        messages = head + b"," + messages[1:] if len(messages) > 2 else head + b"]"
    fields[request.format.messages] = msgspec.Raw(messages)
    if own:
        written = registry.wire(wire).write_head((), own, first=None, cached=False, output=0)
        ours = written.arguments["tools"]
        fields["tools"] = join_tools(request.tools, ours) if wire == "gemini" else [*request.tools, *ours]
    if cache_key:
        fields.setdefault("prompt_cache_key", cache_key)
    return msgspec.json.encode(fields)


def _without_calls(request: ModelRequest) -> Json:
    """Return the field by which a request forbids calls."""
    match request.format.wire:
        case "anthropic":
            return {"tool_choice": {"type": "none"}}
        case "gemini":
            key = next((key for key in request.fields if camel(key) == "toolConfig"), "toolConfig")
            return {key: {"functionCallingConfig": {"mode": "NONE"}}}
        case _:
            return {"tool_choice": "none"}


def _own_reply(request: ModelRequest, reply_id: str) -> str:
    """Return what the log calls a reply of this caller; empty: it has no id."""
    return request.own_id(reply_id) if reply_id else ""
