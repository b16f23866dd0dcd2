"""The two pages about a run: prose from `page.md` and `tables_page.md`, tables and pictures from the rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.answers.scores import Answer, answers_table
from benchmarks.quality import headlines, overview, plots, tables
from benchmarks.quality.composer_calls import Row

TEMPLATE, TABLES_TEMPLATE = (Path(__file__).with_name(name) for name in ("page.md", "tables_page.md"))
PICTURES = {"quality-cost.svg": plots.cost_against_recall, "quality-session.svg": plots.one_session}


def write(rows: Sequence[Row], about: dict[str, Any], path: Path, answers: Sequence[Answer] = ()) -> None:
    """Write the page at this path, all tables to a second page beside it, and pictures to the folder `pictures`."""
    folder = path.parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (folder / name).write_text(draw(rows), encoding="utf-8")
    facts = "\n".join(f"- {name}: {f'`{value}`' if name == 'command' else value}" for name, value in about.items())
    path.write_text(_filled(TEMPLATE, {"facts": facts, **_first(rows, answers)}), encoding="utf-8")
    tables_path(path).write_text(_filled(TABLES_TEMPLATE, {"facts": facts, **_second(rows)}), encoding="utf-8")


def tables_path(path: Path) -> Path:
    """Return where the second page is."""
    return path.with_name(f"{path.stem}-tables{path.suffix}")


def _filled(template: Path, written: dict[str, str]) -> str:
    page = template.read_text(encoding="utf-8")
    for name, text in written.items():
        page = page.replace(f"<!-- {name} -->\n", text.rstrip("\n") + "\n")
    return page


def _first(rows: Sequence[Row], answers: Sequence[Answer]) -> dict[str, str]:
    edits, constraints = overview.edits_table(rows), overview.constraints_table(rows)
    answered = answers_table(answers) if answers else None
    felt = overview.felt_table(rows, answered)
    return {
        "felt": _or_nothing(felt),
        "answers": tables.markdown(answered) if answered else "No model was asked in this run.",
        "edits": tables.markdown(edits) if edits else "No agent runs in this run.",
        "constraints": _or_nothing(constraints),
    }


def _second(rows: Sequence[Row]) -> dict[str, str]:
    stands = headlines.headline_table(rows)
    return {
        "standing": tables.markdown(stands) if stands else "Nothing to compare with.",
        "tables": _tables(rows),
        "prefixes": _prefixes(rows),
        "hidden": _or_nothing(tables.hidden_items(rows)),
        "long": _or_nothing(tables.one_by_one(rows, "long_runs")),
    }


def _or_nothing(lines: tables.Lines | None) -> str:
    return tables.markdown(lines) if lines else "Not measured in this run."


def _tables(rows: Sequence[Row]) -> str:
    out = []
    for title, found in tables.by_part(rows):
        out += [f"### {title}", "", *map(tables.markdown, found)]
    return "\n".join(out)


def _prefixes(rows: Sequence[Row]) -> str:
    said = [f"- {line}" for line in tables.broken_prefixes(rows)] or ["- nobody gave reasons"]
    reasons = tables.break_reasons(rows)
    return "\n".join([*said, "", tables.markdown(reasons) if reasons else ""])
