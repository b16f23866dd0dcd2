"""`sightline strategies`: the strategies that decide what is shown, and their configuration."""

import inspect
from collections.abc import Iterator
from typing import Any

import click
import msgspec
from rich.cells import cell_len
from rich.text import Text

from sightline.cli.options import Place, place, with_json
from sightline.cli.render import Column, Rows, console, first_words, print_json
from sightline.errors import BadInput
from sightline.plan.strategies import GROUP, STRATEGIES, config_schema, kind_of, names
from sightline.plan.strategies.project_choice import IDS, chosen
from sightline.values.foreign_code import offers

_LONGEST = 1_000  # characters of what a key does: another package may write a book


@click.command(short_help="List the strategies and their configuration.")
@with_json
def strategies(as_json: bool) -> None:
    """List the strategies that decide what the model is shown, their configuration, and the one that this project uses.

    A project chooses its strategy in sightline.toml or pyproject.toml, or in a plugin.json as the OpenStarry
    project has it. Installed packages may add strategies.

    \b
    Examples:
      sightline strategies
      sightline strategies --lang zh
      sightline strategies --json
    """
    here = place()
    if as_json:
        print_json({"chosen": chosen(here.project)._asdict(), "strategies": [_facts(here, name) for name in names()]})
        return
    _print(here)
    choice = chosen(here.project)
    key = "chosen" if choice.file else "chosen by default"
    console().print(here.words(key, name=choice.title, file=choice.file), soft_wrap=True)


def _print(here: Place) -> None:
    out, every = console(), {name: list(_fields(name)) for name in names()}
    fields = [field for own_fields in every.values() for field in own_fields]
    indent = max(map(len, every))
    titles = [here.words(key) for key in ("key", "type", "default", "about")]
    widths = [max(map(cell_len, [title, *values])) for title, *values in zip(titles, *fields, strict=True)]
    columns = [Column("", indent), *map(Column, titles[:3], widths, (False,) * 3, (0, 2, 1))]
    columns.append(Column(titles[3], whole=True))
    rows = Rows(out, columns, least=40)
    for name, own_fields in every.items():
        out.print(Text.assemble((name.ljust(indent), "bold"), "  ", _about(here, name)))
        if own_fields:
            rows.print_titles()
        for field in own_fields:
            rows.print("", *field)


def _about(here: Place, name: str) -> str:
    """Describe a strategy in one line: its phrase, another package's docstring, or why it cannot be loaded."""
    if name in STRATEGIES:
        return here.words(f"strategy {name}")
    try:
        return first_words((inspect.getdoc(kind_of(name)) or "").partition("\n\n")[0])
    except BadInput as error:
        return first_words(str(error))


def _schema(name: str) -> dict[str, Any]:
    try:
        return config_schema(name)
    except BadInput:  # a package that does not load; `_about` says so
        return {}


def _fields(name: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield each key of a strategy's configuration, with its type, its default, and what it is."""
    schema = _schema(name)
    for key, field in schema.get("properties", {}).items():
        default = "" if key in schema.get("required", ()) else msgspec.json.encode(field.get("default")).decode()
        kind = str(field.get("type") or "|".join(map(str, field.get("enum", ()))))
        yield key, kind, default, first_words(str(field.get("description", "")), _LONGEST)


def _facts(here: Place, name: str) -> dict[str, Any]:
    places = (offer.value for offer in offers(GROUP) if offer.name == name)
    return {
        "name": name,
        "ids": [plugin_id for plugin_id, named in IDS.items() if named == name],
        "about": _about(here, name),
        "from": "sightline" if name in STRATEGIES else next(places),
        "config": _schema(name),
    }
