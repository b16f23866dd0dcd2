"""One search index for servers in several projects: each finds what it lists, under its own ids, and loses nothing."""

import json
from pathlib import Path

import pytest

from sightline import Session
from sightline.files.private_files import locked_in_place
from sightline.testing import reply_of
from sightline.values.clock import milliseconds
from sightline.view.catalog.places import Places
from sightline.view.catalog.session_catalog import SessionCatalog
from sightline.view.catalog.session_search import FoundSession, SessionSearch

ALL = 1 << 30  # bytes


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home with no sessions of any agent."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    return tmp_path


def lynx_file(home: Path) -> None:
    """Write a log of Claude Code."""
    file = home / "claude" / "projects" / "-w-shop" / "a.jsonl"
    file.parent.mkdir(parents=True)
    message = {"role": "user", "content": "The lynx stays."}
    file.write_text(json.dumps({"type": "user", "uuid": "u", "sessionId": "s", "message": message}) + "\n")


def found(search: SessionSearch, words: str) -> list[FoundSession]:
    while search.extend(ALL):
        pass
    return search.search(words, 5).sessions


def animals(home: Path) -> None:
    """Keep a session of the same id in each of three projects."""
    for project, animal in (("shop", "zebra"), ("other", "walrus"), ("third", "gnu")):
        (home / project).mkdir()
        with Session.new(home / project, session_id="main") as session:
            session.user(f"The {animal} goes live on Monday.")
            session.reply(reply_of("Noted."))


def placed(home: Path, project: str, *, everywhere: bool) -> SessionSearch:
    catalog = SessionCatalog(Places(home / project, everywhere=everywhere))
    return SessionSearch(catalog, clock=lambda: milliseconds("2030-01-01T00:00:00Z"))


def test_servers_of_several_projects_share_an_index(home: Path) -> None:
    """Sessions of one id in two projects: each server finds the right one under its own ids, and reads none again."""
    animals(home)
    shop, other = placed(home, "shop", everywhere=True), placed(home, "other", everywhere=True)
    table = home / "home" / "search" / "documents.msgpack"
    for search, (own, foreign) in ((shop, ("zebra", "walrus")), (other, ("walrus", "zebra")), (shop, ("zebra", "gnu"))):
        (one,), (two,) = found(search, own), found(search, foreign)
        assert one.id == "main"
        assert own in one.items[0].row.text
        assert two.id.startswith("main@")
        assert foreign in two.items[0].row.text
        place, own_id = search._catalog.locate(two.id)
        with Session.inspect(own_id, place.project, stores=place.stores) as session:
            assert foreign in session.items.text(two.items[0].row.id)
        assert len(search.documents()) == 3
    written = table.stat().st_mtime_ns
    assert [placed(home, each, everywhere=True).extend(ALL) for each in ("shop", "other", "third")] == [0, 0, 0]
    assert table.stat().st_mtime_ns == written
    assert shop._table.rows == 6


def test_a_server_of_one_project_finds_nothing_of_others(home: Path) -> None:
    """Also while another process has the lock of the index. What it does not list stays there for those who do."""
    animals(home)
    lynx_file(home)
    all_of_them, alone = placed(home, "shop", everywhere=True), placed(home, "third", everywhere=False)
    assert len(found(all_of_them, "walrus")) == 1
    with locked_in_place(home / "home" / "search" / "lock", 0o100):
        assert alone.extend(ALL) == 0
        for words in ("walrus", "zebra", "lynx"):
            assert alone.search(words, 5).sessions == []
        assert [one.id for one in alone.search("gnu", 5).sessions] == ["main"]
    assert alone.extend(ALL) == 0
    assert list(alone.documents()) == ["main"]
    assert [len(all_of_them.search(words, 5).sessions) for words in ("walrus", "lynx", "gnu")] == [1, 1, 1]
