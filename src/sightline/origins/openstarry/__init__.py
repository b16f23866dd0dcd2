"""The OpenStarry document's context management: one interface, three standard strategies, chosen by `plugin.json`.

A manager holds a session in memory and adds to it what is new in the given history. The caller's lists are never
changed. Messages may have any provider's form; they are returned in OpenAI's, text content as plain text.
"""

from sightline.origins.openstarry.agent_core import take_turn
from sightline.origins.openstarry.interface import ChatMessage, IContextManager, LLMPayload, ToolDefinition
from sightline.origins.openstarry.managers import (
    BUDGET,
    Complete,
    EntityExtractionContextManager,
    Extract,
    SlidingWindowContextManager,
    StrategyContextManager,
    SummarizationContextManager,
    chat_messages,
    create_context_manager,
)

__all__ = [
    "BUDGET", "ChatMessage", "Complete", "EntityExtractionContextManager", "Extract", "IContextManager", "LLMPayload",
    "SlidingWindowContextManager", "StrategyContextManager", "SummarizationContextManager", "ToolDefinition",
    "chat_messages", "create_context_manager", "take_turn",
]  # fmt: skip
