"""A project's own folder: its name, which no other project has, and what lies under the name it once had.

Once every separator of a project's path became a dash, so `/w/one/two` and `/w/one-two` shared a folder. A session that
lies under such a name and whose log names this project, or none, is copied into the project's own folder: one that
names none goes to the project that is opened first. But if the former name of a project may be another's own folder,
only what names the project is copied. Other programs have folders of such names too: only what has our own entries
is copied, and nothing is ever moved, changed or deleted there.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from sightline.files.private_files import FRESH, make_directory
from sightline.log.entries import SETTINGS
from sightline.values.decoders import decode_json
from sightline.values.logger import log_warning
from sightline.values.pattern import pattern

LONGEST_NAME = 255  # bytes, on every system that matters
_SHARED = ("code", "chat_history")  # not of one session: nobody knows whose it is, so each project gets a copy
_LOOKED_AT = ".before"  # up to which change the folder of the former name was looked at, then the logs that were copied
LEFT = pattern(r"\.(?:idx|search)\d+")  # the ends of names that earlier versions left when they were killed
_OWN = pattern(r"-[0-9a-f]{16}$")  # the end of a name that may be a project's own
_BESIDE = (".blobs", ".torn")  # what lies next to a log and is not made from it
BEGINNING = 1 << 16  # bytes of a log in which an entry of ours stands, and one that names its project


class _Entry(msgspec.Struct, rename="camel"):
    """What tells our entries from those of other programs: none of them numbers its lines so."""

    uuid: str
    session_id: str
    seq: int
    subtype: str = ""
    cwd: str = ""


def folder_name(project: str | Path) -> str:
    """The absolute path of a project as one folder name: what is readable of it, then a digest that makes it unique."""
    path = os.path.abspath(project)  # noqa: PTH100 - Path.resolve would follow links, and the name would change with them
    digest = blake2b(os.fsencode(path), digest_size=8).hexdigest()
    readable = re.sub(r"[^\w.+@=,]|[\ud800-\udfff]", "-", path)
    room = LONGEST_NAME - len(digest) - 1
    return f"{readable.encode()[:room].decode(errors='ignore')}-{digest}"


def is_own_name(name: str) -> bool:
    """Whether `folder_name` may have made this name."""
    return bool(_OWN.search(name))


def own_entries(beginning: bytes) -> Iterator[_Entry]:
    """Yield the entries of ours in the beginning of a log. Of a log that another program wrote there are none."""
    for line in beginning.split(b"\n"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if (entry := decode_json(line, _Entry)).seq > 0:
                yield entry


def own_folder(projects: Path, project: str | Path, former: str, facts: str) -> Path:
    """The folder of a project's sessions, after those that lie under its former name have been copied into it.

    A session with a file that ends in `facts` is the ClawdCode document's, and is not copied; a folder that has such is
    used under its name, unless there is one of the project's own.
    """
    own, before = projects / folder_name(project), projects / former
    try:
        changed = str(before.stat().st_mtime_ns)
    except OSError:  # mostly because there is no such folder
        return own
    looked_at, *copied = _read_lines(own / _LOOKED_AT)
    if looked_at == changed:
        return own
    try:
        with os.scandir(before) as names:
            if any(entry.name.endswith(facts) for entry in names) and not own.exists():
                return before
        logs = [
            log
            for log in sorted(before.glob("*.jsonl"))
            if log.name not in copied
            and not os.path.lexists(own / log.name)
            and not log.with_suffix(facts).exists()
            and _is_of(log, project, former)
        ]
        if logs:
            _copy(logs, own)
            log_warning("%s: copied %d sessions of an earlier version to %s; it stays as it is", before, len(logs), own)
        if own.exists():
            (own / _LOOKED_AT).touch(mode=0o600)
            (own / _LOOKED_AT).write_text("\n".join([changed, *copied, *(log.name for log in logs)]))
    except OSError as error:
        log_warning("%s: its sessions were not copied to %s: %s", before, own, error)
    return own


def _read_lines(path: Path) -> Sequence[str]:
    try:
        return path.read_text().split("\n")
    except (OSError, UnicodeDecodeError):
        return ("",)


def _is_of(log: Path, project: str | Path, former: str) -> bool:
    """Whether a log is a session of ours, and of this project. One that names no project is of the first to look.

    Every session of ours states its settings; those of the ClawdCode document state none.
    """
    if not log.is_file():
        return False
    with log.open("rb") as file:
        entries = list(own_entries(file.read(BEGINNING)))
    if not any(entry.subtype == SETTINGS for entry in entries):
        return False
    if cwd := next((entry.cwd for entry in entries if entry.cwd), ""):
        ours = os.path.abspath(project).encode("utf-8", "replace").decode()  # noqa: PTH100 - as it was logged
        return os.path.normpath(cwd) == ours
    taken = (path for path in log.parent.parent.glob(f"*/{log.name}") if path != log)
    return not is_own_name(former) and next(taken, None) is None


def _copy(logs: Sequence[Path], own: Path) -> None:
    """Copy logs with what cannot be made again of them. Each log is last: the next look makes good a crash."""
    from shutil import copy2, copytree  # they take long to import, and folders are copied once

    def copy(path: Path) -> None:
        target = own / path.relative_to(before)
        fresh = target.with_name(target.name + FRESH)
        if os.path.lexists(target) or not path.exists():
            return
        make_directory(target.parent)
        if path.is_dir():
            copytree(path, fresh, symlinks=True, dirs_exist_ok=True)
        else:
            copy2(path, fresh)
        fresh.replace(target)

    before = logs[0].parent
    make_directory(own)
    for name in _SHARED:
        copy(before / name)
    for log in logs:
        for path in (*map(log.with_suffix, _BESIDE), *before.glob(f"*/{log.stem}"), log):
            copy(path)
