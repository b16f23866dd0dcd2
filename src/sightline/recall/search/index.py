"""The index over a timeline's rows, derived from the log and disposable.

Its postings lie in a file in segments of consecutive rows, the newest ones in memory until there are enough of them;
what a crash takes is offered again, because `upto` says so.
"""

import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from sightline.recall.search.bm25 import COMMON, Chosen, Hit, Part, best_coverage, best_hits, chosen_terms, scored
from sightline.recall.search.index_file import damaged, discard, found_in_segments, opened, stored, transaction, written
from sightline.recall.search.neighbours import Where, best_around
from sightline.recall.search.postings import Recent, Segment
from sightline.recall.search.terms import INDEXED, cues, indexed, query_cues, query_terms, terms

SEEDS = 12  # rows that match, around which a search looks at least
SEEDS_AT_MOST = 500  # and at most: those beyond are far from the best
FLUSHED = 1 << 15  # postings kept in memory before they become a segment: 0.2 s to make again after a crash


class Answers(NamedTuple):
    """What answers a question: the terms it was found by, as a query, and the rows, best first."""

    telling: str
    hits: list[Hit]


class SearchIndex:
    """BM25 over rows of a timeline, on disk or in memory, incremental. Disposable: it can always be made again.

    `path` None keeps it in memory; so does a path that cannot be written or stays locked. `key` names the log it
    belongs to: a file with another key, another format or damage is thrown away and begun again. Nothing here raises
    for that: `upto` falls back to 0 instead, and the caller offers the rows again; so whoever searches first adds from
    `upto`. `before_writing` is called before the file learns of rows: it makes them durable. Of a row's text at most
    INDEXED characters are indexed: head, tail and samples between. Safe under threads.
    """

    def __init__(self, path: str | None, *, key: str = "", before_writing: Callable[[], None] = lambda: None) -> None:
        self._path, self._key, self._before_writing = path, key, before_writing
        self._lock = threading.Lock()
        self._upto: int
        self._stored: int
        self._begin(path)

    @property
    def upto(self) -> int:
        """All rows before this one have been offered to `add`."""
        return self._upto

    def add(self, rows: Iterable[tuple[int, str]], upto: int) -> None:
        """Take in rows, ascending, and remember that all before `upto` were offered. Known ones are skipped."""
        with self._lock:
            try:
                for row, text in rows:
                    self._take(row, text)
                self._upto = max(self._upto, upto)
            except sqlite3.DatabaseError as error:
                self._begin_again(error)

    def search(
        self,
        query: str,
        limit: int = 20,
        *,
        rows_between: tuple[int, int] = (0, sys.maxsize),
        among: Callable[[int], bool] = lambda _: True,
    ) -> list[Hit]:
        """The rows that match best, best first, the newer one first where they are equal.

        The query is only text. Its function words and the terms that stand nearly everywhere count only where nothing
        else is left. `rows_between` is a half-open range; `among` says of a row whether it may be found.
        """
        wanted = query_terms(query)
        with self._lock:
            parts = self._found(wanted) if limit > 0 else []
            first, end = max(rows_between[0], 0), min(rows_between[1], self._upto)  # a damaged file may hold any row
            chosen = self._chosen(wanted, parts)
            return best_hits(scored(parts, chosen), chosen, limit, lambda row: first <= row < end and among(row))

    def answers(self, query: str, limit: int, where: Where) -> Answers:
        """The rows that answer a question best: by what they say, and by what is said around them, by whom and when."""
        wanted = query_terms(query)
        with self._lock:
            parts = self._found([*wanted, *query_cues(query, wanted)]) if limit > 0 else []
            upto = self._upto  # a damaged file may hold any row
            known = where._replace(size=cache(lambda row: where.size(row) if row < upto else 0))
            chosen = self._chosen(wanted, parts, where.common)[: where.terms]
            scores = scored(parts, chosen)
            seeds = best_hits(
                scores, chosen, min(max(2 * limit, SEEDS), SEEDS_AT_MOST), lambda row: known.size(row) > 0
            )
            hits = best_around(parts, chosen, seeds, scores, known)
            return Answers(" ".join(term.term for term in chosen), hits[:limit])

    def covered(self, query: str, among: Callable[[int], bool]) -> float:
        """How much of what a query says, rare terms more than common ones, stands together in one row at best."""
        wanted = query_terms(query)
        with self._lock:
            return best_coverage(self._found(wanted), wanted, self._rows(), among)

    def close(self) -> None:
        """Write what is still in memory and let go of the file. Twice is once."""
        with self._lock:
            with suppress(sqlite3.Error):  # what was not written is offered again by the next to open it
                if self._upto > self._stored:
                    self._flush()
            self._db.close()

    def _begin(self, path: str | None) -> None:
        self._db, self._recent = opened(path, self._key), Recent()
        self._segments: list[Segment] = []
        self._upto = self._stored = 0  # offered; and of these, known to the file
        self._version = -1
        try:
            with transaction(self._db, "DEFERRED"):
                self._refresh()
        except sqlite3.DatabaseError as error:
            self._begin_again(error)

    def _begin_again(self, error: sqlite3.DatabaseError) -> None:
        """Empty: in a new file where the old one was damaged, in memory where it cannot be used."""
        self._db.close()
        if self._path is None or not damaged(error):
            self._begin(None)
        else:
            discard(self._path)
            self._begin(self._path)

    def _take(self, row: int, text: str) -> None:
        if self._recent.count >= FLUSHED or not self._recent.spans(row):
            self._flush()
        if row >= self._upto:  # else it is known, perhaps from another process, as the flush found out
            self._recent.add(row, [*terms(indexed(text)), *cues(text[:INDEXED])])
            self._upto = row + 1

    def _found(self, wanted: Sequence[str]) -> list[Part]:
        """What stands of these terms; nothing where the file turns out damaged."""
        try:
            return self._look_up(wanted)
        except sqlite3.DatabaseError as error:
            self._begin_again(error)
            return []

    def _chosen(self, wanted: Sequence[str], parts: Sequence[Part], common: float = COMMON) -> list[Chosen]:
        rows = self._rows()
        length = sum(s.length for s in self._segments) + sum(self._recent.lengths.values())
        return chosen_terms(wanted, parts, rows, max(length / max(rows, 1), 1), common)

    def _rows(self) -> int:
        return sum(s.rows for s in self._segments) + len(self._recent.lengths)

    def _look_up(self, wanted: Sequence[str]) -> list[Part]:
        """What every segment and the recent rows hold of these terms, newest first."""
        with transaction(self._db, "DEFERRED"):
            self._refresh()
            found = found_in_segments(self._db, wanted)
        recent = {term: self._recent.postings[term] for term in wanted if term in self._recent.postings}
        segments = [Part(segment.base, found.get(segment.number, {})) for segment in reversed(self._segments)]
        return [Part(self._recent.base, recent), *segments]

    def _refresh(self) -> None:
        """Take over what another process has written: its rows stand for ours, both being of the same log."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version = version
            self._stored, self._segments = stored(self._db, self._key)
            self._recent = self._recent.since(self._stored)
            self._upto = max(self._upto, self._stored)

    def _flush(self) -> None:
        """Make the recent rows a segment of the file."""
        self._before_writing()
        with transaction(self._db, "IMMEDIATE"):
            self._refresh()
            if self._recent.lengths:
                self._segments = written(self._db, self._segments, self._recent)
            self._db.execute("UPDATE head SET upto = ?", (self._upto,))
        self._stored, self._recent = self._upto, Recent()
