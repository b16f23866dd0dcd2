"""`python -m benchmarks.quality`: what composers let the model see of what was recorded. Never fails on a number."""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from math import inf
from pathlib import Path
from textwrap import fill
from time import monotonic
from typing import Any

from rich.console import Console

from benchmarks.environment import ROOT
from benchmarks.quality import page, peers, tables
from benchmarks.quality.composer_calls import Row
from benchmarks.quality.headlines import headline_table
from benchmarks.quality.jobs import DATASETS, JOBS, OURS, PARTS, Asked, Job, Unknown, chosen, measured, results
from benchmarks.quality.messages import ENCODING
from benchmarks.quality.replay import CACHE_SECONDS
from benchmarks.quality.splits import HALVES

OUR_GIST = "sightline=benchmarks.quality.sightline_gist:gist"
HERE = ROOT / "data"  # where data are looked for when nobody says
_ORDER = {(job.part, job.dataset): at for at, job in enumerate(JOBS)}
_PLACES = ("--data", "--out", "--md", "--rows", "--answers")
_KEY = ("part", "dataset", "half", "composer", "budget")
HELP = f"""parts:
  a  questions about long chats: are the turns that answer them shown?
  b  agent runs, composed anew before each model call: is what the next call needs shown, and what does it cost?
  c  booking dialogues: are the values that were settled shown?
  d  gists of short dialogues, held against summaries that people wrote
  e  real compactions by a model: what the agent used afterwards
  f  made-up talks in which the user lays down twenty things: how many stay readable in a small window?
  g  which sentences are taken for constraints: of talk at work, made up, and of chats between friends

peers, packages from PyPI, each installed in an environment of its own:
{fill(", ".join(peers.NAMES), initial_indent="  ", subsequent_indent="  ")}"""
MISSING = """No recorded data: nothing to measure.
Say where they are with --data DIR or SIGHTLINE_DATA (looked in {folder}).
docs/quality-tables.md lists the datasets, where each comes from and the folder it is expected in."""


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    arguments = _arguments(given)
    if arguments.rows:
        _shown_again(arguments)
        return
    console, progress = tables.console(), Console(stderr=True)
    asked = _asked(arguments, progress)
    jobs, absent = chosen(asked, arguments.part, arguments.dataset)
    if not jobs:
        console.print(MISSING.format(folder=asked.root), highlight=False)
        return
    if absent:
        progress.print(f"[dim]not in this folder, left out: {', '.join(absent)}[/]")
    try:
        for part in {job.part for job in jobs}:
            measured(asked._replace(peers=()), part)
    except Unknown as error:
        raise SystemExit(str(error)) from error
    begun = monotonic()
    rows = _measured(jobs, asked, arguments.jobs, progress)
    if not rows:
        console.print(f"no records of the half {arguments.half} in {asked.root}", highlight=False)
        return
    _report(rows, _about(arguments, monotonic() - begun), arguments, console)


def _report(rows: Sequence[Row], about: dict[str, Any], arguments: argparse.Namespace, console: Console) -> None:
    _show(rows, about, console, with_times=arguments.times)
    if arguments.out:
        arguments.out.write_text(json.dumps({"about": about, "rows": rows}, ensure_ascii=False) + "\n")
    if arguments.md:
        answers = [
            answer for path in arguments.answers or () for answer in json.loads(path.read_text(encoding="utf-8"))
        ]
        page.write(rows, about, arguments.md, answers)


def _shown_again(arguments: argparse.Namespace) -> None:
    """Report the rows of earlier runs as one run; later rows replace earlier ones."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in arguments.rows]
    keyed = {tuple(str(row[key]) for key in _KEY): row for run in found for row in run["rows"]}
    rows = _ordered(list(keyed.values()))
    about = {**found[-1]["about"], "seconds": sum(run["about"]["seconds"] for run in found)}
    about["command"] = "; ".join(dict.fromkeys(run["about"]["command"] for run in found))
    _report(rows, about, arguments, tables.console())


def _measured(jobs: Sequence[Job], asked: Asked, processes: int, progress: Console) -> list[Row]:
    rows: list[Row] = []
    for number, done in enumerate(results(jobs, asked, processes), 1):
        rows += done.rows
        nothing = "" if done.rows else " (no records of this half)"
        line = f"[{number}/{len(jobs)}] {done.job.part} {done.job.dataset} {done.seconds:.0f} s{nothing}"
        for each in (line, *done.failed):
            progress.print(each, markup=False, style="dim")
    return _ordered(rows)


def _ordered(rows: Sequence[Row]) -> list[Row]:
    """Return rows by dataset, then by composer as they came, then by budget, also if they are of several runs."""
    came = {name: at for at, name in enumerate(dict.fromkeys(row["composer"] for row in rows))}

    def place(row: Row) -> tuple[int, int, int]:
        budget = str(row["budget"]).removeprefix("+")
        return _ORDER[row["part"], row["dataset"]], came[row["composer"]], int(budget) if budget.isdecimal() else 0

    return sorted(rows, key=place)


def _show(rows: Sequence[Row], about: dict[str, Any], console: Console, *, with_times: bool) -> None:
    console.print("  ".join(f"[dim]{name}[/] {value}" for name, value in about.items()))
    for title, found in tables.by_part(rows):
        console.rule(title, align="left")
        for lines in found:
            tables.show(lines, console)
    more_tables = [headline_table(rows), tables.hidden_items(rows), tables.one_by_one(rows, "long_runs")]
    for more in (*more_tables, tables.break_reasons(rows), tables.times(rows) if with_times else None):
        if more:
            tables.show(more, console)
    for line in tables.broken_prefixes(rows):
        console.print(line, highlight=False)


def _about(arguments: argparse.Namespace, seconds: float) -> dict[str, Any]:
    command = f"python -m benchmarks.quality {_spoken(arguments.given)}".rstrip()
    return {"date": date.today().isoformat(), "command": command, "tokens": ENCODING, "seconds": round(seconds)}


def _spoken(given: Sequence[str]) -> str:
    """Return the arguments as they were given, without those that name private files and folders."""
    words, skipped = list[str](), False
    for word in given:
        if word.startswith("--"):
            skipped = word.partition("=")[0] in _PLACES
        if not skipped:
            words.append(word)
    return shlex.join(words)


def _asked(arguments: argparse.Namespace, progress: Console) -> Asked:
    return Asked(
        root=(arguments.data or Path(os.environ.get("SIGHTLINE_DATA") or HERE)).resolve(),
        halves=HALVES if arguments.half == "both" else (arguments.half,),
        composers=tuple(arguments.composer),
        gists=tuple(arguments.gist),
        peers=_peers(arguments.peers, progress),
        baselines=not arguments.only_composers,
        scale=arguments.scale,
        budgets=tuple(arguments.budget),
        runs=tuple(arguments.run),
        cache_seconds=arguments.cache_ttl,
    )


def _peers(wanted: Sequence[str], progress: Console) -> tuple[str, ...]:
    """Return the peers that can be measured here, and print why the others cannot."""
    if not wanted or wanted == ["none"]:
        return ()
    names = peers.NAMES if wanted == ["all"] else tuple(wanted)
    progress.print("[dim]preparing the peers …[/]")
    found = peers.available(names)
    for name, reason in found.items():
        progress.print(f"[dim]{name}: {reason}[/]")
    return tuple(name for name in names if not isinstance(found[name], peers.WhyNot))


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=__doc__.partition(": ")[2],
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="the data folder; else SIGHTLINE_DATA")
    add("--half", choices=(*HALVES, "both"), default="both", help="default: what is there")
    add("--part", nargs="+", choices=PARTS, default=list(PARTS), help="see below; default: all")
    add("--dataset", nargs="+", choices=DATASETS, default=[], metavar="NAME", help=", ".join(DATASETS))
    spelled = "[LABEL=]PKG.MOD:NAME"
    add("--composer", nargs="+", default=OURS, metavar=spelled, help="in place of Sightline")
    add("--gist", nargs="+", default=[OUR_GIST], metavar=spelled, help="gist(text, tokens) -> text, for part d")
    add("--budget", nargs="+", type=_budget, default=[], metavar="TOKENS", help="in place of each dataset's own")
    add("--run", nargs="+", default=[], metavar="NAME", help="of part b, such as cli-1 of long_runs; else all")
    add("--only-composers", action="store_true", help="leave the baselines out")
    add("--peers", nargs="+", default=["none"], metavar="NAME", help="see below; or all, or none, the default")
    add("--scale", type=_above_0(float), default=1.0, metavar="X", help="multiplies the sample sizes")
    add("--jobs", type=_above_0(int), default=2, metavar="N", help="processes")
    add("--cache-ttl", type=float, default=CACHE_SECONDS, metavar="SECONDS", help="after which a cache is gone")
    add("--rows", nargs="+", type=Path, metavar="FILE", help="measure nothing: report what --out wrote before")
    add("--times", action="store_true", help="also show compose time by history length")
    add("--out", type=Path, metavar="FILE", help="write all rows there, as JSON")
    answers = "what `python -m benchmarks.answers --out` wrote, for the page"
    add("--answers", nargs="+", type=Path, metavar="FILE", help=answers)
    add("--md", type=Path, metavar="FILE", help="write a page there, and beside it a page of all tables and pictures")
    arguments = parser.parse_args(given)
    arguments.given = sys.argv[1:] if given is None else given
    _check(arguments, parser)
    return arguments


def _budget(text: str) -> str | int:
    """Read a number of tokens, or "+1500": so many beyond the system prompt."""
    tokens = int(_above_0(int)(text.removeprefix("+")))
    return f"+{tokens}" if text.startswith("+") else tokens


def _above_0(number: Callable[[str], float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        with suppress(ValueError):
            if 0 < (found := number(text)) < inf:
                return found
        raise argparse.ArgumentTypeError(f"{text} is not {'a whole number' if number is int else 'a number'} above 0")

    return read


def _check(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Exit with one line if a file or a peer that was named does not exist."""
    for option in ("rows", "answers"):
        if missing := [str(path) for path in getattr(arguments, option) or () if not path.is_file()]:
            parser.error(f"argument --{option}: no file {', '.join(missing)}")
    if arguments.peers not in (["all"], ["none"]) and (unknown := sorted(set(arguments.peers) - set(peers.NAMES))):
        parser.error(f"argument --peers: no peer {', '.join(unknown)}; there are {', '.join(peers.NAMES)}")


if __name__ == "__main__":
    main()
