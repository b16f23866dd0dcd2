"""The list of all sessions: over projects and sources, counted once, found by words, in pages."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from postgres_server import PostgresServer
from sightline import MemoryStores, PostgresStores, Session
from sightline.errors import SessionNotFound
from sightline.log.stores.session_folder import Folder
from sightline.testing import reply_of
from sightline.values.items import Text
from sightline.view.catalog.listed_logs import read_kept
from sightline.view.catalog.listed_sessions import SessionFacts, Wanted
from sightline.view.catalog.log_count import LogCount
from sightline.view.catalog.offered_files import look_at
from sightline.view.catalog.places import Places
from sightline.view.catalog.session_catalog import SessionCatalog


def keep(project: Path, session_id: str, *questions: str) -> None:
    project.mkdir(exist_ok=True)
    with Session.new(project, session_id=session_id) as session:
        for question in questions:
            session.user(question)
            session.reply(reply_of("Yes."))


def claude_log(file: Path, *questions: str, cwd: str = "/w/shop") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = [{"type": "file-history-snapshot", "snapshot": {}}]
    for number, question in enumerate(questions):
        same = {"sessionId": file.stem, "cwd": cwd, "timestamp": f"2026-11-01T10:0{number}:00.000Z"}
        last = f"a{number - 1}" if number else None
        lines += [
            {"type": "user", "uuid": f"u{number}", "parentUuid": last, **same,
             "message": {"role": "user", "content": f"<system-reminder>Hi</system-reminder>{question}"}},
            {"type": "assistant", "uuid": f"a{number}", "parentUuid": f"u{number}", **same,
             "message": {"id": f"m{number}", "role": "assistant", "model": "claude-x",
                         "content": [{"type": "text", "text": "Yes."}], "usage": {"input_tokens": 9}}},
        ]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home with no sessions of any agent."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    return tmp_path


def ids(rows: list[SessionFacts]) -> list[str]:
    return [row.id or row.name for row in rows]


def test_sessions_of_all_projects_are_listed_if_that_is_wanted(home: Path) -> None:
    """Those of another project have an id that leads to them; a list of one project has only its own."""
    keep(home / "one", "a", "First")
    keep(home / "two", "a", "Second")
    assert ids(SessionCatalog(Places(home / "one")).page(Wanted()).rows) == ["a"]
    places = Places(home / "one", everywhere=True)
    page = SessionCatalog(places).page(Wanted(sort="title", ascending=True))
    assert [row.title for row in page.rows] == ["First", "Second"]
    assert page.projects == {str(home / "one"): 1, str(home / "two"): 1}
    other = page.rows[1].id
    assert other.startswith("a@")
    place, session_id = places.find(other)
    with Session.inspect(session_id, place.project, stores=place.stores) as session:
        assert next(item.parts for item in session.items) == (Text("Second"),)
    assert place.project == home / "two"
    for wrong in ("a@00000000", "a@../one"):
        with pytest.raises(SessionNotFound):
            places.find(wrong)


def test_a_log_in_another_projects_folder_does_not_open_a_folder_that_it_names(home: Path) -> None:
    """Apps may open the files of a session's project, so a log cannot choose it."""
    keep(home / "one", "a", "First")
    keep(home / "two", "b", "Second")
    places = Places(home / "one", everywhere=True)
    [other] = [place for place in places.all() if place.key not in ("", "imported")]
    log = other.stores.file("b") if isinstance(other.stores, Folder) else home
    log.write_bytes(log.read_bytes().replace(str(home / "two").encode(), b"/"))
    assert places.find(f"b@{other.key}")[0].project == log.parent


def test_words_are_found_in_title_project_and_id(home: Path) -> None:
    """In any case, all of them; pages go through what matches."""
    for number in range(7):
        keep(home / "shop", f"s{number}", f"Fix {'even' if number % 2 == 0 else 'ODD'} bugs in the cart")
    catalog = SessionCatalog(Places(home / "shop"))
    found = catalog.page(Wanted(words="odd SHOP bug", limit=2, start=1))
    assert (found.total, len(found.rows)) == (3, 2)
    assert ids(catalog.page(Wanted(words="s3")).rows) == ["s3"]
    assert catalog.page(Wanted(words="absent")).total == 0
    pages = [catalog.page(Wanted(start=start, limit=3)).rows for start in (0, 3, 6)]
    assert sorted(ids([row for page in pages for row in page])) == [f"s{number}" for number in range(7)]


def test_only_what_has_changed_is_read_also_after_a_restart(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are kept in a file; a session that grew is read on, one that is new is read."""
    for number in range(5):
        keep(home / "one", f"s{number}", "Question")
    first = SessionCatalog(Places(home / "one"))
    first.page(Wanted())
    first.count_more(1 << 20)
    keep(home / "one", "new", "Question")
    read: list[str] = []
    real = LogCount.read
    monkeypatch.setattr(LogCount, "read", lambda self, file, most: read.append(file.stem) or real(self, file, most))
    second = SessionCatalog(Places(home / "one"))
    assert {row.turns for row in second.page(Wanted()).rows} == {1}
    assert set(read) == {"new"}
    read.clear()
    second.page(Wanted())
    assert read == []


def test_what_is_long_is_counted_later(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page does not wait for it; it says how many are pending, and the order by counts puts them last."""
    monkeypatch.setattr("sightline.view.catalog.session_catalog.HEAD", 1)
    monkeypatch.setattr("sightline.view.catalog.session_catalog._PAGE_BYTES", 0)
    monkeypatch.setattr("sightline.view.catalog.log_count._PIECE", 1)
    keep(home / "one", "long", *map(str, range(50)))
    catalog = SessionCatalog(Places(home / "one"))
    page = catalog.page(Wanted(sort="turns"))
    assert (page.pending, [row.ready for row in page.rows]) == (1, [False])
    assert catalog.row("long") is not None
    while catalog.count_more(5000):
        pass
    page = catalog.page(Wanted(sort="turns"))
    assert (page.pending, page.rows[0].ready, page.rows[0].turns) == (0, True, 50)


def test_a_first_list_looks_at_the_newest_and_the_rest_follows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work for one list is bounded; what was looked at is kept for the next run."""
    monkeypatch.setattr("sightline.view.catalog.session_catalog._MOST_HEADS", 2)
    for number in range(7):
        claude_log(home / "claude" / "projects" / "x" / f"{number}.jsonl", f"Question {number}")
    catalog = SessionCatalog(Places(home / "one", everywhere=True))
    page = catalog.page(Wanted())
    assert (len(page.rows), page.pending) == (2, 5)
    while catalog.count_more(1 << 20):
        pass
    assert catalog.page(Wanted()).total == 7
    look_at = "sightline.view.catalog.session_catalog.look_at"
    monkeypatch.setattr(look_at, lambda _: pytest.fail("it was looked at again"))
    again = SessionCatalog(Places(home / "one", everywhere=True)).page(Wanted(words="question 3"))
    assert ([row.title for row in again.rows], again.pending) == (["Question 3"], 0)


def test_files_of_claude_code_are_offered_and_imported_where_they_belong(home: Path) -> None:
    """Listed with their first words; imported they are one row; a file that has grown says so, and is read on."""
    keep(home / "one", "a", "Mine")
    file = claude_log(home / "claude" / "projects" / "-w-shop" / "6b0c.jsonl", "Fix the cart")
    claude_log(home / "claude" / "projects" / "-w-shop" / "agent-1.jsonl", "A subagent's")
    (file.parent / "empty.jsonl").write_text('{"type": "summary", "leafUuid": "x", "summary": "s"}\n')
    catalog = SessionCatalog(Places(home / "one", everywhere=True))
    [row] = [row for row in catalog.page(Wanted()).rows if row.state == "file"]
    assert (row.id, row.title, row.project, row.source) == ("", "Fix the cart", "/w/shop", "claude-code")
    offered = catalog.find_offered(str(file))
    assert offered is not None
    [done] = catalog.imported.bring_in(file, offered).imported
    assert not Folder(home / "one").has(done.session)  # the project's own sessions stay its own
    [row] = [row for row in catalog.page(Wanted()).rows if row.source == "claude-code"]
    assert (row.id, row.state, row.file, row.turns) == (f"{done.session}@imported", "session", str(file), 1)
    claude_log(file, "Fix the cart", "And the tests")
    [row] = [row for row in catalog.page(Wanted()).rows if row.source == "claude-code"]
    assert row.state == "grown"
    offered = catalog.find_offered(str(file))
    ticks: list[float] = []
    assert [each.state for each in catalog.imported.bring_in(file, offered, ticks.append).imported] == ["grown"]
    assert ticks == sorted(ticks)
    row = catalog.row(row.id) or row
    assert (row.state, row.turns) == ("session", 2)


def test_only_what_is_listed_is_offered(home: Path) -> None:
    """No other path, however it is written."""
    file = claude_log(home / "named" / "x.jsonl", "Mine")
    (home / "secret.jsonl").write_text('{"role": "user", "content": "secret"}\n')
    catalog = SessionCatalog(Places(home / "one"), (home / "named",))
    assert catalog.find_offered(str(file)) is not None
    for path in (home / "secret.jsonl", home / "named" / ".." / "secret.jsonl", "x.jsonl", ""):
        assert catalog.find_offered(str(path)) is None


def test_whatever_a_file_holds_it_is_looked_at(tmp_path: Path) -> None:
    """Lists of messages have a title too; what is no conversation has no source."""
    told = {
        "a.json": '[{"role": "user", "content": "Plan a trip"}]',
        "b.json": '{"messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]}',
        "c.json": "{}",
        "d.json": "[[",
        "e.json": '"x"',
    }
    found = {}
    for name, text in told.items():
        (tmp_path / name).write_text(text)
        look = look_at(tmp_path / name)
        found[name] = (look.source, look.title)
    assert found == {
        "a.json": ("messages", "Plan a trip"), "b.json": ("messages", "Hello"), "c.json": ("", ""), "d.json": ("", ""),
        "e.json": ("", ""),
    }  # fmt: skip
    assert look_at(tmp_path / "none.json").source == ""
    lines = (
        claude_log(tmp_path / "agent-1.jsonl", "Look into it")
        .read_text()
        .replace('"uuid"', '"isSidechain": true, "uuid"')
    )
    (tmp_path / "agent-1.jsonl").write_text(lines)
    assert look_at(tmp_path / "agent-1.jsonl")[:2] == ("claude-code", "Look into it")


def test_sessions_in_other_stores_are_listed(home: Path) -> None:
    """Nothing is known of when they were written, but all else."""
    stores = MemoryStores()
    with Session.new(stores=stores, session_id="m") as session:
        session.user("In memory")
    catalog = SessionCatalog(Places(home, stores=stores))
    [row] = catalog.page(Wanted()).rows
    assert (row.id, row.title, row.updated) == ("m", "In memory", None)
    assert catalog.row("m") == row


def test_what_was_counted_of_a_deleted_session_is_forgotten(home: Path, postgres: PostgresServer) -> None:
    """In a database too; of another database, it stays; a name with a number sign is a file like others."""
    kept = home / "home" / "session-list.msgpack"
    keep(home / "o#ne", "odd", "In a folder with a number sign")
    catalog = SessionCatalog(Places(home / "o#ne"))
    catalog.page(Wanted())
    catalog.keep()
    with closing(PostgresStores(postgres.url())) as one, closing(PostgresStores(postgres.url())) as other:
        for stores in (one, other):
            for name in ("stays", "goes"):
                with Session.new(stores=stores, session_id=name) as session:
                    session.user("Hello")
            catalog = SessionCatalog(Places(home / "one", stores=stores))
            catalog.page(Wanted())
            catalog.keep()
        Folder(home / "o#ne").delete("odd")
        one.delete("goes")
        catalog = SessionCatalog(Places(home / "one", stores=one))
        with Session.resume("stays", stores=one) as session:
            session.user("More")
        catalog.page(Wanted())
        catalog.keep()
        stay = {f"{one.where}#stays", f"{other.where}#goes", f"{other.where}#stays"}
        assert set(read_kept(kept).logs) == stay
