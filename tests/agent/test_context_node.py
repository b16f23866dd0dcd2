"""The node that decides what the model sees, in graphs of others."""

import asyncio
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from sightline.agent.langgraph_loop import ContextNode
from sightline.plan.budget import Budget
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.testing import MemoryStore
from sightline.values.items import plain_text
from sightline.wire.payload import Payload

BUDGET = Budget(window=8_000, output=500)
CALL = {"name": "look", "args": {"path": "a.py"}, "id": "call_1"}
TALK: list[Any] = [
    SystemMessage("Be brief."),
    HumanMessage("My name is Ann."),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage("x = 1", tool_call_id="call_1"),
    AIMessage("Hello Ann."),
    HumanMessage("What now?"),
]


def seen(node: ContextNode, messages: list[Any]) -> list[str]:
    """What the model is sent."""
    return [str(message.content) for message in asyncio.run(node({"messages": messages}))["llm_input_messages"]]


def test_what_a_checkpointer_brings_back_is_not_taken_in_twice(tmp_path: Path) -> None:
    """A new process over the same session and thread goes on, calls and all; what is new is added."""
    with Session.new(tmp_path, session_id="thread") as session:
        first = seen(ContextNode(session, BUDGET), TALK)
    with Session.resume("thread", tmp_path) as session:
        node = ContextNode(session, BUDGET)
        assert seen(node, TALK) == first
        longer = seen(node, [*TALK, AIMessage("Nothing."), HumanMessage("What now?")])
        assert longer[: len(first)] == first
        texts = [plain_text(item.parts) for item in session.items]
    assert texts.count("My name is Ann.") == 1
    assert texts.count("What now?") == 2


def test_it_takes_a_session_for_event_loops_too() -> None:
    """The payload is composed, also without messages in the state."""
    plain = Session(MemoryStore("s"))
    plain.user("Hello.")
    payload = asyncio.run(ContextNode(AsyncSession(plain), BUDGET)({}))["payload"]
    assert isinstance(payload, Payload)
    assert seen(ContextNode(AsyncSession(Session(MemoryStore("t"))), BUDGET), TALK)[-1] == "What now?"


def test_a_session_with_another_past_takes_in_everything(tmp_path: Path) -> None:
    """What the session does not know is added, whatever it knows already."""
    with Session.new(tmp_path) as session:
        session.user("Something else.")
        assert len(seen(ContextNode(session, BUDGET), TALK)) == len(TALK) + 1
