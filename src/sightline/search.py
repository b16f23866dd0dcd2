"""Finding rows of a timeline by what they say: terms, an incremental BM25 index, and the lines of a text that answer.

The index is derived from the log and disposable. Its postings lie in a SQLite file in segments of consecutive rows,
the newest ones in memory until there are enough of them; what a crash takes is offered again, because `upto` says so.
"""

import heapq
import math
import os
import re
import sqlite3
import sys
import threading
import unicodedata
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

FORMAT = f"1-{sys.byteorder}"  # the file holds arrays as the machine has them; any other format is thrown away

K1 = 1.2  # a word said again adds little; the usual value: 0.9 and 1.6 found within a point of the same
B = 0.6  # how much length counts against a row; 0.4 found most in English chats and meetings, 0.75 in Chinese ones
COMMON = 0.3  # a term in more than this share of the rows says nothing about any of them
COMMON_FROM = 20  # rows; in fewer, a share says nothing either
QUERY_TERMS = 64  # of a pasted page the longest terms, which are the rare ones; bounds the look-ups of one search
SCANNED = 6_000  # postings one search reads in full; terms beyond only add to rows found: 5 ms at 100,000 rows

INDEXED = 65_536  # characters of a row's text that are indexed: beyond it head, tail and samples between
HEAD = TAIL = INDEXED * 3 // 8  # what a text is about stands at its ends
SAMPLE = 1_024  # characters of one sample of the middle
TERM = 64  # characters of a term; longer ones (base64, minified code) are known by their beginning
PIECES = 4  # a word falling into more pieces is a hash, not a name

FLUSHED = 1 << 15  # postings kept in memory before they become a segment: 0.2 s to make again after a crash
SEGMENT = 1 << 17  # postings of the largest segment made by merging: bounds the pause of one merge to about 0.2 s
SPAN = 1 << 16  # rows are 16 bit within a segment
BUSY_SECONDS = 0.5  # how long to wait for another process that is writing

CONTEXT = 2  # lines shown around a matching line
CANDIDATES = 200  # lines tried for one set of passages; a reader has no use for more places
LONGEST_TOKEN = 128  # characters; no vocabulary in use has a longer one, so a text beyond this is not worth counting

# --- terms -----------------------------------------------------------------------------------------------------------

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"  # written without spaces
GROUPED = r"\d{1,3}(?:,\d{3})+(?!\d)"  # 1,200 is 1200
CHUNK = re.compile(rf"[{CJK}]+|{GROUPED}|[^\W{CJK}]+(?:[-./\\@'][^\W{CJK}]+)*")
ASCII_CHUNK = re.compile(rf"{GROUPED}|\w+(?:[-./\\@']\w+)*", re.ASCII)  # the same for plain text, and faster
JOINT = re.compile(r"[-.@_]+")
PATH = re.compile(r"[/\\]")
SUFFIXES = {
    "s": (("ies", "y"), ("es", ""), ("s", "")),
    "d": (("ied", "y"), ("ed", "")),
    "g": (("ing", ""),),
}
HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# Function words of English questions: in a short history they are rare enough to look like names.
FUNCTION_WORDS = """
    a an the and or but if so as of to in on at by for from with about into than then that this these those there it
    its is am are was were be been being do does did done have has had will would can could should may might must not
    no i me my we us our you your he him his she her they them their what when where who whom whose which why how
    any some many much tell say said please
"""


def terms(text: str) -> list[str]:
    """What a text can be found by, in order, repeated as often as it is said.

    Words are NFKC, lower-cased and lightly stemmed. Identifiers, paths and addresses stand whole and in pieces (snake,
    camel, path). Chinese, Japanese and Korean runs become their characters and their pairs. No term holds a space.
    """
    if text.isascii():
        return list(chain.from_iterable(map(_chunk_terms, ASCII_CHUNK.findall(text))))
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    return list(chain.from_iterable(map(_chunk_terms, CHUNK.findall(text))))


@lru_cache(maxsize=1 << 14)  # words repeat: nine chunks of ten are known
def _chunk_terms(chunk: str) -> tuple[str, ...]:
    """The terms of one run of characters that stand together."""
    if chunk.isascii() and chunk.isalpha() and (chunk[1:].islower() or chunk.isupper() or len(chunk) == 1):
        return (_stem(chunk.lower()[:TERM]),)
    if not chunk.isascii() and re.match(f"[{CJK}]", chunk):
        return (*chunk, *(chunk[i : i + 2] for i in range(len(chunk) - 1)))
    if "," in chunk:
        return (chunk.replace(",", ""),)
    return _identifier_terms(chunk)


def _identifier_terms(chunk: str) -> tuple[str, ...]:
    """The chunk whole, each part of a path, each word of a part, each hump of a word; once each."""
    found = [chunk]
    for part in PATH.split(chunk):
        found.append(part)
        for word in JOINT.split(part):
            found.append(word)
            if word.isascii() and not word.islower():  # capitals part a word; sha256 stays one
                humps = HUMP.findall(word)
                found += humps if 1 < len(humps) <= PIECES else ()
    return tuple(dict.fromkeys(_stem(piece.lower()[:TERM]) for piece in dict.fromkeys(found) if piece))


def _stem(word: str) -> str:
    """The word without English plural, 's, -ing and -ed, so that its forms end alike; other words as they are."""
    word = word.removesuffix("'s").rstrip("'")
    if len(word) < 4 or word[-1] not in "sdge" or not (word.isascii() and word.isalpha()):
        return word
    for suffix, instead in SUFFIXES.get(word[-1], ()):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith(("ss", "us", "is")):
            word = word[: -len(suffix)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]  # running, run
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


STOP_TERMS = frozenset(map(_stem, FUNCTION_WORDS.split()))


def _indexed(text: str) -> str:
    """The text, or of a long one head, tail and evenly spaced samples of what lies between: INDEXED characters."""
    if len(text) <= INDEXED:
        return text
    samples = (INDEXED - HEAD - TAIL) // SAMPLE
    stride = (len(text) - HEAD - TAIL) / samples
    middle = (text[HEAD + int(i * stride) :][:SAMPLE] for i in range(samples))
    return " ".join((text[:HEAD], *middle, text[-TAIL:]))


# --- postings --------------------------------------------------------------------------------------------------------

# How often a term stands in a row and how long the row is, in one byte: 3 bits and 5 bits. Coarse is
# enough, since BM25 flattens both.
TIMES = (1, 2, 3, 4, 6, 10, 18, 40)
LENGTHS = tuple(2 ** ((i + 0.5) / 2) for i in range(32))
CLASS_OF_TIMES = bytes(
    max(i for i, least in enumerate((1, 2, 3, 4, 5, 8, 14, 28)) if least <= max(n, 1)) for n in range(256)
)


def _class(times: int, length_class: int) -> int:
    return CLASS_OF_TIMES[min(times, 255)] << 5 | length_class


def _length_class(length: int) -> int:
    return min(31, int(2 * math.log2(max(length, 1))))


def _weights(mean_length: float) -> list[float]:
    """The BM25 weight of every class, without idf."""
    floors = [K1 * (1 - B + B * length / mean_length) for length in LENGTHS]
    return [times * (K1 + 1) / (times + floor) for times in TIMES for floor in floors]


class Postings(NamedTuple):
    """The rows one term stands in, ascending, counted from the segment's base; and their classes."""

    rows: "array[int]"
    classes: bytearray

    def pack(self) -> bytes:
        return self.rows.tobytes() + bytes(self.classes)

    def extend(self, later: "Postings", shift: int) -> None:
        self.rows.extend([row + shift for row in later.rows] if shift else later.rows)
        self.classes.extend(later.classes)


def _unpack(blob: bytes) -> Postings:
    cut = len(blob) // 3 * 2
    return Postings(array("H", blob[:cut]), bytearray(blob[cut:]))


class Segment(NamedTuple):
    """A run of rows in the file: where it starts and ends, and what it holds."""

    number: int
    base: int
    last: int
    rows: int
    length: int  # terms of all its rows together
    postings: int


class Recent:
    """The newest rows, in memory."""

    def __init__(self) -> None:
        self.postings: dict[str, Postings] = {}
        self.lengths: dict[int, int] = {}  # by row, ascending
        self.count = 0

    @property
    def base(self) -> int:
        return next(iter(self.lengths), 0)

    @property
    def last(self) -> int:
        return next(reversed(self.lengths), 0)

    def add(self, row: int, found: list[str]) -> None:
        self.lengths[row] = len(found)
        local, length_class = row - self.base, _length_class(len(found))
        times = Counter(found)
        self.count += len(times)
        for term, n in times.items():
            known = self.postings.get(term)
            if known is None:
                known = self.postings[term] = Postings(array("H"), bytearray())
            known.rows.append(local)
            known.classes.append(_class(n, length_class))

    def since(self, row: int) -> "Recent":
        """The same without the rows before this one."""
        kept = Recent()
        kept.lengths = {r: length for r, length in self.lengths.items() if r >= row}
        if not kept.lengths:
            return kept
        shift = self.base - kept.base
        for term, (rows, classes) in self.postings.items():
            cut = bisect_left(rows, -shift)
            if cut < len(rows):
                kept.postings[term] = Postings(array("H", [r + shift for r in rows[cut:]]), classes[cut:])
                kept.count += len(rows) - cut
        return kept


class Hit(NamedTuple):
    """A row that matches, and how well; scores compare within one search only."""

    row: int
    score: float


class Part(NamedTuple):
    """What one segment holds of the terms asked for."""

    base: int
    last: int
    postings: dict[str, Postings]


SCHEMA = """
CREATE TABLE IF NOT EXISTS head (format TEXT, key TEXT, upto INTEGER);
CREATE TABLE IF NOT EXISTS segment (number INTEGER PRIMARY KEY, base, last, rows, length, postings);
CREATE TABLE IF NOT EXISTS posting (segment INTEGER, term TEXT, rows BLOB, PRIMARY KEY (segment, term)) WITHOUT ROWID;
"""


class SearchIndex:
    """BM25 over rows of a timeline, on disk or in memory, incremental. Disposable: it can always be made again.

    `path` None keeps it in memory; so does a path that cannot be written or stays locked. `key` names the log it
    belongs to: a file with another key, another format or damage is thrown away and begun again. Nothing here raises
    for that: `upto` falls back to 0 instead, and the caller offers the rows again; so whoever searches first adds from
    `upto`. Of a row's text at most INDEXED characters are indexed: head, tail and samples between. Safe under threads.
    """

    def __init__(self, path: str | None, *, key: str = "") -> None:
        self._path, self._key = path, key
        self._lock = threading.Lock()
        self._upto: int
        self._stored: int
        self._begin(_opened(path, key))

    @property
    def upto(self) -> int:
        """All rows before this one have been offered to `add`."""
        return self._upto

    def add(self, rows: Iterable[tuple[int, str]], upto: int) -> None:
        """Take in rows, ascending, and remember that all before `upto` were offered. Known ones are skipped."""
        with self._lock:
            try:
                for row, text in rows:
                    if row >= self._upto:
                        self._take(row, text)
                self._upto = max(self._upto, upto)
            except sqlite3.DatabaseError as error:
                self._begin_again(error)

    def search(
        self,
        query: str,
        limit: int = 20,
        *,
        rows_between: tuple[int, int] | None = None,
        among: Callable[[int], bool] | None = None,
    ) -> list[Hit]:
        """The rows that match best, best first, the newer one first where they are equal.

        The query is only text. Its function words and the terms that stand nearly everywhere count only where nothing
        else is left. `rows_between` is a half-open range; `among` says of a row whether it may be found.
        """
        wanted = _query_terms(query)
        with self._lock:
            try:
                parts = self._look_up(wanted) if limit > 0 and wanted else []
            except sqlite3.DatabaseError as error:
                self._begin_again(error)
                return []
            rows = sum(s.rows for s in self._segments) + len(self._recent.lengths)
            length = sum(s.length for s in self._segments) + sum(self._recent.lengths.values())
            chosen = _chosen(wanted, parts, rows, _weights(max(length / max(rows, 1), 1)))
            return _best(parts, chosen, limit, rows_between or (0, sys.maxsize), among)

    def close(self) -> None:
        """Write what is still in memory and let go of the file. Twice is once."""
        with self._lock:
            try:
                if self._upto > self._stored:
                    self._flush(must=False)
                self._db.close()
            except sqlite3.Error:
                self._db.close()  # what was not written is offered again by the next to open it

    def _begin(self, db: sqlite3.Connection) -> None:
        self._db, self._recent = db, Recent()
        self._segments: list[Segment] = []
        self._upto = self._stored = 0  # offered; and of these, known to the file
        self._version, self._patience = -1, FLUSHED
        try:
            with _transaction(db, "DEFERRED"):
                self._refresh()
        except sqlite3.DatabaseError as error:
            self._begin_again(error)

    def _begin_again(self, error: sqlite3.DatabaseError) -> None:
        """Empty: in a new file where the old one was damaged, in memory where it cannot be used."""
        self._db.close()
        damaged = _damaged(error) and self._path is not None
        if damaged:
            _discard(str(self._path))
        self._begin(_opened(self._path if damaged else None, self._key))

    def _take(self, row: int, text: str) -> None:
        spans = bool(self._recent.lengths) and row - self._recent.base >= SPAN
        if spans or self._recent.count >= self._patience:
            self._flush(must=spans or self._recent.count >= SEGMENT)
        if row >= self._upto:  # else another process had it, as the flush found out
            self._recent.add(row, terms(_indexed(text)))
            self._upto = row + 1

    def _look_up(self, wanted: Sequence[str]) -> list[Part]:
        """What every segment and the recent rows hold of these terms, newest first."""
        with _transaction(self._db, "DEFERRED"):
            self._refresh()
            recent = {term: self._recent.postings[term] for term in wanted if term in self._recent.postings}
            parts = [Part(self._recent.base, self._recent.last, recent)]
            found: dict[int, dict[str, Postings]] = {segment.number: {} for segment in self._segments}
            marks = ",".join("?" * len(wanted))
            sql = f"""SELECT number, term, posting.rows FROM segment CROSS JOIN posting
                      WHERE posting.segment = number AND term IN ({marks})"""
            for number, term, blob in self._db.execute(sql, wanted):
                found[number][term] = _unpack(blob)
            parts += [Part(s.base, s.last, found[s.number]) for s in reversed(self._segments)]
        return parts

    def _refresh(self) -> None:
        """Take over what another process has written: its rows stand for ours, both being of the same log."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        head = self._db.execute("SELECT format, key, upto FROM head").fetchone()
        if head is None or head[:2] != (FORMAT, self._key):
            raise sqlite3.DatabaseError("the file has become another log's")
        self._segments = [Segment(*row) for row in self._db.execute("SELECT * FROM segment ORDER BY number")]
        self._version, self._stored = version, head[2]
        self._recent = self._recent.since(self._stored)
        self._upto = max(self._upto, self._stored)

    def _flush(self, *, must: bool) -> None:
        """Make the recent rows a segment, together with older ones that are no larger. Busy: later, unless it must."""
        try:
            with _transaction(self._db, "IMMEDIATE"):
                self._refresh()
                segments = self._written() if self._recent.lengths else self._segments
                self._db.execute("UPDATE head SET upto = ?", (self._upto,))
        except sqlite3.OperationalError as error:
            if must or _damaged(error):
                raise
            self._patience += FLUSHED
            return
        self._segments, self._stored = segments, self._upto
        self._recent, self._patience = Recent(), FLUSHED

    def _written(self) -> list[Segment]:
        """The segments there are once the recent rows are in the file."""
        recent, kept = self._recent, list(self._segments)
        older: list[Segment] = []
        size = recent.count
        while kept and kept[-1].postings <= size <= SEGMENT - kept[-1].postings and recent.last - kept[-1].base < SPAN:
            older.insert(0, kept.pop())
            size += older[0].postings
        number = kept[-1].number + 1 if kept else 0
        base = older[0].base if older else recent.base
        merged = self._taken_out(older, base)
        for term, postings in recent.postings.items():
            merged.setdefault(term, Postings(array("H"), bytearray())).extend(postings, recent.base - base)
        self._db.executemany(
            "INSERT INTO posting VALUES (?, ?, ?)", ((number, t, p.pack()) for t, p in sorted(merged.items()))
        )
        rows = len(recent.lengths) + sum(s.rows for s in older)
        length = sum(recent.lengths.values()) + sum(s.length for s in older)
        kept.append(Segment(number, base, recent.last, rows, length, size))
        self._db.execute("INSERT INTO segment VALUES (?, ?, ?, ?, ?, ?)", kept[-1])
        return kept

    def _taken_out(self, older: list[Segment], base: int) -> dict[str, Postings]:
        """The postings of these segments as one, counted from `base`; they leave the file."""
        merged: dict[str, Postings] = {}
        for segment in older:
            for term, blob in self._db.execute("SELECT term, rows FROM posting WHERE segment = ?", (segment.number,)):
                merged.setdefault(term, Postings(array("H"), bytearray())).extend(_unpack(blob), segment.base - base)
            self._db.execute("DELETE FROM posting WHERE segment = ?", (segment.number,))
            self._db.execute("DELETE FROM segment WHERE number = ?", (segment.number,))
        return merged


# --- the file --------------------------------------------------------------------------------------------------------


@contextmanager
def _transaction(db: sqlite3.Connection, mode: str) -> Iterator[None]:
    """All of it or nothing; readers see one state throughout."""
    db.execute(f"BEGIN {mode}")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _opened(path: str | None, key: str) -> sqlite3.Connection:
    """The file, made or made anew where it must be; memory where there can be none."""
    for _ in range(2 if path is not None else 0):
        try:
            return _opened_file(str(path), key)
        except sqlite3.DatabaseError as error:
            if not _damaged(error):
                break
            _discard(str(path))
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
    tables = db.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('head', 'segment', 'posting')").fetchone()
    if tables == (3,) and db.execute("SELECT format, key FROM head").fetchall() == [(FORMAT, key)]:
        return
    with _transaction(db, "IMMEDIATE"):
        for table in ("head", "segment", "posting"):
            db.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        db.execute("INSERT INTO head VALUES (?, ?, 0)", (FORMAT, key))


def _damaged(error: sqlite3.DatabaseError) -> bool:
    """Whether the file itself is bad, and not merely locked, forbidden or out of room."""
    bad = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB)
    return getattr(error, "sqlite_errorcode", -1) & 0xFF in bad


def _discard(path: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            Path(path + suffix).unlink()


# --- ranking ---------------------------------------------------------------------------------------------------------


class Chosen(NamedTuple):
    """A query term worth scoring: the score of every class, and whether it may bring in rows of its own.

    `rest` is the most that it and all terms after it can add to a row.
    """

    term: str
    scores: list[float]
    finds: bool
    rest: float = 0.0


def _query_terms(query: str) -> list[str]:
    """The distinct terms of a query, without function words unless there are no others."""
    distinct = list(dict.fromkeys(terms(_indexed(query))))
    telling = [term for term in distinct if term not in STOP_TERMS] or distinct
    return sorted(telling, key=len, reverse=True)[:QUERY_TERMS]


def _chosen(wanted: Sequence[str], parts: Sequence[Part], rows: int, weights: Sequence[float]) -> list[Chosen]:
    """The terms to score by, rarest first. Once SCANNED postings are read, a term only adds to rows already found."""
    standing: Counter[str] = Counter()
    for part in parts:
        for term, postings in part.postings.items():
            standing[term] += len(postings.rows)
    found = sorted((standing[term], term) for term in wanted if standing[term])
    telling = [(df, term) for df, term in found if df <= COMMON * rows or rows < COMMON_FROM] or found
    chosen: list[Chosen] = []
    read = 0
    for df, term in telling:
        read += df
        idf = math.log(1 + (rows - df + 0.5) / (df + 0.5))
        chosen.append(Chosen(term, [idf * weight for weight in weights], read <= SCANNED or not chosen))
    rest = list(accumulate(max(choice.scores) for choice in reversed(chosen)))
    return [choice._replace(rest=most) for choice, most in zip(chosen, reversed(rest), strict=True)]


def _best(
    parts: Iterable[Part],
    chosen: Sequence[Chosen],
    limit: int,
    bounds: tuple[int, int],
    among: Callable[[int], bool] | None,
) -> list[Hit]:
    """The best rows of all parts. `among` is asked only about rows that would be taken."""
    best: list[tuple[float, int]] = []
    start, stop = bounds
    for part in parts:
        if part.last < start or part.base >= stop:
            continue
        least = best[-1][0] if len(best) == limit else 0.0
        scored = _scored(part.postings, chosen, least)
        good = [(score, local + part.base) for local, score in scored.items() if score >= least]
        best += [pair for pair in good if start <= pair[1] < stop and (among is None or among(pair[1]))]
        best = sorted(best, reverse=True)[:limit]
    return [Hit(row, score) for score, row in best]


def _scored(postings: dict[str, Postings], chosen: Iterable[Chosen], least: float) -> dict[int, float]:
    """The score of every row of one part that holds a term and may reach `least`. The inner loop of a search."""
    scored: dict[int, float] = {}
    for term, scores, finds, rest in chosen:
        if term not in postings:
            continue
        rows, classes = postings[term]
        gained = zip(rows, map(scores.__getitem__, classes), strict=True)
        if not finds:
            scored = {row: score for row, score in scored.items() if score + rest >= least}
            _add_to_found(scored, rows, classes, scores)
        elif scored:
            for row, gain in gained:
                scored[row] = scored.get(row, 0.0) + gain
        else:
            scored = dict(gained)
    return scored


def _add_to_found(scored: dict[int, float], rows: "array[int]", classes: bytearray, scores: Sequence[float]) -> None:
    """What a common term adds to the rows that rarer ones found: few of them are looked up one by one."""
    if 4 * len(scored) > len(rows):  # a look-up costs several times what reading one posting does
        for row, code in zip(rows, classes, strict=True):
            if row in scored:
                scored[row] += scores[code]
        return
    for row in scored:
        at = bisect_left(rows, row)
        if at < len(rows) and rows[at] == row:
            scored[row] += scores[classes[at]]


# --- passages --------------------------------------------------------------------------------------------------------


def passages(text: str, query: str, max_tokens: int, count: Callable[[str], int]) -> list[tuple[int, int]]:
    """The lines that match the query best: 1-based inclusive ranges, in order, merged, with CONTEXT lines around where
    there is room, together at most `max_tokens`; everything where that fits.

    Lines are those of `text.split("\n")`, so joining a range gives its text back exactly. Empty where no line matches,
    or none that does fits by itself: the caller then shows the text's beginning, or a cut of the line.
    """
    lines = text.split("\n")
    if len(text) <= max_tokens * LONGEST_TOKEN and count(text) <= max_tokens:
        return [(1, len(lines))]
    taken: list[set[int]] = []
    room = max_tokens
    for line in heapq.nsmallest(CANDIDATES, _matching(lines, query)):
        new, cost = _affordable(lines, line.number, set().union(*taken), room, count)
        if new:
            taken.append(new)
            room -= cost
    while taken and _cost(lines, _ranges(set().union(*taken)), count) > max_tokens:
        taken.pop()  # counts of pieces need not add up to the count of the whole
    return _ranges(set().union(*taken))


class Matching(NamedTuple):
    """A line that holds a query term. The smallest is the best: the highest score, then the first."""

    negative_score: float
    number: int  # from 0


def _matching(lines: Sequence[str], query: str) -> list[Matching]:
    wanted = set(_query_terms(query))
    held = {number: found for number, line in enumerate(lines) if (found := wanted.intersection(terms(line)))}
    standing = Counter(term for found in held.values() for term in found)
    idf = {term: math.log(1 + len(lines) / df) for term, df in standing.items()}
    return [Matching(-sum(idf[term] for term in sorted(found)), number) for number, found in held.items()]


def _affordable(
    lines: Sequence[str], number: int, shown: set[int], room: int, count: Callable[[str], int]
) -> tuple[set[int], int]:
    """The line with what stands around it, else alone, else nothing: what is new of it, and its tokens."""
    for around in (CONTEXT, 0) if number not in shown else ():
        new = set(range(max(0, number - around), min(len(lines), number + around + 1))) - shown
        cost = _cost(lines, _ranges(new), count)
        if cost <= room:
            return new, cost
    return set(), 0


def _cost(lines: Sequence[str], ranges: Iterable[tuple[int, int]], count: Callable[[str], int]) -> int:
    return sum(count("\n".join(lines[first - 1 : last])) + 1 for first, last in ranges)


def _ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Line numbers from 0 as merged ranges from 1."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        first = ranges.pop()[0] if ranges and ranges[-1][1] == number else number + 1
        ranges.append((first, number + 1))
    return ranges
