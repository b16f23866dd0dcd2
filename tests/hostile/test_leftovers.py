"""What killed processes and hostile programs leave on the disk: it has a limit, and goes with its session."""

import os
import signal
from pathlib import Path

import pytest
from tests.conftest import SOAK, Tried

from sightline.agent.tools.sandbox import workdir
from sightline.agent.tools.sandbox.workdir import collect_files
from sightline.files.private_files import replace_whole
from sightline.log.stores.session_folder import Folder
from sightline.plan.view import Budget
from sightline.session.session import Session

KILLS = 50 if SOAK else 5


def killed_while_writing(path: Path) -> None:
    """A process that is killed when the new file is complete and not yet in place."""
    child = os.fork()
    if not child:
        try:
            Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign,assignment]
            replace_whole(path, b"half")
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # this process has threads, and forks
def test_killed_writers_leave_one_file_which_the_next_replaces(tmp_path: Path, tried: Tried) -> None:
    """However many were killed; whoever reads has the old content until then."""
    path = tmp_path / "s.idx"
    replace_whole(path, b"old")
    for _ in range(KILLS):
        killed_while_writing(path)
        assert path.read_bytes() == b"old"
        assert len(list(tmp_path.iterdir())) == 2
    replace_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]
    tried("kills of a side file's writer", KILLS)


def test_of_two_writers_at_once_one_waits_for_nobody(tmp_path: Path) -> None:
    """The second leaves the file to the first: its content can be made again."""
    import fcntl

    path = tmp_path / "s.idx"
    with (tmp_path / "s.idx-new").open("wb") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        replace_whole(path, b"second")
        assert not path.exists()
    replace_whole(path, b"second")
    assert path.read_bytes() == b"second"


def test_a_deleted_session_leaves_nothing(tmp_path: Path) -> None:
    """Its log, side files, leftovers and its programs' files go; those of sessions with similar names stay."""
    folder = Folder(tmp_path / "project", tmp_path / "root")
    for name in ("s", "s2", "s.idx7"):
        session = Session.new(tmp_path / "project", root=tmp_path / "root", session_id=name)
        session.user("hello " * 500)
        session.compose(Budget(8_000, output=1_000))
        session.items.recall("hello")
        session.close()
        (folder.runs(name) / "run_0001").mkdir(parents=True)
        (folder.runs(name) / "run_0001" / "made").write_text("x")
    (folder.runs("s") / "run_0001" / "away").symlink_to(tmp_path / "project")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "mine").write_text("x")
    before = {path for path in folder.path.rglob("*") if path.is_file()}
    for left in (".idx-new", ".search-new", ".idx4711", ".search4711", ".torn"):
        (folder.path / f"s{left}").write_bytes(b"left")
    folder.delete("s")
    after = {path for path in folder.path.rglob("*") if path.is_file()}
    assert after == {path for path in before if not path.name.startswith("s.") and path.parent.parent.name != "s"} | {
        path for path in before if path.name.startswith("s.idx7")
    }
    assert not folder.runs("s").exists()
    assert (tmp_path / "project" / "mine").exists()


@pytest.mark.parametrize("limit", [50_000, 1_000_000])
def test_the_files_of_all_programs_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """What is beyond it is named and not kept, and so are many small files; with more room all of it is kept."""
    monkeypatch.setattr(workdir, "MOST_KEPT", limit)
    work, keep = tmp_path / "work", tmp_path / "keep"
    work.mkdir()
    for number in range(5):
        (work / f"large{number}").write_bytes(bytes(7000))
        (work / f"small{number}").write_bytes(b"")
    left = [collect_files(work, {}, keep, 1 << 30) for _ in range(4)]
    kept = sum(file.kept for each in left for file in each.files)
    assert [len(each.files) for each in left] == [10] * 4
    used = sum(max(path.stat().st_size, 4096) for path in keep.rglob("*"))
    if limit == 50_000:
        assert used <= limit + 4096 * len(left)  # a program's folder is counted when it is there
        assert 5 < kept < 15
        assert [bool(each.full) for each in left] == [True] * 4
    else:
        assert kept == 40
        assert not any(each.full for each in left)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # this process has threads, and forks
def test_the_folder_of_a_killed_run_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is in use stays, and so does what only has its name."""
    monkeypatch.setattr(workdir.tempfile, "tempdir", str(tmp_path))
    child = os.fork()
    if not child:
        place = workdir.Place()
        place.use(lambda folder: (folder / "large").write_bytes(bytes(1000)))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    [abandoned] = tmp_path.iterdir()
    (tmp_path / "sightline-run-other").mkdir()
    (tmp_path / "sightline-run-link").symlink_to(tmp_path)
    first, second = workdir.Place(), workdir.Place()
    in_use = first.use(lambda folder: folder)
    assert not abandoned.exists()
    second.use(lambda folder: folder)
    assert in_use.exists()
    first.remove()
    second.remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sightline-run-link", "sightline-run-other"]
