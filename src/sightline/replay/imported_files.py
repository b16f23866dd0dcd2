"""Imports files into the folder of imported sessions, and remembers from which file each session came."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from sightline.errors import BadInput
from sightline.imports.detection import conversations
from sightline.imports.importer import Imported, import_into
from sightline.imports.source import Source
from sightline.log.stores.disk import make_directory
from sightline.log.stores.side_files import read_whole, replace_whole
from sightline.replay.offered_files import Offered
from sightline.replay.places import Place

_NOTES = "files.json"
_READINGS = 2  # most files are read twice
_MOST_CONVERSATIONS = 1000  # of one file


class Origin(Struct, frozen=True):
    """A file as it was when it was imported, and the sessions that it became."""

    size: int
    changed: int
    sessions: tuple[str, ...]


class Import(NamedTuple):
    """What the import of one file gave."""

    imported: list[Imported]
    refused: str = ""  # why a later part of the file was not imported


class ImportedFiles:
    """The files that were imported to one place."""

    def __init__(self, place: Place) -> None:
        self.place, self._file = place, place.project / _NOTES
        self._known: tuple[bytes, dict[str, Origin]] = (b"", {})

    def origins(self) -> dict[str, Origin]:
        """Return what was imported, by the path of its file."""
        data = read_whole(self._file)
        if data != self._known[0]:
            try:
                self._known = (data, msgspec.json.decode(data or b"{}", type=dict[str, Origin]))
            except msgspec.DecodeError:  # only where sessions came from is lost
                self._known = (data, {})
        return self._known[1]

    def bring_in(
        self, file: Path, offered: Offered | None = None, tick: Callable[[float], None] = lambda _: None
    ) -> Import:
        """Import a file, or what is new in it. `offered`: it is remembered as this. `tick` gets the share that is done.

        Raises:
            BadInput: it is no recorded conversation, or what was imported has changed since.
        """
        make_directory(self.place.project)
        done: list[Imported] = []
        refused = ""
        try:
            for found in conversations(Source(file, tick=_Share(tick))):
                done.append(import_into(self.place.stores, found, self.place.project))
                if len(done) >= _MOST_CONVERSATIONS:
                    refused = f"only the first {_MOST_CONVERSATIONS} conversations of the file were imported"
                    break
        except BadInput as error:
            if not done:
                raise
            refused = str(error)
        if offered is not None:
            origin = Origin(offered.size, offered.changed, tuple(each.session for each in done))
            replace_whole(self._file, msgspec.json.encode({**self.origins(), str(offered.path): origin}))
        return Import(done, refused)


class _Share:
    """Tells which share of an import is done, of which share of the file has been read this time."""

    def __init__(self, tick: Callable[[float], None]) -> None:
        self._tick, self._readings, self._last, self._told = tick, 0, 0.0, 0.0

    def __call__(self, share: float) -> None:
        self._readings += share < self._last and self._last > 0.9
        self._last = share
        if (done := min((self._readings + share) / _READINGS, 0.99)) >= self._told + 0.01:
            self._told = done
            self._tick(done)
