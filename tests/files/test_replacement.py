"""A whole file written at once: links, modes, and what happens if another program was quicker."""

from pathlib import Path

import pytest

from sightline.errors import BadInput
from sightline.files.replacement import replace_file


def test_a_link_stays_a_link_and_the_mode_stays(tmp_path: Path) -> None:
    """The file that it leads to has the new text."""
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in (tmp_path / "there").iterdir()] == ["real"]


def test_a_new_file_has_the_mode_that_is_asked_for_or_the_usual_one(tmp_path: Path) -> None:
    """The usual one is what the umask leaves."""
    replace_file(tmp_path / "secret", b"", mode=0o600)
    (tmp_path / "usual").touch()
    replace_file(tmp_path / "plain", b"")
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("secret", "plain", "usual")]
    assert modes[0] == 0o600
    assert modes[1] == modes[2]


def test_what_another_program_wrote_meanwhile_stays(tmp_path: Path) -> None:
    """Nothing is written, and nothing is left behind."""
    file = tmp_path / "file"
    file.write_bytes(b"theirs")
    with pytest.raises(BadInput, match="try again"):
        replace_file(file, b"ours", expected=b"what we had read")
    assert file.read_bytes() == b"theirs"
    assert [*tmp_path.iterdir()] == [file]
    replace_file(file, b"ours", expected=b"theirs")
    assert file.read_bytes() == b"ours"
