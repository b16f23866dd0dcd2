"""Background work of several servers on one PostgreSQL: done once, and redone after a crash."""

import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from long_talk import SUMMARY as TEXT
from long_talk import begin_long, summaries_of
from test_work import Recorder, wait_for

from postgres_server import PostgresServer, add_tenants, make_old
from sightline import PostgresStores, Session
from sightline.errors import StoreError
from sightline.fleet import removal, tenant_statements, work_queue
from sightline.fleet.tasks import Tasks
from sightline.fleet.tenants import Tenants
from sightline.fleet.work_queue import FleetWork
from sightline.fleet.work_schema import library_migrations, migrate
from sightline.follow.turns import INDEX, SUMMARY
from sightline.server.work import RETENTION, Job, Runner

BEAT = 0.3  # seconds: what takes half a minute in a server takes one here
Start = Callable[..., FleetWork]


@pytest.fixture
def start(stores: PostgresStores, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start a server's background work. It ends with the test. What is done every hour is not done meanwhile."""
    monkeypatch.setattr(work_queue, "_HOURLY", "0 0 29 2 *")
    with ExitStack() as stack:

        def begin(run: Runner, stores: PostgresStores = stores, **options: Any) -> FleetWork:
            work = FleetWork(stores.database, run, **{"heartbeat": BEAT, "pauses": (0.05, 0.05), **options})
            work.start()
            stack.callback(work.close)
            assert work.ready.wait(60)
            return work

        yield begin


def rows(stores: PostgresStores, table: str) -> int:
    """How many rows a table of the library has."""
    [(count,)] = stores.database.run(stores.database.sql(f"SELECT count(*) FROM {{s}}.procrastinate_{table}"))
    return int(count)


def passed(run: Recorder) -> Recorder:
    """One that does not hold anything up."""
    run.gate.set()
    return run


def test_what_several_servers_want_is_done_once(stores: PostgresStores, start: Start) -> None:
    """Two servers want the same jobs, and two workers do them: each job is done once, and leaves nothing behind."""
    run = passed(Recorder())
    for server in [start(run, concurrency=0) for _ in range(2)]:
        for number in range(5):
            server.want(Job(INDEX, f"s{number}", "default"))
        wait_for(lambda server=server: not server._wanted)  # type: ignore[misc]
    wait_for(lambda: rows(stores, "jobs") == 5)
    workers = [start(run) for _ in range(2)]
    wait_for(lambda: sum(worker.counts[INDEX, "done"] for worker in workers) == 5)
    wait_for(lambda: rows(stores, "jobs") == rows(stores, "events") == 0)
    assert sorted(run.seen) == [f"s{number}" for number in range(5)]


@pytest.mark.slow
def test_a_killed_worker_leaves_its_job_to_another(tmp_path: Path, stores: PostgresStores, start: Start) -> None:
    """SIGKILL while the model writes: another worker makes the summary, and the log has one."""
    begin_long("talk", stores=stores)
    script, address = Path(__file__).parent / "work_process.py", stores.database.address
    url = f"{address.conninfo}&schema={address.schema}"
    command = [sys.executable, str(script), url, str(BEAT)]
    start(passed(Recorder()), concurrency=0).want(Job(SUMMARY, "talk", "default"))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n"
        asked: list[int] = []

        def model(_payload: object) -> str:
            asked.append(1)
            return TEXT

        worker = start(Tasks(tmp_path, stores=stores, model=model))
        assert not asked  # its worker is alive
        process.kill()
    wait_for(lambda: worker.counts[SUMMARY, "done"] == 1)
    wait_for(lambda: rows(stores, "jobs") == 0)
    assert summaries_of("talk", stores=stores) == [TEXT]
    assert len(asked) == 1


def test_a_job_that_fails_is_given_up_at_last(
    stores: PostgresStores, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried so often and no more, and told; the table does not keep it. One that works at last has not failed."""
    run = passed(Recorder(bad=9, late=1))
    worker = start(run)
    with caplog.at_level(logging.WARNING, "sightline.server"):
        for session in ("bad", "late", "good"):
            worker.want(Job(INDEX, session, "default"))
        wait_for(lambda: worker.counts[INDEX, "failed"] == 1 and worker.counts[INDEX, "done"] == 2)
    assert (run.seen.count("bad"), worker.counts[INDEX, "retried"]) == (3, 3)
    assert [record.session for record in caplog.records if record.levelno == logging.ERROR] == ["bad"]  # type: ignore[attr-defined]
    wait_for(lambda: rows(stores, "jobs") == 0)


def test_a_job_that_waits_to_be_tried_again_holds_nobody_up(start: Start) -> None:
    """Others are done meanwhile."""
    worker = start(passed(Recorder(bad=1)), pauses=(600.0,))
    worker.want(Job(INDEX, "bad", "default"))
    wait_for(lambda: worker.counts[INDEX, "retried"] == 1)
    worker.want(Job(INDEX, "good", "default"))
    wait_for(lambda: worker.counts[INDEX, "done"] == 1)
    wait_for(lambda: worker.waiting == 1)


def test_a_job_that_is_wanted_again_while_it_fails_is_not_stuck(stores: PostgresStores, start: Start) -> None:
    """The new one does the same: the failed one gives way to it."""
    run = Recorder(a=1)
    worker = start(run)
    worker.want(Job(INDEX, "a", "default"))
    assert run.begun.wait(60)
    worker.want(Job(INDEX, "a", "default"))
    wait_for(lambda: rows(stores, "jobs") == 2)
    run.gate.set()
    wait_for(lambda: worker.counts[INDEX, "done"] == 1)
    wait_for(lambda: rows(stores, "jobs") == 0)


def test_a_job_that_ends_each_of_its_workers_is_given_up(stores: PostgresStores, start: Start) -> None:
    """It is not tried for ever."""
    start(passed(Recorder()), concurrency=0).want(Job(INDEX, "deadly", "default"))
    wait_for(lambda: rows(stores, "jobs") == 1)
    with closing(stores.database.connect()) as connection:  # as two workers leave it that were killed
        connection.execute(stores.database.sql("SET search_path TO {s}"))
        connection.execute("UPDATE procrastinate_jobs SET status = 'doing', attempts = 2")
    run = passed(Recorder())
    start(run)
    wait_for(lambda: rows(stores, "jobs") == 0)
    assert run.seen == []


@pytest.mark.slow
def test_a_database_that_restarts_is_waited_for(tmp_path: Path) -> None:
    """Work goes on after it, and what was wanted meanwhile is done."""
    server = PostgresServer.make(synchronous_commit="on")  # what was done before the crash stays done
    run = passed(Recorder())
    try:
        with closing(PostgresStores(server.url("work"))) as stores:
            work = FleetWork(stores.database, run, heartbeat=BEAT)
            work.start()
            assert work.ready.wait(60)
            server.stop("immediate")
            wait_for(lambda: not work.ready.is_set())
            work.want(Job(INDEX, "meanwhile", "default"))
            server.start()
            wait_for(lambda: work.counts[INDEX, "done"] == 1)
            work.close()
        assert run.seen == ["meanwhile"]
    finally:
        server.delete()


def test_a_server_that_stops_finishes_its_job(stores: PostgresStores, start: Start) -> None:
    """One that ends in time is done, and is not begun anew."""
    run = Recorder()
    worker = start(run)
    worker.want(Job(INDEX, "a", "default"))
    assert run.begun.wait(60)
    threading.Timer(0.1, run.gate.set).start()
    worker.close()
    assert worker.counts[INDEX, "done"] == 1
    assert rows(stores, "jobs") == rows(stores, "workers") == 0


@pytest.mark.slow
def test_a_server_that_stops_puts_a_long_job_back(tmp_path: Path, stores: PostgresStores, start: Start) -> None:
    """It does not wait for the model. Another server makes the summary at once, and the late answer is dropped."""
    begin_long("talk", stores=stores)
    asked, answer = threading.Event(), threading.Event()

    def late(_payload: object) -> str:
        asked.set()
        assert answer.wait(60)
        return "This one is too late: " + TEXT

    first = start(Tasks(tmp_path, stores=stores, model=late), grace=0.05)
    first.want(Job(SUMMARY, "talk", "default"))
    assert asked.wait(60)
    first.close()
    assert (rows(stores, "jobs"), rows(stores, "workers")) == (1, 0)
    other = start(Tasks(tmp_path, stores=stores, model=lambda _: TEXT))
    wait_for(lambda: other.counts[SUMMARY, "done"] == 1)
    answer.set()
    wait_for(lambda: not [each for each in threading.enumerate() if each.name == "sightline job"])
    assert summaries_of("talk", stores=stores) == [TEXT]


def test_a_worker_without_a_model_leaves_summaries_to_others(
    tmp_path: Path, stores: PostgresStores, start: Start
) -> None:
    """It does what it can, and the rest waits."""
    tasks = Tasks(tmp_path, stores=stores)
    worker = start(tasks, kinds=tasks.kinds)
    worker.want(Job(SUMMARY, "talk", "default"))
    worker.want(Job(INDEX, "talk", "default"))
    wait_for(lambda: worker.counts[INDEX, "done"] == 1)
    wait_for(lambda: worker.waiting == 1)
    assert worker.counts[SUMMARY, "done"] == 0


def test_a_job_runs_as_its_tenant(tmp_path: Path, stores: PostgresStores, start: Start) -> None:
    """Two tenants have sessions of one name: the job of one does not touch the other's."""
    add_tenants(stores, "red", "blue")
    for tenant in ("red", "blue"):
        begin_long("talk", stores=stores.for_tenant(tenant))
    worker = start(Tasks(tmp_path, stores=stores, model=lambda _: TEXT))
    worker.want(Job(SUMMARY, "talk", "red"))
    wait_for(lambda: worker.counts[SUMMARY, "done"] == 1)
    found = {tenant: summaries_of("talk", stores=stores.for_tenant(tenant)) for tenant in ("red", "blue")}
    assert found == {"red": [TEXT], "blue": []}


def test_sessions_are_deleted_when_their_tenant_keeps_them_no_longer(
    tmp_path: Path, stores: PostgresStores, start: Start
) -> None:
    """The job does it for every tenant that says so, and for no other."""
    tenants = Tenants(stores.database)
    tenants.create("brief", keep_days=1)
    tenants.create("long")
    for name in ("brief", "long"):
        for session in ("old", "new"):
            with Session.new(session_id=session, stores=stores.for_tenant(name)) as made:
                made.user("hello")
        make_old(stores.for_tenant(name), "old")
    worker = start(Tasks(tmp_path, stores=stores))
    worker.want(Job(RETENTION))
    wait_for(lambda: worker.counts[RETENTION, "done"] >= 1)
    assert stores.for_tenant("brief").sessions() == ["new"]
    assert sorted(stores.for_tenant("long").sessions()) == ["new", "old"]


def test_what_killed_deletions_left_is_deleted(tmp_path: Path, stores: PostgresStores, start: Start) -> None:
    """Of sessions of every tenant, with days or without, and all of a tenant that is being deleted."""
    tenants = Tenants(stores.database)
    for name in ("default", "free", "ended"):
        if name != "default":
            tenants.create(name)
        with Session.new(session_id="gone", stores=stores.for_tenant(name)) as made:
            made.user("hello")
    for name in ("default", "free"):  # as a server leaves it that is killed
        database = stores.for_tenant(name).database
        database.run(database.sql(removal._MARK_ONE), (name, "gone"))
    operator = stores.database.for_operator()
    operator.run(operator.sql(tenant_statements.END), ("ended",))
    worker = start(Tasks(tmp_path, stores=stores))
    worker.want(Job(RETENTION))
    wait_for(lambda: worker.counts[RETENTION, "done"] >= 1)
    for name in ("default", "free", "ended"):
        database = stores.for_tenant(name).database
        assert database.run(database.sql("SELECT tenant FROM {s}.entry UNION SELECT tenant FROM {s}.session")) == []


@pytest.mark.slow
def test_the_queue_of_a_newer_version_is_refused(stores: PostgresStores, start: Start) -> None:
    """Nothing is changed, and the message says what to do."""
    start(Recorder())
    with closing(stores.database.connect()) as connection:
        older = dict(list(library_migrations().items())[:-1])
        with pytest.raises(StoreError, match="pip install -U"):
            migrate(connection, stores.database.address.schema, older)


@pytest.mark.slow
def test_migrations_of_a_newer_library_are_done_once(stores: PostgresStores, start: Start) -> None:
    """Those that are new are done in order, and not again."""
    start(Recorder())
    newer = {**library_migrations(), "99.1": "CREATE TABLE one (x int)", "99.2": "CREATE TABLE two AS TABLE one"}
    with closing(stores.database.connect()) as connection:
        for _ in range(2):
            migrate(connection, stores.database.address.schema, newer)
        count = connection.execute(stores.database.sql("SELECT count(*) FROM {s}.two")).fetchall()
    assert count == [(0,)]


def test_a_migration_of_the_queue_may_take_long(stores: PostgresStores, start: Start) -> None:
    """The limit of a statement does not hold for it, as it does not for those of our own tables."""
    start(Recorder())
    newer = {**library_migrations(), "99.00.00_01_slow": "SELECT pg_sleep(0.2)"}
    with closing(stores.database.connect()) as connection:
        connection.execute("SET statement_timeout = 100")
        migrate(connection, stores.database.address.schema, newer)
        with pytest.raises(StoreError, match="newer version"):
            migrate(connection, stores.database.address.schema)
