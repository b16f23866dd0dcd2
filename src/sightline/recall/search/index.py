"""The search index over a timeline's rows. It is derived from the log and can always be made again.

Its postings are in a file, in segments of consecutive rows. The newest rows stay in memory until there are enough for a
segment. Rows lost in a crash are added again by the caller, because `upto` says where to go on.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from sightline.recall.search.bm25 import (
    Hit,
    SegmentPostings,
    best_hits,
    score_rows,
    weigh_terms,
)
from sightline.recall.search.index_file import (
    discard,
    is_damaged,
    open_index,
    read_head,
    read_postings,
    transaction,
    write_segment,
)
from sightline.recall.search.neighbours import SearchScope, rank_with_neighbours
from sightline.recall.search.postings import RecentRows, Segment
from sightline.recall.search.terms import (
    INDEXED_CHARS,
    cues,
    exact_terms,
    query_cues,
    query_terms,
    terms,
    text_to_index,
)

MIN_SEEDS = 12  # matching rows around which a search looks, at least
MAX_SEEDS = 100  # rows beyond these match far less than the best: with 60 or 500 of them as much is found
MAX_RECENT = 1 << 15  # postings in memory before they become a segment: 0.2 s to make again after a crash


class SearchResult(NamedTuple):
    """The terms that counted, joined to a query, and the rows that were found, best first."""

    terms: str
    hits: list[Hit]


class SearchIndex:
    """BM25 over the rows of a timeline, incremental, in a file or in memory. Safe under threads.

    With `path` None, or if the file cannot be written or stays locked, the index is in memory. `key` names the log that
    a file belongs to: a file with another key or format, or with damage, is discarded and begun again. That raises
    nothing. Instead `upto` falls back to 0, so before a search the caller adds all rows from `upto` on.
    `before_writing` is called before rows are written to the file, to make the log durable first. Of a row's text at
    most INDEXED_CHARS are indexed: head, tail and samples between.
    """

    def __init__(self, path: str | None, *, key: str = "", before_writing: Callable[[], None] = lambda: None) -> None:
        self._path, self._key, self._before_writing = path, key, before_writing
        self._lock = threading.Lock()
        self.upto: int  # all rows before this one have been given to `add`
        self._begin(path)

    def add(self, rows: Iterable[tuple[int, str]], upto: int) -> None:
        """Index ascending rows, skipping known ones, and note that all rows before `upto` were given."""
        with self._lock:
            try:
                for row, text in rows:
                    self._add_row(row, text)
                self.upto = max(self.upto, upto)
            except sqlite3.DatabaseError as error:
                self._begin_again(error)

    def answers(self, query: str, limit: int, scope: SearchScope) -> SearchResult:
        """Return the rows that answer a question best, by their own text, the text around them, speaker and time.

        No character of the query is syntax. Function words and terms that nearly all rows contain count only if the
        query has no others.
        """
        wanted = query_terms(query)
        with self._lock:
            segments = self._look_up([*wanted, *query_cues(query, wanted)]) if limit > 0 else []
            upto = self.upto  # a damaged file may contain any row number
            known = scope._replace(size=cache(lambda row: scope.size(row) if 0 <= row < upto else 0))
            rows, length = self._rows(), sum(s.length for s in self._segments) + sum(self._recent.lengths.values())
            mean_length = max(length / max(rows, 1), 1)
            weighted = weigh_terms(wanted, segments, rows, mean_length, scope.breadth.common)[: scope.breadth.terms]
            scores = score_rows(segments, weighted)
            most = min(max(2 * limit, MIN_SEEDS), MAX_SEEDS)
            seeds = best_hits(scores, weighted, most, lambda row: known.size(row) > 0)
            hits = rank_with_neighbours(
                segments, weighted, seeds, scores, known, exact_terms(query).intersection(wanted)
            )
            return SearchResult(" ".join(term.term for term in weighted), hits[:limit])

    def places(self, wanted: Sequence[str]) -> dict[str, list[int]]:
        """Return the rows that contain each of these terms, newest segment first."""
        found: dict[str, list[int]] = {term: [] for term in wanted}
        with self._lock:
            for base, postings in self._look_up(wanted):
                for term, (rows, _) in postings.items():
                    found[term] += [row + base for row in rows]
        return found

    def close(self) -> None:
        """Write what is still in memory and close the file. A second call does nothing."""
        with self._lock:
            with suppress(sqlite3.Error):  # rows that were not written are added again after the next opening
                if self.upto > self._stored:
                    self._flush()
            self._db.close()

    def _begin(self, path: str | None) -> None:
        self._db, self._recent = open_index(path, self._key), RecentRows()
        self._segments: list[Segment] = []
        self.upto = self._stored = 0  # the second: rows that the file knows of
        self._version = -1
        try:
            with transaction(self._db, "DEFERRED"):
                self._refresh()
        except sqlite3.DatabaseError as error:
            self._begin_again(error)

    def _begin_again(self, error: sqlite3.DatabaseError) -> None:
        """Start empty: in a new file if the old one is damaged, in memory if it cannot be used."""
        self._db.close()
        if self._path is None or not is_damaged(error):
            self._begin(None)
        else:
            discard(self._path)
            self._begin(self._path)

    def _add_row(self, row: int, text: str) -> None:
        if self._recent.count >= MAX_RECENT or not self._recent.can_add(row):
            self._flush()
        if row >= self.upto:  # else it is known; the flush may have found it written by another process
            self._recent.add(row, [*terms(text_to_index(text)), *cues(text[:INDEXED_CHARS])])
            self.upto = row + 1

    def _rows(self) -> int:
        return sum(s.rows for s in self._segments) + len(self._recent.lengths)

    def _look_up(self, wanted: Sequence[str]) -> list[SegmentPostings]:
        """Return the postings of these terms, newest rows first; none if the file turns out damaged."""
        try:
            with transaction(self._db, "DEFERRED"):
                self._refresh()
                found = read_postings(self._db, wanted)
        except sqlite3.DatabaseError as error:
            self._begin_again(error)
            return []
        recent = {term: self._recent.postings[term] for term in wanted if term in self._recent.postings}
        stored = [SegmentPostings(each.base, found.get(each.number, {})) for each in reversed(self._segments)]
        return [SegmentPostings(self._recent.base, recent), *stored]

    def _refresh(self) -> None:
        """Read what another process has written. Its rows replace ours, because both are of the same log."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version = version
            self._stored, self._segments = read_head(self._db, self._key)
            self._recent = self._recent.since(self._stored)
            self.upto = max(self.upto, self._stored)

    def _flush(self) -> None:
        """Write the recent rows to the file, as a segment."""
        self._before_writing()
        with transaction(self._db, "IMMEDIATE"):
            self._refresh()
            if self._recent.lengths:
                self._segments = write_segment(self._db, self._segments, self._recent)
            self._db.execute("UPDATE head SET upto = ?", (self.upto,))
        self._stored, self._recent = self.upto, RecentRows()
