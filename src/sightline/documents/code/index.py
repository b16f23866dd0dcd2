"""The index of a code store. It is derived from the files, and can be rebuilt from them."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import msgspec

from sightline.documents.code.versions import Saved, is_sound
from sightline.errors import StoreError, Unwritable
from sightline.values.decoders import convert

_FORMAT = 1  # SQLite's `user_version`; a file with another one is not ours
_BUSY_SECONDS = 10.0  # that a query waits for another: a commit takes a few milliseconds
_COLUMNS = tuple(name for name in Saved.__struct_fields__ if name != "warning")
_NAMES = ", ".join(_COLUMNS)
_SIDE_FILES = ("", "-journal", "-wal", "-shm")  # a journal that is left would be applied to the next file


class LostIndex(StoreError):
    """The index is missing, damaged, or another file."""


class CodeIndex:
    """The metadata of every version of every code, in one SQLite file. The store ensures one writer at a time.

    Every query opens and closes the file, so any number of threads and processes may use it. It has a rollback journal
    instead of WAL, because then it is one file and can be read where nothing can be written.

    All methods raise StoreError and LostIndex; `replace` with `is_lost` does not raise LostIndex.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def exists(self) -> bool:
        """Whether there is an index, readable or not."""
        return os.path.lexists(self._path)

    def get(self, code_id: str, version: int | None = None) -> Saved | None:
        """Return one version, the newest without a number; None if there is none."""
        matching = [saved for saved in self.versions(code_id) if version in (None, saved.version)]
        return matching[-1] if matching else None

    def versions(self, code_id: str) -> list[Saved]:
        """Return all versions of a code, the first one first."""
        return self._select("WHERE code_id = ? ORDER BY version", code_id)

    def all(self, session_id: str | None = None) -> list[Saved]:
        """Return the newest version of every code, or those a session stored any of, in the order of their numbers."""
        return self._select(
            "WHERE version = (SELECT max(version) FROM code AS other WHERE other.code_id = code.code_id) "
            "AND (?1 IS NULL OR code_id IN (SELECT code_id FROM code WHERE session_id = ?1)) ORDER BY number, code_id",
            session_id,
        )

    def last(self) -> int:
        """Return the highest number of a code; 0 if there is none."""
        with self._opened() as db:
            (number,) = db.execute("SELECT coalesce(max(number), 0) FROM code").fetchone()
        return int(number)

    def put(self, *versions: Saved) -> None:
        """Add or replace these versions: all or, if it fails, none."""
        with self._opened() as db:
            _insert(db, versions)

    def remove(self, code_id: str) -> None:
        """Remove all versions of a code."""
        with self._opened() as db:
            db.execute("DELETE FROM code WHERE code_id = ?", (code_id,))

    def replace(self, versions: Iterable[Saved], *, is_lost: bool = False) -> str:
        """Replace the content by these. An index that is lost is renamed: return its new name; "" if there was none."""
        if not is_lost:
            with self._opened() as db:
                db.execute("DELETE FROM code")
                _insert(db, versions)
            return ""
        set_aside = self._set_aside()
        with self._connected("rwc") as db:
            self._path.chmod(0o600)  # SQLite gives its journal the same mode
            db.execute("BEGIN IMMEDIATE")
            types = {name: "INTEGER" if Saved.__annotations__[name] is int else "TEXT" for name in _COLUMNS}
            columns = ", ".join(f"{name} {kind} NOT NULL" for name, kind in types.items())
            db.execute(f"CREATE TABLE code ({columns}, PRIMARY KEY (code_id, version))")
            db.execute("CREATE INDEX code_session ON code (session_id)")
            db.execute(f"PRAGMA user_version = {_FORMAT}")
            _insert(db, versions)
        return set_aside

    # ------------------------------------------------------------------ the file

    def _select(self, where: str, value: str | None) -> list[Saved]:
        with self._opened() as db:
            rows = db.execute(f"SELECT {_NAMES} FROM code {where}", (value,)).fetchall()
        with suppress(msgspec.ValidationError):
            versions = [convert(dict(zip(_COLUMNS, row, strict=True)), Saved) for row in rows]
            if all(map(is_sound, versions)):
                return versions
        raise LostIndex("it holds what the store did not write")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction, which is committed at the end."""
        if self._path.is_symlink() or not self._path.is_file():
            raise LostIndex("it is missing, or no file")
        with self._connected("rw") as db:
            if db.execute("PRAGMA user_version").fetchone() != (_FORMAT,):
                raise LostIndex("it is something else")
            yield db

    @contextmanager
    def _connected(self, mode: str) -> Iterator[sqlite3.Connection]:
        try:
            db = sqlite3.connect(f"{self._path.absolute().as_uri()}?mode={mode}", timeout=_BUSY_SECONDS, uri=True)
            try:
                with db:
                    yield db
            finally:
                db.close()
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the primary one of an extended code
            if code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB):
                raise LostIndex(str(error)) from error
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise StoreError(f"{self._path} is held by another program: {error}; try again") from error
            raise Unwritable(str(self._path), str(error)) from error

    def _set_aside(self) -> str:
        """Rename the file that is there to a free name, and return that name; "" if there is none."""
        if not self._path.is_symlink() and (not self._path.exists() or self._path.stat().st_size == 0):
            self._path.unlink(missing_ok=True)  # an empty one is of a crash while it was created
            return ""
        names = (f"{self._path.name}.damaged{number or ''}" for number in count())
        name = next(name for name in names if not os.path.lexists(self._path.with_name(name)))
        for suffix in _SIDE_FILES:
            with suppress(FileNotFoundError):
                self._path.with_name(self._path.name + suffix).rename(self._path.with_name(name + suffix))
        return name


def _insert(db: sqlite3.Connection, versions: Iterable[Saved]) -> None:
    db.executemany(
        f"INSERT OR REPLACE INTO code ({_NAMES}) VALUES ({', '.join('?' * len(_COLUMNS))})",
        [tuple(getattr(saved, name) for name in _COLUMNS) for saved in versions],
    )
