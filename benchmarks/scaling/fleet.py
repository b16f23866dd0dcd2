"""Turns per second through real `sightline serve` processes on one database, and what each turn costs whom."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import psutil

from benchmarks.environment import Missing
from benchmarks.proxies import Running, ours, running, upstream
from benchmarks.proxy import Conversation
from benchmarks.proxy_client import Answer, head
from benchmarks.scaling.database import Counts, Watched

TALKS, TURNS, ROUNDS = 24, 8, 3
PROCESSES = (1, 2, 4)
_TRIES, _SECONDS = 3, 60.0  # of an answer that does not come


class Load(NamedTuple):
    """What was measured of so many processes under one load."""

    processes: int
    moves: bool  # each turn of a conversation goes to the next process
    talks: int
    turns: int
    seconds: float
    latencies: list[float]
    server_cpu: float  # seconds for one turn
    other_cpu: float  # seconds for one turn, of the clients and the model's server
    database: Counts  # for one turn
    entries: float  # for one turn
    foreign: float  # cores that other programs of the machine used meanwhile

    @property
    def rate(self) -> float:
        """Turns per second."""
        return self.turns / self.seconds


def measure_fleet(root: Path, database: Watched, *, rounds: int = ROUNDS, turns: int = TURNS) -> list[Load]:
    """Measure 1, 2 and 4 processes: the median of several rounds by their rate."""
    found = []
    kinds = [(count, moves) for moves in (False, True) for count in PROCESSES if count > 1 or not moves]
    for count, moves in kinds:
        tries: list[Load] = []
        for at in range(rounds * _TRIES):
            with suppress(Missing, OSError, TimeoutError):  # on a busy machine somebody may not answer in time
                tries.append(one_load(root / f"{count}-{moves}-{at}", database, count, moves=moves, turns=turns))
            if len(tries) == rounds:
                break
        if not tries:
            raise Missing(f"{count} processes did not answer")
        found.append(sorted(tries, key=lambda load: load.rate)[len(tries) // 2])
    return found


def one_load(root: Path, database: Watched, count: int, *, moves: bool, talks: int = TALKS, turns: int = TURNS) -> Load:
    """Have conversations through so many processes, all at once. The first turn of each is not counted."""
    url = database.server.url(f"fleet_{abs(hash(str(root))) % 10**9}")
    with ExitStack() as stack:
        model = stack.enter_context(upstream())
        served = [
            stack.enter_context(running(ours(f"server {at}", "--store", url), root / str(at), model.port))
            for at in range(count)
        ]
        others = [psutil.Process(), *_upstreams()]
        bodies = [_bodies(turns + 1) for _ in range(talks)]
        ports = [server.port for server in served]
        asyncio.run(_converse(ports, bodies, slice(0, 1), moves=moves))
        for server in served:
            server.settle()
        before, used, theirs, entries = database.counts(), _cpu(served), _used(others), _entries(database, url)
        begun, busy, ours_before = perf_counter(), _busy(), _cpu(served) + _used(others) + database.cpu()
        latencies = asyncio.run(_converse(ports, bodies, slice(1, None), moves=moves))
        seconds, busy = perf_counter() - begun, _busy() - busy
        foreign = busy - (_cpu(served) + _used(others) + database.cpu() - ours_before)
        done, theirs = len(latencies), _used(others) - theirs
        for server in served:
            server.settle()
        counts = database.counts().since(before).per(done)
        cpu, entries = (_cpu(served) - used) / done, (_entries(database, url) - entries) / done
    foreign = max(0.0, foreign / seconds)
    return Load(count, moves, talks, done, seconds, latencies, cpu, theirs / done, counts, entries, foreign)


def _entries(database: Watched, url: str) -> float:
    schema = url.partition("schema=")[2]
    return float(database.ask(f"SELECT count(*) FROM {schema}.entry")[0][0])


def _busy() -> float:
    """Seconds of CPU that the machine has used."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq + times.steal)


def _upstreams() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "benchmarks.proxy_upstream" in child.cmdline()]


def _cpu(served: Sequence[Running]) -> float:
    return sum(server.cpu() for server in served)


def _used(processes: Sequence[psutil.Process]) -> float:
    return float(sum(sum(each.cpu_times()[:2]) for each in processes))


def _bodies(turns: int) -> list[bytes]:
    """The requests of one conversation: the answers are known, so they can be made before."""
    talk, bodies = Conversation([], model="bench"), []
    for _ in range(turns):
        bodies.append(talk.body(streams=True))
        talk.go_on()
    return bodies


async def _converse(
    ports: Sequence[int], bodies: Sequence[Sequence[bytes]], part: slice, *, moves: bool
) -> list[float]:
    """Send these turns of all conversations at once, each after the answer to the one before. Return their seconds."""

    async def talk(number: int) -> list[float]:
        connections: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        taken = []
        for turn, body in list(enumerate(bodies[number]))[part]:
            port = ports[(number + (turn if moves else 0)) % len(ports)]
            if port not in connections:
                connections[port] = await asyncio.open_connection("127.0.0.1", port)
            reader, writer = connections[port]
            begun = perf_counter()
            writer.write(head(len(body)) + body)
            answer = Answer()
            while not answer.is_whole:
                if not (data := await asyncio.wait_for(reader.read(1 << 16), _SECONDS)):
                    raise Missing("the connection was closed in the middle of an answer")
                answer.add(data)
            answer.check()
            taken.append(perf_counter() - begun)
        for _, writer in connections.values():
            writer.close()
        return taken

    return [each for taken in await asyncio.gather(*map(talk, range(len(bodies)))) for each in taken]


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample below which this share lies."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))
