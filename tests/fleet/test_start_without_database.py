"""A server that is started while its database is away: it passes requests on, is not ready, and goes on by itself."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from serve_process import ServeProcess
from upstream import Upstream
from upstream_script import answer

from postgres_server import PostgresServer
from sightline import PostgresStores
from sightline.errors import StoreError
from sightline.fleet.database import Database, Unreachable
from sightline.fleet.tenants import Tenants

pytestmark = pytest.mark.slow

BODY = {"model": "gpt-5.2", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A database that a test may stop."""
    made = PostgresServer.make()
    try:
        yield made
    finally:
        made.delete()


def until(url: str, status: int) -> str:
    """Ask until the server says so, and return what it says. A test that waits in vain is ended by its time limit."""
    while (told := httpx2.get(f"{url}/readyz", trust_env=False, timeout=30)).status_code != status:
        time.sleep(0.02)
    return told.text


def ask(url: str, **headers: str) -> httpx2.Response:
    """Ask the model through a server."""
    headers = {"authorization": "Bearer any", **headers}
    return httpx2.post(f"{url}/v1/chat/completions", json=BODY, headers=headers, trust_env=False, timeout=90)


def test_a_server_starts_before_its_database(tmp_path: Path, server: PostgresServer) -> None:
    """It answers, without a log, and says once why it is not ready. When the database comes, it logs."""
    url = server.url("ours")
    server.stop()
    with (
        Upstream(lambda _: answer("Understood.")) as upstream,
        ServeProcess(tmp_path, upstream, "--store", url) as serving,
    ):
        assert "ready" not in until(serving.url, 503)
        told = ask(serving.url)
        assert (told.status_code, "x-sightline-session" in told.headers) == (200, False)
        server.start()
        until(serving.url, 200)
        while (told := ask(serving.url)).headers.get("x-sightline-session") is None:
            time.sleep(0.1)  # what came meanwhile is logged first
        assert PostgresStores(url).sessions() == [told.headers["x-sightline-session"]]
    assert len([line for line in serving.before if "not ready, waits for the database" in line]) == 1


@pytest.mark.parametrize("role", ["tests", "admin"])
def test_a_server_for_tenants_checks_its_role_when_it_reaches_the_database(
    tmp_path: Path, server: PostgresServer, role: str
) -> None:
    """One that row-level security does not hold for stays not ready, says why in its log, and refuses everything."""
    url = server.url("ours")
    stores = PostgresStores(url)
    tenants = Tenants(stores.database)
    tenants.create("acme")
    shown = {"x-sightline-token": tenants.create_token("acme")[1]}
    stores.close()
    server.stop()
    with (
        Upstream(lambda _: answer("Understood.")) as upstream,
        ServeProcess(tmp_path, upstream, "--tenants", "--store", url.replace("tests@", f"{role}@")) as serving,
    ):
        until(serving.url, 503)
        assert ask(serving.url, **shown).status_code == 503
        server.start()
        if role == "tests":
            until(serving.url, 200)
            assert ask(serving.url, **shown).status_code == 200
            return
        while not any("row-level security" in line for line in serving.printed):
            until(serving.url, 503)
        assert ask(serving.url, **shown).status_code == 503


def test_what_the_database_refuses_is_not_waited_for(server: PostgresServer) -> None:
    """A role, a password or a database that is wrong is told at once; one that is away, or has no primary, is not."""
    refused = [server.url().replace("tests@", "nobody@"), server.url().replace("/postgres?", "/none?")]
    for url in refused:
        with pytest.raises(StoreError, match="cannot reach") as told:
            Database(url).connect()
        assert not isinstance(told.value, Unreachable)
    with server.connect() as admin:
        admin.execute("ALTER ROLE tests SET default_transaction_read_only = on")
    away = [server.url(target_session_attrs="read-write"), "postgresql://me@127.0.0.1:1/none"]
    for url in away:
        with pytest.raises(Unreachable, match="cannot reach"):
            Database(url).connect()
