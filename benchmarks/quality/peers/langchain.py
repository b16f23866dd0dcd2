"""LangChain `trim_messages`: the newest messages that fit, the system message kept. And `SummarizationMiddleware`.

`trim` as its documentation recommends it for chat models: `start_on="human"`, `end_on=("human", "tool")`, no partial
messages. `trim_plain` without the two, so that a long agent run with one question keeps something. Tokens are counted
exactly, as the benchmark counts, through `token_counter`. No model is called.

`summary` is the middleware with its defaults (the newest 20 messages stay, the summariser is shown 4,000 tokens), at
0.8 of the budget; `summary_all` shows its summariser everything. In place of a model there is one that quotes each
planted fact that it is shown, word for word: no real summary keeps more of them.
"""

import json
from typing import Any, ClassVar

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, trim_messages

from benchmarks.quality.messages import Message, count_message, text_of
from benchmarks.quality.peers.server import serve
from benchmarks.quality.planted_facts import FACTS

SHARE = 0.8  # of the budget: the trigger in the examples of its documentation


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


class Summary(Trim):
    """The middleware, whose state is what is left: a summary, and the messages that it keeps."""

    shown: ClassVar[dict[str, Any]] = {}  # how much its summariser is shown, other than its own 4,000 tokens

    def __init__(self) -> None:
        super().__init__()
        self.state: list[BaseMessage] = []
        self.taken = self.model_calls = 0

    def compose(self, query: str, budget: int) -> list[BaseMessage]:  # noqa: ARG002 - it knows no question
        """The state before the model is called. The system message is the agent's, so the middleware never sees it."""
        new, self.taken = self.history[self.taken :], len(self.history)
        self.state += [each for each in new if not isinstance(each, SystemMessage)]
        middleware: Any = SummarizationMiddleware(
            FakeListChatModel(responses=[""]),
            trigger=("tokens", int(SHARE * budget)),
            token_counter=lambda some: 3 + sum(self.tokens.get(str(each.id), 0) for each in some),
            summarizer=self._summarise,
            **self.shown,
        )
        changed = middleware.before_model({"messages": self.state}, None)
        if changed:
            self.state = changed["messages"][1:]  # the first one removes all there were
        return [each for each in self.history[:1] if isinstance(each, SystemMessage)] + self.state

    def messages(self, composed: list[BaseMessage]) -> list[Message]:
        """Those of the history, and the summary."""
        return [
            self.plain[int(str(each.id))]
            if str(each.id) in self.tokens
            else {"role": "user", "content": str(each.content)}
            for each in composed
        ]

    def _summarise(self, messages: list[BaseMessage]) -> str:
        self.model_calls += 1
        shown = "\n".join(str(each.content) for each in messages)
        return "\n".join(["The agent has worked on the shop."] + [f.words for f in FACTS if f.words in shown])


class SummaryOfAll(Summary):
    """Its summariser is shown everything that goes."""

    shown: ClassVar[dict[str, Any]] = {"trim_tokens_to_summarize": None}


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
    serve("langchain", {"trim": Trim, "trim_plain": TrimPlain, "summary": Summary, "summary_all": SummaryOfAll})
