"""The tables divided by a hash of the session, as docs/scaling.md says: every promise holds, one part is touched."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from postgres_server import PostgresServer
from sightline.fleet.postgres import PostgresStores
from sightline.log.stores import Stores
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import WordCounter
from sightline.testing.stores import STORE_CHECKS

SQL = (Path(__file__).parents[2] / "examples" / "postgres" / "partition.sql").read_text(encoding="utf-8")
PARTS = 8
DIVIDED = ("entry", "content", "derived")


def schema_of(url: str) -> str:
    """The schema that an address names."""
    return url.partition("schema=")[2].partition("&")[0]


def divide(postgres: PostgresServer, url: str) -> None:
    """Run the file, with another schema and fewer parts."""
    assert SQL.count("'sightline'") == 1
    assert SQL.count(":= 64;") == 1
    with postgres.connect() as admin:
        admin.execute(SQL.replace("'sightline'", f"'{schema_of(url)}'").replace(":= 64;", f":= {PARTS};").encode())


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """A schema of its own, with tables."""
    url = postgres.url()
    with closing(PostgresStores(url)) as stores:
        assert stores.sessions() == []
    return url


@pytest.fixture
def divided(postgres: PostgresServer, url: str) -> Iterator[PostgresStores]:
    """Stores over divided tables."""
    divide(postgres, url)
    with closing(PostgresStores(url)) as stores:
        yield stores


def talk(stores: Stores, name: str) -> None:
    """Write everything that a session writes, read it anew, and search in it."""
    with Session.new(stores=stores, session_id=name, token_counter=WordCounter()) as session:
        for number in range(40):
            session.user(f"question {number} about the valve of tank {number * 7}")
            session.compose(Budget(window=2_000))
            session.reply(f"the valve of tank {number * 7} is open " * 5)
        session.items.search("why does the valve fail")
    with closing(stores.open(name)) as store:
        store.refresh()
        store.keep_texts({"digest": "the text of a window"})
        store.keep({"part": b"derived"})
        store.keep({"part": b""})
    with Session.resume(name, stores=stores, token_counter=WordCounter()) as session:
        session.user("And now?")
        session.compose(Budget(window=2_000))


LONG = ("every_payload_is_as_in_memory",)
CHECKS = [
    pytest.param(check, id=check.__name__, marks=[pytest.mark.soak] if check.__name__ in LONG else [])
    for check in STORE_CHECKS
]


@pytest.mark.parametrize("check", CHECKS)
def test_divided_tables_keep_every_promise(check: Callable[[Stores], None], divided: PostgresStores) -> None:
    """Each check of the suite passes."""
    check(divided)


def work_in_parts(postgres: PostgresServer, schema: str) -> dict[str, int]:
    """How often each table was looked at or changed, once all connections have told what they counted, at their end."""
    busy = "SELECT FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND position(%s IN query) > 0"
    work = "coalesce(seq_scan, 0) + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del"
    with postgres.connect() as admin:
        while admin.execute(busy, (schema,)).fetchall():
            admin.execute("SELECT pg_sleep(0.01)")
        rows = admin.execute(
            f"SELECT relname, {work} FROM pg_stat_user_tables WHERE schemaname = %s".encode(), (schema,)
        ).fetchall()
    return {str(name): int(str(count)) for name, count in rows}


def test_a_session_touches_one_part_of_each_table(postgres: PostgresServer, divided: PostgresStores, url: str) -> None:
    """Writing, reading, searching and deleting: the database looks into no other part."""
    before = work_in_parts(postgres, schema_of(url))
    talk(divided, "one")
    divided.containing(["one"], b"valve")
    divided.delete("one")
    divided.close()
    after = work_in_parts(postgres, schema_of(url))
    for table in DIVIDED:
        parts = [after[name] - before[name] for name in (f"{table}_{number}" for number in range(PARTS))]
        assert sum(count > 0 for count in parts) == 1, (table, parts)


@pytest.mark.slow
def test_rows_rights_and_policies_come_along(postgres: PostgresServer, url: str) -> None:
    """Tables with sessions in them are divided without losing a byte; a second run changes nothing."""
    with closing(PostgresStores(url)) as stores:
        for number in range(3):
            talk(stores, f"s{number}")
        before = {name: list(stores.open(name).all_texts()) for name in stores.sessions()}
        lines = {name: _lines(stores, name) for name in before}
    facts = """SELECT (
            SELECT array_agg((tablename, policyname, cmd, qual, with_check)::text ORDER BY tablename, policyname)
            FROM pg_policies WHERE schemaname = %s),
        (SELECT array_agg((relname, relrowsecurity, relforcerowsecurity, relacl)::text ORDER BY relname) FROM pg_class
            WHERE relnamespace = %s::regnamespace AND relname = ANY(%s))"""
    values = (schema_of(url), schema_of(url), list(DIVIDED))
    with postgres.connect() as admin:
        admin.execute("DO $$ BEGIN CREATE ROLE reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
        admin.execute(f"GRANT SELECT ON {schema_of(url)}.entry TO reader".encode())
        admin.execute(f"ALTER TABLE {schema_of(url)}.entry ENABLE ROW LEVEL SECURITY".encode())
        admin.execute(f"CREATE POLICY few ON {schema_of(url)}.entry FOR SELECT TO reader USING (seq < 9)".encode())
        told = admin.execute(facts, values).fetchall()
    for _ in range(2):
        divide(postgres, url)
        with postgres.connect() as admin:
            assert admin.execute(facts, values).fetchall() == told
    with closing(PostgresStores(url)) as stores:
        assert {name: list(stores.open(name).all_texts()) for name in stores.sessions()} == before
        assert {name: _lines(stores, name) for name in before} == lines
        talk(stores, "new")


def _lines(stores: PostgresStores, name: str) -> list[bytes]:
    with closing(stores.open(name)) as store:
        store.refresh()
        return [line.data for line in store.raw_lines()]
