"""`sightline hook` in a project of somebody else: it reads and writes only there, whatever the project has in it."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from sightline.cli.main import app

SECRET = '{"token": "keep me"}'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and a JSON file of the user elsewhere."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    (tmp_path / "mine.json").write_text(SECRET)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "settings.json").write_text(SECRET)
    (tmp_path / "mine" / "settings.local.json").write_text(SECRET)
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def hook(project: Path, *words: str) -> tuple[int, str]:
    told = ["--root", str(project.parent / "logs"), "--project", str(project), "hook", *words]
    result = CliRunner().invoke(app, told)
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.parametrize("scope", ["project", "local"])
@pytest.mark.parametrize("kind", ["file", "folder", "dangling", "fifo"])
def test_a_link_of_the_project_is_not_followed(scope: str, kind: str, project: Path) -> None:
    """Nothing is read or written through it, by an install, an uninstall or a look at the state."""
    name = "settings.json" if scope == "project" else "settings.local.json"
    claude, outside = project / ".claude", project.parent
    if kind == "folder":
        claude.symlink_to(outside / "mine")
    else:
        claude.mkdir()
        if kind == "fifo":
            os.mkfifo(claude / name)  # to read it would wait for ever
        else:
            (claude / name).symlink_to(outside / ("mine.json" if kind == "file" else "new.json"))
    for command in ("install", "uninstall"):
        code, said = hook(project, command, "--scope", scope)
        assert code == 1, said
        assert "--scope user" in said
    assert "--scope user" in hook(project, "status")[1]
    assert {path.read_text() for path in (outside / "mine.json", *(outside / "mine").iterdir())} == {SECRET}
    assert not (outside / "new.json").exists()


@pytest.mark.parametrize("scope", ["project", "local"])
def test_a_link_that_comes_later_is_not_followed_either(scope: str, project: Path) -> None:
    """What was installed in a plain file is not taken out of another."""
    assert hook(project, "install", "--scope", scope)[0] == 0
    [file] = (project / ".claude").iterdir()
    file.rename(project.parent / "moved.json")
    before = (project.parent / "moved.json").read_bytes()
    file.symlink_to(project.parent / "moved.json")
    assert hook(project, "uninstall", "--scope", scope)[0] == 1
    assert (project.parent / "moved.json").read_bytes() == before


def test_the_users_own_link_stays_one(project: Path) -> None:
    """Settings that the user keeps elsewhere are his: a link of his is followed."""
    (project.parent / ".claude").mkdir()
    link = project.parent / ".claude" / "settings.json"
    link.symlink_to(project.parent / "mine.json")
    assert hook(project, "install")[0] == 0
    assert link.is_symlink()
    assert json.loads((project.parent / "mine.json").read_text())["hooks"]
