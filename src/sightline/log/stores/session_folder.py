"""Session files: a folder per project, a file per session, readable by their owner only."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from hashlib import blake2b
from pathlib import Path
from stat import S_ISREG

from sightline.errors import BadInput, BadSessionId, SessionNotFound, StoreError, resume_call
from sightline.files.private_files import read_whole
from sightline.log.stores import Written, check_session_id
from sightline.log.stores.disk import OsDisk
from sightline.log.stores.jsonl import Fsync, JsonlStore
from sightline.log.stores.project_folder import BEGINNING, LEFT, LONGEST_NAME, is_own_name, own_entries, own_folder
from sightline.log.stores.recency import Recency

SESSION_FACTS = ".session"  # the user and preferences of a session that the ClawdCode document's names began
SIDE_FILES = (
    ".idx", ".idx-new", ".search", ".search-new", ".search-wal", ".search-shm", ".blobs", ".torn", SESSION_FACTS,
)  # fmt: skip
_RUNS = "runs"
_LOOKED_AT = 32  # sessions of many: the newest is nearly always among those that were
_FEW = 200  # sessions: so many files are looked at in a millisecond or two


def sightline_home() -> Path:
    """`SIGHTLINE_HOME`, or `.sightline` in the user's home."""
    configured = os.environ.get("SIGHTLINE_HOME")
    return Path(configured) if configured else Path.home() / ".sightline"


def escape_project_path(path: str | Path) -> str:
    """The absolute path of a project as one folder name, as the ClawdCode document has it: each separator is a dash.

    Several projects can have one name: `project_folder.folder_name` has one for each.
    """
    normalised = os.path.abspath(path)  # noqa: PTH100 - Path.resolve would follow links, and the name would change with them
    name = re.sub(r"[/\\:]", "-", normalised)
    encoded = os.fsencode(name)
    if len(encoded) <= LONGEST_NAME:
        return name
    digest = blake2b(encoded, digest_size=8).hexdigest()
    return f"{os.fsdecode(encoded[: LONGEST_NAME - len(digest) - 1])}-{digest}"


class Folder:
    """The `Stores` of one project, a file for each session. A project does not see the sessions of others.

    fsync: when what is written to a session is synced, see `JsonlStore`.
    shared: the folder has the document's name, which other projects may have too.
    """

    def __init__(
        self,
        project: str | Path = ".",
        root: str | Path | None = None,
        *,
        fsync: Fsync = "turn",
        shared: bool = False,
    ) -> None:
        self.fsync, self.project = fsync, os.path.abspath(project)  # noqa: PTH100 - as the name of the folder
        projects, former = Path(root or sightline_home()) / "projects", escape_project_path(project)
        self.path = projects / former if shared else own_folder(projects, project, former, SESSION_FACTS)

    @classmethod
    def at(cls, path: Path, *, fsync: Fsync = "turn") -> "Folder":
        """The sessions that lie in this folder, whichever project they are of."""
        folder = cls.__new__(cls)
        folder.fsync, folder.path, folder.project = fsync, path, ""
        return folder

    @property
    def tenant(self) -> str:
        """Empty: a folder has one owner."""
        return ""

    def check(self) -> None:
        """Raises what is wrong if the folder cannot be read."""
        with suppress(FileNotFoundError):  # before the first session
            os.scandir(self.path).close()

    def file(self, session_id: str) -> Path:
        """The path of a session's log, whether it exists or not. Raises BadSessionId."""
        return self.path / f"{check_session_id(session_id)}.jsonl"

    def existing(self, session_id: str) -> Path:
        """The path of an existing log. Raises SessionNotFound, or StoreError if the folder may not be read."""
        path = self.file(session_id)
        try:
            if not path.exists():
                raise SessionNotFound(session_id, str(self.path), self.project)
        except OSError as error:
            raise StoreError(
                f"cannot look into {self.path}: {error.strerror}; allow it to this user, or choose another root"
            ) from error
        return path

    def create(self, session_id: str) -> JsonlStore:
        if os.path.lexists(path := self.file(session_id)):
            raise BadInput(f"session {session_id!r} exists already; {resume_call(session_id, self.project)} opens it")
        return JsonlStore(path, fsync=self.fsync)

    def open(self, session_id: str) -> JsonlStore:
        return JsonlStore(self.existing(session_id), fsync=self.fsync, read=False)

    @property
    def where(self) -> str:
        """The path of the folder."""
        return str(self.path)

    def has(self, session_id: str, *, wait: bool = True) -> bool:  # noqa: ARG002 - nothing is waited for
        """Whether something was written to a session of this id. Looks at its file only."""
        return bool(self._written([session_id]))

    def written(self, prefix: str = "") -> list[Written]:
        """The sessions whose ids begin so, the one written to last first. Looks at the file of each."""
        sessions = []
        for session_id in self._ids():
            with suppress(OSError):
                if session_id.startswith(prefix) and (status := self.file(session_id).stat()).st_size:
                    sessions.append(Written(session_id, status.st_size, status.st_mtime_ns / 1e9))
        return sorted(sessions, key=lambda session: (session.seconds, session.session_id), reverse=True)

    def look(self, session_id: str) -> Written:
        """The size and time of one session. Raises SessionNotFound."""
        try:
            status = self.file(session_id).stat()
        except OSError:
            status = self.existing(session_id).stat()  # it says what is wrong
        return Written(session_id, status.st_size, status.st_mtime_ns / 1e9)

    def containing(self, session_ids: Sequence[str], text: bytes) -> str:
        """The first of these sessions whose log has these bytes; empty: none has."""
        return next((session_id for session_id in session_ids if text in read_whole(self.file(session_id))), "")

    def sessions(self, *, empty: bool = False) -> list[str]:
        """The ids of all sessions, the one written to last first; with `empty`, also those with an empty log.

        Of many sessions only those are looked at that `Recency` does not know, new files of other programs, and the
        first few that it knows: another program may have written to one of these, or emptied it. In a folder whose
        newest session is another program's, nothing is noted.
        """
        ids = set(self._ids())
        if len(ids) <= _FEW:
            return self._written(ids, empty=empty)
        recency = Recency(self.path)
        noted = recency.read(ids)
        if new := self._written(ids.difference(noted)):
            noted = recency.write(lambda: self._written(ids)) if self._is_ours(new[0]) else self._written(ids)
        else:
            noted = self._written(noted[:_LOOKED_AT]) + noted[_LOOKED_AT:]
        return noted + self._written(ids.difference(noted), empty=True) if empty else noted

    def _is_ours(self, session_id: str) -> bool:
        """Whether files of ours may be made beside a session's log: by the folder's name, or by its entries."""
        if is_own_name(self.path.name):
            return True
        with suppress(OSError), self.file(session_id).open("rb") as file:
            return any(own_entries(file.read(BEGINNING)))
        return False

    def _ids(self) -> Iterator[str]:
        """The ids of all logs, from the names in the folder alone."""
        with suppress(OSError, ValueError), os.scandir(self.path) as files:  # there may be no folder
            for file in files:
                name, suffix = os.path.splitext(file.name)  # noqa: PTH122 - a Path for each would take longer
                with suppress(OSError, BadSessionId):  # deleted since, or a copy such as "s (1)"
                    if suffix == ".jsonl" and file.is_file():
                        yield check_session_id(name)

    def _written(self, ids: Iterable[str], *, empty: bool = False) -> list[str]:
        """Those of these ids whose log is not empty, the one written to last first. Looks at each."""
        dated: list[tuple[int, str]] = []
        for session_id in ids:
            with suppress(OSError, BadSessionId):  # deleted since, a link to nothing, or no id of a session
                status = self.file(session_id).stat()
                if S_ISREG(status.st_mode) and (empty or status.st_size):
                    dated.append((status.st_mtime_ns, session_id))
        return [session_id for _, session_id in sorted(dated, reverse=True)]

    def date(self, session_id: str, seconds: float) -> None:
        """Have a session count as written to at this time, in seconds since 1970. Raises SessionNotFound.

        An imported session is as old as its talk, and not the newest because it came last.
        """
        with suppress(OSError):  # only the order differs
            os.utime(self.existing(session_id), (seconds, seconds))
        Recency(self.path).forget()

    def runs(self, session_id: str) -> Path:
        """The folder of the files that a session's programs wrote, whether it exists or not. Raises BadSessionId."""
        return self.path / _RUNS / check_session_id(session_id)

    def delete(self, session_id: str) -> None:
        """Delete a session, its side files and the files of its programs. Raises SessionNotFound."""
        path = self.existing(session_id)
        with ExitStack() as stack:
            with suppress(OSError):  # who may not open a file may still delete it
                log = stack.enter_context(closing(OsDisk().open(path)))
                stack.enter_context(log.locked())  # so that nobody writes a side file meanwhile
            path.unlink()
            for suffix in SIDE_FILES:
                path.with_suffix(suffix).unlink(missing_ok=True)
            for left in self.path.iterdir():
                if left.name.startswith(path.stem) and LEFT.fullmatch(left.name, len(path.stem)):
                    left.unlink(missing_ok=True)
            from shutil import rmtree

            rmtree(self.runs(session_id), ignore_errors=True)
