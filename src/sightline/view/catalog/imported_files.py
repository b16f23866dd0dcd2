"""Imports files as sessions, and knows from which file each session came.

In the folder of imported sessions a file remembers that, by path. In a database each session's own log says it, by the
name and the beginning of its file, so that every machine that has the file knows how far it was imported.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from sightline.errors import BadInput, Locked
from sightline.files.private_files import locked_in_place, make_directory, read_whole, replace_whole
from sightline.imports.conversation import FileMark
from sightline.imports.detection import conversations
from sightline.imports.importer import Imported, import_into, named_project
from sightline.imports.source import Source, begin_digest
from sightline.log.stores.session_folder import Folder
from sightline.values.decoders import decode_json
from sightline.view.catalog.offered_files import Offered
from sightline.view.catalog.places import Place

_NOTES = "files.json"
_READINGS = 2  # most files are read twice
_MOST_CONVERSATIONS = 1000  # of one file
_PIECE = 1 << 16  # bytes that are compared at once
MOST_UNPACKED = 1 << 30  # bytes of what a compressed file holds: one of a megabyte may hold a thousand times that


class ImportStopped(Exception):
    """An import was told to stop."""


class Origin(Struct, frozen=True):
    """A file as it was when it was imported, and the sessions that it became."""

    size: int
    changed: int
    sessions: tuple[str, ...]


class Import(NamedTuple):
    """What the import of one file gave. `ids`: of the sessions among those of all places."""

    imported: list[Imported]
    ids: list[str]
    refused: str = ""  # why a later part of the file was not imported


class ImportedFiles:
    """The files that were imported to one place."""

    def __init__(
        self,
        place: Place,
        offered: Callable[[], Iterable[Offered]] = tuple,
        marks: Callable[[], Iterable[tuple[str, FileMark]]] = tuple,
        of_project: Callable[[str], Place | None] = lambda _: None,
    ) -> None:
        """`of_project` gives the place of a project in a folder. What names no such project comes to `place`, and what
        is sent from elsewhere too: it could name any.

        `offered` are the files that are offered now: one that is given may be a copy of one of them.

        `marks` are the sessions of a database whose logs say which file they come from.
        """
        self.place, self._file, self._offered, self._marks = place, place.project / _NOTES, offered, marks
        self._of_project = of_project
        self._known: tuple[bytes, dict[str, Origin]] = (b"", {})
        self._digests: dict[tuple[Offered, int], str] = {}  # of the beginnings of files

    def origins(self) -> dict[str, Origin]:
        """Return what was imported, by the path of its file. In a database: of the files that are offered now."""
        return self._noted() if self._has_folder else dict(self._marked())

    @property
    def _has_folder(self) -> bool:
        return isinstance(self.place.stores, Folder)

    def _marked(self) -> Iterator[tuple[str, Origin]]:
        marks: defaultdict[str, dict[tuple[int, str], list[tuple[str, FileMark]]]] = defaultdict(dict)
        for session_id, mark in self._marks():
            marks[mark.name].setdefault((mark.compared, mark.digest), []).append((session_id, mark))
        if not marks:
            return
        offered = [*self._offered()]
        for file in offered:
            for (compared, digest), same_file in marks.get(file.path.name, {}).items():
                if file.size >= compared and self._begins_as(file, compared) == digest:
                    size = max(mark.size for _, mark in same_file)  # if a file holds several, only some have grown
                    yield str(file.path), Origin(size, 0, tuple(session_id for session_id, _ in same_file))
        now = set(offered)
        self._digests = {key: digest for key, digest in self._digests.items() if key[0] in now}

    def _begins_as(self, file: Offered, compared: int) -> str:
        if (file, compared) not in self._digests:
            try:
                self._digests[file, compared] = begin_digest(file.path, compared)
            except OSError:  # deleted since
                return ""
        return self._digests[file, compared]

    def _noted(self) -> dict[str, Origin]:
        data = read_whole(self._file)
        if data != self._known[0]:
            try:
                self._known = (data, decode_json(data or b"{}", dict[str, Origin]))
            except msgspec.DecodeError:  # only where sessions came from is lost
                self._known = (data, {})
        return self._known[1]

    def bring_in(
        self,
        file: Path,
        offered: Offered | None = None,
        tick: Callable[[float], None] = lambda _: None,
        is_stopped: Callable[[], bool] = lambda: False,
        check: Callable[[], None] = lambda: None,
    ) -> Import:
        """Import a file, or what is new in it. `offered`: it is remembered as this; else as the one it is a copy of.

        `tick` gets the share that is done. `is_stopped` is asked again and again whether to stop: what was imported
        until then stays, and the next import of the file goes on after it. `check` is called before each piece is
        written; what it raises ends the import likewise.

        Raises:
            BadInput: it is no recorded conversation, or what was imported has changed since.
            ImportStopped: it was stopped.
        """
        if self._has_folder:
            make_directory(self.place.project)
        origin_of = offered if offered is not None or not self._has_folder else self._original(file)
        done, ids = list[Imported](), list[str]()
        refused = ""
        most = max(MOST_UNPACKED, file.stat().st_size)
        try:
            for conversation in conversations(Source(file, most=most, tick=_Share(tick, is_stopped))):
                own = self._of_project(named_project(conversation)) if origin_of is not None else None
                place = own or self.place
                done.append(import_into(place.stores, conversation, place.project, check=check))
                ids.append(place.full_id(done[-1].session))
                if len(done) >= _MOST_CONVERSATIONS:
                    refused = f"only the first {_MOST_CONVERSATIONS} conversations of the file were imported"
                    break
        except BadInput as error:
            if not done:
                raise
            refused = str(error)
        if self._has_folder and origin_of is not None:
            self.remember(origin_of, tuple(imported.session for imported in done))
        return Import(done, ids, refused)

    def remember(self, offered: Offered, sessions: tuple[str, ...]) -> None:
        """Note where sessions came from. Another process may do the same, and neither note is lost."""
        origin = Origin(offered.size, offered.changed, sessions)
        with suppress(OSError, Locked), locked_in_place(self._file.with_suffix(".lock"), os.O_CREAT):
            replace_whole(self._file, msgspec.json.encode({**self._noted(), str(offered.path): origin}))

    def _original(self, file: Path) -> Offered | None:
        """Return the offered file that this one is a copy of, as long as the copy is; None if there is none."""
        try:
            size = file.stat().st_size
            for offered in self._offered():
                if offered.size >= size and _begins_with(offered.path, file):
                    return offered if offered.size == size else offered._replace(size=size, changed=0)
        except OSError:  # one of them was deleted
            pass
        return None


def _begins_with(one: Path, other: Path) -> bool:
    with one.open("rb") as long, other.open("rb") as short:
        while piece := short.read(_PIECE):
            if long.read(len(piece)) != piece:
                return False
    return True


class _Share:
    """Tells which share of an import is done, of which share of the file has been read this time."""

    def __init__(self, tick: Callable[[float], None], is_stopped: Callable[[], bool]) -> None:
        self._tick, self._is_stopped = tick, is_stopped
        self._readings, self._last, self._told = 0, 0.0, 0.0

    def __call__(self, share: float) -> None:
        if self._is_stopped():
            raise ImportStopped
        self._readings += share < self._last and self._last > 0.9
        self._last = share
        if (done := min((self._readings + share) / _READINGS, 0.99)) >= self._told + 0.01:
            self._told = done
            self._tick(done)
