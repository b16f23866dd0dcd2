"""`python -m benchmarks.quality`: what composers let the model see of what was recorded. Never fails on a number."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from datetime import date
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console

from benchmarks.environment import ROOT
from benchmarks.quality import page, tables
from benchmarks.quality.calling import Row
from benchmarks.quality.jobs import DATASETS, JOBS, PARTS, Asked, Job, Unknown, chosen, composers, makers, results
from benchmarks.quality.messages import ENCODING
from benchmarks.quality.replay import CACHE_SECONDS
from benchmarks.quality.splits import HALVES
from benchmarks.quality.standing import standing

OURS = "sightline=benchmarks.quality.engine:Engine"
OUR_GIST = "sightline=benchmarks.quality.shortened:gist"
HERE = ROOT / "data"  # where data are looked for when nobody says
_ORDER = {(job.part, job.dataset): at for at, job in enumerate(JOBS)}
_KEY = ("part", "dataset", "half", "composer", "budget")
MISSING = """No recorded data: nothing to measure.
Say where they are with --data DIR or SIGHTLINE_DATA (looked in {folder}).
docs/quality.md lists the datasets, where each comes from and the folder it is expected in."""


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    arguments = _arguments(given)
    if arguments.rows:
        _shown_again(arguments)
        return
    console, progress = _console(), Console(stderr=True)
    asked = _asked(arguments, progress)
    jobs, absent = chosen(asked, arguments.part, arguments.dataset)
    if not jobs:
        console.print(MISSING.format(folder=asked.root), highlight=False)
        return
    if absent:
        progress.print(f"[dim]not in this folder, left out: {', '.join(absent)}[/]")
    try:
        for part in {job.part for job in jobs}:
            makers(asked) if part == "d" else composers(asked._replace(peers=()), part)
    except Unknown as error:
        raise SystemExit(str(error)) from error
    begun = monotonic()
    rows = _measured(jobs, asked, arguments.jobs, progress)
    if not rows:
        console.print(f"no records of the half {arguments.half} in {asked.root}", highlight=False)
        return
    _report(rows, _about(arguments, asked, monotonic() - begun), arguments, console)


def _report(rows: Sequence[Row], about: dict[str, Any], arguments: argparse.Namespace, console: Console) -> None:
    _show(rows, about, console, with_times=arguments.times)
    if arguments.out:
        arguments.out.write_text(json.dumps({"about": about, "rows": rows}, ensure_ascii=False) + "\n")
    if arguments.md:
        page.write(rows, about, arguments.md)


def _shown_again(arguments: argparse.Namespace) -> None:
    """Rows of earlier runs, later ones in the place of earlier ones, reported as one."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in arguments.rows]
    keyed = {tuple(str(row[key]) for key in _KEY): row for run in found for row in run["rows"]}
    rows = sorted(keyed.values(), key=lambda row: _ORDER[row["part"], row["dataset"]])
    about = {**found[-1]["about"], "seconds": sum(run["about"]["seconds"] for run in found)}
    about["command"] = "; ".join(dict.fromkeys(run["about"]["command"] for run in found))
    _report(rows, about, arguments, _console())


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 200)


def _measured(jobs: Sequence[Job], asked: Asked, processes: int, progress: Console) -> list[Row]:
    rows: list[Row] = []
    for number, done in enumerate(results(jobs, asked, processes), 1):
        rows += done.rows
        nothing = "" if done.rows else " (no records of this half)"
        line = f"[{number}/{len(jobs)}] {done.job.part} {done.job.dataset} {done.seconds:.0f} s{nothing}"
        for each in (line, *done.failed):
            progress.print(each, markup=False, style="dim")
    return sorted(rows, key=lambda row: _ORDER[row["part"], row["dataset"]])


def _show(rows: Sequence[Row], about: dict[str, Any], console: Console, *, with_times: bool) -> None:
    console.print("  ".join(f"[dim]{name}[/] {value}" for name, value in about.items()))
    for title, found in tables.by_part(rows):
        console.rule(title, align="left")
        for lines in found:
            tables.show(lines, console)
    for more in (standing(rows), tables.break_reasons(rows), tables.times(rows) if with_times else None):
        if more:
            tables.show(more, console)
    for line in tables.broken_prefixes(rows):
        console.print(line, highlight=False)


def _about(arguments: argparse.Namespace, asked: Asked, seconds: float) -> dict[str, Any]:
    words = ["python -m benchmarks.quality", f"--half {arguments.half}"]
    words += [f"--{name} {' '.join(given)}" for name in ("part", "dataset") if (given := getattr(arguments, name))]
    words += [f"--peers {' '.join(arguments.peers)}"] if asked.peers else []
    words += [f"--scale {asked.scale}"] if asked.scale != 1 else []
    parts = " ".join(words).replace(f"--part {' '.join(PARTS)}", "")
    command = " ".join(parts.split())
    return {"date": date.today().isoformat(), "command": command, "tokens": ENCODING, "seconds": round(seconds)}


def _asked(arguments: argparse.Namespace, progress: Console) -> Asked:
    return Asked(
        root=(arguments.data or Path(os.environ.get("SIGHTLINE_DATA") or HERE)).resolve(),
        halves=HALVES if arguments.half == "both" else (arguments.half,),
        composers=tuple(arguments.composer),
        gists=tuple(arguments.gist),
        peers=_peers(arguments.peers, progress),
        baselines=not arguments.only_composers,
        scale=arguments.scale,
        cache_seconds=arguments.cache_ttl,
    )


def _peers(wanted: Sequence[str], progress: Console) -> tuple[str, ...]:
    """Those that can be measured here; why the others cannot is said."""
    if not wanted or wanted == ["none"]:
        return ()
    peers = import_module("benchmarks.quality.peers")
    names: tuple[str, ...] = peers.NAMES if wanted == ["all"] else tuple(wanted)
    if unknown := set(names) - set(peers.NAMES):
        raise SystemExit(f"no peer {', '.join(sorted(unknown))}; there are {', '.join(peers.NAMES)}")
    progress.print("[dim]preparing the peers …[/]")
    found = peers.available(names)
    for name, reason in found.items():
        progress.print(f"[dim]{name}: {reason}[/]")
    return tuple(name for name in names if not isinstance(found[name], peers.WhyNot))


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="the data folder; else SIGHTLINE_DATA")
    add("--half", choices=(*HALVES, "both"), default="both", help="default: what is there")
    add("--part", nargs="+", choices=PARTS, default=list(PARTS))
    add("--dataset", nargs="+", choices=DATASETS, default=[], metavar="NAME", help=", ".join(DATASETS))
    spelled = "[LABEL=]PKG.MOD:NAME"
    add("--composer", nargs="+", default=[OURS], metavar=spelled, help="in place of Sightline")
    add("--gist", nargs="+", default=[OUR_GIST], metavar=spelled, help="gist(text, tokens) -> text, for part d")
    add("--only-composers", action="store_true", help="leave the baselines out")
    add("--peers", nargs="+", default=["none"], metavar="NAME", help="names of peers, or all, or none")
    add("--scale", type=float, default=1.0, help="multiplies the sample sizes")
    add("--jobs", type=int, default=2, help="processes")
    add("--cache-ttl", type=float, default=CACHE_SECONDS, metavar="SECONDS", help="after which a cache is gone")
    add("--rows", nargs="+", type=Path, metavar="FILE", help="measure nothing: report what --out wrote before")
    add("--times", action="store_true", help="also show compose time by history length")
    add("--out", type=Path, metavar="FILE", help="write all rows there, as JSON")
    add("--md", type=Path, metavar="FILE", help="write a page there, its pictures beside it")
    return parser.parse_args(given)


if __name__ == "__main__":
    main()
