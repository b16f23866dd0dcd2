"""A session summarised by the ContextManager's function: what that leaves out is covered by what it says instead."""

import json
from typing import Any

from sightline.documents.json_protocol import prompt
from sightline.origins.ba_agent.context import ContextManager, FileContext
from sightline.plan import Budget
from sightline.session.session import Session
from sightline.values.items import Call, Message, Result, Role, plain_text


def summarise(
    session: Session, manager: ContextManager, question: str, file_context: FileContext | None, budget: Budget
) -> None:
    """Summarise a session if its messages and this question, which it does not have yet, are too many.

    As in the strategy `rounds`, system messages of earlier rounds, such as lists of uploads, do not count.

    The messages that stay unchanged at the end are shown as before. Those before them are covered: by what the
    manager's function put in their place, or else by a digest.
    """
    payload = session.preview(budget)
    shown = [
        message
        for message in (*payload.system, *payload.body)
        if message.id and plain_text(message.parts) not in (*payload.shown_windows.values(), prompt(manager.locale))
        if message.role is not Role.SYSTEM or session.receipt is None
    ]
    built = manager.build_context(question, [_listed(message) for message in shown], session.id, file_context)
    if not manager.should_clean_context(built):
        return
    kept = manager.summarize_context(built)
    said = [message for message in shown if message.role is not Role.SYSTEM]
    before, after = ([each for each in some if each.get("role") != "system"] for some in (built, kept))
    same = next(
        (n for n, pair in enumerate(zip(reversed(before), reversed(after), strict=False)) if pair[0] != pair[1]),
        min(len(before), len(after)),
    )
    end = len(before) - same
    while 0 < end < len(said) and said[end].role is Role.TOOL:  # results stay with their calls
        end -= 1
    texts = [str(each.get("content") or "") for each in kept if each not in built]
    if end:
        session.summaries.cover(said[0].id, said[end - 1].id, "\n\n".join(filter(None, texts)), budget=budget)


def _listed(message: Message) -> dict[str, Any]:
    """Return a message as an entry of a message list."""
    written: dict[str, Any] = {"role": message.role.value, "content": plain_text(message.parts)}
    calls = [part for part in message.parts if isinstance(part, Call)]
    results = [part for part in message.parts if isinstance(part, Result)]
    if calls:
        written["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.input)}}
            for call in calls
        ]
    return written | {"tool_call_id": results[0].id, "content": plain_text(results[0].parts)} if results else written
