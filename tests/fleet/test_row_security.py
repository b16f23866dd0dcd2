"""Row-level security: what a statement of one tenant sees and changes, if it forgets to say which tenant it is for."""

import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from random import Random

import psycopg
import pytest

from postgres_server import PostgresServer, add_tenants
from sightline import BadInput, PostgresStores, StoreError
from sightline.fleet import postgres as statements
from sightline.fleet import removal
from sightline.fleet.code_store import DatabaseCodeStore
from sightline.fleet.database import Database, Failed
from sightline.fleet.schema import MIGRATIONS, migrate
from sightline.fleet.tenants import Limits, Tenants, token_hash
from sightline.testing import Ticking
from sightline.testing.stores import append, said, uuids

DATA = ("session", "entry", "content", "derived", "code")
TABLES = (*DATA, "pace", "tenant", "token", "audit")


@pytest.fixture(scope="module")
def stores(postgres: PostgresServer) -> Iterator[PostgresStores]:
    """Two tenants with rows in every table, through a pool of one connection; for tests that change nothing."""
    with closing(filled(postgres)) as made:
        yield made


@pytest.fixture
def own(postgres: PostgresServer) -> Iterator[PostgresStores]:
    """The same, for one test."""
    with closing(filled(postgres)) as made:
        yield made


def filled(postgres: PostgresServer) -> PostgresStores:
    """Stores of two tenants."""
    made = PostgresStores(postgres.url() + "&pool=1")
    for name in ("one", "two"):
        fill(made, name)
    return made


def fill(stores: PostgresStores, name: str) -> None:
    """Make a tenant that has something in every table."""
    tenants, theirs = Tenants(stores.database), stores.for_tenant(name)
    tenants.create(name, limits=Limits(60))
    _, text = tenants.create_token(name)
    caller = tenants.find(token_hash(text))
    assert caller is not None
    tenants.admit(caller)
    with closing(theirs.create("s")) as store:
        append(store, said(f"of {name}"))
        store.keep({"columns": b"x"})
        store.keep_texts({"d": f"text of {name}"})
    DatabaseCodeStore(theirs.database, clock=Ticking()).store("code_a", f"print({name!r})")


def owners(database: Database, table: str) -> set[str]:
    """Whose rows a statement sees that has no WHERE."""
    return {tenant for (tenant,) in database.run(database.sql(f"SELECT tenant FROM {{s}}.{table}"))}


# ---------------------------------------------------------------------- what is seen


def test_every_table_with_tenants_is_guarded(stores: PostgresStores, postgres: PostgresServer) -> None:
    """Also for the owner of the tables; the list of them in this file is whole."""
    schema = stores.database.address.schema
    with postgres.connect() as admin:
        found = admin.execute(
            "SELECT relname, relrowsecurity AND relforcerowsecurity FROM pg_class"
            " JOIN pg_attribute ON attrelid = pg_class.oid"
            " WHERE relnamespace = %s::regnamespace AND relkind = 'r' AND attname = 'tenant'",
            (schema,),
        ).fetchall()
        assert dict(found) == dict.fromkeys(TABLES, True)
        for table in TABLES:  # so that the tests below compare with something
            rows = admin.execute(f"SELECT DISTINCT tenant FROM {schema}.{table}".encode()).fetchall()
            assert {("one",), ("two",)} <= set(rows), table


@pytest.mark.parametrize("table", TABLES)
def test_a_statement_without_where_sees_one_tenant(stores: PostgresStores, table: str) -> None:
    """On the one connection of the pool, which was the other tenant's a moment ago; also when a plan is used again."""
    one, two = stores.for_tenant("one").database, stores.for_tenant("two").database
    for _ in range(8):  # PostgreSQL keeps a plan after ten times
        assert owners(one, table) == {"one"}
        assert owners(two, table) == {"two"}
    assert owners(stores.for_tenant("three").database, table) == set()


@pytest.mark.parametrize("table", DATA)
def test_a_change_without_where_changes_one_tenant(own: PostgresStores, table: str) -> None:
    """An UPDATE and a DELETE of everything leave other tenants' rows."""
    one, two = own.for_tenant("one").database, own.for_tenant("two").database
    one.run(one.sql(f"UPDATE {{s}}.{table} SET tenant = tenant"))
    one.run(one.sql(f"DELETE FROM {{s}}.{table}"))
    assert (owners(one, table), owners(two, table)) == (set(), {"two"})


@pytest.mark.parametrize("table", [*DATA, "pace", "audit"])
def test_nobody_writes_rows_of_another(stores: PostgresStores, table: str) -> None:
    """Neither a new row nor one of their own that is given away."""
    one = stores.for_tenant("one").database
    columns = {
        "session": "(tenant, name) VALUES ('two', 'x')",
        "entry": "(tenant, session, seq, data) VALUES ('two', 1, 99, 'x')",
        "content": "(tenant, session, digest, data) VALUES ('two', 1, 'x', 'x')",
        "derived": "(tenant, session, name, data) VALUES ('two', 1, 'x', 'x')",
        "code": "(tenant, code, version, number, session, facts, data) VALUES ('two', 'x', 1, 1, 's', 'x', 'x')",
        "pace": "(tenant) VALUES ('three')",
        "audit": "(tenant, token, action, subject, detail) VALUES ('two', '', '', '', '{{}}')",
    }
    with pytest.raises(Failed, match="row-level security"):
        one.run(one.sql(f"INSERT INTO {{s}}.{table} {columns[table]}"))
    if table == "audit":
        return  # of which nothing can be updated, see below
    with pytest.raises(Failed, match="row-level security"):
        one.run(one.sql(f"UPDATE {{s}}.{table} SET tenant = 'two'"))


def test_who_says_no_tenant_sees_nothing(stores: PostgresStores) -> None:
    """A connection that was not set up by us, such as one of another program."""
    with psycopg.connect(stores.database.address.conninfo) as connection:
        for table in TABLES:
            statement = stores.database.sql(f"SELECT count(*) FROM {{s}}.{table}")
            assert connection.execute(statement).fetchall() == [(0,)], table


def test_the_operator_sees_no_sessions(stores: PostgresStores) -> None:
    """But all tenants, tokens, and the audit trail."""
    operator = stores.database.for_operator()
    assert [owners(operator, table) for table in DATA] == [set()] * len(DATA)
    assert all({"one", "two"} <= owners(operator, table) for table in ("tenant", "token", "audit", "pace"))


def test_a_tenant_changes_nothing_of_the_administration(stores: PostgresStores) -> None:
    """Its own limits and tokens neither. What was noted stays as it is, for everybody."""
    one, operator = stores.for_tenant("one").database, stores.database.for_operator()
    for table, change in (("tenant", "requests_per_minute = 0"), ("token", "revoked = NULL")):
        assert one.run(one.sql(f"UPDATE {{s}}.{table} SET {change} RETURNING tenant")) == []
        assert one.run(one.sql(f"DELETE FROM {{s}}.{table} RETURNING tenant")) == []
    with pytest.raises(Failed, match="row-level security"):
        one.run(one.sql("INSERT INTO {s}.token (token, tenant, name, hash) VALUES ('t', 'one', '', 'x')"))
    for database in (one, operator):
        assert database.run(database.sql("UPDATE {s}.audit SET action = 'nothing' RETURNING number")) == []
        assert database.run(database.sql("DELETE FROM {s}.audit RETURNING number")) == []


# ---------------------------------------------------------------------- connections that go from hand to hand


def test_a_transaction_that_fails_leaves_no_other_tenant(stores: PostgresStores) -> None:
    """PostgreSQL takes settings back when a transaction fails: the connection's tenant is not set in one."""
    one, two = stores.for_tenant("one").database, stores.for_tenant("two").database
    for database, name in ((one, "one"), (two, "two"), (one, "one")):
        with pytest.raises(Failed), database.connection() as connection, connection.transaction():
            connection.execute("SELECT 1 / 0")
        with suppress(Failed):
            database.run(b"no SQL")
        assert owners(database, "entry") == {name}


def test_threads_of_many_tenants_share_a_pool(postgres: PostgresServer) -> None:
    """Whatever connection a thread gets, it sees its own tenant's log and nothing else, also after connections died."""
    with closing(PostgresStores(postgres.url() + "&pool=2")) as stores, postgres.connect() as admin:
        add_tenants(stores, *(f"t{number}" for number in range(6)))
        errors: list[str] = []

        def work(name: str) -> None:
            random, mine = Random(name), stores.for_tenant(name)
            with closing(mine.create("s")) as store:
                written = [
                    each.entry.uuid for _ in range(5) for each in append(store, said(), head=store.tips.heads.get(""))
                ]
                for _ in range(10):
                    if random.random() < 0.1:
                        admin.execute(
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                            "WHERE usename = 'tests' AND query LIKE %s",
                            (f"%{stores.database.address.schema}%",),
                        )
                    seen = stores.for_tenant(name).database.read(
                        mine.database.sql("SELECT DISTINCT tenant FROM {s}.entry")
                    )
                    if seen != [(name,)] or uuids(store) != written:
                        errors.append(f"{name} saw {seen}")

        threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert sorted(Tenants(stores.database).bytes_used(f"t{n}") > 0 for n in range(6)) == [True] * 6


def test_a_name_that_no_database_takes_is_refused(stores: PostgresStores) -> None:
    """Before a connection is taken: the pool has its one connection afterwards."""
    for name in ("", "a\0", "\ud800"):
        with pytest.raises(BadInput, match="a tenant has a name"):
            stores.for_tenant(name)
    assert stores.for_tenant("one").sessions() == ["s"]


def test_views_share_connections_and_do_not_close_them(own: PostgresStores) -> None:
    """A tenant's stores are closed when nobody uses them; the others go on. Closing the first closes all."""
    one, two = own.for_tenant("one"), own.for_tenant("two")
    one.close()
    assert (one.sessions(), two.sessions()) == (["s"], ["s"])
    assert (one.where, one.has("s"), own.where) == (f"{own.where}&tenant=one", True, own.where)
    own.close()
    with pytest.raises(StoreError, match="closed"):
        two.sessions()


# ---------------------------------------------------------------------- roles


def test_a_role_that_passes_security_by_is_told(postgres: PostgresServer) -> None:
    """A superuser, and an ordinary role if the security of one table was switched off."""
    url = postgres.url()
    with closing(PostgresStores(url)) as stores:
        tenants, schema = Tenants(stores.database), stores.database.address.schema
        tenants.check_guarded()
        admins = Tenants(Database(url.replace("tests@", "admin@")))
        with pytest.raises(StoreError, match="'admin' passes row-level security by"):
            admins.check_guarded()
        with postgres.connect() as admin:
            admin.execute(f"ALTER TABLE {schema}.derived NO FORCE ROW LEVEL SECURITY".encode())
        with pytest.raises(StoreError, match="'tests' passes row-level security by"):
            tenants.check_guarded()


# ---------------------------------------------------------------------- plans


def test_keys_are_used_as_before(stores: PostgresStores) -> None:
    """The policy is compared once in a statement, not for each row, and rows are found by the same keys."""
    database = stores.for_tenant("one").database
    key = ("one", 1)
    asked = {
        statements._APPEND: (2, 9, b"x", *key, 1, "one", 1, [b"x"]),
        statements._READ: (*key, [1, 2]),
        statements._SCAN: (*key, 0, 9, 9, 9),
        statements._CACHE: (*key, ["a"]),
        statements._KEEP: (*key, *key, ["a"], ["b"], [b"x"]),
        statements._TEXTS: (*key, ["a"]),
        statements._HAS: ("one", "s", None, "one", None),
        removal._NEXT: ("one",),
        removal._LINES: (*key, 0, 9),
    }
    with database.connection() as connection, connection.transaction():
        for setting in ("enable_seqscan", "enable_bitmapscan"):  # the tables are too small for a choice by cost
            connection.execute(f"SET LOCAL {setting} = off".encode())
        for sql, values in asked.items():
            rows = connection.execute(b"EXPLAIN (COSTS off) " + database.sql(sql), values).fetchall()
            plan = "\n".join(line for (line,) in rows)
            assert "One-Time Filter: (current_setting('sightline.tenant'" in plan, plan
            assert "Seq Scan" not in plan, plan
            assert "Filter: (tenant" not in plan, plan
            if "entry_pkey" in plan or "derived_pkey on" in plan or "content_pkey" in plan:
                assert "(session = " in plan.partition("Index Cond")[2], plan


# ---------------------------------------------------------------------- the migration


def test_a_database_of_the_version_before_is_brought_forward(postgres: PostgresServer) -> None:
    """Its sessions stay, their owners become tenants, and what they use is counted."""
    url = postgres.url()
    older = Database(url)
    with closing(older.connect()) as connection:
        migrate(connection, older.address.schema, MIGRATIONS[:1])
        connection.execute(
            older.sql(
                "INSERT INTO {s}.session (tenant, name, lines, bytes) VALUES ('acme', 's', 1, 7), ('other', 't', 1, 5);"
                "INSERT INTO {s}.entry SELECT tenant, session, 1, '{{}}' FROM {s}.session;"
                "INSERT INTO {s}.content (tenant, session, digest, data)"
                "SELECT tenant, session, 'd', 'text' FROM {s}.session"
            )
        )
    with closing(PostgresStores(url)) as stores:
        tenants = Tenants(stores.database)
        assert [tenant.name for tenant in tenants.list()] == ["acme", "default", "other"]
        assert [tenants.bytes_used(name) for name in ("acme", "default", "other")] == [11, 0, 9]
        acme = stores.for_tenant("acme")
        assert (acme.sessions(), [line.data for line in acme.open("s").raw_lines()]) == (["s"], [])
        assert acme.open("s").texts(["d"]) == {"d": "text"}
        assert acme.database.run(acme.database.sql("SELECT stored > now() - interval '1 hour' FROM {s}.session")) == [
            (True,)
        ]
        append(acme.create("new"), said())
        with closing(stores.database.connect()) as connection, pytest.raises(StoreError, match="knows 1; nothing was"):
            migrate(connection, stores.database.address.schema, MIGRATIONS[:1])
