"""Files that are offered for import: each once, at the time of its talk, read as little as possible, and no others."""

import gzip
import json
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pytest

from open_resources import lasting
from sightline.errors import BadInput
from sightline.imports import source
from sightline.imports.source import files_in
from sightline.log.stores.session_folder import Folder
from sightline.view.catalog import imported_files
from sightline.view.catalog.imported_files import ImportedFiles, ImportStopped
from sightline.view.catalog.listed_sessions import SessionFacts, Wanted
from sightline.view.catalog.offered_files import Offered, look_at
from sightline.view.catalog.places import Place, Places
from sightline.view.catalog.session_catalog import SessionCatalog

DAY = 86_400


def claude_log(file: Path, *questions: str, cwd: str = "/w/shop") -> Path:
    """A log of Claude Code of the first of November; the file itself was written later."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = []
    for number, question in enumerate(questions):
        same = {"sessionId": file.stem, "cwd": cwd, "timestamp": f"2025-11-01T10:0{number}:00.000Z"}
        answer = {"id": f"m{number}", "role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
        last = f"a{number - 1}" if number else None
        asked = {"role": "user", "content": question}
        lines += [
            {"type": "user", "uuid": f"u{number}", "parentUuid": last, **same, "message": asked},
            {"type": "assistant", "uuid": f"a{number}", "parentUuid": f"u{number}", **same, "message": answer},
        ]
    lines.append({"type": "file-history-snapshot", "timestamp": "2025-12-24T00:00:00.000Z", "snapshot": {}})
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home whose agents have their folders in it."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    return tmp_path


def rows(catalog: SessionCatalog) -> list[SessionFacts]:
    """The list, as it is shown first."""
    return catalog.page(Wanted()).rows


def test_an_imported_file_is_a_session_of_the_project_that_it_names(home: Path) -> None:
    """Where commands list it too. It grows there, and is listed once, also if it was imported apart before.

    One that is sent from elsewhere stays apart: it could name any project.
    """
    shop, root = home / "shop", home / "root"
    shop.mkdir()
    file = claude_log(home / "claude" / "projects" / "x" / "6b0c.jsonl", "Fix the cart", cwd=str(shop))
    ImportedFiles(Places(home / "one", root=root, everywhere=True).imported).bring_in(file)
    catalog = SessionCatalog(Places(home / "one", root=root, everywhere=True))
    offered = catalog.find_offered(str(file))
    assert offered is not None
    [full_id] = catalog.imported.bring_in(file, offered).ids
    assert Folder(shop, root).sessions() == ["claude-6b0c"]
    assert [(row.id, row.state, row.project, row.file) for row in rows(catalog)] == [
        (full_id, "session", str(shop), str(file))
    ]
    more = {"sessionId": "6b0c", "cwd": str(shop), "timestamp": "2025-11-01T10:01:00.000Z"}
    asked = {"type": "user", "uuid": "u1", "parentUuid": "a0", **more, "message": {"role": "user", "content": "Tests?"}}
    with file.open("a") as log:
        log.write(json.dumps(asked) + "\n")
    assert [row.state for row in rows(catalog)] == ["grown"]
    place, own_id = catalog.locate(full_id)
    assert (place.full_id(own_id), place.stores.sessions()) == (full_id, ["claude-6b0c"])
    assert [(row.state, row.turns) for row in rows(catalog)] == [("session", 2)]
    sent = claude_log(home / "sent" / "7c1d.jsonl", "Delete all", cwd=str(shop))
    assert catalog.imported.bring_in(sent).ids == ["claude-7c1d@imported"]
    assert Folder(shop, root).sessions() == ["claude-6b0c"]


def test_a_dropped_file_that_is_also_offered_is_one_row(home: Path) -> None:
    """A copy of it under any name becomes the session of the offered file, which is then not offered a second time."""
    file = claude_log(home / "claude" / "projects" / "x" / "6b0c.jsonl", "Fix the cart")
    claude_log(home / "claude" / "projects" / "x" / "7c1d.jsonl", "Another")
    catalog = SessionCatalog(Places(home / "one", everywhere=True))
    dropped = home / "upload" / "copy (1).jsonl"
    dropped.parent.mkdir()
    dropped.write_bytes(file.read_bytes())
    [done] = catalog.imported.bring_in(dropped).imported
    found = {row.title: row for row in rows(catalog)}
    assert set(found) == {"Fix the cart", "Another"}
    assert len(rows(catalog)) == 2
    row = found["Fix the cart"]
    assert (row.id, row.state, row.file) == (f"{done.session}@imported", "session", str(file))
    claude_log(file, "Fix the cart", "And its tests")
    assert {row.title: row.state for row in rows(catalog)} == {"Fix the cart": "grown", "Another": "file"}


def test_a_dropped_copy_from_before_is_one_row_that_has_grown(home: Path) -> None:
    """The offered file has more since it was copied."""
    file = claude_log(home / "claude" / "projects" / "x" / "6b0c.jsonl", "Fix the cart")
    old = home / "old.jsonl"
    old.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    catalog = SessionCatalog(Places(home / "one", everywhere=True))
    catalog.imported.bring_in(old)
    assert [(row.title, row.state) for row in rows(catalog)] == [("Fix the cart", "grown")]


def test_a_file_that_is_reached_by_two_names_is_one_row(home: Path) -> None:
    """By a link that somebody named, and where its agent keeps it; copies are one session once they are imported."""
    file = claude_log(home / "claude" / "projects" / "x" / "6b0c.jsonl", "Fix the cart")
    (home / "link.jsonl").symlink_to(file)
    catalog = SessionCatalog(Places(home / "one", everywhere=True), (home / "link.jsonl",))
    assert [row.title for row in rows(catalog)] == ["Fix the cart"]
    copy = home / "copy.jsonl"
    copy.write_bytes(file.read_bytes())
    catalog = SessionCatalog(Places(home / "one", everywhere=True), (copy,))
    assert len(rows(catalog)) == 2
    for path in (copy, file):
        catalog.imported.bring_in(path, catalog.find_offered(str(path)))
    assert [row.state for row in rows(catalog)] == ["session"]


def test_links_in_an_offered_folder_are_not_followed(home: Path) -> None:
    """Neither to a file nor to a folder elsewhere: what they lead to was not offered by anybody."""
    secret = claude_log(home / "secret" / "s.jsonl", "Secret")
    folder = home / "claude" / "projects" / "x"
    claude_log(folder / "6b0c.jsonl", "Fix the cart")
    (folder / "link.jsonl").symlink_to(secret)
    (folder / "away").symlink_to(secret.parent)
    catalog = SessionCatalog(Places(home / "one", everywhere=True))
    assert [row.title for row in rows(catalog)] == ["Fix the cart"]
    for path in (folder / "link.jsonl", folder / "away" / "s.jsonl"):
        assert catalog.find_offered(str(path)) is None


def test_a_row_stays_where_it_is_when_it_is_imported(home: Path) -> None:
    """Before and after it has the time of its last message, not that of the file or of the import."""
    file = claude_log(home / "claude" / "projects" / "x" / "6b0c.jsonl", "Fix the cart", "And its tests")
    catalog = SessionCatalog(Places(home / "one", everywhere=True))
    [before] = rows(catalog)
    catalog.imported.bring_in(file, catalog.find_offered(str(file)))
    [after] = rows(catalog)
    assert (before.state, after.state) == ("file", "session")
    assert before.updated == after.updated == look_at(file).ended == 1_761_991_260
    claude_log(file, "Fix the cart", "And its tests", "Once more")
    [grown] = rows(catalog)
    assert (grown.state, grown.updated) == ("grown", 1_761_991_320)


def test_a_list_of_messages_has_the_time_of_its_file(home: Path) -> None:
    """Nothing in it says when it was said. A time in the future is not believed."""
    file = home / "talk.jsonl"
    file.write_text('{"role": "user", "content": "Hello"}\n{"role": "assistant", "content": "Hi"}\n')
    os.utime(file, (1_700_000_000, 1_700_000_000))
    catalog = SessionCatalog(Places(home / "one"), (file,))
    [before] = rows(catalog)
    catalog.imported.bring_in(file, catalog.find_offered(str(file)))
    [after] = rows(catalog)
    assert before.updated == after.updated == 1_700_000_000
    ahead = claude_log(home / "ahead.jsonl", "Hello")
    ahead.write_text(ahead.read_text().replace("2025-11-01", "2999-11-01"))
    [row] = rows(SessionCatalog(Places(home / "two"), (ahead,)))
    assert (row.updated or 0) <= time.time()


def test_folders_that_have_not_changed_are_not_read_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each page of the list only the folder with a new file is; what grew or went is seen all the same."""
    projects = home / "claude" / "projects"
    for number in range(5):
        claude_log(projects / f"p{number}" / f"s{number}.jsonl", f"Question {number}")
    old = time.time() - DAY
    for folder in (projects, *projects.iterdir()):
        os.utime(folder, (old, old))
    read: list[str] = []
    real = os.scandir
    monkeypatch.setattr(source.os, "scandir", lambda path: read.append(str(path)) or real(path))
    catalog = SessionCatalog(Places(home / "one", everywhere=True))
    assert len(rows(catalog)) == 5
    first = [path for path in read if path.startswith(str(projects))]
    assert len(first) == 6
    read.clear()
    claude_log(projects / "p1" / "new.jsonl", "New")
    (projects / "p2" / "s2.jsonl").write_text("")
    assert {row.title for row in rows(catalog)} == {"New", *(f"Question {number}" for number in (0, 1, 3, 4))}
    assert [path for path in read if path.startswith(str(projects))] == [str(projects / "p1")]


def test_a_folder_that_was_changed_just_now_is_read_again(tmp_path: Path) -> None:
    """Another file may have come at the same time, so its time tells nothing yet."""
    known: source.Folders = {}
    (tmp_path / "a.jsonl").touch()
    assert [*files_in(tmp_path, known)] == [tmp_path / "a.jsonl"]
    now = tmp_path.stat()
    (tmp_path / "b.jsonl").touch()
    os.utime(tmp_path, ns=(now.st_atime_ns, now.st_mtime_ns))
    assert [*files_in(tmp_path, known)] == [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]


def test_a_compressed_file_may_not_hold_any_amount(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small upload could fill the disk. A plain file is never refused for its size."""
    monkeypatch.setattr(imported_files, "MOST_UNPACKED", 100_000)
    text = b"".join(b'{"role": "user", "content": "%s"}\n' % (b"x" * 1000) for _ in range(200))
    packed, plain = home / "big.jsonl.gz", home / "big.jsonl"
    packed.write_bytes(gzip.compress(text))
    plain.write_bytes(text)
    assert packed.stat().st_size < 5000
    files = ImportedFiles(Places(home / "one").imported)
    with pytest.raises(BadInput, match=r"more than 100,000 bytes"):
        files.bring_in(packed)
    assert files.bring_in(plain).imported[0].messages == 200


def test_an_import_can_be_stopped_and_goes_on_later(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written until then stays; nothing is there twice."""
    monkeypatch.setattr("sightline.imports.importer._BATCH", 1000)
    file = claude_log(home / "6b0c.jsonl", *(f"Question {number} {'x' * 500}" for number in range(9)))
    files = ImportedFiles(Places(home / "one").imported)
    asked = iter(range(100))
    with pytest.raises(ImportStopped):
        files.bring_in(file, None, lambda _: None, lambda: next(asked) > 50)
    [done] = files.bring_in(file).imported
    assert (done.lines, 0 <= done.messages <= 18) == (19, True)
    assert files.place.stores.sessions() == [done.session]


def _remember(folder: Path, name: str, count: int, begin: Any) -> None:
    begin.wait()
    place = Place("imported", folder, Places(folder, root=folder).imported.stores)
    files = ImportedFiles(place)
    for number in range(count):
        files.remember(Offered(Path(f"/{name}/{number}"), 1, 1), (f"{name}-{number}",))


def test_processes_that_import_at_the_same_time_lose_no_note(tmp_path: Path) -> None:
    """Each remembers where its sessions came from, in one file."""
    context = multiprocessing.get_context("fork")
    with lasting():  # its memory is one for the whole process
        begin = context.Barrier(3)
    workers = [context.Process(target=_remember, args=(tmp_path, name, 40, begin)) for name in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    place = Place("imported", tmp_path, Places(tmp_path, root=tmp_path).imported.stores)
    assert len(ImportedFiles(place).origins()) == 120
