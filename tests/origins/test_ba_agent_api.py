"""The BA-Agent document: the way in, from a request to a query."""

import asyncio
import json
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from ba_agent_shop import Json, Shop, structured

from sightline.origins.ba_agent import BAAgentService, application, handle

DEEP: Any = reduce(lambda inside, _: [inside], range(900), cast("Any", ()))


@pytest.mark.accepts(295)
def test_a_request_becomes_a_query(tmp_path: Path) -> None:
    """The body's fields are the query's; the answer is plain JSON."""
    shop = Shop(tmp_path, [structured("你好！")])
    reply = shop.run(handle(shop.service, {"message": "你好", "session_id": "s"}))
    assert reply.status == 200
    assert (reply.body["success"], reply.body["response"]) == (True, "你好！")
    assert json.loads(json.dumps(reply.body)) == reply.body


@pytest.mark.accepts(295)
def test_every_field_of_a_request_reaches_the_query(tmp_path: Path) -> None:
    """The model sees the history, the uploads and the message, and a second request goes on in the conversation."""
    shop = Shop(tmp_path, [structured("第一答"), structured("第二答"), structured("别处")])
    history = [{"role": "user", "content": "早先的问题"}, {"role": "assistant", "content": "早先的回答"}]
    requests = [
        {"message": "现在的问题", "session_id": "s", "history_messages": history, "file_context": ["upload_q1"]},
        {"message": "接着问", "session_id": "s"},
        {"message": "新的对话"},
    ]

    async def posted() -> list[tuple[int, Json]]:
        return [await Client(shop.service).post(json.dumps(request).encode()) for request in requests]

    answers = shop.run(posted())
    assert [(status, body["response"]) for status, body in answers] == [
        (200, "第一答"), (200, "第二答"), (200, "别处"),
    ]  # fmt: skip
    assert [body["session_id"] == "s" for _, body in answers] == [True, True, False]
    first, second, third = (shop.said(call) for call in range(3))
    assert all(text in first for text in ("早先的问题", "早先的回答", "upload:upload_q1", "现在的问题"))
    assert all(text in second for text in ("早先的问题", "现在的问题", "第一答", "接着问"))
    assert "问题" not in third.partition("新的对话")[0].replace("recommended_questions", "")


@pytest.mark.accepts(295)
@pytest.mark.parametrize(
    "request_body",
    [None, [], {}, {"message": ""}, {"message": 3}, {"message": "x", "sesion_id": "s"},
     {"message": "x", "session_id": "/"}, {"message": "x", "history_messages": "all"},
     {"message": "x", "file_context": [[]] * 2 + [3]}, {"message": "x", "file_context": DEEP},
     {"message": "x", "history_messages": [{"role": "user", "content": DEEP}]}],
)  # fmt: skip
def test_a_bad_request_is_told_what_is_wrong(tmp_path: Path, request_body: Any) -> None:
    """Status 400 and a sentence, for whatever comes in."""
    shop = Shop(tmp_path, [])
    reply = shop.run(handle(shop.service, request_body))
    assert (reply.status, reply.body["success"]) == (400, False)
    assert reply.body["error"]


class Client:
    """A server's side of ASGI, for one application."""

    def __init__(self, service: BAAgentService) -> None:
        self.application = application(service)

    async def post(self, body: bytes, path: str = "/query", method: str = "POST") -> tuple[int, Json]:
        pieces = [
            {"type": "http.request", "body": body[:5], "more_body": True},
            {"type": "http.request", "body": body[5:]},
        ]
        sent: list[Json] = []

        async def receive() -> Mapping[str, Any]:
            return pieces.pop(0)

        async def send(event: Json) -> None:
            sent.append(event)

        await self.application({"type": "http", "path": path, "method": method}, receive, send)
        return sent[0]["status"], msgspec.json.decode(sent[1]["body"])


@pytest.mark.accepts(295)
def test_the_application_speaks_asgi(tmp_path: Path) -> None:
    """A posted query is answered; every other request gets a status that says what is wrong."""
    shop = Shop(tmp_path, [structured("你好！")])
    client = Client(shop.service)

    async def requests() -> list[tuple[int, Json]]:
        return [
            await client.post('{"message": "你好"}'.encode()),
            await client.post(b"{"),
            await client.post(b"[" * 100_000),
            await client.post(b"{}", path="/"),
            await client.post(b"{}", method="GET"),
            await client.post(b"x" * 5_000_000),
        ]

    answers = shop.run(requests())
    assert [status for status, _ in answers] == [200, 400, 400, 404, 405, 413]
    assert answers[0][1]["response"] == "你好！"
    assert all(body["error"] for _, body in answers[1:])


def test_a_fault_of_the_service_is_not_the_client_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON that cannot be read on this side is a server's error, never "the body is no JSON"."""
    shop = Shop(tmp_path, [])

    async def query(*_: Any) -> None:
        raise msgspec.DecodeError("damaged index")

    monkeypatch.setattr(shop.service, "query", query)
    with pytest.raises(msgspec.DecodeError, match="damaged index"):
        shop.run(Client(shop.service).post(b'{"message": "hi"}'))


def test_half_a_character_does_not_stop_the_application(tmp_path: Path) -> None:
    """JSON can hold one half of a pair that is no text: the report is answered without it."""
    shop = Shop(tmp_path, [structured("x HALF y").replace("HALF", "\\ud800")])
    status, body = shop.run(Client(shop.service).post(b'{"message": "hi"}'))
    assert (status, body["success"]) == (200, True)
    assert body["response"].startswith("x ")


@pytest.mark.accepts(295)
def test_the_application_ends_with_its_server(tmp_path: Path) -> None:
    """When the server shuts down, conversations are closed and can go on later."""
    shop = Shop(tmp_path, [structured("好")])
    events = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    said: list[str] = []

    async def receive() -> Mapping[str, Any]:
        if len(events) == 1:
            await shop.service.query("你好", "s")
        return events.pop(0)

    async def send(event: Json) -> None:
        said.append(event["type"])

    asyncio.run(application(shop.service)({"type": "lifespan"}, receive, send))  # type: ignore[arg-type]
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert not shop.service._open
