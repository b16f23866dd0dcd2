"""Reports that a server makes: each once, a few at a time, of the branch that is asked for, and never an old one."""

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from rest_server import RestServer

from sightline import MemoryStores, Session
from sightline.log.stores.session_folder import Folder
from sightline.server import reports as module
from sightline.server.reports import Reports, content_of
from sightline.server.rest_operation import Busy
from sightline.view.catalog.places import Place
from sightline.view.report.values import SessionReport, Spent


def write(project: Path, session_id: str, *questions: str) -> Place:
    project.mkdir(exist_ok=True)
    with Session.new(project, session_id=session_id) as session:
        for question in questions:
            session.user(question)
            session.reply("Yes.")
    return Place("", project, Folder(project))


class Slow:
    """Makes reports that end when so many have been begun, and counts them."""

    def __init__(self, expected: int) -> None:
        self.lock, self.full, self.running, self.most, self.made = threading.Lock(), threading.Event(), 0, 0, 0
        self._expected = expected

    def __call__(self, *_: Any, **__: Any) -> SessionReport:
        with self.lock:
            self.running += 1
            self.made += 1
            self.most = max(self.most, self.running)
            if self.made >= self._expected:
                self.full.set()
        self.full.wait(60)
        with self.lock:
            self.running -= 1
        return SessionReport(
            name="x", kind="", models={}, unpriced=(), begin=0, end=0, turns=0, calls=0, is_reported=False,
            spent=Spent(),
        )  # fmt: skip


def test_a_report_is_made_once_for_all_who_ask_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One who goes away does not end it for the others."""
    place, slow = write(tmp_path / "one", "a", "Question"), Slow(2)
    monkeypatch.setattr(module, "report_of", slow)

    async def ask() -> list[Any]:
        reports = Reports()
        waiting = [asyncio.create_task(reports.get(place, "a", "", forecast=False)) for _ in range(5)]
        while not slow.made:
            await asyncio.sleep(0.001)
        waiting[0].cancel()
        slow.full.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    first, *others = asyncio.run(ask())
    assert isinstance(first, asyncio.CancelledError)
    assert {each.name for each in others} == {"x"}
    assert slow.made == 1


def test_only_a_few_are_made_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others wait, and no more may wait than there is room for."""
    place = write(tmp_path / "one", "s0", "Question")
    for number in range(1, 6):
        write(tmp_path / "one", f"s{number}", "Question")
    slow = Slow(7)
    monkeypatch.setattr(module, "report_of", slow)
    monkeypatch.setattr(module, "_WAITING", 5)

    async def ask() -> list[Any]:
        reports = Reports()
        wanted = [asyncio.ensure_future(reports.get(place, f"s{number}", "", forecast=False)) for number in range(6)]
        await asyncio.wait(wanted, return_when=asyncio.FIRST_COMPLETED)
        while slow.running < 2:
            await asyncio.sleep(0.001)
        slow.full.set()
        return await asyncio.gather(*wanted, return_exceptions=True)

    answers = asyncio.run(ask())
    assert sum(isinstance(each, Busy) for each in answers) == 1
    assert (slow.made, slow.most) == (5, 2)


def test_a_server_that_stops_makes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being made ends at its next step, what waits does not begin."""
    place = write(tmp_path / "one", "a", "Question")
    ticks: list[bool] = []

    def endless(*_: Any, tick: Any, **__: Any) -> None:
        while True:
            ticks.append(True)
            tick()

    monkeypatch.setattr(module, "report_of", endless)

    async def stop() -> list[Any]:
        reports = Reports()
        waiting = asyncio.gather(reports.get(place, "a", "", forecast=False), return_exceptions=True)
        while not ticks:
            await asyncio.sleep(0.001)
        await reports.close()
        return await waiting

    [failed] = asyncio.run(stop())
    assert isinstance(failed, Busy)


def test_the_content_of_a_log_decides_whether_its_report_is_new(tmp_path: Path) -> None:
    """Another log of the same name, size, number of entries and time is another one."""
    place = write(tmp_path / "one", "a", "Question A")
    folder = place.stores
    assert isinstance(folder, Folder)
    log, first = folder.file("a"), content_of(folder, "a")
    assert content_of(folder, "a") == first
    status = log.stat()
    log.write_bytes(log.read_bytes().replace(b"Question A", b"Question B"))
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (log.stat().st_size, log.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert content_of(folder, "a") != first
    stores = MemoryStores()
    contents = set()
    for words in ("Question A", "Question B"):
        with Session.new(stores=stores, session_id="m") as session:
            session.user(words)
        contents.add(content_of(stores, "m"))
        stores.delete("m")
    assert len(contents) == 2


def test_the_report_is_of_the_branch_that_is_asked_for(server: RestServer, project: Path) -> None:
    """Not of the one that was written to last."""
    write(project, "forked", "One", "Two", "Three")
    with Session.resume("forked", project) as session:
        second = next(item.id for item in session.items if "Two" in str(item.parts))
        with session.fork(second, name="other") as branch:
            branch.reply("Otherwise.")
    turns = {
        branch: server.get(f"/api/sessions/forked/report?branch={branch}")["report"]["turns"]
        for branch in ("main", "other")
    }
    assert turns == {"main": 3, "other": 2}
