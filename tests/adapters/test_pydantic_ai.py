"""Agents of pydantic-ai whose model sees what Sightline composes."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from environment import run_program
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ImageUrl, PromptedOutput, RunContext
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage, UsageLimits

from sightline.adapters.pydantic_ai import SightlineCapability, history_processor
from sightline.adapters.pydantic_ai_messages import Listed, read, write
from sightline.errors import BadInput
from sightline.follow.history import History
from sightline.log.stores.memory import MemoryStores
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore
from sightline.values.items import Kind, plain_text
from sightline.values.tokens import counter

BUDGET = Budget(window=8_000, output=500)
INSTRUCTIONS = "You look after the servers of a small company."
TURNS = 60
Json = dict[str, Any]
Reply = list[Any] | Callable[[list[ModelMessage]], list[Any]]


def check(messages: list[ModelMessage]) -> None:
    """Fail as a provider does: a request first and last, each call answered at once, no result without a call."""
    assert isinstance(messages[0], ModelRequest)
    assert isinstance(messages[-1], ModelRequest)
    waiting: list[str] = []
    for message in messages:
        assert message.parts, "an empty message"
        if isinstance(message, ModelResponse):
            assert not waiting, f"calls without a result: {waiting}"
            waiting = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
            continue
        for part in message.parts:
            if getattr(part, "tool_name", None):  # earlier versions have a kind of its own for retries
                assert part.tool_call_id in waiting, f"a result without a call: {part.tool_call_id}"
                waiting.remove(part.tool_call_id)
            else:
                assert not waiting, f"calls without a result: {waiting}"
    assert not waiting, f"calls without a result: {waiting}"


def count(messages: list[ModelMessage], info: AgentInfo) -> int:
    """The tokens of a whole request: texts, calls, thoughts, instructions and the definitions of all tools."""
    texts = [info.instructions or ""]
    for part in (part for message in messages for part in message.parts):
        texts += [str(getattr(part, "content", "")), json.dumps(getattr(part, "args", ""))]
    tools = [*info.function_tools, *info.output_tools]
    texts += [json.dumps([tool.name, tool.description, tool.parameters_json_schema]) for tool in tools]
    return sum(map(counter("o200k_base").count, texts))


class Script:
    """A model that says these one after another, and keeps what it was asked."""

    def __init__(self, *replies: Reply, factor: float = 0) -> None:
        self.replies, self.factor = iter(replies), factor
        self.asked: list[list[ModelMessage]] = []
        self.tokens: list[int] = []
        self.tools: list[list[str]] = []
        self.model = FunctionModel(self._respond, stream_function=self._stream)

    def _next(self, messages: list[ModelMessage], info: AgentInfo) -> list[Any]:
        check(messages)
        self.asked.append(list(messages))
        self.tokens.append(count(messages, info))
        self.tools.append([tool.name for tool in info.function_tools])
        reply = next(self.replies)
        return reply(messages) if callable(reply) else reply

    def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = self._next(messages, info)
        usage = RequestUsage(input_tokens=int(self.tokens[-1] * self.factor), output_tokens=10)
        return ModelResponse(parts=parts, usage=usage if self.factor else RequestUsage())

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        for number, part in enumerate(self._next(messages, info)):
            if isinstance(part, TextPart):
                yield part.content
            elif isinstance(part, ToolCallPart):
                yield {number: DeltaToolCall(part.tool_name, json.dumps(part.args), tool_call_id=part.tool_call_id)}


def calls(number: int) -> list[Any]:
    """A response that thinks, and calls two tools at once."""
    return [
        ThinkingPart(f"thought {number}", signature=f"s{number}", provider_name="function"),
        ToolCallPart("shell", {"command": f"df {number}"}, f"a{number}"),
        ToolCallPart("shell", {"command": "top"}, f"b{number}"),
    ]


def turns(number: int = TURNS, start: int = 0) -> list[Any]:
    return [*map(calls, range(start, start + number)), [TextPart("All is well.")]]


def shell(command: str) -> str:
    """Run a command."""
    return f"$ {command}\n" + "\n".join(f"{command} line {number}: all is well here" for number in range(60))


def agent(script: Script, capability: Any, **options: Any) -> Agent[Any, Any]:
    made: Agent[Any, Any] = Agent(script.model, instructions=INSTRUCTIONS, capabilities=[capability], **options)
    made.tool_plain(shell)
    return made


def run(made: Agent[Any, Any], text: str, *, streamed: bool = False, **options: Any) -> Any:
    options = {"conversation_id": "T", "usage_limits": UsageLimits(request_limit=None), **options}

    async def go() -> Any:
        if not streamed:
            return await made.run(text, **options)
        async with made.run_stream(text, **options) as result:
            await result.get_output()
            return result

    return asyncio.run(go())


def texts(session: Session) -> list[str]:
    return [text for item in session.items if (text := plain_text(item.parts)) and item.kind is not Kind.SYSTEM]


def capability(budget: Budget | None = BUDGET, **options: Any) -> SightlineCapability:
    return SightlineCapability(budget, **{"sessions": MemoryStores(), **options})


# ---------------------------------------------------------------------- runs


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_a_long_run_never_exceeds_the_budget_and_loses_nothing(streamed: bool) -> None:
    """Sixty rounds of two calls: each request is valid and fits; the run and the log have every message."""
    number = 20 if streamed else TURNS
    script, ours = Script(*turns(number)), capability()
    result = run(agent(script, ours), "Look at the disks.", streamed=streamed)
    assert len(script.asked) == number + 1
    assert max(script.tokens) <= BUDGET.window - BUDGET.output
    messages = result.all_messages()
    assert len(messages) == 2 * number + 2
    outputs = [str(part.content) for each in messages for part in each.parts if isinstance(part, ToolReturnPart)]
    assert sum(map(counter("o200k_base").count, outputs)) > 2 * BUDGET.window
    session = ours.session_of("T")
    assert texts(session) == ["Look at the disks.", *outputs, "All is well."]
    assert sum(item.kind is Kind.CALL for item in session.items) == 2 * number
    assert session.branches == [""]


def test_nothing_is_shortened_while_it_fits() -> None:
    """The model gets the very messages of the run."""
    script = Script(*turns(3), *turns(2, 3))
    made = agent(script, capability(Budget(100_000)), system_prompt="Be brief.")
    first = run(made, "Look at the disks.")
    again = run(made, "And now?", message_history=first.all_messages())
    for asked in script.asked:
        assert asked == again.all_messages()[: len(asked)]
        assert all(one is other for one, other in zip(asked[1:], again.all_messages()[1:], strict=False))


@pytest.mark.slow
def test_our_tools_join_with_the_first_request_that_shows_less_and_stay() -> None:
    """Before that a request is what it would be without us. Also in the next run of the conversation."""
    plain, ours = Script(*turns(3)), Script(*turns(3))
    for script, options in ((plain, []), (ours, [capability(Budget(100_000))])):
        run(Agent(script.model, instructions=INSTRUCTIONS, capabilities=options, tools=[shell]), "Look at the disks.")
    assert ours.tools == plain.tools == [["shell"]] * 4
    assert ours.tokens == plain.tokens
    script, stays = Script(*turns(20), *turns(1, 20)), capability()
    first = run(agent(script, stays), "Look at the disks.")
    run(agent(script, stays), "And now?", message_history=first.all_messages())
    offers = ["expand" in names for names in script.tools]
    shows_less = [len(asked) < 2 * at + 1 or "[#" in str(asked) for at, asked in enumerate(script.asked)]
    assert offers == sorted(offers) == shows_less
    assert not offers[0]
    assert max(script.tokens) <= BUDGET.window - BUDGET.output
    assert stays.session_of("T").branches == [""]


@pytest.mark.slow
def test_the_model_sees_again_what_was_shortened() -> None:
    """`expand` and `recall` are tools of the agent; they answer from the session of the conversation."""

    def expand(messages: list[ModelMessage]) -> list[Any]:
        handle = re.search(r"#\d+", str(messages))
        assert handle
        return [ToolCallPart("expand", {"id": handle[0]}, "e"), ToolCallPart("recall", {"query": "df 0 line 33"}, "r")]

    script = Script(*turns(20)[:-1], expand, [TextPart("Seen.")])
    run(agent(script, capability()), "Look.")
    parts = script.asked[-1][-1].parts
    expanded, recalled = (part.content for part in parts if isinstance(part, ToolReturnPart))
    assert re.match(r"\[#\d+ lines 1–", str(expanded))
    assert "df 0 line 33: all is well here" in str(recalled)
    assert max(script.tokens) <= BUDGET.window - BUDGET.output


def test_a_name_that_the_model_invented_is_sent_as_providers_accept_it() -> None:
    """Its answer has the same name. The run keeps the name as the model said it."""
    script = Script([ToolCallPart("functions.look up", {}, "c")], [TextPart("Done.")])
    done = run(agent(script, capability()), "Look at the disks.")
    assert _names(script.asked[-1]) == ["functions_look_up"] * 2
    assert _names(done.all_messages()) == ["functions.look up"] * 2


def _names(messages: list[ModelMessage]) -> list[str]:
    return [part.tool_name for message in messages for part in message.parts if getattr(part, "tool_name", None)]


@pytest.mark.slow
def test_the_usage_that_the_model_reports_corrects_the_count() -> None:
    """A model that counts half as much again gets less from then on."""
    sizes = {}
    for factor in (1.0, 1.5):
        script = Script(*turns(24), factor=factor)
        run(agent(script, capability()), "Look.")
        sizes[factor] = max(script.tokens[12:])
    assert sizes[1.5] * 1.5 <= BUDGET.window
    assert sizes[1.5] < sizes[1.0]


def test_conversations_at_the_same_time_do_not_mix() -> None:
    """Two runs of one agent, and an agent that is a tool of it: each conversation has a session of its own."""
    ours = capability()
    inner = agent(Script(*[lambda messages: turns(3)[len(messages) // 2]] * 8), ours)
    made = agent(Script([ToolCallPart("ask", {}, "i")], [ToolCallPart("ask", {}, "j")], *[[TextPart("Ok.")]] * 2), ours)

    @made.tool
    async def ask(ctx: RunContext[Any]) -> str:
        """Ask the other one."""
        return str((await inner.run("Look.", conversation_id=f"inner of {ctx.conversation_id}")).output)

    async def go() -> None:
        await asyncio.gather(*(made.run(f"I am {name}.", conversation_id=name) for name in ("ann", "bob")))

    asyncio.run(go())
    for name in ("ann", "bob"):
        assert texts(ours.session_of(name)) == [f"I am {name}.", "All is well.", "Ok."]
        assert len(texts(ours.session_of(f"inner of {name}"))) == 8  # a question, six results, an answer


class Answer(BaseModel):
    """What is the matter, at some length, so that the schema has a size that is worth counting in a small budget."""

    matter: str
    places: list[str]


def test_a_structured_output_is_counted_and_kept() -> None:
    """Its tool is no tool of ours; the log has the call."""
    ours = capability()
    script = Script(*turns(12)[:-1], [ToolCallPart("final_result", {"matter": "none", "places": ["here"]}, "f")])
    result = run(agent(script, ours, output_type=Answer), "Look.")
    assert result.output == Answer(matter="none", places=["here"])
    assert max(script.tokens) <= BUDGET.window - BUDGET.output
    receipt = ours.session_of("T").compose(BUDGET)
    assert {tool.name for tool in receipt.tools} == {"shell", "final_result", "expand", "recall", "look"}


def test_a_tool_of_the_program_that_has_a_name_of_ours_is_its_own() -> None:
    """It is counted as the program defines it, and nothing tells the model of ours."""
    ours = capability()
    look = ToolDefinition(name="look", description="Look at a place.")
    parameters = ModelRequestParameters(function_tools=[look])
    asked = [ModelRequest(parts=[UserPromptPart("Look.")])]
    ours._compose(SimpleNamespace(conversation_id="T"), asked, parameters, BUDGET)  # type: ignore[arg-type]
    tools = ours.session_of("T").compose(BUDGET).tools
    assert [(tool.name, tool.description) for tool in tools] == [("look", "Look at a place.")]


def test_a_retry_goes_on() -> None:
    """What a tool and an output validator ask for again is said to the model, and the run's messages stay its own."""
    ours = capability()
    script = Script([ToolCallPart("shell", {"comand": "x"}, "a")], *turns(1))
    run(agent(script, ours), "Look.")
    assert "comand" in str(script.asked[1][-1])
    assert ours.session_of("T").branches == [""]
    assert len(texts(ours.session_of("T"))) == 5


def test_the_budget_is_that_of_the_model() -> None:
    """If its window is known; otherwise the error says what to pass."""
    with pytest.raises(BadInput, match=r"Budget\(window=…"):
        run(agent(Script(*turns(0)), capability(None)), "Hello.")
    ours = capability(None)
    made = agent(Script(*turns(0)), ours)
    with made.override(model=TestModel(profile={"context_window": 50_000}, call_tools=[])):  # type: ignore[arg-type]
        run(made, "Hello.", model_settings={"max_tokens": 2_000})
    receipt = ours.session_of("T").receipt
    assert receipt is not None
    assert 40_000 < receipt.limit <= 48_000


# ---------------------------------------------------------------------- messages


ODD: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart(["See", ImageUrl("https://a/b.png"), "and",
        BinaryContent(b"%PDF-1.7", media_type="application/pdf")])]),
    ModelResponse(parts=[
        ThinkingPart("deep", id="rs_1", signature="sig", provider_name="openai", provider_details={"raw": ["x"]}),
        TextPart("I look.", id="msg_1", provider_name="openai", provider_details={"phase": "commentary"}),
        NativeToolCallPart("web_search", {"query": "q"}, "n1", id="ws_1", provider_name="openai"),
        NativeToolReturnPart("web_search", {"found": [1, 2]}, "n1", provider_name="openai"),
        ToolCallPart("f", '{"a": 1 }', "c1", id="fc_1", provider_name="openai"),
        ToolCallPart("g", {"b": [1, None]}, "c2"),
    ], model_name="gpt", finish_reason="tool_call", provider_response_id="r1"),
    ModelRequest(parts=[
        ToolReturnPart("g", {"typed": {"value": 1.5}}, "c2", metadata={"for": "the app"}),
        ToolReturnPart("f", [{"k": "v"}, BinaryContent(b"\x89PNG", media_type="image/png")], "c1", outcome="failed"),
        UserPromptPart("And 😀 你好?"),
    ]),
    ModelResponse(parts=[TextPart("Yes.")]),
    ModelRequest(parts=[UserPromptPart("Good.")]),
]  # fmt: skip


def test_every_part_goes_to_the_model_as_it_is() -> None:
    """Signatures, details of providers, native tools, media, typed results: the run's own objects, in their order."""
    ours, sent = capability(), []
    for capabilities in ([], [ours]):
        script = Script([TextPart("Ok.")])
        run(Agent(script.model, capabilities=capabilities), "Good.", message_history=ODD[:-1])
        sent.append(ModelMessagesTypeAdapter.dump_python(script.asked[0][:-1], mode="json"))
    assert sent[0] == sent[1]
    assert ours.session_of("T").branches == [""]


def test_messages_are_written_from_the_log_alone() -> None:
    """Where no object of the run is left: responses are equal part by part, requests say the same."""
    session = Session(MemoryStore())
    History(session).follow(read(ODD).reads, in_place=True)
    payload = session.compose(Budget(100_000))
    written = write(payload, History(session), Listed([], read(ODD).head, []))
    check([each for each in written if each.parts])
    plain = [ModelMessagesTypeAdapter.dump_python(each, mode="json") for each in (written, ODD)]
    for made, given in zip(*plain, strict=True):
        kept = [{key: value for key, value in part.items() if key != "timestamp"} for part in given["parts"]]
        found = [{key: value for key, value in part.items() if key != "timestamp"} for part in made["parts"]]
        if given["kind"] == "response":
            kept = [{**part, "args": _args(part)} if "args" in part else part for part in kept]
            found = [{**part, "args": _args(part)} if "args" in part else part for part in found]
            assert found == kept
        else:
            assert [part["part_kind"] for part in sorted(found, key=str)] == [
                part["part_kind"] for part in sorted(kept, key=str)
            ]
    said = read(written).reads
    assert sorted(str(each.parts) for each in said) == sorted(str(each.parts) for each in read(ODD).reads)


def _args(part: Json) -> Any:
    return json.loads(part["args"]) if isinstance(part["args"], str) else part["args"]


def test_an_edited_list_goes_on_as_a_branch() -> None:
    """The first branch stays as it was."""
    script, ours = Script(*[[TextPart(f"Answer {number}.")] for number in range(3)]), capability()
    made = agent(script, ours)
    first = run(made, "One.")
    run(made, "Two.", message_history=first.all_messages())
    run(made, "Three.", message_history=first.all_messages())
    assert texts(ours.session_of("T")) == ["One.", "Answer 0.", "Three.", "Answer 2."]
    assert len(ours.session_of("T").branches) == 2


# ---------------------------------------------------------------------- the history processor


@pytest.mark.slow
def test_a_history_processor_composes_and_the_run_keeps_every_message() -> None:
    """Without tools of ours, and nothing speaks of them."""
    script, stores = Script(*turns(24)), MemoryStores()
    process = history_processor(Budget(window=8_000, output=700), sessions=stores)
    result = run(agent(script, ProcessHistory(process)), "Look.")
    assert max(script.tokens) <= BUDGET.window - BUDGET.output
    assert len(result.all_messages()) == 50
    assert len(script.asked[-1]) < 50
    assert "expand" not in str(script.asked[-1])
    assert len(texts(SightlineCapability(sessions=stores).session_of("T"))) == 49  # the last answer is logged next time


# ---------------------------------------------------------------------- processes

PROGRAM = """
import sys
from pathlib import Path
import test_pydantic_ai as here

first, last, saved = int(sys.argv[1]), int(sys.argv[2]), Path("messages.json")
script = here.Script(*(reply for number in range(first, last) for reply in here.turns(10, 10 * number)))
made = here.agent(script, here.SightlineCapability(here.BUDGET, sessions="project"))
history = here.ModelMessagesTypeAdapter.validate_json(saved.read_bytes()) if saved.exists() else []
for number in range(first, last):
    history = here.run(made, f"question {number}", message_history=history).all_messages()
saved.write_bytes(here.ModelMessagesTypeAdapter.dump_json(history))
print([[str(getattr(part, "content", part)) for each in asked for part in each.parts] for asked in script.asked[-11:]])
"""


@pytest.mark.slow
def test_a_new_process_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    """Over saved messages, its requests are the same as in a process that never stopped."""
    twice = tmp_path / "twice"
    once, _, again = run_program(PROGRAM, (tmp_path / "once", "0", "2"), (twice, "0", "1"), (twice, "1", "2"))
    assert again == once


class Port(BaseModel):
    """A structured output."""

    port: int


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [3, 30])
def test_a_prompted_output_with_retries_is_as_without_us(rounds: int) -> None:
    """What the run says of a response that it did not take is the program's: the question stays the user's."""

    def made(script: Script, capabilities: list[Any]) -> Agent[Any, Any]:
        output = PromptedOutput(Port)
        return Agent(script.model, capabilities=capabilities, tools=[shell], output_type=output, retries=5)

    wrong = [[TextPart("not json")], [TextPart('{"port": "x"}')]]
    replies = [*turns(rounds)[:-1], *wrong, [TextPart('{"port": 8437}')], *wrong, [TextPart('{"port": 1}')]]
    plain, script, ours = Script(*replies), Script(*replies), capability()
    for number, (agent_script, capabilities) in enumerate([(plain, []), (script, [ours])]):
        first = run(made(agent_script, capabilities), "Which port?")
        assert first.output == Port(port=8437)
        second = run(made(agent_script, capabilities), "And the other?", message_history=first.all_messages())
        assert second.output == Port(port=1), number
    assert max(script.tokens) <= BUDGET.window - BUDGET.output
    assert (script.tokens == plain.tokens) is (rounds == 3)
    session = ours.session_of("T")
    assert session.branches == [""]
    own = [info.id for info in session.items.table() if info.kind is Kind.USER and not info.by_program]
    assert [session.items.text(item) for item in own] == ["Which port?", "And the other?"]
