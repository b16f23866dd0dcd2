"""Finds the rows of one branch that match a query. Keeps the search index of its log up to date."""

from collections.abc import Callable, Collection, Iterator

from sightline.log.columns import WHOLE
from sightline.log.journal import Journal
from sightline.recall.search import (
    TIME_MARK,
    Breadth,
    SearchIndex,
    SearchResult,
    SearchScope,
    asks_for_overview,
    overview_subject,
)
from sightline.values.items import Kind

SPEECH = (Kind.USER, Kind.ASSISTANT)
_REPEATING = (Kind.RECALL, Kind.WINDOW)  # they show what stands elsewhere, and are not searched
_VAGUE = 0.3  # of a question's weight in any one row: with less, the question names nothing to look for
ROWS_AT_ONCE = 50  # rows indexed before an automatic recall: more than a turn adds, too few to be noticed
_NEAR_BEST = 0.4  # of the best row's own match: rows that match less are noise
_CLEAR = 0.4  # of the query's weight: a row that holds less of it matches by chance

RowFilter = Callable[[int], bool]


_NARROW = Breadth(8, 16, 0.3)  # for the few pieces that a turn brings back
WIDE = Breadth(60, 64, 1.0)  # for a question: everything around a match may answer it, while there are tokens for it


class Finder:
    """Searches a journal's branch. The index is made when first needed and extended by the rows that are new."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._index: SearchIndex | None = None

    def close(self) -> None:
        """Close the index file."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def matches(
        self,
        query: str,
        limit: int,
        among: RowFilter | None = None,
        ignored: Collection[int] = (),
        *,
        automatic: bool = False,
    ) -> SearchResult:
        """Return the rows that match a query well by themselves, best first."""
        found = self.rank(query, 2 * limit, among, ignored, max_new_rows=ROWS_AT_ONCE if automatic else None)
        best = max((hit.share for hit in found.hits), default=1.0)
        least = max(_NEAR_BEST * best, _CLEAR if automatic else 0.0)
        return SearchResult(found.terms, [hit for hit in found.hits if hit.share >= least][:limit])

    def rank(
        self,
        query: str,
        limit: int,
        among: RowFilter | None = None,
        ignored: Collection[int] = (),
        *,
        breadth: Breadth = _NARROW,
        max_new_rows: int | None = None,
    ) -> SearchResult:
        """Return the rows of the branch that match a query or stand near a row that does, best first.

        `ignored` units count as if they were not there. At most `max_new_rows` are indexed before the search.
        """
        index = self.extend_index(max_new_rows)
        timeline, path = self._journal.timeline, self._journal.path
        branch, full, unit, rows = timeline.branch, timeline.full, timeline.unit, len(timeline)

        def size(row: int) -> int:  # another process may have indexed more rows than this one has read
            exists = row < rows and path.holds(branch[row], row) and unit[row] not in ignored
            return max(full[row], 1) if exists and timeline.kind[row] not in _REPEATING else 0

        def can_be_found(row: int) -> bool:
            answer = timeline.partner[row] if timeline.kind[row] == Kind.CALL else row
            # Of `expand` and `recall` the source is to be found.
            repeats = timeline.kind[row] in _REPEATING or (answer >= 0 and timeline.state[answer] & WHOLE)
            return full[row] > 0 and not repeats and (among is None or among(row))

        return index.answers(query, limit, SearchScope(size, can_be_found, breadth))

    def newest(self, among: RowFilter, ignored: Collection[int], kinds: Collection[Kind] = SPEECH) -> Iterator[int]:
        """Yield the rows of these kinds that have text, from the end of the branch on."""
        timeline, path = self._journal.timeline, self._journal.path
        for row in range(len(timeline) - 1, -1, -1):
            has_text = timeline.kind[row] in kinds and timeline.full[row] and timeline.unit[row] not in ignored
            if has_text and path.holds(timeline.branch[row], row) and among(row):
                yield row

    def wants_overview(self, query: str) -> bool:
        """Return whether a question asks for everything and names nothing that can be looked for."""
        if not asks_for_overview(query):
            return False
        timeline, path, asking = self._journal.timeline, self._journal.path, self.asking_units()

        def states_something(row: int) -> bool:
            return (
                timeline.kind[row] in SPEECH
                and path.holds(timeline.branch[row], row)
                and timeline.unit[row] not in asking
                and not asks_for_overview(self._journal.reader.text(row))
            )

        return self.extend_index().coverage(overview_subject(query), states_something) < _VAGUE

    def asking_units(self) -> set[int]:
        """Return the units that ask: the last user message, and those with pending calls. They are no answer."""
        timeline = self._journal.timeline
        pending = (timeline.unit[row] for row in timeline.open_calls)
        return {timeline.last_user(self._journal.path, len(timeline)), *pending}

    # ------------------------------------------------------------------ the index

    def extend_index(self, max_rows: int | None = None) -> SearchIndex:
        """Return the index with the rows that are new: all of them, or at most so many."""
        if self._index is None:
            self._index = self._open_index()
        timeline, reader = self._journal.timeline, self._journal.reader
        end = len(timeline) if max_rows is None else min(len(timeline), self._index.upto + max_rows)
        while self._index.upto < end:  # an index that turned out damaged begins again at 0
            rows = (row for row in range(self._index.upto, end) if timeline.kind[row] not in _REPEATING)
            texts = ((row, f"{reader.text(row)}{TIME_MARK}{reader.entry(row).when}") for row in rows)
            self._index.add(texts, end)
            if max_rows is not None:
                break
        return self._index

    def _open_index(self) -> SearchIndex:
        """Open the index file beside the log. One with more rows than the log has is another log's: it begins again."""
        store = self._journal.store
        side, key = store.side_file(".search"), store.session_id
        # The index must not have rows whose log lines a power cut may still take, hence `store.sync`.
        index = SearchIndex(str(side) if side else None, key=key, before_writing=store.sync)
        if side is not None and index.upto > len(self._journal.timeline) and not self._journal.behind():
            index.close()
            side.unlink(missing_ok=True)
            index = SearchIndex(str(side), key=key, before_writing=store.sync)
        return index
