"""Lists that are imported bit by bit: a call waits for its result until somebody speaks or the session composes."""

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from sightline.errors import BadInput, OpenCalls
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, WordCounter
from sightline.values.items import Call, Kind, Message, Role, Text

ROOM = Budget(4_000)
USER = {"role": "user", "content": "which depth?"}
FUNCTION = {"name": "measure", "arguments": "{}"}
CHAT: list[dict[str, Any]] = [
    USER,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": each, "type": "function", "function": FUNCTION} for each in ("a", "b")],
    },
    {"role": "tool", "tool_call_id": "a", "content": "five metres"},
    {"role": "tool", "tool_call_id": "b", "content": "six metres"},
    {"role": "assistant", "content": "five and six"},
]
RESPONSES: list[dict[str, Any]] = [
    USER,
    {"type": "function_call", "call_id": "a", **FUNCTION},
    {"type": "function_call", "call_id": "b", **FUNCTION},
    {"type": "function_call_output", "call_id": "a", "output": "five metres"},
    {"type": "function_call_output", "call_id": "b", "output": "six metres"},
    {"role": "assistant", "content": "five and six"},
]
ANTHROPIC: list[dict[str, Any]] = [
    USER,
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": each, "name": "measure", "input": {}} for each in ("a", "b")],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "five metres"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": "six metres"}]},
    {"role": "assistant", "content": "five and six"},
]


def new() -> Session:
    return Session(MemoryStore("lists"))


def _call(*call_ids: str) -> dict[str, Any]:
    calls = [{"id": each, "type": "function", "function": FUNCTION} for each in call_ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def results(session: Session) -> list[str]:
    """What the tools said, as the log has it."""
    return [session.items.text(item.id) for item in session.items if item.kind is Kind.RESULT]


@pytest.mark.parametrize("wire", [CHAT, RESPONSES, ANTHROPIC], ids=["chat", "responses", "anthropic"])
def test_a_list_may_come_message_by_message(wire: list[dict[str, Any]]) -> None:
    """Each result answers its call, though it comes in a list of its own, as if all had come in one."""
    bits, whole = new(), new()
    for message in wire:
        bits.extend([message])
    whole.extend(wire)
    assert results(bits) == results(whole) == ["five metres", "six metres"]
    assert not any(item.kind is Kind.USER for item in list(bits.items)[1:])
    assert bits.compose(ROOM).openai()["messages"][-1] == whole.compose(ROOM).openai()["messages"][-1]


@pytest.mark.parametrize("wire", [CHAT, RESPONSES, ANTHROPIC], ids=["chat", "responses", "anthropic"])
def test_who_speaks_next_ends_a_call(wire: list[dict[str, Any]]) -> None:
    """The result that is missing is one that says so, and what is said goes on after it."""
    session = new()
    for message in (*wire[:-2], wire[-1]):
        session.extend([message])
    assert results(session) == ["five metres", "[interrupted: no result]"]
    session.user("and now?")
    assert [message["role"] for message in session.compose(ROOM).openai()["messages"]][-3:] == [
        "tool", "assistant", "user",
    ]  # fmt: skip


def test_a_missing_result_stands_next_to_its_call_so_that_a_branch_has_nothing_later() -> None:
    """A branch after an item of the list has what was said up to it, though a call before it got no result."""
    session = new()
    spoken = [{"role": "user", "content": text} for text in ("one", "two", "three")]
    ids = session.extend([*CHAT[:3], *spoken])
    assert [session.items.text(each) for each in ids[-3:]] == ["one", "two", "three"]
    assert results(session) == ["five metres", "[interrupted: no result]"]
    branch = session.fork(ids[3])
    assert [item.id for item in branch.items][-1] == ids[3]
    assert results(branch) == results(session)
    assert [item.id for item in session.fork(ids[1]).items] == [item.id for item in session.items][:-3]


def test_a_missing_result_is_that_of_the_call_which_has_none() -> None:
    """Where two calls of a list have one id, each has its own result, whichever of the two was not answered."""
    first, second = new(), new()
    ask, answer = _call("a"), {"role": "tool", "tool_call_id": "a", "content": "five metres"}
    first.extend([USER, ask, USER, ask, answer, USER])
    second.extend([USER, ask, answer, USER, ask, USER])
    assert results(first) == ["[interrupted: no result]", "five metres"]
    assert results(second) == ["five metres", "[interrupted: no result]"]
    for session in (first, second):
        roles = [each["role"][0] for each in session.compose(ROOM).openai()["messages"]]
        assert "".join(roles) == "uatuatu"


def test_a_call_that_is_left_open_takes_a_result_or_is_given_up_on() -> None:
    """By `tool_result` as by a list; what has no result when the session composes gets one that says so."""
    session = new()
    session.extend(CHAT[:2])
    session.tool_result("b", "six metres")
    session.compose(ROOM)
    assert sorted(results(session)) == ["[interrupted: no result]", "six metres"]


def test_a_call_of_a_reply_is_not_given_up_on() -> None:
    """Only lists that end leave it open what comes: a program that has the model's reply answers it."""
    session = new()
    session.extend(CHAT[:1])
    session.add(Message(Role.ASSISTANT, (Call("c", "measure", {}),)))
    with pytest.raises(OpenCalls):
        session.compose(ROOM)


@pytest.mark.parametrize(
    "lists",
    [
        [[USER, _call("a", "a")]],
        [[USER, _call("a"), _call("a")]],
        [[USER, _call("a")], [_call("a")]],
        [[USER, _call("a", "b", "a")], [{"role": "tool", "tool_call_id": "a", "content": "five metres"}]],
    ],
    ids=["in one message", "in two messages", "in two lists", "one answered"],
)
def test_calls_of_one_id_are_all_given_up_on(lists: list[list[dict[str, Any]]]) -> None:
    """A list may have an id more than once; the next compose gives up on every call that waits."""
    session = new()
    for messages in lists:
        session.extend(messages)
    waiting = len(session.open_calls)
    assert waiting == 2
    session.compose(ROOM)
    assert session.open_calls == []
    assert results(session).count("[interrupted: no result]") == waiting


def test_a_session_on_the_same_branch_gives_up_on_what_another_imported() -> None:
    """Whichever composes next, also one that was made of the other; a result that comes before counts."""
    session = new()
    [asked] = session.extend([USER])
    fork = session.fork(asked, name="side")
    for one in (session, fork):
        one.extend([_call("a", "b")])
    for one, branch in ((fork, ""), (session, "side")):
        with one.on_branch(branch) as beside:
            assert [call.id for call in beside.open_calls] == ["a", "b"]
            beside.tool_result("a", "five metres")
            beside.compose(ROOM)
            assert results(beside) == ["five metres", "[interrupted: no result]"]


def test_a_branch_that_is_looked_at_leaves_calls_open() -> None:
    """Only who composes gives up: until then the next list may have the results."""
    session = new()
    [asked] = session.extend([USER])
    fork = session.fork(asked, name="side")
    session.extend(CHAT[1:2])
    with session.on_branch("side") as beside:
        beside.compose(ROOM)
    fork.compose(ROOM)
    session.extend(CHAT[2:4])
    assert results(session) == ["five metres", "six metres"]


def test_a_list_is_not_copied_time_and_again(tmp_path: Path) -> None:
    """Importing takes no memory for the texts, which the caller has already, but for what is on its way to the disk."""
    text = 12 << 20
    messages = [{"role": "user", "content": chr(97 + at % 26) * (1 << 16)} for at in range(text >> 16)]
    with Session.new(tmp_path, root=tmp_path, token_counter=WordCounter(), fsync="never") as session:
        session.user("ready")
        tracemalloc.start()
        try:
            session.extend(messages)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert most < 0.4 * text
        assert len(session.items) == len(messages) + 1


def test_what_a_caller_changes_later_changes_nothing() -> None:
    """The arguments of a call are copied, also those of neutral messages."""
    given = {"depth": [5]}
    session = new()
    session.extend([Message(Role.USER, (Text("go"),)), Message(Role.ASSISTANT, (Call("a", "measure", given),))])
    given["depth"].append(6)
    assert [call.input for call in session.open_calls] == [{"depth": [5]}]


def test_a_message_that_cannot_be_kept_adds_nothing() -> None:
    """Also if it comes after others that can."""
    session = Session(MemoryStore("s"), token_counter=WordCounter())
    session.extend(CHAT[:2])
    with pytest.raises(BadInput, match="cannot be kept"):
        session.extend([*CHAT[2:], {"role": "tool", "tool_call_id": "\ud800", "content": "seven metres"}])
    assert len(session.items) == 4
    assert [call.id for call in session.open_calls] == ["a", "b"]
    session.extend(CHAT[2:])
    assert [item.kind for item in session.items][-3:] == [Kind.RESULT, Kind.RESULT, Kind.ASSISTANT]
