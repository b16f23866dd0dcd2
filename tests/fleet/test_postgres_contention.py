"""Writers that are in each other's way, and a database that becomes a standby: what is done again, and what is not."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from postgres_server import PostgresServer
from sightline import PostgresStores, Session
from sightline.errors import StoreError
from sightline.fleet.tenants import Tenants


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server whose roles a test may change."""
    server = PostgresServer.make()
    try:
        yield server
    finally:
        server.delete()


def refuse(admin: "psycopg.Connection[tuple[object, ...]]", schema: str, table: str, code: str, times: int) -> None:
    """Have the next changes of a table fail with this code. A sequence counts them, because it is not rolled back."""
    admin.execute(
        f"CREATE SEQUENCE {schema}.times_{table}; GRANT USAGE ON {schema}.times_{table} TO tests;"
        f"CREATE FUNCTION {schema}.refuse_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF nextval('{schema}.times_{table}') <= {times} THEN "
        f"RAISE EXCEPTION 'others' USING ERRCODE = '{code}'; END IF; RETURN NULL; END $$;"
        f"CREATE TRIGGER refuse BEFORE INSERT ON {schema}.{table} "
        f"EXECUTE FUNCTION {schema}.refuse_{table}()".encode()
    )


@pytest.mark.parametrize("code", ["40001", "40P01"])
def test_what_gave_way_to_others_is_done_again(postgres: PostgresServer, code: str) -> None:
    """A serialization failure and a deadlock: nothing was done, so the same is written a moment later, once."""
    schema = f"contention_{code.lower()}"
    with closing(PostgresStores(postgres.url(schema))) as stores, postgres.connect() as admin:
        with Session.new("/w", stores=stores, session_id="s") as session:
            session.user("one")
            for table in ("entry", "content", "tenant"):
                refuse(admin, schema, table, code, 2)
            session.user("two")
            stores.open("s").keep_texts({"digest": "text"})
            assert [session.items.text(item.id) for item in session.items] == ["one", "two"]
        assert dict(stores.open("s").all_texts())["digest"] == "text"
        assert Tenants(stores.database).create("acme").name == "acme"


def test_a_change_that_always_gives_way_ends(postgres: PostgresServer) -> None:
    """With an error, and not never."""
    with closing(PostgresStores(postgres.url("always"))) as stores, postgres.connect() as admin:
        stores.sessions()
        refuse(admin, "always", "tenant", "40P01", 1_000_000)
        with pytest.raises(StoreError, match="others"):
            Tenants(stores.database).create("acme")


@pytest.mark.slow
def test_the_level_of_isolation_is_ours(own_server: PostgresServer) -> None:
    """Whatever the role has: at another level writers of one session would fail instead of waiting."""
    with own_server.connect() as admin:
        admin.execute("ALTER ROLE tests SET default_transaction_isolation = 'serializable'")
    with closing(PostgresStores(own_server.url())) as stores:
        assert stores.database.read(b"SHOW transaction_isolation") == [("read committed",)]


def test_a_connection_to_what_is_a_standby_now_is_replaced(postgres: PostgresServer) -> None:
    """The one that comes after it may be with the database that can be written, and the append is done there."""
    with (
        closing(PostgresStores(postgres.url(pool="1"))) as stores,
        Session.new("/w", stores=stores, session_id="s") as session,
    ):
        session.user("one")
        with stores.database.connection() as connection:
            connection.execute("SET default_transaction_read_only = on")
        session.user("two")
        assert [session.items.text(item.id) for item in session.items] == ["one", "two"]
