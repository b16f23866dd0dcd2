"""A project's directory: what entries say of it, and which of its files nobody but the user opens."""

import os
import re
import stat
from pathlib import Path
from typing import NamedTuple


class Place(NamedTuple):
    """A project's directory and the branch checked out in it; empty outside a repository or off any branch."""

    cwd: str = ""
    git_branch: str = ""


NOWHERE = Place()
_MOST_BYTES = 4096  # of a file of git's that names something: the longest path, as the kernel has it


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
                git = folder / _short_text(git).removeprefix("gitdir:").strip()
            if git.is_dir():
                head = _short_text(git / "HEAD").strip()
                return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""
        except (OSError, ValueError):  # not as git writes it: no file, no path, no text
            return ""
    return ""


def _short_text(path: Path) -> str:
    """What is in a small regular file. Never waits. Raises OSError, ValueError."""
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe or a device may already do something
        raise OSError("no regular file")
    quickly = getattr(os, "O_NONBLOCK", 0)  # if it has become something else since
    with open(os.open(path, os.O_RDONLY | quickly), "rb") as file:  # noqa: PTH123 - of a descriptor
        data = file.read(_MOST_BYTES + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    if len(data) > _MOST_BYTES:
        raise ValueError("too long")
    return data.decode()


_SECRET = re.compile(
    r"(?is)(?!(?:sample|example|template)\.env\Z)"  # they show which values to fill in
    r"[.#]{0,2}(?:\.env(?:rc|\..*)?|.*\.env|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?"
    r"|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfvars|tfvars\.json|tfstate)"
    r"|[._]netrc|\.pgpass|\.my\.cnf|\.pypirc|\.npmrc|\.htpasswd|\.vault-token|\.dockercfg|\.s3cfg|\.boto|credentials\.json"
    r"|accesstokens\.json|msal_token_cache\..*|\.ssh|\.gnupg|\.aws"
    r"|\.git|\.git-credentials"  # an address in its configuration may hold a token
    r"|sightline\.toml)"  # ours may hold a key, too
    r"(?:~|\.(?:bak|backup|old|orig|save|copy|tmp|sw[a-z]))*#?"  # what editors and careful people leave beside them
)


def is_secret(name: str) -> bool:
    """Whether a file or folder of this name holds keys or secrets: no tool and no summary opens it."""
    return _SECRET.fullmatch(name) is not None
