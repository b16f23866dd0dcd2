"""From what was measured to what was not: the simulation with measured costs, and arithmetic for a large fleet."""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from benchmarks.scaling.database import Counts
from benchmarks.scaling.fleet import Load, percentile
from benchmarks.scaling.limits import Appends, Notices
from benchmarks.scaling.simulation import Costs, Failure, Fleet, Shape

LAN = 0.0005  # seconds for a round trip between two machines
LOCAL = 0.0001  # on one
BUSY = 0.5  # share of its core that a server is loaded with
THINK, MODEL = 1.0, 1.0  # seconds; real ones are longer, which means more conversations at the same rate
DATABASE_CORES = 16
TROUBLE = [
    Failure(10.0, "server", 0, 10.0), Failure(10.5, "server", 1, 10.0), Failure(25.0, "database", 0, 8.0),
    Failure(45.0, "network", 0, 4.0),
]  # fmt: skip
TROUBLE_SECONDS = 60.0


class Compared(NamedTuple):
    """A figure as it was measured and as the simulation has it."""

    load: Load
    simulated: float

    @property
    def error(self) -> float:
        """The share by which the simulation is too high."""
        return self.simulated / self.load.rate - 1


class Forecast(NamedTuple):
    """What the simulation says of a fleet."""

    shape: Shape
    offered: float  # turns a second that clients would ask for if answers took no time but the model's
    rate: float
    median: float  # seconds above the model's own
    high: float  # 99 of 100 are faster, above the model's own too
    database_busy: float  # share
    faults: int


def costs_of(loads: Sequence[Load], appends: Sequence[Appends], notices: Sequence[Notices]) -> Costs:
    """The times of service, from what was measured."""
    stay = next(load for load in loads if load.processes == 1)
    moving = next(load for load in loads if load.moves)
    beside = next(load for load in loads if load.processes == moving.processes and not load.moves)
    append = min(appends, key=lambda each: each.database.cpu).database.cpu
    alone, many = notices[0], notices[-1]
    listener = (many.cpu - alone.cpu) / (many.listeners - alone.listeners)
    notify = max(alone.cpu - listener, 1e-5)
    reads = max(1, round(stay.database.commits) - 4)
    flush = appends[0].database
    return Costs(
        server=stay.server_cpu, append=append, notify=notify, listener=listener, other=stay.other_cpu,
        read=max((stay.database.cpu - 3 * append - notify) / reads, 2e-5), reads=reads,
        flush=flush.flush_seconds / flush.flushes, round_trip=LAN,
        reads_moved=max(0, round(moving.database.commits - beside.database.commits)),
        moved=max(0.0, moving.server_cpu - beside.server_cpu),
    )  # fmt: skip


def compare(loads: Sequence[Load], costs: Costs, cores: int, seconds: float = 6.0) -> list[Compared]:
    """Each load that was measured, beside the same in the simulation: on one machine with so many cores."""
    found = []
    for load in loads:
        talks = load.talks // load.processes
        shape = Shape(servers=load.processes, talks=talks, moves=load.moves, shared_cores=cores)
        slower = cores / max(cores - load.foreign, 0.2)  # other programs leave less of each core
        fleet = Fleet(shape, _slower(costs._replace(round_trip=LOCAL), slower)).run(seconds)
        found.append(Compared(load, sum(at > seconds / 3 for at, _ in fleet.latencies) / (seconds * 2 / 3)))
    return found


def _slower(costs: Costs, times: float) -> Costs:
    names = ("server", "append", "read", "notify", "other", "moved")
    return costs._replace(**{name: getattr(costs, name) * times for name in names})


def shape_of(servers: int, databases: int, costs: Costs, listeners: int = 0) -> Shape:
    """Servers that are each loaded to the same share."""
    talks = round(BUSY / costs.server * (THINK + MODEL))
    return Shape(servers, databases, DATABASE_CORES, talks, THINK, MODEL, listeners=listeners)


def forecast(shape: Shape, costs: Costs, seconds: float) -> Forecast:
    """Let a fleet run, and look at it when the first answers have come."""
    fleet, start = Fleet(shape, costs).run(MODEL + 0.5), MODEL + 0.5
    used = sum(database.cores.used for database in fleet.databases)
    fleet.run(start + seconds)
    later = [taken for at, taken in fleet.latencies if at > start] or [seconds]
    used = sum(database.cores.used for database in fleet.databases) - used
    busy = used / seconds / shape.databases / shape.database_cores
    return Forecast(
        shape, shape.servers * shape.talks / (THINK + MODEL), len(later) / seconds,
        percentile(later, 0.5) - MODEL, percentile(later, 0.99) - MODEL, min(1.0, busy),
        fleet.faults().total() + fleet.unlogged(),
    )  # fmt: skip


def fleets(costs: Costs, *, is_quick: bool = False) -> list[Forecast]:
    """1 to 1,000 servers on one database, and the largest on as many as it needs."""
    sizes = (1, 10, 50) if is_quick else (1, 10, 100, 300)
    found = [forecast(shape_of(size, 1, costs), costs, 10.0 if size < 100 else 2.0) for size in sizes]
    watched = sizes[-1] // 3
    found.append(forecast(shape_of(watched, 1, costs, listeners=watched), costs, 2.0))
    if not is_quick:
        found.append(forecast(shape_of(1000, 1, costs), costs, 1.0))
        found.append(forecast(shape_of(1000, needed_databases(1000, costs), costs), costs, 1.0))
    return found


def trouble(costs: Costs, servers: int = 10) -> Fleet:
    """A minute in which two servers, the database and the network fail."""
    return Fleet(shape_of(servers, 1, costs), costs, TROUBLE).run(TROUBLE_SECONDS)


def turn_cpu(costs: Costs) -> float:
    """Seconds of the database's CPU for one turn."""
    return 3 * costs.append + costs.reads * costs.read + costs.notify


def needed_databases(servers: int, costs: Costs) -> int:
    """Databases of 16 cores, each loaded to six tenths, for servers that are each loaded to the half."""
    return ceil(servers * BUSY / costs.server * turn_cpu(costs) / (DATABASE_CORES * 0.6))


class Plan(NamedTuple):
    """The arithmetic of a fleet."""

    servers: int
    rate: float  # turns a second
    databases: int
    cores: float  # of databases
    wal: float  # bytes a second of one database
    flight: float  # statements of one server that wait at a time
    entries_a_day: float


def plan(servers: int, costs: Costs, turn: Counts, entries: float) -> Plan:
    """How many databases, and what each of them gets."""
    rate = servers * BUSY / costs.server
    databases = needed_databases(servers, costs)
    waits = 3 * (costs.flush * 1.5 + costs.round_trip) + (costs.reads + 1) * costs.round_trip
    return Plan(
        servers, rate, databases, rate * turn_cpu(costs), rate * turn.wal_bytes / databases,
        rate / servers * waits, rate * entries * 86_400,
    )  # fmt: skip
