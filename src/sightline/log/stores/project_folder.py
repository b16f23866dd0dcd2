"""A project's own folder: its name, which no other project has, and what lies under the name it once had.

Once every separator of a project's path became a dash, so `/w/one/two` and `/w/one-two` shared a folder. A session that
lies under such a name and whose log names this project, or none, is moved into the project's own folder: one that names
none goes to the project that is opened first. But if the former name of a project may be another's own folder, only
what names the project is moved.
"""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from sightline.files.private_files import make_directory
from sightline.values.decoders import decode_json
from sightline.values.pattern import pattern

LONGEST_NAME = 255  # bytes, on every system that matters
_SHARED = ("code", "chat_history")  # not of one session: nobody knows whose it is, so each project gets a copy
_LOOKED_AT = ".before"  # says up to which change of the folder of the former name its sessions have been looked at
LEFT = pattern(r"\.(?:idx|search)\d+")  # the ends of names that earlier versions left when they were killed
_OWN = pattern(r"-[0-9a-f]{16}$")  # the end of a name that may be a project's own
_BEGINNING = 1 << 16  # bytes of a log in which its first entry names its project


class _Entry(msgspec.Struct):
    cwd: str = ""


def folder_name(project: str | Path) -> str:
    """The absolute path of a project as one folder name: what is readable of it, then a digest that makes it unique."""
    path = os.path.abspath(project)  # noqa: PTH100 - Path.resolve would follow links, and the name would change with them
    digest = blake2b(os.fsencode(path), digest_size=8).hexdigest()
    readable = re.sub(r"[^\w.+@=,]|[\ud800-\udfff]", "-", path)
    room = LONGEST_NAME - len(digest) - 1
    return f"{readable.encode()[:room].decode(errors='ignore')}-{digest}"


def own_folder(projects: Path, project: str | Path, former: str, suffixes: Sequence[str], facts: str) -> Path:
    """The folder of a project's sessions, after those that lie under its former name have been moved into it.

    `suffixes` are those of the files next to a log. A session with a file that ends in `facts` is the ClawdCode
    document's, and stays; a folder that has such is used under its name, unless there is one of the project's own. What
    cannot be moved stays too.
    """
    own, before = projects / folder_name(project), projects / former
    with suppress(OSError):  # mostly because there is no such folder
        changed = str(before.stat().st_mtime_ns)
        with suppress(OSError):
            if (own / _LOOKED_AT).read_text() == changed:
                return own
        with os.scandir(before) as names:
            if any(entry.name.endswith(facts) for entry in names) and not own.exists():
                return before
        logs = [log for log in before.glob("*.jsonl") if log.is_file()]
        may_be_own = bool(_OWN.search(former))
        if mine := [
            log for log in logs if not log.with_suffix(facts).exists() and _is_of(log, project, not may_be_own)
        ]:
            _move(mine, own, suffixes, alone=len(mine) == len(logs) and not may_be_own)
        if own.exists():
            (own / _LOOKED_AT).touch(mode=0o600)
            (own / _LOOKED_AT).write_text(str(before.stat().st_mtime_ns))
    return own


def _is_of(log: Path, project: str | Path, unnamed: bool) -> bool:
    """Whether a log says that it is of this project; `unnamed` is the answer for one that names none."""
    with log.open("rb") as file:
        lines = file.read(_BEGINNING).split(b"\n")
    for line in lines:
        with suppress(msgspec.DecodeError):
            if cwd := decode_json(line, _Entry).cwd:
                ours = os.path.abspath(project).encode("utf-8", "replace").decode()  # noqa: PTH100 - as it was logged
                return os.path.normpath(cwd) == ours
    return unnamed


def _move(logs: Iterable[Path], own: Path, suffixes: Sequence[str], *, alone: bool) -> None:
    """Move logs and what belongs to them. `alone`: there are no others in their folder.

    What is not of one session is copied. If nothing of others is left then, the original of an exact copy is deleted.
    """
    from shutil import copy2, copytree  # as in `_delete_original`: they take long to import, and folders move once

    before = next(iter(logs)).parent
    if alone and not own.exists():
        before.rename(own)  # everything at once
        return
    make_directory(own)
    left = [path for path in before.iterdir() if LEFT.fullmatch(path.suffix)]
    copied = [name for name in _SHARED if not os.path.lexists(own / name)]
    for name in copied:
        if (before / name).is_dir():
            copytree(before / name, own / name)
        elif (before / name).is_file():
            copy2(before / name, own / name)
    for log in logs:
        if os.path.lexists(own / log.name):
            continue
        beside = [log.with_suffix(suffix) for suffix in suffixes] + [path for path in left if path.stem == log.stem]
        for path in (*beside, *before.glob(f"*/{log.stem}"), log):  # the log last, so that a crash is made good
            target = own / path.relative_to(before)
            with suppress(FileNotFoundError):  # there is none, or another process was faster
                if path.parent != before:
                    make_directory(target.parent)
                path.rename(target)
    if alone and not any(before.glob("*.jsonl")):
        for name in copied:
            _delete_original(before / name, own / name)


def _delete_original(original: Path, copy: Path) -> None:
    """Delete a file or folder whose copy is the same, byte for byte. Whatever else it is stays."""
    from filecmp import cmp
    from shutil import rmtree

    if original.is_symlink():
        return
    if original.is_file():
        if cmp(original, copy, shallow=False):
            original.unlink()
    elif original.is_dir() and _contents(original) == (contents := _contents(copy)):
        files = [name for name, kind in contents.items() if kind == "file"]
        if all(cmp(original / name, copy / name, shallow=False) for name in files):
            rmtree(original)


def _contents(folder: Path) -> dict[str, str]:
    """Return what is in a folder and below it, by path: "folder", "file", or "other", which is never the same."""
    return {
        str(path.relative_to(folder)): "other" if path.is_symlink() else "file" if path.is_file() else "folder"
        for path in folder.rglob("*")
    }
