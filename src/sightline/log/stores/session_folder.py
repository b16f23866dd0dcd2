"""Where sessions lie: a folder per project, a file per session, readable by their owner only."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from sightline.errors import BadSessionId, SessionNotFound, StoreError

_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}")
SIDE_FILES = (".idx", ".search", ".search-wal", ".search-shm", ".blobs", ".torn")
_LONGEST = 255  # bytes of a file name, on every system that matters; a longer one ends with a digest of itself


def sightline_home() -> Path:
    """`SIGHTLINE_HOME`, or `.sightline` in the user's home."""
    configured = os.environ.get("SIGHTLINE_HOME")
    return Path(configured) if configured else Path.home() / ".sightline"


def escape_project_path(path: str | Path) -> str:
    """A project's absolute path as one folder name: every separator becomes a dash."""
    normalised = os.path.abspath(path)  # noqa: PTH100 - Path.resolve would follow links, and the name would change with them
    name = re.sub(r"[/\\:]", "-", normalised)
    encoded = os.fsencode(name)
    if len(encoded) <= _LONGEST:
        return name
    digest = blake2b(encoded, digest_size=8).hexdigest()
    return f"{os.fsdecode(encoded[: _LONGEST - len(digest) - 1])}-{digest}"


def check_session_id(session_id: str) -> str:
    """The id itself, if it can be a file name and nothing else.

    Raises:
        BadSessionId: it contains separators, dots at the start, or anything beyond letters, digits, `-`, `_`, `.`.
    """
    if not isinstance(session_id, str) or not _PLAIN.fullmatch(session_id) or ".." in session_id:
        raise BadSessionId(session_id)
    return session_id


class Folder:
    """The sessions of one project. Projects do not see each other's."""

    def __init__(self, project: str | Path = ".", root: str | Path | None = None) -> None:
        self.path = Path(root or sightline_home()) / "projects" / escape_project_path(project)

    def file(self, session_id: str) -> Path:
        """Where the session's log is or would be."""
        return self.path / f"{check_session_id(session_id)}.jsonl"

    def existing(self, session_id: str) -> Path:
        """The session's log. Raises SessionNotFound, and StoreError where the folder may not be looked into."""
        path = self.file(session_id)
        try:
            if not path.exists():
                raise SessionNotFound(session_id, str(self.path))
        except OSError as error:
            why = f"cannot look into {self.path}: {error.strerror}; allow it to this user, or choose another root"
            raise StoreError(why) from error
        return path

    def sessions(self) -> list[str]:
        """Ids, the one written to last first."""
        written: list[tuple[int, str]] = []
        for path in self._files():
            with suppress(OSError):  # deleted since, or a link to nothing
                if path.is_file():
                    written.append((path.stat().st_mtime_ns, path.stem))
        return [name for _, name in sorted(written, reverse=True)]

    def delete(self, session_id: str) -> None:
        """Remove the session and everything derived from it, for good. Raises SessionNotFound."""
        path = self.existing(session_id)
        path.unlink()
        for suffix in SIDE_FILES:
            path.with_suffix(suffix).unlink(missing_ok=True)

    def _files(self) -> Iterator[Path]:
        return self.path.glob("*.jsonl")  # nothing, where there is no such folder or it may not be looked into
