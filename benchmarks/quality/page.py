"""The page about a run: prose from `page.md`, tables and pictures from the rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality import headlines, plots, tables
from benchmarks.quality.composer_calls import Row

TEMPLATE = Path(__file__).with_name("page.md")
PICTURES = {"quality-cost.svg": plots.cost_against_recall, "quality-session.svg": plots.one_session}


def write(rows: Sequence[Row], about: dict[str, Any], path: Path) -> None:
    """The page at this path, its pictures in the folder `pictures` beside it."""
    folder = path.parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (folder / name).write_text(draw(rows), encoding="utf-8")
    path.write_text(text(rows, about), encoding="utf-8")


def text(rows: Sequence[Row], about: dict[str, Any]) -> str:
    """The page. Every figure on it comes from the rows."""
    page = TEMPLATE.read_text(encoding="utf-8")
    stands = headlines.headline_table(rows)
    filled = {
        "facts": "\n".join(
            f"- {name}: {f'`{value}`' if name == 'command' else value}" for name, value in about.items()
        ),
        "standing": tables.markdown(stands) if stands else "Nothing to compare with.\n",
        "tables": _tables(rows),
        "prefixes": _prefixes(rows),
    }
    for name, written in filled.items():
        page = page.replace(f"<!-- {name} -->\n", written.rstrip("\n") + "\n")
    return page


def _tables(rows: Sequence[Row]) -> str:
    out = []
    for title, found in tables.by_part(rows):
        out += [f"### {title}", "", *map(tables.markdown, found)]
    return "\n".join(out)


def _prefixes(rows: Sequence[Row]) -> str:
    said = [f"- {line}" for line in tables.broken_prefixes(rows)] or ["- nobody gave reasons"]
    reasons = tables.break_reasons(rows)
    return "\n".join([*said, "", tables.markdown(reasons) if reasons else ""])
