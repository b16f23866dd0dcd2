"""Timing, and what samples say. Standard library only: the peers' environment imports it too."""

import gc
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import log
from multiprocessing import get_context
from statistics import median
from time import perf_counter
from typing import NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Spread(NamedTuple):
    """The median of some samples, and how far they are spread."""

    median: float
    low: float  # a tenth of the samples lie below
    high: float  # a tenth lie above
    samples: int


class Row(NamedTuple):
    """One line of the report. `met` is None if there is no target."""

    topic: str
    what: str
    measured: str
    value: float | None = None  # seconds, bytes or a number, for those who compare runs
    target: str = ""
    met: bool | None = None
    ratio: str = ""
    note: str = ""


def alone(work: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """Measure in a process of its own, where nothing is in memory that others have left there."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(work, *arguments, **named).result()


def times(work: Callable[[], object], repeats: int) -> list[float]:
    """Seconds of each of `repeats` runs."""
    samples = []
    for _ in range(repeats):
        begun = perf_counter()
        work()
        samples.append(perf_counter() - begun)
    return samples


def spread(samples: Sequence[float]) -> Spread:
    """Median and tenths. Raises ValueError without samples."""
    ordered = sorted(samples)
    if not ordered:
        raise ValueError("nothing was measured")
    last = len(ordered) - 1
    return Spread(median(ordered), ordered[round(last * 0.1)], ordered[round(last * 0.9)], len(ordered))


def beyond_n_log_n(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the last figure divided by what n log n growth from the first would give; 1 is exactly that growth."""
    first, last = sizes[0], sizes[-1]
    expected = (last * log(last)) / (first * log(first))
    return seconds[-1] / seconds[0] / expected


def noise(rounds: int = 20) -> Spread:
    """Time a fixed piece of work, which shows how much this machine's times vary by themselves."""
    value = [{"number": number, "text": "x" * 50} for number in range(2000)]
    gc.disable()  # what else is in memory must not count
    try:
        return spread(times(lambda: json.loads(json.dumps(value)), rounds))
    finally:
        gc.enable()


def seconds_text(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def bytes_text(count: float) -> str:
    """Three digits and a unit, in powers of ten."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{_three_digits(count / size)} {unit}"
    return f"{count:.0f} B"


def spread_text(found: Spread) -> str:
    """Median, and where the middle eight tenths lie."""
    return f"{seconds_text(found.median)} ({seconds_text(found.low)} – {seconds_text(found.high)})"


def times_text(ratio: float) -> str:
    """How many times."""
    return f"{_three_digits(ratio)}×"


def _three_digits(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
