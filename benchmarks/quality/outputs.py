"""`python -m benchmarks.quality.outputs`: what of a failure can be read in the summary and in the gist of an output.

Each is held against the first and the last fifty lines of the output, cut to the same number of tokens. Outputs are
made by running the tools that are installed on small projects that fail, taken from the history of this repository, and
read from recorded runs. `failure_lines` says which lines tell of a failure.
"""

import argparse
import json
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.environment import ROOT
from benchmarks.quality import datasets
from benchmarks.quality.failing_projects import Output, Tools, made_outputs
from benchmarks.quality.failure_lines import KINDS, failure_lines, readable_share
from benchmarks.quality.messages import arguments_text, count_text, text_of
from benchmarks.quality.output_logs import made_logs
from benchmarks.quality.splits import HALVES, digest, ranked
from sightline.shorten import shorten
from sightline.values.items import Item, Kind, Result, Text

EDGE = 50  # lines at either end
LEAST = 300  # tokens of an output: a shorter one has no summary
COMMITS, DIFFS = 400, 12  # commits that are looked at, and diffs that are taken for each half
DIFF_TOKENS = range(1_000, 20_000)
RECORDED = ("claude_code", "entire_claude", "entire_codex", "mini_swe_agent")
# Of each kind, what the command of a recorded call says and what its result shows.
CALLED = {
    "pytest": (r"\bpytest\b", r"^(?:E   |FAILED )"),
    "unittest": (r"unittest|runtests", r"^(?:FAIL|ERROR): "),
    "go test": (r"\bgo (?:test|build|vet)\b", r"^\s*--- FAIL|^FAIL\t|^\S+\.go:\d+:\d+: "),
    "git diff": (r"\bgit (?:diff|show)\b", r"^@@ "),
    "log": (r"\bgh run view\b|journalctl|docker logs", r"\b(?:ERROR|FATAL|Error:)"),
}


class LevelScore(NamedTuple):
    """What of a failure can be read at one level: shares of its lines."""

    tokens: int
    ours: float
    edges: float  # in as many tokens of both ends of the output


class Score(NamedTuple):
    """What of one output can be read."""

    output: Output
    lines: int  # that tell of a failure
    tokens: int
    summary: LevelScore
    gist: LevelScore


def main(given: Sequence[str] | None = None) -> None:
    """Make or read the outputs, measure, print."""
    arguments = _arguments(given)
    console = Console(width=200)
    for half in HALVES if arguments.half == "both" else (arguments.half,):
        outputs = _outputs(half, arguments)
        scores = [score for output in outputs if (score := measured(output))]
        console.print(_table(f"{half}: lines of the failure that can be read, %", scores))
        if arguments.each:
            for score in sorted(scores, key=lambda each: KINDS.index(each.output.kind)):
                console.print(_line(score), highlight=False, markup=False)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.outputs", description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, default=os.environ.get("SIGHTLINE_DATA"), help="recorded runs; else SIGHTLINE_DATA")
    add("--scripts", type=Path, help="a folder whose node_modules has jest, vitest and typescript")
    add("--half", choices=(*HALVES, "both"), default="both")
    add("--keep", type=Path, help="a folder for the outputs; those of an earlier run are read from it")
    add("--each", action="store_true", help="also print a line for each output")
    return parser.parse_args(given)


def _outputs(half: str, arguments: argparse.Namespace) -> list[Output]:
    kept = arguments.keep and arguments.keep / f"{half}.json"
    if kept and kept.exists():
        return [Output(*each) for each in json.loads(kept.read_text(encoding="utf-8"))]
    found = [*made_outputs(Tools(arguments.scripts, half)), *made_logs(half), *history_diffs(half)]
    if arguments.data:
        found += recorded_outputs(Path(arguments.data), half)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found), encoding="utf-8")
    return found


# ------------------------------------------------------------------ outputs that nobody made up


def history_diffs(half: str) -> Iterator[Output]:
    """Return diffs of commits of this repository, as git prints them."""
    commits = _git("log", "--no-merges", "--format=%h", f"-{COMMITS}").split()
    taken = 0
    for commit in sorted(commits, key=digest)[HALVES.index(half) :: 2]:
        text = _git("diff", f"{commit}~", commit)
        if count_text(text) in DIFF_TOKENS and taken < DIFFS:
            taken += 1
            yield Output("git diff", f"this repository: {commit}", text, f"git diff {commit}~ {commit}")


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    return found.stdout.decode("utf-8", "replace")


def recorded_outputs(root: Path, half: str) -> Iterator[Output]:
    """Return the results in recorded runs that a known tool printed, each text once. Runs are split by their id."""
    met = set()
    for dataset in RECORDED:
        runs = datasets.RUNS[dataset](root) if datasets.is_there(root, dataset) else []
        halves = ranked(f"outputs {dataset}", [run.id for run in runs])
        for run in (each for each in runs if halves[each.id] == half):
            for place, command, text in _results(run.messages):
                kind = next((kind for kind, form in CALLED.items() if _is_called(form, command, text)), "")
                if kind and text not in met:
                    met.add(text)
                    yield Output(kind, f"{dataset}: {run.id[-36:]}, message {place}", text, command)


def _is_called(form: tuple[str, str], command: str, text: str) -> bool:
    return bool(re.search(form[0], command) and re.search(form[1], text, re.MULTILINE))


def _results(messages: Iterable[dict[str, object]]) -> Iterator[tuple[int, str, str]]:
    """Yield the place, the command and the text of every result of a shell."""
    commands: dict[object, str] = {}
    for place, message in enumerate(messages):
        for call in message.get("tool_calls") or ():  # type: ignore[attr-defined]
            commands[call["id"]] = _command(arguments_text(call["function"].get("arguments")))
        if message["role"] == "tool" and commands.get(message.get("tool_call_id")):
            yield place, commands[message["tool_call_id"]], text_of(message["content"])


def _command(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except ValueError:
        return ""
    found = given.get("command") or given.get("cmd") if isinstance(given, dict) else ""
    return " ".join(map(str, found)) if isinstance(found, list) else str(found or "")


# ------------------------------------------------------------------ what can be read


def measured(output: Output) -> Score | None:
    """Return what can be read of an output; None if it is too short, or tells of no failure."""
    tokens = count_text(output.text)
    lines = list(dict.fromkeys(map(str.strip, output.failed))) or failure_lines(output.kind, output.text)
    if tokens < LEAST or not lines:
        return None
    item = Item("5", Kind.RESULT, (Result("call", (Text(output.text),), "", "bash"),), "")
    shorter = shorten(item, count=count_text, name="bash", subject=output.command)
    levels = [_level_score(lines, output.text, level or output.text) for level in shorter]
    return Score(output, len(lines), tokens, *levels)


def _level_score(lines: Sequence[str], text: str, shown: str) -> LevelScore:
    tokens = count_text(shown)
    return LevelScore(tokens, readable_share(lines, shown), readable_share(lines, edges(text, tokens)))


def edges(text: str, tokens: int) -> str:
    """Return the first and the last fifty lines of a text, as many of them as fit: half from each end."""
    lines = text.rstrip("\n").split("\n")
    split = min(EDGE, (len(lines) + 1) // 2)
    head, used = _fitting(lines[:split], tokens // 2)
    tail, more = _fitting(lines[split:][-EDGE:][::-1], tokens - used)
    head, _ = _fitting(lines[:split], tokens - more)
    return "\n".join([*head, *tail[::-1]])


def _fitting(lines: Sequence[str], tokens: int) -> tuple[list[str], int]:
    taken, used = [], 0
    for line in lines:
        cost = count_text(line + "\n")
        if used + cost > tokens:
            break
        taken.append(line)
        used += cost
    return taken, used


# ------------------------------------------------------------------ tables

COLUMNS = ("kind", "outputs", "tokens", "summary", "ours", "head+tail", "worse", "gist", "ours", "head+tail", "worse")


def _table(title: str, scores: Sequence[Score]) -> Table:
    """A row for each kind: means over its outputs, and in how many of them the ends show more than we do."""
    table = Table(title=title, title_justify="left")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "kind" else "right")
    by_kind: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        by_kind[score.output.kind].append(score)
    for kind in KINDS:
        if some := by_kind[kind]:
            table.add_row(kind, *_cells(some))
    table.add_row("all", *_cells(scores))
    return table


def _cells(scores: Sequence[Score]) -> list[str]:
    tokens = sum(score.tokens for score in scores) / max(1, len(scores))
    levels = ([score.summary for score in scores], [score.gist for score in scores])
    return [str(len(scores)), f"{tokens:,.0f}", *(cell for level in levels for cell in _level_cells(level))]


def _level_cells(scores: Sequence[LevelScore]) -> list[str]:
    tokens, ours, ends = (sum(column) / max(1, len(scores)) for column in zip(*scores, strict=True))
    worse = sum(score.ours < score.edges for score in scores)
    return [f"{tokens:,.0f}", f"{100 * ours:.0f}", f"{100 * ends:.0f}", str(worse)]


def _line(score: Score) -> str:
    levels = (("summary", score.summary), ("gist", score.gist))
    shown = ", ".join(f"{name} {level.tokens:4}: {level.ours:4.0%} ({level.edges:4.0%})" for name, level in levels)
    place = f"{score.output.kind:9} {score.output.source:75.75}"
    return f"{place} {score.lines:4} lines of {score.tokens:6,} tokens; {shown}"


if __name__ == "__main__":
    main()
