"""Checks of strategies: the laws of every payload, on generated conversations."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from sightline.errors import BadInput, PinnedOverflow
from sightline.log.stores.memory import MemoryStore
from sightline.plan.pipe import Pipe
from sightline.plan.plan import Plan
from sightline.plan.strategies import pipe
from sightline.plan.strategies import strategy as default_strategy
from sightline.plan.strategy import Planner, completed, is_planner
from sightline.plan.view import Budget, View
from sightline.session.session import Session
from sightline.testing.failures import reported
from sightline.values.items import Call, Kind, Lod, Message, Result, Role, Text, arguments, plain_text
from sightline.values.settings import Settings
from sightline.values.tokens import Estimate
from sightline.wire.payload import Payload

_WINDOWS = (1_200, 4_000, 60_000)  # much must go, some must go, all fits
_SEEDS = range(2)  # conversations in each window
_IN_PIPES = ((1_200, 1), (4_000, 0))  # windows and conversations of a stage among others
_TURNS = 8
_COUNTER = Estimate()
_WORDS = (
    "alpha",
    "invoice",
    "crane",
    "quay",
    "error",
    "订单",
    "客户",
    "发货",
    "src/app.py",
    "id=W4711",
    "must",
    "never",
)


def check_strategy(strategy: Planner | Sequence[Planner | str]) -> None:
    """Compose generated conversations with a strategy, in small and large windows, and check every payload.

    It is checked alone, then as a stage: after `rounds`, and before `sliding`, where these combine. A list of stages is
    checked as the pipe that it is: so check a stage that leaves the budget to those after it.

    A payload never exceeds its budget, and its messages have no more tokens than its plan says (law 2). It has no
    result without its call and no call without its result (law 3). Units stand in order, pinned items are shown in
    full, and the question is always shown (law 6). The same view gives the same plan. There is a plan wherever the
    default strategy has one. A state that is remembered and a summary that is wanted can be used.

    Raises:
        AssertionError: a check failed. The message says which one, and in which conversation.
    """
    planner: Any = pipe(strategy) if isinstance(strategy, list | tuple) else strategy
    assert is_planner(planner), f"{planner!r} has no name or no method plan(view), or is a class"
    tried = [(planner, window, seed) for window in _WINDOWS for seed in _SEEDS]
    tried += [(staged, window, seed) for staged in _pipes(planner) for window, seed in _IN_PIPES]
    for made, window, seed in tried:
        where = f"{made.name}, window {window}, conversation {seed}"
        with reported(f"{where}:"):
            _converse(_Watched(made, where), window, Random(seed), where, reads=isinstance(made, Pipe))


def _pipes(planner: Planner) -> Iterator[Planner]:
    """The strategy as the last stage and as the first, where that is allowed."""
    both: list[list[Planner | str]] = [["rounds", planner], [planner, "sliding"]]
    for stages in () if isinstance(planner, Pipe) else both:
        with suppress(BadInput):  # it contradicts the other stage
            yield pipe(stages)


class _Watched:
    """The strategy under test: each view is planned twice, and its wishes are looked at."""

    def __init__(self, strategy: Planner, where: str) -> None:
        self._strategy, self._where = completed(strategy), where
        self.name, self.apart = self._strategy.name, self._strategy.apart
        self.compression_model, self.merged = self._strategy.compression_model, self._strategy.merged

    def plan(self, view: View) -> Plan:
        try:
            first, second = self._strategy.plan(view), self._strategy.plan(view)
        except PinnedOverflow as error:
            if not _overflows(view):
                raise AssertionError(f"{self._where}: {error}, but the default strategy has a plan") from error
            raise
        made = isinstance(first, Plan) and first.checked
        assert made, f"{self._where}: return what Plan.extended or Plan.swept gives"
        assert _facts(first) == _facts(second), f"{self._where}: the same view gives another plan the second time"
        self.wants(view)
        return second

    def wants(self, view: View) -> tuple[int, int] | None:
        wanted = self._strategy.wants(view)
        assert wanted == self._strategy.wants(view), f"{self._where}: the same view wants another summary"
        if wanted is not None:
            first, last = wanted
            units = len(view.timeline.unit_row)
            assert 0 <= first <= last < units, f"{self._where}: wants {wanted}; there are units 0 to {units - 1}"
        return wanted


def _overflows(view: View) -> bool:
    """Whether the default strategy has no plan for a view either."""
    try:
        default_strategy(Settings().strategy).plan(view)
    except PinnedOverflow:
        return True
    return False


def _facts(plan: Plan) -> tuple[Any, ...]:
    return list(plan), plan.levels(), plan.preface, plan.marker, plan.tokens, plan.reason


def _converse(strategy: _Watched, window: int, random: Random, where: str, *, reads: bool) -> None:
    """Hold one conversation, and check the payload of every call. `reads`: some of the results are files."""
    session = Session(MemoryStore("check"), strategy=strategy, token_counter=_COUNTER)
    session.system("You help in a harbour office.")
    budget = Budget(window, output=window // 10)
    for turn in range(_TURNS):
        question = session.user(_text(random, random.choice((5, 40, 200))))
        if turn == 2:
            session.items.pin(question)
        for step in range(random.randrange(3)):
            _compose(session, budget, question, where)
            tool = ("read_file", "path") if reads and turn % 2 else ("run", "command")
            calls = [Call(f"c{turn}_{step}_{n}", tool[0], {tool[1]: _text(random, 6)}) for n in range(1 + step)]
            session.add(Message(Role.ASSISTANT, (Text(_text(random, 8)), *calls)))
            for call in calls:
                session.tool_result(call.id, _text(random, random.choice((3, 90, 500))))
        _compose(session, budget, question, where)
        session.assistant(_text(random, random.choice((4, 60))))
    session.remember({})
    session.close()


def _compose(session: Session, budget: Budget, question: str, where: str) -> None:
    try:
        payload = session.compose(budget)
    except PinnedOverflow:
        return  # the question or what is pinned is larger than the window
    assert payload.tokens <= payload.plan.limit <= budget.window, f"{where}: {payload.tokens} tokens exceed the budget"
    counted = _count(payload)
    assert payload.tokens >= counted, f"{where}: the plan says {payload.tokens} tokens, but its messages have {counted}"
    _check_pairs(payload, where)
    ids = [message.id for message in payload.body if message.id.isdigit()]
    units = [item_id for item_id in ids if session.items.info(item_id).kind is not Kind.RECALL]  # it leads its message
    assert units == sorted(units, key=int), f"{where}: units out of order: {units}"
    assert question in units, f"{where}: the question #{question} is not shown"
    for info in session.items.table():
        if info.pinned:
            line = next((line for line in payload.plan.lines() if line.id == info.id), None)
            assert line is not None, f"{where}: the pinned item #{info.id} is not shown"
            assert line.lod is Lod.FULL, f"{where}: the pinned item #{info.id} is not shown in full"


def _count(payload: Payload) -> int:
    """The tokens of a payload, counted from its messages."""
    messages, profile = [*payload.system, *payload.body], payload.plan.profile
    tokens = profile.request_tokens + profile.message_tokens * len(messages)
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, Call):
            tokens += profile.call_tokens + _COUNTER.count(part.name) + _COUNTER.count(arguments(part))
        else:
            tokens += _COUNTER.count(plain_text((part,)))
    return tokens


def _check_pairs(payload: Payload, where: str) -> None:
    calls = [call.id for call in _parts(payload, Call)]
    results = [result.id for result in _parts(payload, Result)]
    assert sorted(calls) == sorted(results), f"{where}: calls {calls} and results {results} are not pairs"


def _parts(payload: Payload, kind: type[Any]) -> Iterator[Any]:
    return (part for message in payload.body for part in message.parts if isinstance(part, kind))


def _text(random: Random, words: int) -> str:
    return " ".join(random.choice(_WORDS) + random.choice(("", ".", "\n")) for _ in range(words))
