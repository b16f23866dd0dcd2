"""Connections to PostgreSQL: a pool, and what happens when a connection is lost.

A process has one pool for all tenants. A connection that another tenant used last gets the new one's name before its
first statement, and that name is what row-level security compares with.

A statement is one transaction. Reading is tried again when a connection is lost, as long as `PATIENCE` says. Of a
statement that writes nobody knows then whether it was done, so its caller is told, and decides.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sightline.errors import StoreError
from sightline.fleet import work_schema
from sightline.fleet.address import check_tenant, read_address
from sightline.fleet.errors import (
    LoginRefused,
    NoDriver,
    TablesRefused,
    UnknownParameter,
    UnknownTenant,
    Unreachable,
)
from sightline.fleet.schema import migrate, quoted

if TYPE_CHECKING:
    import psycopg
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

PATIENCE = 30.0  # seconds that a lost database is waited for
_WAIT = 1.0  # seconds for a connection of the pool, after which one that the database refused is asked for anew
_SPARED = 2  # connections that no single tenant of a server takes, so that others and tokens always find one
_PAUSE = 0.1  # seconds between two attempts
_ATTEMPTS = 5  # if others are in the way
_LIMITS = {"statement_timeout": "60s", "idle_in_transaction_session_timeout": "60s"}  # unless the server has its own
_NEEDED = "INSERT {s}.session UPDATE {s}.session INSERT {s}.entry INSERT {s}.content INSERT {s}.derived"
_WRITABLE = """SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool, ARRAY(
        SELECT array_to_string(needed, ' ') FROM regexp_matches(%s, '(\\S+) (\\S+)', 'g') AS needed
        WHERE NOT has_table_privilege(needed[2], needed[1])
    )"""

Rows = list[tuple[Any, ...]]
Values = Sequence[Any] | Mapping[str, Any]  # of a statement's %s, or of its %(name)s
T = TypeVar("T")

_FRESH = 10.0  # seconds after which it is no longer known that the database is away

_BACKEND = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"


class Lost(Exception):
    """The connection was lost. `sent`: the statement may have been done."""

    def __init__(self, why: str, *, sent: bool) -> None:
        self.why, self.sent = why, sent
        super().__init__(why)


class Undone(Lost):
    """The statement and another one were in each other's way, and this one gave up. Nothing of it was done."""

    def __init__(self, why: str) -> None:
        super().__init__(why, sent=False)


class Failed(Exception):
    """The database refused a statement. Nothing of it was done."""


class Taken(Failed):
    """It was refused because there is a row of this key."""


class Bound(Failed):
    """It was refused because of what belongs to a tenant: the tenant is gone, or still has something."""


class Database:
    """One database with our tables in it. May be used by any number of threads. It connects when it is first used."""

    def __init__(self, url: str, *, patience: float = PATIENCE) -> None:
        """Read the address. Raises BadInput if it is none, or psycopg is not installed."""
        self.address, self.patience = read_address(url), patience
        _check_installed()
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict

        try:
            conninfo_to_dict(self.address.conninfo)
        except ProgrammingError:
            raise UnknownParameter(self.address.shown) from None
        self._shared, self._is_view, self._operator = Pool(), False, ""
        self._share: threading.Semaphore | None = None

    def for_tenant(self, tenant: str, told: str = "", since: datetime | None = None) -> Self:
        """The same connections for another tenant. `close` of what is returned does nothing. Raises BadInput.

        `told`: this is for a tenant of a server. Errors call the database so, and do not repeat what it said, and the
        tenant never has all connections at once. `since`: when the tenant was created. Then nothing is begun for a
        later tenant of the same name.
        """
        view = self._view(check_tenant(tenant))
        view.address = view.address._replace(told=told, since=since)
        if told:
            view._share = self._shared.share_of(tenant, max(1, self.address.pool - _SPARED))
        return view

    def for_operator(self) -> Self:
        """The same connections for whoever administers tenants. They see no tenant's sessions."""
        return self._view("", "on")

    def _view(self, tenant: str, operator: str = "") -> Self:
        view = copy(self)
        view.address = self.address._replace(tenant=tenant, since=None)
        view._is_view, view._operator, view._share = True, operator, None
        return view

    def sql(self, text: str) -> bytes:
        """A statement, with our schema in it."""
        return text.format(s=quoted(self.address.schema)).encode()

    def read(self, statement: bytes, values: Values = (), *, wait: bool = True) -> Rows:
        """What a statement returns that changes nothing. With `wait` it is tried again if the connection is lost.

        Raises StoreError.
        """
        try:
            return self.with_patience(lambda: self.run(statement, values), None if wait else 0.0)
        except (Lost, Failed) as error:
            raise StoreError(f"cannot read {self.address.shown}: {error}") from error

    def run(self, statement: bytes, values: Values = ()) -> Rows:
        """Run a statement once, and return its rows. Raises Lost, Failed."""
        with self.connection() as connection:
            cursor = connection.execute(statement, values, binary=True)
            return cursor.fetchall() if cursor.description else []

    def with_patience(self, act: Callable[[], T], seconds: float | None = None) -> T:
        """Do something until the database is there, or our patience ends. Only for what may be done twice.

        Raises Lost, Failed.
        """
        end = self.end_of_patience() if seconds is None else time.monotonic() + seconds
        while True:
            try:
                return act()
            except Lost:
                if time.monotonic() >= end:
                    raise
                self.pause()

    def end_of_patience(self) -> float:
        """Until when a database that is lost is waited for: `patience` seconds after it was lost."""
        return self._shared.end_of_patience(self.patience)

    def again_if_undone(self, act: Callable[[], T]) -> T:
        """Do something, a few times if others were in its way. Raises Lost, Failed."""
        for _ in range(_ATTEMPTS):
            try:
                return act()
            except Undone:
                time.sleep(_PAUSE)
        return act()

    def check_writable(self) -> None:
        """Ask whether sessions can be written now. Raises StoreError, with the reason. Waits for nothing."""
        needed = self.sql(_NEEDED).decode()
        try:
            with self.connection() as connection:
                [(is_read_only, missing)] = connection.execute(_WRITABLE, (needed,)).fetchall()
                if is_read_only:
                    connection.close()  # another one may be with the database that has taken its place
        except (Lost, Failed) as error:
            raise StoreError(f"cannot read {self.address.shown}: {error}") from error
        if is_read_only:
            raise StoreError(f"{self.address.shown} is read-only: is it a standby?")
        if missing:
            raise StoreError(f"the role of {self.address.shown} has not all rights: {', '.join(missing)}")

    def pause(self) -> None:
        """Wait a moment for a database that was lost, and let go of connections that are dead."""
        time.sleep(_PAUSE)
        if (pool := self._shared.opened) is not None:
            pool.check()

    @contextmanager
    def connection(self) -> "Iterator[Connection[Any]]":
        """A connection of the pool. Raises Lost, Failed."""
        share = self._share
        if share is not None and not share.acquire(timeout=_WAIT):
            raise Lost("all connections that a tenant may have are in use", sent=False)
        try:
            with self._pooled() as connection:
                yield connection
        finally:
            if share is not None:
                share.release()

    @contextmanager
    def _pooled(self) -> "Iterator[Connection[Any]]":
        import psycopg
        from psycopg_pool import PoolClosed, PoolTimeout

        pool = self._opened()
        try:
            connection = pool.getconn(timeout=_WAIT)
        except PoolClosed as error:
            raise Failed("it was closed") from error
        except (PoolTimeout, psycopg.OperationalError) as error:
            self._shared.note_lost()
            raise Lost(self._why(error), sent=False) from error
        is_entered, is_new = False, connection not in self._shared.settings
        try:
            self._enter(connection)
            is_entered = True
            yield connection
            self._shared.note_found()
        except psycopg.Error as error:
            if isinstance(error, psycopg.errors.SerializationFailure | psycopg.errors.DeadlockDetected):
                raise Undone(said_by(error)) from error
            if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
                connection.close()  # it may be with a standby now, and a new one with the database that can be written
                raise (Failed(said_by(error)) if is_new else Lost(said_by(error), sent=False)) from error
            if connection.closed or not is_entered or isinstance(error, _gone()):
                connection.close()
                self._shared.note_lost()
                raise Lost(self._why(error), sent=is_entered) from error
            self._shared.note_found()
            if isinstance(error, psycopg.errors.ForeignKeyViolation):
                raise Bound(tenant_deleted(self.address.tenant)) from error
            is_taken = isinstance(error, psycopg.errors.UniqueViolation)
            raise (Taken if is_taken else Failed)(self._why(error)) from error
        finally:
            pool.putconn(connection)

    def connect(self) -> "Connection[Any]":
        """A connection of its own, outside the pool, which the caller closes. Raises StoreError."""
        import psycopg

        try:
            connection: Connection[Any] = psycopg.connect(self.address.conninfo, autocommit=True)
            _limit(connection)
            self._set(connection)
        except psycopg.Error as error:
            kind = Unreachable if is_away(self.address.conninfo, error) else LoginRefused
            raise kind(self.address.shown, self._why(error)) from error
        return connection

    def check_work(self) -> None:
        """Make all tables that are missing. Raises WorkRefused if our role may do no background work, StoreError."""
        import psycopg

        with self.connect() as connection:
            try:
                migrate(connection, self.address.schema)  # which makes the schema
                if not work_schema.is_installed():
                    return
                work_schema.migrate(connection, self.address.schema)
                work_schema.check_rights(connection, self.address.schema)
            except psycopg.Error as error:
                raise StoreError(f"cannot look at the queue in {self.address.shown}: {self._why(error)}") from error

    def require(self, check: "Callable[[Connection[Any]], None]") -> None:
        """Have this asked when the database is first reached. If it raises StoreError, nothing is done with it."""
        self._shared.check = check

    def _why(self, error: BaseException) -> str:
        return type(error).__name__ if self.address.told else said_by(error)

    def close(self) -> None:
        """Close all connections, unless others share them. A second call does nothing."""
        with self._shared.lock:
            if self._shared.closer is not None and not self._is_view:
                self._shared.closer()

    def _opened(self) -> "ConnectionPool[Connection[Any]]":
        shared = self._shared
        with shared.lock:
            if shared.opened is None or shared.owner != os.getpid():
                if shared.unreachable is not None and time.monotonic() - shared.unreachable[0] < _WAIT:
                    # Who waited for the lock need not wait for the network.
                    raise Unreachable(self.address.shown, self._why(shared.unreachable[1]))
                try:
                    shared.opened = self._open()
                except Unreachable as error:
                    shared.unreachable = time.monotonic(), error.__cause__ or error
                    raise
                shared.owner, shared.closer = os.getpid(), weakref.finalize(shared, shared.opened.close)
            return shared.opened

    def _open(self) -> "ConnectionPool[Connection[Any]]":
        """Connect once, so that a wrong password is told as such and at once. Then look at the tables. Then pool."""
        import psycopg
        from psycopg_pool import ConnectionPool

        with self.connect() as connection:
            try:
                check_own(connection, self.address.conninfo)
                migrate(connection, self.address.schema)
            except psycopg.Error as error:
                raise TablesRefused(self.address.shown, self._why(error)) from error
            self._check_tenant(connection)
            if self._shared.check is not None:
                self._shared.check(connection)
            if work_schema.is_installed():
                with suppress(StoreError, psycopg.Error):  # whoever does background work is told, and tells it
                    work_schema.migrate(connection, self.address.schema)
        return ConnectionPool(
            self.address.conninfo, min_size=0, max_size=self.address.pool, kwargs={"autocommit": True},
            configure=_limit, name="sightline", num_workers=1, max_idle=60.0, reconnect_timeout=_WAIT, open=True,
        )  # fmt: skip

    def _check_tenant(self, connection: "Connection[Any]") -> None:
        """Raise UnknownTenant if the address names a tenant that is not there. The tenants of a server come later."""
        name = self.address.tenant
        statement = self.sql("SELECT FROM {s}.tenant WHERE tenant = %s AND ended IS NULL")
        if not self._is_view and not connection.execute(statement, (name,)).fetchall():
            raise UnknownTenant(name)

    def _enter(self, connection: "Connection[Any]") -> None:
        """Have a connection of the pool act for this tenant. Costs nothing if it did so already."""
        wanted = (self.address.tenant, self._operator)
        if self._shared.settings.get(connection) != wanted:
            self._set(connection)
            self._shared.settings[connection] = wanted

    def _set(self, connection: "Connection[Any]") -> None:
        # In a transaction of its own: if one that fails had it in it, the connection would have its old tenant again.
        connection.execute(
            "SELECT set_config('sightline.tenant', %s, false), set_config('sightline.operator', %s, false)",
            (self.address.tenant, self._operator),
        )


def tenant_deleted(name: str) -> str:
    """Say why nothing can be begun for a tenant."""
    return f"the tenant {name!r} was deleted or never created"


def _limit(connection: "Connection[Any]") -> None:
    """Set the limits of a new connection, unless the server has its own, and the level that our statements need."""
    connection.execute(
        "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS given(name, value) "
        "WHERE current_setting(name) = '0' "
        "UNION ALL SELECT set_config('default_transaction_isolation', 'read committed', false)",
        (list(_LIMITS), list(_LIMITS.values())),
    )


def _gone() -> tuple[type[Exception], ...]:
    """Errors after which another connection may do better, although this one is not closed yet."""
    from psycopg import errors

    return errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow


def said_by(error: BaseException) -> str:
    """The first line of what the database or its driver said. It has no secrets."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _check_installed() -> None:
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        raise NoDriver(str(error)) from error
    del psycopg, psycopg_pool


class Pool:
    """The connections of one process, and whose settings each of them has."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.opened: ConnectionPool[Connection[Any]] | None = None
        self.owner = 0  # the process that has the pool: a fork needs its own
        self.closer: weakref.finalize[..., Any] | None = None
        self.check: Callable[[Connection[Any]], None] | None = None  # raises StoreError if it may not be used
        self.unreachable: tuple[float, BaseException] | None = None  # when it was not reached, and what libpq said
        self._lost: tuple[float, float] | None = None  # when the database was lost, and when that was seen last
        self.settings: weakref.WeakKeyDictionary[Connection[Any], tuple[str, str]] = weakref.WeakKeyDictionary()
        self.shares: weakref.WeakValueDictionary[str, threading.Semaphore] = weakref.WeakValueDictionary()

    def share_of(self, tenant: str, most: int) -> threading.Semaphore:
        """What counts the connections that a tenant has now, in all views for it."""
        with self.lock:
            return self.shares.setdefault(tenant, threading.Semaphore(most))

    def note_lost(self) -> None:
        """Remember that the database is away now."""
        now, lost = time.monotonic(), self._lost
        self._lost = lost[0] if lost is not None and now - lost[1] < _FRESH else now, now

    def note_found(self) -> None:
        """Remember that the database is there."""
        self._lost = None

    def end_of_patience(self, seconds: float) -> float:
        """Until when it is waited for. That begins when the database was lost, so that not everybody waits for it."""
        now, lost = time.monotonic(), self._lost
        return now + seconds if lost is None or now - lost[1] >= _FRESH else lost[0] + seconds


def is_away(conninfo: str, error: "psycopg.Error") -> bool:
    """Whether a connection failed because nobody was there, and not because the database refused it."""
    import psycopg

    if isinstance(error, psycopg.errors.ConnectionTimeout):
        return True
    if psycopg.pq.PGconn.ping(conninfo.encode()) != psycopg.pq.Ping.OK:
        return True
    try:  # without what the address asks for, such as one of several that can be written
        psycopg.connect(conninfo, target_session_attrs="any").close()
    except psycopg.Error:
        return False
    return True


def check_own(connection: "psycopg.Connection[Any]", conninfo: str) -> None:
    """Raise StoreError if others get the session of this connection between its statements, as from some poolers.

    The settings of one, such as its tenant, would be those of another then, and answers would be wrong.
    """
    import psycopg

    mine = connection.execute(_BACKEND).fetchall()
    if mine and mine[0][0] == connection.info.backend_pid:
        return  # there is no pooler: it would have told a number of its own
    with psycopg.connect(conninfo) as other:  # whose transaction keeps what it gets
        if other.execute(_BACKEND).fetchall() != mine and connection.execute(_BACKEND).fetchall() == mine:
            return
    raise StoreError(
        "a pooler before the database shares a session among connections, so that answers could be wrong; "
        "set its pool_mode to session, or connect without it"
    )
