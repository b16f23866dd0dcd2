"""The index of a code store: quick to ask, and derived. The files can make it again."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import msgspec

from sightline.agent.code.versions import Saved, is_sound
from sightline.errors import StoreError, Unwritable

_FORMAT = 1  # SQLite's own `user_version`; a file with another one is not ours
_BUSY_SECONDS = 10.0  # that one waits for another: far more than the few milliseconds a commit takes
_COLUMNS = tuple(name for name in Saved.__struct_fields__ if name != "warning")
_NAMES = ", ".join(_COLUMNS)
_SIDE_FILES = ("", "-journal", "-wal", "-shm")  # a journal left behind would be played into the next file


class LostIndex(StoreError):
    """There is no index that can be read: it is missing, damaged, or something else."""


class CodeIndex(Protocol):
    """Knows every version of every code. One writer at a time: the store sees to that.

    All raise LostIndex, but for replacing one that is lost, and StoreError.
    """

    def get(self, code_id: str, version: int | None = None) -> Saved | None:
        """One version, the newest without a number; None where there is none."""
        ...

    def versions(self, code_id: str) -> list[Saved]:
        """All of a code's, the first one first."""
        ...

    def all(self, session_id: str | None = None) -> list[Saved]:
        """The newest version of every code of which this session stored any; in the order of the codes' numbers."""
        ...

    def last(self) -> int:
        """The highest number that any code has; 0 where there is none."""
        ...

    def put(self, *versions: Saved) -> None:
        """Add these, or know them anew: all or, if it fails, none."""
        ...

    def remove(self, code_id: str) -> None:
        """Forget all versions of a code."""
        ...

    @property
    def there(self) -> bool:
        """Whether there is anything to ask, good or bad."""
        ...

    def replace(self, versions: Iterable[Saved], *, is_lost: bool = False) -> str:
        """Begin anew with these. One that is lost is set aside: under which name; "" where there was nothing."""
        ...


class SqliteIndex:
    """The index in one SQLite file.

    Every question opens the file and closes it: any number of threads and processes may ask. With a rollback journal,
    not WAL, so that it is one file and can be read where nothing can be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def there(self) -> bool:
        """See `CodeIndex`."""
        return os.path.lexists(self._path)

    def get(self, code_id: str, version: int | None = None) -> Saved | None:
        """See `CodeIndex`."""
        found = self.versions(code_id)
        if version is not None:
            found = [saved for saved in found if saved.version == version]
        return found[-1] if found else None

    def versions(self, code_id: str) -> list[Saved]:
        """See `CodeIndex`."""
        return self._selected("WHERE code_id = ? ORDER BY version", code_id)

    def all(self, session_id: str | None = None) -> list[Saved]:
        """See `CodeIndex`."""
        newest = "WHERE version = (SELECT max(version) FROM code AS other WHERE other.code_id = code.code_id)"
        if session_id is None:
            return self._selected(f"{newest} ORDER BY number, code_id")
        theirs = "AND code_id IN (SELECT code_id FROM code WHERE session_id = ?)"
        return self._selected(f"{newest} {theirs} ORDER BY number, code_id", session_id)

    def last(self) -> int:
        """See `CodeIndex`."""
        with self._opened() as db:
            (number,) = db.execute("SELECT coalesce(max(number), 0) FROM code").fetchone()
        return int(number)

    def put(self, *versions: Saved) -> None:
        """See `CodeIndex`."""
        with self._opened() as db:
            _insert(db, versions)

    def remove(self, code_id: str) -> None:
        """See `CodeIndex`."""
        with self._opened() as db:
            db.execute("DELETE FROM code WHERE code_id = ?", (code_id,))

    def replace(self, versions: Iterable[Saved], *, is_lost: bool = False) -> str:
        """See `CodeIndex`."""
        if is_lost:
            set_aside = self._set_aside()
            self._make(versions)
            return set_aside
        with self._opened() as db:
            db.execute("DELETE FROM code")
            _insert(db, versions)
        return ""

    # ------------------------------------------------------------------ the file

    def _selected(self, where: str, *values: str) -> list[Saved]:
        with self._opened() as db:
            rows = db.execute(f"SELECT {_NAMES} FROM code {where}", values).fetchall()
        return [_saved(row) for row in rows]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The file in one transaction, committed at the end."""
        if self._path.is_symlink() or not self._path.is_file():
            raise LostIndex("it is missing, or no file")
        with self._connected("rw") as db:
            if db.execute("PRAGMA user_version").fetchone() != (_FORMAT,):
                raise LostIndex("it is something else")
            yield db

    def _make(self, versions: Iterable[Saved]) -> None:
        with self._connected("rwc") as db:
            self._path.chmod(0o600)  # SQLite gives its journal the same mode
            db.execute("BEGIN IMMEDIATE")
            columns = ", ".join(f"{name} {_type(name)} NOT NULL" for name in _COLUMNS)
            db.execute(f"CREATE TABLE code ({columns}, PRIMARY KEY (code_id, version))")
            db.execute("CREATE INDEX code_session ON code (session_id)")
            db.execute(f"PRAGMA user_version = {_FORMAT}")
            _insert(db, versions)

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
            raise self._meaning(error) from error

    def _meaning(self, error: sqlite3.DatabaseError) -> Exception:
        code = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the primary one of an extended code
        if code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB):
            return LostIndex(str(error))
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreError(f"{self._path} is held by another program: {error}; try again")
        return Unwritable(str(self._path), str(error))

    def _set_aside(self) -> str:
        """Move what is there out of the way, under a name that is free. Its name; "" where there is nothing."""
        if not self._path.is_symlink() and not self._path.exists():
            return ""
        if not self._path.is_symlink() and self._path.stat().st_size == 0:  # a crash while it was made
            self._path.unlink()
            return ""
        names = (f"{self._path.name}.damaged{number or ''}" for number in count())
        name = next(name for name in names if not os.path.lexists(self._path.with_name(name)))
        for suffix in _SIDE_FILES:
            with suppress(FileNotFoundError):
                self._path.with_name(self._path.name + suffix).rename(self._path.with_name(name + suffix))
        return name


def _type(name: str) -> str:
    return "INTEGER" if Saved.__annotations__[name] is int else "TEXT"


def _saved(row: tuple[Any, ...]) -> Saved:
    with suppress(msgspec.ValidationError):
        saved = msgspec.convert(dict(zip(_COLUMNS, row, strict=True)), Saved)
        if is_sound(saved):
            return saved
    raise LostIndex("it holds what the store did not write")


def _insert(db: sqlite3.Connection, versions: Iterable[Saved]) -> None:
    rows: list[tuple[Any, ...]] = [tuple(getattr(saved, name) for name in _COLUMNS) for saved in versions]
    db.executemany(f"INSERT OR REPLACE INTO code ({_NAMES}) VALUES ({', '.join('?' * len(_COLUMNS))})", rows)
