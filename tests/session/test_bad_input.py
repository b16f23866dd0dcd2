"""One test per row of docs/errors.md, named after it: what bad input meets, and that nothing stored is lost by it."""

import copy
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from errno import ENOSPC
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_postgres import Unreliable

from postgres_server import running
from sightline.errors import (
    BadInput,
    BadSessionId,
    Conflict,
    Damaged,
    Locked,
    OpenCalls,
    PinnedOverflow,
    SessionClosed,
    SessionNotFound,
    SightlineError,
    StoreError,
    Unconfirmed,
    UnknownCall,
    UnknownItem,
    Unsynced,
    Unwritable,
)
from sightline.fleet.postgres import PostgresStore
from sightline.log import entries
from sightline.log.stores import jsonl
from sightline.log.stores.disk import OsFile
from sightline.log.stores.session_folder import Folder
from sightline.plan.plan import Plan
from sightline.plan.view import Budget, View
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter, numbered_ids
from sightline.values import file_lock
from sightline.values.items import Blob, Call, Kind, Message, Result, Role, Text
from sightline.values.settings import Settings

TABLE = Path(__file__).parents[2] / "docs" / "errors.md"
HARSH = Path(__file__).parents[1] / "hostile" / "harsh.py"
BUDGET = Budget(window=10_000)

Open = Callable[[], Session]


def new(**options: Any) -> Session:
    """A session in memory."""
    return Session(MemoryStore("m"), token_counter=WordCounter(), clock=Ticking(), ids=numbered_ids(), **options)


def calls(*ids: str, arguments: Any = "{}") -> dict[str, Any]:
    """An assistant's message with calls of these ids."""
    made = [{"id": name, "type": "function", "function": {"name": "read", "arguments": arguments}} for name in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def answers(call_id: str, text: str = "output") -> dict[str, Any]:
    """A tool's message."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def waiting(*ids: str) -> Session:
    """A session in which these calls wait."""
    session = new()
    session.user("Read it.")
    session.reply({"choices": [{"message": calls(*(ids or ("c1",)))}]})
    return session


def kinds(session: Session) -> list[Kind]:
    """Of every item."""
    return [item.kind for item in session.items]


def said(session: Session) -> list[str]:
    """What every item says."""
    return [session.items.text(item.id) for item in session.items]


def refused(error: type[SightlineError], action: Callable[[], object], *words: str) -> str:
    """The message of the error that this must raise, which must hold these words."""
    with pytest.raises(error) as caught:
        action()
    assert type(caught.value) is error
    message = str(caught.value)
    for word in words:
        assert word in message
    return message


def adds_nothing(session: Session, error: type[SightlineError], action: Callable[[], object], *words: str) -> str:
    """The same, and the log is as it was."""
    store = session.log.store
    before = [line.data for line in store.scan()]
    message = refused(error, action, *words)
    assert [line.data for line in store.scan()] == before
    return message


# ---------------------------------------------------------------------- the table


def test_table_and_tests_correspond() -> None:
    """Every row has its test, every test its row, and no row stands twice."""
    rows = re.findall(r"^\| (?!What |---)([^|]+?) \|", TABLE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    names = ["test_" + re.sub(r"[^a-z0-9]+", "_", row.lower()).strip("_") for row in rows]
    tests = [name for name in globals() if name.startswith("test_") and name != "test_table_and_tests_correspond"]
    assert sorted(names) == sorted(tests)
    assert len(set(names)) == len(names) > 70


# ---------------------------------------------------------------------- messages, replies, tools


def test_a_call_without_a_result_in_a_message_list() -> None:
    """It gets a result that says it was interrupted, when somebody speaks next or the session composes."""
    for later in ([], [{"role": "user", "content": "go on"}]):
        session = new()
        session.extend([{"role": "user", "content": "q"}, calls("c1", "c2"), answers("c2"), *later])
        assert ("[interrupted: no result]" in said(session)) == bool(later)
        assert len(session.compose(BUDGET).openai()["messages"]) == 4 + len(later)
        assert said(session).count("[interrupted: no result]") == 1


def test_a_result_without_a_call_in_a_message_list() -> None:
    """It is kept, as what it is, on the user's side."""
    session = new()
    session.extend([answers("ghost", "what it found")])
    assert kinds(session) == [Kind.USER]
    assert "ghost" in said(session)[0]
    assert "what it found" in said(session)[0]


def test_a_second_result_for_one_call_in_a_message_list() -> None:
    """The first one answers the call, the second one is kept."""
    session = new()
    session.extend([calls("c1"), answers("c1", "first"), answers("c1", "second")])
    assert kinds(session) == [Kind.ASSISTANT, Kind.CALL, Kind.RESULT, Kind.USER]
    assert said(session)[2] == "first"
    assert "second" in said(session)[3]


def test_two_calls_with_the_same_id() -> None:
    """Each gets its own result, and no provider sees an id twice."""
    session = new()
    session.extend([calls("same"), answers("same", "one"), calls("same"), answers("same", "two")])
    messages = session.compose(BUDGET).openai()["messages"]
    asked = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert asked == answered
    assert len(set(asked)) == 2


def test_arguments_that_are_not_json() -> None:
    """They are sent back as the model wrote them, as the one field of an object."""
    session = new()
    session.extend([calls("c1", arguments='{"path": "a.py'), answers("c1")])
    (asked,) = session.compose(BUDGET).openai()["messages"][0]["tool_calls"]
    assert json.loads(asked["function"]["arguments"]) == {"_raw": '{"path": "a.py'}


def test_arguments_nested_more_than_64_levels_deep() -> None:
    """They are text from the start, so that no payload has to copy them."""
    session = new()
    arguments = '{"a":' * 65 + "1" + "}" * 65
    session.extend([calls("c1", arguments=arguments), answers("c1")])
    (asked,) = session.compose(BUDGET).openai()["messages"][0]["tool_calls"]
    assert json.loads(asked["function"]["arguments"]) == {"_raw": arguments}


def test_an_unknown_role() -> None:
    """The error names the message and the roles; the good messages before it are not added either."""
    session = new()
    messages = [{"role": "user", "content": "good"}, {"role": "robot", "content": "beep"}]
    adds_nothing(session, BadInput, lambda: session.extend(messages), "messages[1]", "'robot'", "assistant")


@pytest.mark.parametrize("bad", [None, 5, "text", [], [[]], {}, {"content": "x"}, {"role": None, "content": "x"}])
def test_a_message_of_the_wrong_type(bad: Any) -> None:
    """The error names it by its index; the good messages before it are not added either."""
    session = new()
    messages = [{"role": "user", "content": "good"}, bad]
    adds_nothing(session, BadInput, lambda: session.extend(messages), "messages[1]", "accepted:")


@pytest.mark.parametrize("bad", [None, 5, True, {}, {"a": 1}, [None], [5], [["x"]], [{"type": None}], object()])
def test_content_of_the_wrong_type(bad: Any) -> None:
    """Whoever says it, nothing is added."""
    session = new()
    for say in (
        session.user,
        session.system,
        *([session.assistant] if bad is not None else ()),
    ):  # calls alone say None
        adds_nothing(session, BadInput, lambda say=say: say(bad), "accepted:")  # type: ignore[misc]
    adds_nothing(session, BadInput, lambda: session.extend([{"role": "user", "content": bad}]), "accepted:")


@pytest.mark.parametrize("bad", [None, 5, "text", b"text", {"role": "user", "content": "x"}])
def test_something_that_is_not_a_message_list(bad: Any) -> None:
    """Also a single message is no list of messages."""
    session = new()
    adds_nothing(session, BadInput, lambda: session.extend(bad), "a list of messages")


def test_an_empty_message_list() -> None:
    """Nothing is added, and nothing is wrong."""
    session = new()
    assert session.extend([]) == []
    assert len(session.items) == 0
    assert session.compose(BUDGET).openai() == {"messages": []}


@pytest.mark.parametrize("empty", ["", b"", []])
def test_an_empty_message(empty: Any) -> None:
    """It is kept empty, and sent as something the provider accepts."""
    session = new()
    item = session.user(empty)
    assert session.items.text(item) == ""
    payload = session.compose(BUDGET)
    assert payload.openai()["messages"] == [{"role": "user", "content": ""}]
    assert payload.anthropic()["messages"][0]["content"][0]["text"] == "[empty]"


def test_a_message_nested_too_deeply() -> None:
    """Ten thousand lists in each other are an error, not a crash."""
    nested: Any = "x"
    for _ in range(10_000):
        nested = [nested]
    session = new()
    adds_nothing(session, BadInput, lambda: session.extend([{"role": "user", "content": nested}]), "hand in")
    adds_nothing(session, BadInput, lambda: session.user(nested), "hand in")
    adds_nothing(session, BadInput, lambda: session.reply({"choices": nested}), "hand in")


CHAT: list[Any] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": [
        {"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "https://x", "detail": "low"}},
        {"type": "file", "file": {"file_id": "f", "filename": "n"}},
    ]},
    {**calls("c1", arguments='{"a":1}'), "name": "n", "refusal": None},
    {"role": "tool", "tool_call_id": "c1", "content": "out", "name": "f"},
    {"role": "assistant", "content": None, "function_call": {"name": "h", "arguments": "{}"}},
    {"role": "function", "name": "h", "content": "r"},
]  # fmt: skip
ANTHROPIC: list[Any] = [
    {"role": "user", "content": [
        {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "zz"}, "title": "t"},
    ]},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "h", "signature": "s"}, {"type": "text", "text": "x", "citations": [{"a": 1}]},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "o"}], "is_error": True},
    ]},
]  # fmt: skip
RESPONSES: list[Any] = [
    {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": "u", "detail": "low"},
        {"type": "input_file", "file_data": "data:text/plain;base64,eA==", "filename": "f"},
    ]},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "t"}], "encrypted_content": "e"},
    {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
    {"type": "function_call_output", "call_id": "c", "output": "o"},
    {"type": "message", "role": "assistant", "id": "m", "content": [
        {"type": "output_text", "text": "t", "annotations": []}, {"type": "refusal", "refusal": "no"},
    ]},
]  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*at, key)
        yield from places(value[key], (*at, key))


def exchanged(value: Any, place: tuple[Any, ...], instead: Any) -> Any:
    """A copy with one value replaced, or left out where it is to be `...`."""
    value = copy.deepcopy(value)
    inside = value
    for key in place[:-1]:
        inside = inside[key]
    if instead is ...:
        del inside[place[-1]]
    else:
        inside[place[-1]] = instead
    return value


strange = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4),
    st.sampled_from(["\ud800", b"\xff", [], {}, [[]], [None], {"type": "text"}, {"a": {}}, 1 << 70, "[", "text", ...]),
)  # fmt: skip


@pytest.mark.slow
@given(
    case=st.sampled_from([(seed, place) for seed in (CHAT, ANTHROPIC, RESPONSES) for place in places(seed)]),
    instead=strange,
)
def test_a_message_list_with_any_value_replaced_by_another(
    case: tuple[list[Any], tuple[Any, ...]], instead: Any
) -> None:
    """It is refused whole, or kept, read back the same, and sent to any provider."""
    store = MemoryStore("m")
    session = Session(store, token_counter=WordCounter())
    try:
        session.extend(exchanged(*case, instead))
    except BadInput:
        assert len(session.items) == 0
        return
    payload = session.compose(Budget(window=100_000))
    for written in (payload.openai(), payload.anthropic(), payload.responses()):
        assert json.dumps(written)
    again = Session(store, token_counter=WordCounter())
    assert list(again.items) == list(session.items)


@pytest.mark.parametrize(
    "bad",
    [
        "text",
        None,
        Message(Role.TOOL, ()),
        Message(Role.TOOL, (Text("x"),)),
        Message(Role.USER, (Call("a", "b"),)),
        Message(Role.ASSISTANT, (Result("a", ()),)),
        Message("robot", (Text("x"),)),  # type: ignore[arg-type]
        Message(Role.USER, ("x",)),  # type: ignore[arg-type]
        Message(Role.USER, (Text(5),)),  # type: ignore[arg-type]
        Message(Role.USER, None),  # type: ignore[arg-type]
        Message(Role.USER, (Text("\ud800"),)),
    ],
)
def test_an_invalid_message_for_session_add(bad: Any) -> None:
    """A value made by hand is checked like anything else."""
    session = new()
    adds_nothing(session, BadInput, lambda: session.add(bad))


@pytest.mark.parametrize(
    "bad",
    [
        None, 5, [], {}, object(), {"role": "user", "content": "x"}, {"choices": []}, {"choices": [{"message": None}]},
        {"type": "message", "role": "assistant", "content": [5]},
        {"choices": [{"message": {"role": "assistant", "tool_calls": 5}}]},
    ],
)  # fmt: skip
def test_a_reply_that_cannot_be_read(bad: Any) -> None:
    """Nothing is added, and the same payload can still be answered."""
    session = new()
    session.user("q")
    session.compose(BUDGET)
    adds_nothing(session, BadInput, lambda: session.reply(bad), "accepted:")
    session.reply("A real one.")


@pytest.mark.parametrize(
    "usage", [5, "x", [], {"prompt_tokens": "many"}, {"prompt_tokens": -1.5}, {"prompt_tokens": {}}]
)
def test_a_reply_with_invalid_usage(usage: Any) -> None:
    """A reply is not lost for how it was counted."""
    session = new()
    session.user("q")
    session.compose(BUDGET)
    item = session.reply({"choices": [{"message": {"role": "assistant", "content": "answer"}}], "usage": usage})
    assert session.items.text(item) == "answer"
    session.compose(BUDGET)


@pytest.mark.parametrize("bad", [None, 5, "read", {"name": "read"}, [None], [5], [{}], [{"name": 5}], [object()]])
def test_invalid_tool_definitions(bad: Any) -> None:
    """The tools that were said before stay."""
    session = new()
    session.tools([{"name": "read", "input_schema": {"type": "object"}}], recall=False)
    adds_nothing(session, BadInput, lambda: session.tools(bad), "tools", "accepted:")
    assert [tool.name for tool in session.compose(BUDGET).tools] == ["read"]


def test_an_id_or_name_that_is_not_valid_unicode() -> None:
    """What must be found again by its text must be text."""
    session = new()
    session.user("q")
    adds_nothing(session, BadInput, lambda: session.reply({"choices": [{"message": calls("\ud800")}]}), "valid text")
    adds_nothing(session, BadInput, lambda: session.extend([calls("\udfff")]), "valid text")
    tools = [{"name": "\ud800", "input_schema": {"type": "object"}}]
    adds_nothing(session, BadInput, lambda: session.tools(tools), "valid text")


# ---------------------------------------------------------------------- text and bytes


def test_bytes_that_are_not_utf_8() -> None:
    """The bytes are in the log; the model sees replacement characters."""
    session = new()
    item = session.user(b"caf\xe9")
    assert session.items[item].parts == (Blob(b64encode(b"caf\xe9").decode()),)
    (message,) = session.compose(BUDGET).openai()["messages"]
    assert message["content"] == "caf\ufffd"


def test_lone_surrogates_beside_messages() -> None:
    """In a tool's error, a query, a summary, and what a strategy says, they are replaced; nothing breaks."""

    class Strategy:
        name = "half"

        def plan(self, view: View) -> Plan:
            return Plan.swept(view, list(view.candidates()), {}, {}, reason="half \ud800", says="half \ud83d")

    session = Session(MemoryStore("s"), token_counter=WordCounter(), strategy=Strategy())
    first = session.user("What is the sea like? " * 20)
    session.assistant("It is calm. " * 60)
    session.reply({"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "look", "arguments": "{}"}}]})
    last = session.tool_result("c", "x", error="half \ud800")
    (part,) = session.items[last].parts
    assert isinstance(part, Result)
    assert part.error == "half ?"
    assert session.items.recall("sea \ud800")
    session.user("And now?")
    payload = session.compose(Budget(4_000))
    assert payload.plan.reason == "half ?"
    session.reply("Calm.")
    session.user("Thanks.")
    session.summaries.cover(first, last, "It is \ud800 calm.")
    assert b"It is ? calm." in session.compose(Budget(4_000)).json("openai")


def test_text_with_lone_surrogates() -> None:
    """The string is in the log; the model sees replacement characters."""
    session = new()
    item = session.user("half \ud83d a pair")
    assert session.items[item].parts == (
        Blob(b64encode("half \ud83d a pair".encode("utf-8", "surrogatepass")).decode(), surrogates=True),
    )
    assert "\ufffd" in session.items.text(item)
    assert json.dumps(session.compose(BUDGET).openai(), ensure_ascii=False).encode()


def test_text_with_nul_characters() -> None:
    """A NUL is a character like any other, in the log, in the search index and on the wire."""
    session = new()
    item = session.user("before\0after zebra")
    assert session.items.text(item) == "before\0after zebra"
    assert [found.id for found in session.items.search("zebra")] == [item]
    assert session.compose(BUDGET).openai()["messages"][0]["content"] == "before\0after zebra"


class Shown:
    """A window that shows this."""

    def __init__(self, text: str) -> None:
        self._text = text

    def render(self) -> str:
        """See `Window`."""
        return self._text


def test_a_window_that_shows_invalid_text() -> None:
    """What is shown can be sent, kept and made again."""
    session = new(windows={"w": Shown("half \ud83d")})
    session.user("q")
    session.windows.show("w")
    (message,) = session.compose(BUDGET).tail
    assert message.parts == (Text("half ?"),)


@pytest.mark.parametrize("bad", ["\ud800", None, 5])
def test_a_window_id_that_is_not_valid_unicode(bad: Any) -> None:
    """Opening and closing it are refused alike."""
    session = new()
    adds_nothing(session, BadInput, lambda: session.windows.show(bad), "valid text")
    adds_nothing(session, BadInput, lambda: session.windows.close(bad), "valid text")


# ---------------------------------------------------------------------- tool results


def harsh(mode: str, *arguments: object) -> dict[str, Any]:
    """What a program under harsh conditions met. See hostile/harsh.py."""
    command = [sys.executable, str(HARSH), mode, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [30, pytest.param(1024, marks=pytest.mark.soak)])
def test_a_huge_tool_result(tmp_path: Path, megabytes: int) -> None:
    """In an address space of nine times its size it is kept, shown shortened, found, and brought back by the page."""
    report = harsh("huge", tmp_path, megabytes)
    assert report["same"]
    assert report["tokens"] < 32_000
    assert report["page"].startswith("[#")
    assert "lines 1000" in report["page"]
    assert report["found"] == 1


@pytest.mark.parametrize("bad", [object(), {"a": object()}, Path("/x"), {("a",): 1}])
def test_a_tool_output_that_is_not_a_json_value(bad: Any) -> None:
    """The call stays open and can be answered properly."""
    session = waiting()
    adds_nothing(session, BadInput, lambda: session.tool_result("c1", bad))
    session.tool_result("c1", "proper")


def test_a_tool_output_that_contains_itself() -> None:
    """No end means no value."""
    session = waiting()
    endless: list[Any] = []
    endless.append(endless)
    adds_nothing(session, BadInput, lambda: session.tool_result("c1", endless), "JSON values")
    session.tool_result("c1", "proper")


def test_a_tool_output_with_file_names_that_are_not_valid_unicode() -> None:
    """A listing of a directory with an odd name in it is no reason to lose the listing."""
    session = waiting()
    item = session.tool_result("c1", {"files": [os.fsdecode(b"caf\xe9.txt"), "plain.txt"]})
    assert "plain.txt" in session.items.text(item)
    assert "\ufffd" in session.items.text(item)
    session.compose(BUDGET)


def test_a_result_for_an_unknown_call() -> None:
    """The error names the calls that wait."""
    session = waiting("c1", "c2")
    adds_nothing(session, UnknownCall, lambda: session.tool_result("c3", "x"), "'c3'", "'c1', 'c2'")
    adds_nothing(session, UnknownCall, lambda: session.tool_result(None, "x"), "'c1', 'c2'")  # type: ignore[arg-type]


def test_a_second_result_for_the_same_call() -> None:
    """The first result is the result."""
    session = waiting()
    item = session.tool_result("c1", "first")
    adds_nothing(session, UnknownCall, lambda: session.tool_result("c1", "second"), "has its result already")
    assert session.items.text(item) == "first"


def test_a_result_for_an_interrupted_call() -> None:
    """It comes late, but it is not lost."""
    session = waiting()
    session.interrupt()
    item = session.tool_result("c1", "better late")
    assert session.items[item].kind is Kind.USER
    assert "better late" in session.items.text(item)
    session.compose(BUDGET)


# ---------------------------------------------------------------------- composing


def test_calls_without_results() -> None:
    """The error names them and both ways out; either works."""
    session = waiting("c1", "c2")
    adds_nothing(session, OpenCalls, lambda: session.compose(BUDGET), "'c1', 'c2'", "tool_result", "interrupt()")
    session.tool_result("c1", "one")
    session.interrupt()
    session.compose(BUDGET)


@pytest.mark.parametrize(
    "nonsense",
    [
        {"window": 0}, {"window": -1}, {"window": 10, "output": 10}, {"window": 10, "output": 11},
        {"window": 10, "output": -1}, {"window": "10"}, {"window": None}, {"window": 1.5}, {"window": float("inf")},
        {"window": 10, "output": "1"}, {"window": 10, "trigger": 2}, {"window": 10, "trigger": "x"},
        {"window": 10, "target": 0.96}, {"window": 10, "target": float("nan")}, {"window": 10, "recall": -0.1},
    ],
)  # fmt: skip
def test_an_invalid_budget(nonsense: dict[str, Any]) -> None:
    """It cannot even be made."""
    refused(BadInput, lambda: Budget(**nonsense), "a budget")


@pytest.mark.parametrize("bad", [None, 8000, "8000", {"window": 8000}])
def test_a_number_instead_of_a_budget(bad: Any) -> None:
    """The error shows what a budget looks like."""
    session = new()
    session.user("q")
    adds_nothing(session, BadInput, lambda: session.compose(bad), "Budget(window=")
    adds_nothing(session, BadInput, lambda: session.preview(bad), "Budget(window=")


def test_pinned_items_larger_than_the_budget() -> None:
    """The error names each, its size and the shortfall; after unpinning it composes."""
    session = new()
    pinned = [session.user("word " * 300) for _ in range(2)]
    for item in pinned:
        session.items.pin(item)
    message = adds_nothing(
        session, PinnedOverflow, lambda: session.compose(Budget(window=400)), f"#{pinned[0]}", f"#{pinned[1]}", "unpin"
    )
    assert "300 tokens" in message
    session.items.unpin(pinned[0])
    session.compose(Budget(window=400))


def test_a_system_prompt_larger_than_the_budget() -> None:
    """The error says how large it is and by how much it is too large."""
    session = new()
    session.system("word " * 500)
    session.user("q")
    with pytest.raises(PinnedOverflow, match="larger window") as caught:
        session.compose(Budget(window=400))
    assert caught.value.short_by > 100
    session.compose(Budget(window=800))


@pytest.mark.slow
def test_a_message_larger_than_the_context_window() -> None:
    """It is shown shortened, with its handle, and brought back by it."""
    session = new()
    session.tools([])  # with `expand`, items have handles
    item = session.user("\n".join(f"line {number} of a long question" for number in range(5000)))
    payload = session.compose(Budget(window=1000))
    assert payload.tokens <= 1000
    assert f"#{item}" in json.dumps(payload.openai())
    assert "line 4000 of" in session.items.expand(item, start=4000)


@pytest.mark.parametrize("bad", ["99", "#99", 99, "2.7", "abc", "", "-1", None, 1.5, "9" * 5000])
def test_an_unknown_item_id(bad: Any) -> None:
    """Whatever is asked of it, nothing is written."""
    session = new()
    session.user("q")
    for ask in (
        session.items.__getitem__,
        session.items.text,
        session.items.expand,
        session.items.pin,
        session.items.unpin,
        session.items.collapse,
        session.fork,
    ):
        adds_nothing(session, UnknownItem, lambda ask=ask: ask(bad), "session.items")  # type: ignore[misc]


@pytest.mark.parametrize("bad", [{"start": 0}, {"start": -1}, {"lines": 0}, {"lines": -1}])
def test_a_range_of_lines_that_starts_before_the_first_or_has_none(bad: dict[str, int]) -> None:
    """Neither `expand` nor `page` takes it for another range, and nothing is written."""
    session = new()
    item = session.user("one\ntwo\nthree")
    wrong = f"={next(iter(bad.values()))}"
    adds_nothing(session, BadInput, lambda: session.items.expand(item, **bad), "from 1 on", "as many as fit", wrong)
    adds_nothing(session, BadInput, lambda: session.items.page(item, 100, **bad), "from 1 on")
    assert "two" in session.items.expand(item, start=2, lines=1)


def test_an_unknown_branch(tmp_path: Path) -> None:
    """The error lists those there are."""
    session = Session.new(tmp_path, root=tmp_path, session_id="s", token_counter=WordCounter())
    session.user("q")
    session.close()
    resume = {"root": tmp_path, "token_counter": WordCounter()}
    refused(BadInput, lambda: Session.resume("s", tmp_path, branch="ghost", **resume), "'ghost'", "'main'")


# ---------------------------------------------------------------------- settings


def names_choices(field: str, value: str, *choices: str) -> None:
    """Refused for a new session, which is not made, and for a running one, which goes on as it was."""
    wrong = Settings(**{field: value})  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder:
        refused(BadInput, lambda: Session.new(folder, root=folder, settings=wrong), value, *choices)
        assert list(Path(folder).iterdir()) == []
    refused(BadInput, lambda: new(settings=wrong), value, *choices)
    session = new()
    session.user("q")
    if field != "encoding":
        adds_nothing(session, BadInput, lambda: session.configure(**{field: value}), value, *choices)
        assert getattr(session.settings, field) != value
        session.compose(BUDGET)


def test_an_unknown_locale() -> None:
    """The error names those we speak."""
    names_choices("locale", "xx", "en", "zh")


def test_an_unknown_encoding() -> None:
    """The error names those we count with."""
    names_choices("encoding", "klingon", "o200k_base", "estimate")


def test_an_unknown_layout() -> None:
    """The error names those there are."""
    names_choices("layout", "spiral", "stable", "contextui")


def test_an_unknown_strategy() -> None:
    """The error names those there are."""
    names_choices("strategy", "wishful", "focus", "sliding")


def test_an_unknown_profile() -> None:
    """The error names those there are."""
    names_choices("profile", "abacus", "openai", "anthropic")


@pytest.mark.parametrize("bad", [{"bogus": 1}, {"economy": "many"}, 5])
def test_a_configuration_that_the_strategy_does_not_accept(bad: Any) -> None:
    """The strategy goes on as it was."""
    session = new()
    session.user("q")
    adds_nothing(session, BadInput, lambda: session.configure(config=bad))
    assert session.settings.config == {}


def test_a_setting_that_does_not_exist() -> None:
    """Also the encoding, which a log keeps for life, cannot be changed."""
    session = new()
    session.user("q")
    for change in ({"colour": "blue"}, {"encoding": "cl100k_base"}, {"format": 2}):
        adds_nothing(session, BadInput, lambda change=change: session.configure(**change), "locale, layout")  # type: ignore[misc]


@pytest.mark.parametrize("field", ["locale", "encoding", "layout", "strategy", "profile"])
@pytest.mark.parametrize("bad", [None, 5, []])
def test_a_setting_of_the_wrong_type(field: str, bad: Any) -> None:
    """Neither a new nor a running session takes it."""
    refused(BadInput, lambda: new(settings=Settings(**{field: bad})))
    session = new()
    session.user("q")
    adds_nothing(session, BadInput, lambda: session.configure(**{field: bad}))


# ---------------------------------------------------------------------- sessions and where they lie


def no_id(folder: Path, bad: Any) -> None:
    """Refused wherever an id is taken, with what one may be; nothing is made, inside the folder or outside."""
    inside = folder / "inside"
    for use in (
        lambda: Session.new(folder, root=inside, session_id=bad),
        lambda: Session.resume(bad, folder, root=inside),
        lambda: Folder(folder, inside).delete(bad),
    ):
        refused(BadSessionId, use, "1 to 128 letters")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("bad", ["a/b", "/etc/passwd", "..\\x", "../../x", "a\0b", "a\n"])
def test_a_session_id_with_path_separators(tmp_path: Path, bad: str) -> None:
    """No id leads out of the folder."""
    no_id(tmp_path, bad)


@pytest.mark.parametrize("bad", [".", "..", "...", ".hidden", "a..b"])
def test_a_session_id_of_dots(tmp_path: Path, bad: str) -> None:
    """No id hides, and none is another directory."""
    no_id(tmp_path, bad)


def test_an_empty_session_id(tmp_path: Path) -> None:
    """Empty is not the same as none."""
    no_id(tmp_path, "")


def test_a_session_id_that_is_too_long(tmp_path: Path) -> None:
    """With its suffix it must be a file name on every system."""
    no_id(tmp_path, "x" * 129)


@pytest.mark.parametrize("bad", ["ü", "会话", "a\u202eb", "\ud800"])
def test_a_session_id_that_is_not_ascii(tmp_path: Path, bad: str) -> None:
    """File systems disagree about such names."""
    no_id(tmp_path, bad)


@pytest.mark.parametrize("bad", [5, b"s", Path("s")])
def test_a_session_id_that_is_not_text(tmp_path: Path, bad: Any) -> None:
    """Only text is an id."""
    no_id(tmp_path, bad)


def test_an_unknown_session_id(tmp_path: Path) -> None:
    """The error says where it was looked for; looking makes nothing."""
    where = str(Folder(tmp_path, tmp_path).path)
    listing = f"`sightline --project {tmp_path} sessions`"
    refused(SessionNotFound, lambda: Session.resume("ghost", tmp_path, root=tmp_path), "'ghost'", where, listing)
    assert list(tmp_path.iterdir()) == []


def test_the_id_of_a_session_that_exists_already(tmp_path: Path) -> None:
    """The session there is stays as it is."""
    with Session.new(tmp_path, root=tmp_path, session_id="s") as session:
        session.user("q")
    before = Folder(tmp_path, tmp_path).file("s").read_bytes()
    advised = f"Session.resume('s', project='{tmp_path}')"
    refused(BadInput, lambda: Session.new(tmp_path, root=tmp_path, session_id="s"), advised)
    assert Folder(tmp_path, tmp_path).file("s").read_bytes() == before


def test_a_project_whose_path_is_longer_than_a_file_name_may_be(tmp_path: Path) -> None:
    """Deep projects have sessions too."""
    deep = tmp_path / ("d" * 100) / ("e" * 100) / ("f" * 100)
    deep.mkdir(parents=True)
    with Session.new(deep, root=tmp_path, session_id="s") as session:
        session.user("q")
    assert len(Session.open(deep, root=tmp_path).items) == 1
    assert Folder(deep / "other", tmp_path).sessions() == []


def test_a_project_whose_path_is_not_valid_unicode(tmp_path: Path) -> None:
    """A path may hold any byte; entries, being JSON, say it as far as it can be said."""
    project = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    Path(project).mkdir()
    with Session.new(project, root=tmp_path, session_id="s") as session:
        session.user("q")
    assert len(Session.open(project, root=tmp_path).items) == 1


# ---------------------------------------------------------------------- damaged and foreign logs


class Log:
    """A session's file, whole, to be damaged; and what its session says then."""

    def __init__(self, root: Path) -> None:
        self.root = root
        with Session.new(root, root=root, session_id="s", token_counter=WordCounter(), ids=numbered_ids()) as session:
            session.system("Be brief.")
            for turn in range(4):
                session.user(f"question {turn}")
                session.compose(BUDGET)
                session.reply({"choices": [{"message": {**calls(f"a{turn}", f"b{turn}"), "content": "Look."}}]})
                session.tool_result(f"a{turn}", f"output of a{turn}")
                session.tool_result(f"b{turn}", "\n".join(f"line {line} of b{turn}" for line in range(200)))
                session.compose(BUDGET)
                session.reply(f"answer {turn}")
            self.said = said(session)
        self.path = Folder(root, root).file("s")
        self.whole = self.path.read_bytes()
        self.lines = self.whole.splitlines(keepends=True)

    def side(self, suffix: str) -> Path:
        """A file beside it."""
        return self.path.with_suffix(suffix)

    def write(self, data: bytes, *, index: bool = False, unseen: bool = False) -> None:
        """Make the file this; the index, made of the whole one, is kept only if wanted.

        `unseen`: the file's time does not tell.
        """
        status = self.path.stat()
        self.path.write_bytes(data)
        if unseen:
            os.utime(self.path, ns=(status.st_atime_ns, status.st_mtime_ns))
        if not index:
            self.side(".idx").unlink(missing_ok=True)

    def resumed(self) -> Session:
        """The session, opened again."""
        return Session.resume("s", self.root, root=self.root, token_counter=WordCounter())

    def goes_on(self) -> Session:
        """The session, opened again, after one more turn; what was in the file is still in it."""
        session = self.resumed()
        session.interrupt()
        session.user("Go on.")
        session.compose(BUDGET)
        session.reply("I do.")
        session.flush()
        return session


@pytest.fixture
def kept(tmp_path: Path) -> Log:
    """A session on disk."""
    return Log(tmp_path)


def test_a_torn_last_line(kept: Log) -> None:
    """Only what was being written is missing, and it is kept aside."""
    kept.write(kept.whole[:-20])
    session = kept.goes_on()
    assert said(session)[:-2] == kept.said[:-1]
    assert session.repairs.torn_bytes == len(kept.lines[-1]) - 20
    assert kept.side(".torn").read_bytes() == kept.lines[-1][:-20] + b"\n"


def test_an_incomplete_last_batch(kept: Log) -> None:
    """A batch is there whole or not at all."""
    with kept.resumed() as session:
        session.tools([{"name": "read", "input_schema": {"type": "object"}}])
        drafts = [session.log.drafts.annotation("note", {"n": number}) for number in range(3)]
        session.log.append(drafts)
    data = kept.path.read_bytes()
    start = data.index(b'"batch":[1,3]', len(kept.whole))
    begin, cut = data.rindex(b"\n", 0, start) + 1, data.rindex(b'"batch":[3,3]')
    kept.write(data[:cut])
    session = kept.goes_on()
    assert session.repairs.torn_bytes == cut - begin
    assert kept.side(".torn").read_bytes() == data[begin:cut] + b"\n"
    assert said(session)[:-2] == kept.said


def test_a_tail_of_zeros(kept: Log) -> None:
    """A file system that made room and did not fill it."""
    kept.write(kept.whole + bytes(4096), index=True)
    session = kept.goes_on()
    assert said(session)[:-2] == kept.said
    assert session.repairs.torn_bytes == 4096


def test_a_last_line_without_its_newline(kept: Log) -> None:
    """An editor's or another program's habit."""
    kept.write(kept.whole[:-1])
    session = kept.goes_on()
    assert said(session)[:-2] == kept.said
    assert session.repairs.torn_bytes == 0


def damaged(line: bytes) -> bytes:
    """A line of the same length that says nothing."""
    return b"#" * (len(line) - 1) + b"\n"


def test_a_damaged_last_line(kept: Log) -> None:
    """It was written whole, so nothing of its batch is cut off."""
    with kept.resumed() as session:
        session.extend([{"role": "user", "content": f"more {number}"} for number in range(3)])
    lines = kept.path.read_bytes().splitlines(keepends=True)
    kept.write(b"".join([*lines[:-1], damaged(lines[-1])]))
    with kept.resumed() as session:
        assert said(session) == [*kept.said, "more 0", "more 1"]
        assert (session.repairs.torn_bytes, session.repairs.damaged) == (0, [sum(map(len, lines[:-1]))])


def test_a_damaged_line_in_the_middle(kept: Log) -> None:
    """One line is lost, is named, and stays where it is."""
    number = next(at for at, line in enumerate(kept.lines) if b"question 2" in line)
    lines = [*kept.lines[:number], damaged(kept.lines[number]), *kept.lines[number + 1 :]]
    kept.write(b"".join(lines))
    session = kept.goes_on()
    assert session.repairs.damaged == [sum(map(len, lines[:number]))]
    assert said(session)[:-2] == [text for text in kept.said if text != "question 2"]
    assert kept.path.read_bytes().startswith(b"".join(lines))


def test_a_line_whose_checksum_fails(kept: Log) -> None:
    """It can be read, so it counts as it is now; whoever opens the log is told which line it is."""
    kept.write(kept.whole.replace(b'"question 2"', b'"question 7"'))
    session = kept.goes_on()
    number = next(at for at, line in enumerate(kept.lines) if b"question 2" in line)
    assert session.repairs.changed == [sum(map(len, kept.lines[:number]))]
    assert said(session)[:-2] == [text.replace("question 2", "question 7") for text in kept.said]
    assert [session.items.text(item.id) for item in session.items.table() if item.changed] == ["question 7"]


def test_a_line_that_was_changed_after_the_session_was_closed(kept: Log) -> None:
    """The file's time tells that somebody wrote to it, so the index is not believed."""
    changed = kept.whole.replace(b'"question 2"', b'"question 7"')
    kept.write(changed, index=True)
    with kept.resumed() as session:
        assert len(session.repairs.changed) == 1
        assert "question 7" in said(session)


def test_a_line_that_was_changed_unseen(kept: Log) -> None:
    """The index hides it until it is read. If it can be read, nothing is raised; else the error says what to do."""
    kept.write(kept.whole.replace(b'"question 2"', b'"question 7"'), index=True, unseen=True)
    with kept.resumed() as session:
        assert session.repairs.changed == []
        assert session.compose(BUDGET, ask=True)
        assert session.items.search("question")
        assert said(session) == [text.replace("question 2", "question 7") for text in kept.said]
        assert len(session.repairs.changed) == 1
    with kept.resumed() as session:
        assert len(session.repairs.changed) == 1
    number = next(at for at, line in enumerate(kept.lines) if b"question 2" in line)
    kept = Log(kept.root / "again")
    lines = [*kept.lines[:number], damaged(kept.lines[number]), *kept.lines[number + 1 :]]
    kept.write(b"".join(lines), index=True, unseen=True)
    session = kept.resumed()
    refused(Damaged, lambda: list(session.items), "resume the session anew")
    session.close()
    assert said(kept.goes_on())[:-2] == [text for text in kept.said if text != "question 2"]


def test_a_line_with_invalid_utf_8_inside(kept: Log) -> None:
    """What is left of a text can still be read."""
    kept.write(kept.whole.replace(b'"question 2"', b'"quest\xff\xfen 2"'))
    assert "quest\ufffd\ufffdn 2" in said(kept.goes_on())


def test_a_file_that_is_not_json_at_all(kept: Log) -> None:
    """Nothing of it is understood, nothing of it is thrown away."""
    foreign = b"\x89PNG\r\n\x1a\n" + Random(7).randbytes(3000) + b"\nDear diary\n"
    kept.write(foreign)
    session = kept.goes_on()
    assert len(session.repairs.damaged) > 2
    assert said(session) == ["Go on.", "I do."]
    assert kept.path.read_bytes().startswith(foreign)


def test_an_empty_file(kept: Log) -> None:
    """As after a crash between making a file and the first write."""
    kept.write(b"")
    assert said(kept.goes_on()) == ["Go on.", "I do."]


def test_two_logs_joined_in_one_file(kept: Log) -> None:
    """Every item is there, each with an id of its own."""
    kept.write(kept.whole * 2)
    session = kept.goes_on()
    assert said(session)[:-2] == kept.said * 2
    ids = [item.id for item in session.items]
    assert len(set(ids)) == len(ids)
    assert [session.items.text(item) for item in ids] == said(session)


def test_a_log_of_another_program_without_sequence_numbers(kept: Log) -> None:
    """Its lines get ids in order, and what is said next goes on from them."""
    kept.write(
        b'{"uuid":"1","parentUuid":null,"sessionId":"x","timestamp":"2026-01-01T00:00:00Z","type":"user",'
        b'"message":{"role":"user","content":"hello"},"cwd":"/x","version":"9"}\n'
        b'{"uuid":"2","parentUuid":"1","sessionId":"x","timestamp":"2026-01-01T00:00:01Z","type":"assistant",'
        b'"message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}\n'
    )
    session = kept.goes_on()
    assert [(item.id, session.items.text(item.id)) for item in session.items][:2] == [("1", "hello"), ("2", "hi")]
    assert said(session)[2:] == ["Go on.", "I do."]


def entry(**fields: Any) -> bytes:
    """A line that another program might write."""
    usual = {"uuid": "z", "parentUuid": None, "sessionId": "s", "timestamp": "2030-01-01T00:00:00Z", "seq": 999}
    return json.dumps({**usual, **fields}).encode() + b"\n"


def test_an_unknown_entry_type(kept: Log) -> None:
    """A line of the future stays, whatever it means."""
    line = entry(type="hologram", hologram={"depth": 3}) + entry(type="system", subtype="mood", data={"mood": "good"})
    kept.write(kept.whole + line)
    session = kept.goes_on()
    assert said(session)[:-2] == kept.said
    assert line in kept.path.read_bytes()
    assert session.repairs.damaged == []


def test_unknown_fields(kept: Log) -> None:
    """The line counts, its further fields stay."""
    line = entry(type="user", message={"role": "user", "content": "from the future", "tone": "warm"}, novelty=[1])
    kept.write(kept.whole + line)
    assert said(kept.goes_on())[-3] == "from the future"
    assert line in kept.path.read_bytes()


@pytest.mark.slow("fields2", "fields6")
@pytest.mark.parametrize(
    "fields",
    [
        {"type": "user", "cwd": None, "message": {"role": "user", "content": "x"}},
        {"type": "user", "timestamp": 5, "message": {"role": "user", "content": "x"}},
        {"type": "tool_result"},
        {"type": "tool_use", "tool": {"id": 5, "name": None}},
        {"type": "user", "message": "x"},
        {"type": "user", "message": {"role": "user", "content": "x"}, "tokens": [[1, 1, 1 << 40]]},
        {"type": "tool_use", "tool": {"id": "q", "name": "f"}, "tokens": [[1, 1, 1]]},
        {"type": "user", "message": {"role": "user", "content": "x"}, "flags": 1 << 40},
        {"type": "user", "message": {"role": "user", "content": "x"}, "seq": 1 << 80},
        {"type": "user", "message": {"role": "user", "content": "x"}, "seq": -5},
    ],
)
def test_an_entry_with_fields_of_the_wrong_type(kept: Log, fields: dict[str, Any]) -> None:
    """Whether or not it can be shown, the session goes on after it without a conflict, again and again."""
    kept.write(kept.whole + entry(**fields))
    kept.goes_on().close()
    session = kept.goes_on()
    assert said(session)[: len(kept.said)] == kept.said
    assert said(session)[-4:] == ["Go on.", "I do."] * 2


@pytest.mark.slow(
    "5-decision",
    "5-head",
    "5-pin",
    "5-rendition",
    "5-window",
    "None-decision",
    "None-head",
    "None-recall",
    "None-receipt",
    "None-rendition",
    "None-window",
    "content2-decision",
    "content2-head",
    "content2-pin",
    "content2-recall",
    "content2-receipt",
    "content2-rendition",
    "content2-settings",
    "content2-tools",
    "content2-window",
    "content3-decision",
    "content3-pin",
    "content3-recall",
    "content3-receipt",
    "content3-rendition",
    "content3-settings",
    "content3-tools",
    "content3-window",
)
@pytest.mark.parametrize(
    "subtype", ["settings", "tools", "pin", "receipt", "rendition", "window", "head", "recall", "decision"]
)
@pytest.mark.parametrize("content", [5, None, {"branch": "x", "parent": "x"}, {"number": 1, "seq": 1 << 80}])
def test_an_annotation_with_unexpected_content(kept: Log, subtype: str, content: Any) -> None:
    """It says nothing, and stops nothing."""
    kept.write(kept.whole + entry(type="system", subtype=subtype, data=content))
    session = kept.goes_on()
    assert [text for text in said(session)[:-2] if text][: len(kept.said)] == [text for text in kept.said if text]
    assert said(session)[-2:] == ["Go on.", "I do."]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """One session on disk, damaged again and again."""
    return Log(tmp_path_factory.mktemp("sample"))


@pytest.mark.slow
@given(
    seed=st.integers(0, 1 << 32),
    how=st.sampled_from(["bit", "value", "lost line", "line twice", "swapped lines"]),
    index=st.booleans(),
)
def test_a_log_with_any_part_damaged_or_replaced(sample: Log, seed: int, how: str, index: bool) -> None:
    """Whatever happens to it, the session opens and goes on; where an index hid the damage, the time after."""
    random = Random(seed)
    good_index = sample.side(".idx")
    keep = good_index.with_suffix(".good")
    if not keep.exists():
        keep.write_bytes(good_index.read_bytes())
    for suffix in (".idx", ".search", ".torn"):
        sample.side(suffix).unlink(missing_ok=True)
    sample.path.write_bytes(mangled(sample, how, random))
    if index:
        good_index.write_bytes(keep.read_bytes())
    logging.disable(logging.WARNING)
    try:
        survives(sample)
    finally:
        logging.disable(logging.NOTSET)


def survives(sample: Log) -> None:
    """Opens and goes on, after at most a few times `Damaged`."""
    for _ in range(5):
        try:
            with sample.goes_on() as session:
                assert said(session)[-2:] == ["Go on.", "I do."]
        except Damaged:
            continue
        return
    raise AssertionError("damaged for good")


def mangled(sample: Log, how: str, random: Random) -> bytes:
    """The log with one thing in it that is not as it was."""
    lines, at = list(sample.lines), random.randrange(len(sample.lines))
    match how:
        case "bit":
            data = bytearray(sample.whole)
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
            return bytes(data)
        case "value":
            line = json.loads(lines[at])
            instead = random.choice([None, -1, 5, 1 << 70, 1.5, "", "x", [], {}, [[]], {"a": 1}, True, ...])
            lines[at] = json.dumps(exchanged(line, random.choice(list(places(line))), instead)).encode() + b"\n"
        case "lost line":
            del lines[at]
        case "line twice":
            lines.insert(random.randrange(len(lines)), lines[at])
        case _:
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    return b"".join(lines)


def unchecked(log: bytes) -> bytes:
    """A log whose lines have no checksums."""
    return re.sub(rb',"crc":"[0-9a-f]{8}"', b"", log)


def test_a_log_of_a_newer_format(kept: Log) -> None:
    """What we do not know we do not write to."""
    newer = unchecked(kept.whole).replace(b'"data":{}', b'"data":{"format":99}', 1)
    kept.write(newer)
    refused(StoreError, kept.resumed, "format 99", "install the newest version")
    assert kept.path.read_bytes() == newer


@pytest.mark.parametrize("field", ["locale", "layout", "strategy", "profile"])
def test_a_log_with_settings_that_this_version_does_not_have(kept: Log, field: str) -> None:
    """A later version's choice is not replaced by ours behind its back."""
    foreign = kept.whole + entry(type="system", subtype=entries.SETTINGS, data={field: "later"})
    kept.write(foreign)
    refused(StoreError, kept.resumed, "later", "open it with the version that wrote it")
    assert kept.path.read_bytes() == foreign


def test_a_corrupt_index(kept: Log) -> None:
    """Garbage, zeros and half an index are all the same: not used, and replaced."""
    good = kept.side(".idx").read_bytes()
    for bad in (b"", b"garbage", bytes(len(good)), good[: len(good) // 2], good[:-1] + b"?"):
        kept.side(".idx").write_bytes(bad)
        with kept.resumed() as session:
            assert said(session)[: len(kept.said)] == kept.said
            session.user("Go on.")
        assert kept.side(".idx").read_bytes() not in (bad, good)


def test_the_index_of_another_log(kept: Log, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An index speaks only for its own log."""
    with Session.new(kept.root, root=kept.root, session_id="other", token_counter=WordCounter()) as other:
        for number in range(50):
            other.user(f"something else {number}")
    kept.side(".idx").write_bytes(kept.path.with_name("other.idx").read_bytes())
    assert said(kept.goes_on())[:-2] == kept.said


def test_a_corrupt_search_index(kept: Log) -> None:
    """What is looked for is found, in an index made anew."""
    with kept.resumed() as session:
        expected = [found.id for found in session.items.search("output a2")]
    good = kept.side(".search").read_bytes()
    for bad in (b"garbage", good[: len(good) // 2], bytes(len(good)), good[:100] + bytes(1000) + good[1100:]):
        kept.side(".search").write_bytes(bad)
        with kept.resumed() as session:
            assert [found.id for found in session.items.search("output a2")] == expected != []


# ---------------------------------------------------------------------- disks and other writers


def test_a_directory_instead_of_a_log(kept: Log) -> None:
    """It is not taken for a session, and does not hide those there are."""
    kept.path.with_name("folder.jsonl").mkdir()
    refused(StoreError, lambda: Session.resume("folder", kept.root, root=kept.root), "Is a directory", "be moved away")
    refused(BadInput, lambda: Session.new(kept.root, root=kept.root, session_id="folder"), "exists already")
    assert Session.open(kept.root, root=kept.root).id == "s"


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that an ordinary user may look into and, until it is said otherwise, write to."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def opened_up(root: Path, *, files: int, folders: int) -> None:
    """Give everything below these modes."""
    for path in sorted(root.rglob("*"), reverse=True):
        path.chmod(folders if path.is_dir() else files)


@pytest.mark.slow
def test_a_log_that_this_user_may_not_read(public: Path) -> None:
    """Neither a closed file nor a closed folder is an error of ours."""
    for root in (public, public / "closed"):
        Log(root)
        opened_up(root, files=0o000, folders=0o755)
    opened_up(public / "closed", files=0o000, folders=0o000)
    report = harsh("unreadable", public)
    assert report["file"].startswith("StoreError: cannot open")
    assert "read and write" in report["file"]
    assert report["folder"].startswith("StoreError: cannot look into")
    assert "choose another root" in report["folder"]
    opened_up(public, files=0o600, folders=0o700)


@pytest.mark.slow
@pytest.mark.parametrize("torn", [b"", b'{"half'])
def test_a_read_only_disk(public: Path, torn: bytes) -> None:
    """Everything that only reads works; everything that writes says why it cannot, and leaves no trace."""
    sample = Log(public)
    sample.write(sample.whole + torn)
    opened_up(public, files=0o444, folders=0o555)
    public.chmod(0o555)
    report = harsh("readonly", public)
    opened_up(public, files=0o644, folders=0o755)
    public.chmod(0o777)
    assert report["items"] == len(sample.said)
    assert report["found"] > 0
    assert report["tokens"] > 0
    assert report["torn"] == len(torn)
    for error in (*report["errors"], report["new"]):
        assert error.startswith("Unwritable: cannot write")
        assert "Permission denied" in error
        assert "allow this user to write" in error
    assert sample.path.read_bytes() == sample.whole + torn


def small_disk(folder: Path) -> bool:
    """Make this directory a disk of a megabyte, if that is allowed here."""
    command = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.slow
def test_a_full_disk(public: Path) -> None:
    """What was acknowledged is there, what was refused is not, and with room it goes on.

    Once with a limit on the size of files, and once, where mounting is allowed, on a disk that really is full.
    """
    (public / "limited").mkdir(mode=0o777)
    (public / "limited").chmod(0o777)
    reports = [(harsh("full", public / "limited", 60_000), "File too large")]
    if small_disk(public):
        try:
            (public / "filler").write_bytes(bytes(500_000))
            public.joinpath("filler").chmod(0o666)
            reports.append((harsh("full", public, 0), "No space left"))
        finally:
            subprocess.run(["umount", str(public)], check=True)
    for report, why in reports:
        assert report["error"].startswith("Unwritable: cannot write")
        assert why in report["error"]
        assert "make room" in report["error"]
        assert report["payload"] == "" or why in report["payload"]
        assert len(report["accepted"]) > 5
        assert set(report["accepted"]) <= set(report["kept"])  # a recall for the refused call may be kept besides
        assert report["found"] > 0


def test_a_log_that_another_program_cut_while_it_was_open(kept: Log) -> None:
    """A writer does not go on with offsets that no longer hold."""
    session = kept.resumed()
    kept.write(kept.whole[: -len(kept.lines[-1])])
    refused(StoreError, lambda: session.user("x"), "resume the session anew")
    assert said(kept.goes_on())[:-2] == kept.said[:-1]


def test_a_full_disk_at_the_first_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that never began leaves nothing, and begins when there is room."""
    session = Session.new(tmp_path, session_id="first", root=tmp_path / "root")

    def refuse(*_: object) -> int:
        raise OSError(ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "write", refuse)
        with pytest.raises(Unwritable, match="No space left"):
            session.user("hello")
    assert not list(tmp_path.rglob("first.*"))
    session.user("hello")
    session.close()
    assert said(Session.resume("first", tmp_path, root=tmp_path / "root")) == ["hello"]


STOPPED = """
import fcntl, os, signal, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX)
print("locked", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


def queued() -> int:
    """How many threads wait for a lock."""
    return sum(thread.name == "sightline-lock" for thread in threading.enumerate())


def test_a_stopped_process_that_holds_the_lock(kept: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for ever: what was said can be read, an append says who is in the way, and works when it is gone."""
    monkeypatch.setattr(file_lock, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(jsonl, "_READ_WAIT", 0.05)
    command = [sys.executable, "-c", STOPPED, str(kept.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"locked\n"
            os.waitpid(holder.pid, os.WUNTRACED)
            session = kept.resumed()
            assert said(session) == kept.said
            for _ in range(3):
                with pytest.raises(Locked, match=rf"could not get its lock .* process {holder.pid} \(.*, stopped\)"):
                    session.user("more")
            assert queued() == 1  # not one for each attempt
        finally:
            holder.kill()
    session.user("more")
    assert said(session)[-1] == "more"
    deadline = time.monotonic() + 20
    while queued():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    session.user("and more")


AGAIN = """
import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
print("locked", flush=True)
while True:
    time.sleep(0.05)
    fcntl.flock(fd, fcntl.LOCK_UN)
    fcntl.flock(fd, fcntl.LOCK_EX)
"""


def test_a_process_that_takes_the_lock_again_and_again(kept: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lets go for moments that nobody meets who only looks now and then. Whoever waits in the queue gets it."""
    monkeypatch.setattr(file_lock, "WAIT_SECONDS", 4)
    session = kept.resumed()
    with subprocess.Popen([sys.executable, "-c", AGAIN, str(kept.path)], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"locked\n"
            for number in range(3):
                session.user(f"more {number}")
        finally:
            holder.kill()
    assert said(session)[-3:] == ["more 0", "more 1", "more 2"]


def test_a_log_that_was_deleted_while_it_was_open(kept: Log) -> None:
    """Nothing is acknowledged that nobody could read again."""
    session = kept.resumed()
    Folder(kept.root, kept.root).delete("s")
    refused(Unwritable, lambda: session.user("x"), "deleted")
    assert not kept.path.exists()


def test_a_disk_that_does_not_confirm_a_sync(kept: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reply is in the log, and the error says so: sent again it would be there twice."""
    with kept.resumed() as session:
        session.user("And now?")
        session.compose(BUDGET)
        with monkeypatch.context() as patch:
            patch.setattr(OsFile, "sync", lambda _: (_ for _ in ()).throw(OSError(5, "Input/output error")))
            refused(Unsynced, lambda: session.reply("Now this."), "do not send it again")
        session.flush()
        assert said(session)[-1] == "Now this."
    with kept.resumed() as again:
        assert said(again)[-2:] == ["And now?", "Now this."]


def test_a_database_that_is_lost_while_it_writes() -> None:
    """It is written once, and nobody notices."""
    database = Unreliable(running().url(), iter(["", "after", "before", *[""] * 20]))
    session = Session(PostgresStore(database, "s"), token_counter=WordCounter())
    session.user("one")
    session.user("two")
    assert (said(session), database.lost) == (["one", "two"], 2)
    database.close()


def test_a_database_that_stays_away() -> None:
    """What was sent may be there, and is looked for; what was not is not."""
    database = Unreliable(running().url(), iter(["", "", "after", *[""] * 20]))
    session = Session(PostgresStore(database, "s"), token_counter=WordCounter())
    session.user("one")
    database.patience = 0.0
    refused(Unconfirmed, lambda: session.user("two"), "session.refresh()")
    session.refresh()
    assert said(session) == ["one", "two"]
    database.close()
    refused(Unwritable, lambda: session.user("three"), "nothing of this append was kept")
    refused(StoreError, session.refresh, "cannot read")


def test_another_writer_was_first(kept: Log) -> None:
    """The error says how to go on, and that works."""
    one, other = kept.resumed(), kept.resumed()
    one.user("I was first.")
    before = kept.path.read_bytes()
    refused(Conflict, lambda: other.user("So was I."), "session.refresh()")
    assert kept.path.read_bytes() == before
    other.refresh()
    other.user("So was I.")
    assert said(other)[-2:] == ["I was first.", "So was I."]


def test_something_for_a_session_that_was_closed(kept: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written, and the error says how to go on; tests/session/test_closed.py has every kind of call."""
    session = kept.resumed()
    session.close()
    before = kept.path.read_bytes()
    refused(SessionClosed, lambda: session.user("x"), f"Session.resume('s', project='{kept.root}')")
    monkeypatch.chdir(kept.root)
    refused(SessionClosed, lambda: session.user("x"), "Session.resume('s') ")
    assert kept.path.read_bytes() == before
    assert said(session) == kept.said
