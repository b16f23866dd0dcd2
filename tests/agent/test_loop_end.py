"""How a turn ends: why, at what price, and what is left when the log or the user gets in the way."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sightline.agent.agent import Agent
from sightline.agent.events import ToolStarted
from sightline.agent.models import Price, Reply, Request, TextDelta
from sightline.agent.tools import Tool
from sightline.errors import Conflict, StoreError
from sightline.plan import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, ScriptedModel, Ticking, calling, reply_of
from sightline.values.items import Kind, ToolDefinition, plain_text
from sightline.values.settings import Settings


class Ending(ScriptedModel):
    """Says a line and why it ended there, at a price of whoever spoke."""

    def __init__(self, lines: list[Any], stop: str = "", costs: Price | None = None, **facts: Any) -> None:
        super().__init__(lines, **facts)
        self._stop, self._costs = stop, costs

    async def stream(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
        """The next line."""
        line = self(request.payload)
        yield Reply("speaker", line if isinstance(line, dict) else reply_of(line), self._costs, self._stop)


def session(**settings: Any) -> Session:
    """One in memory."""
    return Session(MemoryStore("s"), clock=Ticking(), settings=Settings(**settings))


def texts(made: Session, kind: Kind) -> list[str]:
    """What items of a kind say."""
    return [plain_text(item.parts) for item in made.items if item.kind is kind]


def test_the_price_is_that_of_who_answered() -> None:
    """A fallback that costs ten times as much is counted at its own price."""
    agent = Agent(session(), Ending(["a"], costs=Price(input=100), price=Price(input=10)))
    assert asyncio.run(agent.query("x")).cost == pytest.approx(0.01)
    assert agent.spent.cost == pytest.approx(0.01)


def test_each_kind_of_token_has_its_price() -> None:
    """Fresh input, what the provider's cache gave, what went into it, and output."""
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300},
    }
    line, price = reply_of("a") | {"usage": usage}, Price(input=1, cached=10, written=100, output=1000)
    answer = asyncio.run(Agent(session(), Ending([line], costs=price)).query("x"))
    assert answer.cost == pytest.approx((100 + 6_000 + 30_000 + 10_000) / 1_000_000)


@pytest.mark.parametrize("stop", ["", "length", "refused"])
def test_an_answer_says_why_it_ended(stop: str) -> None:
    """It is the model's last reason; an answer that was cut off is one all the same."""
    answer = asyncio.run(Agent(session(), Ending(["The result is 4"], stop)).query("q"))
    assert (answer.success, answer.text, answer.stop) == (True, "The result is 4", stop)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(("stop", "said"), [("", "said nothing"), ("refused", "refused to answer")])
def test_a_model_that_says_nothing_has_not_answered(native: bool, stop: str, said: str) -> None:
    """That is said plainly, the empty reply is not in the log, what it used is counted, and asking again goes on."""
    agent = Agent(session(), Ending(["", reply_of("  ")], stop, native=native))
    for _ in range(2):
        answer = asyncio.run(agent.query("Hello"))
        assert (answer.success, answer.error) == (False, f"speaker {said}")
    assert {item.kind for item in agent.session.items} == {Kind.USER}
    assert agent.spent.calls == 2


def test_a_log_that_cannot_be_written_is_said_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that cannot be logged stops the turn with the store's error, and no call is left open."""

    async def echo(_: Mapping[str, Any]) -> str:
        return "x"

    made = session()
    agent = Agent(
        made,
        ScriptedModel([calling(("echo", {}), ("echo", {})), "fine"]),
        tools=[Tool(ToolDefinition("echo", "", {"type": "object"}), echo)],
    )

    def full(*_: Any, **__: Any) -> str:
        raise StoreError("disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(made, "tool_result", full)
        with pytest.raises(StoreError, match="disk is full"):
            asyncio.run(agent.query("one"))
    assert not made.open_calls
    assert asyncio.run(agent.query("two")).text == "fine"


def test_stopping_twice_leaves_no_open_call() -> None:
    """Who is impatient while a tool cleans up gets a whole log too."""

    async def slow(_: Mapping[str, Any]) -> str:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(3600)
        return ""

    async def stopped() -> Session:
        agent = Agent(
            session(),
            ScriptedModel([calling(("slow", {})), "fine"]),
            tools=[Tool(ToolDefinition("slow", "", {"type": "object"}), slow, seconds=1)],
        )
        began = asyncio.Event()

        async def ask() -> None:
            async for event in agent.stream("one"):
                if isinstance(event, ToolStarted):
                    began.set()

        asking = asyncio.create_task(ask())
        await began.wait()
        await asyncio.sleep(0)
        for _ in range(2):
            asking.cancel()
            await asyncio.sleep(0.01)
        await asyncio.gather(asking, return_exceptions=True)
        return agent.session

    assert not asyncio.run(stopped()).open_calls


def test_another_program_s_words_do_not_cost_the_question(tmp_path: Path) -> None:
    """Where somebody else has written to the session, the question comes after that."""
    one = Session.new(tmp_path, root=tmp_path / "home")
    agent = Agent(one, ScriptedModel(["first", "second"]))
    asyncio.run(agent.query("one"))
    with Session.resume(one.id, tmp_path, root=tmp_path / "home") as other:
        other.user("meanwhile")
    assert asyncio.run(agent.query("two")).text == "second"
    assert texts(one, Kind.USER) == ["one", "meanwhile", "two"]
    assert agent.question
    one.close()


@pytest.mark.parametrize("native", [True, False])
def test_another_program_s_words_do_not_cost_what_was_paid_for(
    tmp_path: Path, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a reply, what a tool has done, or a word about the form: they are in the log behind those words."""
    one, root = Session.new(tmp_path, root=tmp_path / "home"), tmp_path / "home"
    tell, told = one.note, list[str]()

    def meanwhile() -> None:
        with Session.resume(one.id, tmp_path, root=root) as other:
            other.user("meanwhile")

    class Interrupted(ScriptedModel):
        async def stream(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
            meanwhile()
            async for piece in super().stream(request):
                yield piece

    def send() -> str:
        """Send the mail."""
        meanwhile()
        return "the mail was sent"

    def telling(text: str) -> str:
        told.append(text)
        if len(told) == 1:
            meanwhile()
        return tell(text)

    monkeypatch.setattr(one, "note", telling)
    lines = [calling(("send", {})), "Just words.", "It is sent."]
    agent = Agent(one, Interrupted(lines[::2] if native else lines, native=native), tools=[send])
    answer = asyncio.run(agent.query("Send it"))
    assert (answer.success, answer.text) == (True, "It is sent.")
    assert texts(one, Kind.RESULT) == ["the mail was sent"]
    assert texts(one, Kind.USER).count("meanwhile") == (3 if native else 5)
    one.close()


def test_a_question_that_could_not_be_written_is_known_not_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """`question` is empty then, so that whoever asked can offer it again."""
    made = session()
    agent = Agent(made, ScriptedModel(["a"]))
    asyncio.run(agent.query("one"))

    def taken(_: Any) -> str:
        raise Conflict("", "a", "b")

    monkeypatch.setattr(made, "user", taken)
    with pytest.raises(Conflict):
        asyncio.run(agent.query("two"))
    assert not agent.question


class Summarizing(ScriptedModel):
    """Takes its time over a summary."""

    def __init__(self, lines: list[Any]) -> None:
        super().__init__(lines, price=Price(input=10))
        self.began, self.slow, self.left = asyncio.Event(), False, False

    async def stream(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
        """The next line, late where it is slow."""
        if self.slow:
            self.began.set()
            try:
                await asyncio.sleep(3600)
            finally:
                self.left = True
        async for piece in super().stream(request):
            yield piece


def test_a_cancelled_compaction_does_not_happen() -> None:
    """The model is stopped, nothing is written; and one that is made counts in what was spent."""

    async def cancelled() -> None:
        model = Summarizing(["a " * 300] * 10 + ["They spoke of ten things. " * 20])
        agent = Agent(session(), model)
        for number in range(10):
            await agent.query(f"question {number} " + "word " * 200)
        before, spent = len(agent.session.items), agent.spent
        model.slow = True
        compacting = asyncio.create_task(agent.compact())
        await model.began.wait()
        compacting.cancel()
        await asyncio.gather(compacting, return_exceptions=True)
        assert model.left
        assert (len(agent.session.items), agent.spent) == (before, spent)
        model.slow = False
        assert (await agent.compact()).success
        assert agent.spent.calls == spent.calls + 1
        assert agent.spent.cost > spent.cost  # type: ignore[operator]

    asyncio.run(cancelled())


def test_a_summary_of_what_has_changed_since_is_not_used() -> None:
    """Words that came while the model wrote are not covered by it: the compaction says that it failed."""

    class Overtaken(ScriptedModel):
        async def stream(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
            if overtake:
                made.extend([{"role": "user", "content": "meanwhile " * 100}, {"role": "assistant", "content": "ok"}])
            async for piece in super().stream(request):
                yield piece

    for overtake in (False, True):
        made = session(locale="zh")
        for number in range(12):
            made.extend([{"role": "user", "content": f"Fact {number}: " + "detail " * 80}])
            made.extend([{"role": "assistant", "content": "ok " * 60}])
        line = "They spoke of twelve facts, each of them in some detail, and agreed on all. " * 5
        report = asyncio.run(Agent(made, Overtaken([line], window=8_000, output=500)).compact())
        assert report.success is not overtake
        assert report.error == ("总结期间对话仍在继续" if overtake else "")
        told = " ".join(texts(made, Kind.SUMMARY))
        assert ("They spoke of twelve facts" in told) is not overtake


@pytest.mark.parametrize(("locale", "said"), [("en", "cheap, which is not used: scripted"), ("zh", "cheap 未被使用")])
def test_a_light_model_that_is_only_named_is_warned_of(locale: str, said: str) -> None:
    """Once, with what to give. Whoever gives one hears nothing, nor does a strategy that names none."""
    config = {"compression_model": "cheap"}
    agent = Agent(session(strategy="summary", config=config, locale=locale), ScriptedModel(["a", "b"]))
    asyncio.run(agent.query("Hello"))
    asyncio.run(agent.query("Hello"))
    [warning] = agent.warnings
    assert said in warning
    assert "light=" in warning
    light = ScriptedModel([])
    assert not Agent(session(strategy="summary", config=config), ScriptedModel([]), light=light).warnings
    assert not Agent(session(strategy="summary"), ScriptedModel([])).warnings


def test_a_closed_agent_asks_for_no_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread may only then come to ask: a connection that was opened for it would stay open."""
    made, begun = session(), list[Any]()
    model = Ending(["A summary."])
    monkeypatch.setattr(type(made.summaries), "in_background", lambda _, ask: begun.append(ask) or True)

    async def close_first() -> None:
        agent = Agent(made, model)
        assert agent.compact_in_background()
        await agent.close()
        payload = await asyncio.to_thread(made.compose, Budget(8_000))
        with pytest.raises(asyncio.CancelledError):
            await asyncio.to_thread(begun[0], payload)

    asyncio.run(close_first())
    assert model.asked == []
