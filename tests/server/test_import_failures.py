"""Imports that a page asks for and that fail, wait, or are stopped with the server."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.server import imports as module
from sightline.server.events import Hub
from sightline.server.imports import Imports
from sightline.server.rest_operation import Busy
from sightline.server.rest_values import ImportFacts
from sightline.view.catalog.imported_files import Import, ImportStopped


class Broken:
    """Files of which none can be read."""

    def bring_in(self, *_: Any) -> Any:
        """Fail as a line of a thousand brackets does."""
        raise RecursionError("too deep")


class Endless:
    """A file that is imported until it is told to stop."""

    def __init__(self) -> None:
        self.begun, self.ended, self.names = threading.Event(), threading.Event(), list[str]()

    def bring_in(self, file: Path, offered: Any, tick: Any, is_stopped: Callable[[], bool], check: Any) -> Import:
        """Import for ever."""
        self.names.append(file.name)
        self.begun.set()
        while not is_stopped():
            assert file.exists()  # what is read must not be deleted meanwhile
            self.ended.wait(0.001)
        self.ended.set()
        raise ImportStopped


def upload(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    (folder / name / "log.jsonl").write_text("{}")
    return folder / name


def test_an_import_that_fails_in_any_way_ends(tmp_path: Path) -> None:
    """A page that waits for it hears that, and the next file is imported."""
    (tmp_path / "up").mkdir()

    async def bring_in() -> ImportFacts:
        imports = Imports(Broken(), Hub())  # type: ignore[arg-type]
        begun = imports.begin_upload(tmp_path / "up", "log.jsonl")
        await asyncio.gather(*imports._tasks)
        return imports._known[begun.id]

    done = asyncio.run(bring_in())
    assert (done.state, done.error) == ("failed", "the file cannot be read (RecursionError)")
    assert not (tmp_path / "up").exists()


def test_a_server_that_stops_waits_for_the_import_that_runs(tmp_path: Path) -> None:
    """It is told to stop, and nothing goes on behind the server; none that waits begins, none is added."""
    files = Endless()
    one, two = upload(tmp_path, "one"), upload(tmp_path, "two")

    async def stop() -> list[ImportFacts]:
        imports = Imports(files, Hub())  # type: ignore[arg-type]
        imports.begin_upload(one, "log.jsonl")
        imports.begin_upload(two, "log.jsonl")
        await asyncio.to_thread(files.begun.wait, 60)
        await imports.close()
        assert files.ended.is_set()
        with pytest.raises(Busy):
            imports.begin_upload(one, "log.jsonl")
        return imports.all()

    ended = asyncio.run(stop())
    assert [each.state for each in ended] == ["failed", "failed"]
    assert all("stopped" in each.error for each in ended)
    assert files.names == ["log.jsonl"]
    assert (one.exists(), two.exists()) == (False, False)


def test_an_import_that_runs_is_never_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many follow it; of those that have ended the oldest are; and no more may wait than there is room for."""
    monkeypatch.setattr(module, "_REMEMBERED", 3)
    monkeypatch.setattr(module, "_WAITING", 6)
    files = Endless()

    async def ask() -> tuple[int, list[str]]:
        imports = Imports(files, Hub())  # type: ignore[arg-type]
        begun = [imports.begin_upload(upload(tmp_path, str(number)), "log.jsonl") for number in range(6)]
        assert all(imports.get(each.id) is not None for each in begun)
        with pytest.raises(Busy, match="6 imports are waiting"):
            imports.begin_upload(tmp_path, "log.jsonl")
        await asyncio.to_thread(files.begun.wait, 60)
        await imports.close()
        imports._is_closed = False
        last = imports.begin_upload(upload(tmp_path, "last"), "log.jsonl")
        known = [each.id for each in imports.all()]
        await imports.close()
        return known.index(last.id), known

    place, known = asyncio.run(ask())
    assert (place, len(known)) == (0, 3)
