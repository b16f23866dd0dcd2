"""The adapters and the SDK clients as models: the same answers, the same errors, from the same server."""

import asyncio
import json
import logging
import traceback
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_talk import BUDGET as ROOM
from model_talk import KEY, KINDS, ask, endpoint, opened, pieces, reply, request, said, session, use
from stub import Stub, answer, cut, error, failing, hang, raw, unended

from sightline.agent.models import Model, Request, TextDelta
from sightline.agent.models.anthropic import VERSION
from sightline.agent.models.endpoint import Endpoint
from sightline.agent.models.http import Events
from sightline.agent.models.sdk import SdkModel
from sightline.errors import ContextOverflow, ModelBusy, ModelRefused
from sightline.values.items import Call, Text, Usage
from sightline.wire import read_reply, why_ended

CALLS = [("call_1", "read_file", {"path": "销售.csv"}), ("call_2", "list_files", {})]
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
OURS = ("openai", "anthropic")
SECONDS = 60  # that anything may take on a busy machine


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_comes_in_pieces_and_then_whole(kind: str) -> None:
    """Text and thinking as they are made, then the provider's own JSON that the session's wire reads: all of it."""
    with Stub([answer("Hi there, 你好", CALLS, thinking="let me see", usage=(30, 7, 20))]) as stub:
        found = ask(kind, stub)
    assert said(found) == "Hi there, 你好"
    assert said(found, thinking=True) == "let me see "
    message = read_reply(reply(found))
    assert [part.text for part in message.parts if isinstance(part, Text)] == ["Hi there, 你好"]
    calls = [(part.id, part.name, part.input) for part in message.parts if isinstance(part, Call)]
    assert calls == CALLS
    assert message.usage == Usage(30, 7, cached_tokens=20)
    assert "let me see" in json.dumps(reply(found))
    assert "c2lnbmVk" in json.dumps(reply(found)) or kind.startswith("openai")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_sent_is_the_payload_and_the_limit(kind: str) -> None:
    """Messages, tools and the room for the answer; usage is asked for; the key is in its header."""
    with Stub([answer("ok")]) as stub:
        ask(kind, stub)
    asked = stub.asked[0]
    assert asked.body["model"] == "some-model"
    assert asked.body["max_tokens"] == 300
    assert asked.body["stream"] is True
    assert json.dumps(asked.body["messages"]).count("Hello") == 1
    assert len(asked.body["tools"]) == 1
    if kind.startswith("openai"):
        assert asked.path == "/v1/chat/completions"
        assert asked.body["stream_options"] == {"include_usage": True}
        assert asked.headers["authorization"] == f"Bearer {KEY}"
    else:
        assert asked.path == "/v1/messages"
        assert KEY in (asked.headers.get("x-api-key"), asked.headers.get("authorization", "").removeprefix("Bearer "))
        assert asked.headers["anthropic-version"] == VERSION


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_without_room_says_so(kind: str) -> None:
    """The stop reason is the provider's, so that the session knows the answer was cut."""
    stop = "length" if kind.startswith("openai") else "max_tokens"
    with Stub([answer("and so", stop=stop)]) as stub:
        assert why_ended(reply(ask(kind, stub))) == "length"


@pytest.mark.parametrize("kind", OURS)
def test_a_server_that_does_not_stream_is_understood(kind: str) -> None:
    """The answer in one piece is the same answer."""
    with Stub([answer("Hi there", CALLS, whole=True)]) as stub:
        found = ask(kind, stub)
    assert said(found) == "Hi there"
    assert len([part for part in read_reply(reply(found)).parts if isinstance(part, Call)]) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_asked_for_in_the_providers_form(kind: str) -> None:
    """And left out, for good, once the endpoint says that it does not know it."""
    option = "response_format" if kind.startswith("openai") else "output_config"
    refusal = error(400, body={"error": {"message": f"{option}: not supported by this model", "type": "invalid"}})
    with Stub([answer("{}"), refusal, answer("{}"), answer("{}")]) as stub:

        async def thrice(model: Model) -> None:
            for _ in range(3):
                await pieces(model, request(schema=SCHEMA))

        use(kind, stub, thrice)
    assert [option in asked.body for asked in stub.asked] == [True, True, False, False]
    assert json.dumps(SCHEMA) in json.dumps(stub.asked[0].body[option])


@pytest.mark.parametrize("kind", ["openai", "openai sdk"])
def test_options_that_a_server_does_not_know_are_left_out(kind: str) -> None:
    """`stream_options` is dropped, `max_tokens` goes by its other name; the question is answered all the same."""
    script = [
        error(422, body={"detail": "Extra inputs are not permitted: stream_options"}),
        error(400, body={"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."}}),
        answer("ok"),
    ]
    with Stub(script) as stub:
        assert said(ask(kind, stub)) == "ok"
    assert "stream_options" not in stub.asked[1].body
    assert stub.asked[2].body["max_completion_tokens"] == 300
    assert "max_tokens" not in stub.asked[2].body


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        *((kind, status) for kind in OURS for status in (408, 429, 500, 503, 529)),
        ("openai sdk", 429),
        ("anthropic sdk", 529),
    ],
)
def test_what_may_work_later_is_busy(kind: str, status: int) -> None:
    """With the seconds that the server asks to wait; an SDK whose client does not ask again says it too."""
    with Stub([error(status, {"retry-after": "7"}, {"error": {"message": "slow down", "type": "x"}})]) as stub:
        with pytest.raises(ModelBusy, match="slow down") as caught:
            ask(kind, stub)
        assert caught.value.retry_after == 7
    assert len(stub.asked) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, "put a valid one into SOME_KEY"),
        (403, "may not use this model"),
        (404, "check the model's name"),
        (422, "422"),
    ],
)
def test_what_will_never_work_is_refused_with_advice(kind: str, status: int, told: str) -> None:
    """It names the place the key came from, the model or the address to look at."""
    if kind.endswith("sdk"):
        told = told.replace("SOME_KEY", "the api_key of the client")
    with Stub([error(status, body={"error": {"message": "no", "type": "x"}})]) as stub:
        with pytest.raises(ModelRefused, match=told) as caught:
            ask(kind, stub)
        assert "some-model" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", [1, 5])
def test_a_connection_that_is_cut_is_no_answer(kind: str, after: int) -> None:
    """Wherever it breaks before the end: busy, and no reply."""
    with Stub([cut(answer("one two three four", thinking="hm"), after)]) as stub, pytest.raises(ModelBusy):
        ask(kind, stub)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_ends_without_its_end_is_no_answer(kind: str) -> None:
    """The connection was closed as it should be, but the model never said that it was done."""
    with Stub([unended(answer("one two three four"), 4)]) as stub, pytest.raises(ModelBusy, match="cut off"):
        ask(kind, stub)


@pytest.mark.parametrize("kind", ["openai", "openai sdk"])
def test_an_answer_cut_after_its_end_counts(kind: str) -> None:
    """The finish was said; only the usage and the goodbye are lost."""
    line = answer("one two")
    with Stub([cut(line, after=4)]) as stub:
        found = ask(kind, stub)
    assert said(found) == "one two"
    assert read_reply(reply(found)).usage is None


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_inside_the_stream_is_one(kind: str) -> None:
    """A server that gives up in the middle is busy; one that says what is wrong with the request refuses."""
    broken = failing(answer("one two three"), 4, {"type": "overloaded_error", "message": "too much to do"})
    with Stub([broken]) as stub, pytest.raises(ModelBusy, match="too much to do"):
        ask(kind, stub)
    refusing = failing(answer("one two three"), 4, {"type": "invalid_request_error", "message": "not like this"})
    with Stub([refusing]) as stub, pytest.raises(ModelRefused, match="not like this"):
        ask(kind, stub)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", [0, 3])
def test_silence_has_an_end(kind: str, after: int) -> None:
    """Before the first word or between two: after `seconds` of nothing the model is busy."""
    with Stub([hang(answer("one two three"), after)]) as stub, pytest.raises(ModelBusy, match="silent"):
        ask(kind, stub, seconds=1)  # to connect takes far less, also on a busy machine


@pytest.mark.parametrize("kind", KINDS)
def test_no_server_is_busy(kind: str) -> None:
    """It may be started; the message says where it was looked for."""
    with Stub([]) as stub:
        pass
    with pytest.raises(ModelBusy, match="cannot be reached") as caught:
        ask(kind, stub)
    assert stub.url in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_closing_early_closes_the_connection(kind: str) -> None:
    """Whoever stops listening, by closing or by being cancelled, stops the model's server too."""

    async def stop(model: Model) -> None:
        stream = model.stream(request())
        async for piece in stream:
            if isinstance(piece, TextDelta):
                break
        await stream.aclose()

    async def cancelled(model: Model) -> None:
        task = asyncio.create_task(pieces(model, request()))
        assert await asyncio.to_thread(stub.hanging.wait, SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for how in (stop, cancelled):
        with Stub([hang(answer("one two three"), 4)]) as stub:
            use(kind, stub, how)
            assert stub.left.wait(SECONDS)


@pytest.mark.parametrize("kind", OURS)
def test_one_connection_serves_many_questions(kind: str) -> None:
    """An answer read to its end leaves the connection open for the next."""

    async def thrice(model: Model) -> None:
        for _ in range(3):
            await pieces(model, request())

    with Stub([answer("one"), answer("two"), answer("three")]) as stub:
        use(kind, stub, thrice)
        assert stub.connections == 1


TOO_LONG = [
    ("This model's maximum context length is 128000 tokens. However, your messages resulted in 130,001 tokens.",
     130_001),
    ("This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (132000 in the "
     "messages, 8000 in the completion). Please reduce the length of the messages or completion.", 132_000),
    ("'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 4096 tokens "
     "and your request has 3100 input tokens", 3_100),
    ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 5_000),
    ("request (12031 tokens) exceeds the available context size (4096 tokens), try increasing it", 12_031),
    ("prompt too long; exceeded max context length by 12 tokens", None),
    ("prompt is too long: 208310 tokens > 200000 maximum", 208_310),
    ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length", 190_000),
    ("Your input exceeds the context window of this model. Please adjust your input and try again.", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "message", "tokens"),
    [*(("openai", *each) for each in TOO_LONG), *((kind, *TOO_LONG[6]) for kind in KINDS[1:])],
)
def test_too_long_a_payload_is_known_in_every_wording(kind: str, message: str, tokens: int | None) -> None:
    """With the tokens that the provider counted, where it says them: the session corrects its counting by them."""
    with Stub([error(400, body={"error": {"message": message, "type": "invalid_request_error"}})]) as stub:
        with pytest.raises(ContextOverflow) as caught:
            ask(kind, stub)
        assert caught.value.input_tokens == tokens


def test_too_long_by_code_alone() -> None:
    """llama.cpp's numbers, OpenAI's code, and a body that is too large in bytes."""
    for status, told, tokens in [
        (400, {"error": {"type": "exceed_context_size_error", "message": "no", "n_prompt_tokens": 99}}, 99),
        (400, {"error": {"code": "context_length_exceeded", "message": "no"}}, None),
        (413, {"error": {"type": "request_too_large", "message": "no"}}, None),
    ]:
        with Stub([error(status, body=told)]) as stub:
            with pytest.raises(ContextOverflow) as caught:
                ask("openai", stub)
            assert caught.value.input_tokens == tokens


def test_no_credit_is_not_worth_a_wait() -> None:
    """429 means asked too often, unless it means that the account is empty."""
    told = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with Stub([error(429, body=told)]) as stub, pytest.raises(ModelRefused, match="nothing left"):
        ask("openai", stub)


# ------------------------------------------------------------------ secrets


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_key_is_never_shown(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not in an error that echoes the request's headers, not in any log, not in a repr, not in a traceback."""
    caplog.set_level(logging.DEBUG)
    for status in (400, 401, 429, 500):
        with Stub([error(status, echo=True)]) as stub, pytest.raises((ModelRefused, ModelBusy)) as caught:
            ask(kind, stub)
        assert KEY not in str(caught.value)
        assert "…" in str(caught.value)
        assert KEY not in "".join(traceback.format_exception(caught.value))

    async def look(model: Model) -> None:
        assert KEY not in repr(model) + repr(getattr(model, "endpoint", "")) + str(vars(model))

    with Stub([]) as stub:
        use(kind, stub, look)
    assert caplog.records
    assert KEY not in caplog.text


@pytest.mark.parametrize("kind", OURS)
def test_a_password_in_an_address_is_never_shown(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not as it is spelled, nor as it is meant, nor as it is sent; and it is sent."""
    caplog.set_level(logging.DEBUG)
    sent = b64encode(b"me:p@ssword/1").decode()
    for told in (error(400, echo=True), error(401, body="p@ssword/1 is wrong"), raw(b"data: p%40ssword%2F1\n\n")):
        with Stub([told]) as stub:
            address = endpoint(kind, stub).base_url.replace("//", "//me:p%40ssword%2F1@")
            with pytest.raises((ModelRefused, ModelBusy)) as caught:
                ask(kind, stub, base_url=address)
        assert stub.asked[0].headers["authorization"] == f"Basic {sent}"
        shown = f"{''.join(traceback.format_exception(caught.value))} {caplog.text} {Endpoint('m', base_url=address)!r}"
        assert "…" in str(caught.value)
        for form in ("p%40ssword%2F1", "p@ssword/1", sent):
            assert form not in shown


def _clients() -> dict[str, Callable[[str], Any]]:
    import anthropic
    import openai

    async def fetched() -> str:
        return KEY

    chat = partial(openai.AsyncOpenAI, max_retries=0)
    return {
        "auth_token": lambda url: anthropic.AsyncAnthropic(auth_token=KEY, base_url=url, max_retries=0),
        "a key for each request": lambda url: chat(api_key=fetched, base_url=url),
        "default_headers": lambda url: chat(api_key="other", base_url=url, default_headers={"X-Api-Key": KEY}),
        "base_url": lambda url: chat(api_key="other", base_url=url.replace("//", f"//{KEY}@")),
    }


@pytest.mark.parametrize("how", ["auth_token", "a key for each request", "default_headers", "base_url"])
def test_a_key_that_a_client_has_otherwise_is_never_shown(how: str) -> None:
    """Wherever an SDK's client takes one from."""
    told = {"error": {"message": f"{KEY} may not, nor {b64encode(f'{KEY}:'.encode()).decode()}", "type": "x"}}
    for line in (error(400, echo=True), error(401, body=told)):

        async def main(stub: Stub) -> None:
            async with _clients()[how](f"{stub.url}/v1") as client:
                model = SdkModel(client, "some-model", window=8_000)
                assert KEY not in repr(model.endpoint)
                await pieces(model, request())

        with Stub([line]) as stub, pytest.raises(ModelRefused) as caught:
            asyncio.run(main(stub))
        assert KEY not in str(caught.value)
        assert b64encode(f"{KEY}:".encode()).decode() not in str(caught.value) or how != "base_url"
        assert "…" in str(caught.value)


# ------------------------------------------------------------------ streams as they come


def test_odd_streams_are_understood() -> None:
    """Comments, CRLF, no blank after the colon, a character cut in two, data over two lines, no index for calls."""
    text = (
        ': keep-alive\r\n\r\ndata:{"id":"x","model":"m","choices":[{"delta":{"content":"你好"}}]}\r\n\r\n'
        'data: {"choices":\ndata: [{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}\n\n'
        'data: {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":""}}]}}]}\n\n'
        'data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\\"n\\":1}"}}]}}]}\n\n'
        "data: [DONE]"
    ).encode()
    with Stub([raw(*(text[at : at + 7] for at in range(0, len(text), 7)))]) as stub:
        found = ask("openai", stub)
    assert said(found) == "你好"
    calls = [part for part in read_reply(reply(found)).parts if isinstance(part, Call)]
    assert [(call.id, call.name, call.input) for call in calls] == [("a", "f", {}), ("b", "g", {"n": 1})]


def test_calls_without_ids_get_some() -> None:
    """Several whole calls at the same index, without ids, as some servers send them."""
    chunk = '{"id":"r1","choices":[{"delta":{"tool_calls":[{"index":%d,"function":{"name":"f","arguments":"{}"}}]}}]}'
    stream = "".join(f"data: {chunk % at}\n\n" for at in (0, 1)) + "data: [DONE]\n\n"
    with Stub([raw(stream.encode())]) as stub:
        found = ask("openai", stub)
    calls = [part for part in read_reply(reply(found)).parts if isinstance(part, Call)]
    assert len({call.id for call in calls}) == 2


def test_arguments_that_ran_out_of_room_are_kept() -> None:
    """Anthropic's call, cut by the limit in the middle of its JSON: the text as far as it came, no crash."""
    events = [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": [], "model": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "f"}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"path": "a'},
        },
        {"type": "something_new", "index": 9},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]
    with Stub([raw(*(f"data: {json.dumps(each)}\n\n".encode() for each in events))]) as stub:
        found = reply(ask("anthropic", stub))
    assert why_ended(found) == "length"
    assert [part.input for part in read_reply(found).parts if isinstance(part, Call)] == ['{"path": "a']


@pytest.mark.slow
@given(st.lists(st.text().filter(lambda text: "\r" not in text), min_size=1), st.data())
def test_events_do_not_depend_on_where_bytes_are_cut(texts: list[str], data: st.DataObject) -> None:
    """Any text, any line ends, any chunks: the same events."""
    ends = [data.draw(st.sampled_from(["\n", "\r\n", "\r"])) for _ in texts]
    stream = "".join(
        "".join(f"data: {line}{end}" for line in text.split("\n")) + end for text, end in zip(texts, ends, strict=True)
    ).encode("utf-8", "replace")
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    events = Events()
    found = [
        event
        for start, stop in zip([0, *places], [*places, len(stream)], strict=True)
        for event in events.feed(stream[start:stop])
    ]
    found += events.feed(b"\n\n")
    expected = [text.encode("utf-8", "replace").decode() for text in texts]
    assert found == expected


# ------------------------------------------------------------------ with a session


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_answer_leaves_nothing_in_the_log(kind: str) -> None:
    """After the cut the user's message is there and nothing else of the turn; asking again answers it."""
    talk = session()
    talk.user("What now?")

    async def turn(model: Model) -> None:
        *_, last = await pieces(model, Request(talk.compose(ROOM), 300))
        talk.reply(reply([last]))

    with Stub([cut(answer("one two three", CALLS), 5), answer("Now this.")]) as stub:
        with pytest.raises(ModelBusy):
            use(kind, stub, turn)
        assert [item.kind.name for item in talk.items] == ["USER"]
        use(kind, stub, turn)
    assert [item.kind.name for item in talk.items] == ["USER", "ASSISTANT"]
    assert stub.asked[0].body["messages"] == stub.asked[1].body["messages"]


def test_two_questions_at_once() -> None:
    """One model may be asked several things at the same time."""

    async def both(model: Model) -> list[str]:
        return [said(found) for found in await asyncio.gather(*(pieces(model, request()) for _ in range(2)))]

    with Stub([answer("a b c"), answer("a b c")]) as stub:
        assert use("openai", stub, both) == ["a b c", "a b c"]


def test_an_address_that_is_none_is_refused() -> None:
    """Not retried: it will never work."""
    with Stub([]) as stub, pytest.raises(ModelRefused, match="is no address"):
        ask("openai", stub, base_url="no-scheme/v1")


def test_opening_and_closing_a_model_asks_nothing() -> None:
    """A model that is never asked opens no connection."""

    async def main(stub: Stub) -> None:
        for kind in KINDS:
            async with opened(kind, stub):
                pass

    with Stub([]) as stub:
        asyncio.run(main(stub))
        assert stub.connections == 0
