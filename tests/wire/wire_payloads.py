"""Payloads for the wire tests: generated ones, what the SDKs' own types say of a result, and what the APIs demand."""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from types import ModuleType
from typing import Any, cast

from anthropic.types import MessageParam, TextBlockParam, ToolUnionParam
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
from openai.types.responses import ResponseInputParam
from openai.types.responses.tool_param import ToolParam
from pydantic import TypeAdapter

from sightline.values.items import Blob, Call, File, Image, Message, Opaque, Part, Result, Role, Text, ToolDefinition
from sightline.wire import anthropic, openai_chat, openai_responses
from sightline.wire.payload import Payload

FORMATS = (openai_chat, openai_responses, anthropic)
Json = dict[str, Any]


def payload(
    body: Iterable[Message],
    system: Iterable[Message] = (),
    tools: tuple[ToolDefinition, ...] = (),
    tail: tuple[Message, ...] = (),
    breakpoints: tuple[int, ...] = (),
) -> Payload:
    """A payload with no plan behind it: the wire never asks for one."""
    return Payload(tuple(system), tools, list(body), tail, breakpoints, cast(Any, None), "", 0)


def as_payload(messages: list[Message]) -> Payload:
    """What was read, to be written: leading system messages that say something are the head."""
    heads = (i for i, message in enumerate(messages) if message.role is not Role.SYSTEM or not message.parts)
    count = next(heads, len(messages))
    return payload(messages[count:], messages[:count])


def write(module: Any, payload: Payload) -> Json:
    """The request of a payload in this format."""
    return payload.write(module)


def sent(written: Json) -> list[Json]:
    """The messages or items of a written payload."""
    messages: list[Json] = written["messages"] if "messages" in written else written["input"]
    return messages


def content_blocks(message: Json) -> list[Any]:
    """The content of a message as blocks, a plain text as itself: how it is spelt does not matter to the prefix."""
    content = message["content"]
    if isinstance(content, str):
        return [content] if content else []
    return [block["text"] if block.keys() == {"type", "text"} else block for block in content or ()]


def read_back(module: ModuleType, written: Json) -> list[Message]:
    """What the format makes of its own output."""
    if module is anthropic:
        return anthropic.read(written["messages"], system=written.get("system"))
    messages: list[Message] = module.read(sent(written))
    return messages


# ------------------------------------------------------------------ the SDKs' types

_TYPES = {
    "openai": {
        "messages": TypeAdapter(list[ChatCompletionMessageParam]),
        "tools": TypeAdapter(list[ChatCompletionToolUnionParam]),
    },
    "responses": {"input": TypeAdapter(ResponseInputParam), "tools": TypeAdapter(list[ToolParam])},
    "anthropic": {
        "messages": TypeAdapter(list[MessageParam]),
        "system": TypeAdapter(list[TextBlockParam]),
        "tools": TypeAdapter(list[ToolUnionParam]),
        "max_tokens": TypeAdapter(int),
    },
}


def check_types(module: ModuleType, written: Json) -> None:
    """Raises unless every argument is what the SDK's own type says, to the last nested block."""
    for name, value in written.items():
        _exhaust(_TYPES[module.NAME][name].validate_python(value))


def _exhaust(value: object) -> None:
    # pydantic checks an Iterable only while it is walked
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for inner in value:
            _exhaust(inner)


# ------------------------------------------------------------------ what the APIs demand beyond their types


LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # ids of calls and names of tools


def check_chat(written: Json) -> None:
    """Every call answered directly behind its message, in order; ids unique and short; no empty list."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in written["messages"]:
        if message["role"] == "tool":
            assert waiting, "a result without a call"
            assert message["tool_call_id"] == waiting.pop(0)
            assert isinstance(message["content"], str) or message["content"]
            continue
        assert not waiting, "a call without its result"
        assert isinstance(message["content"], str) or message["content"] or _says_more(message)
        for call in message.get("tool_calls", ()):
            assert 1 <= len(call["id"]) <= 40
            assert LEGAL.fullmatch(call["function"]["name"])
            assert call["id"] not in seen
            seen.add(call["id"])
            waiting.append(call["id"])
    assert not waiting


def _says_more(message: Json) -> bool:
    return any(map(message.get, ("tool_calls", "refusal", "audio")))


def check_responses(written: Json) -> None:
    """Every call has one output behind it before the next message; ids are unique and legal; no empty list; reasoning
    is never the end of what the assistant says.
    """
    waiting: list[tuple[str, str]] = []
    seen: set[str] = set()
    for item in written["input"]:
        match item["type"]:
            case "function_call" | "custom_tool_call" as kind:
                assert LEGAL.fullmatch(item["call_id"])
                assert LEGAL.fullmatch(item["name"])
                assert item["call_id"] not in seen
                seen.add(item["call_id"])
                waiting.append((f"{kind}_output", item["call_id"]))
            case "function_call_output" | "custom_tool_call_output" as kind:
                assert (kind, item["call_id"]) == waiting.pop(0)
            case "message":
                assert not waiting or item["role"] == "assistant"
                assert isinstance(item["content"], str) or item["content"]
            case _:
                pass
    assert not waiting
    for item, after in pairwise([*written["input"], {}]):
        if item["type"] == "reasoning":
            assert after.get("type") in ("reasoning", "message", "function_call", "custom_tool_call")
            assert after.get("role") in (None, "assistant")


def check_anthropic(written: Json) -> None:
    """User first; no blank text; all results of a message first in the next one; ids unique and legal; few markers."""
    messages = written["messages"]
    assert messages[0]["role"] == "user"
    assert str(written).count("'cache_control'") <= 4
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        assert message["content"], "empty content"
        answers = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert answers == waiting
        assert all(block["type"] == "tool_result" for block in message["content"][: len(answers)])
        waiting = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        for call_id in waiting:
            assert LEGAL.fullmatch(call_id)
            assert call_id not in seen
            seen.add(call_id)
        for block in message["content"]:
            _check_block(block)
    assert not waiting


def _check_block(block: Json) -> None:
    if block["type"] == "text":
        assert block["text"].strip()
    if block["type"] == "tool_use":
        assert isinstance(block["input"], dict)
        assert LEGAL.fullmatch(block["name"])
    if block["type"] in ("thinking", "redacted_thinking"):
        assert "cache_control" not in block
    for inner in block.get("content", ()) if block["type"] == "tool_result" else ():
        _check_block(inner)


CHECKS = {"openai": check_chat, "responses": check_responses, "anthropic": check_anthropic}

# ------------------------------------------------------------------ generated payloads

TEXT = st.one_of(
    st.sampled_from(["", " \n", "hello", "[empty]", "[error] no", "\x00nul", '{"a": 1}', "你好 🙂"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
DATA = st.sampled_from(["iVBORw0KGgo=", "aGVsbG8="])

texts = st.builds(Text, TEXT)
blobs = st.sampled_from([Blob("/w=="), Blob("7aCA", surrogates=True)])
images = st.one_of(
    st.builds(Image, st.sampled_from(["", "image/png", "image/bmp"]), DATA),
    st.just(Image(url="https://example.org/a.png", extra={"detail": "low"})),
    st.sampled_from([Image(file_id="file_1", extra={"vendor": vendor}) for vendor in ("openai", "anthropic")]),
)
files = st.one_of(
    st.builds(File, st.sampled_from(["application/pdf", "text/plain", ""]), DATA, name=st.sampled_from(["", "a.pdf"])),
    st.just(File(url="https://example.org/a.pdf")),
    st.sampled_from([File(file_id="file_1", extra={"vendor": vendor}) for vendor in ("openai", "anthropic")]),
)
CITED = {"citations": [{"type": "char_location", "cited_text": "x", "document_index": 0, "document_title": None}]}
CITED["citations"][0] |= {"start_char_index": 0, "end_char_index": 1}
opaques = st.sampled_from(
    [
        Opaque("anthropic", "thinking", {"type": "thinking", "thinking": "hm", "signature": "s"}),
        Opaque("anthropic", "redacted_thinking", {"type": "redacted_thinking", "data": "x"}),
        Opaque("anthropic", "+text", CITED),
        Opaque("responses", "reasoning", {"type": "reasoning", "id": "rs_1", "summary": []}),
        Opaque("responses", "+message", {"id": "msg_1", "status": "completed"}),
        Opaque("responses", "+call", {"id": "fc_1", "status": "completed"}),
        Opaque("openai", "refusal", {"type": "refusal", "refusal": "no"}),
        Opaque("openai", "+message", {"name": "robin"}),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
ids = st.one_of(st.sampled_from(["call_1", "call_2", "", "ü b", "x" * 70]), st.text("ab_é", max_size=3))
names = st.sampled_from(["look", "look", "functions.look<|channel|>json", "", "x" * 70, "看"])
calls = st.one_of(
    st.builds(Call, ids, names, st.dictionaries(TEXT, VALUES, max_size=2)),
    st.builds(Call, ids, names, raw=st.sampled_from(["", "{broken", "null", "[1]"])),
)
shown = st.lists(st.one_of(texts, texts, blobs, images, files), max_size=3).map(tuple)


@st.composite
def units(draw: st.DrawFn) -> list[Message]:
    """One unit: a user or system message, perhaps with what joins it, or an assistant message with its results."""
    match draw(st.sampled_from(["user", "recall", "system", "assistant", "assistant"])):
        case "user":
            return [Message(Role.USER, draw(shown))]
        case "recall":
            return [Message(Role.USER, draw(shown)), Message(Role.USER, draw(shown), merge_into_previous=True)]
        case "system":
            return [Message(Role.SYSTEM, draw(shown))]
        case _:
            parts: list[Part] = draw(st.lists(st.one_of(texts, blobs, images, opaques, calls), max_size=4))
            asked = [part for part in parts if isinstance(part, Call)]
            error = st.sampled_from(["", "failed"])
            results = [Message(Role.TOOL, (Result(call.id, draw(shown), draw(error)),)) for call in asked]
            return [Message(Role.ASSISTANT, tuple(parts)), *results]


histories = st.lists(units(), max_size=5)
bodies = histories.map(lambda found: [message for unit in found for message in unit])
systems = st.lists(shown.map(lambda parts: Message(Role.SYSTEM, parts)), max_size=2)
tools = st.sampled_from(
    [
        (),
        (ToolDefinition("look"),),
        (
            ToolDefinition("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}}),
            ToolDefinition(
                "web_search", provider="anthropic", raw={"type": "web_search_20250305", "name": "web_search"}
            ),
            ToolDefinition("file_search", provider="responses", raw={"type": "file_search", "vector_store_ids": ["v"]}),
        ),
    ]
)
payloads = st.builds(
    payload,
    bodies,
    systems,
    tools,
    st.lists(st.builds(Message, st.just(Role.USER), shown), max_size=1).map(tuple),
    st.lists(st.integers(0, 8), max_size=6).map(tuple),
)
