"""A project with one kept session, and the command line to look at it with."""

import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sightline import Budget, Session, samples
from sightline.cli.main import app
from sightline.log.stores.session_folder import Folder
from sightline.testing import Ticking, numbered_ids
from sightline.view.replay.formats import recorded
from sightline.view.replay.replay import replay

Run = Callable[..., Result]


def keep(root: Path, name: str, session_id: str, **options: Any) -> None:
    """A session of this sample, every payload sent."""
    sample = samples.load(name)
    recording = recorded({"system": sample.system, "tools": sample.tools, "messages": sample.messages})
    with Session.new(
        "/shop", root=root, session_id=session_id, clock=Ticking(), ids=numbered_ids(), **options
    ) as session:
        for _ in replay(session, recording, Budget(16_000, 1_000)):
            pass


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once; every test gets a copy."""
    root = tmp_path_factory.mktemp("kept")
    keep(root, "login_bug", "login-bug")
    return root


@pytest.fixture
def root(kept: Path, tmp_path: Path) -> Path:
    """Where the sessions are: one, of the sample `login_bug`."""
    return Path(shutil.copytree(kept, tmp_path / "root"))


@pytest.fixture
def folder(root: Path) -> Folder:
    """The project's sessions."""
    return Folder("/shop", root)


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `sightline --project shop --root …` with these arguments, as if piped into a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # a test runner may set it for its workers

    def run_(*args: str, **options: Any) -> Result:
        return CliRunner(env=options.pop("env", None)).invoke(
            app, ["--project", "/shop", "--root", str(root), *args], **options
        )

    return run_


@pytest.fixture
def command(tmp_path: Path) -> Callable[[str], str]:
    """Makes a command line that runs this Python program."""

    def command_(code: str) -> str:
        script = tmp_path / "model.py"
        script.write_text(f"import json, os, sys, time\n{code}\n")
        return shlex.join([sys.executable, str(script)])

    return command_
