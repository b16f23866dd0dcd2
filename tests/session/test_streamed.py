"""Streams of both SDKs, passed on through a session: the real clients against a server on this machine."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from stub import Line, Stub, answer, cut, hang, raw, unended

import sightline as sl
from sightline.errors import BadInput
from sightline.testing import MemoryStore
from sightline.values.items import Call, Item, plain_text
from sightline.wire import read_reply
from sightline.wire.streams import StreamedReply

CALLS = [("call_1", "look", {"at": "a.csv"}), ("call_2", "look", {"at": "b.csv"})]
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
STOPPED = "[the answer above was stopped before its end]"
BUDGET = sl.Budget(8_000, output=500)
BROKEN = (openai.APIError, anthropic.APIError, httpx2.HTTPError)  # what the clients raise when a stream breaks off


def chat_arguments(payload: sl.Payload) -> dict[str, Any]:
    return payload.openai(model="m", stream_options={"include_usage": True})


@contextmanager
def opened(kind: str, stub: Stub, payload: sl.Payload) -> Iterator[Iterable[Any]]:
    """What a program has in its hand when it streams: of `create(stream=True)` and of the helper `stream()`."""
    sdk, _, way = kind.partition(" ")
    if sdk == "openai":
        with openai.OpenAI(api_key="sk-test", base_url=f"{stub.url}/v1", max_retries=0) as client:
            if way == "create":
                yield client.chat.completions.create(stream=True, **chat_arguments(payload))
            else:
                with client.chat.completions.stream(**chat_arguments(payload)) as stream:
                    yield stream
        return
    with anthropic.Anthropic(api_key="sk-test", base_url=stub.url, max_retries=0) as other:
        if way == "create":
            yield other.messages.create(stream=True, **payload.anthropic(model="m"))
        else:
            with other.messages.stream(**payload.anthropic(model="m")) as messages:
                yield messages


every_stream = pytest.mark.parametrize(
    "kind", ["openai create", "openai stream", "anthropic create", "anthropic stream"]
)


def begun() -> sl.Session:
    session = sl.Session(MemoryStore())
    session.tools([TOOL])
    session.user("Where is it?")
    return session


def said(session: sl.Session) -> list[Item]:
    return list(session.items)[1:]


@every_stream
def test_a_stream_is_logged_as_the_whole_reply_would_be(kind: str) -> None:
    """Text, thinking, calls, model and usage; and every chunk is passed on."""
    whole, session = begun(), begun()
    thinking = "where might it be " if "anthropic" in kind else ""
    line = answer("Let me see.", CALLS, thinking=thinking, usage=(30, 7, 20))
    with Stub([line, line]) as stub:
        with opened(kind, stub, session.compose(BUDGET)) as stream, session.streamed(stream) as chunks:
            passed = list(chunks)
        reply: Any
        if "openai" in kind:
            with openai.OpenAI(api_key="sk-test", base_url=f"{stub.url}/v1") as client:
                reply = client.chat.completions.create(**whole.compose(BUDGET).openai(model="m"))
        else:
            with anthropic.Anthropic(api_key="sk-test", base_url=stub.url) as other:
                reply = other.messages.create(**whole.compose(BUDGET).anthropic(model="m"))
    whole.reply(reply)
    assert not chunks.stopped
    assert session.items.text(chunks.id) == chunks.text == "Let me see."
    assert [item.parts for item in said(session)] == [item.parts for item in said(whole)]
    assert [call.id for call in session.open_calls] == ["call_1", "call_2"]
    again = StreamedReply()
    for chunk in passed:
        again.add(chunk)
    assert read_reply(again.reply()) == read_reply(reply)
    assert read_reply(again.reply()).usage is not None


@every_stream
def test_a_stream_that_is_left_keeps_its_text_and_no_call(kind: str) -> None:
    """It is marked as stopped, for the model too; the next turn has nothing to answer."""
    session, seen = begun(), 0
    with (
        Stub([hang(answer("One two three", CALLS), after=9)]) as stub,
        opened(kind, stub, session.compose(BUDGET)) as stream,
        session.streamed(stream) as chunks,
    ):
        for _ in chunks:
            seen += 1
            if "three" in chunks.text and seen > 6:
                break
    assert chunks.stopped
    assert [plain_text(item.parts) for item in said(session)] == ["One two three", STOPPED]
    assert not any(isinstance(part, Call) for item in said(session) for part in item.parts)
    session.user("Go on.")
    told = json.dumps(session.compose(BUDGET).openai())
    assert told.index("One two three") < told.index(STOPPED) < told.index("Go on.")


@every_stream
@pytest.mark.parametrize("ending", [cut, unended])
def test_a_stream_that_breaks_off_keeps_its_text(kind: str, ending: Callable[..., Line]) -> None:
    """Whether the client raises or takes it for the end: the reply did not say that it was one."""
    session = begun()
    with (
        Stub([ending(answer("One two three"), after=3 if "openai" in kind else 5)]) as stub,
        opened(kind, stub, session.compose(BUDGET)) as stream,
        session.streamed(stream) as chunks,
        suppress(*BROKEN),
    ):
        for _ in chunks:
            pass
    assert chunks.stopped
    found = [plain_text(item.parts) for item in said(session)]
    assert found[0].startswith("One two")
    assert found[1:] == [STOPPED]


def test_a_loop_that_is_left_without_with_is_logged_too() -> None:
    """A `break` drops the iterator, and what has come is in the log at once."""
    session = begun()
    with Stub([answer("One two three")]) as stub, opened("openai create", stub, session.compose(BUDGET)) as stream:
        for chunk in session.streamed(stream):
            if chunk.choices and chunk.choices[0].delta.content:
                break
    assert [plain_text(item.parts) for item in said(session)] == ["One", STOPPED]


def test_nothing_is_logged_of_a_reply_that_said_nothing() -> None:
    """Left before its first word, before its first chunk, or in the middle of its first call."""
    for events in (0, 1, 3):
        session = begun()
        with (
            Stub([answer("", CALLS)]) as stub,
            opened("anthropic create", stub, session.compose(BUDGET)) as stream,
            session.streamed(stream) as chunks,
        ):
            for _ in range(events):
                next(chunks)
        assert (said(session), chunks.id) == ([], "")


def test_a_reply_that_was_left_after_its_end_is_whole() -> None:
    """Only the usage comes after the reason to finish."""
    session = begun()
    with Stub([answer("All of it.")]) as stub, opened("openai create", stub, session.compose(BUDGET)) as stream:
        for chunk in session.streamed(stream):
            if chunk.choices and chunk.choices[0].finish_reason:
                break
    assert [plain_text(item.parts) for item in said(session)] == ["All of it."]


def test_calls_in_the_text_of_a_stopped_reply_are_not_carried_out() -> None:
    """The same text, whole, opens the window."""
    text = 'Sure. <tool_call>{"name": "create", "arguments": {"name": "todo"}}</tool_call>'
    for stopped in (False, True):
        session = sl.Session(MemoryStore(), apps=["todo"])
        session.user("Open the list.")
        session.compose(BUDGET)
        session.reply(text, stopped=stopped)
        assert bool(session.windows.all()) is not stopped


# ------------------------------------------------------------------ OpenAI's Responses


def response_events(*, ends: bool) -> list[bytes]:
    said = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
    text = {"type": "output_text", "text": "In a.csv.", "annotations": []}
    call = {"type": "function_call", "id": "f1", "call_id": "call_1", "name": "look", "arguments": "{}"}
    response = {"id": "r1", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": []}
    usage = {"input_tokens": 30, "output_tokens": 7, "total_tokens": 37}
    delta = {"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "content_index": 0}
    done = response | {"status": "completed", "output": [said | {"content": [text]}, call], "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response | {"status": "in_progress"}},
        {**delta, "delta": "In "},
        {**delta, "delta": "a.csv."},
        *([{"type": "response.completed", "response": done}] if ends else []),
    ]
    numbered = [event | {"sequence_number": number} for number, event in enumerate(events)]
    return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in numbered]


@pytest.mark.parametrize("ends", [True, False])
def test_a_stream_of_responses(ends: bool) -> None:
    """The last event has the reply; without it, the text is kept."""
    session = begun()
    with (
        Stub([raw(*response_events(ends=ends))]) as stub,
        openai.OpenAI(api_key="sk-test", base_url=f"{stub.url}/v1") as client,
    ):
        stream = client.responses.create(stream=True, **session.compose(BUDGET).responses(model="m"))
        chunks = session.streamed(stream)
        assert len(list(chunks)) == 3 + ends
    assert stub.asked[0].body["max_output_tokens"] == 500
    assert session.items.text(chunks.id) == "In a.csv."
    assert chunks.stopped is not ends
    assert [call.name for call in session.open_calls] == ["look"] * ends


def chat_chunks() -> list[dict[str, Any]]:
    function = {"name": "look", "arguments": "{}"}
    deltas: list[dict[str, Any]] = [
        {"content": "It is here."},
        {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]},
        {},
    ]
    ends = [None, None, "tool_calls"]
    return [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
        for delta, end in zip(deltas, ends, strict=True)
    ]


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_reply_comes_after_what_others_appended_while_it_was_streamed(
    is_async: bool, left: bool, tmp_path: Path
) -> None:
    """Nothing that the model said is lost: text and calls are in the log, and so is what the other writer said."""
    session = sl.Session.new(tmp_path, root=tmp_path, session_id="shared")
    session.user("Where is it?")
    session.compose(BUDGET)
    other = sl.Session.resume("shared", tmp_path, root=tmp_path)

    def stream() -> Iterator[dict[str, Any]]:
        first, *rest = chat_chunks()
        yield first
        other.note("The build is red.")
        yield from rest

    async def stream_async() -> AsyncIterator[dict[str, Any]]:
        for chunk in stream():
            yield chunk

    async def follow() -> str:
        async with sl.AsyncSession(session).streamed(stream_async()) as chunks:
            async for chunk in chunks:
                if left and "tool_calls" in chunk["choices"][0]["delta"]:
                    break
        return chunks.id

    if is_async:
        added = asyncio.run(follow())
    else:
        with session.streamed(stream()) as chunks:
            for chunk in chunks:
                if left and "tool_calls" in chunk["choices"][0]["delta"]:
                    break
        added = chunks.id
    texts = [plain_text(item.parts) for item in said(session)]
    assert texts[:2] == ["The build is red.", "It is here."]
    assert session.items.text(added) == "It is here."
    assert texts[2:] == [STOPPED] if left else [call.name for call in session.open_calls] == ["look"]
    other.refresh()
    assert list(other.items) == list(session.items)
    other.user("Anything else?")
    with pytest.raises(sl.Conflict):  # a whole reply is in the program's hands: it decides
        session.reply("Yes.")
    assert "Yes." not in [plain_text(item.parts) for item in other.items]
    session.close()
    other.close()


# ------------------------------------------------------------------ for event loops


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_the_same_for_event_loops(sdk: str, left: bool) -> None:
    """Chunks are passed on, the reply is logged at the end; left early, its text."""

    async def main(stub: Stub) -> tuple[str, bool, list[str]]:
        session = sl.AsyncSession(begun())
        payload = await session.compose(BUDGET)
        client: Any
        if sdk == "openai":
            client = openai.AsyncOpenAI(api_key="sk-test", base_url=f"{stub.url}/v1", max_retries=0)
            stream = await client.chat.completions.create(stream=True, **chat_arguments(payload))
        else:
            client = anthropic.AsyncAnthropic(api_key="sk-test", base_url=stub.url, max_retries=0)
            stream = await client.messages.create(stream=True, **payload.anthropic(model="m"))
        async with client, session.streamed(stream) as chunks:
            async for _ in chunks:
                if left and chunks.text == "One two":
                    break
        return chunks.text, chunks.stopped, [plain_text(item.parts) for item in await session.items.all()][1:]

    with Stub([answer("One two three")]) as stub:
        found = asyncio.run(main(stub))
    assert found == (("One two", True, ["One two", STOPPED]) if left else ("One two three", False, ["One two three"]))


def test_a_task_that_is_cancelled_keeps_what_has_come() -> None:
    """The cancellation goes on when the text is in the log."""

    async def main(stub: Stub) -> list[str]:
        session = sl.AsyncSession(begun())
        payload = await session.compose(BUDGET)

        async def answer_it() -> None:
            async with openai.AsyncOpenAI(api_key="sk-test", base_url=f"{stub.url}/v1") as client:
                stream = await client.chat.completions.create(stream=True, **chat_arguments(payload))
                async with session.streamed(stream) as chunks:
                    async for _ in chunks:
                        pass

        task = asyncio.create_task(answer_it())
        await asyncio.to_thread(stub.hanging.wait, 10)
        await asyncio.sleep(0.2)  # the last events are on their way
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [plain_text(item.parts) for item in await session.items.all()][1:]

    with Stub([hang(answer("One two three"), after=3)]) as stub:
        assert asyncio.run(main(stub)) == ["One two", STOPPED]


# ------------------------------------------------------------------ what is no stream


def test_what_is_no_stream_is_refused_with_what_to_do() -> None:
    """Each by its own sentence; nothing is logged."""
    session = begun()
    client = anthropic.Anthropic(api_key="sk-test", base_url="http://127.0.0.1:9")
    manager = client.messages.stream(model="m", max_tokens=1, messages=[])
    for given, told in ((manager, "with … as stream"), ("text", "chunks of a stream"), (7, "create")):
        with pytest.raises(BadInput, match=told):
            list(session.streamed(given))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="chunks of a stream"):
        list(session.streamed(iter(["a text_stream has the text only"])))
    assert said(session) == []
    client.close()


def test_the_example_of_the_docs_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As it stands."""
    text = (Path(__file__).parents[2] / "docs" / "session.md").read_text(encoding="utf-8")
    (example,) = [code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "session.streamed" in code]
    session = begun()
    with Stub([answer("One two three")]) as stub:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        with openai.OpenAI(api_key="sk-test", base_url=f"{stub.url}/v1") as client:
            names: dict[str, Any] = {"client": client, "session": session, "payload": session.compose(BUDGET)}
            exec(example, names)
            names["client"].close()
    assert capsys.readouterr().out == "One two three"
    assert plain_text(said(names["session"])[-1].parts) == "One two three"


def test_a_stopped_answer_with_half_a_character_is_kept() -> None:
    """A stream may break within an emoji: what came before it is in the log all the same."""
    session = sl.Session(MemoryStore("s"))
    session.user("Tell me.")
    kept = session.reply("A long answer \ud83d", stopped=True)
    assert session.items.text(kept).startswith("A long answer")
