"""What to bring back of a conversation: for the engine before a call, for callers, and for the model's own tools."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from sightline.log.annotations import RecallNote, Source
from sightline.log.journal import Journal
from sightline.plan.plan import Plan
from sightline.plan.view import View
from sightline.recall.finder import ROWS_AT_ONCE, SPEECH, WIDE, Finder, RowFilter
from sightline.recall.pieces import LINE_TOKENS, Pieces
from sightline.recall.search import merge_ranges, passages
from sightline.shorten.digest import digest
from sightline.values.items import Call, File, Image, Kind, Lod, Text
from sightline.values.phrases import say

PAGE_TOKENS = 2000  # of one page that the model asks for
_MAX_HITS = 6  # items of one recall: more would be a search result, not an answer
_OVERVIEW_ROWS = 4_000  # rows that an overview is made of: takes a second
_HANDLE_TOKENS = 2
_WHOLE_TOKENS = 300  # an item up to this size is brought back whole
_LABEL_TOKENS = 40  # for the line that says which part of an item a page shows


class Found(NamedTuple):
    """One earlier item that matches a query, and the passages in it."""

    id: str
    score: float
    text: str


class Page(NamedTuple):
    """A part of an item: its text, and the note that says which lines these are."""

    text: str
    note: RecallNote


class Recall:
    """Finds earlier text of one journal's branch, as notes to write, as search results, or as pages of an item."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._finder = Finder(journal)

    def close(self) -> None:
        self._finder.close()

    def index_import(self, messages: int) -> None:
        """Index a large import at once, so that its first question finds everything."""
        if messages > ROWS_AT_ONCE:
            self._finder.extend_index()

    # ------------------------------------------------------------------ notes

    def note(
        self,
        query: str,
        max_tokens: int,
        among: RowFilter | None = None,
        known: Container[Source] = (),
        *,
        automatic: bool = False,
    ) -> RecallNote | None:
        """Return what to bring back for a query; None if no row `among` those allowed matches that is not `known`.

        With `automatic`, for a recall that nobody asked for, only clear matches come back. A long history that was
        never searched is then not indexed at once, because nobody should wait for that: each such call indexes a part.
        """
        pieces = Pieces(self._journal, max_tokens, framed=automatic, known=known)
        found = self._finder.matches(query, _MAX_HITS, among, self._finder.asking_units(), automatic=automatic)
        for hit in found.hits:
            pieces.add(self._sources(hit.row, found.terms, pieces.tokens_left))
        return pieces.note(query)

    def note_for_question(self, query: str, max_tokens: int, among: RowFilter) -> RecallNote | None:
        """Return what may answer a question `among` these rows: the best first, then the newest, as far as it fits.

        If the question asks for everything and names nothing ("what have we settled so far?"), return an overview: for
        work with tools a digest, for a conversation the values that were settled, quoted.
        """
        pieces, asking = Pieces(self._journal, max_tokens, framed=True), self._finder.asking_units()
        if self._finder.wants_overview(query):
            rows = list(islice(self._finder.newest(among, asking, (*SPEECH, Kind.CALL, Kind.RESULT)), _OVERVIEW_ROWS))
            kinds = Counter(self._journal.timeline.kind[row] for row in rows)
            if kinds[Kind.CALL] > kinds[Kind.USER]:  # this is work with tools
                reader = self._journal.reader
                items, count = [reader.item(row) for row in reversed(rows)], reader.counter.count
                tokens = max_tokens - count(say("overview", reader.locale)) - 1
                overview = digest(items, tokens=tokens, count=count, locale=reader.locale)
                return RecallNote((), query, overview) if overview else None
            tried, terms = self._add_quotes(rows, pieces), ""
        else:
            limit = pieces.tokens_left // LINE_TOKENS
            terms, hits = self._finder.rank(query, limit, among, asking, breadth=WIDE)
            tried = {hit.row for hit in hits}
            self._add_answers((hit.row for hit in hits), terms, pieces)
        self._add_answers((row for row in self._finder.newest(among, asking) if row not in tried), terms, pieces)
        return pieces.note(query)

    def _add_answers(self, rows: Iterable[int], terms: str, pieces: Pieces) -> None:
        """Add rows while tokens are left. What somebody said is added whole, if it takes at most half of them."""
        timeline = self._journal.timeline
        for row in rows:
            if not pieces.fits():
                return
            pieces.fits(timeline.full[row] + LINE_TOKENS)  # so that `tokens_left` is exact where this is a close call
            whole = max(_WHOLE_TOKENS, pieces.tokens_left // 2) if timeline.kind[row] in SPEECH else _WHOLE_TOKENS
            pieces.add(self._sources(row, terms, pieces.tokens_left, whole))

    def _sources(self, row: int, terms: str, max_tokens: int, whole: int = _WHOLE_TOKENS) -> Iterator[Source]:
        """Yield an item of at most `whole` tokens whole, of a larger one its passages that match."""
        timeline, reader = self._journal.timeline, self._journal.reader
        item_id = timeline.id(row)
        if timeline.full[row] <= min(max_tokens, whole):
            yield Source(item_id)
            return
        text = "\n".join(reader.lines(row))
        for first, last in passages(text, terms, min(max_tokens, _WHOLE_TOKENS), reader.counter.count):
            yield Source(item_id, first, last)

    def _add_quotes(self, rows: Iterable[int], pieces: Pieces) -> set[int]:
        """Add quotes of the values that these rows settle, each value once; rows come newest first. The quoted rows."""
        from sightline.recall.quotes import ledger  # its rules take 30 ms to compile, and few ask for everything

        timeline, reader = self._journal.timeline, self._journal.reader
        turns = ((row, reader.text(row)) for row in rows if timeline.kind[row] != Kind.RESULT)
        quoted = ledger(turns, pieces.tokens_left, reader.counter.count, _HANDLE_TOKENS)
        for row, spans in quoted:
            pieces.add([Source(timeline.id(row), quotes=tuple((each.first, each.end) for each in spans))])
        return {row for row, _ in quoted}

    # ------------------------------------------------------------------ search

    def search(self, query: str, limit: int = _MAX_HITS) -> list[Found]:
        """Return the best matching items, each with its passages. Writes nothing."""
        reader, results = self._journal.reader, []
        found = self._finder.matches(query, limit)
        for hit in found.hits:
            sources = tuple(self._sources(hit.row, found.terms, PAGE_TOKENS))
            text = reader.recall_text(RecallNote(sources, query), reader.locale)
            results.append(Found(self._journal.timeline.id(hit.row), hit.score, text))
        return results

    # ------------------------------------------------------------------ tools

    def answer(self, call: Call, max_tokens: int) -> tuple[Text | Image | File, ...]:
        """Answer a call of `expand` or `recall`. Mistakes of the model are answered with text, never raised."""
        given = call.input if isinstance(call.input, dict) else {}
        reader = self._journal.reader
        required = str(given.get("query" if call.name == "recall" else "id") or "")
        if not required.strip():
            return (Text(say(f"{call.name} how", reader.locale)),)
        if call.name == "recall":
            note = self.note(required, max_tokens)
            return (Text(reader.recall_text(note, reader.locale) if note else say("nothing found", reader.locale)),)
        if (row := self._journal.row(required)) is None:
            return (Text(say("unknown item", reader.locale, id=required)),)
        start, lines, grep = _positive(given.get("start")) or 1, _positive(given.get("lines")), given.get("grep")
        page = self.page(row, start, lines, str(grep) if grep else None, max_tokens)
        return (Text(page.text), *reader.media(page.note))

    def page_tokens(self, limit: int | None) -> int:
        """Return how large a page may be so that it is shown in full: a fifth of a payload's token limit."""
        return PAGE_TOKENS if limit is None else min(PAGE_TOKENS, limit // 5)

    def page(self, row: int, start: int, lines: int | None, grep: str | None, max_tokens: int) -> Page:
        """Return the lines of an item that fit a page, with a label that says how to read on."""
        item_id, locale = self._journal.timeline.id(row), self._journal.reader.locale
        numbered = list(enumerate(self._journal.reader.lines(row), start=1))
        total = len(numbered)
        if grep is not None:
            needle = grep.casefold()
            numbered = [(number, f"{number}: {line}") for number, line in numbered if needle in line.casefold()]
        numbered = [pair for pair in numbered if pair[0] >= start][:lines]
        if not (shown := self._lines_that_fit(numbered, max_tokens - _LABEL_TOKENS)):
            return Page(say("no match", locale, id=item_id, grep=grep or f"start={start}"), RecallNote(()))
        first, last = shown[0][0], shown[-1][0]
        whole = first == 1 and last == total and grep is None
        key = "page" if len(shown) < len(numbered) or (lines is not None and last < total) else "page end"
        label = say(key, locale, id=item_id, first=first, last=last, total=total, next=last + 1)
        runs = [(0, 0)] if whole else merge_ranges((number, number) for number, _ in shown)
        note = RecallNote(tuple(Source(item_id, *run) for run in runs))
        return Page("\n".join([label, *(line for _, line in shown)]), note)

    def _lines_that_fit(self, lines: list[tuple[int, str]], max_tokens: int) -> list[tuple[int, str]]:
        """Return the first lines within so many tokens, but at least one."""
        count = self._journal.reader.counter.count
        for index, (_, line) in enumerate(lines):
            max_tokens -= count(line) + 1
            if max_tokens < 0:
                return lines[: max(index, 1)]
        return lines


def shows_all(view: View, plan: Plan) -> bool:
    """Return whether a plan shows everything in full."""
    return not plan.lods and plan.left_out is None and len(plan) == len(view.last or ()) + len(view.new)


def reduced(plan: Plan) -> Callable[[int], bool]:
    """Return a function that says whether this plan shows a row below FULL, or not at all."""
    timeline, known = plan.timeline, plan.rows

    def is_reduced(row: int) -> bool:
        shown = timeline.kind[row] == Kind.SYSTEM or (timeline.unit[row] in plan and plan.lod(row) is Lod.FULL)
        return row < known and not shown

    return is_reduced


def _positive(value: Any) -> int | None:
    """Return a number that a model gave, raised to 1 if it is less; None if it gave none."""
    try:
        return max(1, int(value))
    except (TypeError, ValueError, OverflowError):
        return None
