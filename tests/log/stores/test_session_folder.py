"""Where sessions lie, what their ids may be, and how they are listed and deleted."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import BadSessionId, SessionNotFound
from sightline.log.stores import check_session_id
from sightline.log.stores.session_folder import Folder, escape_project_path, sightline_home


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A project's folder with nothing in it."""
    return Folder("/some/project", tmp_path)


def touch(folder: Folder, name: str, when: int) -> Path:
    """A session that was last written to at this time."""
    path = folder.file(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"{}\n")
    os.utime(path, (when, when))
    return path


def test_a_projects_path_becomes_one_folder_name() -> None:
    """Every separator becomes a dash."""
    assert escape_project_path("/home/me/work:2") == "-home-me-work-2"


def test_a_folder_name_is_never_too_long_for_a_disk() -> None:
    """A deep project's name is shortened, stays its own, and is the same every time."""
    deep = "/" + "/".join(["directory"] * 60)
    name = escape_project_path(deep)
    assert len(os.fsencode(name)) <= 255
    assert name == escape_project_path(deep) != escape_project_path(deep + "2")
    assert len(os.fsencode(escape_project_path("/" + "目录" * 100))) <= 255


def test_the_environment_says_where_home_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """`SIGHTLINE_HOME` wins over the user's home; empty means not set."""
    monkeypatch.setenv("SIGHTLINE_HOME", "/elsewhere")
    assert sightline_home() == Path("/elsewhere")
    monkeypatch.setenv("SIGHTLINE_HOME", "")
    assert sightline_home() == Path.home() / ".sightline"


def test_projects_have_folders_of_their_own(tmp_path: Path) -> None:
    """A session of one project is not listed in another."""
    one, other = Folder("/a/one", tmp_path), Folder("/a/other", tmp_path)
    touch(one, "mine", 1)
    assert (one.sessions(), other.sessions()) == (["mine"], [])


@pytest.mark.parametrize("good", ["a", "A-b_c.9", "x" * 128, "-dash", "_", "2026-01-01T00.00"])
def test_plain_names_are_ids(good: str) -> None:
    """Letters, digits, dash, underscore and dot."""
    assert check_session_id(good) == good


@pytest.mark.parametrize(
    "bad",
    ["", ".", "..", ".hidden", "a/b", "a\\b", "../x", "a..b", "x" * 129, "ä", "名", "a b", "a\n", "a\0b", None, 7],
)
def test_everything_else_is_refused(bad: str) -> None:
    """What could leave the folder, hide, or be no file name somewhere is no id."""
    with pytest.raises(BadSessionId):
        check_session_id(bad)


@given(st.text(max_size=140))
def test_an_id_that_is_accepted_is_a_file_in_the_folder(name: str) -> None:
    """Whatever the id, the file it names lies directly in the project's folder."""
    folder = Folder("/p", "/root")
    try:
        path = folder.file(name)
    except BadSessionId:
        return
    assert path.parent == folder.path
    assert os.path.normpath(path) == str(path)
    assert len(os.fsencode(path.name)) <= 255


def test_the_last_written_session_is_listed_first(folder: Folder) -> None:
    """By the time of the last write, whatever the names."""
    for name, when in (("b", 2), ("c", 3), ("a", 1)):
        touch(folder, name, when)
    assert folder.sessions() == ["c", "b", "a"]


def test_what_is_no_file_is_not_listed(folder: Folder) -> None:
    """Directories, links to nothing, other suffixes, empty logs and names that are no ids are no sessions."""
    path = touch(folder, "real", 1)
    path.with_name("directory.jsonl").mkdir()
    path.with_name("dangling.jsonl").symlink_to("nowhere")
    path.with_name("real.idx").write_bytes(b"")
    path.with_name("empty.jsonl").write_bytes(b"")
    path.with_name("real (copy).jsonl").write_bytes(path.read_bytes())
    assert folder.sessions() == ["real"]
    assert sorted(folder.sessions(empty=True)) == ["empty", "real"]


def test_a_folder_that_is_not_there_has_no_sessions(folder: Folder) -> None:
    """Looking makes nothing."""
    assert folder.sessions() == []
    assert not folder.path.exists()


def test_an_unknown_session_is_named_with_where_it_was_looked_for(folder: Folder) -> None:
    """The error says which folder, and how to list what is there."""
    with pytest.raises(SessionNotFound, match="sightline --project /some/project sessions") as caught:
        folder.existing("ghost")
    assert str(folder.path) in str(caught.value)


def test_deleting_removes_everything_of_a_session_and_nothing_else(folder: Folder) -> None:
    """The log and all its side files go; those of other sessions, also of one whose name begins alike, stay."""
    path = touch(folder, "gone", 1)
    suffixes = (".idx", ".search", ".search-wal", ".search-shm", ".blobs", ".torn")
    for suffix in suffixes:
        path.with_suffix(suffix).write_bytes(b"x")
    stay = [touch(folder, "gone.too", 2), touch(folder, "stay", 3)]
    stay.append(path.with_name("gone.too.idx"))
    stay[-1].write_bytes(b"x")
    folder.delete("gone")
    assert sorted(folder.path.iterdir()) == sorted(stay)
    with pytest.raises(SessionNotFound):
        folder.delete("gone")


def test_a_folder_of_another_program_gets_no_list(tmp_path: Path) -> None:
    """However many sessions it has: in one of ours, listing it notes their order."""
    line = '{"uuid":"u","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","content":"hi"}%s}\n'
    for name, ours in (("theirs", ""), ("ours", ',"seq":1')):
        (folder := tmp_path / name).mkdir()
        for number in range(201):
            (folder / f"s{number}.jsonl").write_text(line % ours)
        assert len(Folder.at(folder).sessions()) == 201
        assert (folder / ".recent").exists() == bool(ours)
