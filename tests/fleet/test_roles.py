"""The roles of docs/tenants.md: a server gets the rights that it needs and no more, and a backup all rows."""

import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from postgres_server import PostgresServer, make_old
from sightline import Budget, PostgresStores, Session, StoreError
from sightline.cli.main import app
from sightline.fleet.code_store import DatabaseCodeStore
from sightline.fleet.tasks import Tasks
from sightline.fleet.tenants import Limits, Tenants, token_hash
from sightline.fleet.work_queue import FleetWork
from sightline.server.metrics import Metrics
from sightline.server.work import RETENTION, Job
from sightline.testing import Ticking, WordCounter
from sightline.testing.stores import append, said

PAGE = (Path(__file__).parents[2] / "docs" / "tenants.md").read_text(encoding="utf-8")
ROLES, GRANTS, BACKUP = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


class Database:
    """A schema, and roles of its own, as the page says."""

    def __init__(self, server: PostgresServer) -> None:
        self.server, self._url = server, server.url()
        self.schema = self._url.partition("schema=")[2]

    def run(self, statements: str, role: str = "") -> None:
        """Run statements of the page, for our schema, as one of our roles or as the superuser."""
        text = re.sub(r"sightline_(\w+)", rf"{self.schema}_\1", statements)
        text = re.sub(r"\bsightline\.", f"{self.schema}.", text).replace("SCHEMA sightline", f"SCHEMA {self.schema}")
        text = text.replace("DATABASE sightline", "DATABASE postgres")
        with self.server.connect() as admin:
            if role:
                admin.execute(f"SET ROLE {self.schema}_{role}".encode())
            admin.execute(text.encode())

    def url(self, role: str) -> str:
        """The address for a role of ours."""
        return self._url.replace("tests@", f"{self.schema}_{role}@")


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[Database]:
    """With the tables, and two tenants, which the owner made. The roles are dropped at the end."""
    made = Database(postgres)
    made.run(ROLES)
    with closing(PostgresStores(made.url("owner"))) as stores:
        for name in ("acme", "zeta"):
            Tenants(stores.database).create(name, limits=Limits(60, 1_000_000), keep_days=30)
    made.run(GRANTS, "owner")
    yield made
    made.run("DROP OWNED BY sightline_owner, sightline_server CASCADE; DROP ROLE sightline_owner, sightline_server")


def test_a_server_has_the_rights_that_it_needs(database: Database) -> None:
    """Talking, searching, deleting, pruning, tokens, limits, use, audit: all that a server does, as that role."""
    with closing(PostgresStores(database.url("owner"))) as owned:
        token, text = Tenants(owned.database).create_token("acme")
    with closing(PostgresStores(database.url("server"))) as stores:
        tenants, acme = Tenants(stores.database), stores.for_tenant("acme")
        tenants.check_guarded()
        caller = tenants.find(token_hash(text))
        assert caller is not None
        assert (caller.token_id, tenants.admit(caller)) == (token.id, 0)
        for name in ("s", "t"):
            with Session.new(stores=acme, session_id=name, token_counter=WordCounter()) as session:
                session.user("the question")
                session.compose(Budget(window=4_000))
                assert session.items.search("question")
        with closing(acme.open("t")) as store:
            store.keep_texts({"d": "text"})
        DatabaseCodeStore(acme.database, clock=Ticking()).store("code_a", "x = 1\n")
        assert tenants.bytes_used("acme", within=30) > 0
        acme.delete("s")
        make_old(acme, "t")
        assert (tenants.prune("acme"), acme.sessions()) == (1, [])
        tenants.note("acme", "session.delete", token=token.id, subject="s")
        assert [each.action for each in tenants.audit("acme")][:2] == ["session.delete", "tenant.prune"]
        assert tenants.prune_audit() == 0


def test_a_server_has_no_other_rights(database: Database) -> None:
    """It creates no tenant and no token, raises no limit, revokes nothing, and changes no audit trail and no table."""
    with closing(PostgresStores(database.url("owner"))) as owned:
        token, _ = Tenants(owned.database).create_token("acme")
    with closing(PostgresStores(database.url("server"))) as stores:
        tenants, operator = Tenants(stores.database), stores.database.for_operator()
        refused: tuple[Callable[[], object], ...] = (
            lambda: tenants.create("mine"),
            lambda: tenants.create_token("acme"),
            lambda: tenants.change("acme", limits=Limits()),
            lambda: tenants.revoke_token(token.id),
            lambda: tenants.delete("acme", wait=0),
            lambda: operator.read(operator.sql("UPDATE {s}.token SET expires = NULL")),
            lambda: operator.read(operator.sql("UPDATE {s}.audit SET action = ''")),
        )
        for act in refused:
            with pytest.raises(StoreError, match="permission denied"):
                act()
        for statement in ("ALTER TABLE {s}.entry DISABLE ROW LEVEL SECURITY", "DROP POLICY tenant ON {s}.entry"):
            with pytest.raises(StoreError, match="must be owner"):
                operator.read(operator.sql(statement))


@contextmanager
def background_work(stores: PostgresStores, folder: Path, done: threading.Event) -> Iterator[FleetWork]:
    """The background work of a server. `done` is set after a job."""
    tasks = Tasks(folder, stores=stores)

    def run(job: Job, stop: threading.Event) -> None:
        tasks(job, stop)
        done.set()

    work = FleetWork(stores.database, run, heartbeat=0.2)
    work.start()
    try:
        yield work
    finally:
        work.close()


def test_background_work_runs_as_the_server(database: Database, tmp_path: Path) -> None:
    """The owner's commands made the queue, and the page's rights are enough for it."""
    done = threading.Event()
    with closing(PostgresStores(database.url("server"))) as stores:
        acme = stores.for_tenant("acme")
        with closing(acme.create("old")) as store:
            append(store, said())
        make_old(acme, "old")
        with background_work(stores, tmp_path, done) as work:
            work.want(Job(RETENTION))
            assert done.wait(30)
        assert (acme.sessions(), work.refused) == ([], "")


def test_background_work_that_may_not_run_is_told(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By the log, once; by a metric, the doctor, and a worker, which ends. When it is granted, work goes on."""
    url, done = database.url("server"), threading.Event()
    jobs = "sightline.procrastinate_jobs {} sightline_server"
    database.run(f"REVOKE INSERT ON {jobs.format('FROM')}", "owner")
    with closing(PostgresStores(url)) as stores:
        assert stores.sessions() == []
        metrics = Metrics(lambda: 0)
        with background_work(stores, tmp_path, done) as work:
            metrics.watch(work)
            work.want(Job(RETENTION))
            while not work.refused:
                time.sleep(0.05)
            assert b"sightline_jobs_refused 1.0" in metrics.text()
            for command in (["doctor", "--offline", "--json"], ["worker"]):
                told = CliRunner().invoke(app, ["--store", url, *command], env={"HOME": str(tmp_path)})
                assert (told.exit_code, "no rights on" in told.output) == (1, True), told.output
            database.run(f"GRANT INSERT ON {jobs.format('TO')}", "owner")
            assert done.wait(30)
            assert b"sightline_jobs_refused 0.0" in metrics.text()
    assert len([each for each in caplog.records if "cannot run" in each.message]) == 1


@pytest.mark.slow
def test_a_backup_has_the_rows_of_all_tenants(database: Database, tmp_path: Path) -> None:
    """As the role for backups, also after background work. The owner is refused, rather than given some of the rows."""
    done = threading.Event()
    with (
        closing(PostgresStores(database.url("server"))) as stores,
        background_work(stores, tmp_path, done) as work,
    ):
        work.want(Job(RETENTION))
        assert done.wait(30)
    with closing(PostgresStores(database.url("server"))) as stores:
        for name in ("acme", "zeta"):
            with closing(stores.for_tenant(name).create("s")) as store:
                append(store, said())

    def dump(role: str, *options: str) -> "subprocess.CompletedProcess[str]":
        url = database.url(role).partition("&schema")[0]
        command = (database.server.program("pg_dump"), url, f"--schema={database.schema}", *options)
        return subprocess.run(command, capture_output=True, text=True, check=False)

    refused = dump("owner")
    assert (refused.returncode, "affected by row-level security" in refused.stderr) == (1, True)
    database.run("CREATE ROLE sightline_backup LOGIN")
    try:
        database.run(BACKUP, "owner")
        made = dump("backup", "--enable-row-security")
        assert made.returncode == 0, made.stderr
        for table in ("session", "entry", "tenant", "audit"):
            rows = made.stdout.partition(f"COPY {database.schema}.{table} ")[2].partition("\\.")[0]
            assert all(f"{name}\t" in rows for name in ("acme", "zeta")), table
    finally:
        database.run("DROP OWNED BY sightline_backup CASCADE; DROP ROLE sightline_backup")
