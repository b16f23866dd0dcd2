"""Whether a server says that it can work: soon, and never because of something that it cannot reach."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from rest_server import RestServer

from postgres_server import PostgresServer
from sightline import PostgresStores
from sightline.log.stores.session_folder import Folder
from sightline.server.readiness import Readiness


def why_not(stores: PostgresStores | Folder, seconds: float = 60.0) -> str:
    """Why a store is not ready."""
    return asyncio.run(Readiness(stores, seconds).check())


@pytest.fixture
def stores(postgres: PostgresServer) -> Iterator[PostgresStores]:
    """With one connection."""
    with closing(PostgresStores(postgres.url(pool="1"))) as made:
        yield made


def test_a_database_that_works_is_ready_until_its_connections_are_used_up(stores: PostgresStores) -> None:
    """And again when one is free."""
    assert why_not(stores) == ""
    with stores.database.connection():
        assert "couldn't get a connection" in why_not(stores)
    assert why_not(stores) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", ["ALTER ROLE tests SET default_transaction_read_only = on", "REVOKE INSERT ON entry"]
)
def test_a_database_that_cannot_be_written_is_not_ready(change: str) -> None:
    """Because it is a standby now, or the role may not write: requests would not be logged."""
    server = PostgresServer.make()
    try:
        with closing(PostgresStores(server.url("ours", pool="1"))) as stores, server.connect() as admin:
            assert why_not(stores) == ""
            admin.execute("SET search_path TO ours")
            admin.execute(f"{change}{' FROM tests' if 'REVOKE' in change else ''}".encode())
            if "ROLE" in change:  # it is for new connections
                admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tests'")
                why_not(stores)
            assert "read-only" in why_not(stores) or "INSERT" in why_not(stores)
            admin.execute("ALTER ROLE tests RESET default_transaction_read_only; GRANT INSERT ON entry TO tests")
            while why_not(stores):
                pass  # the pool may have made a connection before that
    finally:
        server.delete()


def test_a_newer_schema_is_not_ready(stores: PostgresStores, postgres: PostgresServer) -> None:
    """For a server that was started after it was brought forward. One that runs goes on, until it is replaced."""
    assert why_not(stores) == ""
    with postgres.connect() as admin:
        admin.execute(f"INSERT INTO {stores.database.address.schema}.migration VALUES (999)".encode())
    assert why_not(stores) == ""
    schema = stores.database.address.schema
    with closing(PostgresStores(postgres.url(schema))) as later:
        assert "install the newest version" in why_not(later)


def test_a_database_that_refuses_is_not_ready(caplog: pytest.LogCaptureFixture) -> None:
    """The reason is logged once, not at each probe, and without the password."""

    async def ask() -> list[bool]:
        readiness = Readiness(stores)
        return [bool(await readiness.check()) for _ in range(3)]

    with closing(PostgresStores("postgresql://me:secret@127.0.0.1:1/none")) as stores:
        assert asyncio.run(ask()) == [True] * 3
    [told] = [each.getMessage() for each in caplog.records if each.name == "sightline.server"]
    assert "not ready" in told
    assert "secret" not in told


def test_a_database_that_says_nothing_is_asked_once() -> None:
    """However many probes come, and each is answered all the same."""
    came = 0
    with socket.create_server(("127.0.0.1", 0)) as silent:

        def accept() -> None:
            nonlocal came
            with suppress(OSError):  # it is shut down
                while True:
                    held.append(silent.accept()[0])
                    came += 1
                    arrived.set()

        held: list[socket.socket] = []
        arrived = threading.Event()
        threading.Thread(target=accept, daemon=True).start()
        url = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/none?sslmode=disable"

        async def ask() -> list[str]:
            readiness = Readiness(PostgresStores(url), 0.2)
            return [*await asyncio.gather(*(readiness.check() for _ in range(20))), await readiness.check()]

        assert set(asyncio.run(ask())) == {"no answer in 0.2 seconds"}
        assert arrived.wait(30)
        assert came == 1
        silent.shutdown(socket.SHUT_RDWR)  # first: who is cut off asks whether somebody is there
        for each in held:
            each.close()


def test_a_folder_is_ready_if_it_can_be_listed(tmp_path: Path) -> None:
    """Also before there is one."""
    folder = Folder(tmp_path, tmp_path / "root")
    assert why_not(folder) == ""
    folder.path.parent.mkdir(parents=True)
    folder.path.write_text("no folder")
    assert "Not a directory" in why_not(folder)


def test_a_server_says_that_it_is_not_ready(tmp_path: Path) -> None:
    """Without a token, and without a word about the place; it is alive all the same."""
    with RestServer(tmp_path) as server:
        assert server.stranger.get("/readyz").status_code == 200
        stores = server.sessions.stores
        assert isinstance(stores, Folder)
        stores.path.parent.mkdir(parents=True, exist_ok=True)
        stores.path.write_text("no folder")
        while (told := server.stranger.get("/readyz")).status_code == 200:
            pass  # an answer is given again for a moment
        assert (told.status_code, told.json()["error"]["type"]) == (503, "store_failed")
        assert str(stores.path) not in told.text
        assert server.stranger.get("/healthz").status_code == 200
