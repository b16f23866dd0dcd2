"""Searches all sessions of a machine at once: those of Sightline, imported ones, and logs that were never imported.

One search index is kept on disk for all of them, and extended by what is new. Of each log it has the texts that are
searched, packed, so that an answer needs no log. Everything in it can be made again from the logs: if it is lost,
damaged or of another version, it is. Several processes may use it, in different projects: one of them extends it at a
time, and each finds only what its own catalog lists.
"""

import os
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import islice
from secrets import token_hex
from threading import RLock
from typing import NamedTuple

import msgspec

from sightline.errors import BadInput, Locked, SightlineError
from sightline.files.private_files import locked_in_place, make_directory, read_whole, replace_whole
from sightline.imports.detection import conversations
from sightline.imports.source import Source
from sightline.log.stores import Derived
from sightline.log.stores.memory import MemoryStore
from sightline.log.stores.side_files import PartFile, stamp_of
from sightline.recall.search import Breadth, Hit, SearchIndex, SearchScope
from sightline.session.session import Session
from sightline.values.clock import Clock, iso, wall_clock
from sightline.values.decoders import decode_msgpack
from sightline.view.catalog.listed_logs import ListedLog
from sightline.view.catalog.listed_sessions import SessionSource
from sightline.view.catalog.places import SEARCH_FOLDER
from sightline.view.catalog.search_documents import (
    FORMAT,
    Document,
    DocumentTable,
    document_name,
    file_document,
    is_gone,
)
from sightline.view.catalog.search_rows import SearchRow, file_rows, session_rows
from sightline.view.catalog.session_catalog import SessionCatalog

_TABLE, _LOCK, _PARTS = "documents.msgpack", "lock", ".parts"
_PARTS_OF_A_FILE = 16  # at most: for each part, all lines of a log are looked at, because they refer to each other
_BYTES = 4  # of a token, about
_CHUNK = 64  # rows whose texts are packed together
_BREADTH = Breadth(0, 16, 0.3)  # what is said around a match is of no use here: `recall` shows it
_EACH = 2  # passages of one session at most
_TRIED = 8  # rows that are looked at for each session wanted: several may be of one session, or say the same
_SAID = 0.5  # added to the score of what somebody said; the best match scores about 8
_JUST_NOW = 600_000  # milliseconds: who asks has what was said since then before him, his own question above all
_MOST_DEAD = 50_000  # rows of logs that are gone or were replaced, before the index is made anew


class FoundItem(NamedTuple):
    """A thing that was said or done, and matches."""

    row: SearchRow
    score: float


class FoundSession(NamedTuple):
    """A session, or a file that could become one, and what matches in it, best first."""

    id: str
    document: Document
    items: list[FoundItem]


class Found(NamedTuple):
    """The sessions that match, best first, and the terms that counted."""

    terms: list[str]
    sessions: list[FoundSession]
    is_lost: bool = False  # the index turned out damaged: extend it and search again


class SessionSearch:
    """Searches the sessions and files of a catalog. May be used from several threads."""

    def __init__(self, catalog: SessionCatalog, *, clock: Clock = wall_clock, just_now: int = _JUST_NOW) -> None:
        """`just_now`: milliseconds; what was said since then is not found."""
        self._just_now = just_now
        self._catalog, self._folder, self._clock = catalog, catalog.places.home / SEARCH_FOLDER, clock
        self._lock = RLock()
        self._stamp: tuple[int, int, int] = (-1, 0, 0)  # of the table on disk
        self._table = DocumentTable()
        self._derived: Derived = MemoryStore()
        self._is_kept = catalog.places.may_keep  # the folder can be written to
        self._packed: dict[str, bytes] = {}  # texts that are not kept yet
        self._index = SearchIndex(self._derived)
        self._runs: list[tuple[int, int, str]] | None = None  # all runs in order, with their documents

    # ------------------------------------------------------------------ search

    def search(
        self,
        words: str,
        limit: int,
        among: Callable[[str, Document], bool] = lambda *_: True,
        is_wanted: Callable[[SearchRow], bool] | None = None,
    ) -> Found:
        """Return the sessions that match best, of those that `among` lets through. Only what is indexed is found.

        `is_wanted`: which rows may be found; None: all.
        """
        with self._lock:
            self._reload()
            listed, documents = self._shown(), self._table.documents
            wanted = {name for name, full_id in listed.items() if among(full_id, documents[name])}

            def size(row: int) -> int:
                if self._document(row) not in wanted or is_wanted is None:
                    return int(self._document(row) in wanted)
                return int((found := self._row(row)) is not None and is_wanted(found))

            scope = SearchScope(size, lambda _: True, _BREADTH)
            answers = self._index.answers(words, limit * _TRIED, scope)
            if self._index.upto < self._table.rows:
                self._forget_lost()
                return Found(answers.terms, [], is_lost=True)
            return Found(answers.terms, [*self._gathered(answers.hits, limit, listed)])

    def documents(self) -> dict[str, Document]:
        """Return what is indexed of the catalog, by the ids of sessions and files."""
        with self._lock:
            self._reload()
            return {full_id: self._table.documents[name] for name, full_id in self._shown().items()}

    def _shown(self) -> dict[str, str]:
        """Return the ids of documents that the catalog lists, by name. The index has those of other projects too."""
        ids = {document_name(source): source.id for source in self._catalog.sources()}
        return {name: ids[name] for name in self._table.documents if name in ids}

    def _gathered(self, hits: Iterable[Hit], limit: int, listed: dict[str, str]) -> Iterator[FoundSession]:
        """Put the hits of one session together. What several sessions say in the same words is given once."""
        documents, seen = self._table.documents, set[str]()
        by_document: dict[str, list[FoundItem]] = {}
        newest = iso(self._clock() - self._just_now)
        rows = [(hit, row) for hit in hits if (row := self._row(hit.row)) is not None and row.when < newest]
        for hit, row in sorted(rows, key=self._rank, reverse=True):
            name = self._document(hit.row)
            if row.text in seen or (name not in by_document and len(by_document) == limit):
                continue
            seen.add(row.text)
            if len(items := by_document.setdefault(name, [])) < _EACH:
                items.append(FoundItem(row, hit.score))
        yield from (FoundSession(listed[name], documents[name], items) for name, items in by_document.items())

    def _rank(self, match: tuple[Hit, SearchRow]) -> tuple[bool, float, float]:
        """Return what to sort by: the match, what somebody said before what a tool gave, then the newer log."""
        hit, row = match
        said = _SAID if row.kind != "tool" else 0.0
        return hit.exact, round(hit.score + said, 1), self._table.documents[self._document(hit.row)].updated

    def _document(self, row: int) -> str:
        """Return the name of the document that a row belongs to; nothing if it is gone."""
        if self._runs is None:
            documents = self._table.documents.items()
            self._runs = sorted((first, count, name) for name, document in documents for first, count in document.runs)
        at = bisect_right(self._runs, (row, 1 << 62, "")) - 1
        first, count, name = self._runs[at] if at >= 0 else (0, 0, "")
        return name if row < first + count else ""

    def _row(self, row: int) -> SearchRow | None:
        """Return what a row says; None if its text is lost."""
        assert self._runs is not None
        first = self._runs[bisect_right(self._runs, (row, 1 << 62, "")) - 1][0]
        base = first + (row - first) // _CHUNK * _CHUNK
        packed = self._packed.get(_part(base)) or self._derived.cache([_part(base)]).get(_part(base), b"")
        with suppress(zlib.error, msgspec.DecodeError, IndexError):
            return decode_msgpack(zlib.decompress(packed), list[SearchRow])[row - base]
        return None

    # ------------------------------------------------------------------ index what is new

    def extend(self, most: int) -> int:
        """Index about so many bytes of what is new, the log that changed last first. Return how many logs are left.

        While another process does that, nothing is done here.
        """
        with self._lock, ExitStack() as stack:
            try:
                if self._is_kept:
                    make_directory(self._folder)
                    stack.enter_context(locked_in_place(self._folder / _LOCK, os.O_CREAT, wait=0))
            except Locked:
                self._reload()
                return len(self._waiting(self._catalog.sources()))
            except OSError:  # a full or read-only disk: what is indexed is in memory
                self._is_kept = False
            self._reload()
            return self._extend(most)

    def _extend(self, most: int) -> int:
        sources = self._catalog.sources()
        if self._dead() > max(_MOST_DEAD, self._table.rows // 2):
            self._begin()
        others = set(self._table.documents).difference(map(document_name, sources))
        gone = {name for name in others if is_gone(name, self._catalog.places.own.stores)}
        if self._catalog.places.everywhere:  # then all who list a file agree on which session it has become
            gone |= others.intersection(map(file_document, self._catalog.imported.origins()))
        self._drop(gone)
        waiting = self._waiting(sources)
        done = 0
        for source in waiting:
            if most <= 0:
                break
            most -= self._read(source, most)
            done += self._table.documents[document_name(source)].size == source.size
        if waiting or gone:
            self._index.close()
            self._save()
        return len(waiting) - done

    def _waiting(self, sources: Iterable[SessionSource]) -> list[SessionSource]:
        unread = Document()

        def is_indexed(source: SessionSource) -> bool:
            document = self._table.documents.get(document_name(source), unread)
            return (document.size, document.changed) == (source.size, _changed(source))

        return [source for source in sources if not is_indexed(source)]

    def _read(self, source: SessionSource, most: int) -> int:
        """Index what is new in one log. Return about how many bytes were read. What cannot be read is noted."""
        name = document_name(source)
        document = self._table.documents.setdefault(name, Document())
        if source.size < document.size:
            self._drop({name})
            document = self._table.documents[name] = Document()
        if not document.look.title:
            document.look = self._catalog.look(source)
        try:
            if source.log is None:
                read, is_done = self._read_file(source, document, most)
            else:
                read, is_done = self._read_session(source, source.log, document, most)
            document.error = ""
        except (SightlineError, OSError) as error:
            read, is_done, document.error = 0, True, str(error)
        except Exception as error:  # of any file: one that nobody foresaw must not hide all others
            read, is_done, document.error = 0, True, f"it cannot be read ({type(error).__name__})"
        document.size, document.changed = (source.size if is_done else -1), _changed(source)
        return read + 1

    def _read_session(self, source: SessionSource, log: ListedLog, document: Document, most: int) -> tuple[int, bool]:
        """Index the items of a session that are new. Return about how many bytes they have, and whether that is all."""
        if source.grown is not None:
            self._catalog.imported.bring_in(source.grown.path, source.grown)
        with Session.inspect(log.session_id, log.place.project, stores=log.place.stores) as session:
            table = session.items.table()
            if document.read and (document.read > len(table) or table[document.read - 1].id != document.last):
                self._drop({document_name(source)})  # it goes on with another branch
                self._table.documents[document_name(source)] = document
                document.runs, document.read = [], 0
            read, end = 0, document.read
            while end < len(table) and read <= most:
                read, end = read + table[end].full * _BYTES, end + 1
            rows = islice(session_rows(session, document.read), end - document.read)
            self._add(document, (row for row in rows if row is not None))
            document.read, document.last = end, table[end - 1].id if end else ""
        return read, end == len(table)

    def _read_file(self, source: SessionSource, document: Document, most: int) -> tuple[int, bool]:
        """Index a file a step at a time. Return the bytes that were read, and whether that is all of it."""
        self._cut_tail(document)
        most = max(most, source.size // _PARTS_OF_A_FILE)
        if (conversation := next(conversations(Source(source.file)), None)) is None:
            raise BadInput(f"{source.file.name} holds no conversation")
        read, rows, is_done = 0, list[SearchRow](), True
        for step in file_rows(conversation, document.read):
            if read > most:  # the step before is whole, because this one has begun
                document.read, document.tail, is_done = step.line - 1, 0, False
                break
            read += step.size
            rows += step.rows
            document.read, document.tail = step.line - 1, len(step.rows)
        self._add(document, rows)
        return read, is_done

    def _cut_tail(self, document: Document) -> None:
        """Take the rows of the last step off: more lines may belong to it now."""
        while document.tail and document.runs:
            first, count = document.runs.pop()
            if count > document.tail:
                document.runs.append((first, count - document.tail))
            document.tail -= min(count, document.tail)
        self._runs = None

    def _add(self, document: Document, rows: Iterable[SearchRow]) -> None:
        """Index rows, and keep their texts."""
        first = self._table.rows = max(self._table.rows, self._index.upto)
        new = list(rows)
        if not new:
            return
        for at in range(0, len(new), _CHUNK):
            packed = zlib.compress(msgspec.msgpack.encode(new[at : at + _CHUNK]), 1)
            self._packed[_part(first + at)] = packed
        document.runs.append((first, len(new)))
        document.until = max(document.until, *(row.when for row in new))
        self._table.rows, self._runs = first + len(new), None
        self._index.add(((first + at, row.text) for at, row in enumerate(new)), self._table.rows)

    # ------------------------------------------------------------------ what is kept

    def _reload(self) -> None:
        """Read what another process has kept since."""
        path = self._folder / _TABLE
        stamp = stamp_of(path) if self._is_kept else self._stamp
        if stamp == self._stamp and self._table.generation:
            return
        table, self._stamp = DocumentTable(), stamp
        with suppress(msgspec.DecodeError):
            table = decode_msgpack(read_whole(path) or b"\x80", DocumentTable)
        if table.format != FORMAT or not table.generation:
            self._begin()
            return
        is_other = table.generation != self._table.generation
        self._table, self._runs, self._packed = table, None, {}
        if is_other:
            self._open()
        self._index.places(())  # has it read what the other process has written
        self._forget_lost()

    def _begin(self) -> None:
        """Begin an empty index, and remove what there was."""
        if self._is_kept:
            with suppress(OSError):
                for old in self._folder.glob(f"*{_PARTS}*"):
                    old.unlink(missing_ok=True)
        self._table, self._runs, self._packed = DocumentTable(generation=token_hex(8)), None, {}
        self._open()

    def _open(self) -> None:
        generation = self._table.generation
        self._derived = PartFile(self._folder / f"{generation}{_PARTS}") if self._is_kept else MemoryStore()
        self._index = SearchIndex(
            self._derived, key=generation, mark=lambda _: generation, before_writing=self._save
        )  # fmt: skip

    def _forget_lost(self) -> None:
        """Forget the documents whose rows the index does not have, because it was damaged or not written any more."""
        upto = self._index.upto
        for name, document in [*self._table.documents.items()]:
            if any(first + count > upto for first, count in document.runs):
                del self._table.documents[name]
        self._runs = None

    def _drop(self, names: set[str]) -> None:
        """Forget documents, and delete their texts."""
        gone: dict[str, bytes] = {}
        for name in names:
            for first, count in self._table.documents.pop(name).runs:
                gone |= {_part(base): b"" for base in range(first, first + count, _CHUNK)}
        if gone:
            self._derived.keep(gone)
            self._packed = {name: data for name, data in self._packed.items() if name not in gone}
        self._runs = None if names else self._runs

    def _dead(self) -> int:
        documents = self._table.documents.values()
        return self._table.rows - sum(count for document in documents for _, count in document.runs)

    def _save(self) -> None:
        """Keep texts and documents. They are kept before the index, which must know of no others."""
        if self._packed:
            self._derived.keep(self._packed)
            self._packed = {}
        if self._is_kept:
            replace_whole(self._folder / _TABLE, msgspec.msgpack.encode(self._table))
            self._stamp = stamp_of(self._folder / _TABLE)


def _changed(source: SessionSource) -> int:
    """Return when a log was changed, or the file that it was imported from if that has grown since."""
    return source.grown.changed if source.grown is not None else source.changed


def _part(base: int) -> str:
    return f"rows/{base}"
