"""Wires of others: a wrong one breaks no other format, and an installed one is asked as a registered one is."""

from collections.abc import Callable, Iterator
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import pytest
from test_wire_detection import CHAT
from wire_payloads import payload

from sightline import wire
from sightline.errors import BadInput
from sightline.session.session import Session
from sightline.testing import MemoryStore
from sightline.values import foreign_code
from sightline.values.items import Call, Message, Opaque, Role, Text
from sightline.wire import anthropic, registry
from sightline.wire.wire import Head

Json = dict[str, Any]
HELLO = Message(Role.USER, (Text("hello"),))


def is_mine(value: Any) -> bool:
    """Whether a reply or a message is of the format below."""
    return isinstance(value, dict) and value.get("kind") == "mine"


def make(**hooks: Any) -> SimpleNamespace:
    """A format with blocks, replies and messages of its own, and with other hooks."""
    return SimpleNamespace(**vars(anthropic) | {
        "NAME": "mine",
        "recognises": is_mine,
        "recognises_block": lambda block: isinstance(block, dict) and block.get("type") == "my_text",
        "recognises_reply": is_mine,
        "recognises_tool": is_mine,
        "read": lambda messages, *, at=0: [Message(Role(each["role"]), (Text(each["text"]),)) for each in messages],
        "read_reply": lambda reply: Message(Role.ASSISTANT, (Text(reply["text"]),)),
    } | hooks)  # fmt: skip


def broken(*_: Any, **__: Any) -> Any:
    """A hook that fails."""
    raise ZeroDivisionError("a mistake")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No other wires, and no warning so far."""
    monkeypatch.setattr(registry, "REGISTERED", {})
    yield
    forget()


def forget() -> None:
    """As in a fresh process."""
    foreign_code._warned.clear()
    registry._offered.cache_clear()
    registry._loaded.cache_clear()


def install(monkeypatch: pytest.MonkeyPatch, load: Callable[[], Any]) -> None:
    """Install a package that offers the format."""
    offer = SimpleNamespace(name="mine", value="package.mine", load=load)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [offer] * (group == registry.GROUP))
    forget()


@pytest.mark.parametrize("hook", ["recognises", "recognises_block", "recognises_reply", "recognises_tool"])
@pytest.mark.parametrize("how", ["registered", "installed"])
def test_a_wire_that_raises_breaks_no_other_format(monkeypatch: pytest.MonkeyPatch, hook: str, how: str) -> None:
    """One warning names it and the hook; everything else is read as without it."""
    before = read_all()
    if how == "installed":
        install(monkeypatch, lambda: make(**{hook: broken}))
    else:
        registry.register(make(**{hook: broken}))
    with pytest.warns(RuntimeWarning, match=f"wire 'mine' raised in {hook}") as told:
        assert [read_all(), read_all()] == [before, before]
    assert len(told) == 1


def read_all() -> list[Any]:
    """A reply, a message, a tool and a block, some of them of no known format."""
    message = {"role": "user", "content": [{"type": "text", "text": "hi"}], "name": "Ann"}
    return [
        wire.read_reply(CHAT),
        wire.read_reply({"role": "assistant", "content": "hi"}),
        wire.read_messages([message, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}]),
        wire.read_tools([{"type": "odd", "name": "x"}]),
        wire.is_block({"type": "order"}),
        wire.is_block({"type": "text", "text": "hi"}),
    ]


def test_an_installed_wire_that_cannot_be_loaded_breaks_no_other_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error only if it is named."""
    before = read_all()
    install(monkeypatch, broken)
    with pytest.warns(RuntimeWarning, match="wire 'mine' is not used.*cannot be loaded.*a mistake") as told:
        assert read_all() == before
    assert len(told) == 1
    with pytest.raises(BadInput, match="cannot be loaded"):
        registry.wire("mine")


@pytest.mark.parametrize(
    ("hooks", "said"),
    [
        ({"read_reply": broken}, "wire 'mine': read_reply raised ZeroDivisionError"),
        ({"read_reply": lambda _: {"role": "assistant"}}, "wire 'mine': read_reply must give a Message"),
        ({"why_ended": broken}, "wire 'mine': why_ended raised"),
        ({"why_ended": lambda _: None}, "wire 'mine': why_ended must give a str"),
    ],
)
def test_a_wire_that_cannot_read_its_own_reply_is_named(hooks: Json, said: str) -> None:
    """By a BadInput, from which a program can go on; the reply of another format is read."""
    registry.register(make(**hooks))
    reply = {"kind": "mine", "text": "hey"}
    with pytest.raises(BadInput, match=said):
        wire.read_reply(reply), wire.why_ended(reply)
    assert (wire.read_reply(CHAT).model, wire.why_ended(CHAT)) == ("m", "")


@pytest.mark.parametrize("how", ["registered", "installed"])
def test_installed_and_registered_wires_are_equal(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Both are asked about a block of a result, a reply with a role, and a message with content."""
    if how == "installed":
        install(monkeypatch, make)
    else:
        registry.register(make())
    with Session(MemoryStore("s")) as session:
        session.add(Message(Role.ASSISTANT, (Call("c", "f", {}),)))
        session.tool_result("c", [{"type": "my_text", "t": "hello"}])
        replied = session.reply({"kind": "mine", "role": "assistant", "text": "hey"})
        session.extend([{"kind": "mine", "role": "user", "content": "-", "text": "said"}])
        items = [*session.items]
    assert isinstance(items[2].parts[0].parts[0], Opaque)  # type: ignore[union-attr]  # a block, not a tool's data
    assert next(item.parts for item in items if item.id == replied) == (Text("hey"),)
    assert items[-1].parts == (Text("said"),)


def test_what_cannot_be_read_names_every_format() -> None:
    """Those that this program has registered too."""
    registry.register(make())
    with pytest.raises(BadInput, match="in a known format: openai, anthropic, responses, gemini, mine"):
        wire.read_reply({"odd": 1})


def test_a_class_is_no_wire() -> None:
    """An object of it is."""
    kind = type("Mine", (), vars(make()))
    with pytest.raises(BadInput, match=r"the wire is a class; pass an object of it: Mine\(\)"):
        registry.register(kind)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="is a class"):
        payload([HELLO]).json(kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hooks", "said"),
    [
        (
            {"write_messages": lambda *_: "text"},
            "write_messages must return a list .*, each a dict, not 'text'",
        ),
        ({"write_messages": lambda *_: ["text"]}, r"write_messages must return a list .*, not \['text'\]"),
        ({"write_messages": lambda *_: {"role": "user"}}, "write_messages must return a list"),
        ({"write_messages": lambda *_: None}, "write_messages must return a list .*, not None"),
        ({"write_messages": lambda *_: [{"file": object()}]}, "writes what is no JSON"),
        (
            {"write_head": lambda *_, **__: {"system": "be brief"}},
            r"must return a Head\(messages, arguments\)",
        ),
        ({"write_head": lambda *_, **__: Head("text", {})}, "write_head must return a list of messages"),
        ({"write_head": lambda *_, **__: Head([], [])}, "write_head must return a Head"),
        ({"write_head": lambda *_, **__: Head([], {"tools": {1, 2}.__iter__()})}, "writes what is no JSON"),
    ],
)
def test_what_is_no_list_of_messages_is_refused(hooks: Json, said: str) -> None:
    """Instead of a request that is no JSON: the error names the wire, the hook and what it must return."""
    assert payload([HELLO]).write(make())["messages"]
    with pytest.raises(BadInput, match=f"wire 'mine':? .*{said}"):
        payload([HELLO]).json(make(**hooks))
