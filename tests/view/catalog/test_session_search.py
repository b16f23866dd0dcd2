"""The search over all sessions of a machine: own ones, imported ones, and logs that were never imported."""

import json
import pkgutil
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import log_samples
import pytest

from sightline import PostgresStores, Session
from sightline.files.private_files import locked_in_place
from sightline.imports.detection import conversations
from sightline.imports.source import Source
from sightline.log.stores.session_folder import Folder
from sightline.testing import reply_of
from sightline.values.clock import milliseconds
from sightline.view.catalog.offered_files import file_id
from sightline.view.catalog.places import Places
from sightline.view.catalog.search_documents import Document
from sightline.view.catalog.search_rows import file_rows, item_of
from sightline.view.catalog.session_catalog import SessionCatalog
from sightline.view.catalog.session_search import FoundSession, SessionSearch

if TYPE_CHECKING:
    from postgres_server import PostgresServer

ALL = 1 << 30  # bytes


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home with no sessions of any agent."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    return tmp_path


def opened(home: Path, **options: Any) -> SessionSearch:
    (home / "shop").mkdir(exist_ok=True)
    return SessionSearch(SessionCatalog(Places(home / "shop", everywhere=True)), **options)


def claude_lines(*texts: str, day: int = 1) -> list[dict[str, Any]]:
    """A log in which the user and the model speak in turn."""
    return [
        {"type": ("user", "assistant")[at % 2], "uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else None,
         "sessionId": "s", "cwd": "/w/shop", "timestamp": f"2026-11-0{day}T10:{at:02}:00.000Z",
         "message": {"role": ("user", "assistant")[at % 2], "id": f"m{at}", "content": text}}
        for at, text in enumerate(texts)
    ]  # fmt: skip


def write(file: Path, lines: list[dict[str, Any]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    return file


def claude_file(home: Path, name: str, *texts: str, day: int = 1) -> Path:
    return write(home / "claude" / "projects" / "-w-shop" / f"{name}.jsonl", claude_lines(*texts, day=day))


def codex_file(home: Path, *texts: str) -> Path:
    items = [
        {"type": "response_item", "timestamp": "2026-11-02T09:00:00.000Z",
         "payload": {"type": "message", "role": ("user", "assistant")[at % 2],
                     "content": [{"type": ("input_text", "output_text")[at % 2], "text": text}]}}
        for at, text in enumerate(texts)
    ]  # fmt: skip
    meta = {"type": "session_meta", "timestamp": "2026-11-02T09:00:00.000Z", "payload": {"id": "t1", "cwd": "/w/api"}}
    return write(home / "codex" / "sessions" / "2026" / "rollout-t1.jsonl", [meta, *items])


def found(search: SessionSearch, words: str, limit: int = 5) -> list[FoundSession]:
    while search.extend(ALL):
        pass
    return search.search(words, limit).sessions


def test_all_sources_are_searched_at_once(home: Path) -> None:
    """A session of this project, one of another, an imported one, and logs of Claude Code and Codex: each is found."""
    for project, animal in (("shop", "zebra"), ("other", "walrus")):
        (home / project).mkdir(exist_ok=True)
        with Session.new(home / project, session_id=project) as session:
            session.user(f"The {animal} goes live on Monday.")
            session.reply(reply_of("Noted."))
    catalog = SessionCatalog(Places(home / "shop", everywhere=True))
    imported = claude_file(home, "a", "Keep the ocelot away.")
    catalog.locate(file_id(imported))
    claude = claude_file(home, "b", "We decided: the lynx stays.", "Good.", day=2)
    codex = codex_file(home, "Feed the badger at noon.", "Done.")
    search = opened(home, clock=lambda: milliseconds("2030-01-01T00:00:00Z"))
    words = {"zebra": "shop", "walrus": "other@", "ocelot": "claude-s@imported"}
    for animal, begins in words.items():
        (one,) = found(search, f"what about the {animal}?")
        assert one.id.startswith(begins)
        assert animal in one.items[0].row.text
    (lynx,), (badger,) = found(search, "lynx"), found(search, "badger")
    assert (lynx.id, lynx.document.look.source, lynx.document.look.project) == (
        file_id(claude),
        "claude-code",
        "/w/shop",
    )
    assert (lynx.items[0].row.kind, lynx.items[0].row.when) == ("user", "2026-11-02T10:00:00.000Z")
    assert (badger.id, badger.document.look.source, badger.document.look.project) == (file_id(codex), "codex", "/w/api")
    assert found(search, "giraffe") == []


@pytest.mark.parametrize(("name", "folder"), [("CLAUDE", "claude/projects/p"), ("CODEX", "codex/sessions")])
def test_a_row_of_a_file_is_the_item_that_an_import_makes_of_it(name: str, folder: str, home: Path) -> None:
    """For every line of a log with lines of every type: its id gives the item of the same text."""
    file = home / folder / "all.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(log_samples.as_file(getattr(log_samples, name)))
    catalog = SessionCatalog(Places(home / "shop", everywhere=True))
    place, own_id = catalog.locate(file_id(file))
    conversation = next(conversations(Source(file)))
    rows = [row for step in file_rows(conversation, 0) for row in step.rows]
    assert {row.kind for row in rows} >= {"user", "assistant", "tool", "summary"}
    with (
        closing(place.stores.open(own_id)) as store,
        Session.inspect(own_id, place.project, stores=place.stores) as session,
    ):
        known = {item.id for item in session.items}
        for row in rows:
            item_id = item_of(store, row.id)
            assert item_id in known
            text = row.text.partition("\n")[2] if row.kind == "tool" else row.text
            assert text.strip() in session.items.text(item_id)
        assert item_of(store, "L1.99") is None
        assert item_of(store, "L99999.1") is None
        assert item_of(store, "7") is None


def test_only_what_is_new_is_read(home: Path) -> None:
    """A log that has grown adds its new rows; one that has not is not opened again, by this process or the next."""
    file = claude_file(home, "a", "The lynx stays.", "Good.")
    search = opened(home)
    found(search, "lynx")
    before = search.documents()[file_id(file)].runs
    rows = sum(count for _, count in before)
    write(file, claude_lines("The lynx stays.", "Good.", "And the ibex goes.", "Fine.")[2:])
    again = opened(home)
    assert [one.id for one in found(again, "ibex")] == [file_id(file)]
    after = again.documents()[file_id(file)].runs
    assert rows == 2
    assert sum(count for _, count in after) == 4
    assert after[0][0] == before[0][0]  # what was indexed stays: only the last step is read again
    assert sum(count for _, count in after[1:]) == 3
    table = (home / "home" / "search" / "documents.msgpack").stat().st_mtime_ns
    assert opened(home).extend(ALL) == 0
    assert (home / "home" / "search" / "documents.msgpack").stat().st_mtime_ns == table


def test_a_session_goes_on(home: Path) -> None:
    """What is said later is found too; what was said on a branch that was left is not."""
    search = opened(home)
    with Session.new(home / "shop", session_id="s") as session:
        session.user("The zebra comes first.")
        session.reply(reply_of("Noted."))
        first = [item.id for item in session.items][-1]
        session.user("Then the walrus.")
        session.reply(reply_of("Good."))
    far = opened(home, clock=lambda: milliseconds("2030-01-01T00:00:00Z"))
    assert [one.items[0].row.kind for one in found(far, "walrus")] == ["user"]
    with Session.resume("s", home / "shop") as session, session.fork(first) as other:
        other.user("Then the tapir.")
        other.reply(reply_of("Good."))
    assert [one.id for one in found(far, "tapir")] == ["s"]
    assert found(far, "walrus") == []
    assert [one.id for one in found(far, "zebra")] == ["s"]
    assert search.extend(ALL) == 0


def test_sessions_in_a_database_are_searched_too(home: Path, postgres: "PostgresServer") -> None:
    """Beside the logs of other agents on this machine; what is said later is found, by its id there."""
    claude_file(home, "a", "The lynx stays.")
    with closing(PostgresStores(postgres.url())) as stores:
        catalog = SessionCatalog(Places(home / "shop", stores=stores, everywhere=True))
        search = SessionSearch(catalog, clock=lambda: milliseconds("2030-01-01T00:00:00Z"))
        with Session.new(home / "shop", stores=stores, session_id="kept") as session:
            session.user("The zebra comes first.")
            session.reply(reply_of("Noted."))
            assert [one.id for one in found(search, "zebra")] == ["kept"]
            session.user("Then the walrus.")
            session.reply(reply_of("Good."))
        (one,) = found(search, "walrus")
        assert (one.id, one.document.look.title) == ("kept", "The zebra comes first.")
        place, own_id = catalog.locate(one.id)
        with Session.inspect(own_id, place.project, stores=place.stores) as session:
            assert session.items.text(one.items[0].row.id) == "Then the walrus."
        assert len(found(search, "lynx")) == 1


def test_who_asks_does_not_find_the_question(home: Path) -> None:
    """What was said in the last minutes is before the model already: an agent's own log has the user's question."""
    claude_file(home, "old", "We decided: the lynx stays.", day=1)
    claude_file(home, "now", "What did we decide about the lynx?", day=9)
    now = opened(home, clock=lambda: milliseconds("2026-11-09T10:05:00Z"))
    assert [each.items[0].row.text for each in found(now, "decide lynx")] == ["We decided: the lynx stays."]
    later = opened(home, clock=lambda: milliseconds("2026-11-09T12:00:00Z"))
    assert len(found(later, "decide lynx")) == 2


def test_what_our_own_tools_showed_is_found_where_it_was_said(home: Path) -> None:
    """The results of search_sessions and recall repeat other logs."""
    lines = claude_lines("What about the lynx?")
    call = {"type": "tool_use", "id": "c1", "name": "mcp__sightline__search_sessions", "input": {"words": "lynx"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "> the lynx stays"}
    for at, (kind, content) in enumerate((("assistant", [call]), ("user", [result])), start=1):
        lines += [{**lines[0], "type": kind, "uuid": f"u{at}", "parentUuid": f"u{at - 1}",
                   "message": {"role": kind, "id": f"m{at}", "content": content}}]  # fmt: skip
    write(home / "claude" / "projects" / "p" / "a.jsonl", lines)
    (one,) = found(opened(home), "lynx stays")
    assert [item.row.kind for item in one.items] == ["user"]


def test_a_long_log_is_read_in_parts(home: Path) -> None:
    """Each call reads about as much as it may, the rest is left, and nothing is read twice or left out."""
    file = claude_file(home, "a", *(f"part {number}: word{number} " + "filler " * 400 for number in range(40)))
    search, calls = opened(home), 0
    while search.extend(20_000):
        calls += 1
    assert 3 <= calls <= 8
    again = opened(home)
    again._begin()
    while again.extend(1):  # a step may be larger than what one call may read
        pass
    assert sum(count for _, count in again.documents()[file_id(file)].runs) == 40
    assert sum(count for _, count in search.documents()[file_id(file)].runs) == 40
    assert [len(found(search, f"word{number}")) for number in (0, 17, 39)] == [1, 1, 1]


def test_a_long_session_is_read_in_parts(home: Path) -> None:
    """The same for one of Sightline."""
    search = opened(home, clock=lambda: milliseconds("2030-01-01T00:00:00Z"))
    with Session.new(home / "shop", session_id="s") as session:
        for number in range(20):
            session.user(f"part {number}: word{number} " + "filler " * 400)
            session.reply(reply_of("Noted."))
    calls = 0
    while search.extend(10_000):
        calls += 1
    assert 2 <= calls <= 6
    assert sum(count for _, count in search.documents()["s"].runs) == 40
    assert [len(found(search, f"word{number}")) for number in (0, 9, 19)] == [1, 1, 1]


def test_a_damaged_log_hides_no_other(home: Path) -> None:
    """It is noted with the reason, and read again only when it changes."""
    good = claude_file(home, "good", "The lynx stays.")
    bad = home / "claude" / "projects" / "p" / "bad.jsonl"
    bad.parent.mkdir(parents=True, exist_ok=True)
    bad.write_bytes(b"\x00\xff not a log\n" * 50)
    torn = claude_file(home, "torn", "The ibex goes.")
    torn.write_bytes(torn.read_bytes() + b'{"type":"user","mess')
    search = opened(home)
    assert {one.id for one in found(search, "lynx ibex")} == {file_id(good), file_id(torn)}
    assert search.documents()[file_id(bad)].error
    assert search.extend(ALL) == 0


def test_what_is_deleted_is_forgotten(home: Path) -> None:
    """Neither found nor kept: its text is gone from the index."""
    file = claude_file(home, "a", "The lynx stays.")
    search = opened(home)
    assert len(found(search, "lynx")) == 1
    first = search.documents()[file_id(file)].runs[0][0]
    file.unlink()
    assert found(search, "lynx") == []
    assert file_id(file) not in search.documents()
    assert search._derived.cache([f"rows/{first}"]) == {}


def test_a_lost_index_is_made_again(home: Path) -> None:
    """Damaged postings, a damaged table, or none: the next search but one finds everything again."""
    claude_file(home, "a", "The lynx stays.")
    folder = home / "home" / "search"
    assert len(found(opened(home), "lynx")) == 1
    for damage in ("*.parts", "documents.msgpack"):
        for file in folder.glob(damage):
            file.write_bytes(file.read_bytes()[: len(file.read_bytes()) // 2])
        search = opened(home)
        if search.search("lynx", 5).is_lost:
            search.extend(ALL)
        assert len(found(search, "lynx")) == 1


@pytest.mark.parametrize(
    "where",
    [
        "recall.search.segments.StoredSegments.write",
        "log.stores.side_files.PartFile.keep",
        "view.catalog.session_search.replace_whole",
    ],
)
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_process_that_dies_meanwhile_costs_nothing_that_was_kept(
    where: str, after: int, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it ends, before or after something was written: the next one reads what is missing, and finds all."""
    real, calls = pkgutil.resolve_name(f"sightline.{where}"), 0

    def dies(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt
        return real(*given)

    for animal in ("lynx", "ibex", "tapir"):
        claude_file(home, animal, f"The {animal} stays.", "Good.")
        with monkeypatch.context() as patched:
            patched.setattr(f"sightline.{where}", dies)
            with suppress(KeyboardInterrupt):
                opened(home).extend(ALL)
        calls = 0
    search = opened(home)
    assert [len(found(search, animal)) for animal in ("lynx", "ibex", "tapir")] == [1, 1, 1]
    runs = sorted(run for document in search.documents().values() for run in document.runs)
    assert sum(count for _, count in runs) == 6
    assert all(first + count <= then for (first, count), (then, _) in pairwise(runs))


def test_one_process_indexes_at_a_time(home: Path) -> None:
    """The others are told how much is left, and see what the first one has done."""
    claude_file(home, "a", "The lynx stays.")
    search, other = opened(home), opened(home)
    (home / "home" / "search").mkdir(parents=True)
    with locked_in_place(home / "home" / "search" / "lock", 0o100):
        assert search.extend(ALL) == 1
        assert search.search("lynx", 5).sessions == []
    assert other.extend(ALL) == 0
    assert len(search.search("lynx", 5).sessions) == 1
    claude_file(home, "b", "The ibex goes.")
    assert other.extend(ALL) == 0
    assert len(search.search("ibex", 5).sessions) == 1


def test_without_a_disk_it_is_in_memory(home: Path) -> None:
    """Where nothing can be written, each process indexes for itself."""
    claude_file(home, "a", "The lynx stays.")
    (home / "home").mkdir()
    (home / "home" / "search").write_text("in the way")
    assert len(found(opened(home), "lynx")) == 1


def test_only_some_are_searched(home: Path) -> None:
    """Those that a filter lets through, best first, and as many as are wanted; the same words count once."""
    for number in range(4):
        claude_file(home, f"a{number}", "The lynx stays.", f"And number {number}, says the lynx.")
    search = opened(home)
    assert len(found(search, "lynx", 3)) == 3
    texts = [item.row.text for one in found(search, "lynx", 9) for item in one.items]
    assert texts.count("The lynx stays.") == 1
    wanted = file_id(home / "claude" / "projects" / "-w-shop" / "a2.jsonl")

    def among(name: str, _document: Document) -> bool:
        return name == wanted

    assert [one.id for one in search.search("lynx", 9, among).sessions] == [wanted]


def test_an_imported_file_that_has_grown_is_brought_up_to_date(home: Path) -> None:
    """Its session has what is new, under ids that stay."""
    file = claude_file(home, "a", "The lynx stays.", "Good.")
    catalog = SessionCatalog(Places(home / "shop", everywhere=True))
    place, own_id = catalog.locate(file_id(file))
    search = opened(home)
    first = found(search, "lynx")[0].items[0].row.id
    write(file, claude_lines("The lynx stays.", "Good.", "And the ibex goes.")[2:])
    (one,) = found(search, "ibex")
    assert one.id == place.full_id(own_id)
    assert found(search, "lynx")[0].items[0].row.id == first
    assert isinstance(place.stores, Folder)
    assert catalog.locate(one.id) == (place, own_id)


def test_a_file_that_was_imported_is_kept_once(home: Path) -> None:
    """As its session: the texts of the file are no longer in the index."""
    file = claude_file(home, "a", "The lynx stays.", "Good.")
    search = opened(home)
    found(search, "lynx")
    place, own_id = SessionCatalog(Places(home / "shop", everywhere=True)).locate(file_id(file))
    assert [one.id for one in found(search, "lynx")] == [place.full_id(own_id)]
    assert len(search._table.documents) == 1
