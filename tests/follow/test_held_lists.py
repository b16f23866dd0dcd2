"""Which call stays whole as the agent's own list of steps."""

import json
from typing import Any

import pytest

from sightline.follow.model_request import FORMATS
from sightline.follow.own_lists import hold_list, may_have_list, newest_list, steps_of
from sightline.session.session import Session
from sightline.testing import MemoryStore
from sightline.values.items import Call, Kind, Message, Result, Role, Text


def session_of(*calls: Call) -> Session:
    session = Session(MemoryStore("s"))
    session.user("Fix all the valves.")
    for call in calls:
        session.add(Message(Role.ASSISTANT, (call,)))
        session.add(Message(Role.TOOL, (Result(call.id, (Text("done"),)),)))
    return session


def steps(call_id: str, count: int = 3) -> Call:
    return Call(
        call_id, "todowrite", {"todos": [{"content": f"Step {at}", "status": "pending"} for at in range(count)]}
    )


def pinned(session: Session) -> list[bool]:
    return [info.pinned for info in session.items.table() if info.kind is Kind.CALL]


def test_only_the_newest_list_of_those_with_one_id_is_held() -> None:
    """Some servers begin their ids anew with each answer: neither older lists nor other calls are meant."""
    session = session_of(steps("call_0"), Call("call_0", "bash", {"command": "make"}), steps("call_0"))
    session.add(Message(Role.ASSISTANT, (Call("call_0", "bash", {"command": "make"}),)))
    hold_list(session, "call_0", 10_000)
    assert pinned(session) == [False, False, True, False]


def test_a_list_is_let_go_when_it_takes_much_of_a_smaller_window() -> None:
    """It was held while the window was large."""
    session = session_of(steps("a", 100))
    hold_list(session, "a", 100_000)
    assert pinned(session) == [True]
    hold_list(session, "a", 2_000)
    assert pinned(session) == [False]


@pytest.mark.parametrize(("text", "is_read"), [
    (r'{"role":"assistant","content":"My explanation: a plan, and \"plans\"."}', False),
    (r'{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"plan\": []}"}}]}', True),
    (r'{"role": "assistant", "content": [{"type": "tool_use", "input": {"todos": []}}]}', True),
    (r'{"type":"function_call","arguments":"{\"plan\":[]}"}', True),
    (r'{"role":"user","content":"{\"plan\":[]}"}', False),
])  # fmt: skip
def test_only_what_has_the_name_of_such_an_argument_is_read(text: str, is_read: bool) -> None:
    """Words that merely contain it are in half of all answers."""
    assert may_have_list(text.encode()) is is_read


def boxes(run: int) -> str:
    return "\n".join(f"- [{'x' if at < run else ' '}] Look at valve {at}" for at in range(4))


def objects(run: int) -> list[dict[str, Any]]:
    return [{"id": at, "title": f"Look at valve {at}", "status": "done" if at < run else "open"} for at in range(4)]


def newest(*calls: tuple[str, dict[str, Any]]) -> str:
    """The id of the call whose list is the newest one; calls are counted from zero."""
    messages = [
        {"role": "assistant", "tool_calls": [
            {"id": str(at), "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}},
        ]}
        for at, (name, arguments) in enumerate(calls)
    ]  # fmt: skip
    return newest_list(FORMATS["/v1/chat/completions"], [json.dumps(message).encode() for message in messages])


@pytest.mark.parametrize("arguments", [
    {"checklist": boxes(1)}, {"todos": boxes(1).replace("- ", "")}, {"todoList": objects(1), "operation": "write"},
    {"path": "a.py", "content": "x", "task_progress": f"# Steps\n\n{boxes(1)}"},
])  # fmt: skip
def test_a_list_has_many_forms(arguments: dict[str, Any]) -> None:
    """Objects with a status, or lines with boxes; it is held at once where an agent is known by its name."""
    assert newest(("any", arguments), ("bash", {"command": "make"})) == "0"
    session = session_of(Call("0", "any", arguments))
    hold_list(session, "0", 10_000)
    assert pinned(session) == [True]


@pytest.mark.parametrize("of_run", [boxes, objects])
def test_under_another_name_a_list_is_what_is_given_anew(of_run: Any) -> None:
    """By the same tool, with steps that were there before."""
    assert newest(("steps", {"now": of_run(0)}), ("bash", {"command": "make"})) == ""
    assert newest(("steps", {"now": of_run(0)}), ("bash", {"command": "x"}), ("steps", {"now": of_run(2)})) == "2"
    assert newest(("steps", {"now": of_run(0)}), ("others", {"now": of_run(2)})) == ""
    session = session_of(Call("0", "steps", {"now": of_run(0)}), Call("1", "steps", {"now": of_run(2)}))
    hold_list(session, "1", 10_000)
    assert pinned(session) == [False, True]


@pytest.mark.parametrize("arguments", [
    {"path": "TODO.md", "content": boxes(0)}, {"command": f"cat > TODO.md <<EOF\n{boxes(0)}\nEOF"},
    {"file_path": "TODO.md", "old_string": boxes(0), "new_string": boxes(1)}, {"note": f"{boxes(0)}\n" + "text\n" * 9},
])  # fmt: skip
def test_what_only_has_boxes_is_no_list(arguments: dict[str, Any]) -> None:
    """A file, a command, a text of which some lines have them."""
    assert newest(("write", arguments), ("write", arguments)) == ""


@pytest.mark.parametrize(("text", "count"), [
    ("[ ] a\n[-] b\n[x] c", 3), ("1. [X] a\n2. [ ] b", 2), ("- [link](https://a.example) and\n- [b] c", 0),
    ("- a\n- b", 0), ("a[x] = 1\n[x] b", 0), ("[" * 50_000, 0), ("[ ]" * 10_000, 1), ([], 0), (["a"], 0), (None, 0),
])  # fmt: skip
def test_steps_have_boxes(text: Any, count: int) -> None:
    """A box is empty or has a mark in it."""
    assert len(steps_of(text)) == count
