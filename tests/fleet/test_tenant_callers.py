"""Whose token is good: forged, wrong, expired, revoked and many tokens, limits, and a database that is away."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tenant_servers import OPERATOR, Tenancy
from through_proxy import HEADERS, MODELS, PATHS

from postgres_server import PostgresServer
from sightline.errors import StoreError
from sightline.fleet import tenant_callers
from sightline.fleet.database import Database
from sightline.fleet.tenant_callers import CALLER, TenantCallers
from sightline.fleet.tenant_limits import TenantLimits, stores_something
from sightline.fleet.tenants import Caller, Tenants, token_hash
from sightline.server.access_token import hash_token
from sightline.server.callers import Refusal
from sightline.server.rest import OPERATIONS

LIST = "/api/sessions"


@pytest.fixture
def tenancy(tmp_path: Path, postgres: PostgresServer) -> Iterator[Tenancy]:
    """One server, two tenants, each with a session."""
    with Tenancy(tmp_path, postgres) as made:
        for name in ("acme", "bolt"):
            made.tenant(name)
            assert made.client(name).post(LIST, json={"id": f"of-{name}"}).status_code == 201
        yield made


def ids(response: httpx2.Response) -> list[str]:
    """The sessions of a list."""
    return [each["id"] for each in response.json()["sessions"]]


# ---------------------------------------------------------------------- who it is


@pytest.mark.slow
def test_nothing_but_the_token_says_who_it_is(tenancy: Tenancy) -> None:
    """Neither an address nor a header or a cookie names another tenant. An address that does is refused, also if
    there is no such tenant.
    """
    bolt, stranger = tenancy.client("bolt"), tenancy.client("")
    forged = {"x-sightline-tenant": "acme", "x-tenant": "acme", "cookie": "tenant=acme", "sightline-tenant": "acme",
              "x-forwarded-user": "acme"}  # fmt: skip
    for path in (LIST, f"{LIST}?tenant=bolt", f"{LIST}?project=/tenants/acme", f"{LIST}?schema=public"):
        assert set(ids(bolt.get(path, headers=forged))) <= {"of-bolt"}
    told = {name: bolt.get(f"{LIST}?tenant={name}") for name in ("acme", "typo", "")}
    assert {each.status_code for each in told.values()} == {404}
    assert {each.text.replace(repr(name), "X") for name, each in told.items()} == {
        told["acme"].text.replace("'acme'", "X")
    }
    assert told["typo"].json()["error"] == {
        "type": "unknown_tenant", "message": "this token knows no tenant 'typo'",
        "what_to_do": "leave tenant= out of the address: the token says whose sessions these are",
    }  # fmt: skip
    for path in ("/token/acme/api/sessions", "/tenants/acme/api/sessions", "/acme/api/sessions"):
        assert stranger.get(path, headers=forged).status_code == 401
    for wrong in ("", "acme", "sl_acme", f"sl_{'0' * 10}_", OPERATOR, tenancy.tokens["acme"][:-1], "sl_\N{BULLET}",
                  tenancy.tokens["acme"] + "x", tenancy.tokens["acme"].upper(), "sl_" + "x" * 5000):  # fmt: skip
        shown = {"x-sightline-token": wrong.encode("utf-8")}
        assert stranger.get(LIST, headers=shown).status_code == 401  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_token_is_taken_wherever_a_server_takes_one(tenancy: Tenancy) -> None:
    """As a header, in the path, and as a bearer below /api. On a model's path a bearer is the provider's key."""
    stranger, token = tenancy.client(""), tenancy.tokens["acme"]
    for path, headers in (
        (LIST, {"x-sightline-token": token}),
        (f"/token/{token}{LIST}", {}),
        (LIST, {"authorization": f"Bearer {token}"}),
    ):
        assert ids(stranger.get(path, headers=headers)) == ["of-acme"]
    body = {"model": MODELS["chat"], "messages": [{"role": "user", "content": "Hello"}]}
    key = {"authorization": f"Bearer {token}"}
    assert stranger.post("/v1/chat/completions", json=body, headers=key).status_code == 401
    assert tenancy.upstream.calls == []
    asked = stranger.post(f"/token/{token}/v1/chat/completions", json=body, headers={"authorization": "Bearer any"})
    assert asked.status_code == 200
    [seen] = tenancy.upstream.calls
    assert token not in str(seen)


def test_tokens_of_two_tenants_in_one_request_are_refused(tenancy: Tenancy) -> None:
    """Nobody guesses which one is meant. Several of one tenant are fine, and so is a wrong one beside a good one."""
    stranger, (acme, bolt) = tenancy.client(""), tenancy.tokens.values()
    more = tenancy.tenants.create_token("acme")[1]
    both = stranger.get(f"/token/{acme}{LIST}", headers={"x-sightline-token": bolt})
    assert (both.status_code, both.json()["error"]["type"]) == (401, "several_tokens")
    assert stranger.get(LIST, headers={"x-sightline-token": acme, "authorization": f"Bearer {bolt}"}).status_code == 401
    assert stranger.get(f"/token/{acme}{LIST}", headers={"x-sightline-token": more}).status_code == 200
    assert stranger.get(LIST, headers={"x-sightline-token": acme, "authorization": "Bearer other"}).status_code == 200
    many = [("x-sightline-token", f"sl_{number}") for number in range(9)]
    assert stranger.get(LIST, headers=[*many, ("x-sightline-token", acme)]).status_code == 401


@pytest.mark.slow
def test_a_page_of_another_site_is_refused_with_a_good_token_too(tenancy: Tenancy) -> None:
    """All other checks of the guard come first."""
    acme = tenancy.client("acme")
    assert acme.get(LIST, headers={"origin": "https://evil.example"}).status_code == 403
    assert acme.get(LIST, headers={"host": "evil.example"}).status_code == 403


# ---------------------------------------------------------------------- until when


@pytest.mark.slow
def test_revoked_and_expired_tokens(tenancy: Tenancy, postgres: PostgresServer) -> None:
    """A model's answer that has begun comes to its end; a stream of events ends; the next request is refused."""
    schema = tenancy.stores.database.address.schema
    old, expired = tenancy.tenants.create_token("acme", days=1)
    with postgres.connect() as admin:
        admin.execute(f"UPDATE {schema}.token SET expires = now() WHERE token = %s", (old.id,))
    stranger, acme = tenancy.client(""), tenancy.client("acme")
    assert stranger.get(LIST, headers={"x-sightline-token": expired}).status_code == 401
    [token] = [each for each in tenancy.tenants.list_tokens("acme") if each.expires is None]
    with acme.stream("GET", "/api/events") as events:
        lines = events.iter_lines()
        assert next(lines) == ": events follow"
        tenancy.on_call = lambda: tenancy.tenants.revoke_token(token.id)
        asked = tenancy.ask(acme, "Is this answered?")
        assert (asked.status_code, asked.json()["choices"][0]["message"]["content"]) == (200, "Understood.")
        with pytest.raises(httpx2.RemoteProtocolError):  # the end was not said: a browser tries again, and is refused
            for _ in lines:
                pass
    refused = tenancy.ask(acme, "And this?")
    assert refused.status_code == 401
    assert refused.json()["error"]["code"] == "no_token"
    assert acme.get(LIST).status_code == 401
    assert tenancy.client("bolt").get(LIST).status_code == 200


class Counted(Tenants):
    """Counts how often the database is asked, and by how many threads."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.asked: list[bytes] = []
        self.threads: set[int] = set()

    def find(self, hashed: bytes) -> Caller | None:
        """See `Tenants`."""
        self.asked.append(hashed)
        self.threads.add(threading.get_ident())
        return super().find(hashed)


def check(callers: TenantCallers, *shown: str, path: str = LIST) -> tuple[Any, dict[str, Any]]:
    """Return a coroutine's answer: why a request is refused, and what its scope says."""
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": path, "headers": []}
    return callers.check(scope, shown), scope


def test_an_answer_of_the_database_is_used_for_seconds(postgres: PostgresServer) -> None:
    """Also that nobody has a token. Requests at once wait for one answer."""
    database = Database(postgres.url())
    tenants, now = Counted(database), [0.0]
    tenants.create("acme")
    token, text = tenants.create_token("acme")

    async def work() -> None:
        callers = TenantCallers(tenants, clock=lambda: now[0])
        for shown, expected in ((text, None), ("sl_wrong", 401)):
            tenants.asked.clear()
            answers = await asyncio.gather(*(check(callers, shown)[0] for _ in range(50)))
            answers.append(await check(callers, shown)[0])
            assert {each and each.status for each in answers} == {expected}
            assert tenants.asked == [token_hash(shown)]
        tenants.revoke_token(token.id)
        assert await check(callers, text)[0] is None  # not yet known here
        now[0] += tenant_callers.KNOWN_SECONDS
        refusal = await check(callers, text)[0]
        assert isinstance(refusal, Refusal)
        assert refusal.status == 401
        callers.close()

    asyncio.run(work())
    database.close()


@pytest.mark.slow
def test_many_wrong_tokens_take_few_connections(postgres: PostgresServer) -> None:
    """A thousand at once: one thread asks, so one connection; so many wait at most; a known token is not held up."""
    database = Database(postgres.url())
    tenants, now = Counted(database), [0.0]
    tenants.create("acme")
    _, text = tenants.create_token("acme")

    async def work() -> None:
        callers = TenantCallers(tenants, clock=lambda: now[0])
        assert await check(callers, text)[0] is None
        now[0] += tenant_callers.KNOWN_SECONDS
        wrong = [asyncio.ensure_future(check(callers, f"sl_{number}")[0]) for number in range(1000)]
        await asyncio.sleep(0)
        tenants.threads.clear()
        good, scope = check(callers, text)
        assert await good is None
        assert scope[CALLER].caller.tenant == "acme"
        assert sum(each.done() for each in wrong) < 1000
        refusals = await asyncio.gather(*wrong)
        assert {each.status for each in refusals if each} == {401, 503}
        assert all(each.retry_after for each in refusals if each and each.status == 503)
        assert len(tenants.threads) == 2
        with postgres.connect() as admin:
            place = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sightline' AND query LIKE %s"
            [(connections,)] = admin.execute(place, (f"%{database.address.schema}%",)).fetchall()
        assert 1 <= int(str(connections)) <= 2
        callers.close()

    asyncio.run(work())
    database.close()


def test_nobody_is_let_in_while_the_database_is_away(tmp_path: Path) -> None:
    """Not even who was known. A 503 says when to try again. The operator's paths need no database."""
    tenants = Tenants(Database(f"postgresql://nobody@/none?host={tmp_path}&connect_timeout=1"))
    operator = "the-operators-own-token"

    async def work() -> None:
        callers = TenantCallers(tenants, hash_token(operator))
        refusal = await check(callers, "sl_any")[0]
        assert (refusal.status, refusal.retry_after > 0) == (503, True)
        assert "postgres" not in refusal.message
        assert (await check(callers)[0]).status == 401
        assert await check(callers, operator, path="/metrics")[0] is None
        callers.close()

    asyncio.run(work())
    with pytest.raises(StoreError):
        tenants.list()


# ---------------------------------------------------------------------- limits


def post(tenancy: Tenancy, client: httpx2.Client, wire: str) -> httpx2.Response:
    """Ask a model."""
    body: dict[str, Any] = {"model": MODELS[wire], "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]}
    if wire == "responses":
        body = {"model": MODELS[wire], "input": "Hi"}
    return client.post(PATHS[wire], json=body, headers=HEADERS[wire])


@pytest.mark.slow
def test_too_many_requests_in_a_minute(tenancy: Tenancy) -> None:
    """429 with retry-after: in the shape of the provider, or of REST. Others are not held up; one line in the trail."""
    tenancy.tenant("small", requests_per_minute=3)
    small = tenancy.client("small")
    assert [small.get(LIST).status_code for _ in range(3)] == [200, 200, 200]
    before = len(tenancy.upstream.calls)
    refused = [post(tenancy, small, wire) for wire in PATHS] + [small.get(LIST)]
    assert {each.status_code for each in refused} == {429}
    assert all(1 <= int(each.headers["retry-after"]) <= 60 for each in refused)
    shapes = [each.json() for each in refused]
    assert (shapes[0]["type"], shapes[0]["error"]["type"]) == ("error", "rate_limit_error")
    assert [each["error"]["code"] for each in shapes[1:3]] == ["rate_limit_exceeded"] * 2
    assert shapes[3]["error"]["status"] == "RESOURCE_EXHAUSTED"
    assert shapes[-1]["error"]["type"] == "rate_limit_exceeded"
    assert len(tenancy.upstream.calls) == before
    assert tenancy.client("acme").get(LIST).status_code == 200
    trail = [each for each in tenancy.tenants.audit("small") if each.action.startswith("quota")]
    assert [(each.action, each.detail["requests_per_minute"]) for each in trail] == [("quota.requests", 3)]


def test_every_refusal_is_in_the_audit_trail(tenancy: Tenancy) -> None:
    """The first of each token at once, the others by their number, after a time and when the server ends."""
    tenancy.tenant("small", requests_per_minute=1)
    texts = [tenancy.tokens["small"], tenancy.tenants.create_token("small")[1]]
    callers = [found for text in texts if (found := tenancy.tenants.find(token_hash(text)))]

    async def ask(limits: TenantLimits, *counts: int) -> None:
        for caller, count in zip(callers, counts, strict=True):
            for _ in range(count):
                await limits.check(caller, "GET", LIST)

    async def use(seconds: float) -> None:
        limits = TenantLimits(tenancy.tenants, noted_seconds=seconds)
        await ask(limits, 1, 0)  # is let in, the first time
        await ask(limits, 5, 3)
        if not seconds:
            while limits._noted:
                await asyncio.sleep(0)
        limits.close()
        limits._threads.shutdown(wait=True)

    for seconds in (3600, 0):
        asyncio.run(use(seconds))
    trail = [each for each in tenancy.tenants.audit("small", most=1000) if each.action == "quota.requests"]
    counted = {
        caller.token_id: sum(each.detail["refused"] for each in trail if each.token == caller.token_id)
        for caller in callers
    }
    assert list(counted.values()) == [11, 6]
    kept = [each.detail["refused"] for each in trail if each.token == callers[0].token_id]
    assert kept[-2:] == [4, 1]  # the newest is first


@pytest.mark.slow
def test_a_tenant_that_is_full(tenancy: Tenancy) -> None:
    """403 before anything goes up; looking, exporting and deleting work, and then there is room again."""
    tenancy.tenant("full", most_bytes=1)
    full = tenancy.client("full")
    assert full.post(LIST, json={"id": "s"}).status_code == 201  # there was room
    before = len(tenancy.upstream.calls)
    assert tenancy.tenants.bytes_used("full") > 1  # servers count once in half a minute, and share the figure
    answered = full.post(LIST, json={"id": "t"})
    assert answered.status_code == 403
    assert answered.json()["error"]["type"] == "quota_exceeded"
    for wire, kind in (("anthropic", "permission_error"), ("chat", "invalid_request_error")):
        refused = post(tenancy, full, wire)
        assert (refused.status_code, refused.json()["error"]["type"]) == (403, kind)
        assert "DELETE /api/sessions" in refused.text
    assert len(tenancy.upstream.calls) == before
    assert full.get(f"{LIST}/s/export").status_code == 200
    assert full.delete(f"{LIST}/s").status_code == 204
    trail = [each.action for each in tenancy.tenants.audit("full") if each.action.startswith("quota")]
    assert trail == ["quota.bytes"]


def test_what_counts_as_storing() -> None:
    """Every operation that is noted and sends something, and the paths of models. Not what only reads or deletes."""
    for operation in OPERATIONS:
        expected = bool(operation.noted) and operation.method == "POST"
        assert stores_something(operation.method, operation.path) == expected, operation.name
    assert all(stores_something("POST", path) for path in PATHS.values())
    assert not stores_something("POST", "/api/mcp")
    assert not stores_something("GET", "/v1/models")


# ---------------------------------------------------------------------- the trail


@pytest.mark.slow
def test_what_changes_something_is_in_the_audit_trail(tenancy: Tenancy) -> None:
    """With the token's id and the session; so is an export. What only looks is not, nor what failed."""
    acme = tenancy.client("acme")
    name = tenancy.ask(acme, "Hello").headers["x-sightline-session"]
    assert acme.get(f"{LIST}/{name}").status_code == 200
    assert acme.get(f"{LIST}/{name}/export").status_code == 200
    item = acme.get(f"{LIST}/{name}/items").json()["items"][0]["id"]
    assert acme.post(f"{LIST}/{name}/items/{item}/pin").status_code == 200
    assert acme.post(f"{LIST}/{name}/preview", json={}).status_code == 200
    assert acme.delete(f"{LIST}/nothing").status_code == 404
    assert acme.delete(f"{LIST}/{name}").status_code == 204
    [token] = tenancy.tenants.list_tokens("acme")
    trail = [each for each in tenancy.tenants.audit("acme") if each.token == token.id]
    assert [(each.action, each.subject) for each in reversed(trail)] == [
        ("session.create", "of-acme"), ("session.export", name), ("item.pin", name), ("session.delete", name),
    ]  # fmt: skip


def test_what_is_noted_is_what_changes_something() -> None:
    """Every operation but those that read, and the exports."""
    reads = {each.name for each in OPERATIONS if not each.noted}
    exports = {"exportSession", "exportCall"}
    assert {each.name for each in OPERATIONS if each.method == "GET"} - exports | {"previewCall"} == reads
    assert all(each.noted.count(".") == 1 for each in OPERATIONS if each.noted)
