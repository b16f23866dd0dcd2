"""LangChain messages are read like any other: its objects and all forms in which it dumps them."""

import json
from typing import Any

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)

from sightline import Budget, MemoryStore, Session, wire
from sightline.values.items import Call, Image, Message, Result, Role, Text, Usage

MESSAGES: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage([{"type": "text", "text": "look"}, {"type": "image", "base64": "AAAA", "mime_type": "image/png"}]),
    AIMessage(
        "",
        tool_calls=[{"name": "read", "args": {"path": "x"}, "id": "c1"}],
        usage_metadata={
            "input_tokens": 10,
            "output_tokens": 2,
            "total_tokens": 12,
            "input_token_details": {"cache_read": 4},
        },
        response_metadata={"model_name": "gpt-x"},
    ),
    ToolMessage("boom", tool_call_id="c1", status="error"),
    AIMessage(
        [{"type": "text", "text": "again"}, {"type": "tool_use", "id": "c2", "name": "read", "input": {}}],
        tool_calls=[{"name": "read", "args": {}, "id": "c2"}],
    ),
    ToolMessage([{"type": "text", "text": "text of x"}], tool_call_id="c2"),
    AIMessageChunk("done"),
]
READ = [
    Message(Role.SYSTEM, (Text("Be brief."),)),
    Message(Role.USER, (Text("look"), Image("image/png", "AAAA"))),
    Message(Role.ASSISTANT, (Call("c1", "read", {"path": "x"}),), model="gpt-x", usage=Usage(10, 2, 4)),
    Message(Role.TOOL, (Result("c1", (Text("boom"),), "failed"),)),
    Message(Role.ASSISTANT, (Text("again"), Call("c2", "read", {}))),
    Message(Role.TOOL, (Result("c2", (Text("text of x"),)),)),
    Message(Role.ASSISTANT, (Text("done"),)),
]


def test_what_is_kept_for_an_hour_is_written() -> None:
    """LangChain gives no sum where it says how long the tokens are kept."""
    details: Any = {"cache_read": 0, "cache_creation": 0, "ephemeral_5m_input_tokens": 10,
                    "ephemeral_1h_input_tokens": 1_000}  # fmt: skip
    usage: Any = {"input_tokens": 1_030, "output_tokens": 2, "total_tokens": 1_032, "input_token_details": details}
    [message] = wire.read_messages([AIMessage("done", usage_metadata=usage)])
    assert message.usage == Usage(1_030, 2, 0, 1_010, 1_000)


@pytest.mark.parametrize(
    "given",
    [
        MESSAGES,
        [message.model_dump() for message in MESSAGES],
        messages_to_dict(MESSAGES),
        json.loads(json.dumps([dumpd(message) for message in MESSAGES])),
    ],
    ids=["objects", "model_dump", "messages_to_dict", "dumpd"],
)
def test_every_form_is_read_alike(given: list[Any]) -> None:
    """A call that is both a block and a tool call is one call; a failed result says so."""
    assert wire.read_messages(given) == READ


def test_a_session_takes_them_among_others() -> None:
    """`extend` and `reply` take objects; a plain message among them is read as before."""
    session = Session(MemoryStore())
    session.extend([*MESSAGES[:2], {"role": "assistant", "content": "hi"}, {"role": "user", "content": "and?"}])
    session.compose(Budget(8_000))
    session.reply(MESSAGES[2])
    assert [call.id for call in session.open_calls] == ["c1"]
    assert [item.kind.name for item in session.items] == ["SYSTEM", "USER", "ASSISTANT", "USER", "ASSISTANT", "CALL"]
