"""Calling a composer: as it is, timed, with what it returns checked."""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.quality.messages import Message

NO_LIMIT = 10**9
_BUCKETS = (8_000, 32_000, 128_000)
BUCKET_NAMES = ("<8k", "8-32k", "32-128k", ">128k")

Composer = Any
"""A function `compose(history, query, budget)`, or a class or object with `start(session_id)` and `compose`.

It returns messages, or (messages, {handle: indexes of the history messages it brings back}).
"""
Composers = Mapping[str, Composer]
Tick = Callable[[int, int], None]
Row = dict[str, Any]
Handles = Mapping[str, Sequence[int]]  # and the messages of the history that each brings back
Times = list[tuple[int, float]]  # tokens of the history, seconds


class Failed(RuntimeError):
    """A composer raised."""

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(name, why)

    def __str__(self) -> str:
        return f"composer {self.name} failed in {self.why}"


class Composed(NamedTuple):
    """The result of one call."""

    messages: list[Message]
    handles: Handles
    seconds: float


def silent(_done: int, _total: int) -> None:
    """Report no progress."""


def is_stateful(composer: Composer) -> bool:
    """Return whether a composer keeps state between calls."""
    return isinstance(composer, type) or hasattr(composer, "compose")


class Opened:
    """A composer in one session."""

    def __init__(self, composer: Composer, session: str, name: str = "") -> None:
        self._session, self._name = session, name
        self.composer = composer() if isinstance(composer, type) else composer
        if is_stateful(composer) and hasattr(self.composer, "start"):
            self.composer.start(session)
        self._compose = self.composer.compose if is_stateful(composer) else composer

    def __call__(self, history: list[Message], query: str, budget: int) -> Composed:
        """One call.

        Raises:
            Failed: the composer raised.
            ValueError: a handle that cannot be one.
        """
        begun = perf_counter()
        try:
            found = self._compose(history, query, budget)
        except Exception as error:
            where = f"session {self._session} with {len(history)} messages and budget {budget}"
            raise Failed(self._name, f"{where}: {error!r}") from error
        # who works in a process of its own says how long it took there: the pipe between is ours
        seconds = getattr(self.composer, "seconds", perf_counter() - begun)
        messages, handles = found if isinstance(found, tuple) else (found, None)
        for handle, indexes in (handles or {}).items():
            if len(handle) < 2 or any(not 0 <= index < len(history) for index in indexes):
                asked = f"has at least 2 characters and points at indexes of the history (0 to {len(history) - 1})"
                raise ValueError(f"composer {self._name}: handle {handle!r} -> {list(indexes)[:5]}: a handle {asked}")
        return Composed(messages, handles or {}, seconds)

    def close(self) -> None:
        """End the session."""
        if is_stateful(self.composer) and hasattr(self.composer, "close"):
            self.composer.close()


def shown_handles(handles: Handles, text: str) -> list[str]:
    """Return the handles that occur in a text as separate words."""
    return [
        handle
        for handle in handles
        if handle in text and re.search(rf"(?<![A-Za-z0-9_]){re.escape(handle)}(?![A-Za-z0-9_])", text)
    ]


class Tally:
    """Sums of one row."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = defaultdict(float)
        self.problems: dict[str, int] = defaultdict(int)
        self.times: Times = []

    def add(self, **amounts: float) -> None:
        """Add to the sums."""
        for name, amount in amounts.items():
            self.sums[name] += amount

    def called(self, tokens: int, history: int, seconds: float, problems: Sequence[str]) -> None:
        """One call of the composer."""
        self.add(n=1, tokens=tokens, invalid=bool(problems))
        self.times.append((history, seconds))
        for problem in problems:
            self.problems[problem] += 1

    def __getitem__(self, name: str) -> float:
        return self.sums[name]

    def per(self, name: str, count: str = "n") -> float | None:
        """Return a mean; None if nothing was counted."""
        return self.sums[name] / self.sums[count] if self.sums[count] else None

    def usual(self) -> Row:
        """Return the figures that every part has about its calls."""
        problems = {name: count / self.sums["n"] for name, count in self.problems.items()}
        return {
            "tokens": self.per("tokens"),
            "invalid": self.per("invalid"),
            "problems": problems,
            **timing(self.times),
        }


def joined(tallies: Iterable[Tally]) -> Tally:
    """Return the sums of several rows as those of one."""
    out = Tally()
    for each in tallies:
        out.add(**each.sums)
        out.times += each.times
        for problem, count in each.problems.items():
            out.problems[problem] += count
    return out


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which this share of the samples lies; None without samples."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def timing(times: Times) -> Row:
    """Median and 95th percentile, also by history length, and how time grows with it.

    growth is the slope of log(time) over log(history tokens): 0 the same at any length, 1 linear. None where the
    lengths span less than a factor of 4.
    """
    by: dict[str, list[float]] = defaultdict(list)
    for tokens, seconds in times:
        by[BUCKET_NAMES[bisect(_BUCKETS, tokens)]].append(1000 * seconds)
    millis = [1000 * seconds for _, seconds in times]
    return {
        "ms_p50": quantile(millis, 0.5),
        "ms_p95": quantile(millis, 0.95),
        "growth": _growth(times),
        "ms_by_history": {
            name: {"n": len(by[name]), "p50": quantile(by[name], 0.5), "p95": quantile(by[name], 0.95)}
            for name in BUCKET_NAMES
            if name in by
        },
    }


def _growth(times: Times) -> float | None:
    tokens = [each for each, _ in times]
    if len(times) < 20 or (quantile(tokens, 0.95) or 0) < 4 * max(1, quantile(tokens, 0.05) or 0):
        return None
    xs, ys = [log(max(1, each)) for each in tokens], [log(max(1e-6, seconds)) for _, seconds in times]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    pairs = [(x - mean_x, y - mean_y) for x, y in zip(xs, ys, strict=True)]
    return sum(x * y for x, y in pairs) / sum(x * x for x, _ in pairs)
