"""A project's folder: its path and git branch, for entries."""

import os
import stat
from pathlib import Path
from typing import NamedTuple


class Place(NamedTuple):
    """A project's folder and its git branch, which is empty outside a repository or on a detached head."""

    cwd: str = ""
    git_branch: str = ""


NOWHERE = Place()
_MOST_BYTES = 4096  # of a file of git that contains a path: the longest path that the kernel allows


def place(project: str | Path) -> Place:
    """The path and git branch of a project."""
    path = Path(project).absolute()
    # A path may have bytes that are no Unicode; JSON may not.
    return Place(str(path).encode("utf-8", "replace").decode(), git_branch(path))


def git_branch(project: Path) -> str:
    """The branch that is checked out, read from `.git` itself; empty outside a repository or on a detached head."""
    for folder in (project, *project.parents):
        try:
            if (git := git_folder(folder)) is not None:
                head = _short_text(git / "HEAD").strip()
                return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""
        except (OSError, ValueError):  # not as git writes it: no file, no path, no text, too long
            return ""
    return ""


def git_folder(folder: Path) -> Path | None:
    """The folder in which git stores what it knows about this folder, which is the top of a repository; else None.

    Raises:
        OSError, ValueError: there is a file of that name which is not as git writes it.
    """
    git = folder / ".git"
    if git.is_file():  # a worktree or submodule: the file names the real directory
        git = folder / _short_text(git).removeprefix("gitdir:").strip()
    return git if git.is_dir() else None


def _short_text(path: Path) -> str:
    """The text of a small regular file. Raises OSError, ValueError."""
    data = read_beginning(path, _MOST_BYTES)
    if len(data) > _MOST_BYTES:
        raise ValueError("too long")
    return data.decode()


def read_beginning(path: Path, most_bytes: int, *, flags: int = 0) -> bytes:
    """Read a regular file up to one byte more than `most_bytes`, without ever waiting. Raises OSError."""
    if not stat.S_ISREG(path.stat().st_mode):  # because opening a pipe or a device may already do something
        raise OSError("no regular file")
    flags |= os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)  # do not wait if it has become something else since
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - of a descriptor
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("no regular file")
        return file.read(most_bytes + 1)
