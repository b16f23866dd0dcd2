"""Through a proxy: what it adds to a request, how soon the first byte of a stream comes, and 200 streams at once.

Every proxy is a process of its own before the same upstream, which answers at once. What a proxy adds is the time
from the last byte of a request's body until the upstream has it, and until the last byte of the answer is back, less
the same without a proxy. Ours logs the answer before it is back; before a model that takes its time to answer, the
first figure is the one that is felt. Ours is measured with its log in memory, so that the disk does not count, and once
more with its log on the disk.
"""

import asyncio
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.environment import Missing
from benchmarks.histories import Message, agent_run
from benchmarks.measure import Row, Spread, bytes_text, seconds_text, spread, spread_text, times_text
from benchmarks.proxies import Kind, Running, headroom, litellm, ours, plain, running, upstream
from benchmarks.proxy_client import Client, Taken, stream
from benchmarks.proxy_upstream import ANSWER, message_with_call

ON_DISK = "log on disk"
IN_MEMORY = Path("/dev/shm")
STEP_TARGET, STEP_TARGET_PER_BYTE = 3e-3, 0.5e-3 / 1e6
FIRST_TARGETS = {100: 5e-3, 1_000: 20e-3, 10_000: 150e-3}
SHORTENED_TARGET = 0.5e-3  # a message
WINDOW = 30_000  # tokens: small enough for all that is measured with it to be shortened
MOST_SECONDS = 20.0  # that one row of a slow peer may take
_CALL = re.compile(rb"call_\d{8}")
WARM_STEPS = 3  # not counted
PARAMETERS = {"type": "object", "properties": {"first": {"type": "integer"}}}
TOOL = {"type": "function", "function": {"name": "read_rows", "description": "Reads.", "parameters": PARAMETERS}}

Say = Callable[[str], None]


class Sizes(NamedTuple):
    """How much is measured."""

    bodies: tuple[int, ...] = (100_000, 1_000_000, 4_000_000)  # bytes of an agent's step
    first: tuple[int, ...] = (100, 1_000, 10_000)  # messages at first sight
    steps: int = 30
    streams: int = 200
    rounds: int = 3


FULL = Sizes()
QUICK = Sizes(bodies=(100_000, 1_000_000), first=(100, 1_000), steps=15, streams=50)


class Measured(NamedTuple):
    """What was measured of one proxy: samples by size."""

    steps: dict[int, list[Taken]]
    step_cpu: dict[int, float]  # seconds of CPU for one
    first: dict[int, list[Taken]]
    streamed: list[Taken]
    load: "Load | None"


class Load(NamedTuple):
    """Many streams at once."""

    seconds: float
    failed: list[str]
    memory: int
    before: int


def compare_proxies(root: Path, say: Say, sizes: Sizes, kinds: Sequence[Kind] | None = None) -> list[Row]:
    """Measure proxies one after another, all of them unless `kinds` says which."""
    if kinds is None:
        shortened = ours(f"ours, --window {WINDOW}", "--window", str(WINDOW))
        kinds = [ours(), ours(f"ours, {ON_DISK}"), shortened, plain(), litellm(), headroom()]
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else root) as fast, upstream() as direct:
        say("the upstream without a proxy")
        base = _measured(direct, sizes, direct.port)
        found: dict[str, Measured | str] = {}
        for number, kind in enumerate(kinds):
            say(f"a proxy: {kind.name}")
            folder = root if ON_DISK in kind.name else Path(fast)
            found[kind.name] = _tried(kind, folder / f"proxy-{number}", direct.port, sizes)
    return [*_step_rows(sizes, base, found), *_first_rows(sizes, base, found), *_stream_rows(sizes, base, found)]


def _tried(kind: Kind, folder: Path, upstream_port: int, sizes: Sizes) -> Measured | str:
    try:
        with running(kind, folder, upstream_port) as proxy:
            return _measured(proxy, sizes, upstream_port)
    except (Missing, OSError) as missing:
        return str(missing)


# ---------------------------------------------------------------------- one proxy


_numbers = count(1)


class Conversation:
    """A history that nobody has seen, and goes on from step to step as an agent's does."""

    def __init__(self, history: Sequence[Message], *, model: str = "bench") -> None:
        self._number = next(_numbers)
        self._messages = [{"role": "user", "content": f"Task {self._number} of this run."}, *history]
        self._fields: dict[str, Any] = {"model": model, "max_tokens": 1000, "tools": [TOOL]}

    def body(self, *, streams: bool = False) -> bytes:
        """Return the next request."""
        fields = self._fields | ({"stream": True} if streams else {})
        return json.dumps(fields | {"messages": self._messages}, ensure_ascii=False).encode()

    def go_on(self) -> None:
        """Take the answer of a stream, and say something more."""
        text = f"Step {len(self._messages)} of task {self._number}: look at the next rows. " * 20
        self._messages += [{"role": "assistant", "content": ANSWER}, {"role": "user", "content": text}]

    def give_result(self, said: bytes) -> None:
        """Take an answer with a call, and answer the call."""
        found = _CALL.search(said)
        assert found, said
        call = found[0].decode()
        text = "".join(f"row {at} of task {self._number}: {at * len(self._messages) % 997}\n" for at in range(100))
        self._messages += [message_with_call(call), {"role": "tool", "tool_call_id": call, "content": text}]


def _history(messages: int = 0, size: int = 0) -> list[Message]:
    """Return an agent's history of so many messages, or of so many bytes, in which every call is answered."""
    found = agent_run(messages or size // 1500 + 100)[1:]  # without the system prompt
    if size:
        sizes = iter([len(json.dumps(each, ensure_ascii=False).encode()) + 2 for each in found])
        total, length = 0, 0
        while total < size and (more := next(sizes, None)) is not None:
            total, length = total + more, length + 1
        found = found[:length]
    while found and found[-1]["role"] != "assistant":
        found.pop()
    return found[:-1]


def _measured(proxy: Running, sizes: Sizes, upstream_port: int) -> Measured:
    steps, cpu = {}, {}
    with Client(proxy.port, upstream_port) as client:
        for size in sizes.bodies:
            steps[size], cpu[size] = _steps(proxy, client, size, sizes.steps)
        first = {number: _first_sight(proxy, client, number) for number in sizes.first}
        streamed = _streamed(client, sizes)
    return Measured(steps, cpu, first, streamed, asyncio.run(_load(proxy, sizes)))


def _steps(proxy: Running, client: Client, size: int, steps: int) -> tuple[list[Taken], float]:
    """Go on with one conversation. Return the times of each step, and the CPU of one."""
    talk, taken = Conversation(_history(size=size)), []
    client.ask(talk.body())
    proxy.settle()
    begun, used = perf_counter(), 0.0
    for at in range(steps + WARM_STEPS):
        talk.give_result(client.said)
        body = talk.body()
        if at == WARM_STEPS:
            used = proxy.cpu()
        if at > WARM_STEPS and perf_counter() - begun > MOST_SECONDS:
            break
        taken.append(client.ask(body))
    proxy.settle()
    return taken[WARM_STEPS:], (proxy.cpu() - used) / len(taken[WARM_STEPS:])


def _first_sight(proxy: Running, client: Client, messages: int) -> list[Taken]:
    """Send histories that nobody has seen."""
    history, taken, begun = _history(messages=messages), [], perf_counter()
    for _ in range(max(3, min(15, 10_000 // messages))):
        body = Conversation(history).body()
        proxy.settle()
        taken.append(client.ask(body))
        if perf_counter() - begun > MOST_SECONDS:
            break
    return taken


def _streamed(client: Client, sizes: Sizes) -> list[Taken]:
    talk, taken = Conversation(_history(size=sizes.bodies[0])), []
    for _ in range(sizes.steps):
        taken.append(client.ask(talk.body(streams=True)))
        talk.go_on()
    return taken[WARM_STEPS:]


async def _load(proxy: Running, sizes: Sizes) -> Load:
    """Stream in many conversations at once, several times in each."""
    bodies = []
    for talk in (Conversation([], model="slow-bench") for _ in range(sizes.streams)):
        bodies.append([])
        for _ in range(sizes.rounds):
            bodies[-1].append(talk.body(streams=True))
            talk.go_on()
    before = peak = proxy.memory()
    begun = perf_counter()
    work = asyncio.gather(*(stream(proxy.port, each) for each in bodies))
    while not work.done():
        peak = max(peak, proxy.memory())
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(work), 0.1)
    failed = [each for found in await work for each in found]
    return Load(perf_counter() - begun, failed, max(peak, proxy.memory()), before)


# ---------------------------------------------------------------------- rows


def _each(topic: str, found: dict[str, Measured | str]) -> Iterator[tuple[str, Measured | Row]]:
    """Yield what was measured by name; a row that says why, for those that could not be."""
    for name, measured in found.items():
        yield name, measured if isinstance(measured, Measured) else Row(topic, name, "missing", note=measured)


def _added(samples: Sequence[float], base: Sequence[float]) -> Spread:
    """Return what these times have above those without a proxy."""
    without = median(base)
    return spread([max(0.0, each - without) for each in samples])


def _row(topic: str, what: str, added: Spread, target: float | None, note: str) -> Row:
    if target is None:
        return Row(topic, what, spread_text(added), added.median, note=note)
    ratio, limit = times_text(added.median / target), f"≤ {seconds_text(target)}"
    return Row(topic, what, spread_text(added), added.median, limit, added.median <= target, ratio, note)


def _step_rows(sizes: Sizes, base: Measured, found: dict[str, Measured | str]) -> list[Row]:
    topic, rows = "the proxy: added to an agent's step until the model has it", []
    for name, measured in _each(topic, found):
        if isinstance(measured, Row):
            rows.append(measured)
            continue
        for size in sizes.bodies:
            target = STEP_TARGET + STEP_TARGET_PER_BYTE * size if name.startswith("ours") else None
            target = None if ON_DISK in name else target
            note = f"{seconds_text(measured.step_cpu[size])} of CPU"
            what = f"{name}: {bytes_text(size)}"
            rows.append(_added_row(topic, what, measured.steps[size], base.steps[size], target, note))
    return rows


def _added_row(
    topic: str, what: str, taken: Sequence[Taken], base: Sequence[Taken], target: float | None, note: str = ""
) -> Row:
    """Return the row of what is added until the upstream has a request. Its note says what until the answer is back."""
    given = _added([each.given for each in taken], [each.given for each in base])
    whole = _added([each.whole for each in taken], [each.whole for each in base])
    told = f"until the answer is back {spread_text(whole)}", note, f"{given.samples} times"
    return _row(topic, what, given, target, "; ".join(filter(None, told)))


def _first_rows(sizes: Sizes, base: Measured, found: dict[str, Measured | str]) -> list[Row]:
    topic, rows = "the proxy: added at first sight of a history until the model has it", []
    for name, measured in _each(topic, found):
        if isinstance(measured, Row):
            continue
        for number in sizes.first:
            target = FIRST_TARGETS.get(number) if name == "ours" else None
            target = SHORTENED_TARGET * number if "window" in name else target
            what = f"{name}: {number:,} messages"
            rows.append(_added_row(topic, what, measured.first[number], base.first[number], target))
    return rows


def _stream_rows(sizes: Sizes, base: Measured, found: dict[str, Measured | str]) -> list[Row]:
    first, load, rows, loads = "the proxy: added before the first streamed byte", "the proxy: streams at once", [], []
    for name, measured in _each(first, found):
        if isinstance(measured, Row):
            continue
        added = _added([each.first for each in measured.streamed], [each.first for each in base.streamed])
        rows.append(_row(first, f"{name}: {bytes_text(sizes.bodies[0])}", added, None, f"{added.samples} streams"))
        loads.append(_load_row(load, name, sizes, measured.load, base.load))
    return [*rows, *loads]


def _load_row(topic: str, name: str, sizes: Sizes, load: Load | None, base: Load | None) -> Row:
    assert load is not None
    assert base is not None
    errors = f"{len(load.failed)} errors" + (f" ({load.failed[0]})" if load.failed else "")
    memory = f"peak memory {bytes_text(load.memory)}, {bytes_text(load.memory - load.before)} more than before"
    what = f"{name}: {sizes.streams} at once, {sizes.rounds} times"
    met = not load.failed if name.startswith("ours") else None
    measured = f"{seconds_text(load.seconds)}, {errors}"
    target = "no error" if met is not None else ""
    without = f"{seconds_text(base.seconds)} without a proxy"
    return Row(topic, what, measured, load.seconds, target, met, note=f"{memory}; {without}")
