"""What the adapters send and cost beside the frameworks' own ways, on one run of tool calls far over the budget.

    python tools/adapter_costs.py

With pydantic-ai-harness beside the right pydantic-ai, its strategies are measured too.

Twenty questions, each answered after three tool calls: 80 model calls. For each way it prints how many requests were
over the budget, the largest request, how much of what was sent is an unchanged beginning of the request before (what a
provider reads from its cache), how often that beginning was broken, and the cost: a cached token is 0.1, another 1.25.
"""

import asyncio
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import openai
from agents import Agent, RunConfig, Runner, SessionSettings, SQLiteSession, function_tool
from agents.extensions import ToolOutputTrimmer
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from cost_table import (
    CALLS,
    OUTPUT,
    QUESTIONS,
    SYSTEM,
    WINDOW,
    Request,
    count_tokens,
    heading,
    read_log,
    report,
    words,
)
from pydantic_ai import Agent as TypedAgent
from pydantic_ai import Tool
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

import sightline as sl
from sightline.adapters.openai_agents import recall_tools, run_options
from sightline.adapters.pydantic_ai import SightlineCapability

# ---------------------------------------------------------------------- the Agents SDK


def read_log_tool(name: str) -> str:
    """Read a log."""
    return read_log(name)


@function_tool
def look(name: str) -> str:
    """Read a log."""
    return read_log(name)


def run_agents(options: Callable[[], dict[str, Any]], *, recall: bool = False) -> list[Request]:
    """Run all questions. `options` are those of each run."""
    numbers = count()
    steps: list[Any] = []
    for _ in range(QUESTIONS):
        made = [next(numbers) for _ in range(CALLS)]
        steps += [ModelStep([function_call("look", {"name": f"log-{at}"}, call_id=f"c{at}")]) for at in made]
        steps.append(ModelStep([assistant_message("All is well with these three.")]))
    model = ScriptedModel(steps)
    agent = Agent(name="keeper", instructions=SYSTEM, tools=[look, *(recall_tools if recall else [])], model=model)

    async def go() -> None:
        for number in range(QUESTIONS):
            await Runner.run(agent, f"Question {number}: how are the next three?", **options())

    asyncio.run(go())
    head = SYSTEM + json.dumps([[tool.name, tool.params_json_schema] for tool in agent.tools])  # type: ignore[union-attr]
    return [[head, *map(words, call.input)] for call in model.calls]


def config(**more: Any) -> RunConfig:
    return RunConfig(tracing_disabled=True, **more)


def compare_agents() -> None:
    """The SDK's session whole, with a limit, with its trimmer of tool outputs, and ours."""
    for name, limit, filtered in (
        ("SQLiteSession", None, None),
        ("SQLiteSession, limit 40", 40, None),
        ("SQLiteSession, ToolOutputTrimmer", None, ToolOutputTrimmer()),
    ):
        session = SQLiteSession("s", session_settings=SessionSettings(limit=limit))
        options = {"session": session, "run_config": config(call_model_input_filter=filtered)}
        report(f"Agents SDK: {name}", run_agents(lambda options=options: options))
    stores, budget = sl.MemoryStores(), sl.Budget(WINDOW, OUTPUT)
    ours = lambda: run_options("s", budget, sessions=stores, run_config=config())  # noqa: E731
    report("Agents SDK: run_options(…)", run_agents(ours, recall=True))


# ---------------------------------------------------------------------- a client


def run_client(
    wrap: Callable[[openai.OpenAI], openai.OpenAI], shown: Callable[[list[Any]], list[Any]]
) -> list[Request]:
    """Run all questions in a loop on OpenAI's SDK. `shown`: what the program sends of its list."""
    asked: list[Request] = []
    numbers = count()
    tools: list[Any] = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]

    def respond(request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        asked.append([json.dumps(body["tools"]), *map(words, body["messages"])])
        at = len(asked) - 1
        message: dict[str, Any] = {"role": "assistant", "content": "All is well with these three."}
        if at % (CALLS + 1) < CALLS:
            function = {"name": "look", "arguments": json.dumps({"name": f"log-{next(numbers)}"})}
            message = {"role": "assistant", "content": None}
            message["tool_calls"] = [{"id": f"c{at}", "type": "function", "function": function}]
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if message["content"] is None else "stop",
        }
        reply = {"id": f"r{at}", "object": "chat.completion", "created": 0, "model": "gpt-5", "choices": [choice]}
        return httpx2.Response(200, json=reply)

    http = httpx2.Client(transport=httpx2.MockTransport(respond))
    client = wrap(openai.OpenAI(api_key="any", http_client=http))
    messages: list[Any] = [{"role": "system", "content": SYSTEM}]
    for number in range(QUESTIONS):
        messages.append({"role": "user", "content": f"Question {number}: how are the next three?"})
        while True:
            made = client.chat.completions.create(
                model="gpt-5", messages=shown(messages), tools=tools, max_completion_tokens=OUTPUT
            )
            message = made.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                break
            name = json.loads(message.tool_calls[0].function.arguments)["name"]  # type: ignore[union-attr]
            messages.append({"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": read_log(name)})
    client.close()
    return asked


def last_questions(messages: list[Any], most: int = 3) -> list[Any]:
    """The system prompt and the last questions with all that belongs to them: what programs do by hand."""
    starts = [at for at, message in enumerate(messages) if message["role"] == "user"]
    return [messages[0], *messages[starts[-most:][0] :]]


def compare_clients() -> None:
    """The whole list, the last questions of it, and a wrapped client."""
    report("openai: the whole list", run_client(lambda client: client, lambda messages: messages))
    report("openai: the last three questions", run_client(lambda client: client, last_questions))
    with tempfile.TemporaryDirectory() as folder:
        wrap = lambda client: sl.wrap(client, project=Path(folder), window=WINDOW)  # noqa: E731
        report("openai: sl.wrap(client)", run_client(wrap, lambda messages: messages))


# ---------------------------------------------------------------------- pydantic-ai


def run_typed(capabilities: list[Any]) -> list[Request]:
    """Run all questions in one conversation of an agent of pydantic-ai."""
    asked: list[Request] = []
    numbers = count()

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        head = SYSTEM + json.dumps([[tool.name, tool.parameters_json_schema] for tool in info.function_tools])
        dumped = ModelMessagesTypeAdapter.dump_python(messages, mode="json", exclude_none=True)
        asked.append([head, *(words(part) for message in dumped for part in message["parts"])])
        usage = RequestUsage(input_tokens=sum(map(count_tokens, asked[-1])), output_tokens=10)
        if (len(asked) - 1) % (CALLS + 1) == CALLS:
            return ModelResponse(parts=[TextPart("All is well with these three.")], usage=usage)
        at = next(numbers)
        return ModelResponse(parts=[ToolCallPart("look", {"name": f"log-{at}"}, f"c{at}")], usage=usage)

    agent: TypedAgent[None, str] = TypedAgent(
        FunctionModel(respond), instructions=SYSTEM, tools=[Tool(read_log_tool, name="look")], capabilities=capabilities
    )
    history: list[ModelMessage] = []
    for number in range(QUESTIONS):
        text = f"Question {number}: how are the next three?"
        history = agent.run_sync(text, message_history=history, conversation_id="s").all_messages()
    return asked


def last_typed(messages: list[ModelMessage], most: int = 3) -> list[ModelMessage]:
    """The last questions with all that belongs to them: what pydantic-ai's documentation shows as a processor."""
    starts = [
        at
        for at, message in enumerate(messages)
        if isinstance(message, ModelRequest) and any(isinstance(part, UserPromptPart) for part in message.parts)
    ]
    return messages[starts[-most:][0] :]


def compare_typed() -> None:
    """The whole history, a history processor that keeps the last questions, and our capability."""
    report("pydantic-ai: the whole history", run_typed([]))
    report("pydantic-ai: ProcessHistory, three questions", run_typed([ProcessHistory(last_typed)]))
    with suppress(ImportError):  # its own strategies are a package apart, which wants one version of pydantic-ai
        from pydantic_ai_harness.compaction import ClearToolResults, SlidingWindowCompaction

        most, kept = WINDOW - OUTPUT - 1_200, (WINDOW - OUTPUT) // 2  # they do not count instructions and tools
        sliding = SlidingWindowCompaction(max_tokens=most, keep_tokens=kept, tokenizer=count_tokens)
        report("pydantic-ai: SlidingWindowCompaction", run_typed([sliding]))
        report("pydantic-ai: ClearToolResults", run_typed([ClearToolResults(max_tokens=most, tokenizer=count_tokens)]))
    ours = SightlineCapability(sl.Budget(WINDOW, OUTPUT), sessions=sl.MemoryStores())
    report("pydantic-ai: SightlineCapability()", run_typed([ours]))


if __name__ == "__main__":
    heading()
    compare_agents()
    compare_clients()
    compare_typed()
