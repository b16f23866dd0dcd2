"""The suites of `sightline.testing`: what we ship passes them, and what breaks a promise does not."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from threading import current_thread, main_thread
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from sightline.agent.models import ModelInfo, Reply, Request, TextDelta
from sightline.errors import ModelBusy, PinnedOverflow
from sightline.log.stores import Placement
from sightline.log.stores.memory import MemoryStore, MemoryStores
from sightline.plan.plan import Plan
from sightline.plan.strategies import STRATEGIES, strategy
from sightline.plan.view import View
from sightline.shorten.dispatch import SHORTENERS, Rule
from sightline.shorten.lines import Levels, line_levels
from sightline.shorten.lines import View as TextView
from sightline.testing import (
    ScriptedModel,
    WordCounter,
    check_counter,
    check_model,
    check_shortener,
    check_stores,
    check_strategy,
    check_wire,
    reply_of,
)
from sightline.values.cautious import Cautious
from sightline.values.items import Lod, Message, Result
from sightline.values.tokens import ENCODINGS, Estimate, counter
from sightline.wire import anthropic

# ------------------------------------------------------------------ shorteners


SAMPLES = {
    "listing": ["".join(f"-rw-r--r-- 1 ann staff {n * 100} May 16 10:{n:02} report_{n}.txt\n" for n in range(40))],
    "test run": ["".join(f"tests/test_{n}.py::test_it PASSED\n" for n in range(40)) + "==== 40 passed in 1.2s ====\n"],
    "diagnostics": ["".join(f"error[E0308]: mismatched types\n --> src/m{n}.rs:{n}:5\n" for n in range(40))],
}


@pytest.mark.parametrize("shortener", SHORTENERS, ids=lambda shortener: shortener.name)
def test_our_shorteners_pass(shortener: Rule) -> None:
    """Each takes every hostile text that it accepts, and looks at the others without failing."""
    if shortener.name == "code file":  # it goes by the path that a call names, and the suite's texts come from none
        with pytest.raises(AssertionError, match="it accepts no text"):
            check_shortener(shortener)
        return
    check_shortener(shortener, SAMPLES.get(shortener.name, ()), any_text=shortener.name == "prose")


def _plain(view: TextView) -> Levels:
    return line_levels(view, {}, {})


def _unlabelled(view: TextView) -> Levels:
    levels = _plain(view)
    return Levels(levels.summary, levels.gist._replace(render=lambda *_: "short"))  # type: ignore[arg-type]


def _changing(view: TextView) -> Levels:
    view.names.clear()
    return _plain(view)


def _swapped(view: TextView) -> Levels:
    summary, gist = _plain(view)
    return Levels(gist, summary)


def _is_own(view: TextView) -> bool:
    return "value_" in str(view.sample.lines)


def _begins(view: TextView) -> bool:
    return view.code[0][0] == "l"


def _marking(marks: dict[int, Any]) -> Callable[[TextView], Levels]:
    return lambda view: line_levels(view, marks, {0: -1.0})  # a negative mark lowers the worth of a line


def _adding(view: TextView) -> Levels:
    view.code.append("one more")
    return line_levels(view, {90: 1.0}, {})


BROKEN: dict[str, tuple[Callable[[TextView], Any], Callable[[TextView], Any], str]] = {
    "raises": (_begins, _plain, "on '': a shortener raises nothing, whatever the text, but _begins raised IndexError"),
    "marks lines that are not there": (_is_own, _marking({90: 1.0}), "mark for line 90; the view has lines 0 to 89"),
    "marks the line before the first": (_is_own, _marking({-1: 1.0}), "there is a mark for line -1"),
    "marks with words": (_is_own, _marking({0: "high"}), "the mark of line 0 is 'high'; it must be a finite number"),
    "marks with no number": (_is_own, _marking({0: 1.0, 2: float("nan")}), "the mark of line 2 is nan"),
    "adds to the view": (_is_own, _adding, "it changes the view; copy what you change"),
    "nonsense": (lambda _: True, lambda _: "short", "return a Levels"),
    "no label": (lambda _: True, _unlabelled, "label is not shown"),
    "changes the view": (lambda _: True, _changing, "changes the view"),
    "accepts everything": (lambda _: True, _plain, "it accepts every text"),
    "swapped": (lambda _: True, _swapped, "summary and gist are swapped"),
    "declines its own": (lambda _: False, _plain, "does not accept"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_shortener_is_found(name: str) -> None:
    """With what is wrong; the same shortener without the defect passes."""
    accepts, levels, told = BROKEN[name]
    text = "\n".join(f"line {n} names value_{n}" for n in range(90))
    check_shortener(Rule("good", _is_own, _plain), [text])
    with pytest.raises(AssertionError, match=told):
        check_shortener(Rule(name, accepts, levels), [text])


def test_a_shortener_of_which_nothing_is_checked_is_found() -> None:
    """It accepts nothing, and its author has passed no text."""
    with pytest.raises(AssertionError, match="it accepts no text; pass texts of its kind"):
        check_shortener(Rule("never", lambda _: False, _plain))


def test_what_is_passed_wrongly_to_the_suite_of_shorteners_is_said() -> None:
    """A class in place of an object, and one text in place of a list."""
    with pytest.raises(AssertionError, match=r"is a class; pass an object of it: Mine\(\)"):
        check_shortener(type("Mine", (), {"name": "mine", "accepts": _is_own, "levels": _plain}))  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="texts is one text; pass a list"):
        check_shortener(Rule("good", _is_own, _plain), "value_1")


def test_a_shortener_that_counts_its_calls_is_found() -> None:
    """It is not pure: the same text gives other levels the second time."""
    times = iter(range(10**6))

    def levels(view: TextView) -> Levels:
        return line_levels(view, {0: float(next(times) % 2)}, {next(times) % 7: 9.0})

    with pytest.raises(AssertionError, match="the same text gives other levels"):
        check_shortener(Rule("impure", lambda _: True, levels), ["\n".join(f"alpha{n} beta gamma" for n in range(40))])


# ------------------------------------------------------------------ strategies

CONFIGS: dict[str, dict[str, Any]] = {"entities": {"schema": {"destination": "string"}}}


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_our_strategies_pass(name: str) -> None:
    """Every strategy keeps the laws that its plans check, and is pure."""
    check_strategy(strategy(name, CONFIGS.get(name)))


class Everything:
    """Sends everything, whether it fits or not."""

    name = "everything"

    def plan(self, view: View) -> Plan:
        return Plan.extended(view, {}, {})


class Moody(Everything):
    """Gives a view another reason each time."""

    name = "moody"

    def __init__(self) -> None:
        self.times = 0

    def plan(self, view: View) -> Plan:
        self.times += 1
        units = [*dict.fromkeys([*(view.last or ()), *view.new])]
        return Plan.swept(view, units, {}, {}, reason=f"sweep: {self.times}")


class Greedy:
    """Wants a summary of what is not there."""

    name = "greedy"

    def plan(self, view: View) -> Plan:
        return strategy("focus").plan(view)

    def wants(self, view: View) -> tuple[int, int]:
        return 0, 10**6


class Timid:
    """Finds that nothing fits."""

    name = "timid"

    def plan(self, view: View) -> Plan:
        raise PinnedOverflow(("1",), 5)


class Planning:
    """Makes its plans with a function."""

    name = "planning"

    def __init__(self, make: Callable[[View], Plan]) -> None:
        self._make = make

    def plan(self, view: View) -> Plan:
        return self._make(view)


def _understated(view: View) -> Plan:
    plan = strategy("sliding").plan(view)
    plan.body -= 1
    return plan


def _of_unknown(view: View) -> Plan:
    return Plan.swept(view, [*view.candidates(), 999], {}, {}, reason="all")


def _by_name(view: View) -> Plan:
    return Plan.swept(view, [*view.candidates()], {"0": Lod.GIST}, {}, reason="all")  # type: ignore[dict-item]


def _at_level_7(view: View) -> Plan:
    row = view.timeline.unit_row[view.new[-1]]
    return Plan.swept(view, [*view.candidates()], {row: 7}, {}, reason="all")  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Everything(), "is over the limit"),
        (Timid(), "but the default strategy has a plan"),
        (Moody(), "another plan the second time"),
        (Greedy(), "wants"),
        (Planning(_understated), r"the plan says \d+ tokens, but its messages have \d+"),
        (Planning(_of_unknown), "Planning.plan raised StrategyError.'there is no unit 999"),
        (Planning(_by_name), "StrategyError.*a level is given for row '0'"),
        (Planning(_at_level_7), "StrategyError.*the level of row .* is 7: pass Lod.FULL"),
        (Everything, "is a class"),
    ],
    ids=lambda value: "",
)
def test_a_broken_strategy_is_found(broken: Any, told: str) -> None:
    """With the law it breaks."""
    with pytest.raises(AssertionError, match=told):
        check_strategy(broken)


# ------------------------------------------------------------------ stores


class Handle(MemoryStore):
    """A handle that breaks one promise in each class derived from it."""

    def reopened(self) -> MemoryStore:
        return type(self)(self.session_id, self._log)


class RaisingCache(Handle):
    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        return {name: self._log.parts[name] for name in names}


class RaisingKeep(Handle):
    def keep(self, parts: Mapping[str, bytes]) -> None:
        raise OSError("the disk is full")


class Losing(Handle):
    def append(self, make: Any, *, branch: str, expected_head: str | None) -> list[Placement]:
        placed = super().append(make, branch=branch, expected_head=expected_head)
        self._log.lines[-1:] = self._log.lines[-1:] if len(placed) == 1 else []
        return placed


class Stripping(Handle):
    def keep_texts(self, texts: Mapping[str, str]) -> None:
        super().keep_texts({digest: text.strip() for digest, text in texts.items()})


class Locked(Handle):
    def append(self, make: Any, *, branch: str, expected_head: str | None) -> list[Placement]:
        if current_thread() is not main_thread():
            raise OSError("the file is locked")
        return super().append(make, branch=branch, expected_head=expected_head)


def stores_of(handle: type[Handle]) -> Callable[[], MemoryStores]:
    """Makes stores in memory with handles of this class."""

    class Stores(MemoryStores):
        def create(self, session_id: str) -> MemoryStore:
            return handle(session_id, super().create(session_id)._log)

        def open(self, session_id: str) -> MemoryStore:
            return handle(session_id, super().open(session_id)._log)

    return Stores


class Unchecked(MemoryStores):
    def create(self, session_id: str) -> MemoryStore:
        return MemoryStore(session_id, self._logs.setdefault(session_id, MemoryStore()._log))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (stores_of(RaisingCache), r"Nothing is raised. RaisingCache.cache raised KeyError\('columns'\)"),
        (stores_of(RaisingKeep), r"Nothing is raised. RaisingKeep.keep raised OSError\('the disk is full'\)"),
        (stores_of(Losing), r"2 that append returned have no line: seq \[603, 604\]"),
        (stores_of(Stripping), r"the texts.*: {'d1': 'plain'.*, not {'d1': ' \\n plain\\t"),
        (stores_of(Locked), "Threads that share handles .* Locked.append raised OSError"),
        (Unchecked, r"create\(''\) must raise BadSessionId, but raised nothing"),
    ],
    ids=range(6),
)
def test_broken_stores_are_found(make: Callable[[], MemoryStores], told: str) -> None:
    """With the method that raised, or what is lost; however long the texts are, the message is short."""
    with pytest.raises(AssertionError, match=told) as found:
        check_stores(make)
    assert len(str(found.value)) < 900


# ------------------------------------------------------------------ wires


def _unflagged(messages: list[Any], *, at: int = 0) -> list[Message]:
    """Anthropic's messages, with every result as if it had succeeded."""
    read = anthropic.read(messages, at=at)
    return [
        replace(each, parts=tuple(replace(p, error="") if isinstance(p, Result) else p for p in each.parts))
        for each in read
    ]


def _unreadable(messages: list[Any], *, at: int = 0) -> list[Message]:
    raise KeyError("role")


HI = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}]}


@pytest.mark.parametrize(
    ("changes", "replies", "told"),
    [
        ({"read": _unflagged}, [HI], "neither written nor read like one that succeeded. read drops the failure"),
        ({"read": _unreadable}, [HI], r"_unreadable raised KeyError\('role'\)"),
        ({"recognises_block": lambda _: False}, [HI], "recognises_block says no to all of"),
        ({}, [], r"anthropic: no reply was checked; pass replies=\["),
        ({}, HI, "replies is one reply; pass a list"),
    ],
    ids=range(5),
)
def test_a_broken_wire_is_found(changes: dict[str, Any], replies: Any, told: str) -> None:
    """With the function to change, or what to pass."""
    with pytest.raises(AssertionError, match=told):
        check_wire(SimpleNamespace(**vars(anthropic) | changes), replies=replies, histories=8)


def test_a_wire_is_checked_by_its_name() -> None:
    """Of ours, registered or installed; an unknown name is said."""
    check_wire("anthropic", replies=[HI], histories=2)
    with pytest.raises(AssertionError, match="unknown format 'antropic'"):
        check_wire("antropic", replies=[HI])


# ------------------------------------------------------------------ counters


@pytest.mark.slow("o200k_harmony")
@pytest.mark.parametrize(
    "counting", [WordCounter(), Estimate(), Cautious(), *map(counter, ENCODINGS)], ids=lambda c: c.name
)
def test_our_counters_pass(counting: Any) -> None:
    """No text makes one fail, and sums of parts hold a budget."""
    check_counter(counting)


class Wrong:
    """A counter with this count."""

    name = "wrong"

    def __init__(self, count: Callable[[str], Any]) -> None:
        self.count = count


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (lambda text: len(text.encode()) // 4, "never raises"),
        (lambda text: len(text) / 4, "no whole number"),
        (lambda text: len(text) + 3, "the empty text"),
        (lambda text: len(text) ** 2 // 1000, "in two parts"),
        (lambda text: -len(text), "negative"),
        (lambda _: 0, "more text has more tokens"),
        (lambda text: 7 if text else 0, "more text has more tokens"),
    ],
)
def test_a_broken_counter_is_found(count: Callable[[str], Any], told: str) -> None:
    """With the text and what is wrong."""
    with pytest.raises(AssertionError, match=told):
        check_counter(Wrong(count))


def test_a_counter_below_the_truth_is_found() -> None:
    """The document's estimate is, on logs and Chinese; the cautious one is not."""
    check_counter(Cautious(), at_least=counter())
    with pytest.raises(AssertionError, match="take a margin"):
        check_counter(Estimate(), at_least=counter())


# ------------------------------------------------------------------ models


def test_the_scripted_model_passes() -> None:
    """With a failing one that says so properly."""
    check_model(ScriptedModel(["Two words", "again"]), [ScriptedModel([ModelBusy("not now")])])


class Pieces:
    """A model that yields these."""

    info = ModelInfo("pieces", "openai")

    def __init__(self, *pieces: Any) -> None:
        self._pieces = pieces

    async def stream(self, request: Request) -> AsyncGenerator[Any, None]:
        for piece in self._pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def close(self) -> None:
        """Nothing is open."""


class Waiting(Pieces):
    """A model whose stream is no generator."""

    async def stream(self, request: Request) -> Any:  # type: ignore[override]
        return self._pieces[0]


REPLY = Reply("pieces", reply_of("Two words"))


@pytest.mark.parametrize(
    ("model", "failing", "told"),
    [
        (Pieces(TextDelta("Two words"), REPLY), [], ""),
        (Pieces(TextDelta("Two words")), [], "without a Reply"),
        (Pieces(REPLY, TextDelta("Two words")), [], "after the Reply"),
        (Pieces(TextDelta("Three words"), REPLY), [], "piece by piece"),
        (Pieces("Two words", REPLY), [], "it is a TextDelta"),
        (Pieces(Reply("pieces", {"odd": 1})), [], "cannot read the reply"),
        (Pieces(REPLY), [Pieces(OSError("no network"))], "no ModelError"),
        (Pieces(REPLY), [Pieces(REPLY)], "should fail"),
        (Pieces(REPLY), [Pieces(TextDelta("T"))], "should fail"),
        (Pieces(OSError("no network")), [], "raises OSError.* instead of replying"),
        (Pieces(Reply("pieces", "hello")), [], "the raw reply is 'hello'"),  # type: ignore[arg-type]
        (Waiting(REPLY), [], "stream gives coroutine; write it as an async generator"),
    ],
    ids=range(12),
)
def test_a_broken_model_is_found(model: Any, failing: list[Any], told: str) -> None:
    """Each differs from the first, which is right, in one thing."""
    if not told:
        return check_model(model, failing)
    with pytest.raises(AssertionError, match=told):
        check_model(model, failing)
    return None
