"""What the database alone can do: appends, notifications, connections, updates in place. Without any Python between.

The load comes from `pgbench`, a program of PostgreSQL, with the statement that the store sends.
"""

import base64
import random
import re
import subprocess
import sys
from contextlib import ExitStack, closing
from time import perf_counter
from typing import NamedTuple

from benchmarks.environment import ROOT
from benchmarks.scaling.database import Counts, Watched
from sightline.fleet.postgres import PostgresStores

SECONDS = 4
CLIENTS = (1, 4, 16, 64)
LISTENERS = (1, 10, 40, 120)
ENTRY_BYTES = 1_000
SESSIONS = 2_000  # of which each is updated now and then
_TPS = re.compile(r"tps = ([\d.]+)")
_LATENCY = re.compile(r"latency average = ([\d.]+) ms")

_APPEND = """
\\set session :client_id + 1
\\set next :lines + 2
WITH moved AS (
    UPDATE {schema}.session SET lines = :next, bytes = bytes + {size}, tips = '{tips}', written = clock_timestamp()
    WHERE tenant = 'default' AND session = :session AND lines = :lines RETURNING session
) INSERT INTO {schema}.entry (tenant, session, seq, data)
SELECT 'default', session, :lines + place, data
FROM moved, unnest(ARRAY['{data}', '{data}']::bytea[]) WITH ORDINALITY AS line (data, place) RETURNING seq;
\\set lines :next
"""
_TOUCH = """
\\set session random(1, {sessions})
UPDATE {schema}.session SET lines = lines + 1, bytes = bytes + 1000, tips = '{tips}', written = clock_timestamp()
WHERE tenant = 'default' AND session = :session;
"""
_NOTIFY = "SELECT pg_notify('sightline_bench', repeat('x', 200));"
_LISTENER = """
import select, sys
import psycopg
connections = [psycopg.connect(sys.argv[1], autocommit=True) for _ in range(int(sys.argv[2]))]
for connection in connections:
    connection.execute("LISTEN sightline_bench")
print("ready", flush=True)
while True:
    for connection in select.select(connections, [], [])[0]:
        for _ in connection.notifies(timeout=0):
            pass
"""


class Appends(NamedTuple):
    """Appends of two entries by so many connections, each to a session of its own."""

    clients: int
    rate: float  # a second
    latency: float  # seconds
    database: Counts  # for one append


class Notices(NamedTuple):
    """Notifications by 16 connections."""

    listeners: int
    rate: float
    cpu: float  # seconds of the database for one


class InPlace(NamedTuple):
    """Updates of `session`: which share needs no change of an index, and what the table weighs then."""

    fillfactor: int
    share: float
    row_bytes: float
    updates: int


class Idle(NamedTuple):
    """A connection that does nothing."""

    private_bytes: float
    connect_seconds: float


def _tables(database: Watched, schema: str, sessions: int) -> str:
    """Make our tables, with so many sessions. Return the schema."""
    with closing(PostgresStores(database.server.url(schema))) as stores:
        stores.sessions()
    names = f"SELECT tenant, created, 's' || n FROM {schema}.tenant, generate_series(1, {sessions}) n"
    database.ask(f"INSERT INTO {schema}.session (tenant, since, name) {names}")
    return schema


def _filler() -> tuple[str, str]:
    """Bytes of an entry and of a session's tips that do not compress, as literals of bytea."""
    seeded = random.Random(5)
    data = base64.b64encode(seeded.randbytes(ENTRY_BYTES * 3 // 4)).decode()
    return data, base64.b64encode(seeded.randbytes(75)).decode()


def measure_appends(
    database: Watched, clients: int, seconds: float = SECONDS, *, schema: str = "", make: str = ""
) -> Appends:
    """Append as fast as it goes. `make` is a statement that changes the tables before."""
    schema = _tables(database, schema or f"appends_{clients}", clients)
    if make:
        database.ask(make)
    data, tips = _filler()
    script = _APPEND.format(schema=schema, size=2 * ENTRY_BYTES, data=data, tips=tips)
    options = ("-c", clients, "-j", 1, "-M", "prepared", "-D", "lines=0")
    database.program("pgbench", *options, "-t", 20, script=script)  # the first ones plan and enlarge files
    database.ask(f"UPDATE {schema}.session SET lines = 0, tips = ''")
    database.ask(f"TRUNCATE {schema}.entry")
    before = database.counts()
    said = database.program("pgbench", *options, "-T", seconds, script=script)
    counts = database.counts().since(before)
    [(lines, entries)] = database.ask(
        f"SELECT (SELECT sum(lines) FROM {schema}.session), (SELECT count(*) FROM {schema}.entry)"
    )
    assert lines == entries, "an append of the benchmark was not whole"
    return Appends(clients, _found(_TPS, said), _found(_LATENCY, said) / 1000, counts.per(entries / 2))


def measure_notices(database: Watched, listeners: int, seconds: float = SECONDS) -> Notices:
    """Notify as fast as it goes, while others listen."""
    address = f"postgresql://tests@/postgres?host={database.server.folder}"
    with ExitStack() as stack:
        listener = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", _LISTENER, address, str(listeners)], cwd=ROOT, stdout=subprocess.PIPE, text=True
            )
        )
        stack.callback(listener.kill)
        assert listener.stdout is not None
        listener.stdout.readline()
        before = database.counts()
        said = database.program("pgbench", "-c", 16, "-j", 1, "-M", "prepared", "-T", seconds, script=_NOTIFY)
        rate = _found(_TPS, said)
        used = database.counts().since(before).cpu
    return Notices(listeners, rate, used / (rate * seconds))


def measure_in_place(database: Watched, fillfactor: int, seconds: float = SECONDS) -> InPlace:
    """Update rows of `session` at random, as appends do."""
    schema = _tables(database, f"in_place_{fillfactor}", 0)
    table = f"{schema}.session"
    database.ask(f"ALTER TABLE {table} SET (fillfactor = {fillfactor})")
    _, tips = _filler()
    database.ask(
        f"INSERT INTO {table} (tenant, name, lines, tips) "
        f"SELECT 'default', 's' || n, 1, '{tips}' FROM generate_series(1, {SESSIONS}) n"
    )
    script = _TOUCH.format(schema=schema, sessions=SESSIONS, tips=tips)
    database.program("pgbench", "-c", 8, "-j", 1, "-M", "prepared", "-T", seconds, script=script)
    database.counts()
    [(updates, in_place)] = database.ask(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = %s::regclass", table
    )
    return InPlace(fillfactor, in_place / updates, database.size(schema, "session") / SESSIONS, updates)


def measure_idle(database: Watched, number: int = 20) -> Idle:
    """Open connections as the store does, use each once, and look at what they take."""
    schema = _tables(database, "idle", 1)
    with closing(PostgresStores(database.server.url(schema))) as stores, ExitStack() as stack:
        stores.sessions()
        known, begun = {each.pid for each in database.backends()}, perf_counter()
        for _ in range(number):
            connection = stack.enter_context(closing(stores.database.connect()))
            connection.execute(f"SELECT lines, tips FROM {schema}.session WHERE session = 1".encode())
        seconds = perf_counter() - begun
        new = [each for each in database.backends() if each.pid not in known]
        memory = sum(each.memory_full_info().uss for each in new) / len(new)
    return Idle(memory, seconds / number)


def _found(pattern: re.Pattern[str], said: str) -> float:
    found = pattern.search(said)
    assert found, said
    return float(found[1])
