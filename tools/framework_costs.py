"""The same table as `adapter_costs.py` for frameworks that have an environment of their own.

    python tools/framework_costs.py strands|google_adk|litellm

Run it with a Python that has the framework and Sightline. The run is that of `adapter_costs.py`: twenty questions, each
answered after three tool calls. A scripted model refuses requests over its context window as a provider does.
"""

import json
import sys
import tempfile
from typing import Any

from cost_table import CALLS, OUTPUT, QUESTIONS, SYSTEM, WINDOW, Request, count_tokens, heading, read_log, report, words

import sightline as sl

BUDGET = sl.Budget(WINDOW, OUTPUT)
ANSWER = "All is well with these three."


def questions() -> list[str]:
    """What the user asks."""
    return [f"Question {number}: how are the next three?" for number in range(QUESTIONS)]


# ---------------------------------------------------------------------- Strands


def compare_strands() -> None:
    """Its sliding windows, its summaries, and ours."""
    from strands import Agent, tool
    from strands.agent import SlidingWindowConversationManager, SummarizingConversationManager
    from strands.models import Model
    from strands.types.exceptions import ContextWindowOverflowException

    from sightline.adapters.strands import SightlineConversationManager

    class Scripted(Model):  # type: ignore[misc]
        """Calls three tools after each question, whatever it is shown of them."""

        def __init__(self) -> None:
            self.config, self.made, self.asked = {"context_window_limit": WINDOW, "max_tokens": OUTPUT}, 0, []

        def get_config(self) -> Any:
            return self.config

        def update_config(self, **config: Any) -> None:
            self.config |= config

        async def structured_output(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

        async def stream(self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **_: Any) -> Any:
            head = (system_prompt or "") + json.dumps(tool_specs or [])
            request: Request = [head, *(words(block) for message in messages for block in message["content"])]
            self.asked.append(request)
            if (size := sum(map(count_tokens, request))) > WINDOW:
                raise ContextWindowOverflowException(f"prompt is too long: {size} tokens > {WINDOW} maximum")
            is_summary = not tool_specs
            calls = not is_summary and self.made % (CALLS + 1) < CALLS
            yield {"messageStart": {"role": "assistant"}}
            if calls:
                number = self.made - self.made // (CALLS + 1)
                yield {"contentBlockStart": {"start": {"toolUse": {"name": "look", "toolUseId": f"c{self.made}"}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"name": f"log-{number}"})}}}}
            else:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": "The logs were read. " * 40 if is_summary else ANSWER}}}
            self.made += not is_summary
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}
            usage = {"inputTokens": size, "outputTokens": 20, "totalTokens": size + 20}
            yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}

    @tool
    def look(name: str) -> str:
        """Read a log."""
        return read_log(name)

    for name, manager in (
        ("SlidingWindow (its default)", SlidingWindowConversationManager()),
        ("SlidingWindow(20, per_turn=True)", SlidingWindowConversationManager(20, per_turn=True)),
        ("SlidingWindow, proactive", SlidingWindowConversationManager(proactive_compression=True)),
        ("Summarizing, proactive", SummarizingConversationManager(proactive_compression=True)),
        ("SightlineConversationManager", SightlineConversationManager("s", BUDGET, sessions=sl.MemoryStores())),
    ):
        model = Scripted()
        agent = Agent(model, tools=[look], system_prompt=SYSTEM, callback_handler=None, conversation_manager=manager)
        for text in questions():
            agent(text)
        report(f"Strands: {name}", model.asked)


# ---------------------------------------------------------------------- Google's ADK


def compare_google_adk() -> None:
    """All events, its filter of contents, its compaction of events, and ours."""
    import asyncio

    from google.adk.agents import LlmAgent
    from google.adk.apps import App
    from google.adk.apps._configs import EventsCompactionConfig
    from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.genai import types

    from sightline.adapters.google_adk import SightlinePlugin

    class Scripted(BaseLlm):  # type: ignore[misc]
        """Calls three tools after each question, whatever it is shown of them. It refuses nothing."""

        made: int = 0
        asked: list[Any]

        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:  # noqa: ARG002
            config = llm_request.config
            tools = [tool.model_dump(mode="json", exclude_none=True) for tool in config.tools or ()]
            dumped = [content.model_dump(mode="json", exclude_none=True) for content in llm_request.contents]
            head = str(config.system_instruction or "") + json.dumps(tools)
            request: Request = [head, *(words(part) for content in dumped for part in content["parts"])]
            self.asked.append(request)
            part = types.Part(text=ANSWER if tools else "The logs were read. " * 40)
            if tools:
                if self.made % (CALLS + 1) < CALLS:
                    name = f"log-{self.made - self.made // (CALLS + 1)}"
                    part = types.Part(function_call=types.FunctionCall(name="look", args={"name": name}))
                self.made += 1
            usage = types.GenerateContentResponseUsageMetadata(
                prompt_token_count=sum(map(count_tokens, request)), candidates_token_count=20
            )
            yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)

    def look(name: str) -> str:
        """Read a log."""
        return read_log(name)

    async def run(plugins: list[Any], compacted: bool) -> list[Request]:
        model = Scripted(model="scripted", asked=[])
        agent = LlmAgent(name="keeper", model=model, instruction=SYSTEM, tools=[look])
        more: dict[str, Any] = {}
        if compacted:
            more["events_compaction_config"] = EventsCompactionConfig(
                compaction_interval=3, overlap_size=1, summarizer=LlmEventSummarizer(llm=model)
            )
        service = plugins[0].session_service if hasattr(plugins[:1] and plugins[0], "session_service") else None
        app = App(name="app", root_agent=agent, plugins=plugins, **more)
        runner = Runner(app=app, session_service=service or InMemorySessionService(), auto_create_session=True)
        for text in questions():
            message = types.Content(role="user", parts=[types.Part(text=text)])
            async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
                pass
        return model.asked

    for name, plugins, compacted in (
        ("all events", [], False),
        ("ContextFilterPlugin(3)", [ContextFilterPlugin(num_invocations_to_keep=3)], False),
        ("ContextFilterPlugin(5)", [ContextFilterPlugin(num_invocations_to_keep=5)], False),
        ("events compacted every 3 invocations", [], True),
        ("SightlinePlugin", [SightlinePlugin(BUDGET, sessions=sl.MemoryStores())], False),
    ):
        report(f"ADK: {name}", asyncio.run(run(plugins, compacted)))


# ---------------------------------------------------------------------- LiteLLM


def compare_litellm() -> None:
    """The whole list, LiteLLM's `trim_messages` before each call, and ours."""
    import asyncio

    import litellm
    from litellm.utils import trim_messages
    from sightline.adapters.litellm import SightlineHook

    class Scripted(litellm.CustomLLM):  # type: ignore[misc]
        """Calls three tools after each question, whatever it is shown of them. It refuses nothing."""

        def __init__(self) -> None:
            super().__init__()
            self.asked: list[Request] = []

        async def acompletion(self, *_: Any, **given: Any) -> Any:
            sent = [words(litellm.utils.convert_to_dict(each)) for each in given["messages"]]
            self.asked.append([json.dumps(given["optional_params"].get("tools")), *sent])
            at = len(self.asked) - 1
            message: dict[str, Any] = {"role": "assistant", "content": ANSWER}
            if at % (CALLS + 1) < CALLS:
                function = {"name": "look", "arguments": json.dumps({"name": f"log-{at - at // (CALLS + 1)}"})}
                message = {"role": "assistant", "content": None}
                message["tool_calls"] = [{"id": f"c{at}", "type": "function", "function": function}]
            return litellm.ModelResponse(choices=[{"index": 0, "message": message, "finish_reason": "stop"}])

    async def run(shown: Any) -> list[Request]:
        model = Scripted()
        litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": model}]
        tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
        messages: list[Any] = [{"role": "system", "content": SYSTEM}]
        for text in questions():
            messages.append({"role": "user", "content": text})
            while True:
                reply = await litellm.acompletion(
                    model="scripted/any", messages=shown([*messages]), tools=tools, max_tokens=OUTPUT
                )
                message = reply.choices[0].message.model_dump(exclude_none=True)
                messages.append(message)
                if not message.get("tool_calls"):
                    break
                call = message["tool_calls"][0]
                found = read_log(json.loads(call["function"]["arguments"])["name"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": found})
        return model.asked

    report("LiteLLM: the whole list", asyncio.run(run(lambda messages: messages)))
    trim = lambda messages: trim_messages(messages, model="gpt-4o", max_tokens=WINDOW - OUTPUT, trim_ratio=1)  # noqa: E731
    report("LiteLLM: trim_messages(max_tokens=11,000)", asyncio.run(run(trim)))
    with tempfile.TemporaryDirectory() as folder:
        litellm.callbacks = [SightlineHook(project=folder, window=WINDOW)]
        report("LiteLLM: SightlineHook", asyncio.run(run(lambda messages: messages)))


COMPARISONS = {"litellm": compare_litellm, "strands": compare_strands, "google_adk": compare_google_adk}

if __name__ == "__main__":
    heading()
    COMPARISONS[sys.argv[1]]()
