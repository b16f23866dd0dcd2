"""Writes docs/origins/acceptance.md: which acceptance points are shown, and by which tests. Run by `make acceptance`.

The points are those of `@pytest.mark.accepts(…)` in the tests, read as text: nothing is imported and nothing runs. A
test that is skipped or expected to fail shows nothing. What each point requires is in `tools/requirements.md`.
"""

import ast
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "docs" / "origins" / "acceptance.md"
INTRODUCTION = """\
---
search:
  exclude: true
---
# Acceptance

What the source documents require is numbered, and a test that shows a point carries its number. This page is made from
those marks by `make acceptance`; a test fails when it is out of date. First it has what is required, by document, then
what each test shows. Ids such as C-002-13 are [decisions](decisions.md) where a document contradicts itself or another.
"""

Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Shown(NamedTuple):
    """One test and the points it shows."""

    file: str
    test: str
    promise: str  # the first sentence of its docstring
    points: tuple[int, ...]


def page(project: Path = PROJECT) -> str:
    """The whole page."""
    tests = [shown for path in sorted(project.glob("tests/**/test_*.py")) for shown in marked_tests(path, project)]
    points = sorted({point for shown in tests for point in shown.points})
    sections = [_section(file, list(group)) for file, group in groupby(tests, key=lambda shown: shown.file)]
    count = f"{len(points)} points are shown by {len(tests)} tests: {', '.join(_runs(points))}."
    return "\n".join([INTRODUCTION, count, "", *_requirements(project, tests), *sections])


def _requirements(project: Path, tests: list[Shown]) -> Iterator[str]:
    """What each point requires, by document and part of it, with the tests that show it."""
    source = project / "tools" / "requirements.md"
    before = ""
    for line in source.read_text(encoding="utf-8").splitlines()[2:] if source.exists() else ():
        if point := re.match(r"(\d+)\. (.*)", line):
            if not before:
                yield "| point | what is required | tests |\n|---|---|---|"
            names = [f"`{test.test}`" for test in tests if int(point[1]) in test.points]
            yield f"| {point[1]} | {_required(point[2])} | {', '.join(names)} |"
        else:
            yield re.sub(r"^\*\*(.*)\*\*$", r"### \1", line)
        before = line
    yield ""


def _required(text: str) -> str:
    """The words of a requirement, for a cell: its decisions are links, and only code has angle brackets."""
    pieces = re.split(r"(`[^`]*`)", text.replace("|", "\\|"))
    text = "".join(piece if piece.startswith("`") else piece.replace("<", "&lt;") for piece in pieces)
    return re.sub(r"C-\d{3}-\d+", lambda decision: f"[{decision[0]}](decisions.md)", text)


def marked_tests(path: Path, project: Path) -> Iterator[Shown]:
    """The tests of a file that show points, in its order.

    Raises:
        ValueError: a mark that does not name its points by plain numbers or ranges, or a test that promises nothing.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = path.relative_to(project).as_posix()
    for node in ast.walk(tree):
        if isinstance(node, Definition) and not _silenced(node):
            points = sorted({point for mark in node.decorator_list for point in _points(mark, file)})
            if points:
                yield Shown(file, node.name, _promise(node, file), tuple(points))


def _points(mark: ast.expr, file: str) -> Iterator[int]:
    if not (isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "accepts"):
        return
    for argument in mark.args:
        match argument:
            case ast.Constant(value=int(point)):
                yield point
            case ast.Starred(value=ast.Call(func=ast.Name(id="range"), args=bounds)):
                yield from range(*(ast.literal_eval(bound) for bound in bounds))
            case _:
                raise ValueError(f"{file}:{mark.lineno}: accepts() takes whole numbers and *range(…)")


def _silenced(node: Definition) -> bool:
    names = {part.attr for mark in node.decorator_list for part in ast.walk(mark) if isinstance(part, ast.Attribute)}
    return bool(names & {"skip", "skipif", "xfail"})


def _promise(node: Definition, file: str) -> str:
    docstring = ast.get_docstring(node)
    if not docstring:
        raise ValueError(f"{file}:{node.lineno}: {node.name} has no docstring to say what it shows")
    return " ".join(docstring.partition("\n\n")[0].split())


def _section(file: str, tests: list[Shown]) -> str:
    rows = [f"| {', '.join(map(str, test.points))} | `{test.test}` | {_cell(test.promise)} |" for test in tests]
    return "\n".join([f"## {file}", "", "| points | test | what it shows |", "|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _runs(points: list[int]) -> Iterator[str]:
    """Numbers as runs: 1-3, 7."""
    for _, group in groupby(enumerate(points), key=lambda place: place[1] - place[0]):
        run = [point for _, point in group]
        yield str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}"


def main() -> int:
    """Write the page; with --check, only say whether it is up to date."""
    made = page()
    if "--check" not in sys.argv[1:]:
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(made, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != made:
        print("docs/origins/acceptance.md is out of date: run `make acceptance`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
