"""What the package promises by its names, and what importing it does: nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import sightline

HEAVY = ("splintr", "sqlite3", "rich", "click", "openai", "anthropic", "tiktoken", "psycopg")


def modules_after(code: str) -> set[str]:
    """The modules a fresh interpreter has loaded after this code."""
    script = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_every_public_name_can_be_imported() -> None:
    """Whatever `__all__` lists is there, and is what its own module calls so."""
    for name in sightline.__all__:
        assert getattr(sightline, name).__name__ == name


def test_every_public_name_says_what_it_promises() -> None:
    """No public name is without a docstring of its own."""
    for name in sightline.__all__:
        value = getattr(sightline, name)
        assert value.__doc__
        assert all(value.__doc__ != base.__doc__ for base in getattr(value, "__mro__", ())[1:])


def test_the_names_are_these() -> None:
    """A name more or less is a decision: it is made here too."""
    assert set(sightline.__all__) == {
        "AnchorConflict", "AppError", "AsyncSession", "BadCodeId", "BadInput", "BadSessionId", "Budget", "Compacted",
        "Conflict", "ContextOverflow", "ContextTooLarge", "Damaged", "Fitted", "InvalidSourceData", "Item",
        "JsonlStore", "Kind", "Locked", "Lod", "Loss", "MemoryStore", "MemoryStores", "Message", "ModelBusy",
        "ModelError", "ModelRefused", "NoModel", "NotShorter", "NothingCompacted", "OpenCalls", "Payload",
        "PinnedOverflow", "Plan", "PostgresStores", "Refused", "Session", "SessionClosed", "SessionNotFound",
        "Settings", "SightlineError", "Store", "StoreError", "Stores", "Strategy", "StrategyError", "ToolFailed",
        "UnknownApp", "UnknownCall", "UnknownCode", "UnknownItem", "Unconfirmed", "Unsynced", "Unwritable",
        "VersionMismatch", "View", "fit", "wrap",
    }  # fmt: skip
    assert {*sightline.__all__, "__version__"} == set(dir(sightline))


def test_a_name_that_is_not_public_is_refused() -> None:
    """A misspelt name is an AttributeError that names it."""
    with pytest.raises(AttributeError, match="'Sesion'"):
        sightline.Sesion  # noqa: B018 - looking is the test


def test_every_error_is_one_of_ours() -> None:
    """Catching the root catches everything the package raises on purpose."""
    from sightline import errors

    raised = [
        value for value in vars(errors).values() if isinstance(value, type) and value.__module__ == errors.__name__
    ]
    assert all(issubclass(value, sightline.SightlineError) for value in raised)
    assert {value.__name__ for value in raised} <= set(sightline.__all__)


def test_importing_the_package_loads_next_to_nothing() -> None:
    """No vocabulary, database, terminal, network or provider library, and none of our own modules either."""
    loaded = modules_after("import sightline")
    assert not loaded & set(HEAVY)
    assert {name for name in loaded if name.startswith("sightline.")} == set()


def test_a_session_loads_no_optional_part() -> None:
    """What a session is made of needs msgspec and the standard library, and not yet a vocabulary."""
    loaded = modules_after(
        "from sightline import Session, Budget, MemoryStore\nfrom sightline.testing import WordCounter"
    )
    assert not loaded & set(HEAVY)


def test_a_session_loads_no_rules_before_it_needs_them() -> None:
    """What only a sweep, a search, a compaction or an import needs is loaded then: it was a third of the time."""
    loaded = modules_after("from sightline import Session, Budget")
    rules = ("levels", "rules", "digest", "file_reads", "lines", "outline")
    wires = ("openai_chat", "openai_responses", "anthropic")
    others = ("compaction.compactor", "plan.strategies.rounds", "session.async_session", "values.schema")
    later = {*(f"shorten.{name}" for name in rules), *(f"wire.{name}" for name in wires), *others}
    assert not loaded & {f"sightline.{name}" for name in later}
    assert not loaded & {"asyncio", "csv", "json", "jsonschema", "tree_sitter", "sightline.testing"}


def test_counting_by_words_never_loads_a_vocabulary() -> None:
    """Who brings a counter pays for no other."""
    code = """
from sightline import Session, Budget, MemoryStore
from sightline.testing import WordCounter
session = Session(MemoryStore("s"), token_counter=WordCounter())
session.user("hello there")
session.compose(Budget(1000))
"""
    assert "splintr" not in modules_after(code)


def test_the_page_of_the_session_names_what_there_is() -> None:
    """docs/session.md lists every public name of `Session`, and no name that its nouns lack."""
    page = (Path(__file__).parent.parent / "docs" / "session.md").read_text(encoding="utf-8")
    own = {name for name in vars(sightline.Session) if not name.startswith("_")}
    with sightline.Session(sightline.MemoryStore()) as session:
        nouns = {noun: getattr(session, noun) for noun in ("items", "summaries", "windows", "receipts")}
        nouns["session"] = session
        for noun, name in re.findall(r"`(\w+)\.(\w+)\b", page):
            if noun in nouns:
                assert hasattr(nouns[noun], name), f"{noun}.{name} is on the page only"
        listed = {name for _, name in re.findall(r"\b(session|Session)\.(\w+)", page)}
        assert own - listed == set()


def test_importing_a_session_compiles_few_expressions() -> None:
    """The large tables of the rules are compiled when a text is first read with them: that was a third of the time.

    What is only needed to search, to log or to move files is imported then.
    """
    code = """
import re._compiler as compiler, sys
compile, made = compiler.compile, []
def counted(pattern, flags=0):
    frame = sys._getframe(1)
    while frame.f_globals["__name__"] in ("re", "sightline.values.pattern"):
        frame = frame.f_back
    if frame.f_globals["__name__"].startswith("sightline"):
        made.append(len(pattern))
    return compile(pattern, flags)
compiler.compile = counted
from sightline import Session
needless = "difflib", "subprocess", "tomllib", "secrets", "logging", "shutil", "dataclasses", "sightline.recall.search"
print(sum(made), *[name for name in needless if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    characters, *needless = done.stdout.split()
    assert needless == []
    assert int(characters) < 500  # there are 15,000 in all
