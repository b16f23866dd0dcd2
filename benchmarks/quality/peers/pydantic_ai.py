"""Pydantic AI harness: its `TieredCompaction` over the tiers that need no model, edits persisting as in its runs.

First `ClearToolResults` (the last three pairs stay), then `SlidingWindowCompaction` down to half of what the first
message, with the instructions and the task, leaves: cheap to expensive, as its documentation orders them, the second
only if the history is still above the target. The target is the budget less the framing of the messages, which its
estimator does not know; texts are counted exactly through `tokenizer`. Run by `compact_now` with its `TestModel`,
which is never called. `DeduplicateFileReads` is left out: it must be told which tools read files.
"""

import asyncio
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel
from pydantic_ai_harness.compaction import (
    ClearToolResults,
    SlidingWindowCompaction,
    TieredCompaction,
    compact_now,
)

from benchmarks.quality.messages import CALL, MESSAGE, REQUEST, Message, arguments_text, count_text, text_of
from benchmarks.quality.peers.server import serve

AT_ONCE = 1  # a tier's own trigger, which TieredCompaction does not ask


class Tiered:
    """A run's message history, and the tiers that shorten it."""

    def __init__(self) -> None:
        self.history: list[ModelMessage] = []
        self.names: dict[str, str] = {}  # of the tools, by call
        self.model = TestModel()
        self.first = 0  # tokens of the first message, which always stays

    def add(self, messages: list[Message]) -> None:
        """Requests and responses; parts of one side that follow each other are one message."""
        for message in messages:
            if message["role"] == "assistant":
                self.history.append(ModelResponse(parts=self._said(message)))
                continue
            part = self._asked(message)
            if self.history and isinstance(self.history[-1], ModelRequest):
                self.history[-1] = ModelRequest(parts=[*self.history[-1].parts, part])
            else:
                self.history.append(ModelRequest(parts=[part]))

    def compose(self, query: str, budget: int) -> list[ModelMessage]:  # noqa: ARG002 - it knows no question
        """The history, compacted if it is above the target."""
        target = max(1, budget - _framing(self.history))
        self.first = self.first or sum(count_text(str(part.content)) for part in self.history[0].parts)
        strategy: Any = TieredCompaction(
            tiers=[
                ClearToolResults(max_tokens=AT_ONCE, tokenizer=count_text),
                SlidingWindowCompaction(
                    max_tokens=AT_ONCE, keep_tokens=max(0, target - self.first) // 2, tokenizer=count_text
                ),
            ],
            target_tokens=target,
            tokenizer=count_text,
        )
        self.history = asyncio.run(compact_now(strategy, self.history, model=self.model))
        return self.history

    def messages(self, composed: list[ModelMessage]) -> list[Message]:
        """As chat messages."""
        return [plain for message in composed for plain in _plain(message)]

    def _said(self, message: Message) -> list[Any]:
        text = text_of(message.get("content"))
        parts: list[Any] = [TextPart(text)] if text else []
        for call in message.get("tool_calls") or ():
            name, arguments = call["function"]["name"], arguments_text(call["function"]["arguments"])
            self.names[call["id"]] = name
            parts.append(ToolCallPart(name, arguments, call["id"]))
        return parts

    def _asked(self, message: Message) -> Any:
        text = text_of(message.get("content"))
        match message["role"]:
            case "system" | "developer":
                return SystemPromptPart(text)
            case "tool":
                call = message["tool_call_id"]
                return ToolReturnPart(self.names.get(call, "tool"), text, call)
        return UserPromptPart(text)


def _framing(history: list[ModelMessage]) -> int:
    tokens = REQUEST
    for message in history:
        calls = sum(isinstance(part, ToolCallPart) for part in message.parts)
        tokens += CALL * calls + MESSAGE * (len(message.parts) if isinstance(message, ModelRequest) else 1)
    return tokens


def _plain(message: ModelMessage) -> list[Message]:
    if isinstance(message, ModelResponse):
        text = "\n".join(part.content for part in message.parts if isinstance(part, TextPart))
        plain: Message = {"role": "assistant", "content": text}
        if calls := [_call(part) for part in message.parts if isinstance(part, ToolCallPart)]:
            plain["tool_calls"] = calls
        return [plain]
    return [_part(part) for part in message.parts]


def _part(part: Any) -> Message:
    if isinstance(part, ToolReturnPart):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
    return {"role": "system" if isinstance(part, SystemPromptPart) else "user", "content": str(part.content)}


def _call(part: ToolCallPart) -> dict[str, Any]:
    arguments = part.args if isinstance(part.args, str) else part.args_as_json_str()  # as the model wrote them
    function = {"name": part.tool_name, "arguments": arguments}
    return {"id": part.tool_call_id, "type": "function", "function": function}


if __name__ == "__main__":
    serve("pydantic-ai-harness", {"tiered": Tiered})
