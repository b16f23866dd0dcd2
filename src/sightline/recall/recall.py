"""Finding what is no longer shown in full, and bringing it back: for the engine, for callers, as the model's tools."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from sightline.log.annotations import RecallNote, Source
from sightline.log.columns import WHOLE
from sightline.log.journal import Journal
from sightline.plan.plan import Plan
from sightline.plan.view import View
from sightline.recall.pieces import LINE, Gathered
from sightline.recall.search import BESIDE, Hit, SearchIndex, Where, asks_for_all, besides_all, passages
from sightline.shorten.digest import digest
from sightline.values.items import Call, File, Image, Kind, Lod, Text, ToolDefinition
from sightline.values.phrases import say

PAGE_TOKENS = 2000  # of one page that the model asks for
_SOURCES = 6  # pieces of one recall: more is a search result, not an answer
_VAGUE = 0.3  # of what a question says in one place: less, and it names nothing to look for
_OVERVIEWED = 4_000  # rows an overview is made of: a second
_HANDLE = 2  # tokens of one
_SPOKEN = (Kind.USER, Kind.ASSISTANT)
_WHOLE_TOKENS = 300  # an item up to this size is brought back whole
_LABEL = 40  # tokens: what a page says about itself
_AT_ONCE = 50  # rows indexed before a call: more than a turn adds, less than anybody notices
_NEAR_BEST = 0.4  # of how well the best row matches: worse ones are noise
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


class _Breadth(NamedTuple):
    """How far a search looks: see `Where`."""

    reach: int
    terms: int
    common: float


_TURN = _Breadth(8, 16, 0.3)  # for the few pieces that a turn brings back
_QUESTION = _Breadth(60, 64, 1.0)  # all that is said around what matches may answer it, if there is room


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

    def take_in(self, messages: int) -> None:
        """So many came at once: who imports a history waits once, and its first question finds everything."""
        if messages > _AT_ONCE:
            self._caught_up()

    def note(
        self,
        query: str,
        room: int,
        among: Callable[[int], bool] | None = None,
        known: Container[Source] = (),
        *,
        unasked: bool = False,
    ) -> RecallNote | None:
        """What to bring back for a query, in at most `room` tokens; None if nothing matches that is not `known`.

        `unasked`: nobody asked for it, so only what clearly matches comes back, and nobody waits while a long history
        that was never searched is indexed: a part of it is, now and at the next message.
        """
        found = Gathered(self._journal, room, known)
        telling, hits = self._matches(query, _SOURCES, self._answers(among), unasked)
        for hit in hits:
            found.take(self._pieces(hit.row, telling, found.room))
        return found.note(query)

    def answering(self, query: str, room: int, among: Callable[[int], bool] | None = None) -> RecallNote | None:
        """Everything that may answer a question, as much as there is room for: the best first, then the newest.

        Where it asks for everything and names nothing ("what have we settled so far?"), an overview: of work
        with tools a digest, of a talk what was settled, in quotes of those who said it.
        """
        found, may_answer = Gathered(self._journal, room), self._answers(among)
        if asks_for_all(query) and self._caught_up().covered(besides_all(query), self._says) < _VAGUE:
            rows = list(islice(self._newest(may_answer, (*_SPOKEN, Kind.CALL, Kind.RESULT)), _OVERVIEWED))
            if self._is_work(rows):
                return RecallNote((), query, overview) if (overview := self._digest(rows, room)) else None
            taken, telling = self._quoted(rows, found), ""
        else:
            taken, telling = self._found(query, found, may_answer)
        for row in self._newest(may_answer):
            if not found.has_room():
                break
            if row not in taken:
                self._take(row, telling, found)
        return found.note(query)

    def _found(self, query: str, found: Gathered, among: Callable[[int], bool]) -> tuple[set[int], str]:
        """Take the rows that may answer a question, the best first. Which they were, and the terms that found them."""
        telling, hits = self._ranked(query, found.room // LINE, among, breadth=_QUESTION)
        for hit in hits:
            if not found.has_room():
                break
            self._take(hit.row, telling, found)
        return {hit.row for hit in hits}, telling

    def _take(self, row: int, telling: str, found: Gathered) -> None:
        """Take a row that may answer a question: what somebody said whole, up to half the room that is left."""
        timeline = self._journal.timeline
        found.has_room(timeline.full[row] + LINE)
        whole = max(_WHOLE_TOKENS, found.room // 2) if timeline.kind[row] in _SPOKEN else _WHOLE_TOKENS
        found.take(self._pieces(row, telling, found.room, whole))

    def _says(self, row: int) -> bool:
        """Whether somebody says something here, and does not ask for everything as well."""
        timeline, path = self._journal.timeline, self._journal.path
        spoken = timeline.kind[row] in _SPOKEN and path.holds(timeline.branch[row], row)
        return spoken and timeline.unit[row] not in self._asking() and not asks_for_all(self._journal.reader.text(row))

    def _is_work(self, rows: Iterable[int]) -> bool:
        """Whether more is done with tools than said by the user."""
        kinds = Counter(self._journal.timeline.kind[row] for row in rows)
        return kinds[Kind.CALL] > kinds[Kind.USER]

    def _digest(self, rows: Sequence[int], room: int) -> str:
        """These rows, newest first, as one page."""
        reader = self._journal.reader
        count, locale = reader.counter.count, reader.locale
        items = [reader.item(row) for row in reversed(rows)]
        return digest(items, tokens=room - count(say("overview", locale)) - 1, count=count, locale=locale)

    def _quoted(self, rows: Iterable[int], found: Gathered) -> set[int]:
        """Take what these rows, newest first, settle, each value once. Which of them are quoted."""
        from sightline.recall.quotes import ledger  # its rules take 30 ms to compile, and few ask for everything

        timeline, reader = self._journal.timeline, self._journal.reader
        turns = ((row, reader.text(row)) for row in rows if timeline.kind[row] != Kind.RESULT)
        quoted = ledger(turns, found.room, reader.counter.count, _HANDLE)
        for row, spans in quoted:
            found.take([Source(timeline.id(row), quotes=tuple((each.first, each.end) for each in spans))])
        return {row for row, _ in quoted}

    def _newest(self, among: Callable[[int], bool], kinds: Sequence[Kind] = _SPOKEN) -> Iterator[int]:
        """What was said, from the end of the branch on."""
        timeline, path = self._journal.timeline, self._journal.path
        for row in range(len(timeline) - 1, -1, -1):
            says = timeline.kind[row] in kinds and timeline.full[row]
            if says and path.holds(timeline.branch[row], row) and among(row):
                yield row

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

    def _asking(self) -> set[int]:
        """The units that ask: the user's last message, and the calls that wait."""
        timeline = self._journal.timeline
        asking = {timeline.unit[row] for row in timeline.open_calls}
        return asking | {timeline.last_user(self._journal.path, len(timeline))}

    def _answers(self, among: Callable[[int], bool] | None) -> Callable[[int], bool]:
        """What asks is no answer."""
        unit, asking = self._journal.timeline.unit, self._asking()
        return lambda row: unit[row] not in asking and (among is None or among(row))

    def _matches(
        self, query: str, limit: int, among: Callable[[int], bool] | None = None, unasked: bool = False
    ) -> tuple[str, list[Hit]]:
        """The telling part of a query, and the rows of the branch that themselves match it well, best first."""
        telling, hits = self._ranked(query, 2 * limit, among, unasked)
        least = _NEAR_BEST * max((hit.share for hit in hits), default=1.0)
        return telling, [hit for hit in hits if hit.share >= max(least, _CLEAR if unasked else 0.0)][:limit]

    def _ranked(
        self,
        query: str,
        limit: int,
        among: Callable[[int], bool] | None = None,
        unasked: bool = False,
        breadth: _Breadth = _TURN,
    ) -> tuple[str, list[Hit]]:
        index = self._caught_up(_AT_ONCE if unasked else None)
        timeline, path = self._journal.timeline, self._journal.path
        branch, full, unit, rows, asking = timeline.branch, timeline.full, timeline.unit, len(timeline), set[int]()
        if among is not None:
            asking = self._asking()

        def size(row: int) -> int:  # another process may have indexed more than this one has taken in
            there = row < rows and path.holds(branch[row], row) and unit[row] not in asking
            return max(full[row], 1) if there else 0

        def eligible(row: int) -> bool:
            return full[row] > 0 and not self._is_ours(row) and (among is None or among(row))

        return index.answers(query, limit, Where(size, eligible, *breadth))

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

    def _pieces(self, row: int, query: str, room: int, whole: int = _WHOLE_TOKENS) -> Iterator[Source]:
        """An item whole, up to so many tokens, else its passages that match."""
        timeline, reader = self._journal.timeline, self._journal.reader
        item_id = timeline.id(row)
        if timeline.full[row] <= min(room, whole):
            yield Source(item_id)
            return
        text = "\n".join(reader.lines(row))
        for first, last in passages(text, query, min(room, _WHOLE_TOKENS), reader.counter.count):
            yield Source(item_id, first, last)

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
            said = (row for row in fresh if timeline.kind[row] not in (Kind.RECALL, Kind.WINDOW))
            texts = ((row, f"{reader.text(row)}{BESIDE}{reader.entry(row).when}") for row in said)
            self._index.add(texts, end)
            if most is not None:
                break
        return self._index


def shows_all(view: View, plan: Plan) -> bool:
    """Whether a plan shows everything in full."""
    return not plan.lods and plan.left_out is None and len(plan) == len(view.last or ()) + len(view.new)


def reduced(plan: Plan) -> Callable[[int], bool]:
    """Whether a row is shown below FULL, or not at all, by this plan."""
    timeline, known = plan.timeline, plan.rows

    def is_reduced(row: int) -> bool:
        shown = timeline.kind[row] == Kind.SYSTEM or (timeline.unit[row] in plan and plan.lod(row) is Lod.FULL)
        return row < known and not shown

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
