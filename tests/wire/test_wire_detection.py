"""Reading without being told the format, and ids across all three."""

from typing import Any

import anthropic as anthropic_sdk
import pytest
from msgspec.structs import replace
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionMessage,
    ParsedChatCompletionMessage,
    ParsedFunction,
    ParsedFunctionToolCall,
)
from openai.types.responses import (
    ParsedResponse,
    ParsedResponseFunctionToolCall,
    ParsedResponseOutputMessage,
    ParsedResponseOutputText,
    Response,
)
from wire_payloads import FORMATS, as_payload, payload, write

from sightline import wire
from sightline.errors import BadInput
from sightline.values.items import Call, Message, Opaque, Result, Role, Text, ToolDefinition, Usage
from sightline.wire import anthropic, openai_chat, openai_responses
from sightline.wire.payload import PrefixList

CHAT = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}],
    "usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3},
}
RESPONSE = {
    "id": "r",
    "object": "response",
    "model": "m",
    "output": [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "hi", "annotations": []}],
        }
    ],
    "usage": {"input_tokens": 2, "output_tokens": 1, "total_tokens": 3},
}
MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "hi", "citations": None}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 2, "output_tokens": 1},
}


@pytest.mark.parametrize(
    "reply",
    [
        CHAT,
        RESPONSE,
        MESSAGE,
        ChatCompletion.construct(**CHAT),
        Response.construct(**RESPONSE),
        anthropic_sdk.types.Message.construct(**MESSAGE),
    ],
    ids=["chat", "responses", "anthropic", "ChatCompletion", "Response", "Message"],
)
def test_replies_are_recognised(reply: object) -> None:
    """SDK objects and dicts of all three formats give the same text, model and usage."""
    found = wire.read_reply(reply)
    texts = tuple(part for part in found.parts if isinstance(part, Text))
    assert (found.role, texts, found.model, found.usage) == (Role.ASSISTANT, (Text("hi"),), "m", Usage(2, 1))


def test_text_is_a_reply() -> None:
    """Plain text, or a bare assistant message, is a reply too."""
    assert wire.read_reply("hi") == Message(Role.ASSISTANT, (Text("hi"),))
    assert wire.read_reply({"role": "assistant", "content": "hi"}) == Message(Role.ASSISTANT, (Text("hi"),))


@pytest.mark.parametrize("reply", [None, 3, {}, {"error": "overloaded"}, [], {"role": "user", "content": "x"}])
def test_what_is_no_reply_is_refused(reply: object) -> None:
    """The error says what a reply is."""
    with pytest.raises(BadInput, match=r"reply: found .* accepted: text"):
        wire.read_reply(reply)


def test_sdk_objects_are_messages() -> None:
    """What the SDKs return may be appended to a list as it is, as their examples do."""
    chat = ChatCompletionMessage(role="assistant", content="hi")
    blocks = anthropic_sdk.types.Message.construct(**MESSAGE).content
    items = Response.construct(**RESPONSE).output
    assert wire.read_messages([chat]) == [Message(Role.ASSISTANT, (Text("hi"),))]
    assert wire.read_messages([{"role": "assistant", "content": blocks}]) == [Message(Role.ASSISTANT, (Text("hi"),))]
    assert wire.read_messages(items)[0].parts[1:] == (Text("hi"),)


@pytest.mark.slow
def test_what_the_sdk_parsed_is_not_sent_back() -> None:
    """The texts and arguments of `parse` are sent, not the values that the SDK made of them, as with the SDK alone."""
    parsed: Any = {"x": 3}
    function = ParsedFunction(name="look", arguments='{"x":3}', parsed_arguments=parsed)
    chat = ParsedChatCompletionMessage[Any](
        role="assistant",
        content='{"x":3}',
        parsed=parsed,
        tool_calls=[ParsedFunctionToolCall(id="a", type="function", function=function)],
    )
    text = ParsedResponseOutputText[Any](type="output_text", text='{"x":3}', annotations=[], parsed=parsed)
    said = ParsedResponseOutputMessage[Any](
        type="message", id="msg_1", role="assistant", status="completed", content=[text]
    )
    call = ParsedResponseFunctionToolCall(
        type="function_call", id="fc_1", call_id="b", name="look", arguments='{"x":3}', parsed_arguments=parsed
    )
    reply = ParsedResponse[Any].construct(**{**RESPONSE, "output": [said, call]})
    for read in (wire.read_messages([chat]), wire.read_messages([said, call]), [wire.read_reply(reply)]):
        answers = [Message(Role.TOOL, (Result(part.id, ()),)) for part in read[0].parts if isinstance(part, Call)]
        for module in FORMATS:
            written = str(write(module, as_payload([*read, *answers])))
            assert "parsed" not in written
            assert written.count("'look'") == 1


@pytest.mark.parametrize(
    ("message", "provider"),
    [
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": ""}]}, "anthropic"),
        ({"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]}, "anthropic"),
        ({"role": "assistant", "content": [{"type": "text", "text": "x", "citations": [{"a": 1}]}]}, "anthropic"),
        ({"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}, "openai"),
        ({"role": "assistant", "content": "x", "reasoning_content": "hm"}, "openai"),
        ({"role": "assistant", "content": [{"type": "output_text", "text": "x"}], "id": "msg_1"}, "responses"),
        ({"type": "reasoning", "id": "rs_1", "summary": []}, "responses"),
        ({"type": "additional_tools", "role": "developer", "tools": []}, "responses"),
        ({"id": "item_1"}, "responses"),
    ],
)
def test_formats_are_told_apart(message: dict[str, Any], provider: str) -> None:
    """A message with something of one provider is read as that provider's."""
    parts = wire.read_messages([message])[0].parts
    assert {part.provider for part in parts if isinstance(part, Opaque)} == {provider}


def test_formats_may_be_mixed() -> None:
    """Each message is read in its own format, and one that fits several like its neighbours."""
    mixed: list[dict[str, Any]] = [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
        {"type": "function_call", "call_id": "b", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "y"},
    ]
    assert wire.read_messages(mixed) == [
        Message(Role.SYSTEM, (Text("s"),)),
        Message(Role.ASSISTANT, (Call("a", "look", {}),)),
        Message(Role.TOOL, (Result("a", (Text("x"),)),)),
        Message(Role.ASSISTANT, (Call("b", "look", {}),)),
        Message(Role.TOOL, (Result("b", (Text("y"),)),)),
    ]


@pytest.mark.parametrize("bad", [{"role": "robot", "content": "x"}, {"content": "x"}, None, 7, {"role": "user"}])
def test_a_message_that_is_none_is_refused_by_index(bad: Any) -> None:
    """The error says which message, what was found and what is accepted."""
    with pytest.raises(BadInput, match=r"messages\[2\].*found .*accepted"):
        wire.read_messages([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}, bad])


@pytest.mark.parametrize("bad", ["hello", b"hello", {"role": "user", "content": "x"}, None, 3])
def test_only_a_list_is_a_list(bad: Any) -> None:
    """One message, or text, in place of a list is refused with a hint."""
    with pytest.raises(BadInput, match="a list of messages"):
        wire.read_messages(bad)


def test_reading_shares_nothing_with_the_caller() -> None:
    """A caller may go on using what was handed in."""
    arguments = {"deep": [1]}
    block = {"type": "tool_use", "id": "a", "name": "look", "input": arguments}
    found = wire.read_messages([{"role": "assistant", "content": (block,)}])
    arguments["deep"].append(2)
    assert found[0].parts == (Call("a", "look", {"deep": [1]}),)


def test_tools_are_told_apart() -> None:
    """Each definition is read in its own format."""
    schema = {"type": "object"}
    tools = wire.read_tools(
        [
            {"type": "function", "function": {"name": "a", "parameters": schema}},
            {"type": "function", "name": "b", "parameters": schema, "strict": False},
            {"name": "c", "input_schema": schema},
            {"name": "d", "parameters": schema},
            {"type": "bash_20250124", "name": "bash"},
            {"type": "mcp", "server_label": "x", "server_url": "https://example.org"},
        ]
    )
    assert tools[:4] == tuple(ToolDefinition(name, schema=schema) for name in "abcd")
    assert [(tool.name, tool.provider) for tool in tools[4:]] == [("bash", "anthropic"), ("mcp", "responses")]
    with pytest.raises(BadInput, match="tools"):
        wire.read_tools([{"no": "tool"}])


def pair(call_id: str, said: str) -> list[Message]:
    """One call and its answer."""
    return [
        Message(Role.ASSISTANT, (Call(call_id, "look", {}),)),
        Message(Role.TOOL, (Result(call_id, (Text(said),)),)),
    ]


def test_equal_and_illegal_ids_are_rewritten_call_and_result_together() -> None:
    """The first of equal ids stays; the others, and illegal ones, get an id of their own."""
    body = [*pair("a", "1"), *pair("a", "2"), *pair("é/", "3"), *pair("", "4"), *pair("x" * 70, "5")]
    expected = ["a", "a_2", "__", "call", "x" * 64]
    items = write(openai_responses, payload(body))["input"]
    assert [item["call_id"] for item in items] == [wire_id for wire_id in expected for _ in ("call", "result")]
    messages = write(anthropic, payload(body))["messages"][1:]
    assert [message["content"][0]["id"] for message in messages[::2]] == expected
    assert [message["content"][0]["tool_use_id"] for message in messages[1::2]] == expected


def test_names_that_a_model_made_up_become_legal() -> None:
    """Call and result get the same name that every API takes; legal names, and those of the own tools, stay."""
    names = ["functions.look<|channel|>json", "", "a" * 70, "看", "read-file_2", "mcp.look"]
    expected = ["functions_look__channel__json", "unknown", "a" * 64, "_", "read-file_2", "mcp.look"]
    calls = Message(Role.ASSISTANT, tuple(Call(f"c{at}", name, {}) for at, name in enumerate(names)))
    results = [Message(Role.TOOL, (Result(f"c{at}", (), name=name),)) for at, name in enumerate(names)]
    own = (ToolDefinition("look"), ToolDefinition("mcp.look"))
    for listed in (list, PrefixList):  # written in one go, and with what was kept of an earlier payload
        made = replace(payload([], tools=own), body=listed([calls, *results]))
        chat = write(openai_chat, made)["messages"]
        assert [call["function"]["name"] for call in chat[0]["tool_calls"]] == expected
        assert [message.get("name", "unknown") for message in chat[1:]] == expected
        assert [item["name"] for item in write(openai_responses, made)["input"][:6]] == expected
        assert [block["name"] for block in write(anthropic, made)["messages"][1]["content"]] == expected
        without = write(openai_chat, replace(made, tools=()))["messages"]
        assert without[0]["tool_calls"][-1]["function"]["name"] == "mcp_look"
        assert write(openai_chat, made)["messages"] == chat


def test_chat_ids_may_be_any_short_text() -> None:
    """What is short enough stays as it is."""
    messages = write(openai_chat, payload([*pair("é/", "1"), *pair("x" * 41, "2")]))["messages"]
    assert [message["tool_call_id"] for message in messages[1::2]] == ["é/", "x" * 40]


def test_equal_ids_in_one_message_are_answered_in_order() -> None:
    """Two calls of the same id pair with their results one after the other."""
    calls = Message(Role.ASSISTANT, (Call("a", "look", {"n": 1}), Call("a", "look", {"n": 2})))
    results = [Message(Role.TOOL, (Result("a", (Text(said),)),)) for said in ("one", "two")]
    messages = write(openai_chat, payload([calls, *results]))["messages"]
    assert [(message["tool_call_id"], message["content"]) for message in messages[1:]] == [("a", "one"), ("a_2", "two")]


@pytest.mark.parametrize("module", FORMATS, ids=lambda module: module.NAME)
def test_a_result_nobody_asked_for_is_a_labelled_user_message(module: Any) -> None:
    """No provider takes a result without its call."""
    written = write(module, payload([Message(Role.TOOL, (Result("a", (Text("x"),)),))]))
    (message,) = written.get("messages") or written["input"]
    assert message["role"] == "user"
    assert [block["text"] for block in message["content"]] == ["[result of a]", "x"]
