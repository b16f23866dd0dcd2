"""Servers that say anything: one of our errors comes of it, or an answer that the session takes."""

import asyncio
import json
from collections.abc import AsyncGenerator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_talk import ask, pieces, request, session
from stub import Stub, raw

from sightline.agent.models import Reply, RetryScheduled, TextDelta, anthropic, openai
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import Chunk, ServedModel
from sightline.agent.models.retry import RetryingModel
from sightline.errors import ModelBusy, ModelError

Json = Any
WIRES = {"openai": openai.OpenAiModel, "anthropic": anthropic.AnthropicModel}

GOOD: dict[str, list[Json]] = {
    "openai": [
        {"id": "x", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}}]},
        {"choices": [{"index": 0, "delta": {"reasoning": "hm", "reasoning_details": [{"index": 0, "text": ""}]}}]},
        {"choices": [{"index": 0, "delta": {"reasoning_details": [{"index": 0, "text": "hm"}], "refusal": "no"}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2,
                                  "prompt_tokens_details": {"cached_tokens": 1}}},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "model": "m", "content": [],
                                              "usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": {"type": "c"}}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "a", "name": "f"}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ],
}  # fmt: skip
WHOLE: dict[str, Json] = {
    "openai": {"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]},
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
    },
}
REQUEST = request()
WORDS = ("choices", "delta", "message", "tool_calls", "index", "type", "content", "error", "usage", "function", "id")
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=3), inner),
    max_leaves=6,
)  # fmt: skip


def places(value: Json) -> list[tuple[Any, ...]]:
    """The way to every value inside a value, itself included."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *way) for key, inner in inside for way in places(inner))]


def changed(value: Json, way: tuple[Any, ...], new: Json) -> Json:
    """The value with another one at this place."""
    if not way:
        return new
    copy = value.copy()
    copy[way[0]] = changed(value[way[0]], way[1:], new)
    return copy


class Served(ServedModel):
    """A model whose server sends these chunks."""

    def __init__(self, kind: str, chunks: list[Chunk]) -> None:
        self.protocol, self._sent = WIRES[kind].protocol, chunks
        super().__init__(Endpoint("some-model", provider=kind))

    async def _send(self, _: dict[str, Any]) -> AsyncGenerator[Chunk, None]:
        for chunk in deepcopy(self._sent):  # a reply is built in the first of its chunks
            yield chunk


def outcome(kind: str, chunks: list[Chunk]) -> None:
    """Read these; an answer that comes of it must be one that the session takes."""

    try:
        *said, last = asyncio.run(pieces(Served(kind, chunks), REQUEST))
    except ModelError:
        return
    assert all(isinstance(piece, TextDelta) and isinstance(piece.text, str) for piece in said)
    assert isinstance(last, Reply)
    talk = session()
    talk.user("Hello")
    talk.reply(last.raw)


@pytest.mark.slow
@pytest.mark.parametrize("kind", WIRES)
@given(data=st.data())
def test_one_odd_value_anywhere(kind: str, data: st.DataObject) -> None:
    """A good stream in which one value, at any depth, is any other JSON: our error, or an answer that can be kept."""
    good = GOOD[kind]
    at = data.draw(st.integers(0, len(good) - 1))
    way = data.draw(st.sampled_from(places(good[at])))
    odd = changed(good[at], way, data.draw(ODD))
    if isinstance(odd, dict):  # else the connection has refused it already
        outcome(kind, [*(Chunk(each) for each in good[:at]), Chunk(odd), *(Chunk(each) for each in good[at + 1 :])])


@pytest.mark.slow
@pytest.mark.parametrize("kind", WIRES)
@given(data=st.data())
def test_one_odd_value_in_a_whole_answer(kind: str, data: st.DataObject) -> None:
    """The same where the server did not stream."""
    odd = changed(WHOLE[kind], data.draw(st.sampled_from(places(WHOLE[kind]))), data.draw(ODD))
    if isinstance(odd, dict):
        outcome(kind, [Chunk(odd, whole=True)])


@pytest.mark.slow
@pytest.mark.parametrize("kind", WIRES)
@given(chunks=st.lists(st.dictionaries(st.sampled_from(WORDS), ODD), max_size=4), done=st.booleans())
def test_any_values_at_all(kind: str, chunks: list[dict[str, Any]], done: bool) -> None:
    """Objects that have nothing of an answer but some of its words."""
    outcome(kind, [*map(Chunk, chunks), *([Chunk({}, done=True)] if done else [])])


@pytest.mark.parametrize(
    "chunk",
    [
        '{"choices":[null]}',
        '{"choices":[{"index":0,"delta":{"tool_calls":[null]},"finish_reason":"stop"}]}',
        '{"choices":[{"index":0,"delta":"x"}]}',
        '{"choices":7}',
        "no JSON",
        "[" * 5000,
    ],
)
@pytest.mark.parametrize("kind", ["openai", "openai sdk"])
def test_garbage_over_the_wire_is_busy(kind: str, chunk: str) -> None:
    """Asked again as any other failure of a server, by the adapter and by the SDK alike."""
    with Stub([raw(f"data: {chunk}\n\n".encode())]) as stub, pytest.raises(ModelBusy, match="some-model"):
        ask(kind, stub)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "lost"}},
        {"type": "content_block_start", "index": None, "content_block": {"type": "text", "text": "lost"}},
        {"type": "message_delta", "delta": "x"},
        {"type": "message_start", "message": {"type": "message", "content": None}},
    ],
)
@pytest.mark.parametrize("kind", ["anthropic", "anthropic sdk"])
def test_garbage_of_the_other_wire_is_busy(kind: str, event: Json) -> None:
    """Also where a piece has no place: it is not left out of the answer in silence."""
    events = [GOOD["anthropic"][0], event, {"type": "message_stop"}]
    stream = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events).encode()
    with Stub([raw(stream)]) as stub, pytest.raises(ModelBusy, match="some-model"):
        ask(kind, stub)


def test_garbage_is_asked_again() -> None:
    """The next answer may be a good one."""

    async def sleep(_: float) -> None:
        """Not now."""

    async def main(stub: Stub) -> list[TextDelta | RetryScheduled | Reply]:
        model = openai.OpenAiModel(Endpoint("some-model", base_url=f"{stub.url}/v1"))
        try:
            return await pieces(RetryingModel([model], sleep=sleep), request())
        finally:
            await model.close()

    good = "".join(f"data: {json.dumps(each)}\n\n" for each in GOOD["openai"]).encode()
    with Stub([raw(b'data: {"choices":[null]}\n\n'), raw(good)]) as stub:
        found = asyncio.run(main(stub))
    assert isinstance(found[0], RetryScheduled)
    assert isinstance(found[-1], Reply)
