"""Tool calls and their results in message lists: what stays or goes together, and what still waits."""

from collections.abc import Mapping, Sequence
from typing import Any

from sightline.values.items import Call, Message, Result, Role


def calls_by_id(chat: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the tool calls of an assistant message in OpenAI's form, by id. What is no call or has no id is left out.

    Never raises, whatever the message holds.
    """
    calls = chat.get("tool_calls") if chat.get("role") == "assistant" else None
    mappings = [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    return {call["id"]: call for call in mappings if isinstance(call.get("id"), str)}


def exchanges(chats: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Group messages in OpenAI's form, by index: a message, or a message with calls and the results of these calls.

    System messages and results without a call are in no group. Groups are in the order of their first messages.
    """
    groups: list[list[int]] = []
    pending: dict[str, list[int]] = {}
    for index, chat in enumerate(chats):
        if chat.get("role") == "tool":
            pending.pop(str(chat.get("tool_call_id")), []).append(index)
        elif chat.get("role") != "system":
            groups.append([index])
            pending |= dict.fromkeys(calls_by_id(chat), groups[-1])
    return groups


def has_pending_calls(messages: Sequence[Message]) -> bool:
    """Whether the messages end with tool calls of which some have no result yet."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role is not Role.TOOL:
            return any(isinstance(part, Call) and part.id not in answered for part in message.parts)
        answered |= {part.id for part in message.parts if isinstance(part, Result)}
    return False
