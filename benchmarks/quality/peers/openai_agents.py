"""OpenAI Agents SDK: its `ToolOutputTrimmer` before each model call, over a session that keeps the newest items.

The trimmer, with its defaults, shortens large tool outputs before the last two user messages; what is left has no
bound in tokens. The SDK's only bound is `SessionSettings.limit`, in items. So, at each call: a falling series of limits
(from a quarter more than fitted last, then a fifth fewer each time) until the trimmed items fit, prepared by the SDK
as its runner does, calls without output and outputs without call dropped. The search is part of the time. No model is
called.
"""

import asyncio
from types import SimpleNamespace
from typing import Any

from agents.extensions import ToolOutputTrimmer
from agents.memory.session_settings import SessionSettings
from agents.run_config import CallModelData, ModelInputData
from agents.run_internal.session_persistence import prepare_input_with_session

from benchmarks.quality.messages import Message, arguments_text, count_messages, text_of
from benchmarks.quality.peers.server import serve

Item = dict[str, Any]
STEP = 0.8  # of the limit before
MORE = 1.25  # of the limit that fitted last


class Stored:
    """A session of the SDK's protocol, in memory."""

    session_id = "bench"
    session_settings: SessionSettings | None = None

    def __init__(self) -> None:
        self.items: list[Item] = []

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """The newest items."""
        return self.items[-limit:] if limit else list(self.items)

    async def add_items(self, items: list[Item]) -> None:
        """Keep them."""
        self.items += items

    async def pop_item(self) -> Item | None:
        """The newest, no longer kept."""
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        """Keep nothing."""
        self.items.clear()


class Trimmer:
    """A session, its limit, and the trimmer."""

    def __init__(self) -> None:
        self.session = Stored()
        self.system: list[Message] = []
        self.trimmer = ToolOutputTrimmer()
        self.limit = 0  # that fitted last; none yet

    def add(self, messages: list[Message]) -> None:
        """Items of the Responses API; the instructions are kept apart, as the SDK does."""
        for message in messages:
            if message["role"] in ("system", "developer"):
                self.system.append(message)
            else:
                self.session.items += _items(message)

    def compose(self, query: str, budget: int) -> list[Item]:  # noqa: ARG002 - it knows no question
        """The newest items that fit, older outputs trimmed."""
        limit = len(self.session.items)
        if self.limit:
            limit = min(limit, int(self.limit * MORE) + 1)
        while True:
            items = asyncio.run(self._prepared(limit))
            if limit <= 1 or count_messages(self.messages(items)) <= budget:
                self.limit = limit
                return items
            limit = min(limit - 1, int(limit * STEP))

    async def _prepared(self, limit: int) -> list[Item]:
        session: Any = self.session
        prepared, _ = await prepare_input_with_session([], session, None, SessionSettings(limit=limit))
        request = ModelInputData(input=list(prepared), instructions="")
        data: Any = CallModelData(model_data=request, agent=SimpleNamespace(name="bench"), context=None)
        return list(self.trimmer(data).input)

    def messages(self, composed: list[Item]) -> list[Message]:
        """Calls belong to the assistant's words before them."""
        sent: list[Message] = list(self.system)
        for item in composed:
            match item.get("type"):
                case "function_call":
                    if sent[-1:] and sent[-1]["role"] == "assistant":
                        owner = sent[-1]
                    else:
                        owner = {"role": "assistant", "content": None}
                        sent.append(owner)
                    owner.setdefault("tool_calls", []).append(_call(item))
                case "function_call_output":
                    sent.append({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})
                case _:
                    sent.append({"role": item["role"], "content": item["content"]})
        return sent


def _items(message: Message) -> list[Item]:
    text = text_of(message.get("content"))
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": text}]
    items: list[Item] = [{"role": message["role"], "content": text}] if text else []
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = arguments_text(function["arguments"])
        items.append({"type": "function_call", "call_id": call["id"], "name": function["name"], "arguments": arguments})
    return items


def _call(item: Item) -> dict[str, Any]:
    function = {"name": item["name"], "arguments": item["arguments"]}
    return {"id": item["call_id"], "type": "function", "function": function}


if __name__ == "__main__":
    serve("openai-agents", {"trimmer": Trimmer})
