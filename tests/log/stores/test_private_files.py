"""Conversations are nobody else's business: every file and directory is its owner's only."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.log.stores.session_folder import SIDE_FILES
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import WordCounter


class Shown:
    """A window that shows something."""

    def render(self) -> str:
        """See `Window`."""
        return "a secret on the screen"


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """A umask that would let others read, and write."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """The mode of everything in a folder, by its path in there."""
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


def test_every_file_of_a_session_is_its_owners_only(tmp_path: Path, umask: None) -> None:
    """The log, its index, the search index, open and closed, rendered windows and what was cut off: 0600, in 0700."""
    root = tmp_path / "home" / "sightline"
    options = {"root": root, "token_counter": WordCounter(), "windows": {"w": Shown()}}
    session = Session.new(tmp_path, session_id="s", **options)
    session.user("a secret")
    session.windows.show("w")
    session.compose(Budget(window=1000))
    session.items.search("secret")
    while_open = modes(tmp_path)
    session.close()
    (log,) = root.rglob("*.jsonl")
    log.write_bytes(log.read_bytes() + b'{"half')
    again = Session.resume("s", tmp_path, **options)
    again.items.search("secret")
    again.close()

    found = while_open | modes(tmp_path)
    suffixes = {Path(name).suffix for name in found}
    assert suffixes >= {".jsonl", ".idx", ".search", ".blobs", ".torn"}
    assert suffixes <= {"", ".jsonl", *SIDE_FILES}
    assert {mode for name, mode in found.items() if Path(name).suffix} == {0o600}
    assert {mode for name, mode in found.items() if not Path(name).suffix} == {0o700}
