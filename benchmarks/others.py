"""`python -m benchmarks.others`: what Sightline and others weigh, need to start, and lose of one long run. In one go.

Each is installed by itself into an environment that is thrown away, then run with the network cut: what it is worth
where nothing answers is part of the question. What cannot be installed or run is a row that says what happened.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from importlib.metadata import Distribution, distributions
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console

from benchmarks.environment import CACHE, ROOT, Missing, python_of
from benchmarks.histories import agent_run
from benchmarks.quality import peers
from benchmarks.quality.composer_calls import Composer, Opened
from benchmarks.quality.long_run import Sightline, replies_to_facts, requests
from benchmarks.quality.messages import Message, common_prefix, count_message, count_messages, full_text
from benchmarks.quality.planted_facts import FACTS, plant_facts
from benchmarks.quality.tables import Lines, markdown, show
from benchmarks.quality.validity import problems
from benchmarks.report import facts as machine_facts

PINS = ROOT / "benchmarks" / "quality" / "peers" / "pins"
SIZES = (200, 1_000)  # messages of the list that is fitted
BUDGET = 32_000
PATIENCE = 600  # seconds for an installation
ROUNDS = 3  # processes of each measurement, after one that compiles
CUT = ("unshare", "--net", "--map-root-user")
PAIRS = {"orphan_tool", "orphan_call", "dup_tool"}
BARE = {"pip", "setuptools"}  # are in every environment


class Other(NamedTuple):
    """What is installed, and what of it is started: a function of `first_list`. None where there is none."""

    name: str
    package: str
    starts: str | None
    pins: Path | None = None


OTHERS = (
    Other("Sightline, the library", str(ROOT), "sightline"),
    Other("Sightline with `wrap` and the inspector", f"{ROOT}[cli,server]", None),
    Other("LangChain `trim_messages`", "langchain-core", "trim", PINS / "langchain.txt"),
    Other("LangChain `SummarizationMiddleware`", "langchain", "summary", PINS / "langchain.txt"),
    Other("headroom", "headroom-ai", "headroom", PINS / "headroom.txt"),
    Other("mem0", "mem0ai==2.2.1", "mem0"),
    Other("Letta Code", "letta==0.34.12", "letta"),
    Other("Letta server", "letta==0.16.8", "letta_server"),
)
COMPOSERS: dict[str, str] = {
    "LangChain `trim_messages`, as documented": "lc_trim",
    "LangChain `trim_messages`, plain": "lc_trim_plain",
    "LangChain `SummarizationMiddleware`, defaults": "lc_summary",
    "the same, summariser shown everything": "lc_summary_all",
    "headroom `compress`": "headroom",
}


# ------------------------------------------------------------------ size and start


def installed(other: Other, home: Path) -> dict[str, Any]:
    """Install it and weigh it. Raises Missing."""
    venv.create(home, with_pip=True, clear=True)
    pip = [str(python_of(home)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--upgrade", "pip"], check=False, capture_output=True)  # an old one fails at Letta's extras
    pins = ["-c", str(other.pins)] if other.pins else []
    command = [*pip, *pins, other.package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise Missing(f"pip had not chosen its packages after {PATIENCE // 60} minutes") from error
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise Missing(f"pip: {(errors or ['no reason given'])[0]}")
    packages = distributions(path=[str(each) for each in home.glob("lib/python*/site-packages")])
    ours = [each for each in packages if each.metadata["Name"].lower() not in BARE]
    wanted = "sightline-context" if other.package.startswith(str(ROOT)) else other.package.partition("==")[0]
    version = next((each.version for each in ours if each.metadata["Name"] == wanted), "")
    return {"version": version, "packages": len(ours), "bytes": sum(map(_size, ours))}


def _size(package: Distribution) -> int:
    paths = {Path(str(file.locate())) for file in package.files or ()}
    return sum(path.stat().st_size for path in paths if path.is_file())


def started(name: str, home: Path, messages: int) -> dict[str, Any]:
    """Start it in fresh processes without a network; the medians of what they took."""
    file = home / f"{messages}.json"
    file.write_text(json.dumps(agent_run(messages)), encoding="utf-8")
    script = Path(__file__).with_name("first_list.py")
    command = [*_cut(), str(python_of(home)), str(script), name, str(file), str(BUDGET)]
    runs = []
    for at in range(ROUNDS + 1):
        place = home / f"run-{messages}-{at}"
        place.mkdir()
        environment = {**os.environ, "HOME": str(place)}  # what it keeps of an earlier run would be a head start
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            return {"failed": (done.stderr.splitlines() or ["no reason given"])[-1]}
        runs.append(json.loads(done.stdout))
    last = runs[-1]
    figures = {
        key: median(run[key] for run in runs[1:]) for key, value in last.items() if isinstance(value, float | int)
    }
    return {**last, **figures}


def _cut() -> Sequence[str]:
    """What a command is begun with so that it has no network. Raises Missing where this machine cannot do that."""
    try:
        subprocess.run([*CUT, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Missing(f"the network cannot be cut here: `{' '.join(CUT)}` failed") from error
    return CUT


# ------------------------------------------------------------------ what is lost


class Kept(NamedTuple):
    """What is left of a run of an agent whose requests are shortened, each before a model call."""

    requests: int
    over: int  # larger than the budget
    pairs: int  # with a call without its result, or a result without its call
    rewritten: int  # that do not begin with the request before
    cached: float  # share of the tokens that stood at the beginning of the request before
    tokens: int  # of the last request
    readable: int  # facts in the last request
    recoverable: int  # facts in what the model can ask for by a call that the last request names, or in it
    asked: int  # facts shown when the user asks for each
    model_calls: int


def kept(composer: Composer, messages: int) -> Kept:
    """Compose each request of a run in which facts are planted."""
    history, opened = plant_facts(messages), Opened(composer, "others")
    before, last, sums = list[Message](), list[Message](), dict.fromkeys(("tokens", "cached", *Kept._fields), 0)
    ends = [at for at, message in enumerate(history) if message["role"] == "assistant"] + [len(history)]
    for end, last in zip(ends, requests(opened, history, BUDGET), strict=True):
        shared, tokens = common_prefix(before, last), count_messages(last)
        sums["requests"] += 1
        sums["over"] += tokens > BUDGET
        sums["pairs"] += bool(PAIRS & {*problems(last, history[:end], BUDGET, tokens)})
        sums["rewritten"] += shared < len(before)
        sums["tokens"] += tokens
        sums["cached"] += sum(map(count_message, last[:shared]))
        before = last
    text = "\n".join(map(full_text, last))
    readable = [fact.value in text for fact in FACTS]
    recovered = recovers(opened.composer, [fact.value for fact in FACTS], [fact.question for fact in FACTS])
    asked = sum(each.found for each in replies_to_facts(opened, history, BUDGET))
    return Kept(
        sums["requests"], sums["over"], sums["pairs"], sums["rewritten"], sums["cached"] / sums["tokens"],
        count_messages(last), sum(readable), sum(map(any, zip(readable, recovered, strict=True))), asked,
        getattr(opened.composer, "model_calls", 0),
    )  # fmt: skip


def recovers(composer: Any, values: Sequence[str], questions: Sequence[str]) -> list[bool]:
    """Which values a call of the model brings back: with Sightline `recall` with the words of the question."""
    if isinstance(composer, Sightline):
        return [value in composer.recalled(question) for value, question in zip(values, questions, strict=True)]
    return list(composer.recovers(values)) if hasattr(composer, "recovers") else [False] * len(values)


# ------------------------------------------------------------------ tables


def start_table(rows: Sequence[Mapping[str, Any]]) -> Lines:
    """Sizes, and what a first list takes."""
    headings = [
        "", "version", "packages", "MB on disk", "CPU s to import", "MB of memory",
        *(f"CPU s for {size:,} messages" for size in SIZES), "MB of memory then", "without a network",
    ]  # fmt: skip
    cells = []
    for row in rows:
        runs = [row[str(size)] for size in SIZES if str(size) in row]
        first, last = (runs[0], runs[-1]) if runs else ({}, {})
        cells.append([
            row["name"], row.get("version", ""),
            _cell(row.get("packages"), ",.0f"), _cell(row.get("bytes"), ",.0f", 1e6),
            _cell(first.get("import"), ".2f"), _cell(first.get("import_memory"), ",.0f", 1e6),
            *(_cell(run.get("fit"), ".2f") for run in (first, last)), _cell(last.get("fit_memory"), ",.0f", 1e6),
            _offline(row, last),
        ])  # fmt: skip
    return Lines("Size and start", headings, cells, "")


def _offline(row: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    why = row.get("failed") or run.get("failed")
    said = "not run" if not (run or why) else f"no: {why}" if why else "works"
    return f"{said}; asked for {', '.join(run['hosts'])}" if run.get("hosts") else said


def _cell(value: float | None, form: str, unit: float = 1) -> str:
    return "–" if value is None else format(value / unit, form)


def kept_table(rows: Mapping[str, Kept | str], messages: int) -> Lines:
    """What is left of the run."""
    headings = [
        "", "requests over the budget", "with a broken tool pair", "prefix rewritten", "tokens in an unchanged prefix",
        "tokens of the last", "facts readable", "with the model's calls", "when the user asks", "calls of a summariser",
    ]  # fmt: skip
    cells = []
    for name, row in rows.items():
        if isinstance(row, str):
            cells.append([name, row, *["–"] * (len(headings) - 2)])
            continue
        of = f"of {row.requests}"
        cells.append([
            name, f"{row.over} {of}", f"{row.pairs} {of}", f"{row.rewritten} {of}", f"{row.cached:.0%}",
            f"{row.tokens:,}",
            *(f"{facts} of {len(FACTS)}" for facts in (row.readable, row.recoverable, row.asked)), str(row.model_calls),
        ])  # fmt: skip
    tokens = count_messages(plant_facts(messages))
    return Lines(f"A run of {messages:,} messages, {tokens:,} tokens, at {BUDGET:,}", headings, cells, "")


# ------------------------------------------------------------------ command


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    arguments = _arguments(given)
    console, progress = Console(width=None if sys.stdout.isatty() else 240), Console(stderr=True)

    def say(text: str) -> None:
        progress.print(f"[dim]{text} …[/]")

    CACHE.mkdir(exist_ok=True)
    tables = []
    if "start" in arguments.part:
        tables.append(start_table(list(_starts(say))))
    if "kept" in arguments.part:
        tables.append(kept_table(dict(_runs(say, arguments.messages)), arguments.messages))
    about = machine_facts(date.today().isoformat(), "python -m benchmarks.others", {})
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    lines = [*(f"- {name}: {value}" for name, value in about.items() if value), f"- memory: {memory:.0f} GB"]
    for table in tables:
        show(table, console)
    console.print("\n".join(lines))
    if arguments.md:
        arguments.md.write_text("\n".join([*map(markdown, tables), *lines]) + "\n", encoding="utf-8")


def _starts(say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    for other in OTHERS:
        row: dict[str, Any] = {"name": other.name}
        home = Path(tempfile.mkdtemp(prefix="others-", dir=CACHE))
        try:
            say(f"installing {other.name}")
            row |= installed(other, home)
            for size in SIZES if other.starts else ():
                say(f"starting {other.name}, {size:,} messages")
                row[str(size)] = started(str(other.starts), home, size)
        except Missing as missing:
            row["failed"] = str(missing)
        finally:
            shutil.rmtree(home, ignore_errors=True)
        yield row


def _runs(say: Callable[[str], None], messages: int) -> Iterator[tuple[str, Kept | str]]:
    say("running Sightline")
    yield "Sightline", kept(Sightline, messages)
    versions = peers.available(COMPOSERS.values())
    for title, name in COMPOSERS.items():
        say(f"running {title}")
        version = versions[name]
        yield title, str(version) if isinstance(version, peers.WhyNot) else kept(peers.composer(name), messages)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.others", description=__doc__.partition(": ")[2])
    parts = ("start", "kept")
    parser.add_argument(
        "--part", nargs="+", choices=parts, default=parts, help="sizes and start; what is left of a run"
    )
    parser.add_argument("--messages", type=int, default=SIZES[-1], help="of the run")
    parser.add_argument("--md", type=Path, metavar="FILE", help="write the tables there")
    return parser.parse_args(given)


if __name__ == "__main__":
    main()
