"""One call of an agent in the log: its list of messages, what is sent instead of it, and the answer.

Everything here runs in threads, for one conversation one thing after another.
"""

import re
from itertools import count
from typing import Any, NamedTuple

import msgspec

from sightline.agent.models.catalog import window_of
from sightline.errors import SessionNotFound
from sightline.plan.budget import Budget
from sightline.server.config import Config
from sightline.server.model_request import Format, Json, ModelRequest
from sightline.session.conversations import Conversations
from sightline.session.history import History, ListPlace
from sightline.session.session import Session
from sightline.values.profiles import profile
from sightline.values.recall_tools import RECALL_TOOLS
from sightline.values.settings import Settings
from sightline.wire import read_reply, registry
from sightline.wire.payload import Payload

OWN = frozenset(tool.name for tool in RECALL_TOOLS)
_NUMBER = re.compile(r"\d[\d,]{2,12}")
_ANSWER = 4_000  # tokens kept for the answer if the agent does not say how many it may have
_ANSWER_SHARE = 4  # of a window that the user has set: at most the fourth part is kept for the answer
_MARKER = "cache_control"
_OPENAI = "://api.openai.com/"
_ANY = Budget(1 << 40)


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
    number: int = 0  # no other request has it
    begins: bool = False  # it is the first request of its conversation


class Turns:
    """Logs the calls of agents, and composes what is sent."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._conversations = {
            provider: Conversations(
                lambda name, provider=provider: _open(config, name, provider)  # type: ignore[misc]
            )
            for provider in config.upstreams
        }
        self._windows: dict[str, int] = {}  # model → its context window, learned from a refusal
        self._numbers = count(1)
        self._taken: dict[tuple[str, ListPlace], int] = {}  # list that is being answered → the request that it is for

    def close(self) -> None:
        """Close all sessions."""
        for conversations in self._conversations.values():
            conversations.close()

    def prepare(self, asked: ModelRequest, name: str) -> Prepared:
        """Log what is new in a request, and return what is sent.

        Raises:
            SightlineError: it cannot be read or does not fit; then it is passed on as it is.
        """
        with self._conversations[asked.format.provider].use(name) as history:
            begins = not history.session.size
            session, place = history.follow(asked.messages, in_place=True), history.place
            if (name, place) in self._taken:  # the same request is being answered: this one gets an answer of its own
                place = history.branch_off(place)
                session = history.session
            number = next(self._numbers)
            if system := asked.system_text():
                session.system(system, replace=True)
            budget, is_composed = self._budget(asked, session), session.receipt is not None
            session.tools(asked.tools, recall=is_composed and asked.takes_tools)
            tokens = session.items.tokens()
            if not is_composed and (
                budget is None or (self._config.economy == "off" and _fits(tokens, budget, session))
            ):
                return Prepared(name, place, asked.body, frozenset(), tokens, tokens, number=number, begins=begins)
            before = Prepared(name, place, b"", OWN, 0, 0, number=number, begins=begins)
            return self._compose(session, before, asked, budget or _ANY)

    def refused(self, asked: ModelRequest, before: Prepared, told: str, counted: int) -> Prepared:
        """Compose again after the provider refused a request as too long. Raises SightlineError."""
        with self._conversations[asked.format.provider].use(before.name) as history:
            session, before = self._take(history, before, keeps=False)
            if before.composed:
                session.overflowed(counted or None)
            else:
                self._windows[asked.model] = _told_window(told, counted or before.sent)
            return self._compose(session, before, asked, self._budget(asked, session) or _ANY)

    def reply(
        self,
        format: Format,  # noqa: A002
        prepared: Prepared,
        reply: Json,
        *,
        stopped: bool = False,
    ) -> tuple[str, Prepared]:
        """Log an answer of the model, and answer its calls of our tools. Return the item's id, and where it is.

        If the same request was answered meanwhile, this answer is on a branch of its own.
        """
        with self._conversations[format.provider].use(prepared.name) as history:
            session, prepared = self._take(history, prepared)
            item = session.reply(reply, extra_tokens=0 if prepared.composed else None, stopped=stopped)
            return item, prepared

    def next_round(self, asked: ModelRequest, prepared: Prepared, *, last: bool) -> Prepared:
        """Compose the request with the answers to the calls of our tools. `last`: the model gets no further call."""
        with self._conversations[asked.format.provider].use(prepared.name) as history:
            session = history.session_at(prepared.place)
            budget = self._budget(asked, session) or _ANY
            if last and asked.forces_call:  # it must be one of the client's tools
                return self._compose(session, prepared, asked, budget, recall=False)
            if last:
                none: Any = {"type": "none"} if asked.format.wire == "anthropic" else "none"
                asked = asked._replace(fields=asked.fields | {"tool_choice": none})
            return self._compose(session, prepared, asked, budget)

    def expect(self, format: Format, prepared: Prepared, shown: Json, item: str) -> None:  # noqa: A002
        """Note what the client got, so that it is known when it comes back. The request is done by this.

        `item`: the last one of the answer; empty: nothing was logged.
        """
        with self._conversations[format.provider].use(prepared.name) as history:
            if self._taken.get((prepared.name, prepared.place)) == prepared.number:
                del self._taken[prepared.name, prepared.place]
            if item:
                history.expect(prepared.place, read_reply(shown).parts, item)

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

    def _budget(self, asked: ModelRequest, session: Session) -> Budget | None:
        """Return the budget of a request; None if nobody knows the model's context window.

        One that a refusal has told is known as long as the server runs. After that it is the last one of the session.
        """
        if (window := self._config.window) is not None:
            return Budget(window, min(asked.output or _ANSWER, window // _ANSWER_SHARE))
        known = self._windows.get(asked.model) or window_of(asked.model)
        return Budget(known, min(asked.output or _ANSWER, known // 2)) if known else session.budget

    def _takes_key(self, format: Format) -> bool:  # noqa: A002
        """Whether the upstream takes a key for its cache. Of those that speak chat completions, some refuse it."""
        return format.wire == "responses" or (format.wire == "openai" and _OPENAI in self._config.upstreams["openai"])

    def _compose(
        self, session: Session, before: Prepared, asked: ModelRequest, budget: Budget, *, recall: bool = True
    ) -> Prepared:
        session.tools(asked.tools, recall=recall and asked.takes_tools)
        is_first = session.receipt is None
        payload = session.compose(budget)
        own = OWN & {tool.name for tool in payload.tools if tool in RECALL_TOOLS}
        body = _body(asked, payload, own, before.name if self._takes_key(asked.format) else "")
        offered = session.items.tokens()
        swept = payload.plan.reason or ("sweep: first" if is_first and payload.tokens < offered else "")
        return before._replace(body=body, own=own, offered=offered, sent=payload.tokens, swept=swept, composed=True)


def _fits(tokens: int, budget: Budget, session: Session) -> bool:
    """Whether everything stays below the trigger in full, so that nothing has to be shortened."""
    return tokens <= budget.trigger * budget.limit(margin=profile(session.settings.profile).margin)


def _open(config: Config, name: str, provider: str) -> Session:
    try:
        return Session.resume(name, config.folder, root=config.root)
    except SessionNotFound:
        settings = Settings(profile=provider, config={"economy": config.economy})
        return Session.new(config.folder, root=config.root, session_id=name, settings=settings)


def _body(asked: ModelRequest, payload: Payload, own: frozenset[str], cache_key: str) -> bytes:
    """Return the agent's request with other messages, and with our tools after its own. All else stays."""
    wire = asked.format.wire
    fields: Json = dict(asked.fields)
    marked = sum(map(_count_markers, (fields.get(asked.format.system), asked.tools, [fields])))
    messages = payload.messages_json(wire, breakpoints=4 - marked)
    if asked.head:
        head = msgspec.json.encode(asked.head)
        messages = head[:-1] + b"," + messages[1:] if len(messages) > 2 else head
    fields[asked.format.messages] = msgspec.Raw(messages)
    if own:
        offered = [tool for tool in RECALL_TOOLS if tool.name in own]
        written = registry.wire(wire).write_head((), offered, first=None, cached=False, output=0)
        fields["tools"] = [*asked.tools, *written.arguments["tools"]]
    if cache_key:
        fields.setdefault("prompt_cache_key", cache_key)
    return msgspec.json.encode(fields)


def _count_markers(value: Any) -> int:
    """Count the cache breakpoints that the agent itself has set."""
    blocks = value if isinstance(value, list) else []
    return sum(isinstance(block, dict) and block.get(_MARKER) is not None for block in blocks)


def _told_window(told: str, counted: int) -> int:
    """Return the context window that an error names: the largest number in it below what was counted."""
    numbers = [int(found.replace(",", "")) for found in _NUMBER.findall(told)]
    return max((number for number in numbers if 1000 <= number < counted), default=max(1000, counted * 9 // 10))
