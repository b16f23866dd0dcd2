"""The list of all sessions, over all projects and sources: what each is about, and what it used.

Logs are counted a piece at a time, and only again if they have changed, so that a list of a thousand takes
milliseconds. What was counted is kept in a file for the next run.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from sightline import __version__
from sightline.errors import BadSessionId
from sightline.log.stores import check_session_id
from sightline.log.stores.disk import make_directory
from sightline.log.stores.session_folder import Folder
from sightline.log.stores.side_files import read_whole, replace_whole
from sightline.replay.imported_files import ImportedFiles
from sightline.replay.known_logs import Kept, LogFile, StoredLog, StoredLogs
from sightline.replay.log_count import Counted
from sightline.replay.offered_files import (
    CLAUDE_CODE,
    CODEX,
    SIGHTLINE,
    SOURCES,
    FirstLook,
    Offered,
    OfferedFiles,
    home_folders,
    look_at,
)
from sightline.replay.places import Place, Places
from sightline.values.items import Usage

PROXY = "proxy"
_HEAD = 1 << 15  # bytes of a log in which its title is looked for
_MOST_HEADS = 200  # logs, and files, whose beginning is read for one list; others are read in the background
_PAGE_BYTES = 1 << 24  # of logs that are counted for one page, before it is shown with what is known
_ROW_BYTES = 1 << 23  # of one log that are counted before it is described
_KEPT = "session-list.msgpack"
_NAMES = {"proxy-": PROXY, "claude-": CLAUDE_CODE, "codex-": CODEX}  # how the ids of such sessions begin


class Listed(Struct, frozen=True):
    """A session, or a file that could become one. What `counted` says is whole if it is `ready`."""

    id: str  # as paths have it; empty: it is a file that was not imported
    name: str
    state: str  # "session"; "file": not imported; "grown": its file has grown since it was imported
    source: str
    title: str = ""
    project: str = ""
    created: int | None = None
    updated: float | None = None  # seconds since 1970
    size: int | None = None
    ready: bool = False
    counted: Counted = field(default_factory=Counted)
    cost: float | None = None  # dollars; None: no price is known, or nothing was reported
    file: str | None = None  # that it comes from
    error: str = ""


class Page(NamedTuple):
    """Some of the list. `total`: how many match; `pending`: how many have not been counted yet."""

    rows: list[Listed]
    total: int
    pending: int
    sources: dict[str, int]  # how many there are of each, whether they match or not
    projects: dict[str, int]


class Wanted(Struct, frozen=True):
    """Which part of the list, in which order."""

    words: str = ""  # in title, project or id
    source: str = ""
    project: str = ""
    sort: str = "updated"
    ascending: bool = False
    start: int = 0
    limit: int = 50


class _AllKept(Struct):
    """What is kept for the next run, by path."""

    version: str = ""
    logs: dict[str, Kept] = {}
    looks: dict[str, tuple[int, FirstLook]] = {}  # the size that a file had then


class SessionCatalog:
    """Lists the sessions of all places, and the files that are offered. May be used from several threads."""

    def __init__(
        self,
        places: Places,
        offered: tuple[Path, ...] = (),
        cost_of: Callable[[Mapping[str, Usage]], float | None] = lambda _: None,
    ) -> None:
        """`offered` are files and folders whose recordings are listed too. `cost_of` what was used, by model."""
        self.places, self._cost_of = places, cost_of
        self._offered = OfferedFiles(offered, self._home_folders)
        self.imported = ImportedFiles(places.imported, lambda: self._offered_now().values())
        self._stored = [StoredLogs(place) for place in places.all() if not isinstance(place.stores, Folder)]
        self._lock = RLock()
        self._logs: dict[str, LogFile] = {}  # by path
        self._file = places.home / _KEPT
        self._kept: _AllKept | None = None
        self._is_new = False  # something was counted that is not kept yet

    def page(self, wanted: Wanted) -> Page:
        """Return a part of the list."""
        with self._lock:
            logs, offered = self._logs_now(), self._offered_now()
            for log in [log for log in logs if not log.looked][:_MOST_HEADS]:
                self._read(log, _HEAD)
            unseen = self._unseen(offered)
            self._look(unseen[:_MOST_HEADS])
            origins = self._origins(offered)
            rows = [self._row(log, origins) for log in logs]
            stored = self._stored_now(_PAGE_BYTES)
            rows += map(self._stored_row, stored)
            rows += self._files(offered)
            found = sorted(filter(_filter(wanted), rows), key=_order(wanted.sort), reverse=not wanted.ascending)
            page = found[wanted.start : wanted.start + wanted.limit]
            page = self._count_page(page, {log.place.full_id(log.session_id): log for log in logs}, origins)
            pending = sum(not log.is_ready for log in logs) + sum(not log.is_ready for log in stored)
            pending += len(unseen[_MOST_HEADS:])
            sources, projects = Counter(row.source for row in rows), Counter(row.project for row in rows)
            return Page(page, len(found), pending, dict(sources.most_common()), dict(projects.most_common()))

    def row(self, full_id: str) -> Listed | None:
        """Return the row of one session; None if there is none. One that is very long may not be counted whole."""
        place, session_id = self.places.find(full_id)
        with self._lock:
            if not isinstance(place.stores, Folder):
                return next((self._stored_row(log) for log in self._stored_now(_ROW_BYTES, session_id)), None)
            log = next((log for log in self._found_in(place) if log.session_id == session_id), None)
            if log is None:
                return None
            if not log.is_ready:
                self._read(log, _ROW_BYTES)
            offered = self._offered_now() if place.key == self.places.imported.key else {}
            return self._row(log, self._origins(offered))

    def count_more(self, most: int) -> int:
        """Count about so many bytes of what has not been counted yet. Return how many logs and files are left."""
        with self._lock:
            unseen = self._unseen(self._offered_now())
            if unseen:
                self._look(unseen[:_MOST_HEADS])
                unseen = unseen[_MOST_HEADS:]
            stored = [log for log in self._stored_now(0) if not log.is_ready]
            waiting: list[LogFile | StoredLog] = [log for log in self._logs_now() if not log.is_ready]
            waiting += stored
            while waiting and most > 0:
                most -= self._read(waiting[0], most) + 1
                if waiting[0].is_ready:
                    del waiting[0]
            if not waiting and not unseen:
                self.keep()
            return len(waiting) + len(unseen)

    def keep(self) -> None:
        """Keep what was counted, for the next run. If that is not possible, nothing is kept."""
        with self._lock:
            if self._is_new:
                # Those that another list of this user knows stay, unless they are gone.
                logs = {path: kept for path, kept in self._before.logs.items() if os.path.exists(path)}  # noqa: PTH110
                logs |= {path: log.kept() for path, log in self._logs.items() if log.is_ready}
                looks = {path: look for path, look in self._before.looks.items() if os.path.exists(path)}  # noqa: PTH110
                with suppress(OSError):  # a newcomer has no such folder yet
                    make_directory(self._file.parent)
                replace_whole(self._file, msgspec.msgpack.encode(_AllKept(__version__, logs, looks)))
                self._is_new = False

    def find_offered(self, path: str) -> Offered | None:
        """Return the file of this path, if it is one that is offered; None if it is not."""
        return self._offered_now().get(path)

    # ------------------------------------------------------------------ private

    def _read(self, log: LogFile | StoredLog, most: int) -> int:
        self._is_new = True
        return log.read(most)

    @property
    def _before(self) -> _AllKept:
        """What an earlier run kept, and what was looked at since."""
        if self._kept is None:
            self._kept = _read_kept(self._file)
        return self._kept

    def _logs_now(self) -> list[LogFile]:
        """Return the logs that there are now, the one written to last first."""
        found = [log for place in self.places.all() for log in self._found_in(place)]
        self._logs = {str(log.file): log for log in found}  # without those that are gone
        return sorted(found, key=lambda log: -log.changed)

    def _found_in(self, place: Place) -> Iterator[LogFile]:
        if not isinstance(place.stores, Folder):
            return
        with suppress(OSError), os.scandir(place.stores.path) as names:
            for each in names:
                name, suffix = os.path.splitext(each.name)  # noqa: PTH122 - a Path for each would take longer
                with suppress(OSError, BadSessionId):
                    if suffix != ".jsonl" or not each.is_file() or not (status := each.stat()).st_size:
                        continue
                    if (log := self._logs.get(each.path)) is None:
                        kept = self._before.logs.pop(each.path, None)
                        log = self._logs[each.path] = LogFile(place, check_session_id(name), Path(each.path), kept)
                    log.note(status)
                    yield log

    def _stored_now(self, most: int, session_id: str = "") -> list[StoredLog]:
        """Return the logs in stores that are no folders, or one of them, after at most so many bytes were read."""
        found = [log for place in self._stored for log in place.now() if session_id in ("", log.session_id)]
        for log in found:
            if most > 0 and not log.is_ready:
                most -= log.read(most) + 1
        return found

    def _stored_row(self, log: StoredLog) -> Listed:
        row = _listed(log.place, log.session_id, log.counted, log.error or log.counted.error)
        return replace(row, ready=log.is_ready, cost=self._cost_of(log.counted.usages))

    def _home_folders(self) -> list[Path]:
        return home_folders(os.environ, Path.home()) if self.places.everywhere else []

    def _offered_now(self) -> dict[str, Offered]:
        """Return the files that are offered now, by path, the one changed last first."""
        with self._lock:
            return self._offered.now()

    def _unseen(self, offered: dict[str, Offered]) -> list[Offered]:
        """Return the files that must be looked at: those that are new, or have another size."""
        looks, nothing = self._before.looks, (-1, FirstLook())
        return [each for path, each in offered.items() if looks.get(path, nothing)[0] != each.size]

    def _look(self, files: list[Offered]) -> None:
        for each in files:
            self._before.looks[str(each.path)] = (each.size, look_at(each.path))
            self._is_new = True

    def _origins(self, offered: dict[str, Offered]) -> dict[str, tuple[Offered, bool]]:
        """Return the file of each imported session that is offered now, and whether it has grown since.

        Of several, such as a copy, it is one that has grown.
        """
        found: dict[str, tuple[Offered, bool]] = {}
        for path, origin in self.imported.origins().items():
            if (now := offered.get(path)) is not None:
                grown = now.size != origin.size or (now.changed != origin.changed and bool(origin.changed))
                for session_id in origin.sessions:
                    if grown or session_id not in found:
                        found[session_id] = (now, grown)
        return found

    def _row(self, log: LogFile, origins: dict[str, tuple[Offered, bool]]) -> Listed:
        row = _listed(log.place, log.session_id, log.counted, log.counted.error)
        cost = self._cost_of(log.counted.usages)
        row = replace(row, updated=log.changed / 1e9, size=log.size, ready=log.is_ready, cost=cost)
        if log.place.key != self.places.imported.key or log.session_id not in origins:
            return row
        file, grown = origins[log.session_id]
        updated = max(self._said(file), row.updated or 0) if grown else row.updated
        return replace(row, file=str(file.path), state="grown" if grown else "session", updated=updated)

    def _said(self, file: Offered) -> float:
        """Return when the last message of a file was said, in seconds since 1970; else when the file was changed.

        That is the time that its session has once it is imported, so its row stays in its place.
        """
        _, look = self._before.looks.get(str(file.path), (-1, FirstLook()))
        return min(float(look.ended), time.time()) if look.ended is not None else file.changed / 1e9

    def _files(self, offered: dict[str, Offered]) -> Iterator[Listed]:
        """Yield the files that are not imported, without those in which nobody says anything."""
        there = {log.session_id for log in self._logs.values() if log.place.key == self.places.imported.key}
        origins = self.imported.origins()
        for path, each in offered.items():
            _, look = self._before.looks.get(path, (-1, FirstLook()))
            if look.source and not (path in origins and not there.isdisjoint(origins[path].sessions)):
                yield Listed(
                    "", each.path.name, "file", look.source, look.title, look.project, look.created,
                    self._said(each), each.size, counted=Counted(model=look.model), file=path,
                )  # fmt: skip

    def _count_page(
        self, page: list[Listed], logs: dict[str, LogFile], origins: dict[str, tuple[Offered, bool]]
    ) -> list[Listed]:
        """Count the logs of a page that have not been counted, as long as that is quick."""
        rows, most = [], _PAGE_BYTES
        for row in page:
            log = logs.get(row.id)
            if row.ready or log is None or most <= 0:
                rows.append(row)
                continue
            most -= self._read(log, most)
            rows.append(self._row(log, origins))
        return rows


def _read_kept(file: Path) -> _AllKept:
    with suppress(msgspec.DecodeError):
        found = msgspec.msgpack.decode(read_whole(file) or b"\x80", type=_AllKept)
        if found.version == __version__:
            return found
    return _AllKept()  # of another version, which may have counted in another way


def _listed(place: Place, session_id: str, counted: Counted, error: str = "") -> Listed:
    named = next((source for begin, source in _NAMES.items() if session_id.startswith(begin)), SIGHTLINE)
    source = SOURCES.get(counted.kind) or named  # a log says its kind only after its first lines
    return Listed(
        place.full_id(session_id), session_id, "session", source, counted.title, counted.project, counted.created,
        ready=True, counted=counted, error=error,
    )  # fmt: skip


def _filter(wanted: Wanted) -> Callable[[Listed], bool]:
    words = wanted.words.casefold().split()

    def matches(row: Listed) -> bool:
        if (wanted.source and row.source != wanted.source) or (wanted.project and row.project != wanted.project):
            return False
        text = f"{row.id}\n{row.name}\n{row.title}\n{row.project}".casefold()
        return all(word in text for word in words)

    return matches


def _order(sort: str) -> Callable[[Listed], Any]:
    """Return what to sort by: a field of the row, or of what was counted. What is not known is the least."""

    def key(row: Listed) -> tuple[bool, float | str, float]:
        own = getattr(row, sort) if sort in Listed.__struct_fields__ else getattr(row.counted, sort)
        if isinstance(own, str):
            return own != "", own.casefold(), row.updated or 0
        return own is not None and (row.ready or sort in ("updated", "created")), own or 0, row.updated or 0

    return key
