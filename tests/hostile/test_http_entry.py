"""Hostile requests for BA-Agent's ASGI application: whatever comes in, the answer is no fault of the server's."""

import asyncio
import json
import pkgutil
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance
from tests.conftest import SOAK, Tried

from open_resources import lasting
from sightline.origins.ba_agent import BAAgentService, application, openapi
from sightline.origins.ba_agent.api import MOST_BYTES, MOST_CHARACTERS, MOST_FILES, MOST_MESSAGES, Query
from sightline.plan.view import Budget
from sightline.testing import ScriptedModel

LINE = json.dumps(
    {
        "task_analysis": "",
        "execution_plan": "",
        "current_round": 1,
        "action": {"type": "complete", "content": "ok"},
    }
)
EXAMPLES = 1500 if SOAK else 25  # requests that schemathesis makes for each operation and way of making them


class Application:
    """The application of a service whose model always answers, and a server's side of ASGI."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "files").mkdir()
        self.service = BAAgentService(
            ScriptedModel(repeat(LINE)),
            sessions=folder / "sessions",
            project=folder / "files",
            budget=Budget(16_000, output=1_000),
        )
        self.asgi = application(self.service)

    async def talk(self, scope: Mapping[str, Any], events: Iterator[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What the application sends, given what it receives."""
        sent: list[dict[str, Any]] = []

        async def receive() -> Mapping[str, Any]:
            return next(events)

        async def send(event: dict[str, Any]) -> None:
            sent.append(event)

        await self.asgi(scope, receive, send)
        return sent

    def post(self, body: bytes, size: int = 1 << 16, **scope: Any) -> tuple[int, Any]:
        """Status and answer of a request whose body comes in pieces of this size."""
        pieces = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
        events = iter(
            {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
            for number, piece in enumerate(pieces, 1)
        )
        whole = {"type": "http", "path": "/query", "method": "POST", "headers": []} | scope

        async def run() -> list[dict[str, Any]]:
            try:
                return await self.talk(whole, events)
            finally:
                await self.service.close()

        start, answer = asyncio.run(run())
        return start["status"], msgspec.json.decode(answer["body"])


@pytest.fixture
def app(tmp_path: Path) -> Application:
    """An application over a folder of its own."""
    return Application(tmp_path)


def query(**fields: Any) -> bytes:
    return json.dumps({"message": "hi"} | fields).encode()


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_schemathesis_finds_no_server_error(app: Application, mode: schemathesis.GenerationMode, tried: Tried) -> None:
    """Requests made from the OpenAPI document, valid and invalid: each answer is one that the document names."""
    with lasting():  # the library keeps its client, which has a thread
        schema = schemathesis.openapi.from_asgi("/openapi.json", app.asgi)
    made = 0

    @given(case=schema.as_strategy(generation_mode=mode))
    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    def check(case: schemathesis.Case) -> None:
        nonlocal made
        made += 1
        response = case.call()
        assert response.status_code < 500, response.text
        left_out = [positive_data_acceptance]
        if response.status_code == 413:  # a refusal too, which the library does not count as one
            left_out.append(negative_data_rejection)
        case.validate_response(response, excluded_checks=left_out)

    with lasting():
        check()
    asyncio.run(app.service.close())
    tried("requests by schemathesis", made)


def test_the_description_is_made_from_the_types(app: Application) -> None:
    """What decodes a request describes it, so the two cannot differ."""
    status, document = app.post(b"", path="/openapi.json", method="GET")
    assert (status, document) == (200, openapi())
    described = document["components"]["schemas"]["Query"]
    assert list(described["properties"]) == list(Query.__struct_fields__)
    assert described["required"] == ["message"]
    assert set(document["paths"]["/query"]["post"]["responses"]) == {"200", "400", "413", "500", "502"}


BAD = {
    "not UTF-8": b'{"message": "\xff\xfe"}',
    "UTF-16": '{"message": "hi"}'.encode("utf-16"),
    "half a character": b'{"message": "\\ud83d"}',
    "empty": b"",
    "a NUL": b"\0",
    "not a number": b'{"message": NaN}',
    "deep": b'{"message": "hi", "file_context": ' + b"[" * 100_000,
    "deep and closed": b'{"message": "hi", "history_messages": [{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}]}",
    "two values": b"{} {}",
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD.keys())
def test_a_body_that_cannot_be_read_is_the_clients_fault(app: Application, body: bytes) -> None:
    """Status 400 and a sentence; the next request is answered."""
    status, answer = app.post(body)
    assert (status, answer["success"]) == (400, False)
    assert answer["error"]
    assert app.post(query())[0] == 200


def test_what_is_wrong_with_text_is_said() -> None:
    """Not "truncated" for half a character, nor "no JSON" for bytes of another encoding."""
    assert "UTF-8: byte 13" in error(BAD["not UTF-8"])
    assert "without its other half" in error(BAD["half a character"])


def error(body: bytes) -> str:
    async def receive() -> Mapping[str, Any]:
        return {"type": "http.request", "body": body}

    sent: list[dict[str, Any]] = []

    async def send(event: dict[str, Any]) -> None:
        sent.append(event)

    service: Any = None  # not reached
    asyncio.run(application(service)({"type": "http", "path": "/query", "method": "POST"}, receive, send))  # type: ignore[arg-type]
    return str(msgspec.json.decode(sent[1]["body"])["error"])


def test_a_body_has_a_limit(app: Application) -> None:
    """In pieces it is read up to the limit and not to its end; one that says its size is not read at all."""
    received = 0

    def endless() -> Iterator[Mapping[str, Any]]:
        nonlocal received
        for _ in range(1000):
            received += 1
            yield {"type": "http.request", "body": bytes(MOST_BYTES // 8), "more_body": True}

    def status(headers: list[tuple[bytes, bytes]]) -> int:
        scope = {"type": "http", "path": "/query", "method": "POST", "headers": headers}
        return int(asyncio.run(app.talk(scope, endless()))[0]["status"])

    assert (status([]), received) == (413, 9)
    assert (status([(b"content-length", b"9" * 30)]), received) == (413, 9)
    assert (status([(b"content-length", b"nonsense")]), received) == (413, 18)


def test_single_bytes_are_read_in_linear_time(app: Application, tried: Tried) -> None:
    """Each byte is copied a bounded number of times, however many pieces a body has. Counted, not timed."""
    copied = 0

    class Counted(bytes):
        """A piece that notes when bytes are joined to it, as `body + piece` does."""

        def __radd__(self, before: bytes) -> bytes:
            nonlocal copied
            copied += len(before)
            return bytes(before) + bytes(self)

    body = query(session_id="bytes", history_messages=[{"role": "user", "content": "x" * 20_000}])
    events = iter(
        {"type": "http.request", "body": Counted(body[at : at + 1]), "more_body": at + 1 < len(body)}
        for at in range(len(body))
    )

    async def run() -> list[dict[str, Any]]:
        try:
            return await app.talk({"type": "http", "path": "/query", "method": "POST"}, events)
        finally:
            await app.service.close()

    assert asyncio.run(run())[0]["status"] == 200
    assert copied == 0
    tried("pieces of a request", len(body))


@pytest.mark.parametrize(
    "fields",
    [
        {"history_messages": [{"role": "system", "content": "word " * 100_000}]},
        {"history_messages": [{"role": "system", "content": "word " * 9_000}] * 40},
        {"file_context": [f"upload_{number}_{'x' * 100}" for number in range(MOST_FILES)]},
        {"message": "word " * 100_000},
    ],
    ids=["system message", "system messages", "files", "question"],
)
def test_more_than_the_context_window_is_answered(app: Application, fields: Mapping[str, Any]) -> None:
    """What is larger than the window is shown shortened; the conversation goes on."""
    assert app.post(query(session_id="large", **fields))[0] == 200
    assert app.post(query(session_id="large"))[0] == 200


CALL = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("few", "many"),
    [
        ({"message": "x" * MOST_CHARACTERS}, {"message": "x" * (MOST_CHARACTERS + 1)}),
        ({"history_messages": [{"role": "user", "content": "x"}]}, {"history_messages": [{}] * (MOST_MESSAGES + 1)}),
        (
            {"history_messages": [{"role": "assistant", "tool_calls": [CALL] * 20}]},
            {"history_messages": [{"role": "assistant", "tool_calls": [CALL] * MOST_MESSAGES}]},
        ),
        (
            {"history_messages": [{"role": "user", "content": [{"type": "text", "text": "x"}] * 20}]},
            {"history_messages": [{"role": "user", "content": [{"type": "text", "text": "x"}] * 100}] * 100},
        ),
        ({"file_context": ["f"] * MOST_FILES}, {"file_context": ["f"] * (MOST_FILES + 1)}),
        ({"file_context": {"files": ["f"] * MOST_FILES}}, {"file_context": {"files": ["f"] * (MOST_FILES + 1)}}),
        ({"file_context": [{"file_ids": ["f"]}] * 9}, {"file_context": [{"file_ids": ["f"] * 600}] * 2}),
    ],
    ids=["question", "messages", "calls", "parts", "files", "files in an object", "files in objects"],
)
def test_a_request_has_so_many_things_at_most(app: Application, few: dict[str, Any], many: dict[str, Any]) -> None:
    """More of them are refused before a conversation begins; as many are taken."""
    status, answer = app.post(query(session_id="many", **many))
    assert (status, answer["success"]) == (400, False)
    assert not list(app.folder.rglob("*.jsonl"))
    assert app.post(query(session_id="few", **few))[0] == 200


def test_other_requests_are_answered_while_one_is_read(app: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes time in proportion to the body is done in another thread than that of the event loop."""
    threads: dict[str, threading.Thread] = {}

    def noted(place: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def noting(given: Any, *args: Any, **named: Any) -> Any:
            threads.setdefault(place, threading.current_thread())
            return function(given, *args, **named)

        return noting

    for place in ("msgspec.json.decode", "msgspec.convert", "sightline.origins.ba_agent.service.uploads_of"):
        monkeypatch.setattr(place, noted(place, pkgutil.resolve_name(place)))
    assert app.post(query(file_context=["upload_1"]))[0] == 200
    assert len(threads) == 3
    assert threading.main_thread() not in threads.values()


@pytest.mark.parametrize(
    ("extensions", "answer"),
    [(None, [("websocket.close", None)]), ({"websocket.http.response": {}}, [("websocket.http.response.start", 400),
      ("websocket.http.response.body", None)])],
)  # fmt: skip
def test_a_websocket_is_refused(app: Application, extensions: Any, answer: list[tuple[str, int | None]]) -> None:
    """With a status where the server can send one; else the connection is closed before it is accepted."""
    scope = {"type": "websocket", "path": "/query", "extensions": extensions}
    sent = asyncio.run(app.talk(scope, iter([{"type": "websocket.connect"}])))
    assert [(event["type"], event.get("status")) for event in sent] == answer


def test_an_unknown_protocol_is_refused_as_asgi_wants_it(app: Application) -> None:
    """A server that tries a protocol learns that there is none."""
    with pytest.raises(ValueError, match="speaks HTTP"):
        asyncio.run(app.talk({"type": "telepathy"}, iter([])))


def test_a_wrong_method_is_told_the_right_one(app: Application) -> None:
    """As HTTP demands it: 405 with `allow`."""
    for path, method, right in (("/query", "GET", b"POST"), ("/openapi.json", "POST", b"GET")):
        start, _ = asyncio.run(app.talk({"type": "http", "path": path, "method": method}, iter([])))
        assert (start["status"], dict(start["headers"])[b"allow"]) == (405, right)


def test_random_changes_of_a_request_are_no_fault_of_the_server(app: Application, tried: Tried) -> None:
    """Bytes changed, cut, doubled and inserted: an answer, or a 400."""
    seed = random.SystemRandom().getrandbits(32) if SOAK else 18
    print(f"seed {seed}")
    chance, times = random.Random(seed), 3000 if SOAK else 60
    whole = query(
        session_id="s", history_messages=[{"role": "user", "content": "x"}], file_context=[{"file_id": "upload_1"}]
    )
    for _ in range(times):
        body = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            at, length = chance.randrange(len(body) + 1), chance.choice([0, 1, 1, 2, 8])
            body[at : at + length] = chance.choice(
                [b"", chance.randbytes(1), b'"', b"\\", b"\xed\xa0\x80", b"1e999", b"[", b"}", bytes(body[at : at + 9])]
            )
        status, answer = app.post(bytes(body))
        assert status in (200, 400), answer
    tried("changed requests", times)
