"""Sessions in one SQLite database, as an example of a store: `Session.open(stores=SqliteStores("sessions.db"))`."""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sightline import BadInput, SessionNotFound, StoreError, Unwritable
from sightline.log.entries import decode_tip, encode
from sightline.log.stores import Line, Make, Placement, Repairs, Span, Tips, advance, check_session_id, number

TABLES = """
CREATE TABLE IF NOT EXISTS session (session TEXT PRIMARY KEY, born INTEGER, written INTEGER);
CREATE TABLE IF NOT EXISTS line (session TEXT, number INTEGER, data BLOB, PRIMARY KEY (session, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS part (session TEXT, name TEXT, data BLOB, PRIMARY KEY (session, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS content (session TEXT, digest TEXT, text, PRIMARY KEY (session, digest)) WITHOUT ROWID;"""
BORN = "SELECT born FROM session WHERE session = ?"  # tells a session from a later one of the same id


def connect(path: str | Path) -> sqlite3.Connection:
    """A connection whose commits are durable, and which several threads may use in turn."""
    db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    db.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; {TABLES}")
    return db


class SqliteStore:
    """The `Store` of one session. An offset is the number of a line."""

    def __init__(self, path: str | Path, session_id: str) -> None:
        self.session_id, self.tips, self.repairs = session_id, Tips(), Repairs()
        self._path, self._db, self._lock = path, connect(path), threading.RLock()
        self._born: list[tuple] = []

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """What is written is written whole or not at all, and by nobody else meanwhile. Raises Unwritable."""
        try:
            with self._lock, self._db:  # commits, or rolls back
                self._db.execute("BEGIN IMMEDIATE")
                if self._born not in ([], self._fetch(BORN)):
                    raise Unwritable(str(self._path), f"session {self.session_id!r} was deleted")
                yield
        except sqlite3.Error as error:
            raise Unwritable(str(self._path), str(error)) from error

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:
        with self._lock:
            with self._transaction():
                self.refresh()
                tips = self.tips.copy()
                entries = number(make, branch, expected_head, tips)
                lines = [(self.session_id, at, encode(entry)) for at, entry in enumerate(entries, start=tips.size)]
                self._db.executemany("INSERT INTO line VALUES (?, ?, ?)", lines)
                sql = "INSERT INTO session SELECT ?, random(), coalesce(max(written), 0) + 1 FROM session WHERE true"
                self._db.execute(f"{sql} ON CONFLICT DO UPDATE SET written = excluded.written", (self.session_id,))
            tips.size += len(lines)
            self._born, self.tips = self._fetch(BORN), tips
        return [Placement(entry, Span(at, len(data))) for entry, (_, at, data) in zip(entries, lines, strict=True)]

    def read_many(self, spans: Sequence[Span]) -> list[bytes]:
        found = self._select("number, data FROM line", "number", [span.offset for span in spans])
        return [found.get(span.offset, b"") for span in spans]

    def scan(self, start: int = 0) -> Iterator[Line]:
        sql = "SELECT number, data FROM line WHERE session = ? AND number >= ? AND number < ? ORDER BY number LIMIT ?"
        while page := self._fetch(sql, start, self.tips.size, 500):
            yield from (Line(Span(at, len(data)), data) for at, data in page)
            start = page[-1][0] + 1

    def refresh(self, known: Tips | None = None) -> None:
        with self._lock:
            self._born = self._born or self._fetch(BORN)
            is_known = known and not self.tips.size and self.read_many([Span(known.size - 1, 0)])[0]
            tips = known.copy() if known and is_known else self.tips.copy()
            sql = "SELECT data FROM line WHERE session = ? AND number >= ? ORDER BY number LIMIT 500"
            while page := self._fetch(sql, tips.size):
                for (data,) in page:
                    advance(tips, decode_tip(data))
                tips.size += len(page)
            self.tips = tips

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        with suppress(StoreError):
            return self._select("name, data FROM part", "name", list(names))
        return {}

    def keep(self, parts: Mapping[str, bytes]) -> None:
        with suppress(Unwritable), self._transaction():
            rows = [(self.session_id, name, data) for name, data in parts.items()]
            self._db.executemany("INSERT OR REPLACE INTO part VALUES (?, ?, ?)", rows)
            self._db.execute("DELETE FROM part WHERE session = ? AND data = x''", (self.session_id,))

    def texts(self, digests: Iterable[str]) -> dict[str, str]:
        return self._select("digest, text FROM content", "digest", list(digests))

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        with self._transaction():
            rows = [(self.session_id, digest, text) for digest, text in texts.items()]
            self._db.executemany("INSERT OR IGNORE INTO content VALUES (?, ?, ?)", rows)

    def reopened(self) -> "SqliteStore":
        return SqliteStore(self._path, self.session_id)

    def sync(self) -> None:
        """Does nothing, because every commit is durable."""

    def close(self) -> None:
        with self._lock:  # nobody uses the connection now
            self._db.close()

    def _select(self, what: str, column: str, values: list[str] | list[int]) -> dict:
        sql = f"SELECT {what} WHERE session = ? AND {column} IN (SELECT value FROM json_each(?))"
        return dict(self._fetch(sql, json.dumps(values)))

    def _fetch(self, sql: str, *values: str | int) -> list[tuple]:
        try:
            with self._lock:
                return self._db.execute(sql, (self.session_id, *values)).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"cannot read {self._path}: {error}") from error


class SqliteStores:
    """The `Stores` in one database file."""

    def __init__(self, path: str | Path) -> None:
        self._path, self._db = path, connect(path)
        self.close = self._db.close

    def sessions(self) -> list[str]:
        return [row[0] for row in self._db.execute("SELECT session FROM session ORDER BY written DESC")]

    def create(self, session_id: str) -> SqliteStore:
        if check_session_id(session_id) in self.sessions():
            raise BadInput(f"session {session_id!r} exists already")
        return SqliteStore(self._path, session_id)

    def open(self, session_id: str) -> SqliteStore:
        if check_session_id(session_id) not in self.sessions():
            raise SessionNotFound(session_id, str(self._path))
        return SqliteStore(self._path, session_id)

    def delete(self, session_id: str) -> None:
        with closing(self.open(session_id)) as store, store._transaction():
            for table in ("session", "line", "part", "content"):
                store._db.execute(f"DELETE FROM {table} WHERE session = ?", (session_id,))
