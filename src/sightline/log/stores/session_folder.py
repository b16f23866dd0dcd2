"""Session files: a folder per project, a file per session, readable by their owner only."""

import os
import re
from contextlib import ExitStack, closing, suppress
from hashlib import blake2b
from pathlib import Path

from sightline.errors import BadInput, BadSessionId, SessionNotFound, StoreError
from sightline.log.stores import check_session_id
from sightline.log.stores.disk import OsDisk
from sightline.log.stores.jsonl import Fsync, JsonlStore

SESSION_FACTS = ".session"  # the user and preferences of a session that the ClawdCode document's names began
SIDE_FILES = (".idx", ".search", ".search-wal", ".search-shm", ".blobs", ".torn", SESSION_FACTS)
_LONGEST_NAME = 255  # bytes, on every system that matters; a longer file name is cut and gets a digest


def sightline_home() -> Path:
    """`SIGHTLINE_HOME`, or `.sightline` in the user's home."""
    configured = os.environ.get("SIGHTLINE_HOME")
    return Path(configured) if configured else Path.home() / ".sightline"


def escape_project_path(path: str | Path) -> str:
    """The absolute path of a project as one folder name: every separator becomes a dash."""
    normalised = os.path.abspath(path)  # noqa: PTH100 - Path.resolve would follow links, and the name would change with them
    name = re.sub(r"[/\\:]", "-", normalised)
    encoded = os.fsencode(name)
    if len(encoded) <= _LONGEST_NAME:
        return name
    digest = blake2b(encoded, digest_size=8).hexdigest()
    return f"{os.fsdecode(encoded[: _LONGEST_NAME - len(digest) - 1])}-{digest}"


class Folder:
    """The `Stores` of one project, a file for each session. A project does not see the sessions of others.

    fsync: when what is written to a session is synced, see `JsonlStore`.
    """

    def __init__(self, project: str | Path = ".", root: str | Path | None = None, *, fsync: Fsync = "turn") -> None:
        self.fsync = fsync
        self.path = Path(root or sightline_home()) / "projects" / escape_project_path(project)

    def file(self, session_id: str) -> Path:
        """The path of a session's log, whether it exists or not. Raises BadSessionId."""
        return self.path / f"{check_session_id(session_id)}.jsonl"

    def existing(self, session_id: str) -> Path:
        """The path of an existing log. Raises SessionNotFound, or StoreError if the folder may not be read."""
        path = self.file(session_id)
        try:
            if not path.exists():
                raise SessionNotFound(session_id, str(self.path))
        except OSError as error:
            raise StoreError(
                f"cannot look into {self.path}: {error.strerror}; allow it to this user, or choose another root"
            ) from error
        return path

    def create(self, session_id: str) -> JsonlStore:
        if os.path.lexists(path := self.file(session_id)):
            raise BadInput(f"session {session_id!r} exists already; Session.resume({session_id!r}) opens it")
        return JsonlStore(path, fsync=self.fsync)

    def open(self, session_id: str) -> JsonlStore:
        return JsonlStore(self.existing(session_id), fsync=self.fsync, read=False)

    def sessions(self, *, empty: bool = False) -> list[str]:
        """The ids of all sessions, the one written to last first; with `empty`, also those with an empty log."""
        written: list[tuple[int, str]] = []
        for path in self.path.glob("*.jsonl"):  # none if the folder does not exist or may not be read
            with suppress(OSError, BadSessionId):  # deleted since, a link to nothing, or a copy such as "s (1)"
                check_session_id(path.stem)
                if path.is_file() and (empty or path.stat().st_size):
                    written.append((path.stat().st_mtime_ns, path.stem))
        return [name for _, name in sorted(written, reverse=True)]

    def delete(self, session_id: str) -> None:
        """Delete a session and all its side files. Raises SessionNotFound."""
        path = self.existing(session_id)
        with ExitStack() as stack:
            with suppress(OSError):  # who may not open a file may still delete it
                log = stack.enter_context(closing(OsDisk().open(path)))
                stack.enter_context(log.locked())  # so that nobody writes a side file meanwhile
            path.unlink()
            for suffix in SIDE_FILES:
                path.with_suffix(suffix).unlink(missing_ok=True)
