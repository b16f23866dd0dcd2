"""Arguments that are nested deeply: a model's reply can have them, and no session becomes unwritable by it."""

from typing import Any

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.errors import BadInput
from sightline.values.items import Call, Message, Role
from sightline.wire import common
from sightline.wire.common import DEEPEST, is_deep


def nested(levels: int) -> Any:
    """Objects within objects."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def text_of(levels: int) -> str:
    """The same as text."""
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(("levels", "deep"), [(1, False), (DEEPEST, False), (DEEPEST + 1, True), (50_000, True)])
def test_depth_is_measured_without_recursion(levels: int, deep: bool) -> None:
    """Up to a fixed depth arguments are values, beyond it they are text."""
    assert is_deep(nested(levels)) is deep
    if levels < 300:
        for arguments in (text_of(levels), nested(levels)):
            call = common.call_from("c", "look", arguments)
            assert (call.input is None, common.arguments_text(call)) == (deep, text_of(levels))


def chat(arguments: str) -> dict[str, Any]:
    """A reply of OpenAI's with a call."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": arguments}}
    return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}


@pytest.mark.parametrize("levels", [3, 100, 400, 900, 5_000])
def test_a_reply_with_deep_arguments_leaves_the_session_writable(levels: int) -> None:
    """In every format, also far down in a caller's stack; the text is sent back whole."""
    session = Session(MemoryStore("s"))
    session.user("look")
    session.reply(chat(text_of(levels)))
    session.tool_result("c", "seen")

    def written(down: int) -> list[Any]:
        if down:
            return written(down - 1)
        payload = session.compose(Budget(60_000))
        return [payload.write(name) for name in ("openai", "responses", "anthropic")]

    openai, _, anthropic = written(400)
    arguments = openai["messages"][1]["tool_calls"][0]["function"]["arguments"]
    given = anthropic["messages"][1]["content"][0]["input"]
    if levels < DEEPEST:
        assert (arguments, given) == (text_of(levels), nested(levels))
    else:
        assert given == {"_raw": text_of(levels)}
        assert text_of(levels) in arguments.replace("\\", "")


def test_a_log_that_has_deep_arguments_already_is_written_too() -> None:
    """As text, in the formats that have values."""
    session = Session(MemoryStore("s"))
    session.user("look")
    session.add(Message(Role.ASSISTANT, (Call("c", "look", nested(400)),)))
    session.tool_result("c", "seen")
    [*_, answered, _] = session.compose(Budget(60_000)).anthropic()["messages"]
    assert answered["content"][0]["input"] == {"_raw": text_of(400)}


def test_a_deep_reply_of_values_is_kept_or_refused() -> None:
    """Never by another error than ours."""
    for levels in (200, 900, 5_000):
        session = Session(MemoryStore("s"))
        session.user("look")
        block = {"type": "tool_use", "id": "c", "name": "look", "input": nested(levels)}
        try:
            session.reply({"type": "message", "role": "assistant", "content": [block]})
        except BadInput:
            continue
        session.tool_result("c", "seen")
        assert session.compose(Budget(60_000)).anthropic()["messages"]
