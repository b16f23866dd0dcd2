"""What all commands share: names that nobody has, and the project that is named."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from sightline.cli.main import COMMANDS, app

Run = Callable[..., Result]


def test_the_closest_command_is_suggested(run: Run) -> None:
    """In both languages; where none is close, click says that there is no such command."""
    for lang, said in (
        ("en", "No such command 'chatt'. Did you mean 'chat'?"),
        ("zh", "没有命令 'chatt'。是否指 'chat'？"),
    ):
        done = run("--lang", lang, "chatt")
        assert (done.exit_code, said in done.stderr) == (2, True)
    assert "Did you mean" not in run("xyz").stderr


@pytest.mark.parametrize("command", ["sessions", "verify", "report", "strategies"])
def test_a_project_that_never_was_is_refused(run: Run, tmp_path: Path, command: str) -> None:
    """Before and after the command. A project that was deleted is not: its sessions are still there."""
    nowhere = str(tmp_path / "nope")
    for args in (("--project", nowhere, command), (command, "--project", nowhere)):
        done = run(*args)
        assert (done.exit_code, done.stdout) == (1, "")
        assert "does not exist: name the project's folder" in " ".join(done.stderr.split())
    assert run("sessions").exit_code == 0  # of /shop, which is no folder here


def test_every_window_has_the_same_two_names() -> None:
    """`--window`, and `--budget` for the same, wherever a command takes one."""
    context = click.Context(app)
    commands = [command for name in COMMANDS if (command := app.get_command(context, name)) is not None]
    windows = [option.opts for command in commands for option in command.params if option.name == "window"]
    assert len(windows) > 5
    assert all(opts == ["--window", "--budget"] for opts in windows)
