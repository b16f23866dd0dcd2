"""The query service: context, model and tools in turn, whatever goes wrong."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

import pytest

from sightline.agent.agent import Agent
from sightline.agent.events import Answer, Event, PayloadComposed, ReplyReceived, TextDelta, ToolFinished, ToolStarted
from sightline.agent.models import Price, Reply, Request
from sightline.agent.toolbox import unique_call_ids
from sightline.agent.tools import Tool
from sightline.errors import BadInput, ContextOverflow, ModelBusy, ToolFailed
from sightline.plan.plan import Plan
from sightline.plan.strategies.focus import Focus
from sightline.plan.view import View
from sightline.session.session import Session
from sightline.testing import MemoryStore, ScriptedModel, Ticking, calling, reply_of
from sightline.values.items import Kind, ToolDefinition, plain_text


def tool(name: str, run: Callable[[Mapping[str, Any]], Awaitable[Any]], **more: Any) -> Tool:
    """A tool that takes anything."""
    return Tool(ToolDefinition(name, f"do {name}", {"type": "object", "properties": {}}), run, **more)


async def echo(arguments: Mapping[str, Any]) -> str:
    """What it was given."""
    return f"got {arguments.get('n')}"


def session(**settings: Any) -> Session:
    """One in memory."""
    made = Session(MemoryStore("s"), clock=Ticking())
    made.configure(**settings)
    return made


async def events_of(stream: AsyncGenerator[Event, None]) -> list[Event]:
    """All of them."""
    return [event async for event in stream]


def answered(agent: Agent, text: str) -> Answer:
    """The answer to one question."""
    return asyncio.run(agent.query(text))


@pytest.mark.accepts(293, 296, 298)
def test_the_model_and_its_tools_take_turns_until_there_is_an_answer() -> None:
    """Calls run side by side, their results are in the log with their calls, and the answer is the last text."""
    both = asyncio.Barrier(2)

    async def meets(arguments: Mapping[str, Any]) -> str:
        await both.wait()  # for the other one
        return await echo(arguments)

    model = ScriptedModel([calling(("meets", {"n": 1}), ("meets", {"n": 2})), "Both done."])
    agent = Agent(session(), model, tools=[tool("meets", meets, seconds=60)])
    events = asyncio.run(events_of(agent.stream("Do it")))
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert answer.success
    assert (answer.text, answer.rounds) == ("Both done.", 2)
    assert sorted(event.text for event in events if isinstance(event, ToolFinished)) == ["got 1", "got 2"]
    assert [type(event) for event in events[:2]] == [PayloadComposed, ReplyReceived]
    kinds = [item.kind for item in agent.session.items]
    assert kinds.count(Kind.CALL) == kinds.count(Kind.RESULT) == 2
    roles = [message["role"] for message in model.asked[1]["messages"]]
    assert roles == ["user", "assistant", "tool", "tool"]
    assert agent.spent.usage.input_tokens == 200


@pytest.mark.accepts(249)
def test_what_the_model_sees_is_the_strategys_choice() -> None:
    """A stub is asked before each model call, and only what its plan shows is sent; the loop runs the same."""
    views: list[View] = []

    class NewestOnly:
        name = "newest only"

        def plan(self, view: View) -> Plan:
            views.append(view)
            question_and_newest = sorted({view.asked, len(view.timeline.unit_row) - 1})
            return Plan.swept(view, question_and_newest, {}, {}, reason="sweep: newest only")

    for strategy, lengths in ((NewestOnly(), [1, 3]), (Focus(), [3, 5])):
        made = Session(MemoryStore("s"), strategy=strategy, clock=Ticking())
        made.extend([{"role": "user", "content": "earlier"}, {"role": "assistant", "content": "noted"}])
        model = ScriptedModel([calling(("echo", {"n": 1})), "Done."])
        assert answered(Agent(made, model, tools=[tool("echo", echo)]), "Go").text == "Done."
        assert [len(asked["messages"]) for asked in model.asked] == lengths
    assert len(views) == 2


def test_text_is_told_as_it_comes() -> None:
    """The pieces of an answer come before the answer and are it, put together."""
    events = asyncio.run(events_of(Agent(session(), ScriptedModel(["one two three"])).stream("Count")))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)).strip() == "one two three"


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        (ToolFailed("no such file: sales.csv"), "no such file: sales.csv"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (SystemExit(2), "SystemExit: 2"),
        (asyncio.CancelledError(), "fails was cancelled from within"),
    ],
)
def test_a_tool_that_fails_is_a_result(failing: BaseException, said: str) -> None:
    """Whatever a tool raises, the model is told and the turn goes on."""

    async def fails(_: Mapping[str, Any]) -> str:
        raise failing

    model = ScriptedModel([calling(("fails", {})), "It failed."])
    agent = Agent(session(), model, tools=[tool("fails", fails)])
    assert answered(agent, "Try").success
    assert said in json.dumps(model.asked[1])


def test_a_tool_that_hangs_is_stopped() -> None:
    """A tool beyond its time is given up on; those beside it are not."""

    async def hangs(_: Mapping[str, Any]) -> str:
        await asyncio.sleep(3600)
        return ""

    model = ScriptedModel([calling(("hangs", {}), ("echo", {"n": 3})), "One of two."])
    agent = Agent(session(), model, tools=[tool("hangs", hangs, seconds=0.01), tool("echo", echo)])
    assert answered(agent, "Try").success
    assert "took longer than 0.01 seconds" in json.dumps(model.asked[1])
    assert "got 3" in json.dumps(model.asked[1])


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (calling(("ecko", {})), "did you mean echo?"),
        (
            reply_of("", tool_calls=[{"id": "c", "type": "function", "function": {"name": "echo", "arguments": "[1"}}]),
            "one JSON object",
        ),
        (calling(("strict", {})), "lacks path"),
        (calling(*[("echo", {"n": n}) for n in range(8)]), "at most 6 calls"),
    ],
)
def test_a_call_that_cannot_be_run_is_answered(reply: dict[str, Any], said: str) -> None:
    """The model is told what is wrong with its call; every call has a result."""
    model = ScriptedModel([reply, "I see."])
    strict = Tool(ToolDefinition("strict", "", {"type": "object", "required": ["path"]}), echo)
    agent = Agent(session(), model, tools=[tool("echo", echo), strict])
    assert answered(agent, "Try").success
    assert said in json.dumps(model.asked[1])
    assert not agent.session.open_calls


def test_calls_of_one_id_are_told_apart() -> None:
    """Some servers give every call the same id: each has its own result all the same, whichever comes first."""
    reply = calling(("echo", {"n": 1}), ("echo", {"n": 2}), ("recall", {"query": "x"}))
    called = reply["choices"][0]["message"]["tool_calls"]
    for call in called:
        call["id"] = "same"
    del called[1]["type"]
    model = ScriptedModel([reply, "Done."])
    agent = Agent(session(), model, tools=[tool("echo", echo)])
    assert answered(agent, "Try").success
    *_, spoken, one, two, recalled = model.asked[1]["messages"]
    assert [call["id"] for call in spoken["tool_calls"]] == ["same", "same_2", "same_3"]
    assert [message["tool_call_id"] for message in (one, two, recalled)] == ["same", "same_2", "same_3"]
    assert (one["content"], two["content"]) == ("got 1", "got 2")


@pytest.mark.parametrize(
    ("ids", "own"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a_2", "a"], ["a", "a_2", "a_2_2", "a_3"]),
        (["", "", None], ["", "_2", None]),
    ],
)
def test_ids_are_made_distinct_in_both_formats(ids: list[Any], own: list[Any]) -> None:
    """The first keeps its id, and what is no id stays; nothing else of a reply changes."""
    text = {"type": "text", "text": "x"}

    def replies(names: list[Any]) -> list[dict[str, Any]]:
        message = {"role": "assistant", "tool_calls": [{"id": name, "function": {}} for name in names]}
        blocks = [text, *({"type": "tool_use", "id": name, "name": "f", "input": {}} for name in names)]
        choices = [{"index": 0, "message": message}, {"index": 1}]
        return [{"model": "m", "choices": choices}, {"role": "assistant", "content": blocks, "id": "msg"}]

    assert [unique_call_ids(raw) for raw in replies(ids)] == replies(own)
    assert unique_call_ids(reply_of("x")) == reply_of("x")


def test_who_calls_what_is_not_there_is_told_what_is() -> None:
    """Every tool that it was given, also those of the session, and each by one name."""
    model = ScriptedModel([calling(("nothing", {})), "I see."])
    assert answered(Agent(session(), model, tools=[tool("echo", echo, aliases=("reverb",))]), "Try").success
    assert "there is no tool 'nothing'. There are: echo, expand, recall" in json.dumps(model.asked[1])
    assert "reverb" not in json.dumps(model.asked[1])


def test_an_alias_is_the_same_tool() -> None:
    """A model that uses the other name of a tool is served."""
    model = ScriptedModel([calling(("reverb", {"n": 5})), "Yes."])
    assert answered(Agent(session(), model, tools=[tool("echo", echo, aliases=("reverb",))]), "Try").success
    assert "got 5" in json.dumps(model.asked[1])


def test_rounds_have_an_end() -> None:
    """A model that never stops calling is stopped, its open calls are given up on, and it may go on when told."""
    model = ScriptedModel([*[calling(("echo", {"n": n})) for n in range(3)], "At last."])
    agent = Agent(session(), model, tools=[tool("echo", echo)], rounds=3)
    answer = answered(agent, "Loop")
    assert not answer.success
    assert "3 times" in answer.error
    assert not agent.session.open_calls
    assert isinstance(last := asyncio.run(events_of(agent.proceed()))[-1], Answer)
    assert last.text == "At last."


def test_a_failed_call_leaves_the_question_and_nothing_else() -> None:
    """When the model cannot be asked, the log holds what the user said, and asking again goes on from there."""
    model = ScriptedModel([ModelBusy("too many requests"), "Now."])
    agent = Agent(session(), model)
    answer = answered(agent, "Hello")
    assert (answer.success, answer.error) == (False, "too many requests")
    assert [item.kind for item in agent.session.items] == [Kind.USER]
    assert isinstance(last := asyncio.run(events_of(agent.proceed()))[-1], Answer)
    assert last.success
    assert [item.kind for item in agent.session.items] == [Kind.USER, Kind.ASSISTANT]


def test_a_payload_that_was_too_long_is_composed_again_smaller() -> None:
    """The provider's refusal raises the count and the second payload is the one that is answered."""
    model = ScriptedModel([ContextOverflow("too long", 12_000), "Fine."], window=20_000, output=1_000)
    made = session()
    made.extend([{"role": "user", "content": "word " * 6000}, {"role": "assistant", "content": "Noted."}])
    agent = Agent(made, model)
    assert answered(agent, "Go on").success
    assert made.receipt is not None
    assert made.receipt.reason == "sweep: overflow"


def read_long(path: str) -> str:
    """Read a file."""
    return "line of text with some words\n" * 40


@pytest.mark.parametrize("protocol", ["native", "json"])
def test_what_cannot_be_smaller_is_told_in_the_models_words_and_forgotten(protocol: Any) -> None:
    """A payload that may not shrink is sent once more; then the refusal is the error. The next question is as usual."""
    called = calling(("read_long", {"path": "a"}))
    if protocol == "json":
        called = reply_of(structured([{"tool_name": "read_long", "arguments": {"path": "a"}}], "tool_call"))
    too_long = ContextOverflow("too long, says the model", 40_000)
    lines = [called, too_long, too_long, structured("Fine.")]
    agent = Agent(session(), ScriptedModel(lines, window=4_096, output=500), tools=[read_long], protocol=protocol)
    answer = answered(agent, "What is in the file a?")
    assert (answer.success, answer.error) == (False, "too long, says the model")
    assert not agent.session.open_calls
    assert answered(agent, "And now?").success


def test_a_refusal_as_too_long_costs_no_round() -> None:
    """Each payload may be refused once: it is composed again, and the rounds that are counted are answers."""
    made, too_long = session(), ContextOverflow("too long", 21_000)
    said = [{"role": "user", "content": "word " * 300}, {"role": "assistant", "content": "Noted."}]
    made.extend(said * 10)
    lines = [too_long, calling(("echo", {"n": 1})), too_long, "Fine.", too_long, too_long]
    agent = Agent(made, ScriptedModel(lines, window=20_000, output=1_000), tools=[tool("echo", echo)], rounds=2)
    answer = answered(agent, "Go")
    assert (answer.success, answer.text, answer.rounds) == (True, "Fine.", 2)
    answer = answered(agent, "And on")
    assert (answer.success, answer.error, answer.rounds) == (False, "too long", 0)


STOPPED = "[the answer above was stopped before its end]"


class Slow(ScriptedModel):
    """Says one word and then nothing for long."""

    async def stream(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
        """One word."""
        yield TextDelta("Well")
        await asyncio.sleep(3600)


def test_stopping_an_answer_keeps_what_it_said() -> None:
    """The text is in the log, marked as stopped, and the model sees both when the turn goes on."""

    async def stopped() -> Session:
        agent = Agent(session(), Slow([]))
        stream = agent.stream("Tell me everything")
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        await stream.aclose()
        assert agent.session.items.text(agent.stopped) == "Well"
        agent.model = model = ScriptedModel(["In short: no."])
        assert isinstance(last := (await events_of(agent.proceed()))[-1], Answer)
        assert last.success
        assert not agent.stopped
        sent = [message["content"] for message in model.asked[0]["messages"]]
        assert sent == ["Tell me everything", "Well", STOPPED]
        return agent.session

    texts = [plain_text(item.parts) for item in asyncio.run(stopped()).items]
    assert texts == ["Tell me everything", "Well", STOPPED, "In short: no."]


def test_stopping_while_tools_run_gives_up_on_their_calls() -> None:
    """Calls without a result get one that says so: the next question can be asked."""

    async def hangs(_: Mapping[str, Any]) -> str:
        await asyncio.sleep(3600)
        return ""

    async def stopped() -> Agent:
        agent = Agent(session(), ScriptedModel([calling(("hangs", {})), "Next."]), tools=[tool("hangs", hangs)])
        stream = agent.stream("Go")
        async for event in stream:
            if isinstance(event, ToolStarted):
                break
        await stream.aclose()
        assert not agent.session.open_calls
        assert (await agent.query("And now?")).text == "Next."
        return agent

    results = [item for item in asyncio.run(stopped()).session.items if item.kind is Kind.RESULT]
    assert "interrupted" in plain_text(results[0].parts)


def test_one_question_at_a_time() -> None:
    """A second question while one is answered is refused with what to do."""

    async def twice() -> None:
        agent = Agent(session(), Slow([]))
        stream = agent.stream("First")
        await anext(stream)
        with pytest.raises(BadInput, match="answering a question"):
            await agent.query("Second")
        await stream.aclose()

    asyncio.run(twice())


def structured(content: Any, kind: str = "complete", **action: Any) -> str:
    """A response in the document's form."""
    return json.dumps(
        {
            "task_analysis": "What the user wants to know.",
            "execution_plan": "R1: look; R2: report",
            "current_round": 1,
            "action": {"type": kind, "content": content} | action,
        },
        ensure_ascii=False,
    )


def test_of_a_response_in_json_the_report_is_told() -> None:
    """Once, and nothing of its form; natively JSON is told as it comes."""
    text = structured("All is well.")
    for native, said in ((False, "All is well."), (True, text)):
        events = asyncio.run(events_of(Agent(session(), ScriptedModel([text], native=native)).stream("And?")))
        assert "".join(event.text for event in events if isinstance(event, TextDelta)).strip() == said


@pytest.mark.accepts(344)
def test_a_response_in_no_form_is_asked_for_once_more() -> None:
    """The model is told what is wrong, once; what it says then is the answer, JSON or not."""
    model = ScriptedModel(["Just words.", "Still words."], native=False)
    agent = Agent(session(locale="zh"), model)
    answer = answered(agent, "你好")
    assert (answer.success, answer.text) == (True, "Still words.")
    assert "不符合要求的 JSON 格式" in json.dumps(model.asked[1], ensure_ascii=False)
    assert len(model.asked) == 2


def test_each_response_in_no_form_is_told_of() -> None:
    """Once per response: after a good one, be its calls JSON or native, the next bad one is told of again."""
    good = structured([{"tool_name": "echo", "arguments": {}}], "tool_call")
    for between in (good, calling(("echo", {}))):
        model = ScriptedModel(["Just words.", between, "Words again.", structured("Done.")], native=False)
        assert answered(Agent(session(), model, tools=[tool("echo", echo)]), "Go").text == "Done."
        assert [json.dumps(asked).count("not in the form asked for") for asked in model.asked] == [0, 1, 1, 2]


def test_a_last_response_in_no_form_is_said_to_be_that() -> None:
    """Where the rounds end with it, the error does not speak of tools."""
    agent = Agent(session(), ScriptedModel(["Just words."], native=False), rounds=1)
    assert answered(agent, "Go").error == (
        "the model's last response is not in the form asked for; let it go on, or ask anew"
    )


def test_a_model_without_any_tools_answers_in_plain_words() -> None:
    """Neither a form nor a tool is said to it: what it says is the answer."""
    model = ScriptedModel(["Hello."], native=False)
    assert answered(Agent(session(), model, tools=None), "Hi").text == "Hello."
    assert [message["role"] for message in model.asked[0]["messages"]] == ["user"]
    assert "tools" not in model.asked[0]


def test_what_a_fallback_counted_does_not_change_the_budget() -> None:
    """Another model's tokens say nothing about the usual one's."""

    class Other(ScriptedModel):
        async def stream(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
            raw = reply_of("Instead.") | {"usage": {"prompt_tokens": 90_000, "completion_tokens": 1}}
            yield Reply("another", raw)

    made = session()
    made.extend([{"role": "user", "content": "word " * 3000}, {"role": "assistant", "content": "Noted."}])
    agent = Agent(made, Other([]))
    answered(agent, "Go on")
    assert made.receipt is not None
    before = made.receipt.limit
    answered(agent, "And on")
    assert made.receipt.limit == before


def test_cost_is_counted_from_reported_usage() -> None:
    """Tokens times price, of the turn and of the run."""
    agent = Agent(session(), ScriptedModel(["a", "b"], price=Price(input=10, output=100)))
    assert answered(agent, "x").cost == pytest.approx(0.002)
    answered(agent, "y")
    assert agent.spent.cost == pytest.approx(0.004)


def test_a_capable_model_summarises_and_another_does_not() -> None:
    """`compact` uses the model's words where they can be trusted, else a digest; the turn goes on after both."""

    async def compacted(capable: bool) -> tuple[bool, int]:
        made = session()
        for n in range(12):
            made.extend(
                [
                    {"role": "user", "content": f"Fact {n}: " + "detail " * 80},
                    {"role": "assistant", "content": "ok " * 60},
                ]
            )
        model = ScriptedModel(
            ["<summary>They spoke of twelve facts.</summary>", "Yes."], capable=capable, window=8_000, output=500
        )
        agent = Agent(made, model)
        report = await agent.compact()
        return report.success, len(model.asked)

    assert asyncio.run(compacted(True)) == (True, 1)
    assert asyncio.run(compacted(False)) == (True, 0)
