"""Payloads as bytes: they say what is written in one go, and only what is new is written."""

import copy
import pickle
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_payloads import FORMATS, histories, payload, payloads, systems, tools

from sightline.errors import BadInput
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, WordCounter
from sightline.testing.wires import request_in_one_go
from sightline.values.items import Call, Message, Result, Role, Text, ToolDefinition
from sightline.wire import anthropic, openai_chat
from sightline.wire.payload import Payload, PrefixList

every_format = pytest.mark.parametrize("module", FORMATS, ids=lambda module: module.NAME)


def check_bytes(made: Payload, module: Any) -> None:
    """The bytes of a payload say what is written in one go, without anything kept."""
    assert msgspec.json.decode(made.json(module)) == request_in_one_go(made, module)


@every_format
@given(made=payloads)
def test_bytes_say_what_is_written_in_one_go(module: Any, made: Payload) -> None:
    """For every payload, with system messages, tools, windows and breakpoints."""
    check_bytes(made, module)


@every_format
@given(made=payloads)
def test_arguments_of_ones_own_are_part_of_the_bytes(module: Any, made: Payload) -> None:
    """They say what `write` says with them: they win, and a limit of one's own takes the place of the budget's."""
    own: dict[str, Any] = {"model": "m", "max_tokens": 7, "tools": []}
    assert msgspec.json.decode(made.json(module, **own)) == made.write(module, **own)


def test_arguments_that_cannot_be_sent_are_refused() -> None:
    """The messages are the payload's, and the rest must be JSON."""
    made = Payload((), (), PrefixList(turn(1)), (), (), None, "", 0)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="'messages' is what the payload is: pass other arguments"):
        made.json("openai", messages=[])
    with pytest.raises(BadInput, match="an argument of the request is no JSON"):
        made.json("openai", model=object())


steps = st.tuples(st.integers(0, 20), st.integers(0, 30), st.integers(0, 8))


@every_format
@given(units=histories.filter(bool), steps=st.lists(steps, max_size=8), system=systems, defined=tools)
def test_bytes_are_right_however_payloads_grow(
    module: Any,
    units: list[list[Message]],
    steps: list[tuple[int, int, int]],
    system: list[Message],
    defined: tuple[ToolDefinition, ...],
) -> None:
    """From each other, twice from the same one, from the middle of one, and when an earlier one is written again."""
    lists: list[PrefixList[Message]] = [PrefixList([])]
    made: list[Payload] = []
    for which, cut, place in steps:
        base, unit = lists[-1 - which % len(lists)], units[place % len(units)]
        first, rest = unit[: cut % 3], unit[cut % 3 :]  # a unit may come in two pieces, as a recall after its message
        lists.append(base.grown(first) if cut > len(base) else base.branch(cut, first))
        check_bytes(Payload((), (), lists[-1], (), (), None, "", 0), module)  # type: ignore[arg-type]
        lists.append(lists[-1].grown(rest))
        head = (tuple(system), defined) if place % 3 else ((), ())
        made.append(
            Payload(
                *head,
                lists[-1],
                (),
                (0, place, len(lists[-1])),
                None,
                "",
                0,
                (msgspec.json.encode(head),),  # type: ignore[arg-type]
            )
        )
        for each in (made[-1], made[cut % len(made)]):
            check_bytes(each, module)


def turn(number: int) -> list[Message]:
    """An assistant message with two calls and its results."""
    calls = (Call(f"a{number}", "look", {}), Call(f"b{number}", "look", {}))
    results = [Message(Role.TOOL, (Result(call.id, (Text(f"r{number}"),)),)) for call in calls]
    return [Message(Role.ASSISTANT, (Text(f"t{number}"), *calls)), *results]


@pytest.mark.parametrize("module", [openai_chat, anthropic], ids=lambda module: module.NAME)
def test_only_what_is_new_is_written(module: Any) -> None:
    """After one more turn only that turn is written, and at most what carries a cache marker, at every length."""
    written: list[Message] = []

    def write_messages(messages: Sequence[Message], breakpoints: Any = ()) -> list[dict[str, Any]]:
        written.extend(messages)
        return module.write_messages(messages, breakpoints)

    watched: Any = SimpleNamespace(**vars(module) | {"write_messages": write_messages})
    counts = []
    body: PrefixList[Message] = PrefixList([])
    for number in range(60):
        before, body = len(body), body.grown(turn(number))
        written.clear()
        made = Payload((), (), body, (), (0, before, len(body)), None, "", 0)  # type: ignore[arg-type]
        made.json(watched)
        counts.append(len(written))
        made.json(watched)
    assert len(set(counts[3:])) == 1
    assert counts[-1] <= 3 + 3 * module.BREAKPOINTS


def test_a_fork_keeps_what_was_written() -> None:
    """Of a payload that grows twice, as in a preview and a call, the common part is written once."""
    written: list[Message] = []

    def write_messages(messages: Sequence[Message], breakpoints: Any = ()) -> list[dict[str, Any]]:
        written.extend(messages)
        return openai_chat.write_messages(messages, breakpoints)

    watched: Any = SimpleNamespace(**vars(openai_chat) | {"write_messages": write_messages})
    base = PrefixList([message for number in range(20) for message in turn(number)])
    payload(()).json(watched)
    first, second = base.grown(turn(20)), base.grown(turn(21))
    for body in (base, first, second):
        Payload((), (), body, (), (), None, "", 0).json(watched)  # type: ignore[arg-type]
    third = second.branch(30, turn(22))
    written.clear()
    check_bytes(Payload((), (), third, (), (), None, "", 0), watched)  # type: ignore[arg-type]
    assert len(written) == 3 + len(third)  # the new turn, and all of them in one go for the comparison


def test_a_message_that_grows_is_written_again() -> None:
    """A recall that joins the last user message changes the bytes of that message, of earlier payloads not."""
    asked, recall = Message(Role.USER, (Text("a"),)), Message(Role.USER, (Text("b"),), merge_into_previous=True)
    base = PrefixList([asked])
    first = Payload((), (), base, (), (), None, "", 0)  # type: ignore[arg-type]
    assert first.json("openai") == b'{"messages":[{"role":"user","content":"a"}]}'
    grown = Payload((), (), base.grown([recall, *turn(1)]), (), (), None, "", 0)  # type: ignore[arg-type]
    assert grown.write("openai")["messages"][0]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]
    assert first.json("openai") == b'{"messages":[{"role":"user","content":"a"}]}'


def test_a_payload_can_be_copied() -> None:
    """What was written is not part of the copy, which says the same."""
    made = Payload((), (), PrefixList(turn(1)), (), (), None, "", 0)  # type: ignore[arg-type]
    said = made.json("openai")
    assert [each.json("openai") for each in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)))] == [said, said]


@pytest.mark.parametrize("window", [700, 100_000])
def test_bytes_are_right_through_sweeps_and_branches(window: int) -> None:
    """In a session with a preview before each call, sweeps, a fork and changed tools, for all payloads again."""
    made: list[Payload] = []
    with Session(MemoryStore("s"), token_counter=WordCounter()) as session:
        session.system("be brief")
        for number in range(30):
            session.user(f"question {number}: " + "why is that so? " * 8)
            if number == 12:
                session.tools([{"name": "look", "input_schema": {"type": "object"}}])
            made += [session.preview(Budget(window)), session.compose(Budget(window))]
            session.reply(f"answer {number}: " + "because it is. " * 10)
            for each in made[-3:]:
                for module in FORMATS:
                    check_bytes(each, module)
        reasons = {each.plan.reason for each in made}
        fork = session.fork([*session.items][-4].id)
        fork.user("and now?")
        made.append(fork.compose(Budget(window)))
    assert any("sweep" in reason for reason in reasons) == (window == 700)
    for each in made:
        for module in FORMATS:
            check_bytes(each, module)
