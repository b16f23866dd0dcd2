"""The document's agent core: one turn of an agent that knows only the interface of context management."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sightline.origins.openstarry.interface import ChatMessage, IContextManager, LLMPayload, ToolDefinition, awaited

_ROUNDS = 100  # of tool calls in one turn, because a model may never stop

logger = logging.getLogger("sightline")


async def take_turn(
    context: IContextManager,
    model: Callable[[LLMPayload], Any],
    history: Sequence[ChatMessage],
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
    run_tool: Callable[[Mapping[str, Any]], Any] | None = None,
    rag_context: str | None = None,
) -> list[dict[str, Any]]:
    """Run one turn of the document's agent core, which knows only the interface. Return the new history.

    `model` answers a payload with a message, `run_tool` a tool call with text. Either may be async.
    """
    grown = [dict(message) for message in history]
    for _ in range(_ROUNDS):
        payload = await context.compose_payload(system_prompt, grown, tools, rag_context)
        reply = dict(await awaited(model(payload)))
        grown.append(reply)
        calls = reply.get("tool_calls") or ()
        if not calls or run_tool is None:
            break
        for call in calls:
            grown.append({"role": "tool", "tool_call_id": call["id"], "content": await awaited(run_tool(call))})
    try:
        await context.on_turn_complete(grown)
    except Exception:  # of a strategy's background work, which is no part of the turn
        logger.exception("the context manager failed after the turn; the turn stands")
    return grown
