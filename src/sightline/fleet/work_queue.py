"""The background work of all servers of one database, through procrastinate: a queue in tables of the database.

A job is one row, so any process can do it and none holds anything that is lost with it. A worker says every few seconds
that it is alive. The job of one that no longer does is done by another. What a job writes is written by
compare-and-append, so that one which is done twice all the same, because its first worker was only slow, is in the log
once. Finished jobs are deleted.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from sightline.errors import BadInput, StoreError
from sightline.fleet.database import Database, said_by
from sightline.fleet.errors import NoQueue, WorkRefused
from sightline.fleet.schema import quoted
from sightline.server.work import GRACE, KINDS, MOST_WAITING, PAUSES, RETENTION, Counts, Job, Runner, attempt, tell

if TYPE_CHECKING:
    from procrastinate import App, JobContext
    from psycopg import AsyncConnection

HEARTBEAT = 10.0  # seconds after which a worker says again that it is alive
_STALE = 3  # heartbeats that are missed before its job is done by another
_POLL = 5.0  # seconds after which a worker looks for jobs, if it is told of none
_PAUSE = 1.0  # seconds before a lost database is tried again
_POOL = 4  # connections of one process at most, and one that listens
_CONNECT_SECONDS = 3.0  # for a connection of the pool: a database that is lost is noticed so soon
_TASK, _QUEUE = "sightline", "sightline_"
_HOURLY = "17 * * * *"  # a minute at which few other programs begin something

T = TypeVar("T")
_log = logging.getLogger("sightline.server")


class FleetWork:
    """Puts jobs into the queue of a database, and does those that are in it, whoever put them there."""

    def __init__(
        self,
        database: Database,
        run: Runner,
        *,
        kinds: Sequence[str] = KINDS,
        concurrency: int = 1,
        pauses: Sequence[float] = PAUSES,
        heartbeat: float = HEARTBEAT,
        grace: float = GRACE,
    ) -> None:
        """`kinds`: those that are done here. `concurrency`: jobs at a time; 0: they are left to others.

        Raises BadInput without the extra.
        """
        _check_installed()
        self._database, self._run, self._concurrency, self.counts = database, run, concurrency, Counts()
        self._kinds = kinds
        self._pauses, self._heartbeat, self._grace = pauses, heartbeat, grace
        self._wanted: dict[str, Job] = {}  # not in the database yet
        self._lock, self._loop = threading.Lock(), asyncio.new_event_loop()
        self._new, self._stop = asyncio.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="sightline work", daemon=True)
        self._in_queue, self.refused = 0, ""
        self.ready = threading.Event()  # set while the database is there, and jobs are taken

    @property
    def waiting(self) -> int:
        """How many jobs waited in the database a few seconds ago, and those on their way there."""
        return self._in_queue + len(self._wanted)

    def want(self, job: Job) -> None:
        """See `Work`. Without a database it waits in memory."""
        with self._lock:
            if len(self._wanted) < MOST_WAITING:
                self._wanted.setdefault(job.key, job)
        with suppress(RuntimeError):  # it was closed
            self._loop.call_soon_threadsafe(self._new.set)

    def start(self) -> None:
        """See `Work`. Nothing is waited for."""
        self._thread.start()

    def close(self) -> None:
        """See `Work`. A job that does not end in time is put back into the queue."""
        if self._thread.ident is None:
            self._loop.close()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread.ident is not None:
            self._thread.join(3 * self._grace)  # a database that is gone is not waited for

    # ------------------------------------------------------------------ the thread

    def _work(self) -> None:
        logging.getLogger("procrastinate").setLevel(logging.CRITICAL)  # we tell what is to be told
        self._loop.set_exception_handler(lambda _, told: _log.warning("background work: %s", told.get("message")))
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._go_on())

    async def _go_on(self) -> None:
        """Work until the end. If the database is lost, it is tried again."""
        told = ""
        while not self._stop.is_set():
            try:
                await asyncio.to_thread(self._database.check_work)
                told = self.refused = ""
                await self._serve()
            except WorkRefused as error:  # until somebody grants it
                self.refused = str(error)
                if told != self.refused:
                    _log.error("background work cannot run: %s", error)
                told = self.refused
            except Exception as error:  # of a driver, of a library: whatever it is, a later attempt may do better
                if (why := _why(error)) != told and not self._stop.is_set():
                    _log.warning("background work waits for the database: %s", why)
                told = why
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), self._heartbeat if self.refused else _PAUSE)

    async def _serve(self) -> None:
        """Send, watch and work until the end, or until the database is lost. Raises what a driver raises then."""
        app = self._make_app()
        async with app.open_async():
            parts = [asyncio.ensure_future(part) for part in (self._send(app), self._watch(app))]
            if self._concurrency:
                parts.append(asyncio.ensure_future(self._run_worker(app)))
            stopped = asyncio.ensure_future(self._stop.wait())
            self.ready.set()
            try:
                done, _ = await asyncio.wait([*parts, stopped], return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            finally:
                self.ready.clear()
                await _end({*parts, stopped}, self._grace + 1)

    async def _run_worker(self, app: "App") -> None:
        await app.run_worker_async(
            queues=[_QUEUE + kind for kind in self._kinds],
            concurrency=self._concurrency,
            install_signal_handlers=False,
            fetch_job_polling_interval=min(_POLL, self._heartbeat),
            shutdown_graceful_timeout=self._grace,
            delete_jobs="always",
            update_heartbeat_interval=self._heartbeat,
            stalled_worker_timeout=_STALE * self._heartbeat,
        )

    # ------------------------------------------------------------------ in and out of the queue

    async def _send(self, app: "App") -> None:
        """Put into the queue what is wanted here."""
        while True:
            self._new.clear()
            while job := next(iter(self._wanted.values()), None):
                await _defer(app, job)
                with self._lock:
                    self._wanted.pop(job.key, None)
            await self._new.wait()

    async def _watch(self, app: "App") -> None:
        """Have jobs done again whose workers are no longer there, and count those that wait."""
        while True:
            await self._redo(app)
            queues = await app.job_manager.list_queues_async()
            self._in_queue = sum(queue["todo"] for queue in queues)
            await asyncio.sleep(self._heartbeat)

    async def _redo(self, app: "App") -> None:
        """Put jobs back whose workers are dead, one process at a time: one could be taken again between two looks."""
        from procrastinate.exceptions import ConnectorException
        from procrastinate.jobs import Status

        pool, manager = app.connector.pool, app.job_manager  # type: ignore[attr-defined]
        async with pool.connection() as connection, connection.transaction():
            lock = await connection.execute(
                "SELECT pg_try_advisory_xact_lock(hashtext(%s))", (f"sightline.redo.{self._database.address.schema}",)
            )
            if not (await lock.fetchone())[0]:
                return
            await manager.prune_stalled_workers(_STALE * self._heartbeat)
            for job in await manager.get_stalled_jobs(seconds_since_heartbeat=_STALE * self._heartbeat):
                with suppress(ConnectorException):  # its worker was only slow, and has ended it just now
                    if job.attempts < len(self._pauses):
                        await manager.retry_job(job)
                        continue
                    lost = BadInput("its workers ended in the middle of it, each time")
                    tell(_job_of(job.task_kwargs), lost, job.attempts, self._pauses, self.counts)
                    await manager.finish_job(job, Status.FAILED, delete_job=True)

    # ------------------------------------------------------------------ the library

    def _make_app(self) -> "App":
        """Return the library's application: its connections, its one task, and what is done every hour."""
        from procrastinate import App, PsycopgConnector

        path = quoted(self._database.address.schema)
        settings = f"SET search_path TO {path}; SET default_transaction_isolation TO 'read committed'".encode()

        async def configure(connection: "AsyncConnection[Any]") -> None:
            await connection.execute(settings)
            await connection.commit()

        connector = PsycopgConnector(
            conninfo=self._database.address.conninfo, configure=configure, name="sightline work", min_size=0,
            max_size=_POOL, timeout=_CONNECT_SECONDS, reconnect_timeout=_CONNECT_SECONDS,
        )  # fmt: skip
        app = App(connector=connector)
        app.job_manager = _manager_of(connector)
        app.task(name=_TASK, pass_context=True, retry=_retries(self._pauses))(self._do)

        @app.periodic(cron=_HOURLY, periodic_id=RETENTION)
        @app.task(name=RETENTION, queue=_QUEUE + RETENTION, lock=RETENTION, queueing_lock=RETENTION)
        async def retain(timestamp: int) -> None:  # noqa: ARG001 - the library's
            self.want(Job(RETENTION))

        return app

    async def _do(self, context: "JobContext", *, kind: str, session: str, tenant: str) -> None:
        """Do a job of the queue. Raises why it failed, if it is to be tried again."""
        job, stop, attempts = Job(kind, session, tenant), threading.Event(), context.job.attempts
        try:
            error = await _in_thread(lambda: attempt(self._run, job, stop))
        except asyncio.CancelledError:  # this server stops: the job goes back into the queue
            stop.set()
            raise
        if tell(job, error, attempts, self._pauses, self.counts):
            assert error is not None
            raise error

    async def put(self, jobs: Sequence[Job]) -> None:
        """Put jobs into the queue, and return when they are in it. Raises StoreError, and what a driver raises."""
        await asyncio.to_thread(self._database.check_work)
        app = self._make_app()
        async with app.open_async():
            for job in jobs:
                await _defer(app, job)


def put_jobs(database: Database, jobs: Sequence[Job]) -> bool:
    """Put jobs into the queue of a database, for its servers and workers. Whether that was done.

    Without the library, or where the role may not, they are left out: what they make is made when it is needed.
    """
    try:
        work = FleetWork(database, _do_nothing, concurrency=0)
    except BadInput:
        return False
    try:
        asyncio.run(work.put(jobs))
    except Exception as error:  # of a driver, of a library
        _log.info("nothing is done in the background: %s", _why(error))
        return False
    finally:
        work.close()
    return True


def _do_nothing(job: Job, stop: threading.Event) -> None:
    """Is never called: jobs are only put into the queue."""


async def _defer(app: "App", job: Job) -> None:
    """Put a job into the queue, unless it waits there already."""
    from procrastinate.exceptions import AlreadyEnqueued

    with suppress(AlreadyEnqueued):
        named = app.configure_task(_TASK, queue=_QUEUE + job.kind, lock=job.key, queueing_lock=job.key)
        await named.defer_async(kind=job.kind, session=job.session, tenant=job.tenant)


def _job_of(arguments: dict[str, Any]) -> Job:
    return Job(*(str(arguments.get(name, "")) for name in Job._fields))


def _manager_of(connector: Any) -> Any:
    """Return the library's manager of jobs. A job that is to be tried again, and is wanted again already, is dropped:
    the new one does the same. The library fails there, and the old job would stay as it is.
    """
    from procrastinate.exceptions import UniqueViolation
    from procrastinate.jobs import Status
    from procrastinate.manager import JobManager

    class Manager(JobManager):
        async def retry_job(self, job: Any, *arguments: Any, **options: Any) -> None:
            try:
                await super().retry_job(job, *arguments, **options)
            except UniqueViolation:
                await self.finish_job(job, Status.FAILED, delete_job=True)

    return Manager(connector)


def _retries(pauses: Sequence[float]) -> Any:
    """Return when a job that failed is tried again: later each time. One that was stopped is tried at once."""
    from procrastinate import BaseRetryStrategy, RetryDecision

    class Retries(BaseRetryStrategy):
        def get_retry_decision(self, *, exception: BaseException, job: Any) -> Any:
            if isinstance(exception, asyncio.CancelledError):
                return RetryDecision(retry_in={"seconds": 0})
            pause = pauses[min(job.attempts, len(pauses) - 1)]
            return RetryDecision(retry_in={"milliseconds": int(1000 * pause)})

    return Retries()


async def _end(tasks: set[asyncio.Future[Any]], seconds: float) -> None:
    """Cancel tasks, and wait until they have ended. One that lost its cancellation is cancelled again after so long.

    A driver loses one that comes while it takes a connection, which Python 3.12 has mended.
    """
    while tasks:
        for task in tasks:
            task.cancel()
        _, tasks = await asyncio.wait(tasks, timeout=seconds)


async def _in_thread(work: Callable[[], T]) -> T:
    """Return the result of work in a thread that nobody waits for at the end of the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def put(result: T) -> None:
        if not done.done():  # else it was cancelled
            done.set_result(result)

    def run() -> None:
        result = work()
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(put, result)

    threading.Thread(target=run, name="sightline job", daemon=True).start()
    return await done


def _why(error: BaseException) -> str:
    """Say why the database is not there, as far as the driver knows it. It says no secrets."""
    while not isinstance(error, StoreError) and error.__cause__ is not None:
        error = error.__cause__
    return said_by(error)


def _check_installed() -> None:
    try:
        import procrastinate
    except ImportError as error:
        raise NoQueue(str(error)) from error
    del procrastinate
