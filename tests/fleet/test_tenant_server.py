"""A server for tenants as a whole: whom it refuses to start for, and what is left of a tenant that was deleted."""

from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from tenant_servers import Tenancy
from test_tenant_isolation import transcript

from postgres_server import PostgresServer, add_tenants
from sightline import PostgresStores
from sightline.cli.main import app
from sightline.errors import BadInput, SessionNotFound, StoreError, Unwritable
from sightline.fleet.database import Lost
from sightline.fleet.postgres import PostgresStore
from sightline.fleet.tenant_server import create_tenants_app
from sightline.fleet.tenants import Tenants
from sightline.log.stores import Span
from sightline.server.config import Config
from sightline.testing.stores import append, said


@pytest.mark.slow
def test_a_name_that_is_given_again_shows_nothing_of_before(tmp_path: Path, postgres: PostgresServer) -> None:
    """A tenant that is created under the name of a deleted one has other objects and another folder at every server.

    What a server kept on its machine for the deleted one is gone when the next server starts there.
    """
    with Tenancy(tmp_path, postgres) as tenancy:
        root = tmp_path / "machine0"
        tenancy.tenant("acme")
        tenancy.tenant("bolt")
        before = tenancy.client("acme")
        asked = tenancy.ask(before, "Which tenant was it?")
        assert before.get("/api/sessions").json()["total"] == 1
        tenancy.client("bolt").get("/api/sessions")
        [folder] = (root / "tenants").iterdir()
        kept = set(folder.iterdir())
        tenancy.tenants.delete("acme", wait=0)
        tenancy.tenant("acme")
        after = tenancy.client("acme")
        assert after.get("/api/sessions").json()["total"] == 0
        name = asked.headers["x-sightline-session"]
        assert after.get(f"/api/sessions/{name}").status_code == 404
        again = tenancy.ask(after, "Which tenant was it?")
        assert again.headers["x-sightline-session"] == name
        assert after.get(f"/api/sessions/{name}").json()["facts"]["turns"] == 1
        now = set(folder.iterdir())
        assert len(kept) == 2
        assert len(now - kept) == 1
        (other := root / "tenants" / "of another database").mkdir()
        tenancy.start(root)
        assert len(kept - set(folder.iterdir())) == 1  # that of the deleted one
        assert now - kept <= set(folder.iterdir())
        assert other.exists()


def test_a_store_with_the_key_of_another_tenants_session_reads_nothing(postgres: PostgresServer) -> None:
    """Whatever object is mixed up: the key of a session is worth nothing without its tenant."""
    with closing(PostgresStores(postgres.url())) as stores:
        add_tenants(stores, "one", "two")
        one, two = stores.for_tenant("one"), stores.for_tenant("two")
        with closing(one.create("s")) as store:
            append(store, said("a secret"))
            store.keep({"columns": b"a secret"})
            store.keep_texts({"d": "a secret"})
        key = one._key("s")
        stolen = PostgresStore(two.database, "s", key)
        with pytest.raises(SessionNotFound):
            stolen.refresh()
        assert (list(stolen.scan()), stolen.read_many([Span(0, 100)])) == ([], [b""])
        assert (stolen.cache(["columns"]), stolen.texts(["d"]), list(stolen.all_texts())) == ({}, {}, [])
        stolen.keep({"columns": b"forged"})
        with pytest.raises(Unwritable):
            append(stolen, said("forged"))
        with pytest.raises(Unwritable):
            stolen.keep_texts({"d": "forged"})
        with closing(one.open("s")) as store:
            store.refresh()
            assert b"forged" not in b"".join(line.data for line in store.scan())
            assert (store.cache(["columns"]), store.texts(["d"])) == ({"columns": b"a secret"}, {"d": "a secret"})


def test_errors_of_a_tenant_name_no_database(tmp_path: Path) -> None:
    """Neither its address nor what it says, which may name hosts and roles."""
    with closing(PostgresStores(f"postgresql://somebody@/none?host={tmp_path}")) as stores:
        for theirs in (stores.for_tenant("acme", told="this server"), stores):
            with pytest.raises(StoreError) as raised:
                theirs.database.read(b"SELECT 1", wait=False)
            is_shown = theirs is stores
            assert [word in str(raised.value) for word in ("somebody", str(tmp_path))] == [is_shown, is_shown]


def test_errors_of_a_tenant_do_not_repeat_the_database(postgres: PostgresServer) -> None:
    """Not the names of tables, not what a role may do. A command of the operator does."""
    with closing(PostgresStores(postgres.url())) as stores:
        for theirs in (stores.for_tenant("acme", told="this server"), stores):
            with pytest.raises(StoreError) as raised:
                theirs.database.read(theirs.database.sql("SELECT FROM {s}.no_table"))
            assert ("no_table" in str(raised.value)) == (theirs is stores)


def test_a_server_for_tenants_needs_a_database_that_guards_them(tmp_path: Path, postgres: PostgresServer) -> None:
    """Not files, and no role that passes row-level security by. Each error says what to do."""
    with pytest.raises(BadInput, match="--store"):
        create_tenants_app(Config(folder=tmp_path))
    admin = postgres.url().replace("tests@", "admin@")
    with closing(PostgresStores(admin)) as stores, pytest.raises(StoreError, match=r"docs/tenants\.md"):
        create_tenants_app(Config(folder=tmp_path, stores=stores))
    for language, words in (("en", "tenants are in a database"), ("zh", "租户存放在数据库中")):
        done = CliRunner().invoke(app, ["--lang", language, "serve", "--tenants"])
        assert done.exit_code == 1
        assert words in done.output + done.stderr


@pytest.mark.slow
def test_any_server_answers_an_mcp_client(tmp_path: Path, postgres: PostgresServer) -> None:
    """A client begins at one server and goes on at another, whatever name of a connection it shows: none is kept."""
    accept = {"accept": "application/json, text/event-stream"}
    about = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    with Tenancy(tmp_path, postgres, servers=2) as tenancy:
        tenancy.tenant("acme")
        one, two = tenancy.client("acme"), tenancy.client("acme", server=1)
        begun = one.post("/api/mcp", json=begin, headers=accept)
        assert begun.status_code == 200
        assert "mcp-session-id" not in begun.headers
        for shown in ({}, {"mcp-session-id": "0" * 32}):
            answered = two.post("/api/mcp", json=ask, headers={**accept, **shown})
            assert answered.status_code == 200
            assert "search_sessions" in answered.text


def test_a_server_says_who_knows_an_import(tmp_path: Path, postgres: PostgresServer) -> None:
    """Another one than runs it: where it is known, and where its sessions are."""
    with Tenancy(tmp_path, postgres, servers=2) as tenancy:
        tenancy.tenant("acme")
        one, two = tenancy.client("acme"), tenancy.client("acme", server=1)
        made = one.post("/api/imports/upload?name=talk.jsonl", content=transcript("acme", "Hello.")).json()
        unknown = two.get(f"/api/imports/{made['id']}")
        assert unknown.status_code == 404
        assert "known only to the server that runs it" in unknown.json()["error"]["message"]
        while one.get(f"/api/imports/{made['id']}").json()["state"] == "running":
            pass
        assert two.get("/api/sessions").json()["total"] == 1


def test_no_tenant_takes_all_connections(postgres: PostgresServer) -> None:
    """One that uses all that it may have leaves some for the others, and for looking up tokens."""
    with closing(PostgresStores(f"{postgres.url()}&pool=4")) as stores, ExitStack() as held:
        views = [stores.for_tenant("acme", told="this server").database for _ in range(3)]
        for view in views[:2]:
            held.enter_context(view.connection())
        with pytest.raises(Lost, match="that a tenant may have"), views[2].connection():
            pass
        other = stores.for_tenant("bolt", told="this server").database
        assert other.run(b"SELECT 1") == [(1,)]
        assert Tenants(stores.database).find(b"none") is None
        held.close()
        assert views[2].run(b"SELECT 1") == [(1,)]
