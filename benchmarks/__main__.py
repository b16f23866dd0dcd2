"""`python -m benchmarks`: speed and size, ours and the peers', in one run. Never fails on a number.

Where SIGHTLINE_DATA names a folder of recorded data, quality comes after it: `python -m benchmarks.quality`. Where
SIGHTLINE_ANSWERS says which model to ask ("--url URL --model NAME"), so do its answers: `python -m benchmarks.answers`.
"""

import argparse
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from time import perf_counter

from rich.console import Console

from benchmarks import adding, durability, inspector, postgres, proxy, report, speed, windows
from benchmarks.environment import PACKAGES, ROOT, Missing, Peers
from benchmarks.measure import Row, alone, seconds_text
from benchmarks.sessions import Stored, stored

SIZES = (100, 1_000, 10_000, 100_000)
WORK = ROOT / ".cache"  # on the project's own disk: /tmp is often memory, where an fsync costs nothing


def main() -> None:
    """Set the peers up, measure, print."""
    arguments = _arguments()
    console, progress = Console(width=None if sys.stdout.isatty() else 160), Console(stderr=True)

    def say(text: str) -> None:
        progress.print(f"[dim]{text} …[/]")

    say("preparing the peers")
    peers = Peers()
    try:
        versions = peers.ask("versions", names=list(PACKAGES))
    except Missing as missing:
        versions = {}
        progress.print(f"[red]no peers: {missing}[/]")
    WORK.mkdir(exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="bench-", dir=WORK))
    try:
        rows = measured(root, SIZES[:-1] if arguments.quick else SIZES, peers, say)
    finally:
        peers.close()
        shutil.rmtree(root, ignore_errors=True)
    about = report.facts(date.today().isoformat(), report.command_line(arguments.quick), versions)
    report.print_table(rows, about, console)
    if arguments.json:
        arguments.json.write_text(report.as_json(rows, about) + "\n")
    if arguments.md:
        arguments.md.write_text(report.markdown(rows, about))
    if os.environ.get("SIGHTLINE_DATA"):
        from benchmarks.quality import __main__ as quality

        say("quality, on the data in SIGHTLINE_DATA")
        quality.main(["--scale", "0.15"] if arguments.quick else [])
        if model := os.environ.get("SIGHTLINE_ANSWERS"):
            from benchmarks.answers import __main__ as answers

            say("answers of a model")
            answers.main([*shlex.split(model), *(["--n", "20"] if arguments.quick else [])])


def measured(root: Path, sizes: tuple[int, ...], peers: Peers, say: Callable[[str], None]) -> list[Row]:
    """Measure everything. Quick measurements come first, before long ones have warmed up the machine."""
    noise = [speed.machine()]
    rows = speed.importing()
    say("a giant result")
    rows += alone(speed.giant)
    say("windows")
    rows += alone(windows.windows)
    say("appending")
    rows += durability.appending(root, peers)
    say("adding messages")
    rows += alone(adding.adding, root)
    say("sessions in PostgreSQL")
    rows += postgres.measured(root / "postgres")
    say("memory of a process")
    rows += durability.memory(root)
    rows += proxy.compare_proxies(root, say, proxy.FULL if len(sizes) == len(SIZES) else proxy.QUICK)
    noise.append(speed.machine())
    logs, built = _logs(root, sizes, say)
    say("sweeping")
    rows += alone(speed.sweeping, logs[-1])
    rows += durability.resuming(logs[-1], peers, say)
    say("opening the inspector")
    rows += inspector.opening(logs[-1])
    noise.append(speed.machine())
    rows += speed.composing(logs, peers, say)
    return [*rows, *built, *noise, speed.machine()]


def _logs(root: Path, sizes: tuple[int, ...], say: Callable[[str], None]) -> tuple[list[Stored], list[Row]]:
    logs, rows = [], []
    for size in sizes:
        say(f"building a history of {size:,} messages")
        begun = perf_counter()
        logs.append(alone(stored, root, size))
        taken = perf_counter() - begun
        note = "generated and imported; the last 500 messages composed call by call"
        rows.append(Row("building the histories", f"{size:,} messages", seconds_text(taken), taken, note=note))
    return logs, rows


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="histories of up to 10,000 messages, few recorded ones")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows there")
    parser.add_argument("--md", type=Path, metavar="FILE", help="write a page of documentation there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
