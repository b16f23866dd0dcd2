"""No route of one tenant shows anything of another: ids of another's are answered like ids that never existed."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent
from tenant_servers import OPERATOR, Tenancy

from postgres_server import PostgresServer
from sightline import Session
from sightline.server.rest import OPERATIONS
from sightline.server.rest_operation import Operation
from sightline.testing import Ticking, calling

SECRET = "zanzibar"  # in everything that the first tenant says
OLD = 1_700_000_000_000  # milliseconds: what was said just now is not searched
BODIES: dict[str, dict[str, Any]] = {  # what an operation needs
    "beginImport": {"path": "/etc/hostname"},
    "forkSession": {"at": "1"},
    "interact": {"message": "What was said?"},
    "recallItems": {"query": SECRET},
}
QUERIES = {
    "findSessions": "?q=zanzibar",
    "searchItems": "?q=zanzibar",
    "findInTranscript": "?q=zanzibar",
    "uploadImport": "?name=a.jsonl",
}
VOLATILE = frozenset({"date", "content-length", "etag"})  # headers that differ with the time, or with the id


class Ids(NamedTuple):
    """What a tenant has, by the names in paths."""

    sessions: list[str]
    item: str
    call: str
    window: str
    imported: str


def transcript(tenant: str, *said: str) -> bytes:
    """A log of Claude Code."""
    rows = [
        {"type": "user", "uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else None, "sessionId": f"{tenant}-talk",
         "timestamp": "2024-05-01T10:00:00.000Z", "cwd": f"/w/{tenant}", "version": "1.0.0", "isSidechain": False,
         "userType": "external", "message": {"role": "user", "content": text}}
        for at, text in enumerate(said)
    ]  # fmt: skip
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def upload(client: httpx2.Client, name: str, data: bytes) -> dict[str, Any]:
    """Import a file, and wait for the end."""
    made = client.post(f"/api/imports/upload?name={name}", content=data)
    assert made.status_code == 202, made.text
    while (found := client.get(f"/api/imports/{made.json()['id']}").json())["state"] == "running":
        pass
    assert found["state"] == "done", found
    return dict(found)


def fill(tenancy: Tenancy, tenant: str, word: str) -> Ids:
    """Have a tenant use everything: the proxy, a session with calls, a fork, a pin and a window, an import."""
    client = tenancy.client(tenant)
    proxied = tenancy.ask(client, f"The same question about {word}").headers["x-sightline-session"]
    with Session.new("/w", stores=tenancy.stores.for_tenant(tenant), session_id=f"own-of-{tenant}",
                     clock=Ticking(OLD), apps=["todo"]) as session:  # fmt: skip
        session.windows.open("todo")
        session.user(f"Never touch {word}.")
        session.reply(calling(("read", {"path": f"{word}.py"})))
        item = session.tool_result(session.open_calls[0].id, f"{word} is 42\n" * 200)
        session.reply(f"{word} was read.")
        window = next(iter(session.windows.live()))
    imported = upload(client, f"{word}.jsonl", transcript(tenant, f"What is {word}?", "Say more."))
    full_id = imported["sessions"][0]["id"]
    assert client.post(f"/api/sessions/own-of-{tenant}/items/{item}/pin").status_code == 200
    fork = client.post(f"/api/sessions/own-of-{tenant}/fork", json={"at": item, "name": f"branch-{word}"})
    assert fork.status_code == 201, fork.text
    assert client.get(f"/api/sessions/{full_id}").status_code == 200
    return Ids([proxied, f"own-of-{tenant}", full_id], item, "1", window, imported["id"])


class World(NamedTuple):
    """Two tenants who use everything, and a client of the second."""

    tenancy: Tenancy
    theirs: Ids
    stranger: httpx2.Client


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[World]:
    """One server, two tenants. Both have said one sentence in the same words."""
    with Tenancy(tmp_path_factory.mktemp("tenants"), postgres) as tenancy:
        tenancy.tenant("acme")
        tenancy.tenant("bolt")
        theirs = fill(tenancy, "acme", SECRET)
        fill(tenancy, "bolt", "ordinary")
        yield World(tenancy, theirs, tenancy.client("bolt"))


def send(client: httpx2.Client, operation: Operation, path: str, **headers: str) -> httpx2.Response:
    """Send a request for an operation with the body that it needs."""
    given: dict[str, Any] = {"json": BODIES.get(operation.name, {})} if operation.body is not None else {}
    return client.request(operation.method, path + QUERIES.get(operation.name, ""), headers=headers, **given)


def shown(response: httpx2.Response, *names: str) -> tuple[int, dict[str, str], str]:
    """An answer, without the names that the request had."""
    headers = {key: value for key, value in response.headers.items() if key not in VOLATILE}
    text = response.text
    for name in names:
        text = text.replace(name, "NAME")
    return response.status_code, headers, text


def path_of(operation: Operation, session: str, ids: Ids) -> str:
    """The path of an operation on something."""
    named = {"id": session, "item": ids.item, "call": ids.call, "other": "1", "window": ids.window, "action": "add",
             "import": ids.imported}  # fmt: skip
    return re.sub(r"\{(\w+)\}", lambda found: named[found[1]], operation.path)


NAMED = [operation for operation in OPERATIONS if "{" in operation.path]
OTHERS = [operation for operation in OPERATIONS if "{" not in operation.path and operation.name != "events"]


@pytest.mark.slow(
    "act",
    "compareCalls",
    "exportSession",
    "getCall",
    "getContext",
    "getRawInput",
    "getReport",
    "getSession",
    "getTimeline",
    "getTokens",
    "getWindow",
    "listCalls",
    "listCompactions",
    "listConstraints",
    "listWindows",
    "previewCall",
    "searchItems",
    "undoCompaction",
    "verifySession",
)
@pytest.mark.parametrize("operation", NAMED, ids=lambda each: each.name)
def test_an_id_of_another_is_answered_like_one_that_never_was(world: World, operation: Operation) -> None:
    """Byte for byte, with every session of the other tenant, and for who knows the ETag of what is there."""
    owner, there = world.tenancy.client("acme"), set[int]()
    for session in world.theirs.sessions:
        place = "@imported" if session.endswith("@imported") else ""
        other = "n" * (len(session) - len(place)) + place
        never = world.theirs._replace(imported="im-000000000000")
        known = {}
        if operation.method == "GET":
            seen = send(owner, operation, path_of(operation, session, world.theirs))
            known = {"if-none-match": seen.headers.get("etag", '"x"')}
            there.add(seen.status_code)
        asked = send(world.stranger, operation, path_of(operation, session, world.theirs), **known)
        for headers in (known, {}):
            expected = send(world.stranger, operation, path_of(operation, other, never), **headers)
            assert asked.status_code == 404
            named = (session.removesuffix(place), world.theirs.imported), (other.removesuffix(place), never.imported)
            assert shown(asked, *named[0]) == shown(expected, *named[1])
        assert SECRET not in asked.text
    assert operation.method != "GET" or 200 in there


def test_the_other_tenant_still_has_everything(world: World) -> None:
    """What the stranger tried to delete, fork and change is as it was. So the ids above were good ones."""
    owner = world.tenancy.client("acme")
    for session in world.theirs.sessions:
        assert owner.get(f"/api/sessions/{session}").status_code == 200
        assert SECRET in owner.get(f"/api/sessions/{session}/export").text
    assert owner.get(f"/api/imports/{world.theirs.imported}").json()["state"] == "done"
    assert len(owner.get("/api/sessions").json()["sessions"]) == 3


@pytest.mark.parametrize("operation", OTHERS, ids=lambda each: each.name)
def test_a_list_has_nothing_of_another(world: World, operation: Operation) -> None:
    """Nor has any answer to a path without an id, an error among them."""
    answer = send(world.stranger, operation, operation.path)
    for word in (SECRET, "acme", *world.theirs.sessions[:2], world.theirs.imported, world.tenancy.tokens["acme"]):
        assert word not in answer.text
        assert word not in str(answer.headers)


def test_the_sums_over_all_sessions_are_of_the_tenants_own(world: World) -> None:
    """As many as its own list has, and none but those is named among what cost most."""
    own = {}
    for tenant in ("acme", "bolt"):
        client, pending = world.tenancy.client(tenant), 1
        while pending:
            sums = client.get("/api/overview").json()
            pending = sums["pending"]
        own[tenant] = {row["id"] for row in client.get("/api/sessions?limit=500").json()["sessions"]}
        assert sums["total"]["sessions"] == len(own[tenant])
        assert {session["id"] for session in sums["costly"]} <= own[tenant]
    assert set(world.theirs.sessions) <= own["acme"]
    assert own["acme"].isdisjoint(own["bolt"])


def test_a_search_of_all_sessions_finds_only_what_is_the_tenants_own(world: World) -> None:
    """The owner finds it in each session, with the same request that tells another tenant of nothing."""
    found = {}
    for tenant in ("acme", "bolt"):
        client, unread = world.tenancy.client(tenant), 1
        while unread:
            answer = client.get("/api/find?q=zanzibar&limit=200").json()
            unread = answer["unread"]
        found[tenant] = {session["id"] for session in answer["sessions"]}
    assert found == {"acme": set(world.theirs.sessions), "bolt": set()}


def test_what_another_has_can_be_made_too(world: World) -> None:
    """A session of its id, and an import of the same file: nothing says that it is there already."""
    [_, session, imported] = world.theirs.sessions
    made = world.stranger.post("/api/sessions", json={"id": session})
    assert (made.status_code, made.json()["id"]) == (201, session)
    assert world.stranger.post("/api/sessions", json={"id": session}).status_code == 400
    [done] = upload(world.stranger, "same.jsonl", transcript("acme", f"What is {SECRET}?", "Say more."))["sessions"]
    assert (done["id"], done["state"], done["messages"]) == (imported, "new", 2)
    for each in (session, imported):
        assert world.stranger.delete(f"/api/sessions/{each}").status_code == 204


def test_the_same_conversation_of_two_tenants_is_two_sessions(world: World) -> None:
    """Its name may be the same. What one says later is not in the other's."""
    clients = [world.tenancy.client(each) for each in ("acme", "bolt")]
    names = [world.tenancy.ask(each, "Do both say this?").headers["x-sightline-session"] for each in clients]
    world.tenancy.ask(clients[0], "Do both say this?", "Understood.", f"Only one says {SECRET}")
    assert names[0] == names[1]
    exports = [client.get(f"/api/sessions/{name}/export").text for client, name in zip(clients, names, strict=True)]
    assert [SECRET in text for text in exports] == [True, False]


def test_a_reply_that_the_provider_keeps_is_of_its_tenant(world: World) -> None:
    """Whoever goes on from another's reply id is logged in a session of their own, named as for an unknown id."""
    one, two = (world.tenancy.client(each) for each in ("acme", "bolt"))
    key = {"authorization": "Bearer any"}
    first = one.post("/v1/responses", json={"model": "gpt-5.2", "input": f"About {SECRET}"}, headers=key)
    name, kept = first.headers["x-sightline-session"], first.json()["id"]
    sessions = []
    for client in (one, two):
        body = {"model": "gpt-5.2", "input": "Go on.", "previous_response_id": kept}
        assert client.post("/v1/responses", json=body, headers=key).status_code == 200
        sessions.append(
            [each["id"] for each in client.get("/api/sessions").json()["sessions"] if each["title"] == "Go on."]
        )
    assert sessions[0] == []  # it went on in the session of the first reply
    assert "Go on." in one.get(f"/api/sessions/{name}/export").text
    [own] = sessions[1]
    assert SECRET not in two.get(f"/api/sessions/{own}/export").text
    assert two.get(f"/api/sessions/{name}").status_code == 404


async def mcp_answers(url: str, token: str, calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """What an MCP client of a tenant gets."""
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{url}/api/mcp", http_client=http)) as client,
    ):
        answers = []
        for name, given in calls:
            result = await client.call_tool(name, given)
            answers.append("".join(each.text for each in result.content if isinstance(each, TextContent)))
        resources = await client.list_resources()
        told = [client.instructions or "", *(each.description or "" for each in (await client.list_tools()).tools)]
        told += [each.title or "" for each in resources.resources]
        assert "this machine" not in " ".join(told)  # the client's is another one
        assert "sessions of your team" in told[0]
        return [*answers, " ".join(str(each.uri) for each in resources.resources)]


@pytest.mark.slow
def test_mcp_finds_only_what_is_the_tenants_own(world: World) -> None:
    """Searching, recalling, expanding, reporting and listing."""
    url, tokens, [_, session, imported] = world.tenancy.urls[0], world.tenancy.tokens, world.theirs.sessions
    search = [("search_sessions", {"words": SECRET}), ("search_sessions", {})]

    def into(name: str) -> list[tuple[str, dict[str, Any]]]:
        return [
            ("recall", {"session": name, "words": SECRET}), ("expand", {"session": name, "id": world.theirs.item}),
            ("context_report", {"session": name}),
        ]  # fmt: skip

    def ask(tenant: str, calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
        return asyncio.run(mcp_answers(url, tokens[tenant], calls))

    own = ask("acme", search + into(session) + into(imported))
    assert all(SECRET in each for each in (own[0], own[2], own[3]))
    assert session in own[1]
    asked = ask("bolt", search + into(session) + into(imported))
    never = ask("bolt", search + into("nothing") + into("nothing@imported"))
    assert asked[2:] == never[2:]
    assert asked[0] == "No session matches. Try other words."
    assert not [each for each in asked if SECRET in each or "acme" in each]


def test_only_the_operator_sees_the_counts(world: World) -> None:
    """They are of all tenants together; no tenant's name is in them."""
    stranger, nobody = world.stranger, world.tenancy.client("")
    for path in ("/metrics", "/health"):
        assert [client.get(path).status_code for client in (stranger, nobody)] == [401, 401]
        told = nobody.get(path, headers={"x-sightline-token": OPERATOR})
        assert told.status_code == 200
        assert not re.search(f"acme|bolt|{SECRET}|proxy-", told.text)
    assert nobody.get("/api/sessions", headers={"x-sightline-token": OPERATOR}).status_code == 401


@pytest.mark.slow
def test_no_file_of_the_servers_machine_is_shown(world: World) -> None:
    """None is offered or imported by its path, no app runs, and errors name neither folders nor the database."""
    facts = world.stranger.get("/api/server").json()
    assert (facts["everywhere"], facts["model"], facts["apps"]) == (False, None, [])
    assert world.stranger.post("/api/imports", json={"path": "/etc/hostname"}).status_code == 404
    own = world.stranger.get("/api/sessions").json()["sessions"]
    assert {each["file"] for each in own} == {None}
    [window] = world.stranger.get("/api/sessions/own-of-bolt/windows").json()["windows"]
    assert window["running"] is False
    acted = world.stranger.post(f"/api/sessions/own-of-bolt/windows/{window['id']}/actions/add", json={})
    assert acted.status_code == 501
    texts = [world.stranger.get(path).text for path in (
        "/api/server", "/api/sessions", "/api/sessions/no", "/api/sessions/no@x", "/api/sessions/no@imported",
    )]  # fmt: skip
    folder = str(Path(world.tenancy.root).parent)
    assert not [text for text in texts if folder in text or "postgres" in text]
