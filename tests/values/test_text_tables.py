"""The texts of all languages are data: each key is in each language, each is used, and each that is used is there."""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

from sightline.plan.economies import ECONOMIES
from sightline.plan.strategies.sweep import PAGED
from sightline.values.items import Kind, Lod
from sightline.values.phrases import LOCALES, TEXTS, texts

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "sightline"
PAGES = ROOT / "inspector" / "src"
TABLES = sorted(
    path.stem for path in TEXTS.glob("*.json") if path.stem != "errors"
)  # in English they say it themselves
LOOK_UPS = {"say", "_say", "_SAY", "words", "_words", "meaning", "_failure", "_refused"}
COMMANDS = ("cli", "chat", "doctor", "hook", "mcp", "setup")  # tables that a command's `words` may have
COUNTS = {"more names"}  # English counts the rest, Chinese all
_LEAST = 2  # letters that a pattern of keys has


def is_complete(key: str, by_language: dict[str, str]) -> None:
    assert set(by_language) == set(LOCALES), key
    assert all(text.strip() or text == "" for text in by_language.values()), key
    assert len({bool(text) for text in by_language.values()}) == 1, key


@pytest.mark.parametrize("name", TABLES)
def test_every_key_is_in_every_language(name: str) -> None:
    """With the same values to fill in."""
    table = json.loads((TEXTS / f"{name}.json").read_text(encoding="utf-8"))
    for key, by_language in table.items():
        is_complete(key, by_language)
        fields = {
            frozenset(field for _, field, _, _ in Formatter().parse(text) if field) for text in by_language.values()
        }
        assert len(fields) == 1 or key in COUNTS, key


def test_every_key_of_the_pages_is_in_every_language() -> None:
    """With the same values to fill in."""
    table = json.loads((PAGES / "texts.json").read_text(encoding="utf-8"))
    assert len(table) > 250
    for key, by_language in table.items():
        is_complete(key, by_language)
        assert len({frozenset(re.findall(r"\{\w+\}", text)) for text in by_language.values()}) == 1, key


def test_every_key_of_the_pages_is_used() -> None:
    """As it is, or by its beginning: `kind ${…}`. A key that is not there is an error of types."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in PAGES.glob("*.ts*") if path.name != "types.ts")
    beginnings = (
        *re.findall(r"`([\w ]+ )\$\{", source),
        *(f"{each} " for each in re.findall(r'named\("(\w+)"', source)),
    )
    endings = tuple(re.findall(r"\$\{[^}]+\}( [a-z ]+)`", source))
    for key in json.loads((PAGES / "texts.json").read_text(encoding="utf-8")):
        is_made = key.startswith(beginnings) or key.endswith(endings)
        assert is_made or f'"{key}"' in source, key


def test_the_pages_name_what_a_session_can_hold() -> None:
    """A name that is missing would be shown as it stands in the log, in every language."""
    table = json.loads((PAGES / "texts.json").read_text(encoding="utf-8"))
    source = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    reasons = {*re.findall(r'"((?:sweep|command|cleared): [a-z ]+)"', source)}
    assert len(reasons) > 12
    named = {
        "reason": reasons | {PAGED, "swept", "superseded"},
        "kind": {kind.name.lower() for kind in Kind},
        "level": {level.name.lower() for level in Lod},
        "economy": {*ECONOMIES},
    }
    assert [f"{what} {name}" for what, names in named.items() for name in names if f"{what} {name}" not in table] == []


class _Source:
    """The strings of a module, and the patterns of those that it makes."""

    def __init__(self, tree: ast.Module) -> None:
        self.strings: set[str] = set()
        self.patterns: set[str] = set()
        self.looked_up: list[tuple[str, str]] = []  # name of the table, key
        self.tables: dict[str, str] = {}  # variable → its table
        for node in ast.walk(tree):
            self._add(node)

    def _add(self, node: ast.AST) -> None:
        match node:
            case ast.Constant(value=str(text)):
                self.strings.add(text)
            case ast.JoinedStr(values=parts):
                self._add_pattern(
                    "".join(re.escape(part.value) if isinstance(part, ast.Constant) else ".+" for part in parts)
                )
            case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Add()):
                self._add_pattern(re.escape(text) + ".+")
            case ast.BinOp(op=ast.Add(), right=ast.Constant(value=str(text))):
                self._add_pattern(".+" + re.escape(text))
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Call(args=[ast.Constant(value=str(table))])])
            ):
                self.tables[name] = table
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(key)), *_]):
                if name in LOOK_UPS:
                    self.looked_up.append((name, key))

    def _add_pattern(self, pattern: str) -> None:
        if sum(map(str.isalpha, pattern)) >= _LEAST:
            self.patterns.add(pattern)


@cache
def sources() -> dict[Path, _Source]:
    return {path: _Source(ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCE.rglob("*.py")}


@pytest.mark.slow
def test_every_key_is_used() -> None:
    """As it is, or as a part of one that is made: "kind " + …"""
    strings = set[str]().union(*(each.strings for each in sources().values()))
    patterns = re.compile("|".join(sorted(set[str]().union(*(each.patterns for each in sources().values())))))
    unused = [
        f"{name}: {key}" for name in TABLES for key in texts(name) if key not in strings and not patterns.fullmatch(key)
    ]
    assert unused == []


def missing() -> Iterator[str]:
    for path, source in sources().items():
        for name, key in source.looked_up:
            if name in source.tables:
                is_there = key in texts(source.tables[name])
            elif name == "words":
                is_there = any(key in texts(table) for table in COMMANDS)
            else:
                is_there = any(key in texts(table) for table in TABLES)
            if not is_there:
                yield f"{path.relative_to(SOURCE)}: {key}"


@pytest.mark.slow
def test_every_key_that_is_looked_up_is_there() -> None:
    """In the table of its module, or among those of the commands."""
    assert list(missing()) == []
