"""Hostile requests for the REST interface: whatever comes in, the answer is no fault of the server's."""

import random
from itertools import repeat
from pathlib import Path
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from rest_server import SHOWS_TOKEN, RestServer
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance
from tests.conftest import SOAK, Tried

from sightline import Session
from sightline.log.levels import Reader
from sightline.log.stores.session_folder import Folder
from sightline.server.openapi import document
from sightline.server.rest import OPERATIONS
from sightline.server.rest_values import NewSession
from sightline.testing import ScriptedModel

EXAMPLES = 1500 if SOAK else 60  # requests for each way of making them
TALK = "/api/sessions/talk"


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_schemathesis_finds_no_server_error(project: Path, mode: schemathesis.GenerationMode, tried: Tried) -> None:
    """Requests made from the OpenAPI document, valid and invalid: each answer is one that the document names."""
    with RestServer(project, model=ScriptedModel(repeat("Yes."))) as server:
        tried("requests by schemathesis", _try_schema(server, mode))


def _try_schema(server: RestServer, mode: schemathesis.GenerationMode) -> int:
    described = schemathesis.openapi.from_url(f"{server.url}/api/openapi.json", headers=SHOWS_TOKEN)
    schema = described.exclude(path="/api/events")
    made = 0

    @given(case=schema.as_strategy(generation_mode=mode))
    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    def check(case: schemathesis.Case) -> None:
        nonlocal made
        made += 1
        if "id" in (case.path_parameters or {}) and made % 2 and case.method != "DELETE":
            case.path_parameters["id"] = "talk"  # random ids name no session
        response = case.call(headers=SHOWS_TOKEN)
        assert response.status_code < 500, response.text
        left_out = [positive_data_acceptance, negative_data_rejection]  # ids are checked by looking them up
        case.validate_response(response, excluded_checks=left_out)

    check()
    assert server.get(TALK)["facts"]["turns"] >= 6
    return made


@pytest.mark.slow
def test_the_description_is_made_from_the_table() -> None:
    """Every operation is described once, with the types that decode its requests; each has a name of its own."""
    made = document(OPERATIONS)
    described = [(path, method.upper()) for path, methods in made["paths"].items() for method in methods]
    assert sorted(described) == sorted((each.path, each.method) for each in OPERATIONS)
    assert len({each.name for each in OPERATIONS}) == len(OPERATIONS)
    assert list(made["components"]["schemas"]["NewSession"]["properties"]) == list(NewSession.__struct_fields__)
    for each in OPERATIONS:
        assert each.handle.__doc__
        if each.method == "POST" and each.body is not None:
            assert "requestBody" in made["paths"][each.path]["post"]


BAD = {
    "not UTF-8": b'{"message": "\xff\xfe"}',
    "half a character": b'{"message": "\\ud83d"}',
    "a NUL": b"\0",
    "no number": b'{"window": NaN}',
    "too large a number": b'{"window": 1e400}',
    "deep": b'{"config": ' + b"[" * 100_000,
    "deep and closed": b'{"config": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}",
    "two values": b"{} {}",
    "a list": b"[]",
    "null": b"null",
    "another type": b'{"window": "8000", "at": 3, "message": 5, "params": [], "query": null, "item": [], "lines": -1}',
    "unknown": b'{"unknown": 1}',
}


@pytest.mark.slow("a NUL", "null", "unknown")
@pytest.mark.parametrize("body", BAD.values(), ids=BAD.keys())
def test_a_body_that_cannot_be_read_is_the_clients_fault(server: RestServer, body: bytes) -> None:
    """Status 400 and a sentence that says what to do, for every operation that takes a body; nothing is written."""
    before = Folder(server.project).file("talk").read_bytes()
    for operation in OPERATIONS:
        if operation.body is None:
            continue
        path = operation.path.format(id="talk", item="3", window="w", action="a", call="1", other="2")
        sent = server.client.post(path, content=body, headers={"content-type": "application/json"})
        assert sent.status_code in (400, 404), (path, sent.text)
        assert sent.json()["error"]["what_to_do"]
    assert Folder(server.project).file("talk").read_bytes() == before


QUERIES = ["limit=0", "limit=1001", "limit=x", "start=-1", "start=1.5", "start=99999999999999999999", "text=half"]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_that_cannot_be_read_is_the_clients_fault(server: RestServer, query: str) -> None:
    """A page is bounded, and says so."""
    assert "query" in server.get(f"{TALK}/items?{query}", 400)["error"]["message"]


def test_a_page_beyond_the_end_is_empty(server: RestServer) -> None:
    """No error: the list may have been longer."""
    for path in ("items", "calls"):
        page = server.get(f"{TALK}/{path}?start=100000")
        assert (page[path], page["next"]) == ([], None)
    assert server.get("/api/sessions?start=1000")["sessions"] == []


@pytest.mark.slow
def test_a_long_session_is_paged_without_reading_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of 1,000 of 3,000 items reads 1,000 entries; hostile text comes back as it is."""
    hostile = "<script>alert(1)</script>\r\n\u202e\x1b[2J \ufffe"
    with Session.new(tmp_path, session_id="long") as session:
        session.extend([{"role": "user", "content": f"{number} {hostile}"} for number in range(3000)])
    with RestServer(tmp_path) as server:
        server.get("/api/sessions/long")
        read: list[int] = []
        real = Reader.prefetch

        def counted(self: Any, rows: Any) -> None:
            rows = list(rows)
            read.append(len(rows))
            real(self, rows)

        monkeypatch.setattr(Reader, "prefetch", counted)
        page = server.get("/api/sessions/long/items?start=1500&limit=1000&text=full")
        assert read == [1000]
        assert (len(page["items"]), page["total"], page["next"]) == (1000, 3000, 2500)
        assert page["items"][0]["text"] == f"1500 {hostile}"


@pytest.mark.slow
def test_random_paths_leave_the_store_alone(server: RestServer, tried: Tried) -> None:
    """No path, however made, reads or deletes a file outside the sessions; none is a fault of the server's."""
    secret = Path(server.project).parent / "secret.jsonl"
    secret.write_text("keep me")
    seed = random.SystemRandom().getrandbits(32) if SOAK else 20
    print(f"seed {seed}")
    chance, times = random.Random(seed), 3000 if SOAK else 150
    pieces = ["..", "%2e%2e", "%2f", "/", "secret", "talk", "items", "3", "%00", "%ff", "\\", "calls", "~", "*", "%25"]
    for _ in range(times):
        path = "/api/sessions/" + "".join(chance.choices(pieces, k=chance.randint(1, 6)))
        method = chance.choice(["GET", "POST", "DELETE"]) if "talk" not in path else "GET"
        sent = httpx2.request(method, server.url + path, trust_env=False, verify=False, headers=SHOWS_TOKEN)
        assert sent.status_code < 500, (method, path, sent.text)
        assert "keep me" not in sent.text
    assert secret.read_text() == "keep me"
    assert server.get(TALK)
    tried("strange paths", times)


def test_a_session_in_use_is_not_deleted(server: RestServer) -> None:
    """While a request holds it; afterwards it is."""
    import asyncio
    import threading

    held, done = threading.Event(), threading.Event()

    async def hold() -> None:
        async with server.sessions.use("talk"):
            held.set()
            await asyncio.to_thread(done.wait, 60)

    loop = server.loop
    running = asyncio.run_coroutine_threadsafe(hold(), loop)
    assert held.wait(60)
    assert server.client.delete(TALK).json()["error"]["type"] == "in_use"
    done.set()
    running.result(60)
    assert server.client.delete(TALK).status_code == 204
