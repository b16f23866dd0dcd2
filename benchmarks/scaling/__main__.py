"""`python -m benchmarks.scaling`: measure on a PostgreSQL of the tests, simulate, and print the tables as Markdown.

With `--docs` docs/scaling.md and its picture are written too. With `--quick` everything is smaller, to try it out.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

from benchmarks import postgres, report
from benchmarks.environment import ROOT
from benchmarks.scaling import fleet, forecast, limits, page, storage
from benchmarks.scaling.database import Watched, watched
from benchmarks.scaling.tables import Results

WORK = ROOT / ".cache"  # on the project's own disk


def main() -> None:
    """Measure, print, and write the page if it is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter and smaller")
    parser.add_argument("--docs", action="store_true", help="write docs/scaling.md and docs/pictures/scaling.svg")
    arguments = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="scaling-", dir=WORK))
    try:
        with watched() as database:
            found = measure(root, database, is_quick=arguments.quick, say=_say)
            version = database.ask("SHOW server_version")[0][0]
    finally:
        shutil.rmtree(root, ignore_errors=True)
    command = f"python -m benchmarks.scaling{' --quick' if arguments.quick else ''} --docs"
    about = report.facts(date.today().isoformat(), command, {})
    about.pop("peers")
    about["PostgreSQL"] = f"{version}, on the same machine; fsync, full_page_writes and synchronous_commit are on"
    if arguments.docs:
        page.write(found, about, ROOT / "docs" / "scaling.md")
    print(page.tables_of(found, about))


def _say(text: str) -> None:
    print(f"{text} …", file=sys.stderr, flush=True)


def measure(root: Path, database: Watched, *, is_quick: bool, say: Callable[[str], None]) -> Results:
    """Measure everything, then simulate with what was measured."""
    say("appends, compose, opening, disk, processes with the library")
    address = f"postgresql://tests@/postgres?host={database.server.folder}"
    rows = postgres.comparing(root / "library", address, 1_000 if is_quick else postgres.MESSAGES)
    say("turns through servers")
    loads = fleet.measure_fleet(root / "fleet", database, rounds=1 if is_quick else fleet.ROUNDS)
    seconds = 1 if is_quick else limits.SECONDS
    say("the database alone")
    appends = [limits.measure_appends(database, clients, seconds) for clients in limits.CLIENTS]
    notices = [limits.measure_notices(database, number, seconds) for number in limits.LISTENERS]
    in_place = [limits.measure_in_place(database, fillfactor, seconds) for fillfactor in (50, 100)]
    idle, parts = limits.measure_idle(database), storage.measure_partitions(database)
    say("storage")
    weight = storage.measure_weight(root / "weight", database, sessions=3 if is_quick else storage.SESSIONS)
    say("the simulation")
    costs = forecast.costs_of(loads, appends, notices)
    compared = forecast.compare(loads, costs, fleet.cores())
    forecasts = forecast.fleets(costs, is_quick=is_quick)
    troubled = forecast.trouble(costs)
    return Results(rows, loads, appends, parts, notices, in_place, idle, weight, costs, compared, forecasts, troubled)


if __name__ == "__main__":
    main()
