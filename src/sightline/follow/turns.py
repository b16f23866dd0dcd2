"""One call of an agent in the log: its list of messages, what is sent instead of it, and the answer.

Everything here runs in threads, for one conversation one thing after another.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct, field

from sightline.compose import tokens_before
from sightline.errors import Conflict, SessionNotFound, StoreError
from sightline.follow.conversations import ConversationNames, Conversations, resume_or_begin
from sightline.follow.history import History
from sightline.follow.message_list import ListPlace
from sightline.follow.model_request import Format, Json, ModelRequest, has_media
from sightline.log import retry_on_conflict
from sightline.log.stores import PlacedStores
from sightline.log.stores.session_folder import Folder
from sightline.plan import Budget
from sightline.plan.economies import DEFAULT, THRIFTY_WINDOW, check_economy
from sightline.providers.catalog import PLACES, window_of
from sightline.session.session import Session
from sightline.values.profiles import profile
from sightline.values.recall_tools import RECALL_NAMES, RECALL_TOOLS
from sightline.values.settings import Settings
from sightline.values.tokens import counter
from sightline.wire import read_reply, registry
from sightline.wire.payload import Payload

REMEMBERED = 256 * 1024 * 1024
PROVIDERS = {name: PLACES[name].base_url for name in ("anthropic", "openai")}
"""Their addresses: "anthropic" without /v1, "openai" with it, as the SDKs take them."""
INDEX = "index"  # work in the background: build what a search and a sweep need of a session
SUMMARY = "summary"  # have a model summarise the oldest part of a session
_NUMBER = re.compile(r"\d[\d,]{2,12}")
# How providers name their limit beside what they counted: the room of the answer is a number in the same sentence.
_LIMITS = tuple(
    re.compile(pattern + r"(\d[\d,]{2,12})", re.IGNORECASE)
    for pattern in (
        r"maximum (?:context|model) length (?:is|of) ",
        r"(?:>|\\u003e) ?",
        r"context (?:size|length|window|limit)(?: is| of)? \(?",
        r"tokens allowed \(",
        r"for model with ",
    )
)
_ANSWER = 4_000  # tokens kept for the answer if the agent does not say how many it may have
_ANSWER_SHARE = 4  # of a window that the user has set: at most the fourth part is kept for the answer
_MARKER = "cache_control"
_OPENAI = "://api.openai.com/"
_ANY = Budget(1 << 40)
_SAMPLES, _SAMPLE = 32, 256  # pieces of a body that are counted to estimate it, and their bytes
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
    remembered: int = REMEMBERED  # bytes of the last requests that are remembered, to read the next ones quickly
    summaries: bool = False  # whether somebody has a model for summaries, so that they are wanted

    def __post_init__(self) -> None:
        """Raises BadInput if there is no such economy: a session would refuse it, after the program has begun."""
        check_economy(self.economy)


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


class _Head(NamedTuple):
    """What a request says before its messages."""

    system: Any
    messages: list[bytes]
    tools: list[Any]
    recall: bool  # whether our tools are among them


class Turns:
    """Logs the calls of agents, and composes what is sent."""

    def __init__(self, settings: FollowSettings, want: Callable[[str, str], None] = lambda _kind, _name: None) -> None:
        """`want`: has work of a kind done for a session in the background."""
        self._settings, self._want = settings, want
        self._conversations = {
            provider: Conversations(
                lambda name, provider=provider: _open(settings, name, provider),  # type: ignore[misc]
                most_open=_MOST_OPEN,
            )
            for provider in settings.upstreams
        }
        self._stores: PlacedStores = settings.stores or Folder(settings.folder, settings.root)
        self.names = ConversationNames(self._stores, self._conversations)
        self._told: WeakKeyDictionary[Session, _Head] = WeakKeyDictionary()  # what each session knows of the head
        self._shortened: set[str] = set()  # sessions of agents in which something was
        self._windows: dict[str, int] = {}  # model → its context window, learned from a refusal
        self._indexed: dict[str, int] = {}  # conversation → tokens that it had when its index was wanted
        self._numbers = count(1)
        self._taken: dict[tuple[str, ListPlace], int] = {}  # list that is being answered → the request that it is for

    def close(self) -> None:
        """Close all sessions."""
        for conversations in self._conversations.values():
            conversations.close()

    def know_window(self, model: str, tokens: int) -> None:
        """Say how large the context window of a model is, where somebody knows it. A refusal has told it better."""
        self._windows.setdefault(model, tokens)

    @property
    def remembered(self) -> int:
        """How many bytes of the last requests are remembered."""
        return self._settings.remembered

    @property
    def asks_database(self) -> bool:
        """Whether `passes` may ask a database, which takes a thread."""
        return self._settings.stores is not None

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
        most = request.most_tokens
        if most is None:
            if self._has(request.name) or (request.session and request.stem in self._shortened):
                return False  # it may have been shortened before, or go on from a summary of one that was
            if self._settings.window is not None and has_media(request.body):
                return False  # media may have more tokens than their address has bytes
            most = len(request.body)
        if (budget := self._budget(request, None)) is None:
            return True
        room = self._room(budget, request.format.provider)
        is_own = self._settings.window is None and request.most_tokens is None
        return most <= room or (is_own and _estimate(request.body) <= _SURE_SHARE * room)

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
        with self._conversations[request.format.provider].use(request.name) as history:
            return retry_on_conflict(lambda: self._prepare(history, request, passed), history.refresh, _ATTEMPTS)

    def _prepare(self, history: History, request: ModelRequest, passed: bool) -> Prepared:
        name, size, begins = request.name, history.session.size, not history.session.size
        if request.kept_upstream:
            place = history.go_on(request.previous_reply, request.messages, in_place=True)
        else:
            history.follow(request.messages, in_place=True)
            place = history.place
        # The same request is being answered, or was by a server that was killed: this one gets its own answer.
        if (name, place) in self._taken or not history.is_last(place):
            place = history.branch_off(place)
        session, number = history.session, next(self._numbers)
        budget, is_composed = self._budget(request, session), session.receipt is not None
        self._set_head(session, request, recall=is_composed and not passed)
        tokens = session.items.tokens(after := history.after)
        fits = budget is None or tokens <= self._room(budget, session.settings.profile)
        if passed or (not is_composed and fits):
            if size and session.size == size and not self._stores.has(name):  # else writing has told it
                raise SessionNotFound(name, self._stores.where)
            self._want_index(name, budget, session, tokens)
            return Prepared(
                name, place, request.body, frozenset(), tokens, tokens, number=number, begins=begins, after=after
            )
        before = Prepared(name, place, b"", RECALL_NAMES, tokens, 0, number=number, begins=begins, after=after)
        return self._compose(session, before, request, budget or _ANY)

    def refused(self, request: ModelRequest, before: Prepared, told: str, counted: int) -> Prepared:
        """Compose again after the provider refused a request as too long. Raises SightlineError."""
        with self._conversations[request.format.provider].use(before.name) as history:
            session, before = self._take(history, before, keeps=False)
            if before.composed:
                session.overflowed(counted or None)
            else:
                self._windows[request.model] = _told_window(told, counted or before.sent)
            budget = self._budget(request, session) or _ANY
            again = self._compose(session, before, request, budget)
            expected = again.sent * counted // max(before.sent, 1)  # by the provider's count
            if not before.composed and expected > budget.window - budget.output:
                session.overflowed(expected)
                again = self._compose(session, before, request, budget)
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

    def next_round(self, request: ModelRequest, prepared: Prepared, *, last: bool) -> Prepared:
        """Compose the request with the answers to the calls of our tools. `last`: the model gets no further call."""
        with self._conversations[request.format.provider].use(prepared.name) as history:
            session = history.session_at(prepared.place)
            budget = self._budget(request, session) or _ANY
            if last and request.forces_call:  # it must be one of the client's tools
                return self._compose(session, prepared, request, budget, recall=False)
            if last:
                none: Any = {"type": "none"} if request.format.wire == "anthropic" else "none"
                request = request._replace(fields=request.fields | {"tool_choice": none})
            return self._compose(session, prepared, request, budget)

    def expect(self, format: Format, prepared: Prepared, client_reply: Json, item: str) -> None:  # noqa: A002
        """Note what the client got, so that it is known when it comes back. The request is done by this.

        `item`: the last one of the answer; empty: nothing was logged.
        """
        with self._conversations[format.provider].use(prepared.name) as history:
            if self._taken.get((prepared.name, prepared.place)) == prepared.number:
                del self._taken[prepared.name, prepared.place]
            if item:
                reply_id = str(client_reply.get("id") or "") if format.wire == "responses" else ""
                history.expect(prepared.place, read_reply(client_reply).parts, item, reply_id)
                self.names.note_reply(reply_id, prepared.name)
                if self._settings.summaries and history.session.summaries.wanted:
                    self._want(SUMMARY, prepared.name)

    def _want_index(self, name: str, budget: Budget | None, session: Session, tokens: int) -> None:
        """Have a long history indexed before it must be shortened, and again when it has grown by a part."""
        least = _INDEX_SHARE * self._room(budget, session.settings.profile) if budget is not None else tokens
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

    def _set_head(self, session: Session, request: ModelRequest, *, recall: bool) -> None:
        """Tell the session the system prompt and the tools of a request, if they are others than those of before."""
        recall = recall and self._settings.recall and request.takes_tools
        head = _Head(request.fields.get(request.format.system), request.head, request.tools, recall)
        if self._told.get(session) == head:
            return
        if system := request.system_text():
            session.system(system, replace=True)
        session.tools(request.tools, recall=head.recall)
        self._told[session] = head

    def _budget(self, request: ModelRequest, session: Session | None) -> Budget | None:
        """Return the budget of a request; None if nobody knows the model's context window.

        One that a refusal has told is known as long as the server runs. After that it is the last one of the session.
        """
        if (window := self._settings.window) is not None:
            return Budget(window, min(request.output or _ANSWER, window // _ANSWER_SHARE))
        known_window = self._windows.get(request.model) or window_of(request.model)
        if known_window:
            return Budget(known_window, min(request.output or _ANSWER, known_window // 2))
        return session.budget if session is not None else None

    def _room(self, budget: Budget, profile_name: str) -> float:
        """Return the tokens up to which nothing is shortened."""
        limit = budget.limit(margin=profile(profile_name).margin)
        return budget.trigger * (min(limit, THRIFTY_WINDOW) if self._settings.economy == "thrifty" else limit)

    def _takes_key(self, format: Format) -> bool:  # noqa: A002
        """Whether the upstream takes a key for its cache. Of those that speak chat completions, some refuse it."""
        return format.wire == "responses" or (format.wire == "openai" and _OPENAI in self._settings.upstreams["openai"])

    def _compose(
        self, session: Session, before: Prepared, request: ModelRequest, budget: Budget, *, recall: bool = True
    ) -> Prepared:
        self._set_head(session, request, recall=recall)
        self._shortened.add(request.stem)
        if (is_first := session.receipt is None) and self._indexed.pop(before.name, 0):
            session.items.adopt_index()
        payload = session.compose(budget)
        own = RECALL_NAMES & {tool.name for tool in payload.tools if tool in RECALL_TOOLS}
        body = _body(request, payload, own, before.name if self._takes_key(request.format) else "")
        offered = session.items.tokens(before.after)
        swept = payload.plan.reason or ("sweep: first" if is_first and payload.tokens < offered else "")
        again, changed = (receipt.faults, receipt.changed) if (receipt := session.receipt) else ([], None)
        changed = 0 if is_first else changed  # our tools join
        kept = None if changed is None else tokens_before(changed, payload, profile(session.settings.profile))
        return before._replace(
            body=body, own=own, offered=offered, sent=payload.tokens, swept=swept, composed=True,
            read_again=len(again), window=budget.window, kept=kept,
        )  # fmt: skip


def _estimate(body: bytes) -> float:
    """Return about how many tokens a body has: pieces of it are counted."""
    step = max(len(body) // _SAMPLES, _SAMPLE)
    pieces = [body[at : at + _SAMPLE] for at in range(0, len(body), step)]
    counted = counter().count("\n".join(piece.decode("utf-8", "replace") for piece in pieces))
    return counted * len(body) / sum(map(len, pieces))


def _open(follow: FollowSettings, name: str, provider: str) -> Session:
    where: dict[str, Any] = {"root": follow.root} if follow.stores is None else {"stores": follow.stores}
    settings = Settings(profile=provider, config={"economy": follow.economy})
    session = resume_or_begin(name, follow.folder, settings=settings, **where)
    if session.settings.strategy == settings.strategy:  # it may have begun with another economy
        session.configure(config=session.settings.config | settings.config)
    return session


def _body(request: ModelRequest, payload: Payload, own: frozenset[str], cache_key: str) -> bytes:
    """Return the agent's request with other messages, and with our tools after its own. All else stays."""
    wire = request.format.wire
    fields: Json = dict(request.fields)
    marked = sum(map(_count_markers, (fields.get(request.format.system), request.tools, [fields])))
    messages = payload.messages_json(wire, breakpoints=4 - marked)
    if request.head:
        head = b"[" + b",".join(request.head)
        messages = head + b"," + messages[1:] if len(messages) > 2 else head + b"]"
    fields[request.format.messages] = msgspec.Raw(messages)
    if own:
        offered = [tool for tool in RECALL_TOOLS if tool.name in own]
        written = registry.wire(wire).write_head((), offered, first=None, cached=False, output=0)
        fields["tools"] = [*request.tools, *written.arguments["tools"]]
    if cache_key:
        fields.setdefault("prompt_cache_key", cache_key)
    return msgspec.json.encode(fields)


def _count_markers(value: Any) -> int:
    """Count the cache breakpoints that the agent itself has set."""
    blocks = value if isinstance(value, list) else []
    return sum(isinstance(block, dict) and block.get(_MARKER) is not None for block in blocks)


def _told_window(told: str, counted: int) -> int:
    """Return the context window that an error names; else the largest number in it below what was counted."""
    named = next((limit_text for pattern in _LIMITS if (limit_text := pattern.search(told))), None)
    if named is not None and (limit := int(named[1].replace(",", ""))) >= 1000:
        return limit
    numbers = [int(digits.replace(",", "")) for digits in _NUMBER.findall(told)]
    return max((number for number in numbers if 1000 <= number < counted), default=max(1000, counted * 9 // 10))
