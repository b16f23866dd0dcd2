"""The tables that come first: edits and their cost, needed values where nothing is edited, and constraints."""

from collections.abc import Callable, Iterator, Sequence

from benchmarks.quality.composer_calls import Row
from benchmarks.quality.headlines import is_legal
from benchmarks.quality.tables import OURS, Lines, percent, ratio

_RIVALS = ("sliding", "step_window", "step_mask")  # whom edits and their cost are compared with, by name
_FEWEST = 20  # edits, or calls where there are none: a dataset with fewer says nothing


def edits_table(rows: Sequence[Row]) -> Lines | None:
    """Return edits % at what real cost; needed % for the runs that edit otherwise, such as by shell commands.

    Runs whose budget is counted from their system prompt are short, and edit nothing.
    """
    runs = [row for row in rows if row["part"] == "b" and isinstance(row["budget"], int) and row.get("rel_cost_real")]
    who = [name for name in ("sightline", *_RIVALS) if any(row["composer"] == name for row in runs)]
    cells = []
    for place, own in _by_place(runs, lambda row: row["n"] >= _FEWEST):
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
