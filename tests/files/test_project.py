"""What is known of a project's directory: its branch."""

import os
from pathlib import Path

import pytest

from sightline.agent.tools.files.folders import Folders
from sightline.errors import ToolFailed
from sightline.files.project import git_branch


def test_no_tool_reads_what_git_keeps(tmp_path: Path) -> None:
    """An address there may hold a token; the branch is known all the same."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\nurl = https://me:token@host/shop\n')
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/fix/cart\n")
    with pytest.raises(ToolFailed, match="keys or secrets"), Folders([tmp_path]).open(".git/config"):
        pass
    assert git_branch(tmp_path) == "fix/cart"


def test_the_branch_of_a_worktree_is_known(tmp_path: Path) -> None:
    """Its `.git` is a file that names the directory; below it, too."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "HEAD").write_text("ref: refs/heads/tree\n")
    (tmp_path / "work" / "src").mkdir(parents=True)
    (tmp_path / "work" / ".git").write_text("gitdir: ../real\n")
    assert git_branch(tmp_path / "work" / "src") == "tree"


@pytest.mark.parametrize("how", ["device", "pipe", "long", "bytes"])
@pytest.mark.parametrize("where", [".git", ".git/HEAD"])
def test_a_branch_that_git_did_not_write_is_none(tmp_path: Path, where: str, how: str) -> None:
    """Neither a device without end nor a pipe that nobody writes to is waited for or filled with."""
    path = tmp_path / where
    path.parent.mkdir(exist_ok=True)
    match how:
        case "device":
            path.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(path)
        case "long":
            path.write_text("ref: refs/heads/" + "x" * 5000)
        case "bytes":
            path.write_bytes(b"gitdir: \0\xff")
    assert git_branch(tmp_path) == ""
