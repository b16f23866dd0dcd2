"""A code store whose process dies: at every step of everything it does, nothing is half done and nothing lost."""

import os
import shutil
from pathlib import Path

import pytest
from code_writer import OPERATIONS, opened
from stored_code import child, contents, said

from sightline.documents.code.store import CodeStore

pytestmark = pytest.mark.slow


def template(folder: Path) -> CodeStore:
    """A store with two codes, one of them of two versions."""
    store = opened(folder)
    store.store("code_other_thing", "untouched = True\r\n", description="other", session_id="t")
    store.store("code_kept_report", "oldest = 0\n", description="oldest", session_id="s")
    store.store("code_kept_report", "old = 1\n", description="old", session_id="s")
    return store


def check(folder: Path, before: object, after: object) -> None:
    """The store is as it was before or as it is after, the files alone say so too, and it goes on."""
    store = opened(folder)
    found = contents(store)
    assert found in (before, after)
    assert not (folder / "data" / "pending.json").exists()
    (folder / "code_index.db").unlink()
    rebuilt = opened(folder)
    assert contents(rebuilt) == found
    assert rebuilt.rebuilt is not None
    assert (rebuilt.rebuilt.adopted, rebuilt.rebuilt.changed, rebuilt.rebuilt.missing) == ((), (), ())
    again = store.store("code_other_thing", "again = 1\n")
    assert (again.version, store.read("code_other_thing")) == (2, "again = 1\n")


QUICK = ["first", "other", "delete"]
ALL = [
    *((operation, False) for operation in QUICK),
    *(pytest.param(operation, False, marks=pytest.mark.soak) for operation in OPERATIONS if operation not in QUICK),
    *(pytest.param(operation, True, marks=pytest.mark.soak) for operation in OPERATIONS),
]


@pytest.fixture(autouse=True)
def _memory_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed process has written is there: these tests need not wait for the medium."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


@pytest.mark.parametrize(("operation", "every"), ALL)
def test_a_process_that_dies_at_any_step_leaves_all_or_nothing(tmp_path: Path, operation: str, every: bool) -> None:
    """Killed at every step of a store, a new version or a deletion: it has happened or not, and all else is intact."""
    before = contents(template(tmp_path / "template"))
    after_store = opened(tmp_path / "root" / "rehearsal")
    steps = said(child("crash", tmp_path / "template", tmp_path / "root", operation, int(every)))
    assert isinstance(steps, list)
    assert len(steps) >= (2 if operation == "rebuild" else 8)
    after = contents(after_store)
    for step in steps:
        check(tmp_path / "root" / str(step), before, after)


@pytest.mark.parametrize(
    "operation", ["other", *(pytest.param(name, marks=pytest.mark.soak) for name in ("first", "again", "same"))]
)
def test_a_crash_with_the_index_lost_as_well_is_made_good(tmp_path: Path, operation: str) -> None:
    """A process dies in the middle of a store and the index goes too: the files are enough."""
    before = contents(template(tmp_path / "template"))
    steps = said(child("crash", tmp_path / "template", tmp_path / "root", operation, 0))
    assert isinstance(steps, list)
    after = contents(opened(tmp_path / "root" / "rehearsal"))
    for step in steps:
        folder = tmp_path / "root" / str(step)
        (folder / "code_index.db").unlink()
        assert contents(opened(folder)) in (before, after)


def test_a_store_that_was_open_before_the_crash_sees_no_half_store(tmp_path: Path) -> None:
    """It reads old or new, never one with the facts of the other, without being opened again."""
    before = contents(template(tmp_path / "template"))
    steps = said(child("crash", tmp_path / "template", tmp_path / "root", "other", 0))
    assert isinstance(steps, list)
    after = contents(opened(tmp_path / "root" / "rehearsal"))
    store = opened(tmp_path / "live")
    for step in steps:
        shutil.rmtree(tmp_path / "live", ignore_errors=True)
        shutil.copytree(tmp_path / "root" / str(step), tmp_path / "live")
        assert contents(store) in (before, after)
