"""The stub of the providers, proven right by the official SDKs: what they understand of it is what was meant."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anthropic
import openai
import pytest
from stub import Stub, answer, cut, error, failing

T = TypeVar("T")
CALLS = [("call_1", "read_file", {"path": "a.csv"}), ("call_2", "list_files", {})]
ASK: dict[str, Any] = {"model": "some-model", "messages": [{"role": "user", "content": "Hello"}]}


def with_openai(stub: Stub, use: Callable[[openai.AsyncOpenAI], Awaitable[T]]) -> T:
    async def main() -> T:
        async with openai.AsyncOpenAI(api_key="sk-test", base_url=f"{stub.url}/v1", max_retries=0) as client:
            return await use(client)

    return asyncio.run(main())


def with_anthropic(stub: Stub, use: Callable[[anthropic.AsyncAnthropic], Awaitable[T]]) -> T:
    async def main() -> T:
        async with anthropic.AsyncAnthropic(api_key="sk-test", base_url=stub.url, max_retries=0) as client:
            return await use(client)

    return asyncio.run(main())


async def heard(client: openai.AsyncOpenAI) -> list[Any]:
    options = {"include_usage": True}
    return [chunk async for chunk in await client.chat.completions.create(stream=True, stream_options=options, **ASK)]


async def told(client: anthropic.AsyncAnthropic) -> Any:
    async with client.messages.stream(max_tokens=100, **ASK) as stream:
        return await stream.get_final_message()


def test_openai_reads_a_whole_answer() -> None:
    """Text, both calls with their arguments, and the usage with its cached share."""
    with Stub([answer("Hi there", CALLS, usage=(30, 7, 20))]) as stub:
        found = with_openai(stub, lambda client: client.chat.completions.create(**ASK))
    assert found.choices[0].message.content == "Hi there"
    assert [call.function.arguments for call in found.choices[0].message.tool_calls or ()] == [
        '{"path": "a.csv"}',
        "{}",
    ]
    assert found.usage is not None
    assert found.usage.prompt_tokens_details is not None
    assert (found.usage.prompt_tokens, found.usage.prompt_tokens_details.cached_tokens) == (30, 20)


def test_openai_reads_a_streamed_answer() -> None:
    """The pieces make the text, the calls come by index, the last chunk carries the usage."""
    with Stub([answer("Hi there", CALLS)]) as stub:
        chunks = with_openai(stub, heard)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "Hi there"
    assert {call.id for delta in deltas for call in delta.tool_calls or () if call.id} == {"call_1", "call_2"}
    assert chunks[-2].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].usage.total_tokens == 17


@pytest.mark.slow
def test_openai_raises_what_the_stub_means() -> None:
    """429 with its header, 500, an error inside the stream, and a connection that is cut."""
    script = [
        error(429, {"retry-after": "7"}, {"error": {"message": "slow down"}}),
        error(500),
        failing(answer("one two three"), 3, {"message": "broken", "type": "server_error"}),
        cut(answer("one two three"), after=3),
    ]
    with Stub(script) as stub:
        with pytest.raises(openai.RateLimitError) as limited:
            with_openai(stub, heard)
        assert limited.value.response.headers["retry-after"] == "7"
        with pytest.raises(openai.InternalServerError):
            with_openai(stub, heard)
        with pytest.raises(openai.APIError, match="broken"):
            with_openai(stub, heard)
        with pytest.raises(Exception, match=r"peer closed|incomplete|Connection error|reset"):
            with_openai(stub, heard)


def test_anthropic_reads_a_whole_answer() -> None:
    """Thinking with its signature, text, calls and usage."""
    with Stub([answer("Hi there", CALLS, thinking="let me see", usage=(30, 7, 20))]) as stub:
        found = with_anthropic(stub, lambda client: client.messages.create(max_tokens=100, **ASK))
    assert [block.type for block in found.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert found.stop_reason == "tool_use"
    assert (found.usage.input_tokens, found.usage.cache_read_input_tokens) == (10, 20)


def test_anthropic_reads_a_streamed_answer() -> None:
    """The SDK's own assembling of the stream gives the answer that was meant."""
    with Stub([answer("Hi there", CALLS, thinking="let me see ")]) as stub:
        found = with_anthropic(stub, told)
    thought, text, *calls = found.content
    assert (thought.thinking, thought.signature) == ("let me see ", "c2lnbmVk")
    assert text.text == "Hi there"
    assert [call.input for call in calls] == [{"path": "a.csv"}, {}]
    assert found.usage.output_tokens == 5


@pytest.mark.slow
def test_anthropic_raises_what_the_stub_means() -> None:
    """429 with its header, 500, an error inside the stream, and a connection that is cut."""
    script = [
        error(429, {"retry-after": "7"}, {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}),
        error(500),
        failing(answer("one two three"), 4, {"message": "too much to do", "type": "overloaded_error"}),
        cut(answer("one two three"), after=4),
    ]
    with Stub(script) as stub:
        with pytest.raises(anthropic.RateLimitError) as limited:
            with_anthropic(stub, told)
        assert limited.value.response.headers["retry-after"] == "7"
        with pytest.raises(anthropic.InternalServerError):
            with_anthropic(stub, told)
        with pytest.raises(anthropic.APIStatusError, match="too much to do"):
            with_anthropic(stub, told)
        with pytest.raises(Exception, match=r"peer closed|incomplete|Connection error|reset"):
            with_anthropic(stub, told)
