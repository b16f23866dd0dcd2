"""Puts `@pytest.mark.slow` where a measurement asks for it: `make test` leaves those tests to `make slow`.

A test function is slow if at least half of its cases cost 0.3 s of CPU or more. In tests/laws and tests/hostile the
cheapest function of each file stays: the smallest case of each law, kill and damage is in every `make test`. Where all
functions of a file are slow, the file says so once. A mark is taken away where every case costs less than half of that.

Measure first, on a machine that does nothing else; of several measurements the smallest counts:
  .venv/bin/python -m pytest -m "not soak" --costs .cache/costs-1
  .venv/bin/python tools/slow_tests.py .cache/costs-1            what it would change
  .venv/bin/python tools/slow_tests.py .cache/costs-1 --write    change it
"""

import argparse
import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SLOW = 0.3
SMALLEST_STAYS = ("tests/laws/", "tests/hostile/")
MARK = "@pytest.mark.slow"
MODULE_MARK = "pytestmark = pytest.mark.slow"


class Function(NamedTuple):
    """A test function, and what each of its cases costs."""

    name: str
    is_marked: bool
    costs: tuple[float, ...]

    @property
    def is_slow(self) -> bool:
        """Whether half of its cases are. One that nobody measured stays as it is."""
        if not self.costs:
            return self.is_marked
        least = SLOW / 2 if self.is_marked else SLOW
        return 2 * sum(cost >= least for cost in self.costs) >= len(self.costs)


def main(words: list[str] | None = None) -> int:
    """Say or write what changes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="what `pytest --costs FILE` has written")
    parser.add_argument("--write", action="store_true", help="change the tests")
    options = parser.parse_args(words)
    costs = read_costs(options.files)
    tiers = {True: 0.0, False: 0.0}
    for path in sorted({file for file, _ in costs}):
        source = (ROOT / path).read_text(encoding="utf-8")
        functions = list(read_functions(source, {name: costs[path, name] for file, name in costs if file == path}))
        slow = choose(path, functions)
        for function in functions:
            tiers[function in slow] += sum(function.costs)
            if (function in slow) != function.is_marked:
                tier, cost = "slow" if function in slow else "quick", max(function.costs, default=0.0)
                print(f"{tier}: {path}::{function.name} {cost:.2f} s")
        if options.write:
            names, everything = {function.name for function in slow}, len(slow) == len(functions) > 1
            (ROOT / path).write_text(mark(source, names, everything=everything), encoding="utf-8")
    print(f"make test: {tiers[False]:,.0f} s of CPU, make slow: {tiers[True]:,.0f} s")
    return 0


def read_costs(files: Iterable[Path]) -> dict[tuple[str, str], tuple[float, ...]]:
    """What the cases of each function cost, by the file and the function's name."""
    cases: dict[str, float] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            cases[case["test"]] = min(case["cpu"], cases.get(case["test"], float("inf")))
    costs: dict[tuple[str, str], list[float]] = defaultdict(list)
    for test, cost in cases.items():
        path, _, name = test.partition("::")
        costs[path, name.partition("[")[0]].append(cost)
    return {key: tuple(listed) for key, listed in costs.items()}


def read_functions(source: str, costs: dict[str, tuple[float, ...]]) -> Iterator[Function]:
    """The test functions of a file, in its order."""
    everywhere = MODULE_MARK in source
    for node in _tests(source):
        marks = [f"@{ast.unparse(decorator)}" for decorator in node.decorator_list]
        if "@pytest.mark.soak" not in marks:
            yield Function(node.name, everywhere or MARK in marks, costs.get(node.name, ()))


def choose(path: str, functions: list[Function]) -> list[Function]:
    """Those that are in the slow tier."""
    slow = [function for function in functions if function.is_slow]
    if slow and len(slow) == len(functions) and path.startswith(SMALLEST_STAYS):
        slow.remove(min(slow, key=lambda function: sum(function.costs)))
    return slow


def mark(source: str, slow: set[str], *, everything: bool) -> str:
    """The file with these functions marked, and no others. `ruff format` and `ruff check --fix` go over it then."""
    unmarked = "".join(line for line in source.splitlines(True) if line.strip() not in (MARK, MODULE_MARK))
    lines = unmarked.splitlines(True)
    for node in reversed(list(_tests(unmarked))):
        if node.name in slow and not everything:
            lines.insert(_first_line(node), f"{MARK}\n")
    text = "".join(lines)
    if everything:
        text = _after_imports(text, f"\n{MODULE_MARK}\n")
    if slow and not re.search(r"^import pytest$", text, re.MULTILINE):
        text = _after_imports(text, "import pytest\n")
    return text


def _tests(source: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1


def _after_imports(text: str, added: str) -> str:
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = text.splitlines(keepends=True)
    end = imports[-1].end_lineno or 0
    return "".join([*lines[:end], added, *lines[end:]])


if __name__ == "__main__":
    sys.exit(main())
