"""The suites of `sightline.testing`: what we ship passes them, and what breaks a promise does not."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from sightline.agent.models import ModelInfo, Reply, Request, TextDelta
from sightline.errors import ModelBusy, PinnedOverflow
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
    check_strategy,
    reply_of,
)
from sightline.values.cautious import Cautious
from sightline.values.tokens import ENCODINGS, Estimate, counter

# ------------------------------------------------------------------ shorteners


SAMPLES = {
    "listing": ["".join(f"-rw-r--r-- 1 ann staff {n * 100} May 16 10:{n:02} report_{n}.txt\n" for n in range(40))],
    "test run": ["".join(f"tests/test_{n}.py::test_it PASSED\n" for n in range(40)) + "==== 40 passed in 1.2s ====\n"],
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


BROKEN: dict[str, tuple[Callable[[TextView], Any], Callable[[TextView], Any], str]] = {
    "raises": (lambda view: view.sample.lines[10**6] == "", _plain, "take any text"),
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
    check_shortener(Rule("good", lambda view: "value_" in str(view.sample.lines), _plain), [text])
    with pytest.raises(AssertionError, match=told):
        check_shortener(Rule(name, accepts, levels), [text])


def test_a_shortener_of_which_nothing_is_checked_is_found() -> None:
    """It accepts nothing, and its author has passed no text."""
    with pytest.raises(AssertionError, match="it accepts no text; pass texts of its kind"):
        check_shortener(Rule("never", lambda _: False, _plain))


def test_a_shortener_that_counts_its_calls_is_found() -> None:
    """It is not pure: the same text gives other levels the second time."""
    times = iter(range(10**6))

    def levels(view: TextView) -> Levels:
        return line_levels(view, {0: float(next(times) % 2)}, {next(times) % 7: 9.0})

    with pytest.raises(AssertionError, match="the same text gives other levels"):
        check_shortener(Rule("impure", lambda _: True, levels), ["\n".join(f"alpha{n} beta gamma" for n in range(40))])


# ------------------------------------------------------------------ strategies

CONFIGS: dict[str, dict[str, Any]] = {"entities": {"schema": {"destination": "string"}}}


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


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Everything(), "is over the limit"),
        (Timid(), "but the default strategy has a plan"),
        (Moody(), "another plan the second time"),
        (Greedy(), "wants"),
        (Everything, "is a class"),
    ],
    ids=lambda value: "",
)
def test_a_broken_strategy_is_found(broken: Any, told: str) -> None:
    """With the law it breaks."""
    with pytest.raises(AssertionError, match=told):
        check_strategy(broken)


# ------------------------------------------------------------------ counters


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
