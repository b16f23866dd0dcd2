"""Completion in a shell: the script of each, and what it offers in bash."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sightline.agent.trust import Trusted
from sightline.cli.main import app
from sightline.session.session import Session


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str) -> None:
    """It names the program and the variable that click answers to."""
    done = CliRunner().invoke(app, ["completion", shell])
    assert done.exit_code == 0
    assert "_SIGHTLINE_COMPLETE" in done.stdout


@pytest.mark.slow
def test_bash_completes_commands_and_sessions(tmp_path: Path) -> None:
    """The script, run by bash itself, offers commands, ids of sessions, branches, apps and trusted folders."""
    with Session.new(tmp_path, root=tmp_path / "home", session_id="abc123") as session:
        session.fork(session.user("hello"), name="try-out").close()
    Trusted(tmp_path / "home").add_folder(tmp_path)
    script = CliRunner().invoke(app, ["completion", "bash"]).stdout
    ask = 'COMP_WORDS=({words}); COMP_CWORD={last}; _sightline_completion sightline; echo "${{COMPREPLY[@]}}"'
    env = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "SIGHTLINE_HOME": str(tmp_path / "home")}
    for words, expected in (
        ("sightline sess", "sessions"),
        ("sightline sessions delete ab", "abc123"),
        ("sightline context a", "abc123"),
        ("sightline chat --resume ab", "abc123"),
        ("sightline context abc --branch ma", "main"),
        ("sightline context --branch try", "try-out"),
        ("sightline apps run tod", "todo"),
        (f"sightline trust --withdraw {tmp_path}", str(tmp_path)),
    ):
        command = script + ask.format(words=words, last=len(words.split()) - 1)
        done = subprocess.run(
            ["bash", "--norc", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=env, check=False
        )
        assert done.stdout.split() == [expected], done.stderr
