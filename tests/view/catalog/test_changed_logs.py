"""The list of sessions when logs change under it: replaced, cut, regrown, deleted, in other stores."""

import os
from pathlib import Path

import pytest

from sightline import MemoryStores, Session
from sightline.log.stores.session_folder import Folder
from sightline.testing import reply_of
from sightline.view.catalog.listed_sessions import Wanted
from sightline.view.catalog.log_count import LogCount
from sightline.view.catalog.places import Places
from sightline.view.catalog.session_catalog import SessionCatalog


def write(project: Path, *questions: str, session_id: str = "a") -> Path:
    """Begin a session of this id, or go on with it."""
    project.mkdir(exist_ok=True)
    folder = Folder(project)
    new = not folder.has(session_id)
    with Session.new(project, session_id=session_id) if new else Session.resume(session_id, project) as session:
        for question in questions:
            session.user(question)
            session.reply(reply_of("Yes."))
    return folder.file(session_id)


def counted(catalog: SessionCatalog) -> list[tuple[str, int]]:
    """The first words and the turns of each session."""
    while catalog.count_more(1 << 20):
        pass
    return [(row.title, row.turns) for row in catalog.page(Wanted(sort="title", ascending=True)).rows]


def test_a_log_that_was_deleted_and_written_anew_is_counted_anew(tmp_path: Path) -> None:
    """Also if the new one of the same name is longer than what was counted of the old one."""
    project = tmp_path / "one"
    log = write(project, "Old one", "Old two")
    catalog = SessionCatalog(Places(project))
    assert counted(catalog) == [("Old one", 2)]
    Folder(project).delete("a")
    assert counted(catalog) == []
    assert write(project, "New", "b", "c", "d") == log
    assert counted(catalog) == [("New", 4)]


def test_a_log_that_was_replaced_in_one_step_is_counted_anew(tmp_path: Path) -> None:
    """As by a program that restores a copy: the list never saw the name gone."""
    project = tmp_path / "one"
    log = write(project, "Old")
    catalog = SessionCatalog(Places(project))
    assert counted(catalog) == [("Old", 1)]
    other = write(tmp_path / "two", "New", "b", "c")
    other.replace(log)
    assert counted(catalog) == [("New", 3)]


def test_a_log_that_was_cut_and_has_grown_again_is_counted_anew(tmp_path: Path) -> None:
    """The same file: its beginning is the same, but not what stands where the count ended."""
    project = tmp_path / "one"
    log = write(project, "One", "Two", "Three")
    catalog = SessionCatalog(Places(project))
    assert counted(catalog) == [("One", 3)]
    lines = log.read_bytes().splitlines(keepends=True)
    size = log.stat().st_size
    with log.open("r+b") as file:
        file.truncate(sum(map(len, lines[:3])))  # within the first turn
        file.seek(0, os.SEEK_END)
        question = next(line for line in lines if b'"Two"' in line)
        while file.tell() <= size:
            file.write(question)
    longer = sum(b'"Two"' in line for line in log.read_bytes().splitlines())
    assert counted(catalog) == [("One", longer + 1)]


def test_a_log_that_grows_is_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is new of it."""
    project = tmp_path / "one"
    log = write(project, *map(str, range(30)))
    catalog = SessionCatalog(Places(project))
    assert counted(catalog) == [("0", 30)]
    before, added = log.stat().st_size, []
    real = LogCount.add
    monkeypatch.setattr(LogCount, "add", lambda self, lines: added.append(sum(map(len, lines))) or real(self, lines))
    write(project, "One more")
    assert counted(catalog) == [("0", 31)]
    assert sum(added) == log.stat().st_size - before


def test_nothing_is_kept_of_logs_that_are_gone(tmp_path: Path) -> None:
    """Neither in memory nor in the file for the next run."""
    project = tmp_path / "one"
    write(project, "First", session_id="a")
    log = write(project, "Second", session_id="b")
    places = Places(project)
    catalog = SessionCatalog(places)
    assert len(counted(catalog)) == 2
    Folder(project).delete("b")
    write(project, "More", session_id="a")
    assert counted(catalog) == [("First", 2)]
    catalog.keep()
    assert str(log) not in catalog._logs
    assert os.fsencode(log) not in (places.home / "session-list.msgpack").read_bytes()


def test_what_another_list_counted_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two projects have one file of counts, and neither list drops what the other counted."""
    for name in ("one", "two"):
        write(tmp_path / name, "Question")
        assert counted(SessionCatalog(Places(tmp_path / name))) == [("Question", 1)]
    monkeypatch.setattr(LogCount, "read", lambda *_: pytest.fail("it was counted again"))
    for name in ("one", "two"):
        assert counted(SessionCatalog(Places(tmp_path / name))) == [("Question", 1)]


def test_sessions_in_other_stores_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list reads a bounded part of them, the rest in the background, and then only what is new."""
    stores = MemoryStores()
    for number in range(20):
        with Session.new(stores=stores, session_id=f"s{number}") as session:
            session.user(f"Question {number:02}")
    lines: list[int] = []
    real = LogCount.add
    monkeypatch.setattr(LogCount, "add", lambda self, more: lines.append(1) or real(self, more))
    monkeypatch.setattr("sightline.view.catalog.session_catalog._PAGE_BYTES", 500)
    catalog = SessionCatalog(Places(tmp_path, stores=stores))
    page = catalog.page(Wanted())
    assert 0 < page.pending < 20
    assert [row.ready for row in page.rows].count(True) == 20 - page.pending
    assert counted(catalog) == [(f"Question {number:02}", 1) for number in range(20)]
    once = len(lines)
    assert counted(catalog)[3] == ("Question 03", 1)
    assert len(lines) == once
    with Session.resume("s3", stores=stores) as session:
        session.user("Another")
    assert counted(catalog)[3] == ("Question 03", 2)
    assert len(lines) - once < once / 10
    stores.delete("s3")
    with Session.new(stores=stores, session_id="s3") as session:
        for number in range(9):
            session.user(f"Question 03 again {number}")
    assert counted(catalog)[3] == ("Question 03 again 0", 9)
    stores.delete("s4")
    assert len(counted(catalog)) == 19
