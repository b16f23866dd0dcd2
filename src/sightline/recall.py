"""Finding what is no longer shown in full, and bringing it back: for the engine, for callers, as the model's tools."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sightline.items import Call, File, Image, Kind, Lod, Text, ToolDefinition
from sightline.journal import Journal
from sightline.notes import RecallNote, Source
from sightline.plan import Plan
from sightline.search import Hit, SearchIndex, passages
from sightline.timeline import WHOLE
from sightline.wording import say

PAGE_TOKENS = 2000  # of one page that the model asks for
_SOURCES = 6  # pieces of one recall: more is a search result, not an answer
_WHOLE_TOKENS = 300  # an item up to this size is brought back whole
_LABEL = 40  # tokens: what a page says about itself
_AT_ONCE = 50  # rows indexed before a call: more than a turn adds, less than anybody notices
_TERMS = 16  # of a long message: its rarest terms say what it is about
_NEAR_BEST = 0.4  # of the best score: worse hits are noise
_CLEAR = 0.4  # of what the message says: less of it in one place is chance

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
        "Search what was said and done earlier in this conversation, also what is no longer shown. "
        "Gives the best matching passages with their handles. Of very long items only parts are searched: "
        "expand with grep looks through one.",
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

    def note(
        self, query: str, room: int, among: Callable[[int], bool] | None = None, *, unasked: bool = False
    ) -> RecallNote | None:
        """What to bring back for a query, in at most `room` tokens; None if nothing matches.

        `unasked`: nobody asked for it, so only what clearly matches comes back, and nobody waits while a long history
        that was never searched is indexed: a part of it is, now and at the next message.
        """
        reader = self._journal.reader
        count, locale = reader.counter.count, reader.locale
        room -= count(say("recalled", locale))
        sources: list[Source] = []
        telling, hits = self._matches(query, _SOURCES, self._answers(among), unasked)
        for hit in hits:
            for source in self._pieces(hit.row, telling, room):
                tokens = count(reader.source_text(source, locale)) + 1  # counted apart they are never fewer
                tokens += reader.full_tokens(reader.media(RecallNote((source,))))
                if tokens <= room:
                    sources.append(source)
                    room -= tokens
        return RecallNote(tuple(sorted(sources, key=self._order)), query) if sources else None

    def found(self, query: str, limit: int = _SOURCES) -> list[Found]:
        """The best matching items, each with its passages. Writes nothing."""
        reader, found = self._journal.reader, []
        telling, hits = self._matches(query, limit)
        for hit in hits:
            note = RecallNote(tuple(self._pieces(hit.row, telling, PAGE_TOKENS)), query)
            found.append(Found(self._journal.timeline.id(hit.row), hit.score, reader.recall_text(note, reader.locale)))
        return found

    def _is_ours(self, row: int) -> bool:
        """Whether a row is a page or a search of ours, or the call that asked for it: its source is what to find."""
        timeline = self._journal.timeline
        answer = timeline.partner[row] if timeline.kind[row] == Kind.CALL else row
        return answer >= 0 and bool(timeline.state[answer] & WHOLE)

    def _answers(self, among: Callable[[int], bool] | None) -> Callable[[int], bool]:
        """What asks is no answer: not the user's last message, nor the calls that wait."""
        timeline = self._journal.timeline
        asking = {timeline.unit[row] for row in timeline.more.open_calls}
        asking.add(timeline.last_user(self._journal.path, len(timeline)))
        return lambda row: timeline.unit[row] not in asking and (among is None or among(row))

    def _matches(
        self, query: str, limit: int, among: Callable[[int], bool] | None = None, unasked: bool = False
    ) -> tuple[str, list[Hit]]:
        """The telling part of a query, and the rows of the branch that match it, best first."""
        index = self._caught_up(_AT_ONCE if unasked else None)
        timeline, path = self._journal.timeline, self._journal.path

        def eligible(row: int) -> bool:
            known = row < len(timeline)  # another process may have indexed more than this one has taken in
            if not known or self._is_ours(row):
                return False
            return path.holds(timeline.branch[row], row) and (among is None or among(row))

        telling = index.telling(query, _TERMS)
        hits = index.search(telling, limit, among=eligible)
        least = max((_NEAR_BEST * hits[0].score for _ in hits[:1]), default=0.0)
        return telling, [hit for hit in hits if hit.score >= least and (not unasked or hit.share >= _CLEAR)]

    def page_tokens(self, limit: int | None) -> int:
        """How large a page may be so that it is shown in full: a fifth of what a payload may have."""
        return PAGE_TOKENS if limit is None else min(PAGE_TOKENS, limit // 5)

    def answer(self, call: Call, tokens: int) -> tuple[Text | Image | File, ...]:
        """What one of our own tools says to the model, within so many tokens. Its mistakes are answered, not raised."""
        given = call.input if isinstance(call.input, dict) else {}
        reader = self._journal.reader
        missing = "query" if call.name == "recall" else "id"
        if not str(given.get(missing) or "").strip():
            return (Text(say(f"{call.name} how", reader.locale)),)
        if call.name == "recall":
            note = self.note(str(given.get("query", "")), tokens)
            return (Text(reader.recall_text(note, reader.locale) if note else say("nothing found", reader.locale)),)
        row = self._journal.row(str(given.get("id", "")))
        if row is None:
            return (Text(say("unknown item", reader.locale, id=given.get("id", ""))),)
        start, lines, grep = _from_one(given.get("start")) or 1, _from_one(given.get("lines")), given.get("grep")
        page = self.page(row, start, lines, str(grep) if grep else None, tokens)
        return (Text(page.text), *reader.media(page.note))

    def page(
        self, row: int, start: int = 1, lines: int | None = None, grep: str | None = None, tokens: int = PAGE_TOKENS
    ) -> Page:
        """Lines of an item, as many as fit a page of so many tokens, and how to go on."""
        item_id, locale = self._journal.timeline.id(row), self._journal.reader.locale
        numbered = list(enumerate(self._journal.reader.lines(row), start=1))
        total = len(numbered)
        if grep is not None:
            needle = grep.casefold()
            numbered = [(number, f"{number}: {line}") for number, line in numbered if needle in line.casefold()]
        numbered = [pair for pair in numbered if pair[0] >= start][:lines]
        shown = self._fitting(numbered, tokens - _LABEL)
        if not shown:
            return Page(say("no match", locale, id=item_id, grep=grep or f"start={start}"), RecallNote(()))
        first, last = shown[0][0], shown[-1][0]
        whole = first == 1 and last == total and grep is None
        key = "page" if len(shown) < len(numbered) or (lines is not None and last < total) else "page end"
        label = say(key, locale, id=item_id, first=first, last=last, total=total, next=last + 1)
        runs = [(0, 0)] if whole else _runs([number for number, _ in shown])
        note = RecallNote(tuple(Source(item_id, *run) for run in runs))
        return Page("\n".join([label, *(line for _, line in shown)]), note)

    def _fitting(self, lines: list[tuple[int, str]], room: int) -> list[tuple[int, str]]:
        count = self._journal.reader.counter.count
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

    def _opened(self) -> SearchIndex:
        """The index beside the log. One that knows of more than the log holds was made of another: it begins again."""
        store = self._journal.store
        side, key = store.side_file(".search"), store.session_id
        # Its file must not know of lines that a power cut may take.
        index = SearchIndex(str(side) if side else None, key=key, before_writing=store.sync)
        if side is not None and index.upto > len(self._journal.timeline) and not self._journal.behind():
            index.close()
            side.unlink(missing_ok=True)
            index = SearchIndex(str(side), key=key, before_writing=store.sync)
        return index

    def _caught_up(self, most: int | None = None) -> SearchIndex:
        """The index, grown by what is new: all of it, or at most this many rows."""
        if self._index is None:
            self._index = self._opened()
        timeline, reader = self._journal.timeline, self._journal.reader
        end = len(timeline) if most is None else min(len(timeline), self._index.upto + most)
        while self._index.upto < end:  # an index that was thrown away begins again at 0
            fresh = range(self._index.upto, end)
            texts = ((row, reader.text(row)) for row in fresh if timeline.kind[row] not in (Kind.RECALL, Kind.WINDOW))
            self._index.add(texts, end)
            if most is not None:
                break
        return self._index


def reduced(plan: Plan) -> Callable[[int], bool]:
    """Whether a row is shown below FULL, or not at all, by this plan."""
    timeline, known = plan.timeline, plan.rows

    def is_reduced(row: int) -> bool:
        return row < known and (plan.lod(row) is not Lod.FULL or timeline.unit[row] not in plan)

    return is_reduced


def _from_one(value: Any) -> int | None:
    """A number from 1 on that a model gave; None where it gave none."""
    try:
        return max(1, int(value))
    except (TypeError, ValueError, OverflowError):
        return None


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as runs of (first, last)."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
