"""Connections to a model's server: reused, closed by the server, and when a request is sent once more."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from model_talk import pieces, request, said, use
from stub import Line, Stub, answer, cut, drop

from sightline.agent.models import Model
from sightline.errors import ModelBusy

OURS = pytest.mark.parametrize("kind", ["openai", "anthropic"])
STALE = pytest.mark.parametrize("stale", [drop(), drop(reset=True)], ids=["closed", "reset"])


def asked(stub: Stub) -> list[tuple[str, int]]:
    """What was asked, and on which connection."""
    contents = [each.body["messages"][-1]["content"] for each in stub.asked]
    texts = [content if isinstance(content, str) else content[0]["text"] for content in contents]
    return [(text, each.connection) for text, each in zip(texts, stub.asked, strict=True)]


def asking(*questions: str) -> Callable[[Model], Awaitable[list[str]]]:
    """One question after the other; the answers."""

    async def talk(model: Model) -> list[str]:
        return [said(await pieces(model, request(each))) for each in questions]

    return talk


@OURS
@STALE
def test_a_request_on_a_stale_connection_is_sent_once_more(kind: str, stale: Line) -> None:
    """The server closes a reused connection instead of an answer: the same request is sent on a fresh one."""
    with Stub([answer("1"), stale, answer("2"), answer("3")]) as stub:
        assert use(kind, stub, asking("one", "two", "three")) == ["1", "2", "3"]
    assert asked(stub)[:3] == [("one", 1), ("two", 1), ("two", 2)]
    assert stub.asked[1].body == stub.asked[2].body
    assert stub.asked[1].headers == stub.asked[2].headers
    assert len(stub.asked) == 4


@OURS
@STALE
def test_it_is_sent_no_third_time(kind: str, stale: Line) -> None:
    """A fresh connection that is closed too is a failure."""
    script = [answer("1"), stale, stale, answer("2")]
    with Stub(script) as stub, pytest.raises(ModelBusy, match="cannot be reached"):
        use(kind, stub, asking("one", "two"))
    assert asked(stub) == [("one", 1), ("two", 1), ("two", 2)]


@OURS
@STALE
def test_on_a_fresh_connection_it_is_sent_once(kind: str, stale: Line) -> None:
    """Nobody knows what a server that closes its first connection has done with the request."""
    with Stub([stale, answer("1")]) as stub, pytest.raises(ModelBusy, match="cannot be reached"):
        use(kind, stub, asking("one"))
    assert asked(stub) == [("one", 1)]


@OURS
@pytest.mark.parametrize(
    "sent",
    [b"H", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"],
    ids=["a byte", "a line", "the head"],
)
def test_after_a_byte_nothing_is_sent_twice(kind: str, sent: bytes) -> None:
    """The server has begun to answer: what it did with the request is done."""
    with Stub([answer("1"), drop(sent), answer("2")]) as stub, pytest.raises(ModelBusy):
        use(kind, stub, asking("one", "two"))
    assert asked(stub) == [("one", 1), ("two", 1)]


@OURS
def test_an_answer_that_breaks_off_is_not_sent_twice(kind: str) -> None:
    """In the middle of its events, on a reused connection."""
    script = [answer("1"), cut(answer("2 3 4 5"), after=4), answer("2")]
    with Stub(script) as stub, pytest.raises(ModelBusy, match="cut off"):
        use(kind, stub, asking("one", "two"))
    assert asked(stub) == [("one", 1), ("two", 1)]


@OURS
def test_it_is_not_sent_on_another_idle_connection(kind: str) -> None:
    """Two connections are idle, and the server has closed both: the second attempt opens a third."""

    async def talk(model: Model) -> str:
        first: Any = model.stream(request("one"))
        await anext(first)  # its connection is in use until all is read
        await pieces(model, request("two"))
        async for _ in first:
            pass
        return said(await pieces(model, request("three")))

    with Stub([answer("a b c"), answer("2"), drop(), answer("3")]) as stub:
        assert use(kind, stub, talk) == "3"
    assert asked(stub)[0::3] == [("one", 1), ("three", 3)]
    assert len(stub.asked) == 4


def test_a_server_that_closes_while_nothing_is_asked_costs_nothing() -> None:
    """A close that has arrived before the next question is seen without sending it."""
    closed = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
    body = b'{"choices":[{"message":{"content":"1"},"finish_reason":"stop"}]}'

    async def talk(model: Model) -> list[str]:
        one = said(await pieces(model, request("one")))
        assert await asyncio.to_thread(stub.closed.wait, 60)
        return [one, said(await pieces(model, request("two")))]

    with Stub([drop(closed % (len(body), body)), answer("2")]) as stub:
        assert use("openai", stub, talk) == ["1", "2"]
    assert asked(stub) == [("one", 1), ("two", 2)]
