"""Finds the rows of one branch that match a query. Keeps the search index of its log up to date.

`overview.question` is imported inside functions: loading its words takes 10 ms, and most sessions ask it nothing.
"""

from collections.abc import Callable, Collection, Iterator, Sequence, Set
from functools import partial
from itertools import chain, zip_longest
from typing import TypeVar

from sightline.log.column_cache import line_hash
from sightline.log.columns import WHOLE, replaced_rows
from sightline.log.journal import Journal
from sightline.log.stores import Span
from sightline.log.stores.memory import MemoryStore
from sightline.recall.overview import SHOWN_KINDS, SPEECH
from sightline.recall.search import TIME_MARK, Breadth, Hit, SearchIndex, SearchResult, SearchScope, looked_up
from sightline.recall.search.terms import STOP_TERMS, query_terms, terms
from sightline.values.items import Kind
from sightline.values.pattern import pattern

_NEAR_BEST = 0.4  # of the best row's own match: rows that match less are noise
_CALL = int(Kind.CALL)  # as a plain number, because a search compares hundreds
_REPEATING = frozenset((int(Kind.RECALL), int(Kind.WINDOW)))  # they show what stands elsewhere, and are not searched
_LONG = 200  # tokens: a longer result is no further away from what was said before and after it
_ATTEMPTS = 5  # at a search while rows of the index get lost: the last one is answered from memory
_READ_AHEAD = 256  # rows whose entries are read at once
_MANY = 1_000  # rows that are not in the index: to index them would take longer than anybody waits for a first answer
_SCANNED = 0.6  # of all rows: fewer new ones are indexed in the time in which all are searched
_TASK_CHARS = 400  # of a call, and of what was said with it, by which its result is found

_LONGEST = 400  # characters of a message that is taken apart: a longer one tells something too
_MOST = 3  # parts: each is one more search
_LEAST_TERMS = 2  # of a part: what has fewer goes on with the part before it ("and when?")
_ASKING = (
    "what|when|where|who|whom|whose|which|why|how|did|does|do|is|are|was|were|has|have|had|can|could|will|would|should"
)
_ENDS = pattern(
    rf"[?？!！。;；]+\s*|\.\s+|,?\s+(?:and|or|but|also)\s+(?:also\s+)?(?=(?:{_ASKING})\b)|[，,]?(?:还有|以及|另外|并且)[，,]?",
    2,
)

RowFilter = Callable[[int], bool]
T = TypeVar("T")

_NARROW = Breadth(8, 16, 0.3)  # for the few pieces that a turn brings back
_WIDE = Breadth(20, 32, 1.0)  # for a user message: what is said around a match may answer it


class Finder:
    """Searches a journal's branch. The index is made when first needed and extended by the rows that are new."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._index: SearchIndex | None = None
        self._scan: SearchIndex | None = None  # of one message's terms only, while most rows are not in the index

    def close(self) -> None:
        """Store what the index has in memory. What was only scanned is indexed now, so that nobody scans it again."""
        if self._scan is not None and not isinstance(self._journal.store, MemoryStore):
            self.extend_index()
        if self._index is not None:
            self._index.close()
            self._index = None

    def matches(self, query: str, limit: int, ignored: Collection[int] = ()) -> SearchResult:
        """Return the rows that match a query well by themselves, best first."""
        ranked = self.rank(query, 2 * limit, ignored)
        least = _NEAR_BEST * max((hit.share for hit in ranked.hits), default=1.0)
        return SearchResult(ranked.terms, [hit for hit in ranked.hits if hit.share >= least][:limit])

    def rank(
        self,
        query: str,
        limit: int,
        ignored: Collection[int] = (),
        *,
        wide: bool = False,
        least_share: float = 0.0,
    ) -> SearchResult:
        """Return the rows of the branch that match a query or stand near a row that does, best first.

        `ignored` units count as if they were not there. `wide`: look further around a match. Where surely no row has
        the least share of a full match, there are no hits. What is not indexed yet is indexed first.
        """
        timeline, holds = self._journal.timeline, self._journal.path.holds
        branch, full, unit, kind, rows = timeline.branch, timeline.full, timeline.unit, timeline.kind, len(timeline)

        def size(row: int) -> int:  # another process may have indexed more rows than this one has read
            if row < rows and kind[row] not in _REPEATING and unit[row] not in ignored and holds(branch[row], row):
                tokens = full[row] or 1
                return tokens if tokens < _LONG else _LONG
            return 0

        def can_be_found(row: int) -> bool:
            answer = timeline.partner[row] if kind[row] == _CALL else row
            # Of `expand` and `recall` the source is to be found.
            return full[row] > 0 and (answer < 0 or not timeline.state[answer] & WHOLE)

        scope = SearchScope(size, can_be_found, _WIDE if wide else _NARROW)
        return self._asked(_wanted(query), lambda index: index.answers(query, limit, scope, least_share))

    def rank_parts(self, query: str, limit: int, ignored: Collection[int], least_share: float) -> SearchResult:
        """Return what `rank` finds for a user message, or for each part of one that asks for several things, by turns.

        The scores of a part are raised so that its best row scores as much as the best of all.
        """
        parts = question_parts(query)
        self._index_for(set[str]().union(*map(_wanted, (query, *parts))))
        ranked = [self.rank(part, limit, ignored, wide=True, least_share=least_share) for part in parts or [query]]
        if len(ranked) == 1:
            return ranked[0]
        best = [max((hit.score for hit in result.hits), default=0.0) for result in ranked]
        raised = [
            [hit._replace(score=hit.score - own + max(best)) for hit in result.hits]
            for result, own in zip(ranked, best, strict=True)
        ]
        by_turns = dict[int, Hit]()
        for hit in filter(None, chain.from_iterable(zip_longest(*raised))):
            by_turns[hit.row] = max(hit, by_turns.get(hit.row, hit))
        terms = dict.fromkeys(term for row in zip_longest(*(result.terms for result in ranked)) for term in row if term)
        return SearchResult([*terms], [*by_turns.values()])

    def newest(self, among: RowFilter, ignored: Collection[int], kinds: Collection[Kind] = SPEECH) -> Iterator[int]:
        """Yield the rows of these kinds that have text, from the end of the branch on."""
        timeline, path = self._journal.timeline, self._journal.path
        for row in range(len(timeline) - 1, -1, -1):
            has_text = timeline.kind[row] in kinds and timeline.full[row] and timeline.unit[row] not in ignored
            if has_text and path.holds(timeline.branch[row], row) and among(row):
                yield row

    def asks_for_everything(self, query: str, *, surely: bool = False) -> bool:
        """Return whether a question names nothing by which some rows could be told from the others.

        `surely`: it must also ask in so many words, because "OK, thanks" names nothing either.
        """
        from sightline.recall.overview.question import is_about_everything, surely_asks

        if surely and not surely_asks(query):
            return False
        return is_about_everything(
            query, partial(self._places, query), self._states_something(), len(self._journal.timeline)
        )

    def stands_out(self, query: str) -> bool:
        """Return whether some passage has what a question names, and few others do."""
        from sightline.recall.overview.question import stands_out

        return stands_out(query, partial(self._places, query), self._is_told(), len(self._journal.timeline))

    def _states_something(self) -> RowFilter:
        """Return a function that says whether a row tells something, and does not only ask to be told."""
        from sightline.recall.overview.question import asks_to_tell

        timeline, text, is_told = self._journal.timeline, self._journal.reader.text, self._is_told()
        return lambda row: is_told(row) and not (timeline.is_users_own(row) and asks_to_tell(text(row)))

    def _is_told(self) -> RowFilter:
        """Return a function that says whether a row was said, called or answered before what asks now."""
        timeline, path, asking = self._journal.timeline, self._journal.path, self.asking_units()

        def is_told(row: int) -> bool:
            told = row < len(timeline) and timeline.kind[row] in SHOWN_KINDS and timeline.unit[row] not in asking
            return told and path.holds(timeline.branch[row], row)

        return is_told

    def speaks_of_anything(self, query: str) -> bool:
        """Return whether a message has a word to look for, or asks for everything. "OK, thanks" and "Go on" do not."""
        from sightline.recall.overview.question import says_something, surely_asks

        return says_something(query) or surely_asks(query)

    def asking_units(self) -> set[int]:
        """Return the units that are no answer: the last user message, those with pending calls, what was replaced."""
        timeline, path = self._journal.timeline, self._journal.path
        rows = [*timeline.open_calls, *replaced_rows(timeline.marked(path))]
        return {timeline.last_user(path, len(timeline)), *(timeline.unit[row] for row in rows)}

    # ------------------------------------------------------------------ the index

    def extend_index(self) -> SearchIndex:
        """Return the index with the rows that are new."""
        self._scan = None
        return self._extended(self._opened())

    def _opened(self) -> SearchIndex:
        if self._index is None:
            self._index = self._open_index()
        return self._index

    def _extended(self, index: SearchIndex) -> SearchIndex:
        while index.upto < (end := len(self._journal.timeline)):  # what turned out damaged or lost is indexed again
            index.add(self._rows_to_index(index.upto, end), end)
        return index

    def _index_for(self, wanted: Set[str]) -> SearchIndex:
        """Return an index that has these terms of all rows.

        A long history is not indexed before the first answer: its rows are only searched for the terms of the message.
        """
        rows = len(self._journal.timeline)
        if self._scan is None and (new := rows - self._opened().upto) > _MANY and new > rows * _SCANNED:
            self._scan = SearchIndex(only=wanted)
        if self._scan is not None and self._scan.only is not None and wanted <= self._scan.only:
            return self._extended(self._scan)
        return self.extend_index()

    def _asked(self, wanted: Set[str], ask: Callable[[SearchIndex], T]) -> T:
        """What an index that knows every row answers: if it turns out that rows are lost, they are indexed again."""
        for _ in range(_ATTEMPTS):
            answer = ask(index := self._index_for(wanted))
            if index.upto >= len(self._journal.timeline):
                break
        return answer

    def _places(self, query: str, wanted: Sequence[str]) -> dict[str, list[int]]:
        return self._asked(_wanted(query).union(wanted), lambda index: index.places(wanted))

    def _rows_to_index(self, first: int, end: int) -> Iterator[tuple[int, str]]:
        """Yield the rows and their texts. Entries are read many at a time."""
        timeline = self._journal.timeline
        for start in range(first, end, _READ_AHEAD):
            rows = [row for row in range(start, min(start + _READ_AHEAD, end)) if timeline.kind[row] not in _REPEATING]
            self._journal.reader.prefetch(rows)
            heads: dict[int, str] = {}  # of what was said and called: several results may follow it
            for row in rows:
                yield row, self._text_to_index(row, heads)

    def _text_to_index(self, row: int, heads: dict[int, str]) -> str:
        """Return the text by which a row is found, and its time. A result is found by its call and its task too."""
        timeline, reader = self._journal.timeline, self._journal.reader
        text, when = reader.text(row), reader.entry(row).when
        if timeline.kind[row] != Kind.RESULT:
            heads[row] = text[:_TASK_CHARS]
            return f"{text}{TIME_MARK}{when}"
        task: list[str] = []
        for source in (timeline.partner[row], timeline.unit_row[timeline.unit[row]]):
            if source >= 0:
                if source not in heads:
                    heads[source] = reader.text(source)[:_TASK_CHARS]
                task.append(f"\n{heads[source]}")
        return "".join([text, *task, TIME_MARK, when])  # joined once: it may be huge

    def _open_index(self) -> SearchIndex:
        """Open the index of the log."""
        store = self._journal.store
        # The index must not have rows whose log lines a power cut may still take, hence `store.sync`.
        return SearchIndex(store, key=store.session_id, mark=self._mark, before_writing=store.sync)

    def _mark(self, row: int) -> str | None:
        """The hash of a row's line; "" if the log has no such row, None if it may have one that is not read yet."""
        timeline = self._journal.timeline
        if row < len(timeline):
            return line_hash(self._journal.store, Span(timeline.offset[row], timeline.length[row]))
        return None if self._journal.behind() else ""


def _wanted(query: str) -> set[str]:
    """Return the terms by which a query is answered."""
    return {*terms(query)} - STOP_TERMS | {*looked_up(query)}


def question_parts(text: str) -> list[str]:
    """Return the parts of a message that asks for two or three things; none if it asks for one.

    Each part has words of its own to look for. A message that also tells something is not taken apart.
    """
    if len(text) > _LONGEST or not ("?" in text or "？" in text):
        return []
    parts = [part for part in _ENDS.split(text) if part and part.strip()]
    is_apart = all(_content(part) >= _LEAST_TERMS for part in parts)
    return parts if 1 < len(parts) <= _MOST and is_apart else []


def _content(part: str) -> int:
    """Return how many words a part has to look for. A pair of Chinese characters is one."""
    return sum(len(term) > 1 for term in query_terms(part))
