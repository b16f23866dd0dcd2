"""Sessions in one SQLite database, as an example of a store: `Session.open(stores=SqliteStores("sessions.db"))`."""

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sightline import BadInput, SessionNotFound, Unwritable
from sightline.log.entries import decode_tip, encode
from sightline.log.stores import Line, Make, Placement, Repairs, Span, Tips, check_session_id
from sightline.log.stores.sequence import advance, number

TABLES = """
CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, written INTEGER);
CREATE TABLE IF NOT EXISTS line (session TEXT, number INTEGER, data BLOB, PRIMARY KEY (session, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS part (session TEXT, name TEXT, data BLOB, PRIMARY KEY (session, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS content (session TEXT, digest TEXT, text TEXT, PRIMARY KEY (session, digest)) WITHOUT ROWID;
"""


def connect(path: str | Path) -> sqlite3.Connection:
    """A connection whose commits are durable, and which several threads may use in turn."""
    db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    db.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; {TABLES}")
    return db


class SqliteStore:
    """The `Store` of one session. An offset is the number of a line."""

    def __init__(self, path: str | Path, session_id: str) -> None:
        self.session_id = session_id
        self.tips, self.repairs = Tips(), Repairs()
        self._path, self._db, self._lock = path, connect(path), threading.RLock()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """What is written is written whole or not at all, and by nobody else meanwhile. Raises Unwritable."""
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                raise Unwritable(str(self._path), str(error)) from error
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:
        with self._lock:
            with self._transaction():
                self.refresh()
                tips = self.tips.copy()
                entries = number(make, branch, expected_head, tips)
                lines = [(self.session_id, at, encode(entry)) for at, entry in enumerate(entries, start=tips.size)]
                self._db.executemany("INSERT INTO line VALUES (?, ?, ?)", lines)
                last = "(SELECT coalesce(max(written), 0) + 1 FROM session)"
                self._db.execute(f"INSERT OR REPLACE INTO session VALUES (?, {last})", (self.session_id,))
            tips.size += len(lines)
            self.tips = tips
        return [Placement(entry, Span(at, len(data))) for entry, (_, at, data) in zip(entries, lines, strict=True)]

    def read_many(self, spans: Sequence[Span]) -> list[bytes]:
        found = self._select("number, data FROM line", "number", [span.offset for span in spans])
        return [found.get(span.offset, b"") for span in spans]

    def scan(self, start: int = 0) -> Iterator[Line]:
        sql = "SELECT number, data FROM line WHERE session = ? AND number >= ? AND number < ? ORDER BY number LIMIT ?"
        while True:
            with self._lock:
                page = self._db.execute(sql, (self.session_id, start, self.tips.size, 500)).fetchall()
            if not page:
                return
            for at, data in page:
                yield Line(Span(at, len(data)), data)
            start = page[-1][0] + 1

    def refresh(self, known: Tips | None = None) -> None:
        with self._lock:
            sql = "SELECT coalesce(max(number) + 1, 0) FROM line WHERE session = ?"
            (size,) = self._db.execute(sql, (self.session_id,)).fetchone()
            tips = known.copy() if known and not self.tips.size and known.size <= size else self.tips.copy()
            sql = "SELECT data FROM line WHERE session = ? AND number >= ? AND number < ? ORDER BY number"
            for (data,) in self._db.execute(sql, (self.session_id, tips.size, size)):
                advance(tips, decode_tip(data))
            tips.size = size
            self.tips = tips

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        with suppress(sqlite3.Error):
            return self._select("name, data FROM part", "name", list(names))
        return {}

    def keep(self, parts: Mapping[str, bytes]) -> None:
        rows = [(self.session_id, name, data) for name, data in parts.items()]
        with suppress(Unwritable), self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO part VALUES (?, ?, ?)", rows)
            self._db.execute("DELETE FROM part WHERE session = ? AND data = x''", (self.session_id,))

    def texts(self, digests: Iterable[str]) -> dict[str, str]:
        return self._select("digest, text FROM content", "digest", list(digests))

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        rows = [(self.session_id, digest, text) for digest, text in texts.items()]
        with self._transaction():
            self._db.executemany("INSERT OR IGNORE INTO content VALUES (?, ?, ?)", rows)

    def reopened(self) -> "SqliteStore":
        return SqliteStore(self._path, self.session_id)

    def sync(self) -> None:
        """Does nothing, because every commit is durable."""

    def close(self) -> None:
        self._db.close()

    def _select(self, what: str, column: str, values: list[str] | list[int]) -> dict:
        sql = f"SELECT {what} WHERE session = ? AND {column} IN (SELECT value FROM json_each(?))"
        with self._lock:
            return dict(self._db.execute(sql, (self.session_id, json.dumps(values))).fetchall())


class SqliteStores:
    """The `Stores` in one database file."""

    def __init__(self, path: str | Path) -> None:
        self._path, self._db = path, connect(path)
        self.close = self._db.close

    def sessions(self) -> list[str]:
        return [row[0] for row in self._db.execute("SELECT id FROM session ORDER BY written DESC")]

    def create(self, session_id: str) -> SqliteStore:
        if check_session_id(session_id) in self.sessions():
            raise BadInput(f"session {session_id!r} exists already")
        return SqliteStore(self._path, session_id)

    def open(self, session_id: str) -> SqliteStore:
        if check_session_id(session_id) not in self.sessions():
            raise SessionNotFound(session_id, str(self._path))
        return SqliteStore(self._path, session_id)

    def delete(self, session_id: str) -> None:
        self.open(session_id).close()
        for table, column in (("session", "id"), ("line", "session"), ("part", "session"), ("content", "session")):
            self._db.execute(f"DELETE FROM {table} WHERE {column} = ?", (session_id,))
