"""The list of all sessions, over all projects and sources: what each is about, and what it used.

Logs are counted a piece at a time, and only again if they have changed, so that a list of a thousand takes
milliseconds. What was counted is kept in a file for the next run.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from sightline import __version__
from sightline.errors import BadSessionId, SightlineError
from sightline.log.stores import as_placed, check_session_id
from sightline.log.stores.disk import make_directory
from sightline.log.stores.session_folder import Folder
from sightline.log.stores.side_files import replace_whole
from sightline.replay.imported_files import ImportedFiles
from sightline.replay.listed_logs import KeptList, ListedLog, StoredLog, read_kept
from sightline.replay.log_count import Counted, LogCount
from sightline.replay.offered_files import (
    CLAUDE_CODE,
    CODEX,
    FILE_ID,
    SIGHTLINE,
    SOURCES,
    FirstLook,
    Offered,
    file_id,
    find_offered,
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


class SessionSource(NamedTuple):
    """Where a session is stored, or a file that could become one."""

    id: str  # as paths have it, or that of the file
    file: Path
    size: int
    changed: int  # when, in nanoseconds since 1970
    place: Place | None = None  # None: a file that was not imported
    grown: Offered | None = None  # the file that it was imported from, if that has grown since


class SessionCatalog:
    """Lists the sessions of all places, and the files that are offered. May be used from several threads."""

    def __init__(
        self,
        places: Places,
        offered: tuple[Path, ...] = (),
        cost_of: Callable[[Mapping[str, Usage]], float | None] = lambda _: None,
    ) -> None:
        """`offered` are files and folders whose recordings are listed too. `cost_of` what was used, by model."""
        self.places, self._named, self._cost_of = places, offered, cost_of
        self.imported = ImportedFiles(places.imported)
        self._lock = RLock()
        self._logs: dict[str, ListedLog] = {}  # by path
        self._file = places.home / _KEPT
        self._kept: KeptList | None = None
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
            rows += self._others()
            rows += self._files(offered, {row.file for row in rows})
            found = sorted(filter(_filter(wanted), rows), key=_order(wanted.sort), reverse=not wanted.ascending)
            page = found[wanted.start : wanted.start + wanted.limit]
            page = self._count_page(page, {log.place.full_id(log.session_id): log for log in logs}, origins)
            pending = sum(not log.is_ready for log in logs) + len(unseen[_MOST_HEADS:])
            sources, projects = Counter(row.source for row in rows), Counter(row.project for row in rows)
            return Page(page, len(found), pending, dict(sources.most_common()), dict(projects.most_common()))

    def row(self, full_id: str) -> Listed | None:
        """Return the row of one session; None if there is none. One that is very long may not be counted whole."""
        place, session_id = self.places.find(full_id)
        with self._lock:
            if as_placed(place.stores) is None:
                return next((row for row in self._others() if row.id == full_id), None)
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
            waiting = [log for log in self._logs_now() if not log.is_ready]
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
                logs = {path: log.kept() for path, log in self._logs.items() if log.is_ready}
                with suppress(OSError):  # a newcomer has no such folder yet
                    make_directory(self._file.parent)
                replace_whole(self._file, msgspec.msgpack.encode(KeptList(__version__, logs, self._before.looks)))
                self._is_new = False

    def sources(self) -> list[SessionSource]:
        """Return every log of a session and every offered file, the one changed last first. None of them is read.

        A file that was imported is its session.
        """
        with self._lock:
            offered = self._offered_now()
            origins = self._origins(offered)
            found, imported = [], set()
            for log in self._logs_now():
                file, grown = origins.get(log.session_id, (None, False)) if self._is_imported(log) else (None, False)
                imported.add(str(file.path) if file else "")
                full_id, grown_file = log.place.full_id(log.session_id), file if grown else None
                found.append(SessionSource(full_id, log.file, log.size, log.changed, log.place, grown_file))
            files = (each for path, each in offered.items() if path not in imported)
            found += [SessionSource(file_id(each.path), each.path, each.size, each.changed) for each in files]
            return sorted(found, key=lambda each: -each.changed)

    def locate(self, full_id: str) -> tuple[Place, str]:
        """Return the place of a session, and its id there. What is new in the file of a session is imported first.

        So is a file that was not imported: `full_id` may be that of a file, see `SessionSource`.

        Raises:
            BadSessionId, SessionNotFound: there is no such session or file.
            BadInput: the file is no recorded conversation, or what was imported has changed since.
        """
        with self._lock:
            offered = self._offered_now()
            named = (each for each in offered.values() if file_id(each.path) == full_id)
            if full_id.startswith(FILE_ID) and (file := next(named, None)) is not None:
                return self.places.imported, self._bring_in(file)
            place, own_id = self.places.find(full_id)
            if place.key == self.places.imported.key:
                origin, grown = self._origins(offered).get(own_id, (None, False))
                if origin is not None and grown:
                    self.imported.bring_in(origin.path, origin)
            if isinstance(place.stores, Folder):
                place.stores.existing(own_id)
            return place, own_id

    def _bring_in(self, file: Offered) -> str:
        """Import a file, or what is new in it. Return the id of its session."""
        origin, stores = self.imported.origins().get(str(file.path)), self.places.imported.stores
        is_same = origin is not None and (origin.size, origin.changed) == (file.size, file.changed)
        if origin is not None and is_same and origin.sessions and origin.sessions[0] in stores.sessions():
            return origin.sessions[0]
        return self.imported.bring_in(file.path, file).imported[0].session

    def find_offered(self, path: str) -> Offered | None:
        """Return the file of this path, if it is one that is offered; None if it is not."""
        return self._offered_now().get(path)

    # ------------------------------------------------------------------ private

    def _read(self, log: ListedLog, most: int) -> int:
        self._is_new = True
        return log.read(most)

    @property
    def _before(self) -> KeptList:
        """What an earlier run kept, and what was looked at since."""
        if self._kept is None:
            self._kept = read_kept(self._file)
        return self._kept

    def _logs_now(self) -> list[ListedLog]:
        """Return the logs that there are now, the one written to last first."""
        found = [log for place in self.places.all() for log in self._found_in(place)]
        return sorted(found, key=lambda log: -log.changed)

    def _found_in(self, place: Place) -> Iterator[ListedLog]:
        if not isinstance(place.stores, Folder):
            yield from self._found_in_database(place)
            return
        with suppress(OSError), os.scandir(place.stores.path) as names:
            for each in names:
                name, suffix = os.path.splitext(each.name)  # noqa: PTH122 - a Path for each would take longer
                with suppress(OSError, BadSessionId):
                    if suffix != ".jsonl" or not each.is_file() or not (status := each.stat()).st_size:
                        continue
                    if (log := self._logs.get(each.path)) is None:
                        kept = self._before.logs.pop(each.path, None)
                        log = self._logs[each.path] = ListedLog(place, check_session_id(name), Path(each.path), kept)
                    log.note(status.st_size, status.st_mtime_ns)
                    yield log

    def _found_in_database(self, place: Place) -> Iterator[ListedLog]:
        if (stores := as_placed(place.stores)) is None:
            return
        for written in stores.written():
            key = f"{stores.where}#{written.session_id}"
            if (log := self._logs.get(key)) is None:
                log = self._logs[key] = StoredLog(place, written.session_id, self._before.logs.pop(key, None))
            log.note(written.size, round(written.seconds * 1e9))
            yield log

    def _others(self) -> Iterator[Listed]:
        """Yield the sessions of stores that know no sizes and times, so each is read."""
        for place in self.places.all():
            if as_placed(place.stores) is not None:
                continue
            for session_id in place.stores.sessions():
                count, error = LogCount(), ""
                try:
                    with closing(place.stores.open(session_id)) as store:
                        store.refresh()
                        count.add(line.data for line in store.scan())
                except SightlineError as failure:
                    error = str(failure)
                counted = count.counted()
                row = _listed(place, session_id, counted, error or counted.error)
                yield replace(row, cost=self._cost_of(counted.usages))

    def _offered_now(self) -> dict[str, Offered]:
        """Return the files that are offered now, by path, the one changed last first."""
        folders = home_folders(os.environ, Path.home()) if self.places.everywhere else []
        found = sorted(find_offered(self._named, folders), key=lambda each: -each.changed)
        return {str(each.path): each for each in found}

    def _unseen(self, offered: dict[str, Offered]) -> list[Offered]:
        """Return the files that must be looked at: new ones, and those that said nothing and have grown."""
        looks, nothing = self._before.looks, (-1, FirstLook())
        known = ((each, looks.get(path, nothing)) for path, each in offered.items())
        return [each for each, (size, look) in known if size < 0 or (size != each.size and not look.title)]

    def _look(self, files: list[Offered]) -> None:
        for each in files:
            self._before.looks[str(each.path)] = (each.size, look_at(each.path))
            self._is_new = True

    def _origins(self, offered: dict[str, Offered]) -> dict[str, tuple[Offered, bool]]:
        """Return the file of each imported session that is offered now, and whether it has grown since."""
        return {
            session_id: (now, (now.size, now.changed) != (origin.size, origin.changed))
            for path, origin in self.imported.origins().items()
            if (now := offered.get(path)) is not None
            for session_id in origin.sessions
        }

    def _row(self, log: ListedLog, origins: dict[str, tuple[Offered, bool]]) -> Listed:
        row = _listed(log.place, log.session_id, log.counted, log.counted.error)
        cost = self._cost_of(log.counted.usages)
        row = replace(row, updated=log.changed / 1e9, size=log.size, ready=log.is_ready, cost=cost)
        if not self._is_imported(log) or log.session_id not in origins:
            return row
        file, grown = origins[log.session_id]
        updated = max(file.changed / 1e9, row.updated or 0) if grown else row.updated
        return replace(row, file=str(file.path), state="grown" if grown else "session", updated=updated)

    def _is_imported(self, log: ListedLog) -> bool:
        return log.place.key == self.places.imported.key

    def _files(self, offered: dict[str, Offered], listed: set[str | None]) -> Iterator[Listed]:
        """Yield the files that are not imported, without those in which nobody says anything."""
        for path, each in offered.items():
            _, look = self._before.looks.get(path, (-1, FirstLook()))
            if path not in listed and look.source:
                yield Listed(
                    "", each.path.name, "file", look.source, look.title, look.project, look.created,
                    each.changed / 1e9, each.size, counted=Counted(model=look.model), file=path,
                )  # fmt: skip

    def _count_page(
        self, page: list[Listed], logs: dict[str, ListedLog], origins: dict[str, tuple[Offered, bool]]
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


def source_named(session_id: str) -> str:
    """Return where a session comes from, by how its id begins."""
    return next((source for begin, source in _NAMES.items() if session_id.startswith(begin)), SIGHTLINE)


def _listed(place: Place, session_id: str, counted: Counted, error: str = "") -> Listed:
    source = SOURCES.get(counted.kind) or source_named(session_id)  # a log says its kind only after its first lines
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
