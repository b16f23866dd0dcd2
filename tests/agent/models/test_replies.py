"""What a reply says of itself: who gave it, for what price, and why it ended."""

import asyncio
import json
from typing import Any

import pytest
from model_talk import KINDS, ask, pieces, request
from stub import Line, Stub, answer, raw

from sightline.agent.models import Price, Reply
from sightline.agent.models.sdk import SdkModel
from sightline.wire import why_ended

CALL: list[tuple[str, str, dict[str, Any]]] = [("call_1", "read_file", {})]
PRICE = Price(input=3, output=15)


def replied(kind: str, line: Line) -> Reply:
    """The reply to a question."""
    price = {} if kind.endswith("sdk") else {"price": PRICE}
    with Stub([line]) as stub:
        last = ask(kind, stub, request(), **price)[-1]
    assert isinstance(last, Reply)
    return last


@pytest.mark.slow("model_length-model_context_window_exceeded-length-anthropic sdk")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("openai", "anthropic", "stop"),
    [
        ("stop", "end_turn", ""),
        ("stop", "stop_sequence", ""),
        ("something_new", "pause_turn", ""),
        ("length", "max_tokens", "length"),
        ("model_length", "model_context_window_exceeded", "length"),
        ("content_filter", "refusal", "refused"),
    ],
)
def test_why_an_answer_ended_is_said_in_one_vocabulary(kind: str, openai: str, anthropic: str, stop: str) -> None:
    """Nothing for an end as it should be, "length" where the room ended, "refused" where the model may not answer."""
    words = {"openai": openai, "anthropic": anthropic}
    assert replied(kind, answer("and so", stop=words[kind.split(maxsplit=1)[0]])).stop == stop


@pytest.mark.parametrize("kind", KINDS)
def test_tool_calls_are_an_end_as_it_should_be(kind: str) -> None:
    """The answer goes on after the results."""
    assert replied(kind, answer("", CALL)).stop == ""


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_an_answer_that_was_not_streamed_says_it_too(kind: str) -> None:
    """The same words, in the same places."""
    stop = "length" if kind == "openai" else "max_tokens"
    assert replied(kind, answer("and so", stop=stop, whole=True)).stop == "length"


@pytest.mark.parametrize("kind", ["openai", "openai sdk"])
def test_a_refusal_in_so_many_words_is_one(kind: str) -> None:
    """OpenAI ends it with "stop", and has the words apart."""
    chunks = ('{"delta":{"refusal":"I cannot"}}', '{"delta":{"refusal":" help."},"finish_reason":"stop"}')
    stream = "".join(f'data: {{"id":"x","model":"m","choices":[{each}]}}\n\n' for each in chunks) + "data: [DONE]\n\n"
    found = replied(kind, raw(stream.encode()))
    assert found.stop == "refused"
    assert found.raw["choices"][0]["message"]["refusal"] == "I cannot help."


def test_an_answer_that_says_nothing_of_its_end() -> None:
    """Some servers only say that the stream is done."""
    assert why_ended({}) == why_ended({"choices": []}) == why_ended({"stop_reason": None}) == why_ended("Hi") == ""


@pytest.mark.parametrize(("status", "reason", "why"), [
    ("incomplete", "max_output_tokens", "length"), ("incomplete", "content_filter", "refused"), ("completed", None, ""),
])  # fmt: skip
def test_the_responses_api_says_why_it_ended_apart(status: str, reason: str | None, why: str) -> None:
    """A status, and the details of one that is not complete."""
    details = {"reason": reason} if reason else None
    assert why_ended({"object": "response", "status": status, "incomplete_details": details, "output": []}) == why


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_reply_has_the_price_of_its_model(kind: str) -> None:
    """What the configuration says; None where nobody knows."""
    assert replied(kind, answer("Hi")).price == PRICE
    with Stub([answer("Hi")]) as stub:
        last = ask(kind, stub)[-1]
    assert isinstance(last, Reply)
    assert last.price is None


def test_a_client_of_an_sdk_has_the_price_it_was_given() -> None:
    """The same through an SDK."""
    from openai import AsyncOpenAI

    async def main(stub: Stub) -> Reply:
        async with AsyncOpenAI(api_key="sk-x", base_url=f"{stub.url}/v1") as client:
            *_, last = await pieces(SdkModel(client, "some-model", price=PRICE), request())
        assert isinstance(last, Reply)
        return last

    with Stub([answer("Hi")]) as stub:
        assert asyncio.run(main(stub)).price == PRICE


ONE, OTHER = {"name": "add", "arguments": '{"a":1}'}, {"name": "add", "arguments": '{"a":2}'}
REST = {"function": {"arguments": ""}}


@pytest.mark.parametrize(
    ("deltas", "found"),
    [
        ([{"function": ONE}, {"function": OTHER}], [ONE, OTHER]),
        ([{"index": 0, "id": "", "function": ONE}, {"index": 0, "id": "", "function": OTHER}], [ONE, OTHER]),
        ([{"index": 0, "id": "x", "function": ONE}, {"index": 0, "id": "y", "function": OTHER}], [ONE, OTHER]),
        ([{"index": 0, "id": "x", "function": ONE}, {"index": 0, "function": {"name": "add", "arguments": ""}}], [ONE]),
        ([{"index": 0, "id": "x", "function": ONE}, {"index": 0} | REST], [ONE]),
        ([{"index": 0, "function": {"name": "add", "arguments": '{"a"'}}, {"function": {"arguments": ":1}"}}], [ONE]),
        (
            [{"function": {"name": "add", "arguments": '{"a"'}}, {"function": {"name": "add", "arguments": ":1}"}}],
            [ONE],
        ),
    ],
)
def test_whole_calls_are_told_apart_where_nothing_numbers_them(deltas: list[Any], found: list[Any]) -> None:
    """Without an index and an id, or with the same ones for all: a name behind a whole object begins another call."""
    chunks = [{"id": "x", "choices": [{"index": 0, "delta": {"tool_calls": [delta]}}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    calls = replied("openai", raw(stream.encode(), b"data: [DONE]\n\n")).raw["choices"][0]["message"]["tool_calls"]
    assert [call["function"] for call in calls] == found
    assert len({call["id"] for call in calls}) == len(found)
