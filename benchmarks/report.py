"""Rows as a table, as Markdown and as JSON."""

import json
import os
import platform
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Row

MARKS = {True: "✓", False: "✗", None: ""}
HEADINGS = ("what", "measured", "target", "", "ratio", "note")


def facts(date: str, command: str, versions: dict[str, str]) -> dict[str, str]:
    """Where and when a run was made, and against what."""
    peers = ", ".join(f"{name} {version}" for name, version in versions.items()) or "none"
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {"date": date, "command": command, "machine": machine, "Python": python, "peers": peers}


def print_table(rows: Sequence[Row], about: dict[str, str], console: Console) -> None:
    """The rows, one table for each topic."""
    console.print("  ".join(f"[dim]{name}[/] {value}" for name, value in about.items()))
    for topic, group in groupby(rows, key=lambda row: row.topic):
        table = Table(*HEADINGS, title=topic, title_justify="left")
        for row in group:
            style = {True: "green", False: "red", None: ""}[row.met]
            table.add_row(*_cells(row), style=style)
        console.print(table)
    console.print(summary(rows))


def summary(rows: Sequence[Row]) -> str:
    """How many targets were met, and which rows are missing."""
    promised = [row for row in rows if row.met is not None]
    missing = sum(row.measured == "missing" for row in rows)
    text = f"{sum(bool(row.met) for row in promised)} of {len(promised)} targets met"
    return f"{text}; {missing} rows missing" if missing else text


def markdown(rows: Sequence[Row], about: dict[str, str]) -> str:
    """A page of documentation."""
    lines = [
        "# Benchmarks", "",
        'Speed and size of Sightline ("ours") and of its peers, measured in one run. Times are medians. The range in',
        "brackets covers the middle 80 % of the samples. A ratio compares a figure with its target, or a peer's figure",
        "with ours. The machine adds noise of its own, which is shown at the end. Run the command on your machine.", "",
        *(f"- {name}: {f'`{value}`' if name == 'command' else value}" for name, value in about.items()),
        f"- {summary(rows)}", "",
    ]  # fmt: skip
    for topic, group in groupby(rows, key=lambda row: row.topic):
        lines += [f"## {topic[0].upper()}{topic[1:]}", "", _line(HEADINGS), _line(["---"] * len(HEADINGS))]
        lines += [_line(_cells(row)) for row in group]
        lines.append("")
    return "\n".join(lines)


def as_json(rows: Sequence[Row], about: dict[str, str]) -> str:
    """Everything, for comparing runs."""
    return json.dumps({"about": about, "rows": [row._asdict() for row in rows]}, ensure_ascii=False, indent=1)


def command_line(quick: bool) -> str:
    """Return the command that measures the same again, without where its output was written."""
    return "python -m benchmarks" + (" --quick" if quick else "")


def _cells(row: Row) -> list[str]:
    return [row.what, row.measured, row.target, MARKS[row.met], row.ratio, row.note]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
