"""Haystack (haystack-ai): its `CompactionHook` before each model call, compactions persisting as in its Agent.

`window` with `SlidingWindowCompactor`, `prune` with `ToolResultPruningCompactor`, the two that need no model, both
with the hook's defaults: compacted from 70 % of the context window down to 40 %. The window is the budget, and tokens
are counted exactly, as the benchmark counts, by a `TokenCounter` of ours.
"""

import json
from typing import Any

from haystack.components.agents.state import State
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.hooks.compaction import CompactionHook, SlidingWindowCompactor, ToolResultPruningCompactor

from benchmarks.quality.messages import REQUEST, Message, arguments_text, count_message, text_of
from benchmarks.quality.peers.server import serve


class Exact:
    """A `TokenCounter` that counts each message once."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[ChatMessage, int]] = {}

    def count(self, messages: list[ChatMessage], tools: Any = None) -> int:  # noqa: ARG002 - none are sent
        """Tokens of these messages in a request."""
        return REQUEST + sum(map(self._one, messages))

    def _one(self, message: ChatMessage) -> int:
        found = self.known.get(id(message))
        if found is None or found[0] is not message:
            found = self.known[id(message)] = (message, count_message(_plain(message)))
        return found[1]

    def to_dict(self) -> dict[str, Any]:
        """It has no settings."""
        return {}


class Window:
    """An agent's state, and the hook that compacts it."""

    compactor: Any = SlidingWindowCompactor

    def __init__(self) -> None:
        self.state = State(schema={}, data={"messages": []})
        self.counter: Any = Exact()
        self.names: dict[str, str] = {}  # of the tools, by call

    def add(self, messages: list[Message]) -> None:
        """A chat message of Haystack's for each."""
        new = [self._message(message) for message in messages]
        self.state.data["messages"] = [*self.state.data["messages"], *new]

    def compose(self, query: str, budget: int) -> list[ChatMessage]:  # noqa: ARG002 - it knows no question
        """The state's messages, compacted if they fill too much."""
        hook = CompactionHook(self.compactor(), context_window=budget, token_counter=self.counter)
        hook.run(self.state)
        return list(self.state.data["messages"])

    def messages(self, composed: list[ChatMessage]) -> list[Message]:
        """As chat messages."""
        return [_plain(message) for message in composed]

    def _message(self, message: Message) -> ChatMessage:
        text = text_of(message.get("content"))
        match message["role"]:
            case "system" | "developer":
                return ChatMessage.from_system(text)
            case "user":
                return ChatMessage.from_user(text)
            case "tool":
                call = message["tool_call_id"]
                origin = ToolCall(tool_name=self.names.get(call, ""), arguments={}, id=call)
                return ChatMessage.from_tool(tool_result=text, origin=origin)
        calls = [self._call(call) for call in message.get("tool_calls") or ()]
        return ChatMessage.from_assistant(text or None, tool_calls=calls) if calls else ChatMessage.from_assistant(text)

    def _call(self, call: dict[str, Any]) -> ToolCall:
        name, text = call["function"]["name"], arguments_text(call["function"]["arguments"])
        self.names[call["id"]] = name
        try:
            arguments = json.loads(text)
        except ValueError:
            arguments = {}
        arguments = arguments if isinstance(arguments, dict) else {"value": arguments}
        return ToolCall(tool_name=name, arguments=arguments, id=call["id"], extra={"text": text})


class Prune(Window):
    """Older tool results replaced by a line."""

    compactor: Any = ToolResultPruningCompactor


def _plain(message: ChatMessage) -> Message:
    if (result := message.tool_call_result) is not None:
        return {"role": "tool", "tool_call_id": result.origin.id, "content": str(result.result)}
    plain: Message = {"role": message.role.value, "content": message.text}
    if message.tool_calls:
        plain["tool_calls"] = [_plain_call(call) for call in message.tool_calls]
    return plain


def _plain_call(call: ToolCall) -> dict[str, Any]:
    text = (call.extra or {}).get("text", "")  # as the model wrote it
    return {"id": call.id, "type": "function", "function": {"name": call.tool_name, "arguments": text}}


if __name__ == "__main__":
    serve("haystack-ai", {"window": Window, "prune": Prune})
