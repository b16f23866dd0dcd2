"""The chat completions format, rule by rule."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_payloads import TEXT, VALUES, as_payload, check_types, payload, write

from sightline.errors import BadInput
from sightline.values.items import Blob, Call, Image, Message, Opaque, Result, Role, Text, ToolDefinition, Usage
from sightline.wire import common, openai_chat


def text(said: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": said}


def called(call_id: str, arguments: str, **more: Any) -> dict[str, Any]:
    """A function call."""
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}, **more}


def rewritten(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages, read and written again."""
    found: list[dict[str, Any]] = write(openai_chat, as_payload(openai_chat.read(messages)))["messages"]
    return found


def test_roles_are_read() -> None:
    """Developer is system; text and lists of text are the same; an empty text is no part."""
    messages: list[dict[str, Any]] = [
        {"role": "developer", "content": "d"},
        {"role": "system", "content": [text("s")]},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": None, "tool_calls": [called("a", '{"x":1}')]},
        {"role": "tool", "tool_call_id": "a", "content": ""},
    ]
    assert openai_chat.read(messages) == [
        Message(Role.SYSTEM, (Text("d"),)),
        Message(Role.SYSTEM, (Text("s"),)),
        Message(Role.USER, (Text("u"),)),
        Message(Role.ASSISTANT, (Call("a", "look", {"x": 1}),)),
        Message(Role.TOOL, (Result("a", ()),)),
    ]


def test_legacy_functions_pair_by_name() -> None:
    """function_call and role "function" have no ids: they are written as a tool call and its result."""
    messages = rewritten(
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": None},
    )
    assert messages == [
        {"role": "assistant", "content": None, "tool_calls": [called("look", "{}")]},
        {"role": "tool", "tool_call_id": "look", "name": "look", "content": ""},
    ]


@pytest.mark.parametrize("arguments", ["{}", '{"a": 1}', '{"a":1}', '{"a":1,"a":2}', ' {"a" :1e1}\n'])
def test_arguments_come_back_byte_for_byte(arguments: str) -> None:
    """Whatever object the model wrote as arguments is sent back as it was."""
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [called("a", arguments)]},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
    ]
    assert rewritten(*messages) == messages


@pytest.mark.parametrize("arguments", ['{"path": "a.py", "tex', "[1]", "null", "NaN"])
def test_arguments_that_are_no_object_are_sent_in_one(arguments: str) -> None:
    """Servers read them: a text that was cut off would be refused from then on. The second time is as the first."""
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [called("a", arguments)]},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
    ]
    written = rewritten(*messages)
    assert json.loads(written[0]["tool_calls"][0]["function"]["arguments"]) == {"_raw": arguments}
    assert rewritten(*written) == written


def test_no_arguments_are_an_empty_object() -> None:
    """Some servers send an empty text for a call without any, and take none back."""
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": None, "tool_calls": [called("a", "")]}]
    assert rewritten(*messages)[0]["tool_calls"] == [called("a", "{}")]


@pytest.mark.slow
@given(values=st.dictionaries(TEXT, VALUES, max_size=3))
def test_usual_arguments_need_no_second_copy(values: dict[str, Any]) -> None:
    """Compact JSON is held as values only; any JSON text gives its values."""
    call = common.call_from("a", "look", common.dumped(values))
    assert call == Call("a", "look", values)
    assert common.arguments_text(call) == common.dumped(values)


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_argument_text_survives(text: str) -> None:
    """No text is lost or changed, JSON or not."""
    assert common.arguments_text(common.call_from("a", "look", text)) == text


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "name": "robin", "content": "x"},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a", "detail": "low"}}],
        },
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}],
        },
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:text/plain,x"}}]},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]},
        {
            "role": "user",
            "content": [
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERg==", "filename": "a.pdf"}}
            ],
        },
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"role": "assistant", "refusal": "no", "content": None},
        {"role": "assistant", "audio": {"id": "audio_1"}, "content": None},
        {"role": "assistant", "reasoning_content": "hm", "content": "x"},
        {"role": "system", "content": "x"},
        {"role": "user", "content": "x\n "},
        {"role": "user", "content": [text("x"), text("y")]},
        {"role": "user", "content": ""},
        {"role": "assistant", "content": ""},
    ],
)
def test_messages_come_back_as_they_were(message: dict[str, Any]) -> None:
    """What the SDK's types accept, and what servers add, is written as it was read."""
    assert rewritten(message) == [message]


@pytest.mark.parametrize("said", ["", "x", [text("x")], [text("x"), text("y")]], ids=repr)
def test_only_one_plain_text_is_a_string(said: Any) -> None:
    """A message of one text is a string, however it came, and its spelling changes when a recall joins it."""
    read = openai_chat.read([{"role": "user", "content": said}])
    recall = Message(Role.USER, (Text("recalled"),), merge_into_previous=True)
    [alone], [joined] = (write(openai_chat, payload(body))["messages"] for body in (read, [*read, recall]))
    blocks = [text(part.text) for part in read[0].parts if isinstance(part, Text)]
    assert alone["content"] == (blocks if len(blocks) > 1 else blocks[0]["text"] if blocks else "")
    assert joined["content"] == ([*blocks, text("recalled")] if blocks else "recalled")


def test_calls_keep_what_the_server_added() -> None:
    """Custom calls and further fields of a call come back, in order."""
    custom = {"id": "b", "custom": {"name": "sh", "input": "ls -la"}, "type": "custom"}
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [called("a", "{}", extra_content={"sig": "x"}), custom]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": [text("2"), text("3")]},
    ]
    assert rewritten(*messages) == messages
    assert openai_chat.read(messages)[0].parts[2] == Call("b", "sh", {"input": "ls -la"})


def test_a_spoken_reply_is_sent_back_by_its_id() -> None:
    """Audio data and transcript are kept in the log; on the wire only the id is legal."""
    audio = {"id": "audio_1", "data": "AA==", "expires_at": 1, "transcript": "hi"}
    assert rewritten({"role": "assistant", "content": None, "audio": audio})[0]["audio"] == {"id": "audio_1"}


def test_errors_begin_with_a_word() -> None:
    """There is no flag: every failed result begins with it, and it is never read back as one."""
    body = [
        Message(Role.ASSISTANT, (Call("a", "look", {}), Call("b", "look", {}))),
        Message(Role.TOOL, (Result("a", (Text("no"),), "failed"),)),
        Message(Role.TOOL, (Result("b", (), "interrupted"),)),
    ]
    messages = write(openai_chat, payload(body))["messages"]
    assert [message["content"] for message in messages[1:]] == ["[error] no", "[error]"]
    assert openai_chat.read(messages[1:2]) == [Message(Role.TOOL, (Result("a", (Text("[error] no"),)),))]


def test_pictures_of_results_follow_all_results() -> None:
    """Tool messages hold only text: pictures follow in one user message after the last result, with the calls' ids."""
    image = Image("image/png", "iVBORw0KGgo=")
    block = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    body = [
        Message(Role.ASSISTANT, (Call("a", "look", {}), Call("b", "look", {}))),
        Message(Role.TOOL, (Result("a", (Text("see"), image)),)),
        Message(Role.TOOL, (Result("b", (image,)),)),
        Message(Role.USER, (Text("ok"),)),
    ]
    assert write(openai_chat, payload(body))["messages"][1:] == [
        {"role": "tool", "tool_call_id": "a", "content": [text("see"), text("[shown below]")]},
        {"role": "tool", "tool_call_id": "b", "content": "[shown below]"},
        {"role": "user", "content": [text("[from a]"), block, text("[from b]"), block]},
        {"role": "user", "content": "ok"},
    ]


def test_system_messages_stay_where_they_are() -> None:
    """One for each in the head, and those in the body at their place."""
    head = [Message(Role.SYSTEM, (Text("a"),)), Message(Role.SYSTEM, ()), Message(Role.SYSTEM, (Text("b"),))]
    body = [Message(Role.USER, (Text("hi"),)), Message(Role.SYSTEM, (Text("c"),))]
    messages = write(openai_chat, payload(body, head))["messages"]
    assert [(message["role"], message["content"]) for message in messages] == [
        ("system", "a"),
        ("system", "b"),
        ("user", "hi"),
        ("system", "c"),
    ]


def test_foreign_blocks_are_left_out() -> None:
    """Another provider's thoughts and citations are not sent here; a message of nothing else says so."""
    thinking = Opaque("anthropic", "thinking", {"type": "thinking"})
    cited = Opaque("anthropic", "+text", {"citations": [1]})
    body = [Message(Role.ASSISTANT, (thinking, Text("x"), cited)), Message(Role.ASSISTANT, (thinking,))]
    contents = [message["content"] for message in write(openai_chat, payload(body))["messages"]]
    assert contents == ["x", "[empty]"]


def test_undecodable_text_is_shown_with_replacement_characters() -> None:
    """Bytes and lone surrogates are kept as they came and shown as valid Unicode; NUL is text."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": said} for said in (b"\xff", "a\ud800", "n\x00l", b"ok")
    ]
    read = openai_chat.read(messages)
    kept = [message.parts[0] for message in read]
    assert kept == [Blob("/w=="), Blob("Ye2ggA==", surrogates=True), Text("n\x00l"), Text("ok")]
    shown = [message["content"] for message in write(openai_chat, payload(read))["messages"]]
    assert shown == ["\ufffd", "a\ufffd\ufffd\ufffd", "n\x00l", "ok"]


def test_a_reply_has_its_model_and_usage() -> None:
    """The first choice counts; nulls say nothing."""
    message = {"role": "assistant", "content": "hi", "refusal": None, "annotations": [], "tool_calls": None}
    details = {"cached_tokens": 6, "cache_write_tokens": 1}
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "prompt_tokens_details": details}
    reply = {"choices": [{"index": 0, "message": message}], "model": "m", "usage": usage}
    assert openai_chat.read_reply(reply) == Message(Role.ASSISTANT, (Text("hi"),), model="m", usage=Usage(9, 2, 6, 1))


def test_tools_are_written_and_read() -> None:
    """A plain function is neutral; what says more keeps its definition; free-form tools are functions to others."""
    definitions: list[dict[str, Any]] = [
        {"type": "function", "function": {"name": "a", "description": "A.", "parameters": {"type": "object"}}},
        {"type": "function", "function": {"name": "b", "parameters": {"type": "object"}, "strict": True}},
        {"type": "custom", "custom": {"name": "sh"}},
    ]
    tools = openai_chat.read_tools(definitions)
    written = write(openai_chat, payload([], tools=tools))
    check_types(openai_chat, written)
    assert written["tools"] == definitions
    assert tools[0] == ToolDefinition("a", "A.", {"type": "object"})
    assert tools[2].schema["required"] == ["input"]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": 3},
        {"role": "tool", "content": "x"},
        {"role": "robot", "content": "x"},
        {"role": "assistant", "tool_calls": [{"id": "a"}]},
        "hello",
    ],
)
def test_what_cannot_be_read_is_refused_by_place(message: Any) -> None:
    """The error names the message."""
    with pytest.raises(BadInput, match=r"messages\[1\].*accepted"):
        openai_chat.read([{"role": "user", "content": "ok"}, message])
