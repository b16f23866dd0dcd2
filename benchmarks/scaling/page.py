"""docs/scaling.md: prose from `page.md`, tables and a picture from a run."""

from pathlib import Path

from benchmarks.scaling import picture, tables
from benchmarks.scaling.tables import Results

TEMPLATE = Path(__file__).with_name("page.md")


def write(found: Results, about: dict[str, str], path: Path) -> None:
    """Write the page, and its picture into the folder `pictures` beside it."""
    (path.parent / "pictures").mkdir(exist_ok=True)
    (path.parent / "pictures" / "scaling.svg").write_text(picture.draw(found.troubled), encoding="utf-8")
    path.write_text(fill(TEMPLATE.read_text(encoding="utf-8"), parts(found, about)), encoding="utf-8")


def fill(template: str, written: dict[str, str]) -> str:
    """A template with its marks replaced. Raises ValueError if a mark is left or one is missing."""
    for name, text in written.items():
        mark = f"<!-- {name} -->"
        if mark not in template:
            raise ValueError(f"the page has no {mark}")
        template = template.replace(mark, text)
    if "<!--" in template:
        raise ValueError("a mark of the page was not replaced")
    return template


def parts(found: Results, about: dict[str, str]) -> dict[str, str]:
    """The pieces of a page, by the names of their marks."""
    facts = "\n".join(f"- {name}: {f'`{value}`' if name == 'command' else value}" for name, value in about.items())
    return {
        "facts": facts,
        "turns": tables.turns_table(found.loads),
        "library": tables.rows_table(found.rows),
        "saturation": tables.saturation_table(found),
        "appends": tables.appends_table(found.appends),
        "events": tables.notices_table(found.notices),
        "storage": tables.storage_table(found.weight, found.in_place, found.parts, found.idle),
        "costs": tables.costs_table(found.costs),
        "compared": tables.compared_table(found.compared),
        "fleets": tables.forecasts_table(found.forecasts),
        "trouble": tables.trouble_table(found.troubled),
        "arithmetic": tables.arithmetic_table(found),
    }


def tables_of(found: Results, about: dict[str, str]) -> str:
    """All tables, one after another."""
    return "\n\n".join(f"## {name}\n\n{text}" for name, text in parts(found, about).items())
