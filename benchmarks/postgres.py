"""Sessions in PostgreSQL beside those in files: appending, composing, opening, disk, and several processes at once.

`python -m benchmarks.postgres [postgresql://…]` measures on this database, else on a server of the tests' own.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter

from benchmarks.durability import TURN_BYTES, timed_turn
from benchmarks.environment import ROOT
from benchmarks.histories import chat_turns
from benchmarks.measure import Row, bytes_text, seconds_text, spread, spread_text, times_text
from benchmarks.sessions import Stored, stored
from sightline.fleet.postgres import PostgresStores
from sightline.log.stores import Stores
from sightline.log.stores.session_folder import Folder
from sightline.log.stores.transfer import copy_session
from sightline.session.session import Session

TURNS = 100
MESSAGES = 10_000
SIZE_TARGET = 1.5
PROCESSES = (1, 2, 4)
_SCHEMA = "sightline_bench"
_PROBE = f"""
import sys, time
from benchmarks.sessions import BUDGET
from sightline import PostgresStores, Session
stores = PostgresStores(sys.argv[1])
begun = time.perf_counter()
with Session.resume("run-{MESSAGES}", stores=stores) as session:
    session.user("And now?")
    session.compose(BUDGET)
    taken = time.perf_counter() - begun
    session.items.search("why does it fail")  # so that there is an index
print(taken)
"""
_WORKER = """
import sys, time
from benchmarks.durability import TURN_BYTES, timed_turn
from benchmarks.histories import chat_turns
from sightline import PostgresStores, Session
history = chat_turns(60, TURN_BYTES)
session = Session.new(stores=PostgresStores(sys.argv[1]))
timed_turn(session, *history[:2])
print("ready", flush=True)
sys.stdin.readline()
for pair in zip(history[2::2], history[3::2]):
    timed_turn(session, *pair)
print("done", flush=True)
"""


def comparing(root: Path, url: str, messages: int = MESSAGES) -> list[Row]:
    """Measure everything. The schema of the benchmark is made anew, and dropped at the end."""
    with _database(url) as stores:
        address = f"{url}{'&' if '?' in url else '?'}schema={_SCHEMA}"
        return [*_turns(root, stores), *_opening(root, stores, address, messages), *_processes(address)]


@contextmanager
def _database(url: str) -> Iterator[PostgresStores]:
    with closing(PostgresStores(f"{url}{'&' if '?' in url else '?'}schema={_SCHEMA}")) as stores:
        drop = f"DROP SCHEMA IF EXISTS {_SCHEMA} CASCADE".encode()
        with closing(stores.database.connect()) as connection:
            connection.execute(drop)
            yield stores
            connection.execute(drop)


def _turns(root: Path, stores: PostgresStores) -> list[Row]:
    topic, history, rows = "a turn of 4 KB, in files and in PostgreSQL", chat_turns(TURNS, TURN_BYTES), []
    kinds: list[tuple[str, Stores]] = [("files", Folder.at(root / "turns")), ("PostgreSQL", stores)]
    medians = []
    for name, kind in kinds:
        with Session.new(stores=kind) as session:
            taken = [timed_turn(session, *pair) for pair in zip(history[::2], history[1::2], strict=True)]
        for at, what in enumerate(("append of the user's message", "compose", "append of the reply")):
            found = spread([each[at] for each in taken])
            medians.append(found.median)
            ratio = times_text(found.median / medians[at]) if name != "files" else ""
            rows.append(Row(topic, f"{name}: {what}", spread_text(found), found.median, ratio=ratio))
    return rows


def _opening(root: Path, stores: PostgresStores, address: str, messages: int) -> list[Row]:
    topic = f"a session of {messages:,} messages in PostgreSQL"
    root.mkdir(exist_ok=True)
    log: Stored = stored(root, messages)
    begun = perf_counter()
    copy_session(Folder(root, root), stores, log.path.stem)
    copied = perf_counter() - begun
    rows = [Row(topic, "copied from files", seconds_text(copied), copied, note=bytes_text(log.path.stat().st_size))]
    for what in ("first compose in a new process, nothing derived yet", "the same, with derived data"):
        done = subprocess.run(
            [sys.executable, "-c", _PROBE.replace(str(MESSAGES), str(messages)), address],
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        taken = float(done.stdout)
        rows.append(Row(topic, what, seconds_text(taken), taken, note="resume, a message, compose"))
    return [*rows, *_weight(stores, topic)]


def _weight(stores: PostgresStores, topic: str) -> list[Row]:
    tables = ("session", "entry", "content", "derived")
    with closing(stores.database.connect()) as connection:
        connection.execute(f"VACUUM FULL {', '.join(f'{_SCHEMA}.{table}' for table in tables)}".encode())
        sizes = {
            table: connection.execute("SELECT pg_total_relation_size(%s)", (f"{_SCHEMA}.{table}",)).fetchall()[0][0]
            for table in tables
        }
    content, whole = sum(written.size for written in stores.written()), sum(sizes.values())
    parts = ", ".join(f"{table} {bytes_text(size)}" for table, size in sizes.items())
    return [
        Row(
            topic, "size of the database", bytes_text(whole), whole, f"≤ {SIZE_TARGET}×",
            whole <= SIZE_TARGET * content, times_text(whole / content), f"logs {bytes_text(content)}; {parts}",
        )
    ]  # fmt: skip


def _processes(address: str) -> list[Row]:
    topic, rows = "turns per second on one PostgreSQL, a session in each process", []
    for count in PROCESSES:
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", _WORKER, address],
                cwd=ROOT,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for _ in range(count)
        ]
        for worker in workers:
            assert worker.stdout is not None
            worker.stdout.readline()
        begun = perf_counter()
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        for worker in workers:
            worker.communicate()
        rate = count * 59 / (perf_counter() - begun)
        rows.append(Row(topic, "1 process" if count == 1 else f"{count} processes", f"{rate:,.0f}", rate))
    return rows


def measured(root: Path) -> list[Row]:
    """Measure on a server of the tests, with everything that makes it durable: the library, then real servers."""
    from benchmarks.scaling.database import watched
    from benchmarks.scaling.fleet import measure_fleet
    from benchmarks.scaling.tables import fleet_rows

    with watched() as database:
        rows = comparing(root, f"postgresql://tests@/postgres?host={database.server.folder}")
        return [*rows, *fleet_rows(measure_fleet(root / "fleet", database, rounds=1))]


def main() -> None:
    """Print the rows."""
    from rich.console import Console

    from benchmarks import report

    with tempfile.TemporaryDirectory() as directory:
        rows = comparing(Path(directory), sys.argv[1]) if len(sys.argv) > 1 else measured(Path(directory))
    report.print_table(rows, {}, Console(width=160))


if __name__ == "__main__":
    main()
