"""The code store when things go wrong: an index that is lost, others at the same time, a disk that refuses."""

import os
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from code_writer import opened
from stored_code import Ticking, child, contents, said

from sightline.documents.code.index import CodeIndex
from sightline.documents.code.store import CodeStore, Saved
from sightline.errors import StoreError, Unwritable

pytestmark = pytest.mark.usefixtures("memory_is_enough")


# ---------------------------------------------------------------------- an index that is lost


@pytest.fixture
def full(store: CodeStore) -> CodeStore:
    """A store with three codes, of several versions and sessions."""
    for number, code_id in enumerate(["code_b_part", "code_a_part", "code_b_part", "code_c_part", "code_b_part"]):
        language = "sql" if number == 2 else "python"
        store.store(code_id, f"text {number}", description=f"d{number}", session_id=f"s{number % 2}", language=language)
    return store


def spoil(db: Path, how: str) -> None:
    """Make an index unusable."""
    match how:
        case "missing":
            db.unlink()
        case "no database":
            db.write_bytes(b"this was never a database\n" * 500)
        case "empty":
            db.write_bytes(b"")
        case "torn":
            db.write_bytes(db.read_bytes()[:5000])
        case "overwritten":
            db.write_bytes(db.read_bytes()[:4096] + os.urandom(len(db.read_bytes()) - 4096))
        case "another schema":
            db.unlink()
            other = sqlite3.connect(db)
            other.executescript("CREATE TABLE file_index (file_id TEXT PRIMARY KEY); PRAGMA user_version = 1;")
            other.close()
        case "a link":
            db.rename(db.with_name("real.db"))
            db.symlink_to(db.with_name("real.db"))


SPOILT = ["missing", "no database", "empty", "torn", "overwritten", "another schema", "a link"]


@pytest.mark.parametrize("how", SPOILT)
def test_a_lost_index_is_made_again_from_the_files(full: CodeStore, caplog: pytest.LogCaptureFixture, how: str) -> None:
    """Descriptions, sessions, times, versions and order are all back, the bad file is set aside, and it is said."""
    before = contents(full)
    spoil(full.folder / "code_index.db", how)
    again = CodeStore(full.folder, clock=Ticking())
    assert contents(again) == before
    assert again.rebuilt is not None
    assert (again.rebuilt.codes, again.rebuilt.versions, again.rebuilt.adopted) == (3, 5, ())
    assert bool(again.rebuilt.set_aside) == (how not in ("missing", "empty"))
    assert again.rebuilt.set_aside == "" or (full.folder / again.rebuilt.set_aside).exists()
    assert "made again from the files" in caplog.text
    assert contents(full) == before  # one that was open all the time


@pytest.mark.parametrize("how", SPOILT)
def test_an_index_that_is_lost_while_a_store_is_open_does_not_stop_it(full: CodeStore, how: str) -> None:
    """Storing goes on with the right version number, and nothing is missing afterwards."""
    before = contents(full)
    spoil(full.folder / "code_index.db", how)
    assert full.store("code_b_part", "more", session_id="s0").version == 4
    assert [code for each in full.versions("code_b_part")[:3] for code in [each.description]] == ["d0", "d2", "d4"]
    assert len(contents(full)) == len(before) + 1


def test_a_second_bad_index_does_not_overwrite_the_first(full: CodeStore) -> None:
    """What is set aside has a name of its own each time."""
    for _ in range(3):
        (full.folder / "code_index.db").write_bytes(b"x" * 5000)
        full.list()
    assert len(list(full.folder.glob("code_index.db.damaged*"))) == 3


def test_a_rebuild_says_what_it_found(full: CodeStore) -> None:
    """Files that came, changed or went without the store are named, and the index agrees with them afterwards."""
    data = full.folder / "data"
    (data / "code_by_hand.js").write_text("function f() {}\n")
    (data / "code_a_part.py").write_text("edited\nby hand\n")
    (data / "code_c_part.py").unlink()
    (data / "notes.txt").write_text("not ours")
    (data / "code_d_part.exe").write_text("not ours")
    rebuilt = full.rebuild()
    assert (rebuilt.codes, rebuilt.versions, rebuilt.set_aside) == (3, 5, "")
    assert rebuilt.adopted == ("data/code_by_hand.js",)
    assert rebuilt.changed == ("data/code_a_part.py",)
    assert rebuilt.missing == ("data/code_c_part.meta.json",)
    adopted = full.find("code_by_hand")
    assert (adopted.language, adopted.description, adopted.version) == ("javascript", "function f() {}", 1)
    assert full.find("code_a_part").line_count == 2
    assert full.rebuild().adopted == ()


def test_a_file_that_is_gone_is_said_to_be(full: CodeStore) -> None:
    """Reading it is an error that says what to do; storing it again goes on with the next version."""
    (full.folder / "data" / "code_c_part.py").unlink()
    with pytest.raises(StoreError, match=r"data/code_c_part.py is gone.*store code_c_part again"):
        full.read("code_c_part")
    assert full.store("code_c_part", "new").version == 2
    assert full.read("code_c_part") == "new"


def test_a_file_that_is_no_text_any_more_is_said_to_be(full: CodeStore) -> None:
    """Bytes that somebody put there and that are no UTF-8 are not guessed at."""
    (full.folder / "data" / "code_c_part.py").write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match="no UTF-8 text"):
        full.read("code_c_part")


def test_a_version_that_is_the_last_of_its_files_is_not_lost(full: CodeStore) -> None:
    """Where the newest file and its facts are gone, a rebuild goes on from the version before, and keeps it."""
    for name in ("code_b_part.py", "code_b_part.meta.json"):
        (full.folder / "data" / name).unlink()
    full.rebuild()
    assert full.find("code_b_part").version == 2
    assert full.store("code_b_part", "new").version == 3
    assert [full.read("code_b_part", version) for version in (1, 2, 3)] == ["text 0", "text 2", "new"]


# ---------------------------------------------------------------------- others at the same time


@pytest.mark.slow
def test_processes_that_store_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each finds all of its codes, and the one they share has a version for each time it was stored."""
    writers = [child("share", tmp_path / "code", f"w{number}", 6) for number in range(3)]
    assert [said(writer) for writer in writers] == ["done"] * 3
    store = opened(tmp_path / "code")
    assert len(store.list()) == 19
    for number in range(3):
        assert len(store.list(f"w{number}")) == 7
        assert store.read(f"code_of_w{number}_5") == f"w{number} = 5\n"
    versions = store.versions("code_common_part")
    assert [each.version for each in versions] == list(range(1, 19))
    texts = sorted(store.read("code_common_part", each.version) for each in versions)
    assert texts == sorted(f"w{number} = {index}\n" for number in range(3) for index in range(6))


def test_threads_that_store_and_read_at_once_see_whole_codes(store: CodeStore) -> None:
    """A reader never meets a torn file, a missing one, or a version with the text of another."""
    store.store("code_common_part", "text 1")
    wrong: list[object] = []

    def write(language: str) -> None:
        for _ in range(6):
            with lock:
                number = store.find("code_common_part").version + 1
                store.store("code_common_part", f"text {number}", language=language)

    def read() -> None:
        for _ in range(40):
            newest = store.find("code_common_part").version
            text = store.read("code_common_part", newest)
            if text != f"text {newest}" or not store.read("code_common_part").startswith("text "):
                wrong.append((newest, text))

    lock = threading.Lock()
    threads = [threading.Thread(target=write, args=(language,)) for language in ("python", "sql")]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [each.version for each in store.versions("code_common_part")] == list(range(1, 14))


# ---------------------------------------------------------------------- a disk that refuses


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that an ordinary user may look into."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_can_be_read(public: Path) -> None:
    """Everything that writes says that it cannot; everything else works, and nothing is changed."""
    opened(public / "code").store("code_kept_report", "kept")
    for path in [public / "code", *(public / "code").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    answer = said(child("readonly", public / "code"))
    for path in [public / "code", *(public / "code").rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert isinstance(answer, list)
    assert answer[0] == "kept"
    assert [error.partition(":")[0] for error in answer[1]] == ["Unwritable"] * 3
    assert opened(public / "code").rebuild().versions == 1


def test_a_file_in_the_place_of_the_folder_is_an_error_that_says_so(tmp_path: Path) -> None:
    """What is no directory cannot hold code."""
    (tmp_path / "code").write_text("a file")
    with pytest.raises(Unwritable, match="cannot write"):
        opened(tmp_path / "code").store("code_first_one", "x")


@pytest.mark.parametrize("at", range(1, 14))  # it opens twelve files
def test_a_disk_that_fills_up_changes_nothing(full: CodeStore, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Whichever write the disk refuses, the error says so and everything is as before; or it was stored already."""
    before = contents(full)
    real, count = os.open, 0

    def refusing(*arguments: object, **named: object) -> int:
        nonlocal count
        count += 1
        if count == at:
            raise OSError(28, "No space left on device")
        return real(*arguments, **named)  # type: ignore[arg-type]

    refusals: list[str] = []
    monkeypatch.setattr(os, "open", refusing)
    try:
        full.store("code_b_part", "new", language="html")
    except Unwritable as error:
        refusals.append(str(error))
    monkeypatch.setattr(os, "open", real)
    assert all("No space left" in refusal for refusal in refusals)
    if refusals:
        assert contents(full) == before
    else:
        assert full.read("code_b_part") == "new"
        assert len(contents(full)) == len(before) + 1
    assert not (full.folder / "data" / "pending.json").exists()


class Refusing(CodeIndex):
    """An index for which there is no room."""

    def put(self, *versions: Saved) -> None:
        """See `CodeIndex`."""
        raise Unwritable("code_index.db", "database or disk is full")


@pytest.mark.parametrize("language", ["python", "html"])
@pytest.mark.parametrize("code_id", ["code_b_part", "code_new_part"])
def test_an_index_that_cannot_be_written_undoes_the_file(full: CodeStore, code_id: str, language: str) -> None:
    """Code that is not in the index is in no file either: the version before is what it was."""
    before, files = contents(full), {path: path.read_bytes() for path in full.folder.rglob("code_*.*")}
    refusing = CodeStore(full.folder, clock=Ticking(), index=Refusing(full.folder / "code_index.db"))
    with pytest.raises(Unwritable, match="disk is full"):
        refusing.store(code_id, "new", language=language)
    assert {path: path.read_bytes() for path in full.folder.rglob("code_*.*")} == files
    assert contents(full) == before


@pytest.mark.parametrize("at", range(1, 8))
def test_a_store_that_is_interrupted_has_happened_or_not(
    full: CodeStore, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Ctrl-C between any two files leaves the store whole."""
    before = contents(full)
    real, count = os.replace, 0

    def interrupted(*arguments: object, **named: object) -> None:
        nonlocal count
        count += 1
        if count == at:
            raise KeyboardInterrupt
        real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", interrupted)
    try:
        full.store("code_b_part", "new", language="html", session_id="s1")
    except KeyboardInterrupt:
        monkeypatch.setattr(os, "replace", real)
    after = contents(full)
    assert after == before or (len(after) == len(before) + 1 and full.read("code_b_part") == "new")
    assert not (full.folder / "data" / "pending.json").exists()


def test_every_file_is_its_owners_only(store: CodeStore) -> None:
    """Code is nobody else's business, whatever the umask is."""
    before = os.umask(0)
    try:
        store.store("code_first_one", "x")
        store.store("code_first_one", "y")
    finally:
        os.umask(before)
    for path in [store.folder, *store.folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
