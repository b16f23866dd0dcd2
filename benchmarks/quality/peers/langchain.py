"""LangChain `trim_messages` (langchain-core): the newest messages that fit, the system message kept.

`trim` as its documentation recommends it for chat models: `start_on="human"`, `end_on=("human", "tool")`, no partial
messages. `trim_plain` without the two, so that a long agent run with one question keeps something. Tokens are counted
exactly, as the benchmark counts, through `token_counter`. No model is called.
"""

import json
from typing import Any, ClassVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, trim_messages

from benchmarks.quality.messages import Message, count_message, text_of
from benchmarks.quality.peers.server import serve


class Trim:
    """`trim_messages` with these options."""

    options: ClassVar[dict[str, Any]] = {"start_on": "human", "end_on": ("human", "tool")}

    def __init__(self) -> None:
        self.history: list[BaseMessage] = []
        self.plain: list[Message] = []
        self.tokens: dict[str, int] = {}

    def add(self, messages: list[Message]) -> None:
        """A message of LangChain's for each, its place being its id."""
        for message in messages:
            place = str(len(self.plain))
            self.plain.append(message)
            self.history.append(_message(message, place))
            self.tokens[place] = count_message(message)

    def compose(self, query: str, budget: int) -> list[BaseMessage]:  # noqa: ARG002 - it knows no question
        """The end of the history."""
        trimmed: list[BaseMessage] = trim_messages(
            self.history,
            max_tokens=budget,
            strategy="last",
            include_system=True,
            allow_partial=False,
            token_counter=lambda some: 3 + sum(self.tokens[str(each.id)] for each in some),
            **self.options,
        )
        return trimmed

    def messages(self, composed: list[BaseMessage]) -> list[Message]:
        """Those of the history."""
        return [self.plain[int(str(each.id))] for each in composed]


class TrimPlain(Trim):
    """Wherever the budget cuts."""

    options: ClassVar[dict[str, Any]] = {}


def _message(message: Message, place: str) -> BaseMessage:
    text = text_of(message.get("content"))
    match message["role"]:
        case "system" | "developer":
            return SystemMessage(content=text, id=place)
        case "user":
            return HumanMessage(content=text, id=place)
        case "tool":
            return ToolMessage(content=text, tool_call_id=message["tool_call_id"], id=place)
    return AIMessage(content=text, tool_calls=[_call(call) for call in message.get("tool_calls") or ()], id=place)


def _call(call: dict[str, Any]) -> Any:
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError:
        arguments = {}
    arguments = arguments if isinstance(arguments, dict) else {"value": arguments}
    return {"id": call["id"], "name": call["function"]["name"], "args": arguments, "type": "tool_call"}


if __name__ == "__main__":
    serve("langchain-core", {"trim": Trim, "trim_plain": TrimPlain})
