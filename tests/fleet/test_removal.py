"""Sessions and tenants that are deleted: in pieces, by whoever is there, and after the days that a tenant has."""

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from tenant_place import TABLES, Place

from postgres_server import PostgresServer, make_old
from sightline import BadInput, PostgresStores, SessionNotFound, StoreError, Unwritable
from sightline.fleet import removal, tenant_statements
from sightline.fleet.code_store import DatabaseCodeStore
from sightline.fleet.database import Bound, Database, Rows, Values
from sightline.fleet.postgres import BEGIN, PostgresStore, begin_values
from sightline.testing import Ticking
from sightline.testing.stores import append, said, uuids


@pytest.fixture
def at(postgres: PostgresServer) -> Iterator[Place]:
    """A schema of its own."""
    with closing(Place(postgres)) as place:
        place.stores.sessions()  # which makes the tables
        yield place


# ---------------------------------------------------------------------- deletion


def test_a_tenant_is_deleted_with_all_it_has(at: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing of others. The audit trail says what was deleted, and stays."""
    monkeypatch.setattr(removal, "_AT_ONCE", 2)
    monkeypatch.setattr(removal, "_PIECE", 3)
    for name in ("acme", "other"):
        caller = at.caller(name, requests_per_minute=5)
        at.tenants.admit(caller)
        at.fill(name, sessions=5, lines=10)
    before = at.rows("other")
    assert at.tenants.delete("acme", wait=0) == (5, 1)
    assert at.rows("acme") == dict.fromkeys(TABLES, 0)
    assert at.rows("other") == before
    trail = at.tenants.audit("acme")
    assert [each.action for each in trail] == ["tenant.delete", "tenant.end", "token.create", "tenant.create"]
    assert trail[0].detail == {"sessions": 5, "codes": 1}
    at.tenants.create("acme")
    assert (at.stores.for_tenant("acme").sessions(), at.tenants.list_tokens("acme")) == ([], [])


def test_a_deletion_that_was_stopped_goes_on(at: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Meanwhile its tokens do not work, nothing of it is seen, and it is listed as ended."""
    monkeypatch.setattr(removal, "_PIECE", 3)
    caller = at.caller()
    stores = at.fill("acme", sessions=3, lines=10)
    real, left = removal._delete_rows, iter(range(3))

    def stopped(*given: Any) -> None:
        real(*given)
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(removal, "_delete_rows", stopped)
    with pytest.raises(KeyboardInterrupt):
        at.tenants.delete("acme", wait=0)
    monkeypatch.setattr(removal, "_delete_rows", real)
    assert (stores.sessions(), at.tenants.list_tokens("acme")) == ([], [])
    assert [tenant.name for tenant in at.tenants.list() if tenant.ended] == ["acme"]
    assert at.rows("acme")["entry"] > 0
    with pytest.raises(BadInput, match="being deleted"):
        at.tenants.create("acme")
    with pytest.raises(BadInput, match="no tenant"):
        at.tenants.create_token(caller.tenant)
    at.tenants.delete("acme", wait=0)
    assert at.rows("acme") == dict.fromkeys(TABLES, 0)


def test_the_tenant_of_servers_without_tenants_stays(at: Place) -> None:
    """Else nobody who names no tenant could write any more. The error says why, and nothing is changed."""
    at.fill("default")
    with pytest.raises(BadInput, match="'default' is not deleted: commands and servers"):
        at.tenants.delete("default", wait=0)
    assert at.stores.sessions() == ["s0"]
    assert at.tenants.audit() == []


def test_a_slow_transaction_leaves_nothing_behind(at: Place) -> None:
    """One that began before the deletion and ends long after it: the database has the deletion wait for it."""
    at.tenants.create("acme")
    stores, removed = at.fill("acme"), []
    with closing(stores.database.connect()) as slow:
        with slow.transaction():
            begun = slow.execute(stores.database.sql(BEGIN), begin_values(stores.database, "late")).fetchall()
            assert begun != [(None,)]
            deleter = threading.Thread(target=lambda: removed.append(at.tenants.delete("acme", wait=0)))
            deleter.start()
            waits = (
                "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE FROM %%.tenant%%'"
            )
            while deleter.is_alive() and not at.admin(waits):
                pass
            assert deleter.is_alive()
        deleter.join()
    assert removed == [(2, 1)]
    assert at.rows("acme") == dict.fromkeys(TABLES, 0)


def test_nothing_slips_into_a_later_tenant_of_the_same_name(at: Place) -> None:
    """The database compares the time at which the tenant was created, after everything else."""
    since = at.tenants.create("acme").created
    at.tenants.delete("acme", wait=0)
    at.tenants.create("acme")
    acme = at.stores.for_tenant("acme").database
    for late in (
        "INSERT INTO {s}.session (tenant, since, name) VALUES (%s, %s, 's')",
        "INSERT INTO {s}.code (tenant, since, code, version, number, session, facts, data)"
        " VALUES (%s, %s, 'code_a', 1, 1, 's', '', '')",
    ):
        with pytest.raises(Bound, match="'acme' was deleted"):
            acme.run(acme.sql(late), ("acme", since))


def test_a_name_that_no_tenant_has_is_refused(at: Place) -> None:
    """In the address of a database: by whoever reads or writes there, with the name, and nothing is written."""
    for _ in range(2):  # it is asked again each time
        with closing(PostgresStores(f"{at.url}&tenant=typo")) as typo:
            for act in (typo.sessions, lambda: typo.has("s"), lambda: typo.create("s")):
                with pytest.raises(StoreError, match="no tenant 'typo'; `sightline tenant list`"):
                    act()
    with pytest.raises(Unwritable, match="'typo' was deleted or never created"):
        append(at.stores.for_tenant("typo").create("s"), said())
    assert at.rows("typo") == dict.fromkeys(TABLES, 0)


def test_a_long_session_is_deleted_in_pieces(at: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """No transaction deletes more lines than a piece has; nobody sees a part of it, and its id is free at once."""
    monkeypatch.setattr(removal, "_PIECE", 10)
    stores, database = at.fill("default", lines=35), at.stores.database
    with closing(stores.open("s0")) as store:
        store.keep_texts({str(number): "x" for number in range(25)})
    database.run(database.sql(removal._MARK_ONE), ("default", "s0"))
    assert (stores.sessions(), stores.has("s0"), at.tenants.bytes_used("default")) == ([], False, len("x = 1\n"))
    counts = []
    while removal._delete_piece(database):
        counts.append((at.rows("default")["entry"], at.rows("default")["content"]))
        if len(counts) == 2:
            with closing(stores.create("s0")) as new:  # beside what is left of the old one
                append(new, said())
    assert counts == [(25, 27), (15, 27), (6, 27), (1, 17), (1, 7), (1, 0)]
    assert at.rows("default") == dict.fromkeys(TABLES, 1) | {"content": 0, "derived": 0, "token": 0}
    assert len(uuids(new)) == 1


def test_who_has_a_deleted_session_open_is_told(at: Place) -> None:
    """Also while its rows are still being deleted: nothing is added to them."""
    stores = at.fill("default")
    with closing(stores.open("s0")) as store:
        store.refresh()
        at.admin(removal._MARK_ONE, "default", "s0")
        with pytest.raises(Unwritable, match="was deleted"):
            append(store, said(), head=store.tips.heads.get(""))
        with pytest.raises(Unwritable, match="was deleted"):
            store.keep_texts({"f": "more"})
        store.keep({"other": b"x"})
        with pytest.raises(SessionNotFound):
            store.refresh()
    assert at.rows("default")["derived"] == 1
    removal.sweep(at.stores.database)
    assert at.rows("default") | {"code": 0, "tenant": 0} == dict.fromkeys(TABLES, 0)


def test_two_who_delete_do_not_wait_for_each_other(at: Place) -> None:
    """What one is deleting, another passes over."""
    at.fill("default", sessions=2)
    at.admin("UPDATE {s}.session SET name = 'deleted ' || session, lines = -1 - lines")
    with closing(at.stores.database.connect()) as other, other.transaction():
        other.execute(at.stores.database.sql("SELECT FROM {s}.session WHERE name < 'deleted 2' FOR UPDATE"))
        removal.sweep(at.stores.database)
        assert at.rows("default")["session"] == 1
    removal.sweep(at.stores.database)
    assert at.rows("default")["session"] == 0


def test_nothing_comes_back_after_the_deletion(at: Place) -> None:
    """Whoever wrote for a tenant that was deleted is refused: before, while and after another has its name."""
    since = at.caller().since
    stores = at.stores.for_tenant("acme", since=since)
    code = DatabaseCodeStore(stores.database, clock=Ticking())
    late = [stores.create(name) for name in ("s0", "s1")]
    operator = at.stores.database.for_operator()

    def check_refused() -> None:
        for store in late:
            with pytest.raises(Unwritable, match="'acme' was deleted"):
                append(store, said())
            with pytest.raises(Unwritable, match="'acme' was deleted"):
                store.keep_texts({"d": "text"})
        with pytest.raises(Unwritable, match="'acme' was deleted"):
            code.store("code_a", "x = 1\n")

    operator.run(operator.sql(tenant_statements.END), ("acme",))
    check_refused()
    late.append(at.stores.for_tenant("acme").create("s2"))  # of a command, which does not know since when
    check_refused()
    late.pop()
    at.tenants.delete("acme", wait=0)
    check_refused()
    again = at.caller().since
    check_refused()
    assert at.rows("acme")["session"] == at.rows("acme")["code"] == 0
    theirs = at.stores.for_tenant("acme", since=again)
    append(theirs.create("s0"), said())
    check_refused()
    assert (theirs.has("s0"), stores.has("s0")) == (True, False)
    assert at.rows("acme")["entry"] == 1


# ---------------------------------------------------------------------- retention


def test_sessions_are_deleted_after_the_days_of_their_tenant(at: Place) -> None:
    """Those not written to since; without days, none; others' never. It is noted, if there were any."""
    for name in ("acme", "other"):
        at.tenants.create(name)
        stores = at.fill(name, sessions=3)
        for session, days in (("s0", 40), ("s1", 20)):
            make_old(stores, session, days)
    assert at.tenants.prune("acme") == 0
    at.tenants.change("acme", keep_days=30)
    assert [at.tenants.prune("acme") for _ in range(2)] == [1, 0]
    assert sorted(at.stores.for_tenant("acme").sessions()) == ["s1", "s2"]
    assert len(at.stores.for_tenant("other").sessions()) == 3
    assert at.rows("acme")["entry"] == 2
    noted = at.tenants.audit("acme", action="tenant.prune")
    assert [each.detail for each in noted] == [{"sessions": 1, "keep_days": 30}]


def test_what_came_into_the_database_just_now_stays(at: Place) -> None:
    """A copy and an import have the time at which their session was written, which may be long ago."""
    at.tenants.create("acme", keep_days=30)
    stores = at.fill("acme", sessions=2)
    make_old(stores, "s0")
    make_old(stores, "s1")
    with closing(stores.open("s0")) as store:
        store.refresh()
        append(store, said(), head=store.tips.heads.get(""))
    stores.date("s0", 0.0)
    assert (at.tenants.prune("acme"), stores.sessions()) == (1, ["s0"])


class LateWriter(Database):
    """A database in which somebody writes to a session just before sessions are marked."""

    def run(self, statement: bytes, values: Values = ()) -> Rows:
        if b"SET name" in statement:
            store = PostgresStore(Database(self.address.conninfo + f"&schema={self.address.schema}"), "s0")
            store.refresh()
            append(store, said(), head=store.tips.heads.get(""))
            store._database.close()
        return super().run(statement, values)


def test_a_session_that_is_written_to_again_stays(at: Place) -> None:
    """Even if that happens between looking for old sessions and deleting them."""
    stores = at.fill("default", sessions=2)
    for session in stores.sessions():
        make_old(stores, session)
    with closing(LateWriter(at.url)) as database:
        assert removal.remove_sessions(database, days=30) == 1
    assert stores.sessions() == ["s0"]
