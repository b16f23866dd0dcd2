"""Strands Agents: `SlidingWindowConversationManager`, driven by tokens and not by its count of messages.

As in its agent loop, with a model whose context window is the budget: proactive compression before the call (its
default, from 70 % of the window: the oldest turn goes), then, for as long as the request would overflow, the
manager's overflow recovery (the oldest tool result is cut to its ends, or the oldest turn goes). `window_size` is out
of reach, so that tokens alone decide; `pin_first=1` keeps the task. What was removed stays removed. Its summarizing
manager needs a model and is left out.
"""

from types import SimpleNamespace
from typing import Any

from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.types.exceptions import ContextWindowOverflowException

from benchmarks.quality.messages import (
    CALL,
    MESSAGE,
    REQUEST,
    Message,
    arguments_text,
    count_message,
    count_text,
    text_of,
)
from benchmarks.quality.peers.server import serve

Block = dict[str, Any]
UNLIMITED = 10**9  # messages


class Window:
    """An agent's messages, and the manager that shortens them."""

    def __init__(self) -> None:
        self.agent: Any = SimpleNamespace(messages=[], model=SimpleNamespace(context_window_limit=None))
        self.manager = SlidingWindowConversationManager(UNLIMITED, pin_first=1, proactive_compression=True)
        self.system: list[Message] = []

    def add(self, messages: list[Message]) -> None:
        """Messages of Bedrock's form: the results of one step are one message of the user."""
        for message in messages:
            if message["role"] in ("system", "developer"):
                self.system.append(message)
                continue
            said, before = self._said(message), self.agent.messages[-1:]
            if message["role"] == "tool" and before and "toolResult" in before[0]["content"][-1]:
                before[0]["content"] += said["content"]
            else:
                self.agent.messages.append(said)

    def compose(self, query: str, budget: int) -> list[Block]:  # noqa: ARG002 - it knows no question
        """The agent's messages, shortened until they fit or nothing more can go."""
        model = self.agent.model
        model.context_window_limit = budget
        model.estimate_utilization = lambda tokens: tokens / budget
        event: Any = SimpleNamespace(agent=self.agent, projected_input_tokens=self._tokens())
        self.manager._on_before_model_call_threshold(event)
        overflow = ContextWindowOverflowException("too long")
        try:
            while self._tokens() > budget:
                self.manager.reduce_context(self.agent, e=overflow)
        except ContextWindowOverflowException:
            pass
        return list(self.agent.messages)

    def messages(self, composed: list[Block]) -> list[Message]:
        """As chat messages."""
        return [*self.system, *(plain for message in composed for plain in self._plain(message))]

    def _said(self, message: Message) -> Block:
        text = text_of(message.get("content"))
        if message["role"] == "tool":
            result = {"toolUseId": message["tool_call_id"], "status": "success", "content": [{"text": text}]}
            return {"role": "user", "content": [{"toolResult": result}]}
        blocks: list[Block] = [{"text": text}] if text else []
        for call in message.get("tool_calls") or ():
            written = arguments_text(call["function"]["arguments"])
            blocks.append({"toolUse": {"toolUseId": call["id"], "name": call["function"]["name"], "input": written}})
        return {"role": message["role"], "content": blocks or [{"text": text}]}

    def _plain(self, message: Block) -> list[Message]:
        results = [block["toolResult"] for block in message["content"] if "toolResult" in block]
        if results:
            texts = ["\n".join(part.get("text", "") for part in result["content"]) for result in results]
            pairs = zip(results, texts, strict=True)
            return [{"role": "tool", "tool_call_id": result["toolUseId"], "content": text} for result, text in pairs]
        text = "\n".join(block["text"] for block in message["content"] if "text" in block)
        plain: Message = {"role": message["role"], "content": text}
        if calls := [_call(block["toolUse"]) for block in message["content"] if "toolUse" in block]:
            plain["tool_calls"] = calls
        return [plain]

    def _tokens(self) -> int:
        return REQUEST + sum(map(count_message, self.system)) + sum(map(_tokens, self.agent.messages))


def _tokens(message: Block) -> int:
    tokens = 0 if any("toolResult" in block for block in message["content"]) else MESSAGE
    for block in message["content"]:
        if "toolResult" in block:
            tokens += MESSAGE + sum(count_text(part.get("text", "")) for part in block["toolResult"]["content"])
        elif "toolUse" in block:
            tokens += CALL + count_text(block["toolUse"]["name"]) + count_text(block["toolUse"]["input"])
        else:
            tokens += count_text(block["text"])
    return tokens


def _call(use: Block) -> dict[str, Any]:
    return {"id": use["toolUseId"], "type": "function", "function": {"name": use["name"], "arguments": use["input"]}}


if __name__ == "__main__":
    serve("strands-agents", {"window": Window})
