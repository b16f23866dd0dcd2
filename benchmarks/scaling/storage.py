"""What sessions weigh in the database, in a dump and as files, and what it costs to put them aside and back."""

import gzip
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.environment import ROOT
from benchmarks.scaling.database import Watched
from benchmarks.scaling.limits import Appends, measure_appends
from benchmarks.sessions import BUDGET, stored
from sightline.fleet.postgres import PostgresStores
from sightline.log.stores.session_folder import Folder
from sightline.log.stores.transfer import copy_session
from sightline.session.session import Session

PARTITION = ROOT / "examples" / "postgres" / "partition.sql"
TABLES = ("session", "entry", "content", "derived")
SESSIONS, MESSAGES = 10, 200


class Weight(NamedTuple):
    """Bytes of the same sessions in several forms, and seconds of moving them."""

    sessions: int
    entries: int
    logs: int
    tables: int
    derived: int
    dump: int
    dump_without_derived: int
    zipped: int  # the logs as files, compressed
    out_seconds: float
    delete_seconds: float
    back_seconds: float

    @property
    def megabytes(self) -> float:
        """Of logs."""
        return self.logs / 1e6


def measure_weight(root: Path, database: Watched, *, sessions: int = SESSIONS, messages: int = MESSAGES) -> Weight:
    """Fill a schema with agent sessions, dump it, copy all sessions to files, delete them, and bring them back."""
    (made := root / "made").mkdir(parents=True)
    (cold := root / "cold").mkdir()
    files, away = Folder(made, made), Folder(cold, cold)
    with closing(PostgresStores(database.server.url("weight"))) as stores:
        for number in range(sessions):
            copy_session(files, stores, stored(made, messages + number).path.stem)
        _derive(stores)
        database.ask(f"VACUUM FULL {', '.join(f'weight.{table}' for table in TABLES)}")
        names = stores.sessions()
        entries = database.ask("SELECT count(*) FROM weight.entry")[0][0]
        tables, derived = database.size("weight", *TABLES), database.size("weight", "derived")
        dump, less = (
            _dump(root / name, database, *options)
            for name, options in (("whole", ()), ("less", ("--exclude-table-data=weight.derived",)))
        )
        logs = sum(written.size for written in stores.written())
        out = _timed(lambda: [copy_session(stores, away, name) for name in names])
        delete = _timed(lambda: list(map(stores.delete, names)))
        back = _timed(lambda: [copy_session(away, stores, name) for name in names])
        assert sum(written.size for written in stores.written()) == logs
    zipped = sum(len(gzip.compress(path.read_bytes(), 6)) for path in cold.rglob("*.jsonl"))
    return Weight(sessions, entries, logs, tables, derived, dump, less, zipped, out, delete, back)


def _derive(stores: PostgresStores) -> None:
    """Use each session once, so that what is derived from it is there."""
    for name in stores.sessions():
        with Session.resume(name, stores=stores) as session:
            session.user("And now?")
            session.compose(BUDGET)
            session.items.search("why does it fail")


def _dump(file: Path, database: Watched, *options: str) -> int:
    database.program("pg_dump", "-Fc", "--schema=weight", *options, "-f", file)
    return file.stat().st_size


def _timed(act: Callable[[], object]) -> float:
    begun = perf_counter()
    act()
    return perf_counter() - begun


def measure_partitions(database: Watched, clients: int = 16) -> tuple[Appends, Appends]:
    """Appends to plain tables, and to tables in 64 parts."""
    make = PARTITION.read_text(encoding="utf-8").replace("'sightline'", "'parts'")
    return measure_appends(database, clients, schema="whole"), measure_appends(
        database, clients, schema="parts", make=make
    )
