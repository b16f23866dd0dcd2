"""A PostgreSQL of the tests that is durable, and what it counts: CPU, log, flushes, commits."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import sleep
from typing import Any, NamedTuple

import psutil
from tests.postgres_server import PostgresServer

DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "shared_buffers": "128MB"}
SETTINGS = {**DURABLE, "max_connections": "200", "track_io_timing": "on", "track_wal_io_timing": "on"}


class Counts(NamedTuple):
    """What a server has used since its start."""

    cpu: float  # seconds, of all its processes
    wal_bytes: float
    flushes: float  # of its log
    flush_seconds: float
    commits: float

    def since(self, before: "Counts") -> "Counts":
        """What was used after `before`."""
        return Counts(*(after - earlier for after, earlier in zip(self, before, strict=True)))

    def per(self, number: float) -> "Counts":
        """What one of so many used."""
        return Counts(*(each / number for each in self))


class Watched:
    """A server and its counters."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self._process = psutil.Process(int((server.folder / "data" / "postmaster.pid").read_text().split()[0]))

    def cpu(self) -> float:
        """Seconds of CPU of the server's processes, those that have ended included."""
        times = self._process.cpu_times()
        used = times.user + times.system + times.children_user + times.children_system
        for child in self._process.children():
            with suppress(psutil.NoSuchProcess):
                used += sum(child.cpu_times()[:2])
        return float(used)

    def counts(self) -> Counts:
        """Read the counters. Processes of the server report within a second, so this waits for them."""
        sleep(1.2)
        cpu = self.cpu()
        [(wal, commits)] = self.ask(
            "SELECT pg_current_wal_insert_lsn() - '0/0', (SELECT sum(xact_commit) FROM pg_stat_database)"
        )
        [(flushes, seconds)] = self.ask(
            "SELECT sum(fsyncs), sum(fsync_time) / 1000 FROM pg_stat_io WHERE object = 'wal'"
        )
        return Counts(cpu, float(wal), float(flushes or 0), float(seconds or 0), float(commits))

    def ask(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement."""
        with self.server.connect() as connection:
            cursor = connection.execute(sql.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def backends(self) -> list[psutil.Process]:
        """The processes that serve clients now."""
        client = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
        pids = self.ask(f"SELECT pid FROM pg_stat_activity WHERE {client}")
        return [psutil.Process(pid) for (pid,) in pids]

    def program(self, name: str, *arguments: object, script: str = "") -> str:
        """Run a program of PostgreSQL as a client of this server. Return what it printed."""
        role = "tests" if name == "pgbench" else "admin"  # a dump needs one that sees the rows of all tenants
        command = [self.server.program(name), *map(str, arguments), "-h", self.server.folder, "-U", role]
        if name == "pgbench":
            file = self.server.folder / "script.sql"
            file.write_text(script)
            command += ["-n", "-f", file]
        tenant = {**os.environ, "PGOPTIONS": "-c sightline.tenant=default"}
        done = subprocess.run([*map(str, command), "postgres"], capture_output=True, text=True, check=True, env=tenant)
        return done.stdout

    def size(self, schema: str, *tables: str) -> int:
        """The bytes of tables with their indexes."""
        names = [f"{schema}.{table}" for table in tables]
        return int(
            self.ask("SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS name", names)[0][0]
        )


@contextmanager
def watched(**settings: str) -> Iterator[Watched]:
    """A server of its own, with everything that makes it durable."""
    server = PostgresServer.make(**SETTINGS, **settings)
    try:
        yield Watched(server)
    finally:
        server.delete()
