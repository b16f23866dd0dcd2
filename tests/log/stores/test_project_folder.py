"""A project's folder is its own: no other project has its name, and nothing is lost that lay under the former one."""

import os
import unicodedata
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sightline import Session
from sightline.log.stores.project_folder import LONGEST_NAME, folder_name
from sightline.log.stores.session_folder import SESSION_FACTS, Folder, escape_project_path

PART = st.one_of(
    st.sampled_from(["one", "two", "one-two", "one:two", "one\\two", "One", "one.", "one ", ".one", "é", "e\u0301",
                     "目录", "x" * 255, "\u202eone", "a\nb", "\udcff", "~", "-", "--", "ß", "ss"]),
    st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=80),
).filter(lambda part: part not in (".", ".."))  # fmt: skip
PATH = st.lists(PART, min_size=1, max_size=12).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.slow
@given(PATH, PATH)
@example("/w/one/two", "/w/one-two")
@example("/w/one/two", "/w/one:two")
@example("/w/One", "/w/one")
@example("/w/é", "/w/e\u0301")
@example("/" + "/".join(["long"] * 200), "/" + "-".join(["long"] * 200))
def test_two_projects_have_two_names(one: str, other: str) -> None:
    """Whatever their paths; also on a disk that ignores capitals or how accents are spelled."""
    names = [folder_name(one), folder_name(other)]
    alike = {unicodedata.normalize("NFC", name).casefold() for name in names}
    assert len(alike) == len({os.path.normpath(one), os.path.normpath(other)})
    for name in names:
        assert len(os.fsencode(name)) <= LONGEST_NAME
        assert name.isprintable()
        assert not set(name) & set('/\\:*?"<>|')
        assert name[-1].isalnum()


def test_a_name_can_be_read_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins with the path, and does not depend on how the path is written."""
    monkeypatch.chdir(tmp_path)
    assert folder_name("/home/me/work").startswith("-home-me-work-")
    assert folder_name(".") == folder_name(tmp_path) == folder_name(f"{tmp_path}/x/..") == folder_name(f"{tmp_path}/")


def test_projects_that_were_one_are_two(tmp_path: Path) -> None:
    """What one says is not in the other."""
    for project in ("/w/one/two", "/w/one-two", "/w/one:two"):
        with Session.new(project, root=tmp_path) as session:
            session.user(f"in {project}")
        [only] = Folder(project, tmp_path).sessions()
        assert only == session.id


def put(root: Path, project: str, name: str, *, cwd: str | None = None) -> Path:
    """A session of a project under the name of before, with its files."""
    folder = root / "projects" / escape_project_path(project)
    (folder / "runs" / name).mkdir(parents=True, exist_ok=True)
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code" / "a.py").write_text("1")
    (folder / "runs" / name / "out.txt").write_text("2")
    (folder / f"{name}.blobs").write_text("3")
    entry = {"uuid": f"of {name}", "parentUuid": None, "sessionId": name, "type": "system", "subtype": "settings"}
    line = msgspec.json.encode(entry | {"cwd": project if cwd is None else cwd, "seq": 1})
    (folder / f"{name}.jsonl").write_bytes(line + b"\n")
    return folder


def found(root: Path, project: str) -> list[str]:
    """The sessions of a project, each with everything that belongs to it."""
    folder = Folder(project, root)
    for name in folder.sessions():
        assert (folder.path / f"{name}.blobs").read_text() == "3"
        assert (folder.path / "runs" / name / "out.txt").read_text() == "2"
    if folder.sessions():
        assert (folder.path / "code" / "a.py").read_text() == "1"
    return sorted(folder.sessions())


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_sessions_under_the_former_name_are_copied(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With their files, the code and what programs wrote; the former folder stays as it is, and one line says so."""
    before = put(tmp_path, "/w/one-two", "a")
    put(tmp_path, "/w/one-two", "b")
    original = contents(before)
    assert found(tmp_path, "/w/one-two") == ["a", "b"]
    [line] = caplog.messages
    assert line.startswith(
        f"{before}: copied 2 sessions of an earlier version to {Folder('/w/one-two', tmp_path).path}"
    )
    assert contents(before) == original
    assert found(tmp_path, "/w/one-two") == ["a", "b"]
    assert len(caplog.messages) == 1


def test_a_deleted_copy_does_not_come_back(tmp_path: Path) -> None:
    """Also when an older version writes another session to the former folder."""
    put(tmp_path, "/w/one-two", "a")
    Folder("/w/one-two", tmp_path).delete("a")
    put(tmp_path, "/w/one-two", "later")
    assert found(tmp_path, "/w/one-two") == ["later"]


def test_a_log_without_entries_of_ours_is_another_programs(tmp_path: Path) -> None:
    """Though its folder has the former name and its lines name the project: nothing is copied, nothing changes."""
    before = tmp_path / "projects" / escape_project_path("/w/one-two")
    (before / "memory").mkdir(parents=True)
    (before / "memory" / "notes.md").write_text("remember")
    line = '{"uuid":"u","parentUuid":null,"sessionId":"s","type":"user","cwd":"/w/one-two","message":{"role":"user"}}'
    (before / "s.jsonl").write_text(line + "\n")
    original = contents(tmp_path)
    assert found(tmp_path, "/w/one-two") == []
    assert contents(tmp_path) == original


def test_what_could_not_be_copied_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With the reason; the next look tries again."""
    put(tmp_path, "/w/one-two", "a")
    own = tmp_path / "projects" / folder_name("/w/one-two")
    own.write_text("a file in its place")
    assert Folder("/w/one-two", tmp_path).path == own
    assert "were not copied" in caplog.text
    own.unlink()
    assert found(tmp_path, "/w/one-two") == ["a"]


def test_of_a_shared_folder_each_project_gets_its_own(tmp_path: Path) -> None:
    """By what the logs say; a session that names no project goes to who asks first."""
    for project, name in (("/w/one-two", "a"), ("/w/one/two", "b"), ("/w/one-two", "c")):
        put(tmp_path, project, name)
    put(tmp_path, "/w/one-two", "nobodys", cwd="")
    assert found(tmp_path, "/w/one-two") == ["a", "c", "nobodys"]
    assert found(tmp_path, "/w/one:two") == []
    assert found(tmp_path, "/w/one/two") == ["b"]
    put(tmp_path, "/w/one-two", "later")  # by an older version
    assert found(tmp_path, "/w/one-two") == ["a", "c", "later", "nobodys"]


def test_code_of_the_project_is_not_replaced(tmp_path: Path) -> None:
    """Where it has code of its own, that of the former folder is not mixed in."""
    own = tmp_path / "projects" / folder_name("/w/one-two")
    put(tmp_path, "/w/one-two", "a")
    (own / "code").mkdir(parents=True)
    (own / "code" / "mine.py").write_text("1")
    assert Folder("/w/one-two", tmp_path).sessions() == ["a"]
    assert [path.name for path in (own / "code").iterdir()] == ["mine.py"]


def test_the_own_folder_of_another_project_is_not_taken(tmp_path: Path) -> None:
    """Though a project's former name is just that name. What names the project is its own all the same."""
    own = Folder("/w/one", tmp_path).path
    inner = "/w/one/" + own.name.rpartition("-")[2]
    assert escape_project_path(inner) == own.name
    put(tmp_path, inner, "unnamed", cwd="")
    assert found(tmp_path, inner) == []
    put(tmp_path, inner, "ours")
    assert found(tmp_path, inner) == ["ours"]
    assert found(tmp_path, "/w/one") == ["ours", "unnamed"]  # its folder stays as it is


def test_looking_for_them_happens_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as nothing has changed there, no log of another project is opened again."""
    put(tmp_path, "/w/one-two", "a")
    put(tmp_path, "/w/one/two", "b")
    assert found(tmp_path, "/w/one-two") == ["a"]
    monkeypatch.setattr("sightline.log.stores.project_folder._is_of", None)
    assert found(tmp_path, "/w/one-two") == ["a"]


def test_a_crash_between_the_files_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After every step of copying, the next look finds everything."""
    whole = Path.replace
    for steps in range(6):
        root, left = tmp_path / str(steps), [steps]
        put(root, "/w/one-two", "a")
        put(root, "/w/one/two", "b")

        def replace(path: Path, target: Path, left: list[int] = left) -> Path:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return whole(path, target)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", replace)
            with suppress(KeyboardInterrupt):
                Folder("/w/one-two", root)
        assert found(root, "/w/one-two") == ["a"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A session of the same id in both places stays in both."""
    put(tmp_path, "/w/one-two", "a")
    own = Folder("/w/one-two", tmp_path).path
    before = put(tmp_path, "/w/one-two", "a")
    (before / "a.jsonl").write_text('{"cwd": "/w/one-two", "uuid": "another"}\n')
    assert Folder("/w/one-two", tmp_path).path == own
    assert "another" in (before / "a.jsonl").read_text()
    assert "another" not in (own / "a.jsonl").read_text()


def test_the_documents_folder_keeps_its_name(tmp_path: Path) -> None:
    """Its store finds its sessions there, and so does a session of ours in the same place."""
    before = put(tmp_path, "/w/one-two", "theirs")
    (before / f"theirs{SESSION_FACTS}").write_text("{}")
    assert Folder("/w/one-two", tmp_path).path == Folder("/w/one-two", tmp_path, shared=True).path == before
    assert found(tmp_path, "/w/one-two") == ["theirs"]


def test_the_documents_store_hides_no_session_of_ours(tmp_path: Path) -> None:
    """Where both use one place, ours came first, and an older version wrote there too."""
    put(tmp_path, "/w/one-two", "ours")
    assert found(tmp_path, "/w/one-two") == ["ours"]
    before = put(tmp_path, "/w/one-two", "theirs")
    (before / f"theirs{SESSION_FACTS}").write_text("{}")
    put(tmp_path, "/w/one-two", "older")
    assert found(tmp_path, "/w/one-two") == ["older", "ours"]
    assert "theirs" in Folder("/w/one-two", tmp_path, shared=True).sessions()
