"""Puts `@pytest.mark.slow` where a measurement asks for it: `make test` leaves those tests to `make slow`.

A test function is slow if at least half of its cases cost 0.3 s of CPU or more; of the others, each case that costs
twice that is slow by itself. Many cases of one promise cost at most a second together: the cheapest stay until it is
spent, and so does every case below 0.05 s. The smallest case of each law, kill and damage is in every `make test`:
where all of a file in tests/laws or tests/hostile would be slow, the cheapest case of its cheapest function stays. So
do the gates in tests/test_house.py. Where all functions of a file are slow, the file says so once.

Measure first; of several measurements the smallest counts:
  .venv/bin/python -m pytest -m "not soak" --costs .cache/costs-1
  .venv/bin/python tools/slow_tests.py .cache/costs-1            what it would change
  .venv/bin/python tools/slow_tests.py .cache/costs-1 --write    change it; then ruff check --fix and ruff format
"""

import argparse
import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SLOW = 0.3
CASES, CHEAP = 1.0, 0.05  # what all cases of one function may cost; what is not worth a mark
GATES = ("tests/test_house.py",)
ALL_SLOW = ("tests/hostile/test_postgres_damage.py",)  # most of its work is done by the database, which is not measured
SMALLEST_STAYS = ("tests/laws/", "tests/hostile/")
MARK = "pytest.mark.slow"

Cases = dict[str, float]
"""What each case of a test function costs, by what stands in the brackets after its name."""
Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Function(NamedTuple):
    """A test function with its mark of the slow tier, the one that it has and the one that it ought to have."""

    name: str  # with that of its class
    node: Definition
    cases: Cases
    had: str
    mark: str


def main(words: list[str] | None = None) -> int:
    """Say or write what changes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="what `pytest --costs FILE` has written")
    parser.add_argument("--write", action="store_true", help="change the tests")
    options = parser.parse_args(words)
    costs = read_costs(options.files)
    slow = 0.0
    for path, functions_cases in sorted(costs.items()):
        if path in GATES:
            continue
        source = (ROOT / path).read_text(encoding="utf-8")
        functions = choose(path, source, functions_cases)
        slow += sum(sum(_slow_costs(function)) for function in functions)
        for function in functions:
            if function.had != function.mark:
                print(f"{path}::{function.name}: {function.had or 'no mark'} -> {function.mark or 'no mark'}")
        if options.write and any(function.had != function.mark for function in functions):
            (ROOT / path).write_text(write_marks(source, functions), encoding="utf-8")
    everything = sum(sum(cases.values()) for functions in costs.values() for cases in functions.values())
    print(f"make test: {everything - slow:,.0f} s of CPU, make slow: {slow:,.0f} s")
    return 0


def read_costs(files: Iterable[Path]) -> dict[str, dict[str, Cases]]:
    """What was measured, by file, function and case."""
    costs: dict[str, dict[str, Cases]] = defaultdict(lambda: defaultdict(dict))
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            measured = json.loads(line)
            path, _, name = measured["test"].partition("::")
            function, _, case = name.removesuffix("]").partition("[")  # a function of a class is class::function
            cases = costs[path][function]
            cases[case] = min(measured["cpu"], cases.get(case, float("inf")))
    return costs


def choose(path: str, source: str, costs: dict[str, Cases]) -> list[Function]:
    """The test functions of a file, each with its mark. One that nobody measured keeps the one that it has."""
    everywhere = MARK if f"\npytestmark = {MARK}\n" in source else ""
    functions = [
        Function(name, node, cases, had, _mark(cases) if cases else had)
        for name, node in _tests(ast.parse(source))
        for cases, had in [(costs.get(name, {}), everywhere or _decorator(node))]
        if "pytest.mark.soak" not in map(ast.unparse, node.decorator_list)
    ]
    if path in ALL_SLOW:
        return [function._replace(mark=MARK) for function in functions]
    if path.startswith(SMALLEST_STAYS) and functions and all(function.mark == MARK for function in functions):
        smallest = min(functions, key=lambda function: sum(function.cases.values()))
        slow = sorted((case for case, cost in smallest.cases.items() if cost >= SLOW), key=smallest.cases.__getitem__)
        functions[functions.index(smallest)] = smallest._replace(mark=_mark_cases(slow[1:]))
    return functions


def _mark(cases: Cases) -> str:
    if 2 * sum(cost >= SLOW for cost in cases.values()) >= len(cases):
        return MARK
    ordered = sorted(cases, key=cases.__getitem__)
    spent = dict(zip(ordered, accumulate(map(cases.__getitem__, ordered)), strict=True))
    return _mark_cases(
        case
        for case, cost in cases.items()
        if cost >= 2 * SLOW or (case != ordered[0] and cost >= CHEAP and spent[case] > CASES)
    )


def _mark_cases(slow: Iterable[str]) -> str:
    names = ", ".join(map(repr, sorted(slow)))
    return f"{MARK}({names})" if names else ""


def _slow_costs(function: Function) -> Iterator[float]:
    listed = set(ast.literal_eval(f"({function.mark[len(MARK) + 1 : -1]},)")) if function.mark not in ("", MARK) else ()
    return (cost for case, cost in function.cases.items() if function.mark == MARK or case in listed)


def write_marks(source: str, functions: list[Function]) -> str:
    """The file with these marks."""
    lines = source.splitlines(keepends=True)
    everywhere = len(functions) > 1 and all(function.mark == MARK for function in functions)
    for function in reversed(functions):
        first = min([function.node.lineno, *(mark.lineno for mark in function.node.decorator_list)]) - 1
        indent = " " * function.node.col_offset
        added = [f"{indent}@{function.mark}\n"] if function.mark and not everywhere else []
        for mark in reversed(function.node.decorator_list):
            if ast.unparse(mark).startswith(MARK):
                del lines[mark.lineno - 1 : mark.end_lineno]
        lines[first:first] = added
    text = "".join(line for line in lines if line != f"pytestmark = {MARK}\n")
    if everywhere:
        text = _after_imports(text, f"\npytestmark = {MARK}\n")
    if MARK in text and not re.search(r"^import pytest$", text, re.MULTILINE):
        text = _after_imports(text, "import pytest\n")
    return text


def _tests(tree: ast.Module | ast.ClassDef, within: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield the test functions of a file and of its classes, each with its name as pytest writes it."""
    for node in tree.body:
        if isinstance(node, Definition) and node.name.startswith("test"):
            yield within + node.name, node
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _tests(node, f"{within}{node.name}::")


def _decorator(node: Definition) -> str:
    """The mark that a function has itself."""
    return next((text for text in map(ast.unparse, node.decorator_list) if text.startswith(MARK)), "")


def _after_imports(text: str, added: str) -> str:
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = text.splitlines(keepends=True)
    end = imports[-1].end_lineno or 0
    return "".join([*lines[:end], added, *lines[end:]])


if __name__ == "__main__":
    sys.exit(main())
