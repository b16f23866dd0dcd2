"""A chat model of LangChain that follows a script, and refuses what a provider would refuse."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from sightline.values.tokens import counter

Reply = AIMessage | Callable[[list[BaseMessage]], AIMessage]


def check_request(messages: list[BaseMessage]) -> None:
    """Fail as a provider does: system first, each call answered right after it, no result without a call."""
    assert not any(isinstance(message, SystemMessage) for message in messages[1:]), "a system message in the middle"
    spoken = [message for message in messages if not isinstance(message, SystemMessage)]
    assert spoken
    assert isinstance(spoken[0], HumanMessage), f"begins with {spoken[0].type}"
    waiting: list[str] = []
    for message in spoken:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in waiting, f"a result without a call: {message.tool_call_id}"
            waiting.remove(message.tool_call_id)
            continue
        assert not waiting, f"calls without a result: {waiting}"
        assert message.content or getattr(message, "tool_calls", None), "an empty message"
        waiting = [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    assert not waiting, f"calls without a result: {waiting}"


def count_tokens(messages: list[BaseMessage], tools: list[Any]) -> int:
    """The tokens of a whole request: the texts, the calls and the definitions of the tools."""
    count = counter("o200k_base").count
    texts = [message.text for message in messages]
    calls = [
        msgspec.json.encode([call["name"], call["args"]]).decode()
        for message in messages
        for call in getattr(message, "tool_calls", [])
    ]
    definitions = [msgspec.json.encode(tool).decode() for tool in tools]
    return sum(map(count, (*texts, *calls, *definitions)))


class StrictModel(BaseChatModel):
    """Answers by the script. `asked` are the messages of each call, `tokens` how large each request was."""

    script: Iterator[Reply]
    tools: list[Any] = Field(default_factory=list)
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    tokens: list[int] = Field(default_factory=list)
    bound: list[list[Any]] = Field(default_factory=list)  # the tools of each call

    def __repr__(self) -> str:
        """LangChain dumps a model at every call: without this it would dump all that was asked."""
        return "StrictModel()"

    @property
    def _llm_type(self) -> str:
        return "strict"

    def bind_tools(self, tools: Any, **_: Any) -> "StrictModel":
        return self.model_copy(update={"tools": [convert_to_openai_tool(tool) for tool in tools]})

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        check_request(messages)
        self.asked.append(list(messages))
        self.bound.append(self.tools)
        self.tokens.append(count_tokens(messages, self.tools))
        reply = next(self.script)
        made = reply if isinstance(reply, AIMessage) else reply(messages)
        return ChatResult(generations=[ChatGeneration(message=made)])


def script(*replies: Reply) -> dict[str, Any]:
    """The fields of a model that says these."""
    return {"script": iter(replies)}


def calling(*calls: tuple[str, str, dict[str, Any]]) -> AIMessage:
    """A reply that calls tools: the id of each call, the tool, its arguments."""
    return AIMessage("", tool_calls=[{"id": id_, "name": name, "args": args} for id_, name, args in calls])
