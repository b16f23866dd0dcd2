"""What is measured: which datasets at which budgets, and how many records of each half."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from benchmarks.quality import compactions, constraints, evidence, gists, replay, slots
from benchmarks.quality import datasets as sets
from benchmarks.quality.baseline_gists import GISTS
from benchmarks.quality.baselines import BASELINES, BY_PART, full
from benchmarks.quality.composer_calls import Composers, Failed, Row, is_stateful
from benchmarks.quality.splits import HALVES

OURS = (
    "sightline=benchmarks.quality.engine:Engine",
    "sightline plain=benchmarks.quality.engine:Plain",
    "sightline compact=benchmarks.quality.engine:Compacted",
)
THRIFTY = "sightline thrifty=benchmarks.quality.engine:Thrifty"


class Job(NamedTuple):
    """One dataset."""

    part: str
    dataset: str
    budgets: tuple[Any, ...]
    n: int  # records of each half
    calls: int = replay.MOST_CALLS  # of a run, the last ones: those that count
    wide: tuple[int, ...] = ()  # budgets in which nearly everything fits
    also: tuple[str, ...] = ()  # composers beside `OURS`, where nobody names others


_WIDE = (200_000, 1_000_000)
JOBS = (
    Job("a", "locomo", (2000, 4000, 8000, 16000), 300),
    Job("a", "qmsum", (2000, 4000, 8000), 120),
    Job("a", "memdaily_zh", (1000, 2000, 4000), 150),
    Job("a", "bfcl_memory", (1000, 2000, 4000), 57),
    Job("b", "tau_bench", ("+1500", "+3000"), 30),
    Job("b", "tau2_bench", ("+1500", "+3000"), 30),
    Job("b", "mini_swe_agent", (8000, 16000), 20, wide=_WIDE),
    Job("b", "claude_code", (8000, 16000, 128000), 14, wide=_WIDE),
    Job("b", "openhands", (8000, 16000), 2),
    Job("b", "swe_agent", ("+1500", "+3000"), 2),
    Job("b", "entire_claude", (16000, 32000, 128000), 10, wide=_WIDE),
    Job("b", "entire_codex", (16000, 32000, 128000), 15, wide=_WIDE),
    Job("b", "long_runs", (64000, 128000, 200000), 10, 300, wide=_WIDE[-1:], also=(THRIFTY,)),
    Job("c", "sgd", (1000, 2000, 4000), 12),
    Job("c", "crosswoz_zh", (1000, 2000, 4000), 12),
    Job("d", "dialogsum", (32, 64, 96), 200),
    Job("e", "compactions", (8000, 16000), 22),
    Job("f", "constraints_en", (200, 400, 600), 4),
    Job("f", "constraints_zh", (200, 400, 600), 4),
    Job("g", "work_talk", (), 0),
    Job("g", "friends", (), 0),
)
PARTS = tuple(dict.fromkeys(job.part for job in JOBS))
DATASETS = tuple(job.dataset for job in JOBS)
_SLOW = ("long_runs", "entire_claude", "entire_codex", "locomo", "mini_swe_agent")  # begun first
_ALSO_WIDE = ("step_window",)  # of the baselines; where everything fits, most are the full history
_FEWEST = 2  # records, however small the scale
_EVERY = 10.0  # seconds between two lines about progress

_MEASURES: dict[str, tuple[Mapping[str, Callable[[Path], Any]], Callable[..., list[Row]]]] = {
    "a": (sets.EVIDENCE, evidence.measure_evidence),
    "b": (sets.RUNS, replay.measure_replay),
    "c": (sets.SLOTS, slots.measure_slots),
    "d": (sets.DIALOGUES, gists.measure_gists),
    "e": (sets.COMPACTIONS, compactions.measure_compactions),
    "f": (sets.TALKS, constraints.measure_windows),
    "g": (sets.MESSAGES, constraints.measure_finding),
}  # part → how its datasets are read, and how it is measured


class Asked(NamedTuple):
    """What a run measures. Composers are given by name, so that other processes can import them."""

    root: Path
    halves: tuple[str, ...] = HALVES
    composers: tuple[str, ...] = ()  # as LABEL=PACKAGE.MODULE:NAME
    gists: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    baselines: bool = True
    scale: float = 1.0
    budgets: tuple[str | int, ...] = ()  # in place of those of the job
    runs: tuple[str, ...] = ()  # of (b), by name; else all
    cache_seconds: float = replay.CACHE_SECONDS


class Done(NamedTuple):
    """The rows of one job, and the peers that failed in it."""

    job: Job
    rows: list[Row]
    seconds: float
    failed: tuple[str, ...] = ()


class Unknown(Exception):
    """A composer that cannot be found."""


def chosen(asked: Asked, parts: Sequence[str], datasets: Sequence[str]) -> tuple[list[Job], list[str]]:
    """Return the jobs to do, and the datasets that are missing."""
    wanted = [job for job in JOBS if job.part in parts and (not datasets or job.dataset in datasets)]
    if not asked.baselines and not asked.gists:
        wanted = [job for job in wanted if job.part != "d"]
    there = [job for job in wanted if sets.is_there(asked.root, job.dataset)]
    if all(job.dataset in sets.MADE_UP for job in there) and there != wanted:
        there = []  # what is made up is measured alone only where nothing else was asked for
    return there, [job.dataset for job in wanted if job not in there]


def results(jobs: Sequence[Job], asked: Asked, processes: int) -> Iterator[Done]:
    """Do the jobs, the slow ones first, and yield each result when it is there."""
    order = sorted(jobs, key=lambda job: job.dataset not in _SLOW)
    if processes <= 1:
        yield from (done(job, asked) for job in order)
        return
    with ProcessPoolExecutor(processes) as pool:
        for future in as_completed([pool.submit(done, job, asked) for job in order]):
            yield future.result()


def done(job: Job, asked: Asked) -> Done:
    """Do one job. A peer that fails is left out; any other composer that fails is an error."""
    begun = monotonic()
    failed: list[str] = []
    while True:
        try:
            return Done(job, _rows(job, asked), monotonic() - begun, tuple(failed))
        except Failed as failure:
            if failure.name not in asked.peers:
                raise
            failed.append(str(failure))
            asked = asked._replace(peers=tuple(name for name in asked.peers if name != failure.name))


def _rows(job: Job, asked: Asked) -> list[Row]:
    options: dict[str, Any] = {"halves": asked.halves, "tick": _Ticker(f"{job.part} {job.dataset}")}
    if job.part == "b":
        options["rules"] = replay.Rules(asked.cache_seconds, job.calls, asked.runs)
    if asked.composers == OURS:
        asked = asked._replace(composers=(*OURS, *job.also))
    who = measured(asked, job.part)
    n = max(_FEWEST, int(job.n * asked.scale))
    readers, measure = _MEASURES[job.part]
    records = readers[job.dataset](asked.root)
    rows = measure(job.dataset, records, who, asked.budgets or job.budgets, n, **options)
    if job.wide and not asked.budgets:
        few = {name: each for name, each in who.items() if is_stateful(each) or name in _ALSO_WIDE}
        more = measure(job.dataset, records, few, job.wide, n, **options)
        rows += [row for row in more if row["budget"]]  # the full history is among the others
    return rows


def measured(asked: Asked, part: str) -> Mapping[str, Any]:
    """Return what a part measures, by name: composers, makers of gists, or finders of constraints. Raises Unknown."""
    match part:
        case "d":
            return makers(asked)
        case "g":
            return constraints.FINDERS
        case _:
            return composers(asked, part)


def composers(asked: Asked, part: str) -> Composers:
    """Return the composers of a part: those that name no `parts`, or this one among them.

    In (b) costs are relative to the full history, so that is always one of them.
    """
    found: dict[str, Any] = {}
    if asked.baselines:
        found.update({name: BASELINES[name] for name in BY_PART.get(part, ())})
    elif part == "b":
        found["full"] = full
    found.update(peers(asked.peers))
    found.update(map(named, asked.composers))
    return {name: composer for name, composer in found.items() if part in getattr(composer, "parts", PARTS)}


def makers(asked: Asked) -> Mapping[str, Any]:
    """Return the functions that make gists."""
    return {**(GISTS if asked.baselines else {}), **dict(map(named, asked.gists))}


def peers(names: Sequence[str]) -> dict[str, Any]:
    """Return composers for other packages, each in an environment of its own."""
    if not names:
        return {}
    others = import_module("benchmarks.quality.peers")
    return {name: others.composer(name) for name in names}


def named(spelled: str) -> tuple[str, Any]:
    """Import LABEL=PACKAGE.MODULE:NAME; without a label the name is the label. Raises Unknown."""
    label, _, place = spelled.rpartition("=")
    module, _, name = place.partition(":")
    try:
        return label or place, getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise Unknown(f"{spelled}: write it as package.module:name ({error})") from error


class _Ticker:
    """Prints progress on stderr, at most every few seconds."""

    def __init__(self, label: str) -> None:
        self._label, self._begun, self._last = label, monotonic(), monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            print(f"    {self._label}: {done}/{total} after {now - self._begun:.0f} s", file=sys.stderr, flush=True)
