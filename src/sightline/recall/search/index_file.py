"""The index file: SQLite, with one record for each term of each segment. Where it is bad, it is replaced."""

import os
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from sightline.recall.search.postings import SPAN, Postings, Recent, Segment, no_postings, packed, unpacked

FORMAT = f"3-{sys.byteorder}"  # the file holds arrays as the machine has them; any other format is thrown away
SEGMENT = 1 << 17  # postings of the largest segment made by merging: bounds the pause of one merge to about 0.2 s
BUSY_SECONDS = 0.5  # how long to wait for another process that is writing

SCHEMA = {
    "head": "(format TEXT, key TEXT, upto INTEGER)",
    "segment": "(number INTEGER PRIMARY KEY, base, rows, length, postings)",
    "posting": "(segment INTEGER, term TEXT, rows BLOB, PRIMARY KEY (segment, term)) WITHOUT ROWID",
}


class Damaged(sqlite3.DatabaseError):
    """The file holds what nobody wrote."""


@contextmanager
def transaction(db: sqlite3.Connection, mode: str) -> Iterator[None]:
    """All of it or nothing; readers see one state throughout. What is read of a wrong shape is damage."""
    db.execute(f"BEGIN {mode}")
    try:
        yield
        db.execute("COMMIT")
    except (TypeError, ValueError, OverflowError) as error:
        raise Damaged from error
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def opened(path: str | None, key: str) -> sqlite3.Connection:
    """The file, made or made anew where it must be; memory where there can be none."""
    for _ in range(2 if path is not None else 0):
        try:
            return _opened_file(str(path), key)
        except sqlite3.DatabaseError as error:
            if not damaged(error):
                break
            discard(str(path))
        except (OSError, ValueError):  # ValueError: a NUL in the path
            break
    db = _connected(":memory:")
    _claim(db, key)
    return db


def _opened_file(path: str, key: str) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite gives its side files the same mode
    db = _connected(path)
    try:
        db.execute("PRAGMA journal_mode = WAL")  # readers and one writer do not wait for each other
        db.execute("PRAGMA synchronous = NORMAL")  # a power cut may lose the last segment, but not the file
        _claim(db, key)
    except BaseException:
        db.close()
        raise
    return db


def _connected(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _claim(db: sqlite3.Connection, key: str) -> None:
    """Make the tables this key's: as they are, or empty where they were another's."""
    if _belongs(db, key):
        return
    with transaction(db, "IMMEDIATE"):
        if _belongs(db, key):  # another process has just made them
            return
        for table, columns in SCHEMA.items():
            db.execute(f"DROP TABLE IF EXISTS {table}")
            db.execute(f"CREATE TABLE {table} {columns}")
        db.execute("INSERT INTO head VALUES (?, ?, 0)", (FORMAT, key))


def _belongs(db: sqlite3.Connection, key: str) -> bool:
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'head'").fetchone():
        return False
    return bool(db.execute("SELECT format, key FROM head").fetchone() == (FORMAT, key))


def damaged(error: sqlite3.DatabaseError) -> bool:
    """Whether the file itself is bad, and not merely locked, forbidden or out of room."""
    bad = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB)
    return isinstance(error, Damaged) or getattr(error, "sqlite_errorcode", -1) & 0xFF in bad


def discard(path: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            Path(path + suffix).unlink()


def stored(db: sqlite3.Connection, key: str) -> tuple[int, list[Segment]]:
    """The first row not offered yet, and the segments of those before it."""
    if not _belongs(db, key):
        raise sqlite3.DatabaseError("the file has become another log's")
    (upto,) = db.execute("SELECT upto FROM head").fetchone()
    segments = [Segment(*row) for row in db.execute("SELECT * FROM segment ORDER BY number")]
    if not all(isinstance(value, int) for value in chain([upto], *segments)):
        raise Damaged
    return upto, segments


def found_in_segments(db: sqlite3.Connection, wanted: Sequence[str]) -> dict[int, dict[str, Postings]]:
    """What the segments hold of these terms, by segment."""
    marks = ",".join("?" * len(wanted))
    found: defaultdict[int, dict[str, Postings]] = defaultdict(dict)
    sql = f"""SELECT number, term, posting.rows FROM segment CROSS JOIN posting
              WHERE posting.segment = number AND term IN ({marks})"""
    for number, term, blob in db.execute(sql, wanted):
        found[number][term] = unpacked(blob)
    return found


def written(db: sqlite3.Connection, segments: Sequence[Segment], recent: Recent) -> list[Segment]:
    """The segments there are once the recent rows are in the file, merged with older ones that are no larger."""
    kept, older, size = list(segments), list[Segment](), recent.count
    while kept and kept[-1].postings <= size <= SEGMENT - kept[-1].postings and recent.last - kept[-1].base < SPAN:
        older.insert(0, kept.pop())
        size += older[0].postings
    base = older[0].base if older else recent.base
    merged: defaultdict[str, Postings] = defaultdict(no_postings)
    for segment in older:
        _move(db, segment, merged, base)
    for term, postings in recent.postings.items():
        merged[term].extend(postings, recent.base - base)
    rows = len(recent.lengths) + sum(s.rows for s in older)
    length = sum(recent.lengths.values()) + sum(s.length for s in older)
    new = Segment(kept[-1].number + 1 if kept else 0, base, rows, length, size)
    db.execute("INSERT INTO segment VALUES (?, ?, ?, ?, ?)", new)
    records = ((new.number, term, packed(postings)) for term, postings in sorted(merged.items()))
    db.executemany("INSERT INTO posting VALUES (?, ?, ?)", records)
    return [*kept, new]


def _move(db: sqlite3.Connection, segment: Segment, merged: dict[str, Postings], base: int) -> None:
    """Out of the file, into what is merged."""
    for term, blob in db.execute("SELECT term, rows FROM posting WHERE segment = ?", (segment.number,)):
        merged[term].extend(unpacked(blob), segment.base - base)
    db.execute("DELETE FROM posting WHERE segment = ?", (segment.number,))
    db.execute("DELETE FROM segment WHERE number = ?", (segment.number,))
