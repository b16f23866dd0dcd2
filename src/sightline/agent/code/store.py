"""Code that the model has written: kept in files, found through an index, every version of it.

The files are the truth and the index is derived, so that a crash between the two can be made good:

    note what comes → put the old version by → the file → the index → what is known of it, beside it → the note goes

After a crash whoever comes next sees the note: without the file nothing has happened, with it all is finished.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from sightline.agent.code.files import CodeFiles, Pending, Shelf
from sightline.agent.code.index import CodeIndex, LostIndex, SqliteIndex
from sightline.agent.code.phrases import one_line, say
from sightline.agent.code.rebuild import Rebuilt, adopted, gathered
from sightline.agent.code.versions import Saved, advice, check_code_id, described, encoded, measured, path_of, put_by
from sightline.errors import StoreError, UnknownCode, Unwritable
from sightline.shorten.outline.languages import Language
from sightline.shorten.outline.languages import language as language_named
from sightline.values.clock import Clock, iso

__all__ = ["CodeStore", "Rebuilt", "Saved", "advice", "check_code_id"]

INDEX = "code_index.db"
PYTHON = Language("python", ".py")  # what code is in any language that is not supported
LONGEST = 1000  # characters of a description
MOST_NAMED = 10  # ids in an error: enough to see how they are named

logger = logging.getLogger("sightline.code")

Codes = list[Saved]
Value = TypeVar("Value")


class CodeStore:
    """The code of one folder: `code_index.db` and the files in `data/`.

    Any number of stores, threads and processes may use one folder. Nothing is made before the first `store`.
    """

    def __init__(self, folder: str | Path, *, clock: Clock, locale: str = "en", index: CodeIndex | None = None) -> None:
        self.folder = Path(folder)
        self.locale = locale
        self.rebuilt: Rebuilt | None = None  # what was found, where the index could not be read and was made again
        self._clock = clock
        self._files = CodeFiles(self.folder)
        self._index = index or SqliteIndex(self.folder / INDEX)
        if self._files.there:
            self._asked(lambda: self._index.versions(""))

    # ------------------------------------------------------------------ reading

    def find(self, code_id: str, version: int | None = None) -> Saved:
        """What is known of a code. Raises BadCodeId, UnknownCode."""
        versions = self.versions(code_id)
        found = [saved for saved in versions if version in (None, saved.version)]
        if not found:
            raise UnknownCode(f"{code_id}, version {version}", [f"version {saved.version}" for saved in versions])
        return found[-1]

    def read(self, code_id: str, version: int | None = None) -> str:
        """The code itself, of the newest version without a number. Raises BadCodeId, UnknownCode, StoreError."""
        saved = self.find(code_id, version)
        data = self._files.read(saved)
        if data is None or measured(saved, data).digest != saved.digest:  # edited or gone; or just being stored anew
            with suppress(Unwritable), self._writing() as shelf:
                saved = self._index.get(code_id, version) or saved
                data = shelf.content(saved)
        if data is None:
            what = f"{saved.path} is gone from {self.folder}, or is no plain file"
            raise StoreError(f"{what}: put it back, or store {code_id} again")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise StoreError(f"{saved.path} was changed by somebody and is no UTF-8 text now: {error}") from error

    def versions(self, code_id: str) -> Codes:
        """All versions of a code, the first one first. Raises BadCodeId, UnknownCode."""
        check_code_id(code_id)
        found = self._asked(lambda: self._index.versions(code_id))
        if not found:
            known = [saved.code_id for saved in self.list()]
            raise UnknownCode(code_id, get_close_matches(code_id, known, MOST_NAMED) or known[:MOST_NAMED])
        return found

    def list(self, session_id: str | None = None) -> Codes:
        """Every code or, with a session, those that it stored any version of; in the order they were first stored."""
        return self._asked(lambda: self._index.all(session_id))

    def listing(self, session_id: str | None = None, locale: str | None = None) -> str:
        """The code of a session as the model is told of it; "" where there is none."""
        locale = locale or self.locale
        lines = [
            f"- {saved.code_id} ({saved.language}) - {one_line(saved.description)}" for saved in self.list(session_id)
        ]
        return "\n".join([say("codes", locale), *lines, "", say("use codes", locale)]) if lines else ""

    # ------------------------------------------------------------------ writing

    def store(
        self, code_id: str, code: str, *, language: str = "python", description: str = "", session_id: str = ""
    ) -> Saved:
        """Save a code; one that is there already gets a new version, and the old one is kept.

        All of it or nothing: durable when it returns. In a language that is not supported it is python, with a warning.

        Raises:
            BadCodeId, BadInput: the id is none; there is no code, or it is no text.
            Unwritable: the disk refused. Nothing has changed.
        """
        check_code_id(code_id)
        data, known_as = encoded(code), language_named(str(language)) or PYTHON
        description = one_line(description or "", LONGEST) or described(code)
        with self._writing() as shelf:
            before = self._newest(shelf, code_id)
            saved = self._version(code_id, known_as, before)
            saved = measured(replace(saved, description=description, session_id=session_id), data)
            self._put(shelf, Pending(saved, None if before is None or before.is_put_by else before), data)
        logger.info("code saved: %s, version %d, %s", code_id, saved.version, saved.path)
        return replace(saved, warning=self._warning(saved, before, str(language)))

    def delete(self, code_id: str) -> None:
        """Remove a code with all its versions, for good. Raises BadCodeId, UnknownCode, Unwritable."""
        saved = self.find(code_id)
        with self._writing() as shelf:
            pending = Pending(saved, deleting=True)
            shelf.begin(pending)
            self._finish(shelf, pending)

    def rebuild(self) -> Rebuilt:
        """Make the index again from the files; what was found. Raises Unwritable."""
        with self._writing() as shelf:
            return self._rebuild(shelf)

    # ------------------------------------------------------------------ what a new version is

    def _newest(self, shelf: Shelf, code_id: str) -> Saved | None:
        """The version before this one, as its file is now; also a file that nobody stored."""
        indexed = self._surely(shelf, lambda: self._index.get(code_id))
        known = [each for each in (shelf.known(code_id), indexed) if each]
        if not known and (file := shelf.found(code_id)):
            known = [adopted(shelf.data, file, code_id, 1)]
        if not known:
            return None
        newest = max(known, key=lambda saved: saved.version)
        content = shelf.content(newest)
        return newest if content is None else measured(newest, content)

    def _version(self, code_id: str, language: Language, before: Saved | None) -> Saved:
        now = iso(self._clock())
        created_at, version = (before.created_at, before.version + 1) if before else (now, 1)
        path = path_of(code_id, language.extension)
        number = (before and before.number) or self._index.last() + 1
        return Saved(code_id, language.name, "", 0, 0, created_at, version, path, updated_at=now, number=number)

    def _warning(self, saved: Saved, before: Saved | None, language: str) -> str:
        said = []
        if language_named(language) is None:
            said.append(say("unsupported", self.locale, language=language[:40], code_id=saved.code_id))
            logger.warning("%s", said[0])
        if before is None:
            said.append(advice(saved.code_id, self.locale))
        elif before.session_id not in ("", saved.session_id):
            said.append(say("another session's", self.locale, code_id=saved.code_id, version=saved.version))
        return " ".join(filter(None, said))

    # ------------------------------------------------------------------ one store, step by step

    def _put(self, shelf: Shelf, pending: Pending, data: bytes) -> None:
        try:
            shelf.begin(pending)
            if pending.before:
                shelf.keep(pending.before)
            shelf.place(pending.saved, data)
            self._enter(shelf, pending)
        except BaseException:
            with suppress(OSError, StoreError):  # else whoever comes next settles it
                if self._index.get(pending.saved.code_id) != pending.saved:
                    shelf.undo(pending)
            raise
        with suppress(OSError):  # it is stored; whoever comes next tidies up
            shelf.finish(pending)

    def _enter(self, shelf: Shelf, pending: Pending) -> None:
        """Into the index."""
        versions = [put_by(pending.before), pending.saved] if pending.before else [pending.saved]
        self._surely(shelf, lambda: self._index.put(*versions))

    def _settle(self, shelf: Shelf) -> None:
        """Finish what a crash interrupted, or undo it where its file was not there yet."""
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
            self._surely(shelf, lambda: self._index.remove(pending.saved.code_id))
            shelf.delete(pending.saved.code_id)
            return
        if pending.before:
            shelf.keep(pending.before, again=True)
        self._enter(shelf, pending)
        shelf.finish(pending)

    # ------------------------------------------------------------------ the index

    def _asked(self, question: Callable[[], Codes]) -> Codes:
        """What the index says, when nobody is storing and it can be read."""
        if not self._files.there and not self._index.there:
            return []
        if self._files.disturbed:
            with suppress(Unwritable), self._writing():
                pass  # whoever was storing is done now, or a crash made good
        try:
            return question()
        except LostIndex:
            with self._writing() as shelf:
                return self._surely(shelf, question)

    @contextmanager
    def _writing(self) -> Iterator[Shelf]:
        """The files, for this writer alone; nothing half done, and an index that agrees with them."""
        with self._files.locked() as shelf:
            self._surely(shelf, self._index.last)
            self._settle(shelf)
            yield shelf

    def _surely(self, shelf: Shelf, question: Callable[[], Value]) -> Value:
        """What the index says; it is made again where it is lost."""
        try:
            return question()
        except LostIndex as error:
            self._rebuild(shelf, str(error))
            return question()

    def _rebuild(self, shelf: Shelf, why: str = "") -> Rebuilt:
        versions, found = gathered(shelf)
        rebuilt = replace(found, set_aside=self._index.replace(versions, is_lost=bool(why)))
        for saved in versions:
            if saved.path in (*found.adopted, *found.changed) and not saved.is_put_by:
                shelf.remember(saved)
        if why and rebuilt != Rebuilt():  # the very first index is no repair
            self.rebuilt = rebuilt
            logger.warning("the code index of %s was made again from the files (%s): %s", self.folder, why, rebuilt)
        return rebuilt
