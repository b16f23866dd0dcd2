"""What cannot be logged while the database is away waits on the server's disk, and is brought in once."""

import json
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from through_proxy import Talk, Through
from upstream_script import answer

from postgres_server import PostgresServer
from sightline import PostgresStores, Session
from sightline.fleet.database import Database
from sightline.fleet.errors import Unreachable

WIRES = ("anthropic", "chat", "responses", "gemini")
STREAMED = [(wire, stream) for wire in WIRES for stream in (False, True)]


@contextmanager
def away(stores: PostgresStores) -> Iterator[None]:
    """The database is away while the block runs."""

    def refuse(self: Database) -> Any:
        raise Unreachable(self.address.shown, "the database is away")

    stores.database.patience = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "_opened", refuse)
        yield


@contextmanager
def served(folder: Path, stores: PostgresStores, script: Any = None, **config: Any) -> Iterator[Through]:
    """A proxy over this database. The pause between two attempts is none."""
    with pytest.MonkeyPatch.context() as patch, Through(folder, script or numbered()) as through:
        patch.setattr("sightline.server.spool._PAUSE", 0.0)
        through.server.stop()  # type: ignore[union-attr]
        through.start(stores=stores, **config)
        yield through


def numbered() -> Callable[[Any], Any]:
    """A model that says something else each time."""
    said = iter(range(1, 1_000))
    return lambda _asked: answer(f"Answer {next(said)}.")


def files(folder: Path) -> list[Path]:
    return sorted((folder / "logs" / "spool").rglob("*.jsonl"))


def logged(stores: PostgresStores, folder: Path) -> list[list[str]]:
    """The texts of each branch of the one session there is."""
    [name] = [name for name in stores.sessions() if name.startswith("proxy-")]
    with Session.inspect(name, folder, stores=stores) as session:
        branches = [session.on_branch(branch) for branch in session.branches]
        texts = [[branch.items.text(item.id) for item in branch.items] for branch in branches]
        for branch in branches:
            branch.close()
        return texts


def metric(through: Through, name: str) -> float:
    text = through.server.request("GET", "/metrics", {}).text  # type: ignore[union-attr]
    return float(next(line for line in text.splitlines() if line.startswith(f"{name} ")).split()[1])


@pytest.mark.parametrize(("wire", "stream"), STREAMED)
def test_calls_of_an_outage_are_in_the_log_afterwards(
    wire: str, stream: bool, tmp_path: Path, stores: PostgresStores
) -> None:
    """Each once, in order, on one branch, when the conversation goes on."""
    with served(tmp_path, stores) as through:
        talk = Talk(through, wire, stream=stream)
        talk.say("One")
        with away(stores):
            talk.say("Two")
            talk.say("Three")
            [file] = files(tmp_path)
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert not file.parent.stat().st_mode & 0o077
            assert metric(through, "sightline_spool_bytes") == file.stat().st_size
        talk.say("Four")
        assert files(tmp_path) == []
        assert metric(through, "sightline_spool_bytes") == 0
        assert metric(through, "sightline_brought_in_total") == 2
        assert through.totals.unlogged == 2
        assert through.totals.calls == 4
    said = ["One", "Answer 1.", "Two", "Answer 2.", "Three", "Answer 3.", "Four", "Answer 4."]
    assert logged(stores, tmp_path) == [said]
