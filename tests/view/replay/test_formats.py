"""Reading recordings: every form people have, and what is said about those that are none."""

import json
from pathlib import Path
from typing import Any

import pytest

from sightline import BadInput, Budget, Session, samples
from sightline.log.stores.memory import MemoryStore
from sightline.values.items import Call, Message, Result, Role, Text, Usage, plain_text
from sightline.view.replay.formats import Recording, read_recording, recorded
from sightline.view.replay.replay import replay

MESSAGES = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}


def said(recording: Recording) -> list[tuple[Role, str]]:
    return [(message.role, plain_text(message.parts)) for message in recording.messages]


HELLO = [(Role.USER, "hello"), (Role.ASSISTANT, "hi")]


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(MESSAGES),
        json.dumps({"messages": MESSAGES}),
        json.dumps({"input": MESSAGES}),
        "\n".join(map(json.dumps, MESSAGES)),
        "\r\n\r\n".join(map(json.dumps, MESSAGES)) + "\r\n",
        "\ufeff" + json.dumps(MESSAGES),
    ],
    ids=["list", "messages", "input", "lines", "blank lines", "byte order mark"],
)
def test_every_form_gives_the_same_conversation(data: str) -> None:
    """A list, an object, lines: the messages are the same."""
    assert said(read_recording(data.encode())) == HELLO


@pytest.mark.parametrize("key", ["system", "instructions"])
def test_a_system_prompt_beside_the_messages_comes_first(key: str) -> None:
    """Anthropic's and Responses' place for it, as text or as blocks."""
    for system in ("Be brief.", [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]):
        recording = recorded({key: system, "messages": MESSAGES, "tools": [TOOL]})
        assert said(recording) == [(Role.SYSTEM, "Be brief."), *HELLO]
        assert recording.tools == (TOOL,)


def test_one_message_alone_is_a_recording() -> None:
    """A file of one line is read as that line."""
    assert said(read_recording(json.dumps(MESSAGES[0]).encode())) == HELLO[:1]


@pytest.mark.parametrize(
    ("model", "sent", "window"), [("", 150_000, 200_000), ("", 0, 128_000), ("gpt-4o", 9, 128_000)]
)
def test_the_window_holds_what_was_sent(model: str, sent: int, window: int) -> None:
    """Also if the log names no model, but says what its provider counted."""
    answer = Message(Role.ASSISTANT, (Text("hi"),), model=model, usage=Usage(sent, 5) if sent else None)
    assert Recording((answer,)).window == window


@pytest.mark.parametrize("name", samples.names())
def test_a_format_that_is_named_reads_as_the_found_one(name: str) -> None:
    """Saying whose form it is changes nothing where it is recognised."""
    sample = samples.load(name)
    data = json.dumps({"messages": sample.messages, "system": sample.system}).encode()
    assert read_recording(data, sample.format).messages == read_recording(data).messages


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"[1", "line 1 is no JSON"),
        (b'{"role": "user", "content": "x"}\nnonsense\n', "line 2 is no JSON"),
        (b"42", "this is not a conversation"),
        (b'{"conversation": []}', "this is not a conversation"),
        (b'{"messages": []}\n{"messages": []}', "one of them with --line"),
        (b'[{"role": "nobody", "content": "x"}]', "messages[0]"),
    ],
)
def test_what_is_no_recording_is_refused_with_the_place(data: bytes, told: str) -> None:
    """The error says where it went wrong or what would do."""
    with pytest.raises(BadInput, match=told.replace("[", r"\[")):
        read_recording(data)


def test_an_unknown_format_is_refused_with_the_choices() -> None:
    """The names there are stand in the message."""
    with pytest.raises(BadInput, match="auto, openai, anthropic, responses, gemini"):
        read_recording(b"[]", "converse")


def kept(folder: Path) -> Session:
    """A session of a sample, its receipts and recalls in its log."""
    sample = samples.load("login_bug")
    recording = recorded({"system": sample.system, "tools": sample.tools, "messages": sample.messages})
    session = Session.new(folder, root=folder, session_id="kept")
    for _ in replay(session, recording, Budget(16_000, 1_000)):
        pass
    return session


def log_of(folder: Path) -> bytes:
    return next(folder.rglob("kept.jsonl")).read_bytes()


@pytest.mark.slow
def test_a_log_gives_back_the_conversation_that_made_it(tmp_path: Path) -> None:
    """Messages and tools are those of the recording; what the engine wrote is not among them."""
    sample = samples.load("login_bug")
    original = recorded({"system": sample.system, "tools": sample.tools, "messages": sample.messages})
    kept(tmp_path).close()
    again = read_recording(log_of(tmp_path))
    assert again.messages == original.messages
    assert [tool["name"] for tool in again.tools] == [tool["function"]["name"] for tool in sample.tools]
    budget = Budget(16_000, 1_000)
    first = [step.tokens for step in replay(Session(MemoryStore("a")), original, budget)]
    assert [step.tokens for step in replay(Session(MemoryStore("b")), again, budget)] == first


def test_of_a_log_with_branches_the_current_one_counts(tmp_path: Path) -> None:
    """After a fork, what the first branch said later is not part of the recording."""
    with Session.new(tmp_path, root=tmp_path, session_id="kept") as session:
        at = session.user("first")
        session.assistant("old way")
        with session.fork(at) as branch:
            branch.assistant("new way")
    assert said(read_recording(log_of(tmp_path))) == [(Role.USER, "first"), (Role.ASSISTANT, "new way")]


def test_damaged_lines_of_a_log_are_passed_over(tmp_path: Path) -> None:
    """A torn end or a foreign line hides nothing else."""
    with Session.new(tmp_path, root=tmp_path, session_id="kept") as session:
        session.user("hello")
        session.assistant("hi")
    data = b'{"half": \n' + log_of(tmp_path) + b'{"uuid": "torn'
    assert said(read_recording(data)) == HELLO


def entry(uuid: str, role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "uuid": uuid, "parentUuid": None, "sessionId": "s", "timestamp": "2026-01-01T00:00:00.000Z", "type": role,
        "message": {"role": role, "content": content}, **more,
    }  # fmt: skip


def test_another_program_s_log_with_its_provider_s_blocks_is_read() -> None:
    """Calls and results inside messages are calls and results; side conversations stay out."""
    lines = [
        entry("a", "user", "look"),
        entry("b", "assistant", [{"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "x"}}]),
        entry("c", "assistant", [{"type": "text", "text": "aside"}], isSidechain=True),
        entry("d", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "text of x"}]),
        {"type": "queue", "sessionId": "s"},
        entry("e", "assistant", [{"type": "text", "text": "done"}]),
    ]
    recording = read_recording("\n".join(map(json.dumps, lines)).encode())
    assert [message.role for message in recording.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert recording.messages[1].parts == (Call("t1", "read", {"path": "x"}),)
    assert isinstance(recording.messages[2].parts[0], Result)
