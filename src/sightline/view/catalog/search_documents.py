"""What the search over all sessions has indexed of each log, under names that every process on a machine agrees on.

The id that is shown of a session depends on the project that a server is started in. So a document is named by where
its log is: the path of a file, or a database and the id there.
"""

import os
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

from sightline.log.stores import Stores, as_placed
from sightline.log.stores.session_folder import Folder
from sightline.values.clock import known_milliseconds
from sightline.view.catalog.listed_sessions import SessionSource
from sightline.view.catalog.offered_files import FirstLook

FORMAT = 4
_DATABASE = "#"  # before the place of a database and before an id in it; no name of a file has it


class Document(Struct, array_like=True):
    """What the index has of one log. `read` is how far: items of a session, or the line of a file."""

    size: int = -1  # when it was read; -1: not to its end
    changed: int = 0
    look: FirstLook = FirstLook()
    runs: list[tuple[int, int]] = []  # first row and number of rows
    read: int = 0
    last: str = ""  # the id of the last item that was read
    tail: int = 0  # rows of the last step of a file: it is read again if the file grows
    error: str = ""
    until: str = ""  # when the newest of its rows was said, as the log has it

    @property
    def updated(self) -> float:
        """When something was last said in it, in seconds since 1970; if that is not known, when its log was changed."""
        said = known_milliseconds(self.until)
        return self.changed / 1e9 if said is None else said / 1000


class DocumentTable(Struct):
    """All documents, by their names."""

    format: int = FORMAT
    generation: str = ""
    rows: int = 0
    documents: dict[str, Document] = {}


def document_name(source: SessionSource) -> str:
    """Return the name of the document of a log, the same in every process."""
    if source.log is not None and not isinstance(source.log.place.stores, Folder):
        return f"{_database(source.log.place.stores)}{_DATABASE}{source.log.session_id}"
    return file_document(source.file)


def file_document(file: str | Path) -> str:
    """Return the name of the document of a file."""
    return quote(os.fsencode(os.path.abspath(file)))  # noqa: PTH100 - links stay; quoted, as a path may be no text


def is_gone(name: str, own: Stores) -> bool:
    """Whether a log that is not listed is really gone, and not only of a project that is not shown.

    A database other than `own` cannot be asked: what is known of it stays.
    """
    if name.startswith(_DATABASE):
        return not isinstance(own, Folder) and name.rpartition(_DATABASE)[0] == _database(own)
    try:
        return not os.stat(unquote_to_bytes(name)).st_size  # noqa: PTH116 - bytes; an emptied log is gone too
    except OSError:
        return True


def _database(stores: Stores) -> str:
    placed = as_placed(stores)
    return f"{_DATABASE}{placed.where if placed else ''}"
