"""The search index over a timeline's rows. It is derived from the log and can always be made again.

Its postings are derived data of the store, in segments of consecutive rows. The newest rows stay in memory until there
are enough for a segment. Rows lost in a crash are added again by the caller, because `upto` says where to go on.
"""

import threading
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from typing import NamedTuple

from sightline.log.stores import Derived
from sightline.log.stores.memory import MemoryStore
from sightline.recall.search.bm25 import (
    Hit,
    SegmentPostings,
    best_rows,
    highest_share,
    weigh_terms,
)
from sightline.recall.search.neighbours import SearchScope, rank_with_neighbours
from sightline.recall.search.postings import RecentRows
from sightline.recall.search.segments import NOTHING, Head, Mark, StoredSegments
from sightline.recall.search.terms import (
    CUE,
    DATED,
    INDEXED_CHARS,
    cues,
    exact_terms,
    query_cues,
    query_terms,
    text_to_index,
    words,
)

MIN_SEEDS = 12  # matching rows around which a search looks, at least
MAX_SEEDS = 75  # rows beyond these match far less than the best: with 60 or 500 of them as much is found
MAX_RECENT = 1 << 15  # postings in memory before they become a segment: 0.2 s to make again after a crash
MAX_BULK = 1 << 19  # the same while many rows are added at once: few large segments need no merging
_ATTEMPTS = 3  # at reading segments that another process may be merging


def looked_up(query: str) -> list[str]:
    """Return the terms and cues that `SearchIndex.answers` looks up for a query."""
    wanted = query_terms(query)
    return [*wanted, *query_cues(query, wanted)]


class _Lost(Exception):
    """Rows that were given before must be given again, because what was stored is damaged or not kept."""


class SearchResult(NamedTuple):
    """The terms that counted, rarest first, and the rows that were found, best first."""

    terms: list[str]
    hits: list[Hit]


class _Sizes(dict[int, int]):
    """The tokens of rows, each asked for once. A row that there cannot be, as damaged data may contain, has none."""

    def __init__(self, size: Callable[[int], int], rows: int) -> None:
        super().__init__()
        self._size, self._rows = size, rows

    def __missing__(self, row: int) -> int:
        self[row] = size = self._size(row) if 0 <= row < self._rows else 0
        return size


class SearchIndex:
    """BM25 over the rows of a timeline, incremental, in a store or in memory. Safe under threads and processes.

    Without `derived`, or if that keeps nothing, the index is in memory. `key` names the log that it belongs to, and
    `mark` tells a row of it from the same row of another log of this name, such as one restored from a copy: "" for a
    row that the log does not have, None for one that is not known yet. What is of another log or format, lost or
    damaged, is not used. That raises nothing. Instead `upto` falls back, so before a search the caller adds all rows
    from `upto` on, and searches again if `upto` fell meanwhile. `before_writing` is called before rows are stored, to
    make the log durable first. Of a row's text at most INDEXED_CHARS are indexed: head, tail and samples between.
    `only`: the terms and cues that will be looked up; else all.
    """

    def __init__(
        self,
        derived: Derived | None = None,
        *,
        key: str = "",
        mark: Mark = lambda _: "-",
        before_writing: Callable[[], None] = lambda: None,
        only: Set[str] | None = None,
    ) -> None:
        self._key, self._mark, self._before_writing = key, mark, before_writing
        self._lock = threading.Lock()
        self.upto = 0  # all rows before this one have been given to `add`
        self.only, self._has_cues = only, only is None or any(term.startswith(CUE) for term in only)
        self._has_dates = only is None or DATED in only
        self._recent = RecentRows(only)
        self._head = self._checked = NOTHING  # `_checked`: is known to be of this log
        self._failed = False
        self._segments = StoredSegments(MemoryStore() if derived is None else derived, key, mark)
        self._refresh()

    def add(self, rows: Iterable[tuple[int, str]], upto: int) -> None:
        """Index ascending rows, skipping known ones, and note that all rows before `upto` were given."""
        with self._lock, suppress(_Lost):
            for row, text in rows:
                self._add_row(row, text)
            self.upto = max(self.upto, upto)
            if self._recent.count >= MAX_RECENT:
                self._flush()

    def answers(self, query: str, limit: int, scope: SearchScope, least_share: float = 0.0) -> SearchResult:
        """Return the rows that answer a question best, by their own text, the text around them, speaker and time.

        No character of the query is syntax. Function words and terms that nearly all rows contain count only if the
        query has no others. Where surely no row has the least share of a full match, there are no hits.
        """
        wanted = query_terms(query)
        with self._lock:
            segments = self._look_up(looked_up(query)) if limit > 0 else []
            scope_now = scope._replace(size=_Sizes(scope.size, self.upto).__getitem__)
            stored, recent = self._head.segments, self._recent.lengths
            rows = sum(segment.rows for segment in stored) + len(recent)
            length = sum(segment.length for segment in stored) + sum(recent.values())
            mean_length = max(length / max(rows, 1), 1)
            weighted = weigh_terms(wanted, segments, rows, mean_length, scope.breadth.common, scope.breadth.terms)
            most = min(max(2 * limit, MIN_SEEDS), MAX_SEEDS)
            seeds = best_rows(segments, weighted, most, scope_now.size)
            result = SearchResult([term.term for term in weighted], [])
            if highest_share(seeds, weighted) < least_share:
                return result
            exact = exact_terms(query).intersection(wanted)
            hits = rank_with_neighbours(segments, weighted, [seed.row for seed in seeds], scope_now, exact)
            return result._replace(hits=hits[:limit])

    def places(self, wanted: Sequence[str]) -> dict[str, list[int]]:
        """Return the rows that contain each of these terms, the newest first."""
        places: dict[str, list[int]] = {term: [] for term in wanted}
        with self._lock:
            for base, postings in self._look_up(wanted):
                for term, (rows, _) in postings.items():
                    places[term] += [row + base for row in reversed(rows)]
        return places

    def close(self) -> None:
        """Store what is still in memory."""
        with self._lock, suppress(_Lost):
            if self.upto > self._head.upto:
                self._flush()

    def _begin_again(self) -> None:
        """Start empty; the second time in memory, because the store gives back other data than it was given."""
        self._segments.clear(self._head)
        if self._failed:
            self._segments = StoredSegments(MemoryStore(), self._key, self._mark)
        self._failed = True
        self._forget()

    def _forget(self) -> None:
        self._head, self._recent, self.upto = NOTHING, RecentRows(self.only), 0
        self._checked = NOTHING

    def _add_row(self, row: int, text: str) -> None:
        if self._recent.count >= MAX_BULK or not self._recent.can_add(row):
            self._flush()
        if row >= self.upto:  # else it is known; the flush may have found it written by another process
            said, length = words(text_to_index(text))
            signs = cues(text[:INDEXED_CHARS], dated=self._has_dates) if self._has_cues else []
            self._recent.add(row, said + signs, length)
            self.upto = row + 1

    def _look_up(self, wanted: Sequence[str]) -> list[SegmentPostings]:
        """Return the postings of these terms, newest rows first; none if stored ones turn out damaged."""
        for _ in range(_ATTEMPTS):
            self._refresh()
            segments = self._head.segments[::-1]
            if (by_segment := self._segments.postings(segments, wanted)) is not None:
                recent = {term: postings for term in wanted if (postings := self._recent.postings(term))}
                stored = [
                    SegmentPostings(segment.base, terms) for segment, terms in zip(segments, by_segment, strict=True)
                ]
                return [SegmentPostings(self._recent.base, recent), *stored]
        self._begin_again()
        return []

    def _refresh(self) -> None:
        """Read what another process has stored. Its rows replace ours, because both are of the same log."""
        head = self._segments.head()
        if head not in (self._checked, NOTHING):
            mark = self._mark(head.upto - 1)
            if mark not in (head.mark, None):
                self._head = head
                self._begin_again()
                return
            self._checked = head if mark else self._checked
        if head == self._head:
            return
        if head.upto < self._head.upto:  # lost, or another process was slower: the rows after it are added again
            self._recent, self.upto = RecentRows(self.only), head.upto
        else:
            self._recent = self._recent.since(head.upto)
            self.upto = max(self.upto, head.upto)
        self._head = head

    def _flush(self) -> None:
        """Store the recent rows as a segment. Raises _Lost if `upto` fell back."""
        self._before_writing()
        upto = self.upto
        self._refresh()
        if self.upto > self._head.upto:
            self._write()
        if self.upto < upto:
            raise _Lost

    def _write(self) -> None:
        before, head = self._head, self._extended_head()
        if head is not None and self._segments.head() == before:  # the store keeps nothing, or nothing more
            self._segments = StoredSegments(MemoryStore(), self._key, self._mark)
            if before.segments:
                self._forget()
                return
            head = self._extended_head()
        if head is None:
            self._begin_again()
        else:
            self._head, self._recent = head, RecentRows(self.only)

    def _extended_head(self) -> Head | None:
        """Store what is new and return what there is then; None if what was stored is damaged."""
        if self._recent.lengths:
            return self._segments.write(self._head, self._recent, self.upto)
        return self._segments.note(self._head, self.upto)
