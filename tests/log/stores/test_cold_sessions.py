"""Old sessions in cold storage, as docs/scaling.md says: out of the database, back again, and not a byte is missing."""

import subprocess
import sys
import time
from contextlib import closing
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from sightline.fleet.postgres import PostgresStores
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import WordCounter

EXAMPLE = Path(__file__).parents[3] / "examples" / "postgres" / "cold_sessions.py"
DAY = 86_400


@pytest.fixture
def stores(stores: PostgresStores) -> PostgresStores:
    """Three sessions, of which two are old."""
    for days, name in ((200, "oldest"), (100, "old"), (0, "new")):
        with Session.new(stores=stores, session_id=name, token_counter=WordCounter()) as session:
            session.user(f"What is in the {name} tank? " * 20)
            session.compose(Budget(window=2_000))
            session.reply("Water.")
        stores.date(name, time.time() - days * DAY)
    return stores


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example."""
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    return import_module(EXAMPLE.stem)


def log_of(stores: PostgresStores, name: str) -> list[bytes]:
    """The lines of a session."""
    with closing(stores.open(name)) as store:
        store.refresh()
        return [line.data for line in store.raw_lines()]


@pytest.mark.slow
def test_old_sessions_are_put_aside_and_brought_back(
    stores: PostgresStores, url: str, example: ModuleType, tmp_path: Path
) -> None:
    """Those of 90 days go to files, the others stay. One that comes back has the same bytes and goes on."""
    before, cold = log_of(stores, "old"), tmp_path / "cold"
    assert example.put_aside(stores, 90, cold) == ["old", "oldest"]
    assert stores.sessions() == ["new"]
    assert example.put_aside(stores, 90, cold) == []
    command = [sys.executable, "-m", "sightline", "store", "copy", str(cold), url, "--session", "old"]
    subprocess.run(command, capture_output=True, check=True)
    assert sorted(stores.sessions()) == ["new", "old"]
    assert log_of(stores, "old") == before
    with Session.resume("old", stores=stores, token_counter=WordCounter()) as session:
        session.user("And now?")
        assert "What is in the old tank?" in session.items.text(next(iter(session.items)).id)
        assert session.compose(Budget(window=2_000)).tokens > 50


def test_a_session_that_is_written_to_meanwhile_stays(
    stores: PostgresStores, example: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not old any more, and what was written is not lost."""
    copy = example.copy_session

    def write_meanwhile(*places: object) -> object:
        done = copy(*places)
        if places[2] == "old":
            with Session.resume("old", stores=stores, token_counter=WordCounter()) as session:
                session.user("I am back.")
        return done

    monkeypatch.setattr(example, "copy_session", write_meanwhile)
    assert example.put_aside(stores, 90, tmp_path / "cold") == ["oldest"]
    assert any(b"I am back." in line for line in log_of(stores, "old"))
