"""The real disk, as far as logs use it."""

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from sightline.log.stores.disk import OsDisk


def test_a_file_is_what_was_appended(tmp_path: Path) -> None:
    """Sizes, reads and cuts are those of the bytes."""
    file = OsDisk().open(tmp_path / "log")
    file.append(b"hello ")
    file.append(b"world")
    assert (file.size(), file.read(6, 5), file.read(6, 500), file.read(100, 5)) == (11, b"world", b"world", b"")
    file.truncate(5)
    file.append(b"!")
    file.sync()
    file.close()
    assert (tmp_path / "log").read_bytes() == b"hello!"


def test_two_openings_append_to_the_same_end(tmp_path: Path) -> None:
    """Each write goes to the end as it is then, not as it was when the file was opened."""
    one, other = OsDisk().open(tmp_path / "log"), OsDisk().open(tmp_path / "log")
    one.append(b"a")
    other.append(b"b")
    one.append(b"c")
    assert other.read(0, 9) == b"abc"


def test_new_files_and_directories_are_their_owners_only(tmp_path: Path) -> None:
    """0600 and 0700, every missing directory above included, whatever the umask; what was there stays as it is."""
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    there.chmod(0o755)
    before = os.umask(0)
    try:
        OsDisk().open(there / "a" / "b" / "log").close()
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (there, there / "a", there / "a/b", there / "a/b/log")]
    assert modes == [0o755, 0o700, 0o700, 0o600]


def test_the_name_of_a_new_file_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every directory that got a new name is synced: a file whose directory a power cut takes is lost as well."""
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(str(Path(f"/proc/self/fd/{fd}").readlink())))
    OsDisk().open(tmp_path / "a" / "b" / "log").close()
    assert synced == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")]
    OsDisk().open(tmp_path / "a" / "b" / "log").close()
    assert len(synced) == 3


def test_a_lock_keeps_every_other_opening_out(tmp_path: Path) -> None:
    """Held against other openings in the same process as in others, and let go of also after an error."""
    one = OsDisk().open(tmp_path / "log")
    with (tmp_path / "log").open("rb") as other:
        with one.locked(), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with suppress(RuntimeError), one.locked():
            raise RuntimeError
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    """It is refused when it is opened, not when it is read."""
    with pytest.raises(IsADirectoryError):
        OsDisk().open(tmp_path)


def test_a_deleted_file_takes_nothing(tmp_path: Path) -> None:
    """Writing to a file without a name would lose what is written."""
    file = OsDisk().open(tmp_path / "log")
    file.append(b"kept")
    (tmp_path / "log").unlink()
    for change in (lambda: file.append(b"x"), lambda: file.truncate(0)):
        with pytest.raises(FileNotFoundError, match="deleted"):
            change()
    assert file.read(0, 10) == b"kept"


def test_closing_twice_is_no_mistake(tmp_path: Path) -> None:
    """The second time there is nothing to let go of."""
    file = OsDisk().open(tmp_path / "log")
    file.close()
    file.close()
