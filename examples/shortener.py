"""A shortener of your own: the plans of SQL queries, in which the costly steps matter.

When a tool's result no longer fits in full, the model sees its summary or its gist. A shortener says what these are
chosen from: it gives marks to lines, and the engine takes the best that fit. So it need not know any sizes. It sees a
view of the text: `view.code` are its lines, `view.values` the names and numbers in each of them.

Register it, or offer it in the pyproject.toml of your package. It is asked before the engine's own, and if it fails,
they are:

    [project.entry-points."sightline.shorteners"]
    query-plans = "your_package:QueryPlans"

Run this file to see it work.
"""

import re

from sightline.shorten import register, shorten
from sightline.shorten.lines import Levels, View, line_levels
from sightline.testing import check_shortener
from sightline.values.items import Item, Kind, Result, Text
from sightline.values.tokens import counter

_STEP = re.compile(r"\(cost=[\d.]+\.\.([\d.]+) rows=\d+")


class QueryPlans:
    """Shortens what EXPLAIN prints. Pure: the same text gives the same levels."""

    name = "query plans"

    def accepts(self, view: View) -> bool:
        """Whether a third of the lines are steps of a plan."""
        steps = sum(bool(_STEP.search(line)) for line in view.code[:60])
        return 3 * steps >= min(60, len(view.code))

    def levels(self, view: View) -> Levels:
        """Mark each step by its share of the whole cost; a gist quotes the costliest."""
        costs = {at: float(step[1]) for at, line in enumerate(view.code) if (step := _STEP.search(line))}
        whole = max(costs.values(), default=0.0) or 1.0
        marks = {at: 8.0 * cost / whole for at, cost in costs.items()}
        return line_levels(view, marks, marks)


def query_plan(steps: int = 80) -> str:
    """What a database could print: one step is far costlier than the others."""
    costs = [9_000.0 if n == 47 else n * 1.5 for n in range(steps)]
    return "\n".join(f"  ->  Index Scan on orders_{n}  (cost=0.29..{c:.2f} rows={n})" for n, c in enumerate(costs))


def main() -> None:
    """Print the gist of a query plan, without and with the shortener."""
    check_shortener(QueryPlans(), [query_plan()])  # bounds, purity, hostile texts
    item = Item("12", Kind.RESULT, (Result("call", (Text(query_plan()),)),))
    print("ours:", (shorten(item, count=counter().count, name="psql").gist or "")[:90])
    register(QueryPlans())
    print("with the example:", (shorten(item, count=counter().count, name="psql").gist or "")[:120])


if __name__ == "__main__":
    main()
