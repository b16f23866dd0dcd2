"""A project's directory: what entries say of it, and which of its files nobody but the user opens."""

import re
from pathlib import Path
from typing import NamedTuple


class Place(NamedTuple):
    """A project's directory and the branch checked out in it; empty outside a repository or off any branch."""

    cwd: str = ""
    git_branch: str = ""


NOWHERE = Place()


def place(project: str | Path) -> Place:
    """Where this project is."""
    path = Path(project).absolute()
    readable = str(path).encode("utf-8", "replace").decode()  # a path may hold bytes that are no Unicode; JSON may not
    return Place(readable, git_branch(path))


def git_branch(project: Path) -> str:
    """The branch checked out in the project, read from `.git` itself; empty outside a repository or off any branch."""
    for folder in (project, *project.parents):
        git = folder / ".git"
        try:
            if git.is_file():  # a worktree or submodule: the file names the real directory
                git = folder / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            if git.is_dir():
                head = (git / "HEAD").read_text(encoding="utf-8").strip()
                return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""
        except (OSError, UnicodeDecodeError):
            return ""
    return ""


_SECRET = re.compile(
    r"(?i)\.env(?:\..*)?|id_(?:rsa|dsa|ecdsa|ed25519)|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx)"
    r"|\.netrc|\.pgpass|\.pypirc|\.git-credentials|\.ssh|\.gnupg|\.aws|sightline\.toml"  # ours may hold a key, too
)


def is_secret(name: str) -> bool:
    """Whether a file or folder of this name holds keys or secrets: no tool and no summary opens it."""
    return _SECRET.fullmatch(name) is not None
