"""The scripted upstream, proven right by the official SDKs: what they understand of it is what was meant."""

import asyncio
import gzip
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from pydantic import BaseModel
from upstream import OUT_OF_STEPS, Upstream
from upstream_media import PDF, PNG, make_png
from upstream_script import (
    Answer,
    Raw,
    answer,
    break_off,
    call,
    cut,
    drop,
    fail,
    garble,
    hang,
    slow,
    think,
    unended,
    zip_body,
)

CLAUDE: dict[str, Any] = {"model": "claude-sonnet-5-5", "max_tokens": 4096}
ASK = [{"role": "user", "content": "Hello"}]
SAID = (think("Let me see. "), "Grüße, 你好 🙂 and more", call("read", {"path": "é.py", "lines": [1, 2]}), call("list"))


class Verdict(BaseModel):
    """A structured answer."""

    good: bool
    why: str


def claude(upstream: Upstream) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=upstream.anthropic_url, api_key="any", max_retries=0)


def gpt(upstream: Upstream) -> openai.OpenAI:
    return openai.OpenAI(base_url=upstream.openai_url, api_key="any", max_retries=0)


def streamed(client: anthropic.Anthropic) -> Any:
    """What Anthropic's SDK makes of a stream."""
    with client.messages.stream(messages=ASK, **CLAUDE) as stream:  # type: ignore[arg-type]
        return stream.get_final_message()


# ------------------------------------------------------------------ answers


def test_anthropic_reads_the_same_whole_and_streamed() -> None:
    """Thinking with its signature, text, calls, and usage are the same both ways; the ids of messages are not."""
    with Upstream([answer(*SAID)] * 2) as upstream, claude(upstream) as client:
        whole, stream = client.messages.create(messages=ASK, **CLAUDE), streamed(client)  # type: ignore[arg-type]
    assert [block.type for block in stream.content] == ["thinking", "text", "tool_use", "tool_use"]
    for before, after in zip(whole.content, stream.content, strict=True):
        ours = {"id", "parsed_output"}
        assert before.model_dump(exclude=ours) == after.model_dump(exclude=ours)
    assert stream.content[2].input == {"path": "é.py", "lines": [1, 2]}
    assert stream.stop_reason == "tool_use"
    assert stream.usage.output_tokens == whole.usage.output_tokens
    assert stream.id != whole.id


def test_anthropic_streams_a_server_tool_and_its_own_stop_reason() -> None:
    """Blocks that are given as they are pass through."""
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "cats"}}
    with (
        Upstream([answer(Raw(search), Raw(found), "Cats.", stop="pause_turn")]) as upstream,
        claude(upstream) as client,
    ):
        message = streamed(client)
    assert [block.type for block in message.content] == ["server_tool_use", "web_search_tool_result", "text"]
    assert message.content[0].input == {"query": "cats"}
    assert message.stop_reason == "pause_turn"


def test_chat_reads_the_same_whole_and_streamed() -> None:
    """Text and calls are the same both ways, and the last chunk has the usage if it was asked for."""
    with Upstream([answer(*SAID)] * 2) as upstream, gpt(upstream) as client:
        whole = client.chat.completions.create(model="gpt-5.2", messages=ASK)  # type: ignore[arg-type]
        with client.chat.completions.stream(
            model="gpt-5.2",
            messages=ASK,  # type: ignore[arg-type]
            stream_options={"include_usage": True},
        ) as stream:
            final = stream.get_final_completion()
    before, after = whole.choices[0], final.choices[0]
    assert before.message.content == after.message.content == SAID[1]
    calls = [
        [(each.function.name, each.function.arguments) for each in choice.message.tool_calls or ()]  # type: ignore[union-attr]
        for choice in (before, after)
    ]
    assert calls[0] == calls[1] == [("read", '{"path":"é.py","lines":[1,2]}'), ("list", "{}")]
    assert before.finish_reason == after.finish_reason == "tool_calls"
    assert final.usage == whole.usage


def test_responses_reads_the_same_whole_and_streamed() -> None:
    """Reasoning, text and calls are the same both ways."""
    with Upstream([answer(*SAID)] * 2) as upstream, gpt(upstream) as client:
        whole = client.responses.create(model="gpt-5.2", input="Hello")
        with client.responses.stream(model="gpt-5.2", input="Hello") as stream:
            numbers = [event.sequence_number for event in stream]
            final = stream.get_final_response()
    assert numbers == list(range(len(numbers)))
    ours = {"id", "call_id", "parsed_arguments"}
    for before, after in zip(whole.output, final.output, strict=True):
        assert before.model_dump(exclude=ours | {"content"}) == after.model_dump(exclude=ours | {"content"})
    assert final.output_text == whole.output_text == SAID[1]
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call", "function_call"]
    assert final.usage == whole.usage


def test_an_answer_that_is_cut_off_says_so() -> None:
    """Each provider has its own words for the limit of the output."""
    script = [answer("Half", stop="max_tokens"), answer("Half", stop="length"), answer("Half", stop="length")]
    with Upstream(script) as upstream, claude(upstream) as first, gpt(upstream) as second:
        assert streamed(first).stop_reason == "max_tokens"
        found = second.chat.completions.create(model="gpt-5.2", messages=ASK)  # type: ignore[arg-type]
        assert found.choices[0].finish_reason == "length"
        response = second.responses.create(model="gpt-5.2", input="Hello")
    assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")  # type: ignore[union-attr]


def test_structured_answers_are_parsed() -> None:
    """The SDKs' own ways to ask for a form and to read it."""
    text = Verdict(good=True, why="it works").model_dump_json()
    with Upstream([answer(text)] * 3) as upstream, claude(upstream) as first, gpt(upstream) as second:
        told = first.messages.parse(messages=ASK, output_format=Verdict, **CLAUDE)  # type: ignore[arg-type]
        found = second.chat.completions.parse(model="gpt-5.2", messages=ASK, response_format=Verdict)  # type: ignore[arg-type]
        response = second.responses.parse(model="gpt-5.2", input="Hello", text_format=Verdict)
        assert upstream.invalid == []
    parsed = (told.parsed_output, found.choices[0].message.parsed, response.output_parsed)
    assert all(each is not None and each.why == "it works" for each in parsed)


def test_media_are_taken_and_counted_by_their_size() -> None:
    """An image and a document of each API; a large image costs more, and never by its base64."""
    url = f"data:image/png;base64,{PNG}"
    image: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    large = {**image, "source": {**image["source"], "data": make_png(600, 600)}}
    document: Any = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}
    file = f"data:application/pdf;base64,{PDF}"
    chat: Any = [{"type": "image_url", "image_url": {"url": url}}, {"type": "file", "file": {"file_data": file}}]
    parts: Any = [{"type": "input_image", "image_url": url}, {"type": "input_file", "filename": "a", "file_data": file}]
    with Upstream(lambda asked: answer("Seen.")) as upstream, claude(upstream) as first, gpt(upstream) as second:
        first.messages.create(messages=[{"role": "user", "content": [image, document]}], **CLAUDE)
        second.chat.completions.create(model="gpt-5.2", messages=[{"role": "user", "content": chat}])
        second.responses.create(model="gpt-5.2", input=[{"role": "user", "content": parts}])
        small, big = (
            first.messages.count_tokens(model="m", messages=[{"role": "user", "content": [each]}]).input_tokens
            for each in (image, large)
        )
        assert upstream.invalid == []
    assert big - small == 600 * 600 // 750 - 1


def test_async_clients_are_answered_at_the_same_time() -> None:
    """Many streams at once, each with its own answer."""

    async def main(upstream: Upstream) -> list[str]:
        async with anthropic.AsyncAnthropic(base_url=upstream.anthropic_url, api_key="any") as client:

            async def one(number: int) -> str:
                said: Any = [{"role": "user", "content": f"number {number}"}]
                async with client.messages.stream(messages=said, **CLAUDE) as stream:
                    return await stream.get_final_text()

            return await asyncio.gather(*(one(number) for number in range(12)))

    with Upstream(lambda asked: answer(f"You said {asked.body['messages'][0]['content']}")) as upstream:
        assert asyncio.run(main(upstream)) == [f"You said number {number}" for number in range(12)]


# ------------------------------------------------------------------ cache and window

LONG = "A long page of the manual. " * 300


def test_anthropic_bills_what_its_breakpoints_cache() -> None:
    """A prefix up to a breakpoint is written once and read then, wherever the marker moves; without one nothing is."""
    mark = {"cache_control": {"type": "ephemeral"}}
    first: Any = {"type": "text", "text": LONG}
    second: Any = {"type": "text", "text": f"Then {LONG}"}
    with Upstream(lambda asked: answer("Yes.")) as upstream, claude(upstream) as client:

        def ask(*blocks: Any) -> anthropic.types.Usage:
            return client.messages.create(messages=[{"role": "user", "content": list(blocks)}], **CLAUDE).usage

        unmarked, begun, more = ask(first), ask(first | mark), ask(first, second | mark)
        other = ask({**first, "text": f"Other {LONG}"}, second | mark)
    assert (unmarked.cache_read_input_tokens, unmarked.cache_creation_input_tokens) == (0, 0)
    assert begun.cache_creation_input_tokens == unmarked.input_tokens
    assert more.cache_read_input_tokens == begun.cache_creation_input_tokens
    assert more.input_tokens == 0
    assert other.cache_read_input_tokens == 0


def test_openai_bills_the_common_prefix() -> None:
    """Messages that were there before are cached, in steps of 128 tokens from 1,024 on."""
    said: Any = [{"role": "user", "content": LONG}]
    with Upstream(lambda asked: answer("Yes.")) as upstream, gpt(upstream) as client:

        def ask(messages: Any) -> int:
            usage: Any = client.chat.completions.create(model="gpt-5.2", messages=messages).usage
            return int(usage.prompt_tokens_details.cached_tokens)

        more = [*said, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And?"}]
        cached = [ask(said), ask(more), ask([{"role": "system", "content": "New."}, *more])]
        bill = upstream.calls[0].bill
    assert bill is not None
    assert cached == [0, bill.given // 128 * 128, 0]


def test_a_prompt_over_the_window_is_refused_as_the_providers_do() -> None:
    """Their own errors, by which clients know it, also inside a stream; the script is not moved on."""
    said: Any = [{"role": "user", "content": LONG}]
    with Upstream([answer("Yes.")], window=1000) as upstream, claude(upstream) as first, gpt(upstream) as second:
        with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > 1000 maximum"):
            first.messages.create(messages=said, **CLAUDE)
        with pytest.raises(openai.BadRequestError, match="maximum context length is 1000 tokens") as refused:
            second.chat.completions.create(model="gpt-5.2", messages=said)
        assert refused.value.code == "context_length_exceeded"
        with pytest.raises(openai.BadRequestError) as refused:
            second.responses.create(model="gpt-5.2", input=said)
        assert refused.value.code == "context_length_exceeded"
        assert [asked.overflow for asked in upstream.asked] == [True] * 3
        assert streamed(first).content[0].text == "Yes."
    with Upstream([], window=1000, fail_in_stream=True) as upstream, gpt(upstream) as second:
        events = list(second.responses.create(model="gpt-5.2", input=said, stream=True))
    assert events[-1].type == "response.failed"
    assert events[-1].response.error.code == "context_length_exceeded"  # type: ignore[union-attr]


def test_other_paths() -> None:
    """Lists of models in both shapes, embeddings, and 404 for what is not there."""
    with Upstream([]) as upstream, claude(upstream) as first, gpt(upstream) as second:
        assert [each.id for each in first.models.list()] == [each.id for each in second.models.list()]
        assert first.models.retrieve("gpt-5.2").display_name == second.models.retrieve("gpt-5.2").id
        assert second.embeddings.create(model="embed", input="a", encoding_format="float").data[0].embedding
        with pytest.raises(openai.NotFoundError):
            second.files.list()
        with pytest.raises(anthropic.NotFoundError):
            first.messages.batches.list()
    assert [asked.path for asked in upstream.asked if asked.verdict] == ["/v1/files", "/v1/messages/batches"]


# ------------------------------------------------------------------ faults


@pytest.mark.parametrize(
    ("status", "kind"), [(429, "rate_limit_error"), (500, "api_error"), (529, "overloaded_error")], ids=str
)
def test_failures_have_the_shape_of_the_provider(status: int, kind: str) -> None:
    """Status, headers and body, for both providers; their SDKs find the words."""
    script = [fail(status, {"retry-after": "7"})] * 2
    with Upstream(script) as upstream, claude(upstream) as first, gpt(upstream) as second:
        with pytest.raises(anthropic.APIStatusError) as told:
            streamed(first)
        with pytest.raises(openai.APIStatusError) as found:
            second.responses.create(model="gpt-5.2", input="Hello")
    assert told.value.body["error"]["type"] == kind  # type: ignore[index]
    assert told.value.response.headers["retry-after"] == found.value.response.headers["retry-after"] == "7"
    assert found.value.message
    assert upstream.invalid == []


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (cut(answer(*SAID), 4), "peer closed connection"),
        (unended(answer("one two three"), 3), "it never ended"),
        (garble(answer("one two"), 2), "it never ended|codec"),
        (drop(), "Connection error|Server disconnected"),
    ],
    ids=["cut", "unended", "garbage", "drop"],
)
def test_broken_streams_are_noticed(step: Any, words: str) -> None:
    """None of them looks like a whole answer."""
    with Upstream([step]) as upstream, claude(upstream) as client, pytest.raises(Exception, match=words):
        assert streamed(client).stop_reason is not None, "it never ended"


@pytest.mark.parametrize("step", [cut(answer("a"), 0), garble(answer("a")), drop()], ids=["cut", "garbage", "drop"])
def test_broken_bodies_are_noticed(step: Any) -> None:
    """The same for an answer that is not streamed."""
    with Upstream([step]) as upstream, httpx2.Client(verify=False) as client:
        url, body = f"{upstream.openai_url}/chat/completions", {"model": "gpt-5.2", "messages": ASK}
        with pytest.raises((httpx2.HTTPError, ValueError)):
            client.post(url, json=body, headers={"authorization": "Bearer any"}).json()


@pytest.mark.parametrize("after", [0, 4])
def test_a_hang_lasts_until_the_client_goes(after: int) -> None:
    """The events before it come, nothing after, and the upstream knows when it is alone."""
    with Upstream([hang(answer("one two three"), after)]) as upstream, httpx2.Client(verify=False) as client:
        body = {**CLAUDE, "messages": ASK, "stream": True}
        headers = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
        with client.stream("POST", f"{upstream.openai_url}/messages", json=body, headers=headers) as response:
            lines = response.iter_lines()
            seen = [next(lines) for _ in range(3 * after)]
            assert upstream.hanging.wait(10)
            assert not upstream.left.is_set()
        assert upstream.left.wait(10)
    assert sum(line.startswith("event:") for line in seen) == after


def test_an_error_may_come_in_the_stream() -> None:
    """The SDKs raise it; in the Responses API it is an event like others."""
    step = answer("one two three")
    script = [
        break_off(step, 3, {"type": "overloaded_error", "message": "Overloaded"}),
        break_off(step, 2, {"message": "too much to do", "type": "server_error"}),
        break_off(step, 2, {"message": "too much to do", "code": "server_error"}),
    ]
    with Upstream(script) as upstream, claude(upstream) as first, gpt(upstream) as second:
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            streamed(first)
        with pytest.raises(openai.APIError, match="too much to do"):
            list(second.chat.completions.create(model="gpt-5.2", messages=ASK, stream=True))  # type: ignore[arg-type]
        *_, last = second.responses.create(model="gpt-5.2", input="Hello", stream=True)
    assert (last.type, last.message) == ("error", "too much to do")  # type: ignore[union-attr]


@pytest.mark.parametrize("step", [slow(answer(*SAID), chunk=3), zip_body(answer(*SAID))], ids=["slow", "zipped"])
def test_a_stream_in_pieces_or_compressed_is_the_same(step: Answer) -> None:
    """However characters and events fall, and whatever the encoding, the SDK reads what was meant."""
    with Upstream([step]) as upstream, claude(upstream) as client:
        assert streamed(client).content[1].text == SAID[1]


def test_whole_answers_are_compressed_if_the_client_wants_it() -> None:
    """gzip for those who take it, plain for others; errors too."""
    script = [zip_body(answer("Yes.")), zip_body(answer("Yes.")), fail(500, zipped=True)]
    with Upstream(script) as upstream, httpx2.Client(verify=False) as client:
        for encoding in ("gzip", "identity"):
            headers = {"authorization": "Bearer any", "accept-encoding": encoding}
            body = {"model": "gpt-5.2", "messages": ASK}
            with client.stream("POST", f"{upstream.openai_url}/chat/completions", json=body, headers=headers) as found:
                raw = b"".join(found.iter_raw())
            plain = gzip.decompress(raw) if encoding == "gzip" else raw
            assert b'"content": "Yes."' in plain
        headers = {"authorization": "Bearer any", "accept-encoding": "gzip"}
        failed = client.post(f"{upstream.openai_url}/chat/completions", json=body, headers=headers)
    assert (failed.headers["content-encoding"], failed.json()["error"]["type"]) == ("gzip", "server_error")


def test_a_long_run_keeps_only_what_was_refused() -> None:
    """The others are counted."""
    with Upstream(lambda asked: answer("Yes."), keep=False) as upstream, claude(upstream) as client:
        streamed(client)
        with pytest.raises(anthropic.BadRequestError):
            client.messages.create(messages=[], **CLAUDE)
    assert (upstream.count, len(upstream.asked), len(upstream.invalid)) == (2, 1, 1)


def test_a_script_that_ends_says_so() -> None:
    """One request too many is an error and a verdict, so that no test passes by accident."""
    with Upstream([answer("Yes.")]) as upstream, claude(upstream) as client:
        streamed(client)
        with pytest.raises(anthropic.InternalServerError, match=OUT_OF_STEPS):
            streamed(client)
    assert upstream.invalid == [f"/v1/messages: {OUT_OF_STEPS}"]
