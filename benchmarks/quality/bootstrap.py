"""`python -m benchmarks.quality.bootstrap A.json B.json`: what differs between two results of part (b), and how surely.

Calls of one run are alike, so runs are drawn, not calls: the same runs for both results. The interval holds 95 % of the
differences that such draws give.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.quality.composer_calls import Row
from benchmarks.quality.tables import Lines, console, percent, show

DRAWS = 2000
SEED = 7
_FEW = 6  # runs, below which an interval says little

Runs = Mapping[str, Row]  # the sums of each run


class Figure(NamedTuple):
    """A figure of several runs, made of their sums."""

    title: str
    of: str
    per: str = ""  # empty: a sum, of which the second is given as a share of the first

    def value(self, sums: Mapping[str, float]) -> float | None:
        """Return the figure; None if nothing was counted."""
        if not self.per:
            return sums[self.of]
        return sums[self.of] / sums[self.per] if sums[self.per] else None

    def difference(self, first: Mapping[str, float], second: Mapping[str, float]) -> float | None:
        """Return by how much the second is larger: in points, or as a share of the first."""
        a, b = self.value(first), self.value(second)
        if a is None or b is None:
            return None
        return b - a if self.per else b / a - 1 if a else None


FIGURES = (
    Figure("edits %", "edits", "edits_n"),
    Figure("needed %", "needed", "needed_n"),
    Figure("far %", "far", "far_n"),
    Figure("real cost M", "cost_real"),
)


class Compared(NamedTuple):
    """One figure of two results."""

    figure: Figure
    first: float | None
    second: float | None
    difference: float
    low: float
    high: float


def compare(first: Runs, second: Runs, draws: int = DRAWS) -> list[Compared]:
    """Compare the runs that both results have, figure by figure. A figure that one of them lacks is left out."""
    names = [name for name in first if name in second]
    random = Random(SEED)
    drawn = [random.choices(names, k=len(names)) for _ in range(draws)] if names else []
    found = []
    for figure in FIGURES:
        keys = [key for key in (figure.of, figure.per) if key]
        whole = [_sums(runs, names, keys) for runs in (first, second)]
        middle = figure.difference(*whole)
        pairs = ([_sums(runs, some, keys) for runs in (first, second)] for some in drawn)
        all_of_them = sorted(each for pair in pairs if (each := figure.difference(*pair)) is not None)
        if middle is not None and all_of_them:
            low, high = (all_of_them[int(share * (len(all_of_them) - 1))] for share in (0.025, 0.975))
            found.append(Compared(figure, figure.value(whole[0]), figure.value(whole[1]), middle, low, high))
    return found


def _sums(runs: Runs, names: Sequence[str], keys: Sequence[str]) -> dict[str, float]:
    return {key: sum(runs[name][key] for name in names) for key in keys}


def table(first: Sequence[Row], second: Sequence[Row], names: tuple[str, str]) -> Lines | None:
    """Return a table of all that two composers have in common: datasets, halves and budgets."""
    cells = []
    for place, own, other in _pairs(first, second, names):
        runs = sum(name in other["by_run"] for name in own["by_run"])
        for each in compare(own["by_run"], other["by_run"]):
            cells.append([*place, str(runs), each.figure.title, *_written(each, alone=runs == 1)])
    headings = ["dataset", "budget", "runs", "figure", "first", "second", "difference", "95 % interval", ""]
    note = f"Differences are points; of the cost, per cent of the first. Below {_FEW} runs an interval says little."
    return Lines(f"{names[0]} and {names[1]}", headings, cells, note) if cells else None


def _pairs(first: Sequence[Row], second: Sequence[Row], names: tuple[str, str]) -> Iterator[tuple[list[str], Row, Row]]:
    def place(row: Row) -> tuple[Any, ...]:
        return row["dataset"], row["half"], row["budget"]

    others = {place(row): row for row in second if row["composer"] == names[1] and "by_run" in row}
    for row in first:
        if row["composer"] == names[0] and "by_run" in row and place(row) in others:
            yield [f"{row['dataset']} {row['half']}", str(row["budget"])], row, others[place(row)]


def _written(each: Compared, *, alone: bool) -> list[str]:
    write: Callable[[float | None], str] = percent if each.figure.per else lambda value: f"{(value or 0) / 1e6:.2f}"
    shown = [write(each.first), write(each.second), f"{100 * each.difference:+.1f}"]
    if alone:
        return [*shown, "-", ""]
    low, high = 100 * each.low, 100 * each.high
    return [*shown, f"{low:+.1f} to {high:+.1f}", "more" if low > 0 else "less" if high < 0 else ""]


def main(given: Sequence[str] | None = None) -> None:
    """Compare, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.bootstrap", description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, metavar="FILE", help="one or two, of `--out`")
    composers = "one of both results, or the first's and the second's; default: sightline"
    parser.add_argument("--composer", nargs="+", default=["sightline"], metavar="NAME", help=composers)
    arguments = parser.parse_args(given)
    for option in ("results", "composer"):
        if len(getattr(arguments, option)) > 2:
            parser.error(f"{option}: two at most")
    if missing := [str(path) for path in arguments.results if not path.is_file()]:
        parser.error(f"no file {', '.join(missing)}")
    rows = [json.loads(path.read_text(encoding="utf-8"))["rows"] for path in arguments.results]
    names = arguments.composer[0], arguments.composer[-1]
    found = table(rows[0], rows[-1], names)
    if found is None:
        parser.error(f"nothing that {names[0]} and {names[1]} were both measured on, run by run")
    show(found, console())


if __name__ == "__main__":
    main()
