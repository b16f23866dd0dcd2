"""The Responses format, rule by rule."""

from typing import Any

import pytest
from wire_payloads import as_payload, check_types, payload, write

from sightline.errors import BadInput
from sightline.values.items import Call, Image, Message, Opaque, Result, Role, Text, ToolDefinition, Usage
from sightline.wire import openai_responses

Json = dict[str, Any]

REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x", "status": None}


def spoken(item_id: str, *texts: str, **more: Any) -> Json:
    """An output message."""
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "role": "assistant", "id": item_id, "status": "completed", **more, "content": content}


def called(call_id: str, **more: Any) -> Json:
    """A function call item."""
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": '{"a": 1}', **more}


def output(call_id: str, said: Any, kind: str = "function_call_output", **more: Any) -> Json:
    """What a tool answered."""
    return {"type": kind, "call_id": call_id, "output": said, **more}


def user(*content: Json) -> Json:
    """A user message."""
    return {"type": "message", "role": "user", "content": list(content)}


def rewritten(*items: Json) -> list[Json]:
    """The items, read and written again."""
    found: list[Json] = write(openai_responses, as_payload(openai_responses.read(items)))["input"]
    return found


ITEMS: list[Json] = [
    REASONING,
    spoken("msg_1", "let me see", "twice", phase="commentary"),
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
    called("a", id="fc_1", status="completed"),
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "b", "name": "sh", "input": "ls -la"},
]


def test_items_come_back_in_order_with_their_ids() -> None:
    """Reasoning, messages, hosted calls, calls and their outputs are written as they were read."""
    items = [
        *ITEMS,
        output("a", "1", id="fco_1", status="completed"),
        output("b", "2", "custom_tool_call_output"),
        {"type": "local_shell_call", "id": "l", "call_id": "c", "status": "completed", "action": {"type": "exec"}},
        {"type": "local_shell_call_output", "id": "l", "output": "{}"},
        spoken("msg_2", "one"),
        spoken("msg_3", "two"),
        {"type": "message", "role": "assistant", "content": "plain"},
        {"type": "message", "role": "user", "content": "ok"},
        user({"type": "input_text", "text": "ok"}, {"type": "input_text", "text": "go"}),
        {"type": "message", "role": "user", "content": ""},
        {"type": "compaction", "id": "c_1", "encrypted_content": "x"},
        {"id": "item_1"},
    ]
    assert rewritten(*items) == items


def test_a_reply_is_one_message_and_its_own_items_again() -> None:
    """All output items make one ASSISTANT message, which is written as the same items."""
    details = {"cached_tokens": 3, "cache_write_tokens": 1}
    usage = {"input_tokens": 8, "output_tokens": 5, "input_tokens_details": details}
    reply = openai_responses.read_reply({"object": "response", "model": "m", "output": ITEMS, "usage": usage})
    assert (reply.role, reply.model, reply.usage) == (Role.ASSISTANT, "m", Usage(8, 5, 3, 1))
    results = [Message(Role.TOOL, (Result(call_id, (Text("x"),)),)) for call_id in ("a", "b")]
    assert write(openai_responses, payload([reply, *results]))["input"][: len(ITEMS)] == ITEMS


def test_ids_go_with_the_opaque_parts() -> None:
    """Once the opaque parts are dropped, so are item ids, and what remains is legal without them."""
    reply = openai_responses.read_reply({"output": ITEMS})
    bare = tuple(part for part in reply.parts if not isinstance(part, Opaque))
    results = [Message(Role.TOOL, (Result(call_id, (Text("x"),)),)) for call_id in ("a", "b")]
    written = write(openai_responses, payload([Message(Role.ASSISTANT, bare), *results]))
    check_types(openai_responses, written)
    assert written["input"] == [
        {"type": "message", "role": "assistant", "content": "let me see"},
        {"type": "message", "role": "assistant", "content": "twice"},
        called("a"),
        {"type": "function_call", "call_id": "b", "name": "sh", "arguments": '{"input":"ls -la"}'},
        output("a", "x"),
        output("b", "x"),
    ]


def test_reasoning_alone_and_empty_messages_are_not_sent() -> None:
    """What the API refuses on its own is left out; what is said or called after it keeps all of its reasoning."""
    asked, nothing = {"type": "message", "role": "user", "content": "x"}, spoken("msg_1")
    empty, silent = ({"type": "message", "role": "assistant", "content": said} for said in ("[empty]", ""))
    assert rewritten(REASONING, asked) == [empty, asked]
    assert rewritten(spoken("msg_2", ""), asked) == rewritten(nothing, asked) == [silent, asked]
    assert rewritten(REASONING, nothing, asked) == [empty, asked]
    assert rewritten(spoken("msg_2", "hi"), REASONING, asked) == [spoken("msg_2", "hi"), asked]
    kept = [REASONING, REASONING, spoken("msg_2", "hi"), REASONING, called("a", id="fc_1"), output("a", "1")]
    assert rewritten(*kept[:3], nothing, *kept[3:]) == kept


def test_a_run_ends_at_an_output() -> None:
    """Parallel calls are one message; a call after an output is the next one."""
    read = openai_responses.read(
        [called("a"), called("b"), output("a", "1"), output("b", "2"), called("c"), output("c", "3")]
    )
    roles = [message.role for message in read]
    assert roles == [Role.ASSISTANT, Role.TOOL, Role.TOOL, Role.ASSISTANT, Role.TOOL]
    assert read[0].parts == (Call("a", "look", {"a": 1}, '{"a": 1}'), Call("b", "look", {"a": 1}, '{"a": 1}'))


@pytest.mark.parametrize(
    "block",
    [
        {"type": "input_image", "detail": "high", "image_url": "https://example.org/a.png"},
        {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo="},
        {"type": "input_image", "detail": "auto", "file_id": "file-1"},
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": "data:application/pdf;base64,JVBERg==",
            "detail": "low",
        },
        {"type": "input_file", "filename": "file", "file_data": "JVBERg=="},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
        {"type": "input_file", "file_id": "file-1"},
        {"type": "input_video", "not": "known"},
    ],
)
def test_pictures_and_files_survive(block: Json) -> None:
    """Every form is written as it was read, in messages and in outputs."""
    items = [user(block), called("a"), output("a", [block])]
    assert rewritten(*items) == items


def test_annotated_text_and_refusals_come_back() -> None:
    """Annotations stay with their text; a refusal stays inside its message."""
    item = spoken("msg_1", "cited", "plain")
    item["content"][0]["annotations"] = [{"type": "file_path", "file_id": "f", "index": 0}]
    item["content"].append({"type": "refusal", "refusal": "no"})
    assert rewritten(item) == [item]
    assert Text("cited") in openai_responses.read([item])[0].parts


def test_instructions_are_a_system_item() -> None:
    """They are read as a system message, and system messages are items at the front, each its own."""
    read = openai_responses.read("hi", instructions="be brief")
    assert read == [Message(Role.SYSTEM, (Text("be brief"),)), Message(Role.USER, (Text("hi"),))]
    assert write(openai_responses, as_payload(read)) == {
        "input": [
            {"type": "message", "role": "system", "content": "be brief"},
            {"type": "message", "role": "user", "content": "hi"},
        ]
    }


def test_failed_results_and_pictures_in_results() -> None:
    """A failed result begins with the word; a picture stays in the output."""
    result = Result("a", (Text("no"), Image("image/png", "iVBORw0KGgo=")), "failed")
    body = [Message(Role.ASSISTANT, (Call("a", "look", {}),)), Message(Role.TOOL, (result,))]
    image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    assert write(openai_responses, payload(body))["input"][1]["output"] == [
        {"type": "input_text", "text": "[error] no"},
        image,
    ]


def test_tools_are_written_and_read() -> None:
    """A function that is not strict is neutral; what says more, and what the server runs, keeps its definition."""
    definitions: list[Json] = [
        {"type": "function", "name": "a", "description": "A.", "parameters": {"type": "object"}, "strict": False},
        {"type": "function", "name": "b", "parameters": {"type": "object"}, "strict": True},
        {"type": "custom", "name": "sh"},
        {"type": "web_search"},
    ]
    tools = openai_responses.read_tools(definitions)
    written = write(openai_responses, payload([], tools=tools))
    check_types(openai_responses, written)
    assert written["tools"] == definitions
    assert tools[0] == ToolDefinition("a", "A.", {"type": "object"})
    assert [tool.provider for tool in tools] == ["", "responses", "responses", "responses"]


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user"},
        {"role": "robot", "content": "x"},
        {"type": "function_call", "call_id": "a"},
        {"type": "function_call_output", "call_id": "a", "output": 3},
        {},
        3,
    ],
)
def test_what_cannot_be_read_is_refused_by_place(item: Any) -> None:
    """The error names the item."""
    with pytest.raises(BadInput, match=r"input\[1\].*accepted"):
        openai_responses.read([{"role": "user", "content": "ok"}, item])
