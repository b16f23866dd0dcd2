"""One long tool history: what a composer's requests cost, how long they take to make, and which facts they show."""

from collections.abc import Iterator, Mapping
from functools import cache
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.histories import agent_run
from benchmarks.quality.composer_calls import Composer, Opened
from benchmarks.quality.messages import (
    History,
    Message,
    common_prefix,
    count_message,
    count_messages,
    full_text,
    text_of,
)
from benchmarks.quality.planted_facts import FACTS, Fact, plant_facts
from sightline import Budget, MemoryStore, Session
from sightline.testing import Ticking

CACHED, WRITTEN = 0.1, 1.25  # what a token costs that the provider has, and one that it has not
RECALLED = 2_000  # tokens
WARM, SLOW = 9, 5.0  # calls after the first one; seconds of a first call after which two are enough


# ------------------------------------------------------------------ ourselves


class Sightline:
    """One session, through the public API, with the default budget's shares or others."""

    shares: Mapping[str, Any] = {}  # of the budget, other than its own

    def __init__(self) -> None:
        self._session = Session(MemoryStore("rivals"), clock=Ticking(step=1))
        self._told = 0
        self.seconds = 0.0  # of the last compose
        self.adding = 0.0  # of taking in the latest messages
        self.writing = 0.0  # of the request in OpenAI's form

    def compose(self, history: History, query: str, budget: int) -> list[Message]:  # noqa: ARG002 - it is in the history
        """The next request."""
        begun = perf_counter()
        new, self._told = history[self._told :], len(history)
        if len(new) == len(history):
            self._session.extend(new)
        else:
            for message in new:
                self._tell(message)
        self.adding = perf_counter() - begun
        begun = perf_counter()
        payload = self._session.compose(Budget(budget, **self.shares))
        self.seconds = perf_counter() - begun
        begun = perf_counter()
        messages = payload.openai()["messages"]
        self.writing = perf_counter() - begun
        return [{**each, "content": text_of(each.get("content"))} for each in messages]

    def recalled(self, query: str) -> str:
        """What the model's call of `recall` would answer now."""
        return self._session.items.passages(query, RECALLED)

    def _tell(self, message: Message) -> None:
        match message["role"]:
            case "system":
                self._session.system(message["content"])
            case "user":
                self._session.user(message["content"])
            case "tool":
                self._session.tool_result(message["tool_call_id"], message["content"])
            case _:
                self._session.reply(message)


def sightline_at(trigger: float, target: float) -> type[Sightline]:
    """Sightline with these shares of the budget."""
    return type("SightlineAt", (Sightline,), {"shares": {"trigger": trigger, "target": target}})


# ------------------------------------------------------------------ measuring


class Replayed(NamedTuple):
    """The sums over the requests of a run."""

    requests: int
    cost: float
    last: int  # tokens of the last request
    mean: float
    over: int  # requests over the budget
    broken: int  # that did not begin with the request before
    model_calls: int
    failed: int  # requests that the composer could not make


def requests(opened: Opened, history: History, budget: int) -> Iterator[list[Message]]:
    """A request before each model call, and one at the end. One that the composer cannot make is empty."""
    for end in _calls(history):
        yield opened(list(history[:end]), _asked(history[:end]), budget).messages


def replayed(composer: Composer, history: History, budget: int) -> Replayed:
    """The sums over the requests of a run."""
    opened, before = Opened(composer, "rivals"), list[Message]()
    sizes: list[int] = []
    cost, broken, failed = 0.0, 0, 0
    for messages in requests(opened, history, budget):
        if not messages:
            failed += 1
            continue
        shared, tokens = common_prefix(before, messages), count_messages(messages)
        cached = sum(map(count_message, messages[:shared]))
        cost += CACHED * cached + WRITTEN * (tokens - cached)
        broken += shared < len(before)
        sizes.append(tokens)
        before = messages
    over = sum(size > budget for size in sizes)
    calls = getattr(opened.composer, "model_calls", 0)
    return Replayed(len(sizes) + failed, cost, sizes[-1], sum(sizes) / len(sizes), over, broken, calls, failed)


class Timed(NamedTuple):
    """Milliseconds of compose: of the first call, with the whole history, and the median of the next ones."""

    first: float
    next: float
    adding: float  # of taking in a step's messages, where that is a call of its own
    writing: float  # of giving the request its provider's form, likewise


def timed(composer: Composer, messages: int, budget: int) -> Timed:
    """The last calls of a run of so many messages."""
    history = agent(messages)
    ends = _calls(history)[-WARM - 1 :]
    opened = Opened(composer, "rivals")
    calls: list[tuple[float, float, float]] = []
    for end in ends:
        outside = opened(list(history[:end]), _asked(history[:end]), budget).seconds
        inside = [getattr(opened.composer, name, 0.0) for name in ("seconds", "adding", "writing")]
        calls.append((inside[0] or outside, inside[1], inside[2]))
        if calls[0][0] > SLOW and len(calls) > 2:
            break
    later = [1000 * median(each) for each in zip(*calls[1:], strict=True)]
    return Timed(1000 * calls[0][0], *later)


class Shown(NamedTuple):
    """What one question brought."""

    fact: Fact
    found: bool  # what it asks for is there, within the budget
    tokens: int
    where: list[str]  # how it is shown
    last: str  # the last message: the question, and what was brought back for it


def shown(composer: Composer, messages: int, budget: int, *, lived: bool) -> list[Shown]:
    """Ask each question at the end of the same long run, one after the other.

    `lived`: a request was composed before each model call of the run. Else all of it arrives with the first question.
    """
    history, opened = list(_planted(messages)), Opened(composer, "rivals")
    for end in _calls(history)[:-1] if lived else ():
        opened(history[:end], _asked(history[:end]), budget)
    return replies_to_facts(opened, history, budget)


def replies_to_facts(opened: Opened, history: list[Message], budget: int) -> list[Shown]:
    """What is shown when the user asks for each fact, one after the other."""
    found = []
    for fact in FACTS:
        history.append({"role": "user", "content": fact.question})
        found.append(_shown(opened(history, fact.question, budget).messages, fact, budget))
        history.append({"role": "assistant", "content": "Thank you for asking."})  # no fact is said a second time
    return found


def _shown(messages: list[Message], fact: Fact, budget: int) -> Shown:
    texts = [text for text in map(full_text, messages) if fact.value in text]
    tokens = count_messages(messages)
    last = text_of(messages[-1].get("content")) if messages else ""
    return Shown(fact, bool(texts) and tokens <= budget, tokens, [_around(text, fact.value) for text in texts], last)


def _around(text: str, value: str) -> str:
    at = text.index(value)
    return text[max(0, at - 60) : at + len(value) + 20].replace("\n", "⏎")


def _calls(history: History) -> list[int]:
    """Return where a model is called: before each of its answers, and at the end."""
    return [at for at, message in enumerate(history) if message["role"] == "assistant"] + [len(history)]


def _asked(history: History) -> str:
    return next((text_of(each["content"]) for each in reversed(history) if each["role"] == "user"), "")


@cache
def agent(messages: int) -> list[Message]:
    """A generated run of so many messages."""
    return agent_run(messages)


@cache
def _planted(messages: int) -> list[Message]:
    return plant_facts(messages)
