"""The list of all sessions, over all projects and sources: what each is about, and what it used.

Logs are counted a piece at a time, and only again if they have changed, so that a list of a thousand takes
milliseconds. What was counted is kept in a file for the next run.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import RLock

import msgspec
from msgspec.structs import replace

from sightline.errors import BadSessionId
from sightline.files.private_files import make_directory, replace_whole
from sightline.imports.conversation import FileMark
from sightline.log.stores import as_placed, check_session_id
from sightline.log.stores.session_folder import Folder
from sightline.providers.catalog import price_of as known_price
from sightline.view.catalog.imported_files import ImportedFiles
from sightline.view.catalog.listed_logs import (
    HEAD,
    LIST_VERSION,
    KeptCount,
    KeptList,
    ListedLog,
    StoredLog,
    UnplacedLog,
    UnplacedLogs,
    read_kept,
)
from sightline.view.catalog.listed_sessions import (
    Listed,
    Page,
    SessionFacts,
    SessionSource,
    Wanted,
    file_row,
    is_live,
    row_filter,
    row_order,
    session_row,
)
from sightline.view.catalog.offered_files import (
    FILE_ID,
    FirstLook,
    Offered,
    OfferedFiles,
    file_id,
    home_folders,
    look_at,
)
from sightline.view.catalog.places import LIST_FILE, SAVINGS_FILE, Place, Places
from sightline.view.catalog.savings import money_saved
from sightline.view.costs import PriceOf

_MOST_HEADS = 200  # logs, and files, whose beginning is read for one list; others are read in the background
_PAGE_BYTES = 1 << 24  # of logs that are counted for one page, before it is shown with what is known
_ROW_BYTES = 1 << 23  # of one log that are counted before it is described
_MOST_OTHERS = 10_000  # logs in databases that are not listed now, of which is kept what was counted
_LIVE_SECONDS = 60.0


class SessionCatalog:
    """Lists the sessions of all places, and the files that are offered. May be used from several threads."""

    def __init__(
        self,
        places: Places,
        offered: tuple[Path, ...] = (),
        price_of: PriceOf = known_price,
    ) -> None:
        """`offered` are files and folders whose recordings are listed too."""
        self.places, self._price_of = places, price_of
        self._offered = OfferedFiles(offered, self._home_folders)
        self.imported = ImportedFiles(
            places.imported, lambda: self._offered_now().values(), self._marks, places.of_project
        )
        self._unplaced = [UnplacedLogs(place) for place in places.all() if as_placed(place.stores) is None]
        self._lock = RLock()
        self._logs: dict[str, ListedLog] = {}  # by path
        self._file = places.home / LIST_FILE
        self._kept: KeptList | None = None
        self._begun = time.time()
        self._is_new = False  # something was counted that is not kept yet

    def page(self, wanted: Wanted) -> Page:
        """Return a part of the list."""
        with self._lock:
            logs, offered = self._logs_now(), self._offered_now()
            for log in [log for log in logs if not log.looked][:_MOST_HEADS]:
                self._read(log, HEAD)
            unseen = self._unseen(offered)
            self._look(unseen[:_MOST_HEADS])
            origins = self._origins(offered)
            rows = [self._row(log, origins) for log in logs]
            unplaced = self._unplaced_now(_PAGE_BYTES)
            rows += map(self._unplaced_row, unplaced)
            rows += self._files(offered)
            matching = [*filter(row_filter(wanted), rows)]
            matching.sort(key=row_order(wanted.sort), reverse=not wanted.ascending)
            page = matching[wanted.start : wanted.start + wanted.limit]
            page = self._count_page(page, {log.place.full_id(log.session_id): log for log in logs}, origins)
            pending = sum(not log.is_ready for log in (*logs, *unplaced)) + len(unseen[_MOST_HEADS:])
            sources, projects = Counter(row.facts.source for row in rows), Counter(row.facts.project for row in rows)
            return Page(
                [*map(self._facts, page)],
                len(matching),
                sum(row.facts.state != "session" for row in matching),
                pending,
                dict(sources.most_common()),
                dict(projects.most_common()),
            )

    def row(self, full_id: str) -> SessionFacts | None:
        """Return the row of one session; None if there is none. One that is very long may not be counted whole."""
        place, session_id = self.places.find(full_id)
        with self._lock:
            if as_placed(place.stores) is None:
                return next((self._unplaced_row(log).facts for log in self._unplaced_now(_ROW_BYTES, session_id)), None)
            matching = (listed for listed in self._found_in(place, self._logs) if listed[1].session_id == session_id)
            key, log = next(matching, ("", None))
            if log is None:
                return None
            self._logs[key] = log
            if not log.is_ready:
                self._read(log, _ROW_BYTES)
            offered = self._offered_now() if self._is_imported(place) else {}
            return self._facts(self._row(log, self._origins(offered)))

    def count_more(self, most: int) -> int:
        """Count about so many bytes of what has not been counted yet. Return how many logs and files are left."""
        with self._lock:
            unseen = self._unseen(self._offered_now())
            if unseen:
                self._look(unseen[:_MOST_HEADS])
                unseen = unseen[_MOST_HEADS:]
            waiting = [log for log in (*self._logs_now(), *self._unplaced_now(0)) if not log.is_ready]
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
            if self._is_new and self.places.may_keep:
                logs = self._still_there(self._before.logs)
                logs |= {path: log.kept() for path, log in self._logs.items() if log.is_ready}
                looks = {path: look for path, look in self._before.looks.items() if _exists(path)}
                with suppress(OSError):  # a newcomer has no such folder yet
                    make_directory(self._file.parent)
                replace_whole(self._file, msgspec.msgpack.encode(KeptList(LIST_VERSION, logs, looks)))
                self._keep_savings()
                self._is_new = False

    def _keep_savings(self) -> None:
        """Keep what was saved in all sessions of this machine, for the status line of Claude Code: it must be quick."""
        if self.places.everywhere:
            saved = (money_saved(log.counted.saved, self._price_of) for log in self._logs.values())
            dollars = round(sum(filter(None, saved)), 2)
            replace_whole(self.places.home / SAVINGS_FILE, msgspec.json.encode({"dollars": dollars}))

    def sources(self) -> list[SessionSource]:
        """Return every log of a session and every offered file, the one changed last first. None of them is read.

        A file that was imported is its session.
        """
        with self._lock:
            offered = self._offered_now()
            origins = self._origins(offered)
            sources = []
            for log in self._logs_now():
                file, grown = (
                    origins.get(log.session_id, (None, False)) if self._is_imported(log.place) else (None, False)
                )
                full_id, grown_file = log.place.full_id(log.session_id), file if grown else None
                sources.append(SessionSource(full_id, log.file, log.size, log.changed, log, grown_file))
            imported = self._imported_files()
            files = (offer for path, offer in offered.items() if path not in imported)
            sources += [SessionSource(file_id(file.path), file.path, file.size, file.changed) for file in files]
            return sorted(sources, key=lambda source: -source.changed)

    def look(self, source: SessionSource) -> FirstLook:
        """Return what a session or file is about, by its first lines."""
        with self._lock:
            return look_at(source.file) if source.log is None else source.log.look()

    def locate(self, full_id: str) -> tuple[Place, str]:
        """Return the place of a session, and its id there. What is new in the file of a session is imported first.

        So is a file that was not imported: `full_id` may be that of a file, see `SessionSource`.

        Raises:
            BadSessionId, SessionNotFound: there is no such session or file.
            BadInput: the file is no recorded conversation, or what was imported has changed since.
        """
        with self._lock:
            offered = self._offered_now()
            named = (offer for offer in offered.values() if file_id(offer.path) == full_id)
            if full_id.startswith(FILE_ID) and (file := next(named, None)) is not None:
                return self.places.find(self._bring_in(file))
            place, own_id = self.places.find(full_id)
            if self._is_imported(place):
                origin, grown = self._origins(offered).get(own_id, (None, False))
                if origin is not None and grown:
                    self.imported.bring_in(origin.path, origin)
            if isinstance(place.stores, Folder):
                place.stores.existing(own_id)
            return place, own_id

    def _bring_in(self, file: Offered) -> str:
        """Import a file, or what is new in it. Return the id of its session among those of all places."""
        origin = self.imported.origins().get(str(file.path))
        if origin is not None and origin.size == file.size and origin.changed in (0, file.changed):
            logs = (log for log in self._logs_now() if log.session_id in origin.sessions[:1])
            if (log := next(logs, None)) is not None:
                return log.place.full_id(log.session_id)
        return self.imported.bring_in(file.path, file).ids[0]

    def find_offered(self, path: str) -> Offered | None:
        """Return the file of this path, if it is one that is offered; None if it is not."""
        return self._offered_now().get(path)

    # ------------------------------------------------------------------ private

    def _read(self, log: ListedLog, most: int) -> int:
        self._is_new = True
        return log.read(most)

    def _still_there(self, kept: dict[str, KeptCount]) -> dict[str, KeptCount]:
        """Return those of other lists of this user that are not gone. Of other databases nobody knows: the newest stay.

        Those of our own place that are there were taken out when they were found.
        """
        placed = as_placed(self.places.own.stores)
        own = f"{placed.where}#" if placed is not None else "#"
        others = [path for path in kept if _is_address(path) and not path.startswith(own)]
        others.sort(key=lambda path: -kept[path].changed)
        files = (path for path in kept if not _is_address(path) and _exists(path))
        return {path: kept[path] for path in (*files, *others[:_MOST_OTHERS])}

    @property
    def _before(self) -> KeptList:
        """What an earlier run kept, and what was looked at since."""
        if self._kept is None:
            self._kept = read_kept(self._file)
        return self._kept

    def _logs_now(self) -> list[ListedLog]:
        """Return the logs that there are now, the one written to last first."""
        before, self._logs = self._logs, {}  # without those that are gone
        self._logs = {key: log for place in self.places.all() for key, log in self._found_in(place, before)}
        key = self.places.imported.key
        elsewhere = {log.session_id for log in self._logs.values() if log.place.key != key}
        if key:  # what was looked at, and then imported to its project, is listed there
            twice = [path for path, log in self._logs.items() if log.place.key == key and log.session_id in elsewhere]
            for path in twice:
                del self._logs[path]
        return sorted(self._logs.values(), key=lambda log: -log.changed)

    def _found_in(self, place: Place, before: dict[str, ListedLog]) -> Iterator[tuple[str, ListedLog]]:
        """Yield the logs of a place, each with its key."""
        if not isinstance(place.stores, Folder):
            yield from self._found_in_database(place, before)
            return
        with suppress(OSError), os.scandir(place.stores.path) as names:
            for file in names:
                name, suffix = os.path.splitext(file.name)  # noqa: PTH122 - a Path for each would take longer
                with suppress(OSError, BadSessionId):
                    if suffix != ".jsonl" or not file.is_file() or not (status := file.stat()).st_size:
                        continue
                    if (log := before.get(file.path)) is None:
                        kept = self._before.logs.pop(file.path, None)
                        log = ListedLog(place, check_session_id(name), Path(file.path), kept)
                    log.note(status.st_size, status.st_mtime_ns, status.st_ino)
                    yield file.path, log

    def _found_in_database(self, place: Place, before: dict[str, ListedLog]) -> Iterator[tuple[str, ListedLog]]:
        if (stores := as_placed(place.stores)) is None:
            return
        for written in stores.written():
            key = f"{stores.where}#{written.session_id}"
            if (log := before.get(key)) is None:
                log = StoredLog(place, written.session_id, self._before.logs.pop(key, None))
            log.note(written.size, round(written.seconds * 1e9))
            yield key, log

    def _unplaced_now(self, most: int, session_id: str = "") -> list[UnplacedLog]:
        """Return the logs in stores that know no sizes and times, or one, after at most so many bytes were read."""
        matching = [log for logs in self._unplaced for log in logs.now() if session_id in ("", log.session_id)]
        for log in matching:
            if most > 0 and not log.is_ready:
                most -= log.read(most) + 1
        return matching

    def _unplaced_row(self, log: UnplacedLog) -> Listed:
        return session_row(log.place, log.session_id, log.counted, self._price_of, ready=log.is_ready)

    def _home_folders(self) -> list[Path]:
        return home_folders(os.environ, Path.home()) if self.places.everywhere else []

    def _offered_now(self) -> dict[str, Offered]:
        """Return the files that are offered now, by path, the one changed last first."""
        with self._lock:
            return self._offered.now()

    def _unseen(self, offered: dict[str, Offered]) -> list[Offered]:
        """Return the files that must be looked at: those that are new, or have another size."""
        looks, nothing = self._before.looks, (-1, FirstLook())
        return [file for path, file in offered.items() if looks.get(path, nothing)[0] != file.size]

    def _look(self, files: list[Offered]) -> None:
        for file in files:
            self._before.looks[str(file.path)] = (file.size, look_at(file.path))
            self._is_new = True

    def _origins(self, offered: dict[str, Offered]) -> dict[str, tuple[Offered, bool]]:
        """Return the file of each imported session that is offered now, and whether it has grown since.

        Of several, such as a copy, it is one that has grown.
        """
        origins: dict[str, tuple[Offered, bool]] = {}
        for path, origin in self.imported.origins().items():
            if (now := offered.get(path)) is not None:
                grown = now.size != origin.size or (now.changed != origin.changed and bool(origin.changed))
                for session_id in origin.sessions:
                    if grown or session_id not in origins:
                        origins[session_id] = (now, grown)
        return origins

    def _row(self, log: ListedLog, origins: dict[str, tuple[Offered, bool]]) -> Listed:
        updated, origin = log.changed / 1e9, origins.get(log.session_id) if self._is_imported(log.place) else None
        if origin is not None and origin[1]:
            updated = max(self._said(origin[0]), updated)
        row = session_row(
            log.place, log.session_id, log.counted, self._price_of, ready=log.is_ready,
            size=log.size, updated=updated,
        )  # fmt: skip
        if origin is None:
            return row
        file, grown = origin
        return row._replace(facts=replace(row.facts, file=str(file.path), state="grown" if grown else "session"))

    def _facts(self, row: Listed) -> SessionFacts:
        since = max(self._begun, time.time() - _LIVE_SECONDS)
        return replace(row.facts, live=is_live(row, self.places.imported, since))

    def _is_imported(self, place: Place) -> bool:
        """Whether sessions of this place may come from files that are offered."""
        return isinstance(place.stores, Folder) or place.key == self.places.imported.key

    def _marks(self) -> list[tuple[str, FileMark]]:
        """Return the sessions whose logs say which file they come from, as far as they were counted."""
        most = _PAGE_BYTES
        imported = [log for log in self._logs.values() if self._is_imported(log.place) and log.counted.file]
        for log in imported:
            if most > 0 and not log.is_ready:  # it has grown: so may have what was imported
                most -= self._read(log, most)
        return [(log.session_id, mark) for log in imported if (mark := log.counted.file) is not None]

    def _said(self, file: Offered) -> float:
        """Return when the last message of a file was said, in seconds since 1970; else when the file was changed.

        That is the time that its session has once it is imported, so its row stays in its place.
        """
        _, look = self._before.looks.get(str(file.path), (-1, FirstLook()))
        return min(float(look.ended), time.time()) if look.ended is not None else file.changed / 1e9

    def _imported_files(self) -> set[str]:
        """Return the files that are listed as the session that they became."""
        there = {log.session_id for log in self._logs.values() if self._is_imported(log.place)}
        origins = self.imported.origins().items()
        return {path for path, origin in origins if not there.isdisjoint(origin.sessions)}

    def _files(self, offered: dict[str, Offered]) -> Iterator[Listed]:
        """Yield the files that are not imported, without those in which nobody says anything."""
        imported = self._imported_files()
        for path, file in offered.items():
            _, look = self._before.looks.get(path, (-1, FirstLook()))
            if look.source and path not in imported:
                yield file_row(file, look, self._said(file))

    def _count_page(
        self, page: list[Listed], logs: dict[str, ListedLog], origins: dict[str, tuple[Offered, bool]]
    ) -> list[Listed]:
        """Count the logs of a page that have not been counted, as long as that is quick."""
        rows, most = [], _PAGE_BYTES
        for row in page:
            log = logs.get(row.facts.id)
            if row.facts.ready or log is None or most <= 0:
                rows.append(row)
                continue
            most -= self._read(log, most)
            rows.append(self._row(log, origins))
        return rows


def _is_address(path: str) -> bool:
    """Whether this names a log in a database."""
    return "://" in path


def _exists(path: str) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - many, and only texts
