"""Code that the model has written: every version of it, in files, with an index.

The index is derived from the files. Storing has these steps, so that a crash between them can be repaired:

    write a note → copy the old version → write the file → the index → the metadata → remove the note

The next user of the store after a crash sees the note. If the file is there the steps are finished, else undone.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from sightline.documents.code.files import PENDING, Pending, Shelf, locked, read_code
from sightline.documents.code.index import CodeIndex, LostIndex
from sightline.documents.code.phrases import one_line, say
from sightline.documents.code.rebuild import Rebuilt, adopt, read_versions
from sightline.documents.code.versions import (
    Saved,
    advice,
    as_earlier,
    check_code_id,
    described,
    encoded,
    measured,
)
from sightline.errors import StoreError, UnknownCode, Unwritable
from sightline.shorten.outline.languages import Language
from sightline.shorten.outline.languages import language as language_named
from sightline.values.clock import Clock, iso

__all__ = ["CodeStore", "Rebuilt", "Saved", "advice", "check_code_id"]

INDEX = "code_index.db"
PYTHON = Language("python", ".py")  # used for languages that are not supported
LONGEST = 1000  # characters of a description
MOST_NAMED = 10  # ids in an error: enough to see how they are named

logger = logging.getLogger("sightline.code")

Codes = list[Saved]
Value = TypeVar("Value")
MakeSaved = Callable[[Saved | None, int], Saved]
"""Makes the metadata of the next version, given those of the one before and the number of the code."""


class CodeStore:
    """The code of one folder: `code_index.db` and the files in `data/`.

    Any number of stores, threads and processes may use one folder. Nothing is created before the first `store`.
    """

    def __init__(self, folder: str | Path, *, clock: Clock, locale: str = "en", index: CodeIndex | None = None) -> None:
        self.folder = Path(folder)
        self.locale = locale
        self.rebuilt: Rebuilt | None = None  # set if the index could not be read and was rebuilt
        self._clock = clock
        self._data = self.folder / "data"
        self._index = index or CodeIndex(self.folder / INDEX)
        if self._data.is_dir():
            self._query(lambda: self._index.versions(""))

    # ------------------------------------------------------------------ reading

    def find(self, code_id: str, version: int | None = None) -> Saved:
        """Return the metadata of a version, of the newest without a number. Raises BadCodeId, UnknownCode."""
        versions = self.versions(code_id)
        matching = [saved for saved in versions if version in (None, saved.version)]
        if not matching:
            raise UnknownCode(f"{code_id}, version {version}", [f"version {saved.version}" for saved in versions])
        return matching[-1]

    def read(self, code_id: str, version: int | None = None) -> str:
        """Return the code of a version, of the newest without a number. Raises BadCodeId, UnknownCode, StoreError."""
        saved = self.find(code_id, version)
        data = read_code(self._data, saved)
        if data is None or measured(saved, data).digest != saved.digest:  # edited, missing, or just being stored again
            with suppress(Unwritable), self._locked() as shelf:
                saved = self._index.get(code_id, version) or saved
                data = shelf.content(saved)
        if data is None:
            raise StoreError(
                f"{saved.path} is gone from {self.folder}, or is no plain file: put it back, or store {code_id} again"
            )
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise StoreError(f"{saved.path} was changed by somebody and is no UTF-8 text now: {error}") from error

    def versions(self, code_id: str) -> Codes:
        """Return all versions of a code, the first one first. Raises BadCodeId, UnknownCode."""
        check_code_id(code_id)
        versions = self._query(lambda: self._index.versions(code_id))
        if not versions:
            raise self._unknown(code_id)
        return versions

    def _unknown(self, code_id: str) -> UnknownCode:
        code_ids = [saved.code_id for saved in self.list()]
        return UnknownCode(code_id, get_close_matches(code_id, code_ids, MOST_NAMED) or code_ids[:MOST_NAMED])

    def list(self, session_id: str | None = None) -> Codes:
        """Return every code, or those of which a session stored any version, in the order they were first stored."""
        return self._query(lambda: self._index.all(session_id))

    def listing(self, session_id: str | None = None, locale: str | None = None) -> str:
        """Return the list of a session's code that the model sees; "" if there is none."""
        locale = locale or self.locale
        lines = [
            f"- {saved.code_id} ({saved.language}) - {one_line(saved.description)}" for saved in self.list(session_id)
        ]
        return "\n".join([say("codes", locale), *lines, "", say.template("use codes", locale)]) if lines else ""

    def place_of(self, saved: Saved) -> str:
        """Return where a version is, for people."""
        return str(self.folder / saved.path)

    # ------------------------------------------------------------------ writing

    def store(
        self, code_id: str, code: str, *, language: str = "python", description: str = "", session_id: str = ""
    ) -> Saved:
        """Save a code. If its id exists this is a new version, and the old one stays.

        It is stored as a whole or not at all, and durable when it returns. An unsupported language is stored as python,
        with a warning.

        Raises:
            BadCodeId, BadInput: the id is not valid; the code is empty, or not text.
            Unwritable: the disk refused. Nothing has changed.
        """
        check_code_id(code_id)
        data, known_as = encoded(code), language_named(str(language)) or PYTHON
        description = one_line(description or "", LONGEST) or described(code)

        def make(before: Saved | None, number: int) -> Saved:
            now = iso(self._clock())
            new = Saved(
                code_id=code_id,
                language=known_as.name,
                description=description,
                line_count=0,
                char_count=0,
                created_at=before.created_at if before else now,
                version=before.version + 1 if before else 1,
                path=f"data/{code_id}{known_as.extension}",
                session_id=session_id,
                updated_at=now,
                number=number,
            )
            return measured(new, data)

        before, saved = self.put(code_id, make, data)
        logger.info("code saved: %s, version %d, %s", code_id, saved.version, saved.path)
        return replace(saved, warning=self._warning(saved, before, str(language)))

    def put(self, code_id: str, make: MakeSaved, data: bytes) -> tuple[Saved | None, Saved]:
        """Save the next version that `make` makes of the one before, and return both. It is the only writer then.

        Raises Unwritable, and what `make` raises.
        """
        with self._locked() as shelf:
            before = self._newest(shelf, code_id)
            saved = make(before, (before and before.number) or self._index.last() + 1)
            self._put(shelf, Pending(saved, None if before is None or before.is_earlier else before), data)
        return before, saved

    def delete(self, code_id: str) -> None:
        """Delete a code with all its versions. Raises BadCodeId, UnknownCode, Unwritable."""
        pending = Pending(self.find(code_id), deleting=True)
        with self._locked() as shelf:
            shelf.begin(pending)
            self._finish(shelf, pending)

    def rebuild(self) -> Rebuilt:
        """Rebuild the index from the files, and return what was found. Raises Unwritable."""
        with self._locked() as shelf:
            return self._rebuild(shelf)

    # ------------------------------------------------------------------ a new version

    def _newest(self, shelf: Shelf, code_id: str) -> Saved | None:
        """Return the newest version, measured as its file is now; also of a file that the store did not write."""
        indexed = self._ask_index(shelf, lambda: self._index.get(code_id))
        versions = [saved for saved in (shelf.known(code_id), indexed) if saved]
        if not versions and (file := shelf.unknown_file(code_id)):
            versions = [adopt(shelf.data, file, code_id, 1)]
        if not versions:
            return None
        newest = max(versions, key=lambda saved: saved.version)
        content = shelf.content(newest)
        return newest if content is None else measured(newest, content)

    def _warning(self, saved: Saved, before: Saved | None, language: str) -> str:
        warnings = []
        if language_named(language) is None:
            warnings.append(say("unsupported", self.locale, language=language[:40], code_id=saved.code_id))
            logger.warning("%s", warnings[0])
        if before is None:
            warnings.append(advice(saved.code_id, self.locale))
        elif before.session_id not in ("", saved.session_id):
            warnings.append(say("another session's", self.locale, code_id=saved.code_id, version=saved.version))
        return " ".join(filter(None, warnings))

    # ------------------------------------------------------------------ storing, step by step

    def _put(self, shelf: Shelf, pending: Pending, data: bytes) -> None:
        try:
            shelf.begin(pending)
            if pending.before:
                shelf.keep(pending.before)
            shelf.data.write(pending.saved.file_name, data)
            self._write_index(shelf, pending)
        except BaseException:
            with suppress(OSError, StoreError):  # else the next user repairs it
                if self._index.get(pending.saved.code_id) != pending.saved:
                    shelf.undo(pending)
            raise
        with suppress(OSError):  # it is stored; the next user removes the note
            shelf.finish(pending)

    def _write_index(self, shelf: Shelf, pending: Pending) -> None:
        versions = [as_earlier(pending.before), pending.saved] if pending.before else [pending.saved]
        self._ask_index(shelf, lambda: self._index.put(*versions))

    def _repair(self, shelf: Shelf) -> None:
        """Finish an operation that a crash interrupted, or undo it if its file is not there."""
        pending = shelf.pending()
        if pending is None:
            shelf.clear()
        elif pending.deleting or shelf.holds(pending.saved) or self._index.get(pending.saved.code_id) == pending.saved:
            logger.warning("%s was interrupted; it is finished now", pending.saved.code_id)
            self._finish(shelf, pending)
        else:
            shelf.undo(pending)

    def _finish(self, shelf: Shelf, pending: Pending) -> None:
        if pending.deleting:
            self._ask_index(shelf, lambda: self._index.remove(pending.saved.code_id))
            shelf.delete(pending.saved.code_id)
            return
        if pending.before:
            shelf.keep(pending.before, again=True)
        self._write_index(shelf, pending)
        shelf.finish(pending)

    # ------------------------------------------------------------------ the index

    def _query(self, question: Callable[[], Codes]) -> Codes:
        """Ask the index, after a running operation has ended or was repaired."""
        if not self._data.is_dir() and not self._index.exists:
            return []
        if (self._data / PENDING).exists():  # an operation is running, or was interrupted by a crash
            with suppress(Unwritable), self._locked():
                pass  # locking waits for the operation, or repairs it
        try:
            return question()
        except LostIndex:
            with self._locked() as shelf:
                return self._ask_index(shelf, question)

    @contextmanager
    def _locked(self) -> Iterator[Shelf]:
        """Lock the files for this writer, and repair files and index."""
        with locked(self._data) as shelf:
            self._ask_index(shelf, self._index.last)
            self._repair(shelf)
            yield shelf

    def _ask_index(self, shelf: Shelf, question: Callable[[], Value]) -> Value:
        """Ask the index. If it is lost, it is rebuilt first."""
        try:
            return question()
        except LostIndex as error:
            self._rebuild(shelf, str(error))
            return question()

    def _rebuild(self, shelf: Shelf, why: str = "") -> Rebuilt:
        versions, report = read_versions(shelf)
        rebuilt = replace(report, set_aside=self._index.replace(versions, is_lost=bool(why)))
        for saved in versions:
            if saved.path in (*report.adopted, *report.changed) and not saved.is_earlier:
                shelf.write_metadata(saved)
        if why and rebuilt != Rebuilt():  # to create the first index is not a repair
            self.rebuilt = rebuilt
            logger.warning("the code index of %s was made again from the files (%s): %s", self.folder, why, rebuilt)
        return rebuilt
