"""Finding what is no longer shown in full, and bringing it back: for the engine, for callers, as the model's tools."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sightline.items import Kind, Lod, ToolDefinition
from sightline.journal import Journal
from sightline.notes import RecallNote, Source
from sightline.plan import Plan
from sightline.search import SearchIndex, passages
from sightline.wording import say

PAGE_TOKENS = 2000  # of one page that the model asks for
_SOURCES = 6  # pieces of one recall: more is a search result, not an answer
_WHOLE_TOKENS = 300  # an item up to this size is brought back whole
_SHARE = 0.4  # of the best score: worse hits are noise

RECALL_TOOLS = (
    ToolDefinition(
        "expand",
        "Show an item of this conversation that was shortened or left out, in full. Shortened texts name their handle, "
        "such as #412. Long items come in pages; ask for the next with start.",
        {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "the handle, such as #412"},
                "start": {"type": "integer", "description": "first line to show, counted from 1"},
                "lines": {"type": "integer", "description": "how many lines to show"},
                "grep": {
                    "type": "string",
                    "description": "show only the lines that contain this text, with their numbers",
                },
            },
            "required": ["id"],
        },
    ),
    ToolDefinition(
        "recall",
        "Search everything said and done earlier in this conversation, also what is no longer shown. "
        "Gives the best matching passages with their handles.",
        {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "what to look for"}},
            "required": ["query"],
        },
    ),
)


class Found(NamedTuple):
    """One earlier item that matches, and the passages in it."""

    id: str
    score: float
    text: str


class Page(NamedTuple):
    """A part of an item: what it says, and where it stands."""

    text: str
    note: RecallNote


class Recall:
    """Search over one journal's branch. The index is made when first needed and extended by what is new."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._index: SearchIndex | None = None

    def close(self) -> None:
        """Let go of the index file."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def rows(self, query: str, limit: int, among: Callable[[int], bool] | None = None) -> list[tuple[int, float]]:
        """Rows of the branch that match, best first."""
        index = self._caught_up()
        timeline, path = self._journal.timeline, self._journal.path

        def eligible(row: int) -> bool:
            return path.holds(timeline.branch[row], row) and (among is None or among(row))

        hits = index.search(query, limit, among=eligible)
        return [(hit.row, hit.score) for hit in hits if hit.score >= _SHARE * hits[0].score]

    def note(self, query: str, room: int, among: Callable[[int], bool] | None = None) -> RecallNote | None:
        """What to bring back for a query, in at most `room` tokens; None if nothing matches."""
        reader = self._journal.reader
        count, locale = reader.counter.count, reader.locale
        room -= count(say("recalled", locale))
        sources: list[Source] = []
        for row, _ in self.rows(query, _SOURCES, among):
            for source in self._pieces(row, query, room):
                tokens = (
                    count(reader.source_text(source, locale)) + 1
                )  # the line break; parts counted apart are never fewer than together
                if tokens <= room:
                    sources.append(source)
                    room -= tokens
        return RecallNote(tuple(sorted(sources, key=self._order)), query) if sources else None

    def found(self, query: str, limit: int = _SOURCES) -> list[Found]:
        """The best matching items, each with its passages. Writes nothing."""
        found = []
        for row, score in self.rows(query, limit):
            note = RecallNote(tuple(self._pieces(row, query, PAGE_TOKENS)), query)
            text = self._journal.reader.recall_text(note, self._journal.reader.locale)
            found.append(Found(self._journal.timeline.id(row), score, text))
        return found

    def page(self, row: int, start: int = 1, lines: int | None = None, grep: str | None = None) -> Page:
        """Lines of an item, as many as fit a page, and how to go on."""
        item_id, locale = self._journal.timeline.id(row), self._journal.reader.locale
        numbered = list(enumerate(self._journal.reader.lines(row), start=1))
        total = len(numbered)
        if grep is not None:
            needle = grep.casefold()
            numbered = [(number, f"{number}: {line}") for number, line in numbered if needle in line.casefold()]
        numbered = [pair for pair in numbered if pair[0] >= start][:lines]
        shown = self._fitting(numbered)
        if not shown:
            return Page(say("no match", locale, id=item_id, grep=grep or f"start={start}"), RecallNote(()))
        first, last = shown[0][0], shown[-1][0]
        key = "page" if len(shown) < len(numbered) or (lines is not None and last < total) else "page end"
        label = say(key, locale, id=item_id, first=first, last=last, total=total, next=last + 1)
        note = RecallNote(tuple(Source(item_id, *run) for run in _runs([number for number, _ in shown])))
        return Page("\n".join([label, *(line for _, line in shown)]), note)

    def _fitting(self, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
        count, room = self._journal.reader.counter.count, PAGE_TOKENS
        for index, (_, line) in enumerate(lines):
            room -= count(line) + 1
            if room < 0:
                return lines[: max(index, 1)]
        return lines

    def _pieces(self, row: int, query: str, room: int) -> Iterator[Source]:
        timeline, reader = self._journal.timeline, self._journal.reader
        item_id = timeline.id(row)
        if timeline.full[row] <= min(room, _WHOLE_TOKENS):
            yield Source(item_id)
            return
        text = "\n".join(reader.lines(row))
        for first, last in passages(text, query, min(room, _WHOLE_TOKENS), reader.counter.count):
            yield Source(item_id, first, last)

    def _order(self, source: Source) -> tuple[int, int]:
        row = self._journal.timeline.row(source.item)
        return (-1 if row is None else row, source.first)

    def _caught_up(self) -> SearchIndex:
        if self._index is None:
            side = self._journal.store.side_file(".search")
            self._index = SearchIndex(str(side) if side else None, key=self._journal.store.session_id)
        timeline, reader = self._journal.timeline, self._journal.reader
        while self._index.upto < len(timeline):  # an index that was thrown away begins again at 0
            fresh = range(self._index.upto, len(timeline))
            texts = ((row, reader.text(row)) for row in fresh if timeline.kind[row] not in (Kind.RECALL, Kind.WINDOW))
            self._index.add(texts, len(timeline))
        return self._index


def reduced(plan: Plan) -> Callable[[int], bool]:
    """Whether a row is shown below FULL, or not at all, by this plan."""
    timeline, known = plan.timeline, plan.rows

    def is_reduced(row: int) -> bool:
        return row < known and (plan.lod(row) is not Lod.FULL or timeline.unit[row] not in plan)

    return is_reduced


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as runs of (first, last)."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
