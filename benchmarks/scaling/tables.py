"""The tables of docs/scaling.md, as Markdown."""

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.measure import Row, bytes_text, seconds_text, times_text
from benchmarks.scaling.fleet import Load, percentile
from benchmarks.scaling.forecast import (
    DATABASE_CORES,
    TROUBLE,
    TROUBLE_SECONDS,
    Compared,
    Forecast,
    plan,
    turn_cpu,
)
from benchmarks.scaling.limits import Appends, Idle, InPlace, Notices
from benchmarks.scaling.simulation import Costs, Fleet
from benchmarks.scaling.storage import Weight

BILLION = 1e9
PARTS = 64
POOL = 4
MOVING, STAYING = "to the next process each turn", "to one process"


class Results(NamedTuple):
    """Everything that was measured and simulated."""

    rows: list[Row]  # of `benchmarks.postgres`
    loads: list[Load]
    appends: list[Appends]
    parts: tuple[Appends, Appends]
    notices: list[Notices]
    in_place: list[InPlace]
    idle: Idle
    weight: Weight
    costs: Costs
    compared: list[Compared]
    forecasts: list[Forecast]
    troubled: Fleet


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def fleet_rows(loads: Sequence[Load]) -> list[Row]:
    """The rows of `make bench`."""
    topic = "turns per second through `sightline serve` on one PostgreSQL, 24 conversations at once"
    return [
        Row(
            topic, f"{load.processes} processes, each conversation {MOVING if load.moves else STAYING}",
            f"{load.rate:,.0f}", load.rate,
            note=f"CPU of a turn: servers {seconds_text(load.server_cpu)}, database {seconds_text(load.database.cpu)}; "
            f"median {seconds_text(percentile(load.latencies, 0.5))}; log {bytes_text(load.database.wal_bytes)}",
        )
        for load in loads
    ]  # fmt: skip


def turns_table(loads: Sequence[Load]) -> str:
    """Turns through servers."""
    headings = (
        "processes", "a conversation goes", "turns/s", "median", "99 of 100 within", "CPU of servers",
        "CPU of the database", "log written", "flushes", "statements", "entries",
    )  # fmt: skip
    return table(headings, [
        (
            str(load.processes), MOVING if load.moves else STAYING, f"{load.rate:.0f}",
            seconds_text(percentile(load.latencies, 0.5)), seconds_text(percentile(load.latencies, 0.99)),
            seconds_text(load.server_cpu), seconds_text(load.database.cpu), bytes_text(load.database.wal_bytes),
            f"{load.database.flushes:.1f}", f"{load.database.commits:.1f}", f"{load.entries:.1f}",
        )
        for load in loads
    ])  # fmt: skip


def rows_table(rows: Sequence[Row]) -> str:
    """Rows of `make bench`, with their topics."""
    cells = [(row.topic, row.what, row.measured, row.target, row.ratio) for row in rows]
    return table(("", "what", "measured", "target", "ratio"), cells)


def appends_table(appends: Sequence[Appends]) -> str:
    """What the database does without Python."""
    return table(
        ("connections", "appends/s", "latency", "CPU of one", "log of one", "appends in one flush"),
        [
            (
                str(each.clients), f"{each.rate:,.0f}", seconds_text(each.latency), seconds_text(each.database.cpu),
                bytes_text(each.database.wal_bytes), f"{1 / each.database.flushes:.1f}",
            )
            for each in appends
        ],
    )  # fmt: skip


def notices_table(notices: Sequence[Notices]) -> str:
    """What an event costs."""
    cells = [(str(each.listeners), f"{each.rate:,.0f}", seconds_text(each.cpu)) for each in notices]
    return table(("listeners", "events/s at most", "CPU of one"), cells)


def saturation_table(found: Results) -> str:
    """What a turn takes of each thing, and what that allows."""
    costs, stay = found.costs, found.loads[0]
    best = max(found.appends, key=lambda each: each.rate)
    database = stay.database.cpu
    alone = 3 * costs.flush
    cells = [
        ("a server process (one core, because of Python)", f"{seconds_text(stay.server_cpu)} of CPU",
         f"{1 / stay.server_cpu:,.0f}", f"{database / stay.server_cpu:.2f} cores of the database"),
        ("a core of the database", f"{seconds_text(database)} of CPU", f"{1 / database:,.0f}",
         f"{stay.server_cpu / database:.0f} server processes at full load"),
        ("flushes, one conversation alone", f"3 × {seconds_text(costs.flush)}", f"{1 / alone:,.0f}",
         "only a faster disk helps"),
        (f"flushes, {best.clients} conversations at once", f"{3 * best.database.flushes:.2f} flushes",
         f"{1 / (3 * best.database.flushes * costs.flush):,.0f}", "commits share a flush"),
        ("a log device of 100 MB/s", bytes_text(stay.database.wal_bytes), f"{100e6 / stay.database.wal_bytes:,.0f}",
         "pages written after a checkpoint come on top"),
    ]  # fmt: skip
    return table(("what", "a turn takes", "turns/s at most", ""), cells)


def compared_table(compared: Sequence[Compared]) -> str:
    """The simulation beside the measurement."""
    return table(
        ("processes", "a conversation goes", "measured turns/s", "other programs used", "simulated", "error"),
        [
            (
                str(each.load.processes), MOVING if each.load.moves else STAYING, f"{each.load.rate:.0f}",
                f"{each.load.foreign:.1f} cores", f"{each.simulated:.0f}", f"{each.error * 100:+.0f} %",
            )
            for each in compared
        ],
    )  # fmt: skip


def costs_table(costs: Costs) -> str:
    """What the simulation was given."""
    told = {
        "CPU of a server for a turn": costs.server, "more, if another server wrote to the session": costs.moved,
        "CPU of the database for an append": costs.append, "for a read": costs.read, "for an event": costs.notify,
        "for an event, for each listener": costs.listener, "a flush": costs.flush, "a round trip": costs.round_trip,
    }  # fmt: skip
    return table(("what", "takes"), [(name, seconds_text(value)) for name, value in told.items()])


def forecasts_table(forecasts: Sequence[Forecast]) -> str:
    """Fleets of several sizes."""
    return table(
        ("servers", "databases", "listeners", "turns/s", "of those asked for", "median added",
         "added at most to 99 of 100", "database busy", "lost or doubled"),
        [
            (
                f"{each.shape.servers:,}", str(each.shape.databases), str(each.shape.listeners), f"{each.rate:,.0f}",
                _percent(min(1.0, each.rate / each.offered)), seconds_text(max(0.0, each.median)),
                seconds_text(max(0.0, each.high)), _percent(each.database_busy), str(each.faults),
            )
            for each in forecasts
        ],
    )  # fmt: skip


def trouble_table(fleet: Fleet) -> str:
    """What happened in the minute with failures."""
    names = {
        "server": "a server is killed",
        "database": "the database fails over",
        "network": "the network stands still",
    }
    cells = [
        (
            f"{each.at:g} s", names[each.kind], f"{each.seconds:g} s",
            f"{answered(fleet, each.at, each.at + each.seconds):,.0f}",
        )
        for each in TROUBLE
    ]  # fmt: skip
    quiet = answered(fleet, 2.0, TROUBLE[0].at)
    told = table(("at", "what", "for", "answers/s meanwhile"), cells)
    taken = [seconds for _, seconds in fleet.latencies]
    facts = [
        ("answers", f"{len(taken):,} in {TROUBLE_SECONDS:g} s; {quiet:,.0f} a second when all is well"),
        ("requests that clients sent again", f"{fleet.retries:,}"),
        ("longest wait for an answer", seconds_text(max(taken))),
        ("99 of 100 answers within", seconds_text(percentile(taken, 0.99))),
        ("entries acknowledged", f"{fleet.told('acknowledged'):,}"),
        ("of these lost", str(fleet.faults()["acknowledged and lost"])),
        ("doubled", str(sum(number for name, number in fleet.faults().items() if "twice" in name))),
        ("answers that a client has and the log has not", str(fleet.unlogged())),
    ]  # fmt: skip
    return f"{told}\n\n{table(('in all', ''), facts)}"


def answered(fleet: Fleet, start: float, end: float) -> float:
    """Answers a second between two times."""
    return sum(start < at <= end for at, _ in fleet.latencies) / (end - start)


def storage_table(weight: Weight, in_place: Sequence[InPlace], parts: tuple[Appends, Appends], idle: Idle) -> str:
    """What things weigh, and what moving them costs."""
    each, whole = weight.entries, weight.logs
    cells = [
        ("an entry in the log", bytes_text(whole / each), ""),
        ("an entry in the database, with indexes and derived data", bytes_text(weight.tables / each),
         times_text(weight.tables / whole)),
        ("of that derived data, which can be made again", bytes_text(weight.derived / each),
         times_text(weight.derived / whole)),
        ("an entry in a dump (`pg_dump -Fc`)", bytes_text(weight.dump / each), times_text(weight.dump / whole)),
        ("an entry in a dump without `derived`", bytes_text(weight.dump_without_derived / each),
         times_text(weight.dump_without_derived / whole)),
        ("an entry in a file, compressed with gzip", bytes_text(weight.zipped / each),
         times_text(weight.zipped / whole)),
        ("copying to files", f"{weight.megabytes / weight.out_seconds:.1f} MB/s", ""),
        ("deleting from the database", f"{weight.megabytes / weight.delete_seconds:.1f} MB/s", ""),
        ("copying back", f"{weight.megabytes / weight.back_seconds:.1f} MB/s", ""),
        *((f"updates of `session` in place, fillfactor {each.fillfactor}", f"{each.share * 100:.1f} %",
           f"{each.row_bytes:.0f} B a row after {each.updates:,} updates") for each in in_place),
        ("an append to plain tables", f"{seconds_text(parts[0].database.cpu)} of CPU", ""),
        (f"an append to tables in {PARTS} parts", f"{seconds_text(parts[1].database.cpu)} of CPU",
         times_text(parts[1].database.cpu / parts[0].database.cpu)),
        ("memory of a connection that waits", bytes_text(idle.private_bytes), ""),
        ("opening a connection", seconds_text(idle.connect_seconds), ""),
    ]  # fmt: skip
    return table(("what", "", "of the log"), cells)


def arithmetic_table(found: Results) -> str:
    """A thousand machines, a billion entries."""
    stay, weight, servers = found.loads[0], found.weight, 1000
    fleet = plan(servers, found.costs, stay.database, stay.entries)
    size = weight.tables / weight.entries * BILLION
    per_database = ceil_to(servers / fleet.databases)
    connections = per_database * POOL
    cells = [
        ("turns", f"{servers:,} servers × ½ ÷ {seconds_text(found.costs.server)}", f"{fleet.rate:,.0f} a second"),
        ("CPU of databases", f"{fleet.rate:,.0f} × {seconds_text(turn_cpu(found.costs))}", f"{fleet.cores:.0f} cores"),
        ("databases", f"{fleet.cores:.0f} cores ÷ ({DATABASE_CORES} × 0.6)", str(fleet.databases)),
        ("servers on one database", f"{servers:,} ÷ {fleet.databases}", str(per_database)),
        ("log of one database", f"{bytes_text(stay.database.wal_bytes)} a turn", f"{bytes_text(fleet.wal)}/s"),
        ("statements that one server waits for", "rate × time of its statements", f"{fleet.flight:.1f} at a time"),
        ("connections of one database", f"{per_database} × `pool={POOL}`", f"{connections:,}"),
        ("their memory", f"{connections:,} × {bytes_text(found.idle.private_bytes)}",
         bytes_text(connections * found.idle.private_bytes)),
        ("new entries", f"{stay.entries:.1f} a turn", f"{fleet.entries_a_day / 1e9:.1f} billion a day"),
        ("a billion entries take", "at that rate, all day", f"{BILLION / fleet.entries_a_day * 24:.1f} hours"),
        ("their size in databases", f"10⁹ × {bytes_text(weight.tables / weight.entries)}", terabytes(size)),
        ("one part", f"÷ {fleet.databases} databases ÷ {PARTS} parts", bytes_text(size / fleet.databases / PARTS)),
        ("their dump, without what is derived", f"10⁹ × {bytes_text(weight.dump_without_derived / weight.entries)}",
         terabytes(weight.dump_without_derived / weight.entries * BILLION)),
        ("the same as compressed files in cold storage", f"10⁹ × {bytes_text(weight.zipped / weight.entries)}",
         terabytes(weight.zipped / weight.entries * BILLION)),
    ]  # fmt: skip
    return table(("what", "from", ""), cells)


def ceil_to(value: float) -> int:
    """The next whole number."""
    return -int(-value // 1)


def terabytes(count: float) -> str:
    """Bytes as TB where they are that many."""
    return f"{count / 1e12:.2f} TB" if count >= 1e12 else bytes_text(count)
