"""Which call stays whole as the agent's own list of steps."""

import pytest

from sightline.follow.own_lists import hold_list, may_have_list
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
