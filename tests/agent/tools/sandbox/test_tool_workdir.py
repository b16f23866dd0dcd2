"""What programs leave behind: kept as they wrote it, and nothing else, whatever they did to their folder."""

import asyncio
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tool_project import SECRET, Project, called

from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.in_thread import GivenUp
from sightline.agent.tools.program import run_python
from sightline.agent.tools.sandbox import run
from sightline.agent.tools.sandbox.run import Limits
from sightline.agent.tools.sandbox.workdir import File, Left, Place, collect_files

ROOM = 1 << 20


def kept(folder: Path) -> dict[str, str]:
    """What is in a folder and below, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() or path.is_symlink()
    }


def test_a_name_that_cannot_be_shown_does_not_lead_elsewhere(here: Project) -> None:
    """A link that is called as another folder is shown is not followed: what is kept is what the program wrote."""
    code = (
        "import os\n"
        "os.mkdir('d\\x01'); open('d\\x01/secret.txt', 'w').write('mine')\n"
        f"os.symlink({str(here.outside)!r}, 'd\\ufffd')\n"
    )
    keep = here.root / "runs"
    answer = called(run_python(here.folders, keep=keep), code=code)
    assert "d\ufffd/secret.txt (4B)" in answer
    assert kept(keep) == {"run_0001/d\x01/secret.txt": "mine"}


def test_a_program_finds_its_files_by_the_paths_that_were_said(here: Project) -> None:
    """From the project on, from the first folder, or through a link."""
    (here.root / "data" / "again.csv").symlink_to("sales.csv")
    tool = run_python(Folders([here.root / "data"], project=here.root))
    paths = ["data/sales.csv", "./sales.csv", "again.csv"]
    code = f"for path in {paths}: print(open(path).readline().strip())"
    assert called(tool, code=code, files=paths).splitlines()[1:] == ["date,product,note"] * 3


def test_links_lead_nowhere_and_second_names_are_not_kept(here: Project, tmp_path: Path) -> None:
    """Not to a file, not to a folder, not in the place of the folder itself; nor hard links, nor pipes."""
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "sub" / "own.txt").write_text("own")
    (work / "file").symlink_to(here.outside / "secret.txt")
    (work / "folder").symlink_to(here.outside)
    os.link(here.outside / "secret.txt", work / "hard")
    os.mkfifo(work / "pipe")
    left = collect_files(work, {}, tmp_path / "keep", ROOM)
    assert left == Left((File("sub/own.txt", 3, True),), str(tmp_path / "keep" / "run_0001"))
    assert kept(tmp_path / "keep") == {"run_0001/sub/own.txt": "own"}
    exchanged = tmp_path / "exchanged"
    exchanged.symlink_to(here.outside)
    assert collect_files(exchanged, {}, tmp_path / "keep", ROOM) == Left()


def test_names_of_any_bytes_are_kept(tmp_path: Path) -> None:
    """A name that is no text is one to the disk."""
    work = tmp_path / "work"
    work.mkdir()
    Path(os.fsdecode(os.fsencode(work) + b"/a\xff\n")).write_text("own")
    left = collect_files(work, {}, tmp_path / "keep", ROOM)
    assert left.files == (File("a?\ufffd", 3, True),)
    assert [os.fsencode(each.name) for each in Path(left.where).iterdir()] == [b"a\xff\n"]


def test_what_is_too_large_is_named_and_not_kept(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that takes no room until it is copied is said to be lost."""
    monkeypatch.setattr(run, "WATCHED", 60.0)  # the program ends before its files are measured
    keep = here.root / "runs"
    tool = run_python(here.folders, keep=keep, limits=Limits(seconds=60, disk=ROOM))
    code = "open('large', 'wb').truncate(5 << 20)\nopen('small', 'w').write('x')"
    assert called(tool, code=code) == (
        f"[exit status 0]\n[files written, kept in {keep / 'run_0001'}: small (1B)]\n"
        "[files written, not kept: large (5.0MB)]"
    )
    assert kept(keep) == {"run_0001/small": "x"}


def test_what_lies_too_deep_is_left(tmp_path: Path) -> None:
    """Folders within folders without end cost nothing."""
    work = inside = tmp_path / "work"
    for _ in range(60):
        inside = inside / "d"
    inside.mkdir(parents=True)
    (inside / "deep").write_text("x")
    assert collect_files(work, {}, tmp_path / "keep", ROOM) == Left()


@pytest.mark.slow
def test_runs_side_by_side_keep_theirs_apart(here: Project) -> None:
    """Each has a folder of its own."""
    keep = here.root / "runs"
    tool = run_python(here.folders, keep=keep)

    async def both() -> None:
        await asyncio.gather(*(tool.run({"code": f"open('x', 'w').write('{n}')"}) for n in range(3)))

    asyncio.run(both())
    assert sorted(kept(keep).values()) == ["0", "1", "2"]


def test_a_removed_place_is_not_made_again(tmp_path: Path) -> None:
    """Work that was given up finds that it is."""
    place = Place()
    folder = place.use(lambda path: path)
    assert folder.is_dir()
    place.remove()
    assert not folder.exists()
    with pytest.raises(GivenUp):
        place.use(lambda path: path)


_WATCHING: list[tuple[str, str]] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    touching = ("open", "os.mkdir", "os.listdir", "os.scandir", "os.remove", "os.rmdir", "shutil.rmtree", "os.fwalk")
    if _WATCHING is not None and event in touching and threading.current_thread() is threading.main_thread():
        _WATCHING.append((event, str(arguments[0])))


def test_the_event_loop_does_no_work_on_disk(here: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are given, looked through, kept and removed in other threads than the one that everybody waits for."""
    sys.addaudithook(_watch)  # it cannot be taken away again, only told to do nothing
    tool = run_python(here.folders, here.codes, keep=here.root / "runs")
    seen: list[tuple[str, str]] = []

    async def run() -> str:
        monkeypatch.setitem(globals(), "_WATCHING", seen)
        answer = await tool.run({"code": "open('x', 'w')", "files": ["notes.txt"]})
        monkeypatch.setitem(globals(), "_WATCHING", None)
        return str(answer)

    assert "x (0B)" in asyncio.run(run())
    places = ("sightline-run-", str(here.root))
    assert [each for each in seen if any(place in each[1] for place in places)] == []


def test_nothing_of_the_secret_is_kept_by_any_of_this(here: Project) -> None:
    """Links of links, made while files are written beside them."""
    code = (
        "import os\n"
        f"os.symlink({str(here.outside)!r}, 'a'); os.symlink('a', 'b'); os.symlink('b/secret.txt', 'c')\n"
        "os.mkdir('e'); os.symlink('../a', 'e/f'); open('g', 'w').write('own')\n"
    )
    keep = here.root / "runs"
    called(run_python(here.folders, keep=keep), code=code)
    assert SECRET not in str(kept(keep))
    assert kept(keep) == {"run_0001/g": "own"}
