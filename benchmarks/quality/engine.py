"""Sightline as a composer of this benchmark: one session, told everything once, asked for the next request."""

import re
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from benchmarks.quality.messages import History, Message, count_messages, full_text, is_system, text_of
from benchmarks.quality.needed_values import epoch
from benchmarks.quality.replay import CACHE_SECONDS
from benchmarks.quality.request import Request
from sightline import BadInput, Budget, Kind, Lod, MemoryStore, PinnedOverflow, Plan, Session, Settings, wire
from sightline.values.profiles import PROFILES, profile

_HANDLE = re.compile(r"#(\d+)")  # a call is "#12.2": the second of message 12
_KEYS = ("role", "content", "tool_calls", "tool_call_id")  # what a message says; when it was said goes beside it
_LEAST = 100  # tokens: below, nothing can be composed

# It knows how long the caches live by whose rule its requests are charged, as it knows this of a real provider.
_PROVIDER = replace(profile("openai"), name="measured", cache_seconds=int(CACHE_SECONDS))
PROFILES[_PROVIDER.name] = _PROVIDER
_SETTINGS = Settings(profile=_PROVIDER.name)


class Engine:
    """`start` begins a session; the history of each `compose` extends that of the one before.

    Sightline counts a request as this benchmark does, except where the written form joins several texts of a message:
    what that adds is kept off the budget from then on, so no request is over.
    """

    parts: tuple[str, ...] = ("a", "b", "c", "e")  # of the benchmark
    asks = True  # a question about a recorded conversation is composed for with `ask=True`
    compacts = False  # also where somebody asks
    settings = _SETTINGS  # of the session

    def __init__(self) -> None:
        self.start("")

    def start(self, session_id: str) -> None:
        """Forget everything."""
        self._now = 0
        store = MemoryStore(re.sub(r"\W", "_", session_id))
        self.session = Session(store, settings=self.settings, clock=lambda: self._now)
        self._told = 0  # messages of the history
        self._places: dict[str, int] = {}  # item: index in the history
        self._more = 0  # tokens that the written form has had beyond our count
        self._sent: Request | None = None
        self.reason = ""  # why the latest request does not begin with the one before; empty: it does

    def compose(self, history: History, query: str, budget: int) -> tuple[list[Message], dict[str, list[int]]]:  # noqa: ARG002
        """Return the request, and which message each handle in it brings back."""
        resumed = self._told == 0 and count_messages(history) > budget
        for at in range(self._told, len(history)):
            self._tell(history[at], at)
        self._told = len(history)
        self.session.interrupt()
        self.reason = ""
        question = resumed and is_question(history)
        if resumed and (self.compacts or not question):
            with suppress(BadInput):  # too little to compact
                self.session.summaries.compact(Budget(budget))
        self._sent = self._fitting(budget, ask=question and self.asks)
        return list(self._sent.messages), self._handles(self._sent)

    def why(self, at: int) -> str:
        """Return why the latest request does not show all of a message of the history; empty if it does."""
        timeline, plan = self._plan.timeline, self._plan
        items = [item for item, place in self._places.items() if place == at]
        rows = [row for item in items if (row := timeline.row(item)) is not None]
        every = [each for row in rows for each in timeline.rows_of(timeline.unit[row])]
        own = {timeline.seq[row] for row in rows}
        less = [each for each in every if timeline.seq[each] in own]
        if any(timeline.unit[each] not in plan for each in less):
            return "left out"
        return ", ".join(dict.fromkeys(plan.why.get(each, "") for each in less if plan.lod(each) < Lod.FULL))

    def _tell(self, message: Message, at: int) -> None:
        """Add one message of the history. Only here its time is read (`ts`, free text or ISO)."""
        said = message.get("ts") or ""
        moment = epoch(said)
        if moment is not None:
            self._now = max(self._now, int(moment * 1000))
        for neutral in wire.read_messages([{key: message[key] for key in _KEYS if key in message}]):
            item = self.session.add(replace(neutral, when=str(said)))
            self._places[item.partition(".")[0]] = at

    def _fitting(self, budget: int, *, ask: bool) -> Request:
        while True:
            request = Request(self._written(max(_LEAST, budget - self._more), ask=ask), self._sent)
            over = request.tokens - budget
            if over <= 0 or budget - self._more <= _LEAST:
                return request
            self._more += over

    def _written(self, window: int, *, ask: bool) -> list[Message]:
        """Compose the next request. If what must be shown exceeds the window, use the smallest that it fits."""
        try:
            payload = self.session.compose(Budget(window), ask=ask)
        except PinnedOverflow as overflow:
            payload = self.session.compose(Budget(window + overflow.short_by), ask=ask)
        self._plan = payload.plan
        if self.session.receipt is not None:
            self.reason = self.reason or self.session.receipt.reason  # of the first try: others go on from it
        return [_plain(message) for message in payload.openai()["messages"]]

    def _handles(self, request: Request) -> dict[str, list[int]]:
        """Return the handles of items that the request does not show in full. Any other "#12" is part of a message."""
        named = [item for item in set[str]().union(*request.each(_numbers)) if item in self._places]
        return {f"#{item}": [self._places[item]] for item in named if not _in_full(self._plan, item)}


class Plain(Engine):
    """The same with plain `compose` throughout, which is what chat and agents call after every user message."""

    parts: tuple[str, ...] = ("a", "c", "f")  # elsewhere the two are one
    asks = False


class Compacted(Plain):
    """The same after `compact()`."""

    parts = ("f",)
    compacts = True


class Thrifty(Engine):
    """The same with `economy="thrifty"`."""

    parts = ("b",)
    settings = replace(_SETTINGS, config={"economy": "thrifty"})


class Off(Engine):
    """The same with `economy="off"`."""

    parts = ("b",)
    settings = replace(_SETTINGS, config={"economy": "off"})


def _numbers(message: Message) -> set[str]:
    """Return what may be handles in a message."""
    return set(_HANDLE.findall(full_text(message)))


def _in_full(plan: Plan, item: str) -> bool:
    """Return whether a plan shows all of a message: its text and its calls. System prompts are always shown."""
    timeline, row = plan.timeline, plan.timeline.row(item)
    if row is None or timeline.kind[row] == Kind.SYSTEM:
        return True
    unit = timeline.unit[row]
    lods = [plan.lod(each) for each in timeline.rows_of(unit) if timeline.seq[each] == timeline.seq[row]]
    return unit in plan and set(lods) == {Lod.FULL}


def is_question(history: History) -> bool:
    """Return whether a history that is added at once is a recorded conversation, about which somebody now asks.

    It ends with a user's message after at least one earlier turn, and its user speaks as often as tools are called.
    Else it is an agent's run that somebody takes up again: if it is too long for the window, it is compacted.
    """
    said = [message for message in history if not is_system(message)]
    calls = sum(len(message.get("tool_calls") or ()) for message in said)
    asked = sum(message["role"] == "user" for message in said)
    return len(said) > 1 and said[-1]["role"] == "user" and asked >= calls


def _plain(message: dict[str, Any]) -> Message:
    """Content as one text."""
    content = message.get("content")
    return {**message, "content": text_of(content)} if isinstance(content, list) else message
