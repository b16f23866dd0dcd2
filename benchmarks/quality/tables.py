"""Rows as tables: for the terminal and for a page."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.quality.compactions import SUMMARY
from benchmarks.quality.composer_calls import BUCKET_NAMES, Row, quantile
from benchmarks.quality.evidence import ORACLE
from benchmarks.quality.jobs import JOBS
from benchmarks.quality.splits import HALVES

TITLES = {
    "a": "(a) Evidence in long chats",
    "b": "(b) Agent runs, replayed",
    "c": "(c) Values settled in booking dialogues",
    "d": "(d) Gists against human summaries",
    "e": "(e) Against real compactions by a model",
    "f": "(f) Twenty constraints in small windows",
    "g": "(g) Sentences taken for constraints",
}
OURS = {
    "sightline": "",
    "sightline plain": ", plain",
    "sightline compact": ", compacted",
    "sightline thrifty": ", thrifty",
}  # row: what its figures' names end with
_MOST_REASONS = 6  # in one cell; the JSON has all items
_SHARES = ("edits", "needed", "far")
_WHO = {"d": "gist", "g": "finder"}
_OF = {"c": "sessions", "d": "dialogues", "f": "talks", "g": "messages"}
Figure = Callable[[Any], str]


def percent(value: float | None) -> str:
    """A share."""
    return "-" if value is None else f"{100 * value:.1f}"


def hidden(value: float | None) -> str:
    """A share that should be nothing."""
    return "0" if value == 0 else "<0.1" if value is not None and value < 0.0005 else percent(value)


def whole(value: float | None) -> str:
    """A number without decimals."""
    return "-" if value is None else f"{value:.0f}"


def ratio(value: float | None) -> str:
    """A number with two decimals."""
    return "-" if value is None else f"{value:.2f}"


def millions(value: float | None) -> str:
    """A number of tokens, in millions."""
    return "-" if value is None else f"{value / 1e6:.2f}"


def millis(value: float | None) -> str:
    """A time, three digits."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


class Column(NamedTuple):
    """A figure of a row."""

    title: str
    key: str
    write: Figure


_TIME = [Column("ms p50", "ms_p50", millis), Column("p95", "ms_p95", millis)]
_INVALID = Column("invalid %", "invalid", percent)
COLUMNS: dict[str, list[Column]] = {
    "a": [
        Column("tokens", "tokens", whole),
        Column("all evidence %", "all_evidence", percent),
        Column("evidence share %", "evidence_frac", percent),
        Column("soft share %", "soft_frac", percent),
        Column("answer string %", "answer", percent),
        Column("evidence + dates %", "dated", percent),
        _INVALID,
        *_TIME,
    ],
    "b": [
        Column("tokens/call", "tokens", whole),
        Column("cache hit %", "cache_hit", percent),
        Column("cost", "rel_cost", ratio),
        Column("real cost", "rel_cost_real", ratio),
        Column("cost M", "cost", millions),
        Column("real cost M", "cost_real", millions),
        Column("re-reads", "real_faults", whole),
        Column("edits %", "edits", percent),
        Column("hidden %", "hidden", hidden),
        Column("faults", "faults", whole),
        Column("needed %", "needed", percent),
        Column("or 1 step %", "needed_step", percent),
        Column("far %", "needed_far", percent),
        Column("far or 1 step %", "needed_far_step", percent),
        _INVALID,
        *_TIME,
        Column("growth", "growth", ratio),
    ],
    "c": [
        Column("tokens", "tokens", whole),
        Column("slots of whole session %", "session_slots", percent),
        Column("in the worst wording %", "session_worst", percent),
        Column("slots of asked topic %", "topic_slots", percent),
        Column("topic complete %", "topic_complete", percent),
        _INVALID,
        *_TIME,
    ],
    "d": [
        Column("tokens", "tokens", whole),
        Column("ROUGE-1 recall %", "rouge1_recall", percent),
        Column("ROUGE-1 F %", "rouge1_f", percent),
        Column("ROUGE-2 recall %", "rouge2_recall", percent),
    ],
    "e": [
        Column("tokens", "tokens", whole),
        Column("carried values %", "carried", percent),
        Column("user messages (soft) %", "user_soft", percent),
        _INVALID,
        *_TIME,
    ],
    "f": [
        Column("tokens", "tokens", whole),
        Column("readable %", "readable", percent),
        Column("worst talk %", "worst", percent),
        _INVALID,
        *_TIME,
    ],
    "g": [
        Column("found in 100 messages", "per_hundred", ratio),
        Column("precision %", "precision", percent),
        Column("recall %", "recall", percent),
    ],
}


class Lines(NamedTuple):
    """One dataset's table."""

    title: str
    headings: list[str]
    cells: list[list[str]]
    note: str = ""


Grouped = dict[tuple[str, Any], dict[str, Row]]  # composer and budget: half: row


def grouped(rows: Sequence[Row], part: str, dataset: str) -> Grouped:
    """Return the rows of one table. The naive window ignores the budget, so it has one row."""
    own = [row for row in rows if row["part"] == part and row["dataset"] == dataset]
    least = min((int(row["budget"]) for row in own if row["composer"] == "last_n20"), default=0)
    out: Grouped = {}
    for row in own:
        if row["composer"] != "last_n20" or int(row["budget"]) == least:
            out.setdefault((row["composer"], row["budget"]), {})[row["half"]] = row
    return out


def lines_of(rows: Sequence[Row], part: str, dataset: str) -> Lines | None:
    """Return the table of one dataset; None if nothing was measured."""
    table = grouped(rows, part, dataset)
    if not table:
        return None
    halves = [half for half in HALVES if any(half in by for by in table.values())]
    first = next(iter(table.values()))
    about = " / ".join(_about(part, first[half]) for half in halves if half in first)
    title = f"{dataset}, {' / '.join(halves).replace('heldout', 'held-out')} ({about})"
    headings = [_WHO.get(part, "composer"), "size" if part == "d" else "budget"]
    cells = [[name, str(budget or "none"), *_cells(part, halves, by)] for (name, budget), by in table.items()]
    return Lines(title, [*headings, *(each.title for each in COLUMNS[part])], cells, _why_invalid(table, halves[0]))


def _cells(part: str, halves: Sequence[str], by: dict[str, Row]) -> list[str]:
    return [
        " / ".join(column.write(by[half].get(column.key)) if half in by else "-" for half in halves)
        for column in COLUMNS[part]
    ]


def _about(part: str, row: Row) -> str:
    match part:
        case "a":
            return f"{row['n']} questions"
        case "b":
            cold = row["cold"]
            clock = "no clock" if cold is None else f"{100 * cold:.1f} % of the calls after more than 5 minutes"
            needs = f"{row.get('edits_n', 0)} edits, {row['values']} needed values"
            return f"{row['trajectories']} runs, {row['n']} model calls, {needs}, {clock}"
        case "e":
            return f"{row['n']} events, {row['values']} carried values"
        case _:
            return f"{row['n']} {_OF[part]}"


def _why_invalid(table: Grouped, half: str) -> str:
    said = []
    for (name, budget), by in table.items():
        worst = sorted((by.get(half) or {}).get("problems", {}).items(), key=lambda each: -each[1])[:3]
        if worst:
            named = ", ".join(f"{problem} {100 * share:.0f} %" for problem, share in worst)
            said.append(f"{name} at {budget or 'no'} budget: {named}")
    return f"Invalid because of: {'; '.join(said)}." if said else ""


def by_part(rows: Sequence[Row]) -> Iterator[tuple[str, list[Lines]]]:
    """All tables, part by part."""
    for part, title in TITLES.items():
        found = [lines_of(rows, part, job.dataset) for job in JOBS if job.part == part]
        if tables := [each for each in found if each]:
            yield title, tables


# ------------------------------------------------------------------ what holds for all of them


def broken_prefixes(rows: Sequence[Row]) -> list[str]:
    """For each composer that gives reasons: how often a request did not begin with the one before, and why."""
    out = []
    promised = [row for row in rows if row.get("gives_reasons")]
    for name in dict.fromkeys(row["composer"] for row in promised):
        own = [row for row in promised if row["composer"] == name]
        keys = ("prefix_breaks", "unexplained_breaks", "requests_compared")
        breaks, bare, compared = (sum(row[key] for row in own) for key in keys)
        fate = "all with a reason" if not bare else f"{bare} WITHOUT a reason"
        out.append(f"{name}: prefix breaks: {breaks} in {compared} requests, {fate}")
    return out


def break_reasons(rows: Sequence[Row]) -> Lines | None:
    """Why requests did not begin with the one before, and what that cost."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for row in rows:
        for reason, cost in row.get("break_reasons", {}).items():
            known = sums.setdefault((row["composer"], row["dataset"], reason), [0, 0])
            known[0] += cost["calls"]
            known[1] += cost["tokens"]
    if not sums:
        return None
    cells = [
        [*key, f"{calls}", f"{tokens:,}", f"{tokens / calls:,.0f}"] for key, (calls, tokens) in sorted(sums.items())
    ]
    headings = ["composer", "dataset", "reason", "calls", "tokens written again", "per call"]
    return Lines("Why a request did not begin with the one before", headings, cells)


def one_by_one(rows: Sequence[Row], dataset: str) -> Lines | None:
    """Return the figures of each run of a dataset, of the full history, of a plain window and of Sightline."""
    own = [row for row in rows if row["dataset"] == dataset and row["composer"] in ("full", "step_window", *OURS)]
    whole = {name: run for row in own if row["composer"] == "full" for name, run in row.get("by_run", {}).items()}
    cells = []
    for name in sorted(whole):
        for row in own:
            if run := row.get("by_run", {}).get(name):
                shares = [percent(run[key] / run[f"{key}_n"] if run[f"{key}_n"] else None) for key in _SHARES]
                costs = [
                    millions(run["cost"]),
                    millions(run["cost_real"]),
                    ratio(run["cost_real"] / whole[name]["cost"]),
                ]
                place = [row["composer"], str(row["budget"] or "none"), f"{name} {row['half']}"]
                cells.append([*place, *costs, str(run["real_faults"]), *shares])
    headings = [
        "composer",
        "budget",
        "run",
        "cost M",
        "real cost M",
        "real cost",
        "re-reads",
        "edits %",
        "needed %",
        "far %",
    ]
    return Lines(f"{dataset}, run by run", headings, cells) if cells else None


def hidden_items(rows: Sequence[Row]) -> Lines | None:
    """Return what Sightline hides where the whole history fits, and why: the tool, the reason, how many items.

    By default, that is: `thrifty` hides on purpose, because it works in a smaller window.
    """
    cells = []
    for row in rows:
        if row["composer"] != "sightline" or not row.get("fits_n") or not isinstance(row["budget"], int):
            continue
        reasons = Counter(f"{each['tool'] or 'text'}: {each['reason'] or 'no reason'}" for each in row["hidden_items"])
        said = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common(_MOST_REASONS))
        said += ", …" if len(reasons) > _MOST_REASONS else ""
        calls = [str(row["fits_n"]), str(row["hides_n"]), hidden(row["hidden"])]
        cells.append([f"{row['dataset']} {row['half']}", str(row["budget"]), *calls, said or "nothing"])
    headings = ["dataset", "budget", "calls that fit", "calls that hide", "hidden %", "items by tool and reason"]
    return Lines("Hidden although the whole history fits", headings, cells) if cells else None


def times(rows: Sequence[Row]) -> Lines | None:
    """Compose time over history length, budgets pooled by their median."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if "ms_p50" in row and row["composer"] not in (ORACLE, SUMMARY):
            found.setdefault((row["part"], row["dataset"], row["composer"]), []).append(row)
    cells = []
    for (part, dataset, name), own in found.items():
        by = [[row["ms_by_history"].get(bucket, {}).get("p50") for row in own] for bucket in BUCKET_NAMES]
        columns = [[row["ms_p50"] for row in own], [row["ms_p95"] for row in own], *by]
        growth = ratio(_middle([row["growth"] for row in own]))
        cells.append([f"{part} {dataset}", name, *(millis(_middle(column)) for column in columns), growth])
    headings = ["dataset", "composer", "p50", "p95", *BUCKET_NAMES, "growth"]
    title = "Compose time by tokens of the history (ms, median over the budgets)"
    return Lines(title, headings, cells) if cells else None


def _middle(values: Sequence[float | None]) -> float | None:
    return quantile([value for value in values if value is not None], 0.5)


# ------------------------------------------------------------------ writing


def console() -> Console:
    """Return where tables are printed. In a file, nothing is cut off."""
    return Console(width=None if sys.stdout.isatty() else 240)


def show(lines: Lines, place: Console) -> None:
    """Print a table in the terminal."""
    table = Table(title=lines.title, title_justify="left")
    for at, heading in enumerate(lines.headings):
        table.add_column(heading, justify="left" if at == 0 else "right")
    for cells in lines.cells:
        table.add_row(*cells, style="bold" if cells[0] in OURS else "")
    place.print(table)
    if lines.note:
        place.print(f"[dim]{lines.note}[/]")


def markdown(lines: Lines) -> str:
    """Return a table as Markdown, with Sightline's rows in bold."""
    out = [f"**{lines.title}**", "", _line(lines.headings), _line(["---"] * len(lines.headings))]
    for name, *figures in lines.cells:
        out.append(_line([f"**{name}**" if name in OURS else name, *figures]))
    return "\n".join([*out, *(["", lines.note] if lines.note else []), ""])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
