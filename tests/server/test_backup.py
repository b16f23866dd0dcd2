"""A copy of the database that is made while servers write is whole, and what is restored from it is the same."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from postgres_server import PostgresServer, add_tenants
from sightline import Budget, PostgresStores, Session
from sightline.cli.main import app
from sightline.log.entries import decode
from sightline.testing import calling

pytestmark = pytest.mark.slow

ROOM = Budget(2_000, 200)


class Written:
    """Sessions of two tenants, with payloads, and what their logs were when they were made."""

    def __init__(self, postgres: PostgresServer) -> None:
        self.postgres, self.url = postgres, postgres.url()
        self.schema = self.url.partition("schema=")[2]
        self.role = f"backup_{self.schema}"  # roles belong to all databases of a server
        self.logs: dict[tuple[str, str], list[bytes]] = {}
        add_tenants(self.url, "acme")
        for tenant in ("default", "acme"):
            with closing(self.stores(tenant)) as stores:
                for number in range(2):
                    with Session.new(stores=stores) as session:
                        talk(session, f"{tenant} {number}")
                        self.logs[tenant, session.id] = lines(stores, session.id)

    def stores(self, tenant: str, database: str = "postgres") -> PostgresStores:
        """The sessions of a tenant, here or in another database of the same server."""
        return PostgresStores(self.url.replace("/postgres?", f"/{database}?") + f"&tenant={tenant}")

    def run(self, program: str, *arguments: str) -> None:
        """One of PostgreSQL's own programs."""
        self.postgres._run(program, *arguments)

    @contextmanager
    def dumped(self, name: str, *options: str) -> Iterator[Path]:
        """A dump of the schema by a role that passes row-level security by, and may only read."""
        target = self.postgres.folder / f"{self.schema}-{name}.dump"
        self.run(
            "pg_dump", "-h", str(self.postgres.folder), "-U", self.role, "-d", "postgres", "-Fc",
            f"--schema={self.schema}", *options, "-f", str(target),
        )  # fmt: skip
        yield target
        target.unlink()

    @contextmanager
    def restored(self, dump: Path) -> Iterator[str]:
        """A new database that was made from a dump."""
        name = dump.stem.replace("-", "_")
        at = ("-h", str(self.postgres.folder), "-U")
        self.run("createdb", *at, "admin", "-O", "tests", name)
        self.run("pg_restore", *at, "tests", "-d", name, "--no-owner", "--exit-on-error", str(dump))
        yield name
        self.run("dropdb", *at, "admin", "--force", name)


def talk(session: Session, name: str) -> None:
    """Some turns that do not fit into the budget, each with its payload."""
    for turn in range(6):
        session.user(f"{name}, question {turn}: where is the valve?")
        session.compose(ROOM)
        session.reply(calling(("read", {"path": f"{turn}.py"})))
        [waiting] = session.open_calls
        session.tool_result(waiting.id, f"{name} {turn} " + "the valve is in the tank. " * 60)
        session.compose(ROOM)
        session.reply({"role": "assistant", "content": f"It is in the tank, {name}."})


def lines(stores: PostgresStores, session_id: str) -> list[bytes]:
    """A log as it is stored. It is whole: its seqs are dense."""
    with closing(stores.open(session_id)) as store:
        store.refresh()
        found = [line.data for line in store.scan()]
    assert [decode(line).seq for line in found] == list(range(1, len(found) + 1))
    return found


def next_payload(stores: PostgresStores, session_id: str) -> bytes:
    """What would be sent now."""
    with Session.inspect(session_id, stores=stores) as session:
        return session.preview(ROOM).json("openai")


def check(written: Written, database: str) -> None:
    """Every session is there as it was, every payload can be made again, and the next one is the same."""
    for tenant in ("default", "acme"):
        here, there = written.stores(tenant), written.stores(tenant, database)
        with closing(here), closing(there):
            wanted = {session_id: log for (whose, session_id), log in written.logs.items() if whose == tenant}
            assert set(there.sessions()) >= set(wanted)
            for session_id, log in wanted.items():
                assert lines(there, session_id) == log
                assert next_payload(there, session_id) == next_payload(here, session_id)
            for session_id in there.sessions():
                assert lines(there, session_id) == lines(here, session_id)[: len(lines(there, session_id))]
                with Session.inspect(session_id, stores=there) as session:
                    assert all(payload.good for payload in session.receipts.verify())


@pytest.fixture
def written(postgres: PostgresServer) -> Iterator[Written]:
    """Sessions, and a role that may copy them."""
    made = Written(postgres)
    with postgres.connect() as admin:
        admin.execute(f"CREATE ROLE {made.role} LOGIN BYPASSRLS IN ROLE pg_read_all_data".encode())
        yield made
        admin.execute(f"DROP ROLE {made.role}".encode())


@contextmanager
def writers(written: Written) -> Iterator[list[int]]:
    """Two sessions that are written to all the time; how many turns were acknowledged."""
    over, done = threading.Event(), [0, 0]

    def write(number: int) -> None:
        with closing(written.stores("default")) as stores, Session.new(stores=stores) as session:
            while not over.is_set():
                talk(session, f"writer {number}")
                done[number] += 1
                begun[number].set()

    begun = [threading.Event(), threading.Event()]
    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for each in begun:
        assert each.wait(60)
    try:
        yield done
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_dump_that_is_made_while_others_write(written: Written) -> None:
    """Also without what can be made again: each session is there up to an append, and payloads are the same."""
    less = [f"--exclude-table-data={written.schema}.{table}" for table in ("derived", "procrastinate_*")]
    for name, options in (("all", ()), ("less", less)):
        with ExitStack() as stack:
            with writers(written) as done:
                before = sum(done)
                dump = stack.enter_context(written.dumped(name, *options))
            assert before >= 2
            check(written, stack.enter_context(written.restored(dump)))


def test_a_dump_by_a_role_that_sees_one_tenant_fails(written: Written) -> None:
    """It is an error, and not a dump in which others are missing."""
    with written.postgres.connect() as admin:
        admin.execute(f"ALTER ROLE {written.role} NOBYPASSRLS".encode())
    with pytest.raises(AssertionError, match="row-level security"), written.dumped("one"):
        pass


def test_one_session_and_one_tenant_come_back_from_files(written: Written, tmp_path: Path) -> None:
    """By the command; others are not touched, and nobody else's sessions come along."""
    address, folder = f"{written.url}&tenant=acme", tmp_path / "copy"
    assert run_cli("store", "copy", address, str(folder)) == 0
    ours = sorted(session_id for tenant, session_id in written.logs if tenant == "acme")
    assert sorted(path.stem for path in folder.glob("*.jsonl")) == ours
    with closing(written.stores("acme")) as stores:
        first, second = ours
        stores.delete(first)
        assert run_cli("store", "copy", str(folder), address, "--session", first) == 0
        assert lines(stores, first) == written.logs["acme", first]
        stores.delete(first)
        stores.delete(second)
        assert run_cli("store", "copy", str(folder), address) == 0
        assert {each: lines(stores, each) for each in ours} == {each: written.logs["acme", each] for each in ours}
    assert run_cli("--store", address, "verify", "--all") == 0
    with closing(written.stores("default")) as others:
        assert len(others.sessions()) == 2


def run_cli(*words: str) -> int:
    """The exit status of a command."""
    return CliRunner().invoke(app, list(words)).exit_code
