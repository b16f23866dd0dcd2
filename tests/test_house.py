"""The layout of the package: rooms, names of modules, sizes of files, and the page that walks through them."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sightline"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
CONTRACT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
PAGE = (ROOT / "docs" / "design" / "one-turn.md").read_text(encoding="utf-8")
NAMES = {"sliding", "testing"}  # the strategy "sliding window", and the usual name of what others test with


def test_the_import_contract_is_the_list_of_rooms() -> None:
    """Every package and module at the top, but for the entry points, has its place; no import is ignored."""
    layers = {name.strip().removeprefix("sightline.") for layer in CONTRACT["layers"] for name in layer.split("|")}
    top = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert len(top - {"__init__"}) <= 26
    assert top - {"__init__", "__main__", "testing", "samples"} == layers
    assert "ignore_imports" not in CONTRACT


def test_every_room_says_what_it_is_for() -> None:
    """Each package begins with a docstring of at least a whole sentence."""
    for package in SOURCE.rglob("__init__.py"):
        docstring = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
        assert re.search(r"\w+ \w+.*\.", docstring), package.relative_to(ROOT)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_is_named_by_a_noun(path: Path) -> None:
    """No gerund and no participle, outside the five documents' own names."""
    noun = path.stem.split("_")[-1]
    if "origins" not in path.relative_to(SOURCE).parts and noun not in NAMES:
        assert not re.search(r"(ing|[^e]ed)$", noun), path.stem
        assert noun not in {
            "said",
            "told",
            "meant",
            "held",
            "alone",
            "beside",
            "kept",
            "seen",
            "shown",
            "made",
            "found",
        }


def test_no_file_is_long_without_a_reason() -> None:
    """A file above 400 lines says in its docstring why it is longer."""
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > 400:
            docstring = ast.get_docstring(ast.parse(text)) or ""
            assert "longer" in docstring, f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines"


def definitions(path: Path) -> set[str]:
    """The functions and classes of a file, methods also with their class."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
            methods = (
                [each.name for each in node.body if isinstance(each, ast.FunctionDef)]
                if isinstance(node, ast.ClassDef)
                else []
            )
            found.update([*methods, *(f"{node.name}.{name}" for name in methods)])
    return found


def test_the_page_on_one_turn_names_what_there_is() -> None:
    """Each link leads to a file that defines what the page says it does."""
    links = re.findall(r"\[`([^`]+)`\]\(([^)]+)\)", PAGE)
    assert len(links) > 20
    for name, target in links:
        path = (ROOT / "docs" / "design" / target).resolve()
        assert path.exists(), target
        if not name.endswith((".py", "/")):
            assert name in definitions(path), f"{name} is not in {target}"


def test_compose_is_the_six_steps_of_the_page() -> None:
    """`Composer.compose` calls the steps of the page, in its order, each once."""
    steps = re.findall(r"^\| \d \| \[`(\w+)`\]", PAGE, re.MULTILINE)
    assert len(steps) == 6
    tree = ast.parse((SOURCE / "compose" / "turn.py").read_text(encoding="utf-8"))
    [composer] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Composer"]
    [compose] = [node for node in composer.body if isinstance(node, ast.FunctionDef) and node.name == "compose"]
    calls = sorted((node for node in ast.walk(compose) if isinstance(node, ast.Call)), key=lambda node: node.lineno)
    names = [call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "") for call in calls]
    assert names == steps


@pytest.mark.parametrize(
    ("word", "note"),
    [
        ("digest", "compaction"), ("working set", "composing"), ("superseded", "composing"), ("trigger", "composing"),
        ("target", "composing"),
    ],
)  # fmt: skip
def test_words_of_one_design_note_are_found_from_the_glossary(word: str, note: str) -> None:
    """The glossary has twenty words; others are marked where a note defines them, and the glossary says where."""
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^\| \*\*", glossary, re.MULTILINE)) <= 20
    assert f"*{word}*" in glossary
    assert f"design/{note}.md" in glossary
    defined = (ROOT / "docs" / "design" / f"{note}.md").read_text(encoding="utf-8")
    assert f"*{word}*" in defined or f"`{word}`" in defined
