"""`python -m benchmarks.quality.rivals`: Sightline and its rivals on one long tool history. No model, no network.

One request before each model call of a generated agent run; a request costs a tenth of a token for each token of the
longest prefix it shares with the request before, whole messages, and 1.25 for each of the rest. Then compose time by
length, and whether facts from long ago are shown when somebody asks for them at 10,000 messages.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from textwrap import fill
from typing import Any

from rich.console import Console

from benchmarks.environment import Missing
from benchmarks.quality import peers
from benchmarks.quality.baselines import full, sliding
from benchmarks.quality.composer_calls import Composer
from benchmarks.quality.long_run import Sightline, agent, replayed, shown, sightline_at, timed
from benchmarks.quality.messages import count_messages
from benchmarks.quality.planted_facts import FACTS
from benchmarks.quality.tables import Lines, markdown, show

SHORT, SHORT_BUDGET = 109, 8_000  # messages of some 45,000 tokens
LONG, LONG_BUDGET = 1_000, 32_000
SIZES = {100: SHORT_BUDGET, 1_000: LONG_BUDGET, 10_000: LONG_BUDGET}  # messages and budgets of the timed calls
MOST_SHORT, MOST_LONG = 60_000, 1_200_000  # what the two replays may cost
MOST_MS = {100: 1.0, 1_000: 3.0, 10_000: 20.0}
TRIGGERS, AIMS = (0.7, 0.8, 0.9, 1.0), (0.3, 0.4, 0.5, 0.6)  # of the curve


# ------------------------------------------------------------------ rows

OURS: dict[str, Composer] = {"full": full, "sliding": sliding, "sightline": Sightline}
PARTS = ("short", "long", "times", "facts")
HELP = f"""parts:
  short  what every request of {SHORT} messages costs at {SHORT_BUDGET:,} tokens
  long   the same of {LONG:,} messages at {LONG_BUDGET:,}
  times  milliseconds of compose at {", ".join(f"{size:,}" for size in SIZES)} messages
  facts  which of {len(FACTS)} facts from long ago are shown when asked for, at {max(SIZES):,} messages

names:
{fill(", ".join((*OURS, *peers.NAMES)), initial_indent="  ", subsequent_indent="  ")}"""


def row(
    name: str, composer: Composer, version: str, parts: Sequence[str], say: Callable[[str], None]
) -> dict[str, Any]:
    """Measure one composer. A failure is reported in its row."""
    found: dict[str, Any] = {"composer": name, "version": version}
    work: dict[str, Callable[[], Any]] = {
        "short": lambda: replayed(composer, agent(SHORT), SHORT_BUDGET)._asdict(),
        "long": lambda: replayed(composer, agent(LONG), LONG_BUDGET)._asdict(),
        "times": lambda: {size: timed(composer, size, budget)._asdict() for size, budget in SIZES.items()},
        "facts": lambda: _asked_for(composer, lived=composer is Sightline),
        "imported": lambda: _asked_for(composer, lived=False),
    }
    if "facts" in parts and composer is Sightline:
        parts = [*parts, "imported"]
    for part in parts:
        say(f"{name}: {part}")
        try:
            found[part] = work[part]()
        except (Missing, RuntimeError) as error:
            found[part], found["failed"] = None, str(error)
    return found


def _asked_for(composer: Composer, *, lived: bool) -> list[dict[str, Any]]:
    return [each._asdict() for each in shown(composer, max(SIZES), LONG_BUDGET, lived=lived)]


def curve(say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Measure what both replays cost with Sightline, for several triggers and targets."""
    rows = []
    for trigger, target in product(TRIGGERS, AIMS):
        say(f"trigger {trigger}, target {target}")
        engine = sightline_at(trigger, target)
        short, long = replayed(engine, agent(SHORT), SHORT_BUDGET), replayed(engine, agent(LONG), LONG_BUDGET)
        rows.append({"trigger": trigger, "target": target, "short": short._asdict(), "long": long._asdict()})
    return rows


# ------------------------------------------------------------------ tables


def rivals_table(rows: Sequence[Mapping[str, Any]]) -> Lines:
    """Tokens, times, costs."""
    headings = [
        "composer", "version", f"tokens at {SHORT_BUDGET // 1000}k", "compose ms, first call: 100 / 1k / 10k",
        "next calls", f"cost, {SHORT} messages", f"cost, {LONG:,} messages", "over budget", "prefix broken",
        "model calls", "facts",
    ]  # fmt: skip
    title = f"One tool history: {count_messages(agent(SHORT)):,} tokens in {SHORT} messages at {SHORT_BUDGET:,}, "
    title += f"{count_messages(agent(LONG)):,} in {LONG:,} at {LONG_BUDGET:,}"
    return Lines(title, headings, [_cells(row) for row in rows], _verdict(rows))


def _cells(row: Mapping[str, Any]) -> list[str]:
    short, long, times, facts = (row.get(part) for part in PARTS)
    both = [each for each in (short, long) if each]
    return [
        row["composer"],
        row["version"],
        f"{short['last']:,}" if short else "–",
        " / ".join(f"{each['first']:.3g}" for each in times.values()) if times else "–",
        " / ".join(f"{each['next']:.3g}" for each in times.values()) if times else "–",
        f"{short['cost']:,.0f}" if short else "–",
        f"{long['cost']:,.0f}" if long else "–",
        " / ".join(f"{each['over']} of {each['requests']}" for each in both) or "–",
        " / ".join(str(each["broken"]) for each in both) or "–",
        " / ".join(str(each["model_calls"]) for each in both) or "–",
        ", imported ".join(map(_found, filter(None, (facts, row.get("imported"))))) or "–",
    ]


def _found(facts: Sequence[Mapping[str, Any]]) -> str:
    return f"{sum(each['found'] for each in facts)} of {len(facts)}"


def _verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Which of our targets are met."""
    ours = next((row for row in rows if row["composer"] == "sightline"), None)
    if ours is None:
        return ""
    return "Targets of Sightline: " + "; ".join(f"{what} {'met' if met else 'MISSED'}" for what, met in _targets(ours))


def _targets(ours: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    short, long, times, facts = (ours.get(part) for part in PARTS)
    if short:
        yield f"cost {short['cost']:,.0f} ≤ {MOST_SHORT:,}", short["cost"] <= MOST_SHORT
    if long:
        yield f"cost {long['cost']:,.0f} ≤ {MOST_LONG:,}", long["cost"] <= MOST_LONG
    for each in filter(None, (short, long)):
        yield f"{each['over']} requests over the budget", not each["over"]
        yield f"{each['model_calls']} model calls", not each["model_calls"]
    for size, each in (times or {}).items():
        most = MOST_MS[int(size)]  # JSON knows only texts as keys
        written = each["next"] + each["writing"]
        yield f"{each['next']:.2f} ms ≤ {most:g} ms at {int(size):,} messages", each["next"] <= most
        yield f"{written:.2f} ms with its written form", written <= most
    for how, some in (("", facts), (" after an import", ours.get("imported"))):
        if some:
            yield f"{_found(some)} facts{how}", all(each["found"] for each in some)


def facts_table(rows: Sequence[Mapping[str, Any]]) -> Lines:
    """Return a table of what each question showed."""
    columns = {row["composer"]: row["facts"] for row in rows if row.get("facts")}
    columns |= {f"{row['composer']}, imported": row["imported"] for row in rows if row.get("imported")}
    cells = []
    for at, fact in enumerate(FACTS):
        cells.append([fact.question, *("yes" if column[at]["found"] else "no" for column in columns.values())])
    title = f"ModelInfo shown within {LONG_BUDGET:,} tokens at {max(SIZES):,} messages"
    note = "Sightline composed before each model call of the run; all others, and Sightline imported, got it at once."
    return Lines(title, ["question", *columns], cells, note)


def curve_table(rows: Sequence[Mapping[str, Any]]) -> Lines:
    """Costs by trigger and target."""
    columns = ["cost, {}", "prefix broken", "tokens a call"]
    headings = [
        "trigger / target",
        *(each.format(name) for name in ("short", "long") for each in columns),
        "over budget",
    ]
    cells = []
    for each in rows:
        short, long = each["short"], each["long"]
        figures = [f"{each['trigger']:g} / {each['target']:g}"]
        for run in (short, long):
            figures += [f"{run['cost']:,.0f}", str(run["broken"]), f"{run['mean']:,.0f}"]
        cells.append([*figures, str(short["over"] + long["over"])])
    note = f"Wanted: at most {MOST_SHORT:,} and {MOST_LONG:,}."
    return Lines("What the replays cost Sightline, by its budget's trigger and target", headings, cells, note)


# ------------------------------------------------------------------ command


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    arguments = _arguments(given)
    console, progress = Console(width=None if sys.stdout.isatty() else 220), Console(stderr=True)

    def say(text: str) -> None:
        progress.print(f"[dim]{text} …[/]")

    if arguments.curve:
        rows = curve(say)
        tables = [curve_table(rows)]
    else:
        rows = _read(arguments.rows) if arguments.rows else list(_rows(arguments, say))
        tables = [rivals_table(rows), facts_table(rows)]
    for table in tables:
        show(table, console)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if arguments.md:
        arguments.md.write_text("\n".join(map(markdown, tables)), encoding="utf-8")


def _rows(arguments: argparse.Namespace, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    for name, composer in OURS.items():
        if not arguments.only or name in arguments.only:
            yield row(name, composer, "", arguments.part, say)
    wanted = [name for name in peers.NAMES if not arguments.only or name in arguments.only]
    for name, version in peers.available(wanted).items():
        if isinstance(version, peers.WhyNot):
            say(f"{name} is left out: {version}")
            yield {"composer": name, "version": "left out", "failed": str(version)}
        else:
            yield row(name, peers.composer(name), version, arguments.part, say)


def _read(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Read rows of earlier runs, one for each composer, in the usual order; later parts replace earlier ones."""
    rows: dict[str, dict[str, Any]] = {}
    for each in (row for path in paths for row in json.loads(path.read_text(encoding="utf-8"))):
        rows[each["composer"]] = {**rows.get(each["composer"], {}), **each}
    order = [*OURS, *peers.NAMES]
    return sorted(rows.values(), key=lambda row: order.index(row["composer"]))


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    names = (*OURS, *peers.NAMES)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.rivals",
        description=__doc__.partition(": ")[2],
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--only", nargs="+", choices=names, default=[], metavar="NAME", help="see below; default: all")
    add("--part", nargs="+", choices=PARTS, default=list(PARTS), help="see below; default: all")
    add("--curve", action="store_true", help="only what trigger and target cost Sightline")
    add("--out", type=Path, metavar="FILE", help="write all rows there, as JSON")
    add("--rows", nargs="+", type=Path, metavar="FILE", help="measure nothing: show what --out wrote before")
    add("--md", type=Path, metavar="FILE", help="write the tables there, as Markdown")
    arguments = parser.parse_args(given)
    if missing := [str(path) for path in arguments.rows or () if not path.is_file()]:
        parser.error(f"argument --rows: no file {', '.join(missing)}")
    return arguments


if __name__ == "__main__":
    main()
