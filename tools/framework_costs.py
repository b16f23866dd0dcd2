"""The same table as `adapter_costs.py` for frameworks that have an environment of their own.

    python tools/framework_costs.py strands

Run it with a Python that has the framework and Sightline. The run is that of `adapter_costs.py`: twenty questions, each
answered after three tool calls. A scripted model refuses requests over its context window as a provider does.
"""

import json
import sys
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


COMPARISONS = {"strands": compare_strands}

if __name__ == "__main__":
    heading()
    COMPARISONS[sys.argv[1]]()
