"""The layout of the package: rooms, names, sizes, and the pages about them. Each test lists all offenders."""

import ast
import gc
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from sightline import Budget, MemoryStore, Session

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sightline"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PAGE = (ROOT / "docs" / "design" / "one-turn.md").read_text(encoding="utf-8")

NOT_GERUNDS = {"sliding", "testing"}  # the strategy "sliding window", and the usual name of what others test with
NO_NOUNS = {"said", "told", "meant", "held", "alone", "beside", "kept", "seen", "shown", "made", "found"}

MOST_LINES_OF_FILE, MOST_LINES_OF_FUNCTION, MOST_METHODS = 600, 50, 12
LARGE_CLASSES = {  # more public methods than others; a number may fall, not rise
    "Session": 30,  # the facade: one method for each thing that can happen
    "Timeline": 36, "EntryReader": 27, "Journal": 18, "View": 13,  # columns and entries, one short reader for each fact
    "FollowedCall": 13,  # a step of a call that others make
    "Items": 22, "History": 14, "Host": 20,  # parts of the facade
    "JsonlStore": 14, "PostgresStore": 14, "Folder": 14,  # the protocols Store and Stores, and closing
    "Database": 15, "Tenants": 19,  # the database's statements
}  # fmt: skip

VAGUE = {"found", "each", "known", "shown", "asked", "given"}
MOST_VAGUE = 0.005  # of all names that are bound in the source; only ever lower this
MOST_LATE_IMPORTS = 58  # inside functions, with no optional package behind them; only ever lower this

MOST_FILE_CHANGES = 308  # in one turn, from a call or return to the next; only ever lower this
MOST_FILES = 30  # that one `compose` runs through

ALWAYS_INSTALLED = {"sightline", "jsonschema", "referencing", "msgspec", "splintr"}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Import = ast.Import | ast.ImportFrom


class Contents(NamedTuple):
    """What the tests ask of a file, taken in one walk through it: to walk through all files takes a second."""

    docstring: str
    functions: list[Function]
    classes: list[ast.ClassDef]
    imports: list[Import]
    type_checking: list[ast.If]
    names: list[str]  # of parameters, and of what is assigned, looped over or caught


@cache
def modules() -> dict[str, Contents]:
    """Every file of the package, by its path in it."""
    gc.disable()  # it would look at every node several times
    try:
        return {path.relative_to(SOURCE).as_posix(): _contents(path) for path in sorted(SOURCE.rglob("*.py"))}
    finally:
        gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _forget() -> Iterator[None]:
    """Half a million nodes would slow down the tests that come after these."""
    yield
    modules.cache_clear()


def _contents(path: Path) -> Contents:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    contents = Contents(ast.get_docstring(tree) or "", [], [], [], [], [])
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name not in ("self", "cls"):
                contents.names.append(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                contents.functions.append(node)
            case ast.ClassDef():
                contents.classes.append(node)
            case ast.Import() | ast.ImportFrom():
                contents.imports.append(node)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                contents.type_checking.append(node)
    return contents


def _is_inside(node: ast.stmt, others: Iterable[ast.stmt]) -> bool:
    return any(other.lineno < node.lineno <= (other.end_lineno or 0) for other in others)


def test_the_import_contract_is_the_list_of_rooms() -> None:
    """Every package and module at the top has its place, no import is ignored, and each room says what it is for."""
    contract = SETTINGS["tool"]["importlinter"]["contracts"][0]
    layers = {name.strip().removeprefix("sightline.") for layer in contract["layers"] for name in layer.split("|")}
    top = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert len(top - {"__init__"}) <= 27
    assert top - {"__init__", "__main__", "testing", "samples"} == layers
    assert "ignore_imports" not in contract
    silent = [
        path
        for path, contents in modules().items()
        if path.endswith("__init__.py") and not re.search(r"\w+ \w+.*\.", contents.docstring)
    ]
    assert silent == [], "packages whose docstring is less than a sentence"


def test_a_module_is_named_by_a_noun() -> None:
    """No gerund and no participle, outside the five documents' own names."""
    nouns = {path: Path(path).stem.split("_")[-1] for path in modules() if "origins" not in path.split("/")}
    offenders = [
        path
        for path, noun in nouns.items()
        if noun not in NOT_GERUNDS and (noun in NO_NOUNS or re.search(r"(ing|[^e]ed)$", noun))
    ]
    assert offenders == []


def test_files_classes_and_functions_are_short() -> None:
    """A longer file says in its docstring why it is longer; a larger class is in the list above."""
    offenders = [*_long_files(), *_large_classes(), *_long_functions()]
    assert offenders == []


def _long_files() -> Iterator[str]:
    for path, contents in modules().items():
        lines = (SOURCE / path).read_text(encoding="utf-8").count("\n")
        if lines > MOST_LINES_OF_FILE and "longer" not in contents.docstring:
            yield f"{path}: {lines} lines, at most {MOST_LINES_OF_FILE}"


def _large_classes() -> Iterator[str]:
    """Properties are values and do not count."""
    for path, node in ((path, node) for path, contents in modules().items() for node in contents.classes):
        methods = {
            method.name
            for method in node.body
            if isinstance(method, Function) and not method.name.startswith("_") and not _is_property(method)
        }
        most = LARGE_CLASSES.get(node.name, MOST_METHODS)
        if len(methods) > most:
            yield f"{path}: {node.name} has {len(methods)} public methods, at most {most}"


def _is_property(method: Function) -> bool:
    names = {ast.unparse(mark).rpartition(".")[2] for mark in method.decorator_list}
    return not names.isdisjoint({"property", "cached_property", "setter"})


def _long_functions() -> Iterator[str]:
    """The body counts, without docstring and functions inside, which count for themselves."""
    for path, contents in modules().items():
        for node in contents.functions:
            inside = [function for function in contents.functions if _is_inside(function, [node])]
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            lines = sum(map(_lines, body)) - sum(_lines(inner) for inner in inside if not _is_inside(inner, inside))
            if lines > MOST_LINES_OF_FUNCTION:
                yield f"{path}: {node.name} has {lines} lines, at most {MOST_LINES_OF_FUNCTION}"


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_imports_in_functions_have_an_optional_package_behind_them() -> None:
    """What is always installed is imported at the top: a ratchet."""
    optional = _modules_with_optional_packages()
    late = {
        (path, node.lineno, ast.unparse(node))
        for path, contents in modules().items()
        for node in contents.imports
        if _is_inside(node, contents.functions)
        and not any(_is_optional(name) or name in optional for name in _targets(node))
    }
    listed = "\n".join(f"{path}:{line}: {text}" for path, line, text in sorted(late))
    assert len(late) <= MOST_LATE_IMPORTS, f"{len(late)} of at most {MOST_LATE_IMPORTS}:\n{listed}"


def _modules_with_optional_packages() -> set[str]:
    """Our modules that cannot be imported without an optional package, by their full names."""
    targets = {
        _name(path): {
            name
            for node in contents.imports
            if not _is_inside(node, [*contents.functions, *contents.type_checking])
            for name in _targets(node)
        }
        for path, contents in modules().items()
    }
    optional = {module for module, names in targets.items() if any(map(_is_optional, names))}
    while more := {module for module, names in targets.items() if names & optional} - optional:
        optional |= more
    return optional


def _name(path: str) -> str:
    return f"sightline/{path}".removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _targets(node: Import) -> set[str]:
    """What an import names: modules, and for `from package import name` what may be one."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    return {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}


def _is_optional(name: str) -> bool:
    package = name.partition(".")[0]
    return package not in ALWAYS_INSTALLED and package not in sys.stdlib_module_names


def test_few_names_say_nothing() -> None:
    """A name says what it holds: the share of those that do not is a ratchet."""
    vague = Counter({path: sum(name in VAGUE for name in contents.names) for path, contents in modules().items()})
    share = vague.total() / sum(len(contents.names) for contents in modules().values())
    assert share <= MOST_VAGUE, f"{share:.2%} of the names are one of {sorted(VAGUE)}: {vague.most_common(40)}"


def test_the_page_on_one_turn_names_what_there_is() -> None:
    """Each link leads to a file that defines what the page says, and `compose` is the six steps of its table."""
    links = re.findall(r"\[`([^`]+)`\]\(([^)]+)\)", PAGE)
    assert len(links) > 20
    targets = [(name, (ROOT / "docs" / "design" / target).resolve()) for name, target in links]
    wrong = [
        (name, str(path))
        for name, path in targets
        if not path.exists() or (not name.endswith((".py", "/")) and name not in _definitions(path))
    ]
    assert wrong == []
    steps = re.findall(r"^\| \d \| \[`(\w+)`\]", PAGE, re.MULTILINE)
    assert len(steps) == 6
    [compose] = [node for node in modules()["compose/turn.py"].functions if node.name == "compose"]
    calls = sorted((node for node in ast.walk(compose) if isinstance(node, ast.Call)), key=lambda node: node.lineno)
    assert [ast.unparse(call.func).rpartition(".")[2] for call in calls] == steps


def test_one_turn_rarely_changes_files() -> None:
    """A turn is read from file to file: it goes through few of them, and not to and fro between two."""
    session = Session(MemoryStore())
    session.system("You help.")
    session.tools([{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}])
    for number in range(5):
        _take_turn(session, number)
    session.user("And now?")
    composed = _files_run(lambda: session.compose(Budget(window=128_000)))
    session.reply("Nothing.")
    files = _files_run(lambda: _take_turn(session, 6))
    pairs = Counter(tuple(sorted(pair)) for pair in pairwise(files) if pair[0] != pair[1])
    assert "compose/turn.py" in composed
    assert len(set(composed)) <= MOST_FILES, sorted(set(composed))
    assert pairs.total() <= MOST_FILE_CHANGES, f"{pairs.total()} changes: {pairs.most_common(40)}"


def _take_turn(session: Session, number: int) -> None:
    session.user(f"What does src/part_{number}.py do?")
    session.compose(Budget(window=128_000))
    message = {"role": "assistant", "content": f"It holds part {number}."}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    session.reply({"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage})


def _files_run(run: Callable[[], object]) -> list[str]:
    """The file of the package at each call and return while this runs."""
    files: list[str] = []

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event in ("call", "return") and frame.f_code.co_filename.startswith(f"{SOURCE}/"):
            files.append(frame.f_code.co_filename.removeprefix(f"{SOURCE}/"))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return files


def _definitions(path: Path) -> set[str]:
    """The functions and classes of a module, methods also with their class."""
    contents = modules()[path.relative_to(SOURCE).as_posix()]
    pairs = ((node.name, method) for node in contents.classes for method in node.body if isinstance(method, Function))
    methods = (f"{name}.{method.name}" for name, method in pairs)
    return {*methods, *(node.name for node in (*contents.classes, *contents.functions))}


def test_words_of_one_design_note_are_found_from_the_glossary() -> None:
    """The glossary has twenty words; others are marked where a note defines them, and the glossary says where."""
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^\| \*\*", glossary, re.MULTILINE)) <= 20
    notes = {
        "digest": "compaction", "working set": "composing", "superseded": "composing", "trigger": "composing",
        "target": "composing",
    }  # fmt: skip
    for word, note in notes.items():
        text = (ROOT / "docs" / "design" / f"{note}.md").read_text(encoding="utf-8")
        assert f"*{word}*" in glossary, word
        assert f"design/{note}.md" in glossary, note
        assert f"*{word}*" in text or f"`{word}`" in text, word
