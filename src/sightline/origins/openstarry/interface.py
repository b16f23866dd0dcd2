"""The document's interface of context management, and its values."""

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

ChatMessage = Mapping[str, Any]
ToolDefinition = Mapping[str, Any]


class LLMPayload(Struct, frozen=True):
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


class IContextManager(Protocol):
    """The document's interface: all that an agent core knows of context management."""

    async def compose_payload(
        self,
        system_prompt: str,
        history: Sequence[ChatMessage],
        tools: Sequence[ToolDefinition],
        rag_context: str | None = None,
    ) -> LLMPayload:
        """Return the messages to send, within the token limit: system, summary, retrieved knowledge, recent history."""

    async def on_turn_complete(self, new_history: Sequence[ChatMessage]) -> None:
        """Do background work. Called after every turn with the whole history."""


async def awaited(value: Awaitable[Any] | Any) -> Any:
    return await value if inspect.isawaitable(value) else value
