"""The tables of the first page: what a user feels, edits and their cost, and constraints."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from benchmarks.quality.composer_calls import Row
from benchmarks.quality.headlines import is_legal
from benchmarks.quality.splits import HALVES
from benchmarks.quality.tables import OURS, Figure, Lines, hidden, percent, ratio

_RIVALS = ("sliding", "step_window", "step_mask")  # whom edits and their cost are compared with, by name
_FEWEST = 20  # edits: a dataset with fewer says nothing about them
_FEWEST_CALLS = 100  # where there are none
_WIDEST = 200_000  # budget of the edits: beyond, everything fits


class Felt(NamedTuple):
    """A figure that somebody notices who uses an agent."""

    title: str
    datasets: tuple[str, ...]  # of several the worst
    budget: int
    key: str
    write: Figure


_LONG, _CODEX = ("long_runs",), ("entire_codex",)
_FITTING = ("entire_claude", "claude_code", "entire_codex", "mini_swe_agent")
FELT = (
    Felt("edits whose text can be read, %", _LONG, 128_000, "edits", percent),
    Felt("edits whose text can be read, %", _LONG, 200_000, "edits", percent),
    Felt("patches of Codex whose text can be read, %", _CODEX, 128_000, "edits", percent),
    Felt("values from long ago that can be read, %", _LONG, 128_000, "needed_far", percent),
    Felt("the bill, everything sent = 1", _LONG, 128_000, "rel_cost_real", ratio),
    Felt("the bill, everything sent = 1", _LONG, 200_000, "rel_cost_real", ratio),
    Felt("hidden although everything fits, % of the tokens", _FITTING, 200_000, "hidden", hidden),
)
_COLUMNS = {
    "sightline": "sightline",
    "sightline thrifty": "thrifty",
    "step_window": "plain window",
    "full": "everything",
}
_ANSWERED = ("sightline", "", "sliding", "full")  # who is asked for answers, column by column


def felt_table(rows: Sequence[Row], answers: Lines | None) -> Lines | None:
    """Return what a user feels, in few rows: edits, the bill, and what a real model answers."""
    cells = []
    for felt in FELT:
        own = [row for row in rows if row["part"] == "b" and row["dataset"] in felt.datasets]
        figures = [_felt(own, felt, name) for name in _COLUMNS]
        if figures[0] != "-":
            cells.append([felt.title, f"{felt.budget:,}", *figures])
    if answers:
        cells += _answers(answers)
    return Lines("What a user feels", ["figure", "window", *_COLUMNS.values()], cells) if cells else None


def _felt(rows: Sequence[Row], felt: Felt, name: str) -> str:
    """Write the figure of one composer, of both halves if there are two."""
    budget = None if name == "full" else felt.budget
    own = [row for row in rows if (row["composer"], row["budget"]) == (name, budget) and row.get(felt.key) is not None]
    halves = [[row[felt.key] for row in own if row["half"] == half] for half in HALVES]
    return " / ".join(felt.write(max(values)) for values in halves if values) or "-"


def _answers(answers: Lines) -> list[list[str]]:
    """Write the F1 of each composer's answers at the largest window that Sightline was asked at."""
    at = answers.headings.index("F1")
    found = {
        (name.removesuffix(" (sent)"), budget): cells[at].split()[0]
        for cells in answers.cells
        for name, budget in [cells[:2]]
    }
    windows = [int(budget) for name, budget in found if name == "sightline"]
    if not windows:
        return []
    window = str(max(windows))
    figures = [found.get((name, "none" if name == "full" else window), "-") for name in _ANSWERED]
    return [["answers of a real model about a long chat, F1", f"{int(window):,}", *figures]]


def edits_table(rows: Sequence[Row]) -> Lines | None:
    """Return edits % at what real cost; needed % for the runs that edit otherwise, such as by shell commands.

    Runs whose budget is counted from their system prompt are short, and edit nothing.
    """
    runs = [row for row in rows if row["part"] == "b" and isinstance(row["budget"], int) and row.get("rel_cost_real")]
    runs = [row for row in runs if row["budget"] <= _WIDEST]
    who = [
        name for name in ("sightline", "sightline thrifty", *_RIVALS) if any(row["composer"] == name for row in runs)
    ]
    cells = []
    for place, own in _by_place(runs, lambda row: row["n"] >= _FEWEST_CALLS or row["edits_n"] >= _FEWEST):
        edited = any(row["edits_n"] >= _FEWEST for row in own.values())
        key, title = ("edits", "edits %") if edited else ("needed", "needed %")
        cells.append([*place, title, *(_at_cost(own[name], key) if name in own else "-" for name in who)])
    order = sorted(cells, key=lambda each: each[2])
    headings = ["dataset", "budget", "figure", *who]
    return Lines("Shown, at what real cost", headings, order) if cells else None


def constraints_table(rows: Sequence[Row]) -> Lines | None:
    """Return how many constraints can be read in small windows; what is taken for one is its note."""
    runs = [row for row in rows if row["part"] == "f" and row["budget"]]
    ours = [name for name in OURS if any(row["composer"] == name for row in runs)]
    cells = []
    for place, own in _by_place(runs, lambda _: True):
        others = [row for name, row in own.items() if name not in OURS and is_legal(row)]
        best = max(others, key=lambda row: row["readable"], default=None)
        figures = [percent(own[name]["readable"]) if name in own else "-" for name in ours]
        cells.append([*place, *figures, f"{percent(best['readable'])} {best['composer']}" if best else "-"])
    headings = ["talks", "budget", *(f"{name} %" for name in ours), "best other %"]
    note = " ".join(_found(rows))
    return Lines("Readable of twenty", headings, cells, note) if cells else None


def _found(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row["part"] != "g" or row["composer"] not in OURS:
            continue
        if row["per_hundred"] is not None:
            per = f"{row['per_hundred']:.1f}"
            yield f"In 100 messages between friends ({row['half']}), {per} constraints are found where there are none."
        else:
            right = f"{percent(row['precision'])} % of what is taken for one is one"
            yield f"Of {row['n']} sentences of talk at work, {right}, and {percent(row['recall'])} % of them are found."


def _by_place(rows: Sequence[Row], counts: Callable[[Row], bool]) -> Iterator[tuple[tuple[str, str], dict[str, Row]]]:
    """Group rows by dataset, half and budget: how that is written, and the row of each composer."""
    halves = len({row["half"] for row in rows}) > 1
    for dataset, half, budget in dict.fromkeys((row["dataset"], row["half"], row["budget"]) for row in rows):
        own = [row for row in rows if (row["dataset"], row["half"], row["budget"]) == (dataset, half, budget)]
        if any(map(counts, own)):
            named = f"{dataset} {half}" if halves else dataset
            yield (named, str(budget)), {row["composer"]: row for row in own}


def _at_cost(row: Row, key: str) -> str:
    shown = f"{percent(row[key])} at {ratio(row['rel_cost_real'])}"
    return shown if is_legal(row) else f"{shown} ({percent(row['invalid'])} % invalid)"
