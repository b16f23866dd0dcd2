"""Windows that all sessions of a project share: each has a log of its own, beside those of the sessions.

The log is that of a session in form: the same store, the same notes. A session's own log says only that the window is
open there, at which level, and which version it showed.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from copy import copy
from hashlib import blake2b
from os.path import abspath
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from sightline.apps.context import Version
from sightline.apps.window import SavedWindow
from sightline.apps.window_log import ActionRecord, WindowLog
from sightline.apps.window_notes import decode_note, notes_of
from sightline.errors import BadInput, SessionNotFound
from sightline.log.journal import Journal
from sightline.log.stores import WINDOW_LOG, PlacedStores, Store, Stores
from sightline.log.stores.session_folder import Folder
from sightline.values.clock import Clock, Ids

_FOLDER = "windows"


class SharedLogs:
    """The logs of a project's shared windows, by the name of their app. Each is opened when it is first needed."""

    def __init__(
        self, stores: Stores, project: str | Path, apps: Callable[[], Collection[str]], *, clock: Clock, ids: Ids
    ) -> None:
        """`apps` returns the names of those whose window is shared; it is asked when an app is opened.

        `project` tells the windows of projects apart that have one place, such as a database.
        """
        self._stores, self._apps, self._clock, self._ids = stores, apps, clock, ids
        self._prefix = _prefix_of(project)
        if isinstance(stores, Folder):
            self._stores, self._prefix = _folder_in(stores), ""
        self._logs: dict[str, WindowLog] = {}

    def reopened(self) -> "SharedLogs":
        """Return other handles to the same logs, because each session has its own."""
        logs = copy(self)
        logs._logs = {}
        return logs

    def __contains__(self, app: str) -> bool:
        return app in self._apps()

    def log(self, app: str) -> WindowLog:
        """Return the log of the shared window of this app."""
        if app not in self._logs:
            self._logs[app] = WindowLog(Journal(self._store(self._prefix + app), clock=self._clock, ids=self._ids))
        return self._logs[app]

    def _store(self, name: str) -> Store:
        with suppress(SessionNotFound):
            return self._stores.open(name)
        with suppress(BadInput):
            return self._stores.create(name)
        return self._stores.open(name)  # another process was faster

    def opened(self) -> Collection[WindowLog]:
        """Return the logs that were needed so far."""
        return self._logs.values()

    def forget(self) -> Collection[WindowLog]:
        """Return the logs that were needed so far. They are opened again when they are needed."""
        logs, self._logs = self._logs, {}
        return logs.values()


class SharedPlace(NamedTuple):
    """Where a place has the logs of shared windows. In files those of one project have only the names of their apps."""

    stores: PlacedStores
    prefix: str  # of these in a database, where several projects may have some; empty: it is a database

    @classmethod
    def of(cls, stores: PlacedStores, project: str | Path) -> "SharedPlace":
        """`project`: whose logs those in files are, if their folder is of no project."""
        if isinstance(stores, Folder):
            return cls(_folder_in(stores), _prefix_of(stores.project or project))
        return cls(stores, "")

    def names_in(self, other: "SharedPlace") -> dict[str, str]:
        """Return the names of all logs here, with the name that each has in another place."""
        here = self.stores.sessions() if self.prefix else [log.session_id for log in self.stores.written(WINDOW_LOG)]
        if self.prefix and other.prefix:
            return {name: name for name in here}
        full = {name: name if name.startswith(WINDOW_LOG) else self.prefix + name for name in here}
        return {name: full[name].removeprefix(other.prefix) for name in here}


def _prefix_of(project: str | Path) -> str:
    path = abspath(project).encode("utf-8", "surrogatepass")  # noqa: PTH100
    return f"{WINDOW_LOG}{blake2b(path, digest_size=6).hexdigest()}."


def _folder_in(stores: Folder) -> Folder:
    """The folder beside the sessions. What is written there is synced before it is acknowledged."""
    return Folder.at(stores.path / _FOLDER, fsync="always")


class SharingWindowLog(WindowLog):
    """The windows of a session's log, some of which it shares with other sessions."""

    def __init__(self, journal: Journal, shared_logs: SharedLogs) -> None:
        super().__init__(journal, leaves_lines=True)
        self._shared_logs = shared_logs
        self._shared_apps: dict[int, str] = {}  # by the row of a window's first note; empty: the window is not shared
        self._others: tuple[tuple[int, int], dict[str, WindowLog | None]] = ((-1, -1), {})  # as in `live`, by window

    def shared(self, app: str) -> WindowLog | None:
        return self._other(app) or (self._shared_logs.log(app) if app in self._shared_logs else None)

    def catch_up(self, *, own: bool = True) -> None:
        super().catch_up(own=own)
        shared = self._shared_logs.opened() if own else filter(None, map(self._other, self.live()))
        for log in shared:
            log.catch_up()

    def with_last_state(self, window_id: str, saved: SavedWindow) -> SavedWindow:
        """Return a window that was closed with the data that it had then."""
        if not saved.shared:
            return saved
        return replace(saved, state=state_at(self._shared_logs.log(saved.app), window_id, saved.version))

    def newest_offset(self, window_id: str) -> int:
        """As for all windows; of a shared one the sum of both offsets, which grows with either log."""
        other = self._other(window_id)
        return super().newest_offset(window_id) + (other.newest_offset(window_id) if other is not None else 0)

    def call_result(self, call_id: str) -> tuple[bool, str] | None:
        own = super().call_result(call_id)
        results = (log.call_result(self._named(call_id)) for log in map(self._other, self.live()) if log is not None)
        return own or next(filter(None, results), None)

    def note_opened(self, window_id: str, saved: SavedWindow, call_id: str, origin: str = "") -> int:
        """Write that a window was opened. A shared one gets its first data if it has none."""
        other = self.shared(saved.app) if saved.shared else None
        if other is not None:
            if other.saved(window_id) is None:
                other.note_opened(window_id, replace(saved, options=None, shared=False), "")
            saved = replace(saved, state=msgspec.UNSET)
        return super().note_opened(window_id, saved, call_id, origin)

    def note_changed(self, window_id: str, saved: SavedWindow, done: ActionRecord | None, moved: bool) -> int:
        """Write that a window shows something new: of a shared one the data into its log, the version into this one.

        Raises Conflict if others wrote meanwhile: then neither has it.
        """
        other = self._other(window_id)
        if other is None:
            return super().note_changed(window_id, saved, done, moved)
        if saved.state is not msgspec.UNSET or done is not None:
            told = done and done._replace(call_id=self._named(done.call_id))
            other.note_changed(window_id, replace(saved, options=None, lod=None), told, moved=False)
        return self._note_change(window_id, replace(saved, state=msgspec.UNSET), done, if_unchanged=False)

    def _named(self, call_id: str) -> str:
        """Return the name of a call in the log that other sessions write to as well."""
        return f"{self.journal.store.session_id} {call_id}" if call_id else ""

    def _other(self, window_id: str) -> WindowLog | None:
        """Return the log of a shared window that is open here; None for any other window.

        It was shared when it was opened, and stays so whatever apps are shared now.
        """
        now = (self.journal.branch, self.journal.timeline.notes)
        if self._others[0] != now:
            self._others = (now, {})
        if window_id not in self._others[1]:
            self._others[1][window_id] = self._find_other(window_id)
        return self._others[1][window_id]

    def _find_other(self, window_id: str) -> WindowLog | None:
        rows = self.journal.timeline.references(window_id, self.journal.path)
        if not rows:
            return None
        if rows[0] not in self._shared_apps:
            first = self.journal.reader.window(rows[0])
            self._shared_apps[rows[0]] = first.app if first.shared else ""
        app = self._shared_apps[rows[0]]
        return self._shared_logs.log(app) if app else None

    def _read(self, window_id: str, offset: int) -> SavedWindow | None:
        own, other = super()._read(window_id, offset), self._other(window_id)
        theirs = other.saved(window_id) if other is not None else None
        if own is None or theirs is None or theirs.version is None or own.version is None:
            return own
        version = Version(theirs.version.major, own.version.minor, own.version.patch)
        return replace(own, state=theirs.state, rounds=theirs.rounds, version=version, sent=own.version)


def window_log(journal: Journal, shared_logs: SharedLogs | None) -> WindowLog:
    """Return the windows of a session's log, which shares those of these logs."""
    if shared_logs is None:
        return WindowLog(journal, leaves_lines=True)
    return SharingWindowLog(journal, shared_logs)


def close_logs(shared_logs: SharedLogs | None) -> None:
    """Close the logs of shared windows that are open, if there are any."""
    for log in shared_logs.forget() if shared_logs is not None else ():
        log.journal.close()


def state_at(log: WindowLog, window_id: str, version: Version | None) -> Any:
    """Return the data of a shared window as they were at this version; as they are now if it has none."""
    state = None
    for placed in notes_of(log.journal, window_id):
        note = decode_note(log.journal, placed)
        if note.state is not msgspec.UNSET:
            state = note.state
            if version is None or note.version is None or note.version[0] <= version.major:
                break
    return state
