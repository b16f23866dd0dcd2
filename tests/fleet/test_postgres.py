"""The PostgreSQL store, beyond what the suite checks of every store: connections, schema, damage, refusals, secrets."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from random import Random
from typing import Any

import pytest

from postgres_server import PostgresServer, add_tenants
from sightline import BadInput, Budget, Conflict, Session, StoreError, Unconfirmed, Unwritable
from sightline.fleet import postgres
from sightline.fleet.address import read_address
from sightline.fleet.database import Database, Lost, Rows, Values
from sightline.fleet.postgres import PostgresStore, PostgresStores
from sightline.fleet.schema import MIGRATIONS, migrate
from sightline.log.stores import Tips
from sightline.testing import WordCounter
from sightline.testing.stores import append, noted, said, uuids

BUDGET = Budget(window=4_000)


class Unreliable(Database):
    """A database whose connection is lost at some statements that write: before they are done, or after."""

    def __init__(self, url: str, losses: Iterator[str]) -> None:
        super().__init__(url)
        self._losses, self.lost = losses, 0

    def run(self, statement: bytes, values: Values = ()) -> Rows:
        loss = next(self._losses) if b"UPDATE" in statement or b"INSERT" in statement else ""
        done = super().run(statement, values) if loss != "before" else []
        if loss:
            self.lost += 1
            raise Lost("cut off", sent=True)
        return done

    def pause(self) -> None:
        """No waiting."""


# ---------------------------------------------------------------------- content


def test_every_byte_comes_back(stores: PostgresStores) -> None:
    """NULs, lone surrogates, bytes that are no text and blank lines are stored as they are."""
    lines = [bytes(range(256)).replace(b"\n", b"") + b"\n", b"\n", b"  \n", b'{"a":"\\ud800\\u0000"}\n', b"x"]
    texts = {"d": "\0 \ud800 \U0001f98a"}
    with closing(stores.create("s")) as store:
        store.write_raw(lines, Tips(size=len(lines)))
        store.keep_texts(texts)
        store.keep({"columns": bytes(range(256))})
    with closing(stores.open("s")) as again:
        again.refresh()
        assert [line.data for line in again.raw_lines()] == lines
        assert [line.data for line in again.scan()] == [line for line in lines if not line.isspace()]
        assert (again.texts(["d"]), again.all_texts()) == (texts, list(texts.items()))
        assert again.cache(["columns"]) == {"columns": bytes(range(256))}


def test_a_large_batch_is_whole(stores: PostgresStores, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of several statements is one transaction, and is compared like any other."""
    monkeypatch.setattr(postgres, "_MOST_BYTES", 1_000)
    with closing(stores.create("s")) as store, closing(stores.create("s")) as other:
        batch = [said("word " * 60) for _ in range(30)]
        append(store, *batch)
        with pytest.raises(Conflict):
            append(other, *batch, head="somebody")
        append(other, *(more := [noted() for _ in range(30)]))
        store.refresh()
        assert uuids(store) == [entry.uuid for entry in (*batch, *more)]


def test_pages_of_a_log_join(stores: PostgresStores, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log is read a page at a time, by lines and by bytes, and none is read twice or missed."""
    monkeypatch.setattr(postgres, "_PAGE_LINES", 7)
    monkeypatch.setattr(postgres, "_PAGE_BYTES", 900)
    random = Random(1)
    with closing(stores.create("s")) as store:
        written = [said("x" * random.choice((1, 100, 2_000))) for _ in range(50)]
        append(store, *written)
        for start in (0, 1, 6, 7, 8, 49, 50):
            assert [line.span.offset for line in store.scan(start)] == list(range(start, 50))
        assert uuids(store) == [entry.uuid for entry in written]


# ---------------------------------------------------------------------- round trips


class Counted(Database):
    """Counts statements: each is a round trip."""

    statements = 0

    def run(self, statement: bytes, values: Values = ()) -> Rows:
        self.statements += 1
        return super().run(statement, values)


def test_an_append_and_many_reads_are_one_round_trip_each(url: str) -> None:
    """So is a resume that finds derived data, but for its few parts."""
    database = Counted(url)
    store = PostgresStore(database, "s")

    def taken(act: Callable[[], Any]) -> int:
        before = database.statements
        act()
        return database.statements - before

    placed = append(store, *(said() for _ in range(500)))
    head = placed[-1].entry.uuid
    assert taken(lambda: append(store, said(), head=head)) == 1
    assert taken(lambda: store.read_many([each.span for each in placed])) == 1
    assert taken(lambda: list(store.scan())) == 1
    assert taken(store.refresh) == 1
    assert taken(lambda: store.keep({f"part {number}": b"x" for number in range(100)})) == 1
    assert taken(lambda: store.cache([f"part {number}" for number in range(100)])) == 1
    assert taken(lambda: store.keep_texts({"d": "text", "e": "other"})) == 1
    database.close()


# ---------------------------------------------------------------------- lost connections


@pytest.mark.parametrize("seed", range(5))
def test_what_was_written_when_the_connection_was_lost_is_there_once(url: str, seed: int) -> None:
    """Two writers whose connections are lost before and after statements: each batch is there once, in one order."""
    random = Random(seed)
    losses = (random.choice(["", "", "before", "after"]) for _ in count())
    databases = [Unreliable(url, losses), Unreliable(url, losses)]
    stores = [PostgresStore(database, "s") for database in databases]
    written: list[str] = []
    for _ in range(30):
        store = random.choice(stores)
        batch = [said(), noted()][: random.choice((1, 2))]
        while True:
            store.refresh()
            try:
                append(store, *batch, head=store.tips.heads.get(""))
                break
            except Conflict:
                continue
        written += [entry.uuid for entry in batch]
    stores[0].refresh()
    assert uuids(stores[0]) == written
    assert sum(database.lost for database in databases) > 5
    for database in databases:
        database.close()


def test_a_database_that_stays_away_is_told_apart(url: str) -> None:
    """What was sent may be stored: Unconfirmed. Then the session goes on, and says so if it was."""
    database = Unreliable(url, iter([""] * 2 + ["after"] * 1 + [""] * 100))
    database.patience = 0.0
    store = PostgresStore(database, "s")
    append(store, first := said())
    with pytest.raises(Unconfirmed, match=r"look before you send it again"):
        append(store, late := said(), head=first.uuid)
    with pytest.raises(Conflict) as told:
        append(store, said(), head=first.uuid)
    assert told.value.found == late.uuid
    assert uuids(store) == [first.uuid, late.uuid]
    database.close()


@pytest.mark.slow
def test_a_restart_of_the_database_is_survived() -> None:
    """Connections that died are replaced, a session goes on after a restart and after a crash, and nothing is lost."""
    server = PostgresServer.make(synchronous_commit="on")
    try:
        stores = PostgresStores(server.url("s"))
        session = Session.new(stores=stores, session_id="s", token_counter=WordCounter())
        for mode in ("fast", "immediate"):
            session.user(f"before {mode}")
            session.compose(BUDGET)
            server.stop(mode)
            stores.database.patience = 0.2
            with pytest.raises(StoreError, match="tests@"):
                session.user("nobody hears this")
            stores.database.patience = 30.0
            back = threading.Thread(target=server.start)
            back.start()
            session.refresh()
            session.reply(f"after {mode}")
            back.join()
        said_now = [session.items.text(item.id) for item in session.items]
        assert said_now == ["before fast", "after fast", "before immediate", "after immediate"]
        assert all(receipt.good for receipt in session.receipts.verify())
        session.close()
        stores.close()
    finally:
        server.delete()


def test_connections_that_were_ended_are_replaced(stores: PostgresStores, postgres: PostgresServer) -> None:
    """An administrator, or a network that forgets idle connections, ends them all: nobody notices."""
    with closing(stores.create("s")) as store, postgres.connect() as admin:
        append(store, first := said())
        ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'mine'"
        for _ in range(3):
            admin.execute(ended.replace("mine", "sightline"))
            append(store, noted())
            assert len(uuids(store)) == store.tips.seq
    assert first.uuid in uuids(store)


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'", "No space left"),
        ("PERFORM pg_sleep(60)", "statement timeout"),
    ],
)
def test_a_database_that_refuses_keeps_nothing_of_it(postgres: PostgresServer, change: str, why: str) -> None:
    """A full disk or a lock that is not given: Unwritable, everything before it is there, and it works again."""
    stores = PostgresStores(postgres.url(schema := "refuses" + str(len(change)), options="-cstatement_timeout%3D300"))
    with closing(stores), closing(stores.create("s")) as store, postgres.connect() as admin:
        append(store, first := said())
        admin.execute(
            f"CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {change}; END $$;"
            f"CREATE TRIGGER refuse BEFORE INSERT ON {schema}.entry EXECUTE FUNCTION {schema}.refuse()".encode()
        )
        with pytest.raises(Unwritable, match=why):
            append(store, said(), noted(), head=first.uuid)
        assert uuids(store) == [first.uuid]
        admin.execute(f"DROP TRIGGER refuse ON {schema}.entry".encode())
        append(store, late := said(), head=first.uuid)
        assert uuids(store) == [first.uuid, late.uuid]


def test_a_read_only_database_can_be_read(postgres: PostgresServer) -> None:
    """Everything can be read and searched; an append raises Unwritable, and derived data are not kept."""
    with closing(PostgresStores(postgres.url("readonly"))) as stores:
        session = Session.new(stores=stores, session_id="s", token_counter=WordCounter())
        session.user("the question")
        session.close()
    options = "-cdefault_transaction_read_only%3Don"
    with closing(PostgresStores(postgres.url("readonly", options=options))) as stores:
        again = Session.resume("s", stores=stores, token_counter=WordCounter())
        assert [found.id for found in again.items.search("question")]
        assert again.preview(BUDGET).tokens
        with pytest.raises(Unwritable, match="read-only"):
            again.user("No.")
        again.close()
        with pytest.raises(Unwritable, match="read-only"):
            stores.delete("s")


def test_a_stopped_writer_stops_nobody(stores: PostgresStores) -> None:
    """A writer that halts while it makes its entries holds nothing that others wait for."""
    with closing(stores.create("s")) as slow, closing(stores.create("s")) as quick:
        append(slow, first := said())
        made: list[int] = []

        def halting(number: int) -> list[Any]:
            if not made:
                append(quick, noted())  # as another process does while this one is stopped
            made.append(number)
            return [said()]

        slow.append(halting, branch="", expected_head=first.uuid)
        assert made == [2, 3]
        assert len(uuids(slow)) == 3


# ---------------------------------------------------------------------- damage


def test_a_line_that_was_changed_or_deleted_is_reported(stores: PostgresStores, postgres: PostgresServer) -> None:
    """As damage to a file is: what can be read is used, what cannot is passed over, and the session goes on."""
    session = Session.new(stores=stores, session_id="s", token_counter=WordCounter())
    for number in range(6):
        session.user(f"message {number}")
    session.close()
    schema = stores.database.address.schema
    with postgres.connect() as admin:
        admin.execute(f"DELETE FROM {schema}.derived".encode())
        admin.execute(f"DELETE FROM {schema}.entry WHERE seq = 3".encode())
        admin.execute(f"UPDATE {schema}.entry SET data = 'no json' WHERE seq = 4".encode())
        replaced = "convert_to(replace(convert_from(data, 'UTF8'), 'message 3', 'massage 3'), 'UTF8')"
        admin.execute(f"UPDATE {schema}.entry SET data = {replaced} WHERE seq = 5".encode())
    with Session.resume("s", stores=stores, token_counter=WordCounter()) as again:
        texts = [again.items.text(item.id) for item in again.items]
        assert texts == ["message 0", "massage 3", "message 4", "message 5"]
        assert (again.repairs.damaged, again.repairs.changed) == ([2, 3], [4])
        again.user("It goes on.")
        assert again.compose(BUDGET).tokens


# ---------------------------------------------------------------------- schema and tenants


def test_processes_that_begin_at_once_make_the_tables_once(url: str) -> None:
    """Whoever comes second waits, and finds them."""
    errors: list[BaseException] = []

    def begin(number: int) -> None:
        try:
            with closing(PostgresStores(url)) as stores, closing(stores.create(f"s{number}")) as store:
                append(store, noted())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with closing(PostgresStores(url)) as stores:
        assert sorted(stores.sessions()) == [f"s{number}" for number in range(5)]


def test_a_schema_is_brought_forward_and_a_newer_one_refused(url: str) -> None:
    """A migration is done once, with what is there; a version that does not know it changes nothing."""
    with closing(PostgresStores(url)) as stores, closing(stores.create("s")) as store:
        append(store, first := said())
        later = (*MIGRATIONS, "ALTER TABLE {schema}.session ADD COLUMN title text DEFAULT 'none'")
        with closing(stores.database.connect()) as connection:
            for _ in range(2):
                migrate(connection, stores.database.address.schema, later)
        assert uuids(store) == [first.uuid]
    with closing(PostgresStores(url)) as older, pytest.raises(StoreError, match=r"version 4, .* knows 3; nothing was"):
        older.sessions()


def test_who_uses_the_tables_need_not_be_allowed_to_make_them(postgres: PostgresServer) -> None:
    """A role that may only read and write rows does all the work, once another has made the tables."""
    with closing(PostgresStores(postgres.url("rows_only"))) as owner:
        assert owner.sessions() == []
    with postgres.connect() as admin:
        admin.execute("CREATE ROLE worker LOGIN; GRANT USAGE ON SCHEMA rows_only TO worker")
        admin.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA rows_only TO worker")
    with closing(PostgresStores(postgres.url("rows_only").replace("tests@", "worker@"))) as stores:
        with Session.new(stores=stores, session_id="s", token_counter=WordCounter()) as session:
            session.user("hello")
            session.compose(BUDGET)
        stores.delete("s")
        assert stores.sessions() == []


def test_a_schema_may_have_any_plain_name(postgres: PostgresServer) -> None:
    """Also one that is a word of SQL."""
    with closing(PostgresStores(postgres.url("full"))) as stores, closing(stores.create("s")) as store:
        append(store, said())
        assert stores.sessions() == ["s"]


def test_tenants_do_not_see_each_other(url: str) -> None:
    """Two tenants may have sessions of the same id."""
    add_tenants(url, "one", "two")
    with closing(PostgresStores(f"{url}&tenant=one")) as one, closing(PostgresStores(f"{url}&tenant=two")) as two:
        for stores, entry in ((one, first := said()), (two, second := said())):
            with closing(stores.create("s")) as store:
                append(store, entry)
        two.delete("s")
        with closing(one.open("s")) as store:
            store.refresh()
            assert uuids(store) == [first.uuid] != [second.uuid]
        assert (one.sessions(), two.sessions()) == (["s"], [])


def test_deleting_leaves_no_rows(stores: PostgresStores, postgres: PostgresServer) -> None:
    """Lines, texts and derived data go with their session."""
    schema = stores.database.address.schema
    with closing(stores.create("s")) as store:
        append(store, said())
        store.keep_texts({"d": "text"})
        store.keep({"columns": b"x"})
        stores.delete("s")
        store.keep({"columns": b"x"})
        with pytest.raises(Unwritable, match="was deleted"):
            store.keep_texts({"d": "text"})
    with postgres.connect() as admin:
        for table in ("session", "entry", "content", "derived"):
            assert admin.execute(f"SELECT count(*) FROM {schema}.{table}".encode()).fetchall() == [(0,)]


# ---------------------------------------------------------------------- addresses


def test_an_address_is_shown_without_its_secrets() -> None:
    """Neither a password before the host nor one among the parameters is in any text that people see."""
    address = read_address("postgresql://me:s3cret@db.example:5433/name?password=s3cret&sslmode=require&tenant=acme")
    assert (address.shown, address.tenant, address.schema) == (
        "postgresql://me@db.example:5433/name?tenant=acme", "acme", "sightline",
    )  # fmt: skip
    assert "tenant" not in address.conninfo
    with closing(PostgresStores("postgresql://me:s3cret@127.0.0.1:1/name?connect_timeout=1")) as stores:
        with pytest.raises(StoreError, match=r"cannot reach postgresql://me@127.0.0.1:1/name: ") as told:
            stores.sessions()
        assert "s3cret" not in str(told.value)


@pytest.mark.parametrize(
    "bad",
    [
        "mysql://me:s3cret@host/name", "postgresql://me:s3cret@host/name?pool=many", "postgresql://me:s3cret@h/n?pool=0",
        "postgresql://me:s3cret@host/name?schema=Not;", "postgresql://me:s3cret@host/name?tenant=",
        "postgresql://me:s3cret@host/name?nonsense=1", "postgresql://me:s3cret@[host/name",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_refused_without_being_shown(bad: str) -> None:
    """The message says what an address is, and has no secret."""
    with pytest.raises(BadInput) as told:
        PostgresStores(bad)
    assert "s3cret" not in str(told.value)


def test_the_variables_of_psql_are_heard(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address may leave everything to PGHOST, PGUSER, PGDATABASE and PGPASSWORD."""
    for name, value in {"PGHOST": str(postgres.folder), "PGUSER": "tests", "PGDATABASE": "postgres"}.items():
        monkeypatch.setenv(name, value)
    with closing(PostgresStores("postgresql://?schema=by_variables")) as stores:
        assert stores.sessions() == []
