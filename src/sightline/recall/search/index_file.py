"""The index file: SQLite, with one record for each term of each segment. A damaged file is replaced."""

import os
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from sightline.recall.search.postings import MAX_SPAN, Postings, RecentRows, Segment, no_postings, unpack

FORMAT = f"4-{sys.byteorder}"  # arrays are stored in the machine's byte order; a file of any other format is discarded
MAX_MERGED = 1 << 17  # postings of the largest segment made by merging: one merge takes at most about 0.2 s
BUSY_SECONDS = 0.5  # how long to wait for another process that is writing

SCHEMA = {
    "head": "(format TEXT, key TEXT, upto INTEGER)",
    "segment": "(number INTEGER PRIMARY KEY, base, rows, length, postings)",
    "posting": "(segment INTEGER, term TEXT, rows BLOB, PRIMARY KEY (segment, term)) WITHOUT ROWID",
}


class Damaged(sqlite3.DatabaseError):
    """The file contains values of a wrong shape."""


@contextmanager
def transaction(db: sqlite3.Connection, mode: str) -> Iterator[None]:
    """Run statements as one transaction, with one consistent state for reading.

    Raises:
        Damaged: something that was read had a wrong shape. Nothing was written.
    """
    db.execute(f"BEGIN {mode}")
    try:
        yield
        db.execute("COMMIT")
    except (TypeError, ValueError, OverflowError) as error:
        raise Damaged from error
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def open_index(path: str | None, key: str) -> sqlite3.Connection:
    """Open the file, creating or replacing it if necessary; a database in memory if no file can be used."""
    for _ in range(2 if path is not None else 0):
        try:
            return _open_file(str(path), key)
        except sqlite3.DatabaseError as error:
            if not is_damaged(error):
                break
            discard(str(path))
        except (OSError, ValueError):  # ValueError: a NUL in the path
            break
    db = _connect(":memory:")
    _claim(db, key)
    return db


def _open_file(path: str, key: str) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite creates its side files with the same mode
    db = _connect(path)
    try:
        db.execute("PRAGMA journal_mode = WAL")  # readers and one writer do not wait for each other
        db.execute("PRAGMA synchronous = NORMAL")  # a power cut may lose the last segment, but not the file
        _claim(db, key)
    except BaseException:
        db.close()
        raise
    return db


def _connect(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _claim(db: sqlite3.Connection, key: str) -> None:
    """Keep the tables if they belong to this key; otherwise make empty ones."""
    if _belongs_to(db, key):
        return
    with transaction(db, "IMMEDIATE"):
        if _belongs_to(db, key):  # another process has made them meanwhile
            return
        for table, columns in SCHEMA.items():
            db.execute(f"DROP TABLE IF EXISTS {table}")
            db.execute(f"CREATE TABLE {table} {columns}")
        db.execute("INSERT INTO head VALUES (?, ?, 0)", (FORMAT, key))


def _belongs_to(db: sqlite3.Connection, key: str) -> bool:
    has_head = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'head'").fetchone()
    return bool(has_head and db.execute("SELECT format, key FROM head").fetchone() == (FORMAT, key))


def is_damaged(error: sqlite3.DatabaseError) -> bool:
    """Return whether the file itself is bad, not merely locked, forbidden or on a full disk."""
    bad = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB)
    return isinstance(error, Damaged) or getattr(error, "sqlite_errorcode", -1) & 0xFF in bad


def discard(path: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            Path(path + suffix).unlink()


def read_head(db: sqlite3.Connection, key: str) -> tuple[int, list[Segment]]:
    """Return the first row that is not in the file, and the segments of those before it."""
    if not _belongs_to(db, key):
        raise sqlite3.DatabaseError("the file has become another log's")
    (upto,) = db.execute("SELECT upto FROM head").fetchone()
    segments = [Segment(*row) for row in db.execute("SELECT * FROM segment ORDER BY number")]
    if not all(isinstance(value, int) for value in chain([upto], *segments)):
        raise Damaged
    return upto, segments


def read_postings(db: sqlite3.Connection, wanted: Sequence[str]) -> dict[int, dict[str, Postings]]:
    """Return the postings of these terms, by segment number and term."""
    marks = ",".join("?" * len(wanted))
    found: defaultdict[int, dict[str, Postings]] = defaultdict(dict)
    sql = f"""SELECT number, term, posting.rows FROM segment CROSS JOIN posting
              WHERE posting.segment = number AND term IN ({marks})"""
    for number, term, blob in db.execute(sql, wanted):
        found[number][term] = unpack(blob)
    return found


def write_segment(db: sqlite3.Connection, segments: Sequence[Segment], recent: RecentRows) -> list[Segment]:
    """Write the recent rows as a segment, merged with the last ones that are no larger. Return all segments then."""
    kept, older, size, last = list(segments), list[Segment](), recent.count, max(recent.lengths)
    while kept and kept[-1].postings <= size <= MAX_MERGED - kept[-1].postings and last - kept[-1].base < MAX_SPAN:
        older.insert(0, kept.pop())
        size += older[0].postings
    base = older[0].base if older else recent.base
    merged: defaultdict[str, Postings] = defaultdict(no_postings)
    for segment in older:
        for term, blob in db.execute("SELECT term, rows FROM posting WHERE segment = ?", (segment.number,)):
            merged[term].extend(unpack(blob), segment.base - base)
        db.execute("DELETE FROM posting WHERE segment = ?", (segment.number,))
        db.execute("DELETE FROM segment WHERE number = ?", (segment.number,))
    for term, postings in recent.postings.items():
        merged[term].extend(postings, recent.base - base)
    rows = len(recent.lengths) + sum(s.rows for s in older)
    length = sum(recent.lengths.values()) + sum(s.length for s in older)
    new = Segment(kept[-1].number + 1 if kept else 0, base, rows, length, size)
    db.execute("INSERT INTO segment VALUES (?, ?, ?, ?, ?)", new)
    records = ((new.number, term, each.rows.tobytes() + each.classes) for term, each in sorted(merged.items()))
    db.executemany("INSERT INTO posting VALUES (?, ?, ?)", records)
    return [*kept, new]
