"""The OpenAI Agents SDK with Sightline: the session loses no item, and the model gets what fits at every call."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, ModelSettings, RunConfig, Runner, Session, function_tool
from agents.memory import SessionSettings
from agents.models.chatcmpl_converter import Converter
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.usage import Usage as AgentsUsage
from environment import run_program

from sightline.adapters.openai_agents import SightlineSession, recall_tools, run_options
from sightline.errors import BadInput
from sightline.log.stores.memory import MemoryStores
from sightline.plan.view import Budget
from sightline.values.items import Kind, plain_text
from sightline.values.tokens import counter

BUDGET = Budget(window=12_000, output=1_000)
SYSTEM = "You look after the servers of a small company. " * 40
TURNS = 60
Json = dict[str, Any]


@function_tool
def shell(command: str) -> str:
    """Run a command."""
    return f"$ {command}\n" + "\n".join(f"{command} line {number}: all is well here" for number in range(60))


def config(**more: Any) -> RunConfig:
    return RunConfig(tracing_disabled=True, **more)


def calls(number: int) -> list[Any]:
    """A reply that calls two tools at once."""
    return [
        function_call("shell", {"command": f"df {number}"}, call_id=f"a{number}"),
        function_call("shell", {"command": "top"}, call_id=f"b{number}"),
    ]


def turns(count: int = TURNS, start: int = 0) -> list[Any]:
    return [*map(calls, range(start, start + count)), [assistant_message("All is well.")]]


def agent(script: list[Any], **options: Any) -> tuple[Agent[Any], ScriptedModel]:
    model = ScriptedModel([_step(each) for each in script])
    settings = {"name": "keeper", "instructions": SYSTEM, "tools": [shell, *recall_tools], "model": model, **options}
    return Agent(**settings), model


def _step(output: Any) -> Any:
    return output if isinstance(output, dict) else {"output": output}


def check(items: list[Json]) -> None:
    """Fail as the provider does: a call is answered, and a result has a call before it."""
    assert items
    waiting: list[str] = []
    for item in items:
        if item.get("type") == "function_call":
            waiting.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            assert item["call_id"] in waiting, f"a result without a call: {item['call_id']}"
            waiting.remove(item["call_id"])
        else:
            assert not waiting, f"calls without a result: {waiting}"
            assert item.get("content"), "an empty message"
    assert not waiting
    Converter.items_to_messages(items)  # the SDK's other model classes take them too


def count(call: Any) -> int:
    """The tokens of a request: instructions, texts, calls and definitions of the tools."""
    texts = [call.system_instructions or ""]
    for item in call.input:
        content = item.get("output") or item.get("content") or item.get("arguments") or ""
        texts += [content] if isinstance(content, str) else [block.get("text", "") for block in content]
    texts += [json.dumps([tool.name, tool.description, tool.params_json_schema]) for tool in call.tools]
    return sum(map(counter("o200k_base").count, texts))


def texts(session: SightlineSession) -> list[str]:
    return [text for item in session.session.items if (text := plain_text(item.parts)) and text != SYSTEM]


def run(made: Agent[Any], text: str, options: Json, *, streamed: bool = False) -> str:
    async def go() -> str:
        if not streamed:
            return str((await Runner.run(made, text, max_turns=None, **options)).final_output)
        result = Runner.run_streamed(made, text, max_turns=None, **options)
        async for _ in result.stream_events():
            pass
        return str(result.final_output)

    return asyncio.run(go())


# ---------------------------------------------------------------------- runs


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_a_long_run_never_exceeds_the_budget_and_loses_nothing(streamed: bool) -> None:
    """Sixty rounds of two calls in one run: each request is valid and fits; session and log have every item."""
    made, model = agent(turns())
    options = run_options("T", BUDGET, sessions=MemoryStores(), run_config=config())
    assert run(made, "Look at the disks.", options, streamed=streamed) == "All is well."
    assert len(model.calls) == TURNS + 1
    for call in model.calls:
        check(call.input)
        assert call.system_instructions == SYSTEM
    assert max(map(count, model.calls)) <= BUDGET.window - BUDGET.output
    items = asyncio.run(options["session"].get_items())
    assert len(items) == 2 + 4 * TURNS
    outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
    assert sum(map(counter("o200k_base").count, outputs)) > 3 * BUDGET.window
    assert texts(options["session"]) == ["Look at the disks.", *outputs, "All is well."]
    log = options["session"].session
    assert sum(item.kind is Kind.CALL for item in log.items) == 2 * TURNS
    assert log.branches == [""]


def test_nothing_is_shortened_while_it_fits() -> None:
    """The model gets the very request that it would get without us: input, instructions and tools."""
    plain, model = agent(turns(3), tools=[shell])
    run(plain, "Look at the disks.", {"run_config": config()})
    made, ours = agent(turns(3))
    run(made, "Look at the disks.", run_options("T", Budget(100_000), sessions=MemoryStores(), run_config=config()))
    for call, without_us in zip(ours.calls, model.calls, strict=True):
        assert (call.input, call.system_instructions) == (without_us.input, without_us.system_instructions)
        assert [tool.name for tool in call.tools] == [tool.name for tool in without_us.tools] == ["shell"]


@pytest.mark.slow
def test_our_tools_join_after_the_first_call_that_shows_less_and_stay() -> None:
    """The SDK asks for tools before it composes: so they come with the call after that one. Also in the next run."""
    made, model = agent([*turns(20), *turns(1, 20)])
    stores = MemoryStores()
    for text in ("Look at the disks.", "And now?"):
        run(made, text, run_options("T", BUDGET, sessions=stores, run_config=config()))
    offers = [any(tool.name == "expand" for tool in call.tools) for call in model.calls]
    shows_less = [
        json.dumps(call.input).count("line 59: all is well here") < 2 * at for at, call in enumerate(model.calls[:20])
    ]
    assert offers[:21] == [False, *shows_less]
    assert all(offers[20:])
    assert any(shows_less)
    assert max(map(count, model.calls)) <= BUDGET.window - BUDGET.output


def test_a_name_that_the_model_invented_is_sent_as_providers_accept_it() -> None:
    """The session of the SDK keeps the name as the model said it."""
    names = ["functions.look up", "a/b", "x" * 80]
    invented = [[function_call(name, {}, call_id=f"c{number}")] for number, name in enumerate(names)]
    made, model = agent([*invented, [assistant_message("Done.")]])
    own = config(tool_not_found_behavior="return_error_to_model")
    options = run_options("s", BUDGET, sessions=MemoryStores(), run_config=own)
    run(made, "Look at the disks.", options)
    sent = [item["name"] for item in model.calls[-1].input if item.get("type") == "function_call"]
    assert sent == ["functions_look_up", "a_b", "x" * 64]
    kept = asyncio.run(options["session"].get_items())
    assert [item["name"] for item in kept if item.get("type") == "function_call"] == names


@pytest.mark.slow
def test_turns_of_a_conversation_go_on() -> None:
    """Each run knows what was said before, under one id, and another id knows nothing of it."""
    stores = MemoryStores()
    made, model = agent([*turns(20), *turns(20, 20), [assistant_message("Who?")]])
    for _ in range(2):
        run(made, "Look.", run_options("T", BUDGET, sessions=stores, run_config=config()))
    run(made, "Hello.", run_options("other", BUDGET, sessions=stores, run_config=config()))
    assert len(model.calls) == 43
    for call in model.calls:
        check(call.input)
    assert max(map(count, model.calls)) <= BUDGET.window - BUDGET.output
    assert len(model.calls[-1].input) == 1
    session = SightlineSession("T", sessions=stores)
    assert len(asyncio.run(session.get_items())) == 2 * (2 + 4 * 20)
    assert session.session.branches == [""]
    assert texts(session).count("Look.") == 2


@pytest.mark.slow
def test_a_filter_without_its_session_counts_our_tools() -> None:
    """Then the SDK does not say whose run it is, so they are always there."""
    made, model = agent(turns(20))
    own = SightlineSession("T", BUDGET, sessions=MemoryStores())
    run(made, "Look at the disks.", {"run_config": config(call_model_input_filter=own.input_filter)})
    assert all(any(tool.name == "expand" for tool in call.tools) for call in model.calls)
    assert max(map(count, model.calls)) <= BUDGET.window - BUDGET.output


@pytest.mark.slow
def test_the_model_sees_again_what_was_shortened() -> None:
    """`expand` and `recall` are tools of the agent; they answer from the session of the run."""

    def expand(call: Any) -> Any:
        handle = re.search(r"#\d+", json.dumps(call.input))
        assert handle
        return [
            function_call("expand", {"id": handle[0]}, call_id="e"),
            function_call("recall", {"query": "df 0 line 33"}, call_id="r"),
        ]

    made, model = agent([*turns(30)[:-1], {"responder": expand}, [assistant_message("Seen.")]])
    options = run_options("T", BUDGET, sessions=MemoryStores(), run_config=config())
    assert run(made, "Look.", options) == "Seen."
    expanded, recalled = (item["output"] for item in model.calls[-1].input[-2:])
    assert re.match(r"\[#\d+ lines 1–", expanded)
    assert "df 0 line 33: all is well here" in recalled
    assert count(model.calls[-1]) <= BUDGET.window - BUDGET.output


@pytest.mark.slow
def test_without_the_tools_nothing_speaks_of_them() -> None:
    """An agent that has no `expand` is not told to use it."""
    made, model = agent(turns(30), tools=[shell])
    run(made, "Look.", run_options("T", BUDGET, sessions=MemoryStores(), run_config=config()))
    assert "expand" not in json.dumps(model.calls[-1].input)
    assert count(model.calls[-1]) <= BUDGET.window - BUDGET.output


@pytest.mark.slow
def test_a_handoff_goes_on_with_other_instructions_and_tools() -> None:
    """The other agent gets what fits beside its own instructions; the log has one branch."""
    longer = "You are the one who answers. " * 300
    second, _ = agent([], name="second", instructions=longer)
    first, model = agent(
        [*turns(20)[:-1], [function_call("transfer_to_second", {}, call_id="h")], *turns(20, 50)],
        handoffs=[second],
    )
    second.model = model
    options = run_options("T", BUDGET, sessions=MemoryStores(), run_config=config())
    assert run(first, "Look.", options) == "All is well."
    assert [call.system_instructions for call in model.calls[20:22]] == [SYSTEM, longer]
    for call in model.calls:
        check(call.input)
    assert max(map(count, model.calls)) <= BUDGET.window - BUDGET.output
    assert options["session"].session.branches == [""]
    defined = {tool.name for tool in options["session"].session.compose(BUDGET).tools}
    assert defined == {"shell", "expand", "recall", "look"}


def test_a_filter_of_the_program_runs_before_ours() -> None:
    """What it adds is counted and logged, and what it takes out stays out."""

    def add(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData([*data.model_data.input, {"role": "user", "content": "Be quick."}], "Other words.")

    made, model = agent([[assistant_message("Yes.")]])
    options = run_options("T", BUDGET, sessions=MemoryStores(), run_config=config(call_model_input_filter=add))
    run(made, "Hello.", options)
    assert [item["content"] for item in model.calls[0].input] == ["Hello.", "Be quick."]
    assert model.calls[0].system_instructions == "Other words."


@pytest.mark.slow
def test_the_usage_that_the_model_reports_corrects_the_count() -> None:
    """A model that counts half as much again gets less from then on."""
    sizes = {}
    for name, factor in (("plain", 1.0), ("larger", 1.5)):
        made, model = agent([])

        def reply(call: Any, number: int, factor: float = factor) -> Any:
            size = int(count(call) * factor)
            usage = AgentsUsage(requests=1, input_tokens=size, output_tokens=10, total_tokens=size + 10)
            return {"output": calls(number), "usage": usage}

        for number in range(40):
            model.enqueue({"responder": lambda call, number=number, reply=reply: reply(call, number)})
        model.enqueue({"output": [assistant_message("Done.")]})
        run(made, "Look.", run_options("T", BUDGET, sessions=MemoryStores(), run_config=config()))
        sizes[name] = max(map(count, model.calls[20:]))
    assert sizes["larger"] * 1.5 <= BUDGET.window
    assert sizes["larger"] < sizes["plain"]


def test_a_budget_is_that_of_the_agents_model() -> None:
    """If its name is known; otherwise the error says what to pass."""
    made, model = agent([[assistant_message("Hi.")]], model_settings=ModelSettings(max_tokens=2_000))
    with pytest.raises(BadInput, match=r"Budget\(window=…"):
        run(made, "Hello.", run_options("T", sessions=MemoryStores(), run_config=config()))
    model.model = "gpt-5"
    options = run_options("U", sessions=MemoryStores(), run_config=config())
    run(made, "Hello.", options)
    assert _limit(options) > 100_000
    named = ScriptedModel([{"output": [assistant_message("Hi.")]}])
    named.model = "gpt-4.1"  # type: ignore[attr-defined]
    options = run_options("V", sessions=MemoryStores(), run_config=config(model=named))
    run(made, "Hello.", options)
    assert _limit(options) > 700_000


def _limit(options: Json) -> int:
    receipt = options["session"].session.receipt
    assert receipt is not None
    return int(receipt.limit)


@pytest.mark.slow
def test_an_agent_that_is_a_tool_does_not_disturb_the_conversation() -> None:
    """Its own input is composed too, on branches; the session has the outer conversation, whole."""
    inner, _ = agent([], name="inner")
    tool = inner.as_tool("inner", "Ask the other one.", max_turns=50)
    asks = [function_call("inner", {"input": "Look."}, call_id=f"i{number}") for number in range(2)]
    outer, model = agent([[asks[0]], *turns(20), [asks[1]], *turns(20, 20), [assistant_message("Ok.")]], tools=[tool])
    inner.model = model
    options = run_options("T", BUDGET, sessions=MemoryStores(), run_config=config())
    assert run(outer, "Go.", options) == "Ok."
    for call in model.calls:
        check(call.input)
    items = asyncio.run(options["session"].get_items())
    assert [item.get("type", "message") for item in items] == [
        "message", *["function_call", "function_call_output"] * 2, "message",
    ]  # fmt: skip
    assert texts(options["session"]) == ["Go.", "All is well.", "All is well.", "Ok."]
    assert len(model.calls[-1].input) == 5
    assert max(map(count, model.calls)) <= BUDGET.window - BUDGET.output
    assert len(options["session"].session.branches) == 3


# ---------------------------------------------------------------------- the protocol


def protocol(work: Callable[[SightlineSession], Any], **options: Any) -> Any:
    return asyncio.run(work(SightlineSession("T", sessions=MemoryStores(), **options)))


ODD: list[Any] = [
    {"role": "user", "content": "Hello 😀 half a character: \ud83d 你好 'quoted' \"and\" \\ \n"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x", "created_by": "it"},
    {
        "type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": '{"a": 1 }',
        "_agents_tool_title": "F",
    },
    {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "one"}]},
    {
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}],
    },
    {"type": "something_new", "field": {"nested": [1, None, 2.5]}},
    {"role": "nobody", "content": "what no provider knows"},
]  # fmt: skip


def test_it_is_a_session_of_the_sdk() -> None:
    """By the SDK's own check, also with the context that it hands over."""
    assert isinstance(SightlineSession("T", sessions=MemoryStores()), Session)


def test_every_item_comes_back_as_it_was_added() -> None:
    """Of any kind, with all that it carries, in order; what is done to a list afterwards changes nothing."""

    async def work(session: SightlineSession) -> None:
        given = json.loads(json.dumps(ODD))
        await session.add_items(given[:3])
        await session.add_items([])
        await session.add_items(given[3:])
        given[0]["content"] = "changed"
        found = await session.get_items()
        assert found == ODD
        found[1].clear()  # type: ignore[attr-defined]
        assert await session.get_items() == ODD

    protocol(work)


def test_a_limit_gives_the_newest_items() -> None:
    """Of the call, or of the session's settings; none is given for zero."""

    async def work(session: SightlineSession) -> None:
        await session.add_items(ODD)
        assert await session.get_items(limit=2) == ODD[-2:]
        assert await session.get_items(limit=100) == ODD
        assert await session.get_items(limit=0) == []
        session.session_settings = SessionSettings(limit=3)
        assert await session.get_items() == ODD[-3:]
        assert await session.get_items(limit=1) == ODD[-1:]

    protocol(work)


def test_what_is_popped_and_cleared_is_out_of_the_conversation_and_in_the_log() -> None:
    """The next input is without it; the log still has it, on another branch."""

    async def work(session: SightlineSession) -> None:
        assert await session.pop_item() is None
        await session.add_items([{"role": "user", "content": "one"}, {"role": "user", "content": "two"}])
        assert await session.pop_item() == {"role": "user", "content": "two"}
        await session.add_items([{"role": "user", "content": "three"}])
        assert [item["content"] for item in await session.get_items()] == ["one", "three"]  # type: ignore[typeddict-item]
        assert texts(session) == ["one", "three"]
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items([{"role": "user", "content": "four"}])
        assert texts(session) == ["four"]
        kept = [texts_on(session, branch) for branch in session.session.branches]
        assert kept == [["one", "two"], ["one", "three"], ["four"]]

    protocol(work)


def texts_on(session: SightlineSession, branch: str) -> list[str]:
    with session.session.on_branch(branch) as other:
        return [plain_text(item.parts) for item in other.items]


PROGRAM = """
import json, sys
import test_openai_agents as here

first, last = int(sys.argv[1]), int(sys.argv[2])
made, model = here.agent([reply for number in range(first, last) for reply in here.turns(12, 12 * number)])
for number in range(first, last):
    options = here.run_options("T", here.BUDGET, sessions="project", run_config=here.config())
    here.run(made, f"question {number}", options)
print(json.dumps([call.input for call in model.calls[-13:]]), options["session"].session.branches)
"""


@pytest.mark.slow
def test_a_new_process_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    """Its requests are the same as in a process that never stopped; the log has no branch."""
    twice = tmp_path / "twice"
    once, _, again = run_program(PROGRAM, (tmp_path / "once", "0", "3"), (twice, "0", "2"), (twice, "2", "3"))
    assert again == once
    assert once.rstrip().endswith("['']")
