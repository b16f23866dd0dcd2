"""The Anthropic format, rule by rule."""

from typing import Any

import pytest
from msgspec.structs import replace
from wire_payloads import as_payload, check_types, payload, write

from sightline.errors import BadInput
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore
from sightline.values.items import Blob, Call, File, Image, Message, Opaque, Result, Role, Text, ToolDefinition, Usage
from sightline.wire import anthropic
from sightline.wire.common import in_role
from sightline.wire.payload import PrefixList

MARK = {"type": "ephemeral"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "sig"}


def text(said: str, **more: Any) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": said, **more}


def rewritten(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages, read and written again."""
    found: list[dict[str, Any]] = write(anthropic, as_payload(anthropic.read(messages)))["messages"]
    return found


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [text("Hi")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [text("one")]}]},
        {"role": "assistant", "content": [text("Hello")]},
    ],
    ids=["user", "result", "assistant"],
)
def test_fields_of_a_message_are_written_again(message: dict[str, Any]) -> None:
    """Claude Code has an `output_config` in its messages. Those that only a reply has are left out."""
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}
    before = [{"role": "user", "content": [text("Do it")]}, *([asked] if "tool_use_id" in str(message) else [])]
    given = message | {"output_config": {"effort": "high"}}
    reply = {"id": "msg_1", "type": "message", "model": "m", "usage": {"input_tokens": 1}, "stop_reason": "end_turn"}
    last = rewritten(*before, given | reply)[-1]
    last["content"][-1].pop("cache_control", None)
    assert {key: value for key, value in last.items() if key != "content"} == {
        "role": message["role"],
        "output_config": {"effort": "high"},
    }
    assert last["content"][0]["type"] == message["content"][0]["type"]


def test_results_become_tool_messages_and_the_rest_a_user_message() -> None:
    """Each tool_result is one TOOL message, in order; text keeps its order in a USER message after them."""
    blocks = [
        text("first"),
        {"type": "tool_result", "tool_use_id": "a", "content": "one", "is_error": True},
        {"type": "tool_result", "tool_use_id": "b", "content": [text("two")]},
        {"type": "tool_result", "tool_use_id": "c"},
        text("last"),
    ]
    assert anthropic.read([{"role": "user", "content": blocks}]) == [
        Message(Role.TOOL, (Result("a", (Text("one"),), "failed"),)),
        Message(Role.TOOL, (Result("b", (Text("two"),)),)),
        Message(Role.TOOL, (Result("c", ()),)),
        Message(Role.USER, (Text("first"), Text("last"))),
    ]


def test_all_results_of_a_message_share_one_user_message() -> None:
    """Results go into one user message in call order, however they came; the next user message stays apart."""
    body = [
        Message(Role.USER, (Text("go"),)),
        Message(Role.ASSISTANT, (Call("a", "look", {}), Call("b", "look", {}))),
        Message(Role.TOOL, (Result("b", (Text("B"),)),)),
        Message(Role.TOOL, (Result("a", (Text("A"),), "interrupted"),)),
        Message(Role.USER, (Text("thanks"),)),
    ]
    messages = write(anthropic, payload(body))["messages"]
    assert messages[2:] == [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [text("A")], "is_error": True},
                {"type": "tool_result", "tool_use_id": "b", "content": [text("B")]},
            ],
        },
        {"role": "user", "content": [text("thanks")]},
    ]


@pytest.mark.parametrize(
    "block",
    [
        THINKING,
        {"type": "redacted_thinking", "data": "x"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "compaction", "content": "so far"},
        {"type": "not_invented_yet", "deep": {"er": [1, None]}},
        text("cited", citations=[{"type": "char_location", "cited_text": "x"}]),
        {"type": "tool_use", "id": "a", "name": "look", "input": {}, "caller": {"type": "direct"}},
    ],
    ids=lambda block: block["type"],
)
def test_the_providers_own_blocks_come_back_verbatim_and_in_place(block: dict[str, Any]) -> None:
    """Between other blocks, every kind of block is written as it was read."""
    content = [text("before"), block, text("after")]
    messages = [{"role": "user", "content": [text("go")]}, {"role": "assistant", "content": content}]
    if block["type"] == "tool_use":
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]})
    assert rewritten(*messages) == messages


def test_cited_text_is_plain_text_to_everyone_else() -> None:
    """A text with citations reads as Text; its citations stand beside it."""
    found = anthropic.read([{"role": "assistant", "content": [text("x", citations=[{"a": 1}])]}])[0]
    assert found.parts == (Text("x"), Opaque("anthropic", "+text", {"citations": [{"a": 1}]}))


def test_the_callers_cache_markers_are_dropped() -> None:
    """cache_control is the plan's business: none survives reading, in blocks, results, system or tools."""
    marked = {
        "type": "tool_result",
        "tool_use_id": "a",
        "content": [text("x", cache_control=MARK)],
        "cache_control": MARK,
    }
    asked = {"type": "tool_use", "id": "a", "name": "look", "input": {}, "cache_control": MARK}
    messages = [
        {"role": "assistant", "content": [asked]},
        {"role": "user", "content": [marked, text("y", cache_control=MARK)]},
    ]
    read = anthropic.read(messages, system=[text("s", cache_control=MARK)])
    tools = anthropic.read_tools([{"name": "look", "input_schema": {"type": "object"}, "cache_control": MARK}])
    assert "cache_control" not in repr(read)
    assert tools == (ToolDefinition("look", schema={"type": "object"}),)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {
            "type": "image",
            "source": {"type": "file", "file_id": "file_1"},
            "transformations": {"oversized_image": "error"},
        },
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain ü"}, "title": "T"},
        {
            "type": "document",
            "source": {"type": "url", "url": "https://example.org/a.pdf"},
            "citations": {"enabled": True},
        },
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}, "context": "c"},
        {"type": "document", "source": {"type": "content", "content": "inline"}},
        {"type": "search_result", "content": [text("x")], "source": "s", "title": "t"},
    ],
)
def test_pictures_and_documents_survive(block: dict[str, Any]) -> None:
    """Every source of an image or a document is written as it was read, in messages and in results."""
    result = {"type": "tool_result", "tool_use_id": "a", "content": [block]}
    asked = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    messages = [
        {"role": "user", "content": [block]},
        {"role": "assistant", "content": [asked]},
        {"role": "user", "content": [result]},
    ]
    assert rewritten(*messages) == messages


@pytest.mark.parametrize("place", ["content", "source"])
def test_markers_inside_a_block_are_the_callers_too(place: str) -> None:
    """Breakpoints are the plan's: one for five minutes before one for an hour would be refused."""
    marked = text("x") | {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    inner = {"content": [marked]} if place == "content" else {"source": {"type": "content", "content": [marked]}}
    block = {"type": "search_result" if place == "content" else "document", "source": "s", "title": "t", **inner}
    assert "cache_control" not in str(rewritten({"role": "user", "content": [block]}))


def test_usage_says_what_is_kept_for_an_hour() -> None:
    """Of a stream that counts more at its end than at its beginning, the same share."""
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 1_500}
    kept = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1_000}
    assert anthropic.read_usage(usage | {"cache_creation": kept}) == Usage(1_501, 2, 0, 1_500, 1_500)
    assert anthropic.read_usage(usage | {"cache_creation": "many"}) == Usage(1_501, 2, 0, 1_500)


def test_what_this_provider_cannot_take_is_named() -> None:
    """A picture of another type, a file of another vendor and a picture said by the assistant become a line of text."""
    body = [
        Message(
            Role.USER, (Image("image/bmp", "Qk0="), File(file_id="file-1", name="a.pdf", extra={"vendor": "openai"}))
        ),
        Message(Role.ASSISTANT, (Image("image/png", "iVBORw0KGgo="),)),
    ]
    messages = write(anthropic, payload(body))["messages"]
    assert messages[0]["content"] == [text("[image image/bmp]"), text("[file a.pdf file-1]")]
    assert messages[1]["content"] == [text("[image image/png]")]


@pytest.mark.parametrize(
    ("raw", "expected"), [("{broken", {"_raw": "{broken"}), ("[1]", {"_raw": "[1]"}), ("", {}), ("{}", {})]
)
def test_arguments_that_are_no_object_stand_in_one_field(raw: str, expected: dict[str, Any]) -> None:
    """The input of a tool_use is always an object."""
    body = [Message(Role.ASSISTANT, (Call("a", "look", raw=raw),)), Message(Role.TOOL, (Result("a", ()),))]
    assert write(anthropic, payload(body))["messages"][1]["content"][0]["input"] == expected


def test_a_conversation_begins_with_the_user() -> None:
    """An assistant first, or nothing at all, gets an opening user message."""
    opening = {"role": "user", "content": [text("[conversation continues]")]}
    assert write(anthropic, payload([]))["messages"] == [opening]
    assert write(anthropic, payload([Message(Role.ASSISTANT, (Text("hi"),))]))["messages"][0] == opening


def test_blank_text_is_left_out_and_silence_is_said() -> None:
    """Whitespace beside text goes; a message of nothing, or ending in thought, says so."""
    body = [
        Message(Role.USER, (Text(" \n"), Text("x"))),
        Message(Role.ASSISTANT, (Opaque("anthropic", "thinking", THINKING),)),
        Message(Role.USER, (Text(""),)),
    ]
    contents = [message["content"] for message in write(anthropic, payload(body))["messages"]]
    assert contents == [[text("x")], [THINKING, text("[empty]")], [text("[empty]")]]


def test_what_the_model_said_is_sent_without_blanks_at_its_end_and_the_log_has_them() -> None:
    """The API refuses them in the last message. The same message is written the same when others follow it."""
    session = Session(MemoryStore())
    session.user("Go on. ")
    kept = session.reply("Prefilled: \n\u3000")
    first = session.compose(Budget(10_000)).anthropic()["messages"]
    assert [message["content"][0]["text"] for message in first] == ["Go on. ", "Prefilled:"]
    session.user("And?")
    assert session.compose(Budget(10_000)).anthropic()["messages"][1]["content"][0]["text"] == "Prefilled:"
    assert session.items.text(kept) == "Prefilled: \n\u3000"


def test_a_system_message_inside_the_body_stays_there_labelled() -> None:
    """It is user text behind a label, at its place."""
    body = [Message(Role.USER, (Text("hi"),)), Message(Role.SYSTEM, (Text("be brief"),))]
    written = write(anthropic, payload(body, [Message(Role.SYSTEM, (Text("base"), Blob("/w==")))]))
    assert written["system"] == [text("base"), text("\ufffd")]
    assert written["messages"][1] == {"role": "user", "content": [text("[system] be brief")]}


EFFORT = Opaque("anthropic", "+message", {"output_config": {"effort": "high"}})
SAID = in_role(Message(Role.SYSTEM, (EFFORT, Text("be brief"))), "anthropic")
USER, ANSWER = Message(Role.USER, (Text("hi"),)), Message(Role.ASSISTANT, (Text("yes"),))


@pytest.mark.parametrize(
    ("body", "stays"),
    [
        ([USER, SAID], True),
        ([USER, SAID, ANSWER, USER], True),
        ([USER, ANSWER, SAID], False),
        ([SAID, ANSWER], False),
        ([USER, SAID, USER], False),
        ([USER, SAID, SAID, ANSWER], False),
    ],
)
def test_a_system_message_that_the_client_sent_so_keeps_its_role_where_the_api_takes_it(
    body: list[Message], stays: bool
) -> None:
    """After the user's and before an answer, or at the end; elsewhere it is user text. So it is while a list grows."""
    written = write(anthropic, payload(body))["messages"]
    at = body.index(SAID)
    in_its_role = {"role": "system", "content": [text("be brief")], "output_config": {"effort": "high"}}
    assert written[at] == (in_its_role if stays else {"role": "user", "content": [text("[system] be brief")]})
    shared = PrefixList[Message]([])
    for length in range(1, len(body) + 1):
        shared = shared.grown([body[length - 1]])
        grown = write(anthropic, replace(payload(body), body=shared))["messages"]
        assert grown == write(anthropic, payload(body[:length]))["messages"]


def test_a_system_message_of_a_client_is_user_text_before_a_window() -> None:
    """The window is a message of the user's."""
    written = write(anthropic, payload([USER, SAID], tail=(Message(Role.USER, (Text("window"),)),)))["messages"]
    assert [message["role"] for message in written] == ["user", "user", "user"]


def test_a_system_message_may_say_only_how_hard_to_think() -> None:
    """It has no content, and needs none."""
    [said] = anthropic.read([{"role": "system", "content": [], "output_config": {"effort": "low"}}])
    written = write(anthropic, payload([USER, in_role(said, "anthropic"), ANSWER]))["messages"]
    assert written[1] == {"role": "system", "content": [], "output_config": {"effort": "low"}}


def test_a_recall_joins_only_a_user_message() -> None:
    """Behind a user message it lengthens it; behind anything else it is a user message of its own."""
    recall = Message(Role.USER, (Text("recalled"),), merge_into_previous=True)
    joined = write(anthropic, payload([Message(Role.USER, (Text("hi"),)), recall]))["messages"]
    apart = write(anthropic, payload([Message(Role.ASSISTANT, (Text("hi"),)), recall]))["messages"]
    assert joined == [{"role": "user", "content": [text("hi"), text("recalled")]}]
    assert apart[-1] == {"role": "user", "content": [text("recalled")]}


def test_breakpoints_mark_the_last_block_they_cover() -> None:
    """0 marks the end of the head, n the end of the first n messages, never a thought; what comes later stays bare."""
    body = [
        Message(Role.USER, (Text("hi"),)),
        Message(Role.USER, (Text("recalled"),), merge_into_previous=True),
        Message(Role.ASSISTANT, (Text("x"), Opaque("anthropic", "redacted_thinking", {"type": "redacted_thinking"}))),
    ]
    head, tail = [Message(Role.SYSTEM, (Text("s"),))], (Message(Role.USER, (Text("window"),)),)
    written = write(anthropic, payload(body, head, (ToolDefinition("look"),), tail, (0, 1, 3, 99)))
    assert written["system"] == [text("s", cache_control=MARK)]
    assert "cache_control" not in written["tools"][0]
    assert written["messages"][0]["content"] == [text("hi", cache_control=MARK), text("recalled")]
    assert [*map(_marked, written["messages"][1]["content"])] == [False, False, True]
    assert not _marked(written["messages"][2]["content"][0])


def _marked(block: dict[str, Any]) -> bool:
    return "cache_control" in block


def test_a_head_of_tools_alone_is_marked_at_its_last_tool() -> None:
    """Without a system prompt, 0 marks the last tool that may be marked."""
    deferred = ToolDefinition("b", provider="anthropic", raw={"type": "x_20250101", "name": "b", "defer_loading": True})
    written = write(anthropic, payload([], tools=(ToolDefinition("a"), deferred), breakpoints=(0,)))
    assert [_marked(tool) for tool in written["tools"]] == [True, False]


def test_only_four_breakpoints_are_sent() -> None:
    """Of more, the head's and the last three remain."""
    body = [Message(Role.USER, (Text(str(place)),)) for place in range(6)]
    written = write(anthropic, payload(body, [Message(Role.SYSTEM, (Text("s"),))], breakpoints=(0, 1, 2, 3, 4, 5, 6)))
    marked = [message["content"][0]["text"] for message in written["messages"] if _marked(message["content"][0])]
    assert marked == ["3", "4", "5"]
    assert _marked(written["system"][0])


def test_usage_counts_the_cache_in() -> None:
    """This provider reports cached tokens apart; ours includes them."""
    usage = {
        "input_tokens": 4,
        "cache_creation_input_tokens": 900,
        "cache_read_input_tokens": 18_000,
        "output_tokens": 7,
    }
    reply = {"type": "message", "role": "assistant", "model": "m", "content": [text("hi")], "usage": usage}
    expected = Message(Role.ASSISTANT, (Text("hi"),), model="m", usage=Usage(18_904, 7, 18_000, 900))
    assert anthropic.read_reply(reply) == expected


def test_tools_are_written_and_read() -> None:
    """A plain function is neutral; what says more, and what the server runs, keeps its definition."""
    definitions: list[dict[str, Any]] = [
        {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}},
        {"name": "strict", "input_schema": {"type": "object"}, "strict": True},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
    ]
    tools = anthropic.read_tools(definitions)
    written = write(anthropic, payload([], tools=tools))
    check_types(anthropic, written)
    assert written["tools"] == definitions
    assert [tool.provider for tool in tools] == ["", "anthropic", "anthropic"]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": 3},
        {"role": "user", "content": [{"no": "type"}]},
        {"role": "robot", "content": "x"},
        3,
    ],
)
def test_what_cannot_be_read_is_refused_by_place(message: Any) -> None:
    """The error names the message."""
    with pytest.raises(BadInput, match=r"messages\[1\].*accepted"):
        anthropic.read([{"role": "user", "content": "ok"}, message])


def test_a_block_without_a_type_is_written_as_it_came() -> None:
    """Whatever a provider's block looks like: it is no place for a cache breakpoint, and nothing fails."""
    with Session(MemoryStore("s")) as session:
        session.user([Text("a"), Opaque("anthropic", "note", {"note": 1})])
        session.assistant("b")
        session.user("more")
        messages = session.compose(Budget(100_000)).anthropic()["messages"]
    assert messages[0]["content"][1] == {"note": 1}
