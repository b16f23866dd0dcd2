"""What to bring back of a conversation: for the engine before a call, for callers, and for the model's own tools.

The search is imported inside functions, because nothing is searched while everything is shown.
"""

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import takewhile
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.log.annotations import RecallNote, Source
from sightline.log.journal import Journal
from sightline.log.recall_frame import LONGEST_CALL, day_of, frame_recall, passage
from sightline.plan.plan import Plan
from sightline.plan.view import View
from sightline.recall.overview import SHOWN_KINDS, SPEECH, is_work, overview
from sightline.values.items import Call, File, Image, Kind, Lod, Text
from sightline.values.pattern import pattern
from sightline.values.phrases import say
from sightline.values.recall_tools import offered

if TYPE_CHECKING:
    from sightline.recall.finder import Finder, RowFilter
    from sightline.recall.search import Hit

PAGE_TOKENS = 2000  # of one page that the model asks for
_LINE_TOKENS = 10  # a piece is seldom smaller
# Tokens of the best pieces, which stand next to the question: a small model reads what is near it best. In a room of
# twice that all are near, and the order of the conversation needs fewer dates.
_CLOSE = 1_000
_MAX_HITS = 6  # items of one recall: more would be a search result, not an answer
_MAX_ROWS = 400  # that a search for a user message looks at, however many tokens there are
_CLEAR = 0.35  # of a message's weight in one row: with less, it does not speak of anything earlier
_CLEAR_FOR_QUESTION = (
    0.2  # the same of a message that only asks; most talk that ends with a question has more sentences
)
# What is relevant: rows that score at most so much below the best, and a little more for each doubling of the room. A
# score is the logarithm of how likely a row answers, up to a constant, so this is the same likelihood in a chat, where
# few rows stand out, and in a meeting, where whole stretches do. Fitted to the evidence of all chats but one, five
# times, it came out as 5 to 5.5 for 2,000 tokens and 7 to 7.5 for 8,000; the answers of a small model want less.
_WITHIN, _LATER, _SMALL_ROOM = 5.75, 0.45, 2000
_OVERVIEW = 0.5  # of the room is filled with an overview where no passage stands out
_SHORT_CALL = 25  # tokens: the label of its result may show all of such a call
_WHOLE_TOKENS = 300  # an item up to this size is brought back whole
_LEAST_TOKENS = 60  # of a part of an item: with fewer nobody can tell what it is about
_LONGEST_QUESTION = 400  # characters: a longer message tells something too
_SENTENCES = pattern(r"\S(?:.*?[.!?。！？]+(?=\s|$|[^\x00-\u2fff])|.*)", re.DOTALL)
_SPACES = pattern(r"[\W_]+")
_CALL, _SYSTEM = int(Kind.CALL), int(Kind.SYSTEM)  # columns have plain numbers, which compare faster
_LABEL_TOKENS = 40  # for the line that says which part of an item a page shows


class Found(NamedTuple):
    """One earlier item that matches a query, and the passages in it."""

    id: str
    score: float
    text: str


class Room(NamedTuple):
    """Tokens for what is brought back: those of one page, and those that the next payload has free."""

    page: int = PAGE_TOKENS
    free: int = 0


def room(limit: int, free: int) -> Room:
    """Return the room in a payload of this limit: a page is a quarter of what is free, and not too small to read.

    At least 2,000 tokens or, if that is less, a fifth of the limit: so much is shown in full.
    """
    return Room(max(min(PAGE_TOKENS, limit // 5), free // 4), free)


class Page(NamedTuple):
    """A part of an item: its text, and the note that says which lines these are."""

    text: str
    note: RecallNote


class Pieces:
    """The pieces chosen so far, best first, and the tokens that are left for more."""

    def __init__(
        self,
        journal: Journal,
        max_tokens: int,
        *,
        framed: bool,
        visible: Container[Source] = (),
        from_outside: bool = False,
    ) -> None:
        """`visible`: sources that the payload shows already; they are not added. `framed`: for a user message.

        They have handles if the model can expand them, or if somebody `from_outside` reads them.
        """
        self._visible, self._framed = visible, framed
        self._journal, self._reader = journal, journal.reader
        self._today, self._max_tokens = journal.today, max_tokens
        self._handles = from_outside or "expand" in offered(journal.tools.definitions)
        self._sources: list[Source] = []  # best first
        self._close = dict[str, bool]()  # by item: whether its pieces are among the best
        self._days = {day_of(self._today)}  # those whose dates are shown, or need not be
        self._texts: set[str] = set()  # of all pieces that were tried
        self._exact = False  # whether `tokens_left` has been counted exactly since the last piece
        self.tokens_left = max_tokens - self._tokens(RecallNote())

    def add(self, sources: Iterable[Source], beside: str = "") -> bool:
        """Add the sources that are new and fit, and return whether there are any. `beside`: an item they belong to."""
        reader, count, before = self._reader, self._reader.counter.count, len(self._sources)
        used = self._max_tokens - self.tokens_left
        is_close = self._close.get(beside, used < _CLOSE or self._max_tokens <= 2 * _CLOSE)
        for source in sources:
            if source in self._visible or Source(source.item) in self._visible:
                continue
            words = "\n".join(reader.source_lines(source))  # repeated text is shown once
            render = partial(passage, reader) if self._framed else reader.source_text
            text = render(source, reader.locale, handles=self._handles)
            tokens = count(text) + 1 + reader.full_tokens(reader.media(RecallNote((source,))))
            when = reader.when(source, self._today)
            if day_of(when) not in self._days:
                tokens += count(f"[{when}]") + 1
            if words not in self._texts and self.fits(tokens):
                self._sources.append(source)
                self._close.setdefault(source.item, is_close)
                self._days.add(day_of(when))
                self.tokens_left -= tokens
                self._exact = False
            self._texts.add(words)
        return len(self._sources) > before

    def fits(self, tokens: int = _LINE_TOKENS) -> bool:
        """Return whether so many tokens are left.

        Pieces counted one by one come to more than their joint text. So before the answer is no, that is counted.
        """
        if tokens > self.tokens_left and not self._exact and self._sources:
            self.tokens_left, self._exact = self._max_tokens - self._tokens(self._in_order()), True
        return tokens <= self.tokens_left

    def note(self, query: str) -> RecallNote | None:
        """Return the best pieces after the others, both in the order of the conversation; None if there are none."""
        while self._sources:
            note = self._in_order(query)
            if self._tokens(note) <= self._max_tokens:
                return note
            self._sources.pop()  # too long after all: in this order one date may be shown several times
        return None

    def _in_order(self, query: str = "") -> RecallNote:
        sources = tuple(sorted(self._sources, key=self._position))
        return RecallNote(sources, query, by_day=True, bare=not self._handles)

    def _tokens(self, note: RecallNote) -> int:
        render = partial(frame_recall, self._reader) if self._framed else self._reader.recall_text
        text = render(note, self._reader.locale, self._today, handles=self._handles)
        return self._reader.counter.count(text) + self._reader.full_tokens(self._reader.media(note))

    def _position(self, source: Source) -> tuple[bool, int, int]:
        row = self._journal.timeline.row(source.item)
        return (self._close[source.item], -1 if row is None else row, source.first)


class Recall:
    """Finds earlier text of one journal's branch, as notes to write, as search results, or as pages of an item."""

    def __init__(self, journal: Journal, window_text: Callable[[str], str] = lambda _: "") -> None:
        """`window_text`: the last state of the window that an item showed, which the log has as data."""
        self._journal, self._window_text = journal, window_text

    @cached_property
    def _finder(self) -> "Finder":
        from sightline.recall.finder import Finder

        return Finder(self._journal)

    def close(self) -> None:
        if "_finder" in vars(self):
            self._finder.close()

    def index(self) -> None:
        """Index the rows that are new, and have the store keep the index."""
        self._finder.extend_index()
        self._finder.close()

    # ------------------------------------------------------------------ notes

    def note(self, query: str, max_tokens: int, *, from_outside: bool = False) -> RecallNote | None:
        """Return what to bring back for a query of the model or of a caller; None if nothing matches.

        `from_outside`: the query does not come from the conversation itself, whose last message may answer it then.
        """
        pieces = Pieces(self._journal, max_tokens, framed=False, from_outside=from_outside)
        matches = self._finder.matches(query, _MAX_HITS, () if from_outside else self._finder.asking_units())
        for hit in matches.hits:
            pieces.add(self._sources(hit.row, matches.terms, pieces.tokens_left))
        return pieces.note(query)

    def note_for_question(
        self,
        query: str,
        max_tokens: int,
        among: "RowFilter",
        visible: Container[Source] = (),
        *,
        must_answer: bool = True,
        asked: bool = True,
    ) -> RecallNote | None:
        """Return what may answer a user message `among` these rows and is not `visible`, as far as it fits and matters.

        `asked`: the message is to be answered from earlier text. Otherwise only one that a row clearly matches brings
        anything back. `must_answer`: it is, even if it says nothing to look for. If it asks for everything and names
        nothing ("what have we settled so far?"), return an overview: for work with tools a digest, for a conversation
        the values that were settled, quoted. In a conversation that fills the room too where no passage stands out.
        """
        if not must_answer and not self._finder.speaks_of_anything(query):
            return None
        pieces, asking = Pieces(self._journal, max_tokens, framed=True, visible=visible), self._finder.asking_units()
        if self._finder.asks_for_everything(query, surely=not asked):
            newest = list(self._finder.newest(lambda _: True, asking, SHOWN_KINDS))
            if digest := self._add_overview(newest, among, pieces):
                return RecallNote((), query, digest)
            return pieces.note(query)
        clear = 0.0 if asked else _CLEAR_FOR_QUESTION if _only_asks(query) else _CLEAR
        ranked = self._finder.rank_parts(query, _MAX_ROWS, asking, clear)
        kind = self._journal.timeline.kind
        hits = [self._answer(hit) if kind[hit.row] == _CALL else hit for hit in ranked.hits]
        hidden = [hit for hit in hits if among(hit.row) and not self._repeats(query, hit)]
        best = max(hits, key=lambda hit: hit.score, default=None)
        if best and not must_answer and not among(best.row):
            # The message speaks of what is shown, so what only stands near another match is not meant.
            hidden = [hit for hit in hidden if hit.exact or hit.share >= _CLEAR]
        rest = self._rest(query, asking) if asked else []
        if any(hit.share >= clear for hit in hidden):
            keep = int(_OVERVIEW * pieces.tokens_left) if rest else 0
            self._add_answers(hidden, ranked.terms, best.score if best else 0.0, pieces, keep)
        if rest:
            self._add_overview(rest, among, pieces, {hit.row for hit in hits if hit.share >= _CLEAR})
        return pieces.note(query)

    def may_be_answered(self, query: str) -> bool:
        """Return whether earlier talk may answer a user message, however it is put. In work it asks to do something."""
        return len(query) <= _LONGEST_QUESTION and bool(self._conversation(self._finder.asking_units()))

    def _rest(self, query: str, asking: Collection[int]) -> list[int]:
        """Return the rows to fill the room with, newest first, if no passage stands out: those of a conversation."""
        return [] if self._finder.stands_out(query) else self._conversation(asking)

    def _conversation(self, asking: Collection[int]) -> list[int]:
        """Return the rows of a conversation, newest first; none of work with tools, which has too many values."""
        newest = list(self._finder.newest(lambda _: True, asking, SHOWN_KINDS))
        return [] if is_work(self._journal, newest[::-1]) else newest

    def _add_overview(
        self, newest: Sequence[int], among: "RowFilter", pieces: Pieces, matching: Container[int] = ()
    ) -> str:
        """Fill what is left with what was settled, quoted, then with the newest turns; for work return a digest."""
        pieces.fits(pieces.tokens_left + 1)  # counts what is left
        told = overview(self._journal, newest, among, pieces.tokens_left, matching)
        pieces.add(told.sources)
        said = (row for row in newest if self._journal.timeline.kind[row] in SPEECH and row not in told.rows)
        for row in takewhile(lambda _: pieces.fits() and not told.digest, filter(among, said)):
            self._add_row(row, (), pieces)
        return told.digest

    def _add_answers(
        self, hits: "Sequence[Hit]", terms: Sequence[str], best: float, pieces: Pieces, keep: int = 0
    ) -> None:
        """Add the rows that match well compared with the best, while more than these tokens are left.

        Then add their `_companions`.
        """
        added = dict[int, None]()
        least = best - _WITHIN - _LATER * log2(max(pieces.tokens_left, 1) / _SMALL_ROOM)
        for hit in hits:
            is_relevant = hit.row not in added and (hit.exact or hit.score >= least)
            if is_relevant and pieces.tokens_left > keep and pieces.fits() and self._add_row(hit.row, terms, pieces):
                added[hit.row] = None
        said = {hit.row for hit in hits if self._journal.timeline.kind[hit.row] in SPEECH}.difference(added)
        for row in () if keep else added:
            for beside in said.intersection(self._companions(row, added)):
                self._add_row(beside, terms, pieces, row)

    def _companions(self, row: int, added: Container[int]) -> Iterator[int]:
        """Yield the turns without which a turn is hard to read: what it answers, what answers it, what is between."""
        if row - 2 in added or self._asks(row - 1):
            yield row - 1
        if self._asks(row):
            yield row + 1

    def _asks(self, row: int) -> bool:
        """Return whether a row is something that somebody said and that ends with a question."""
        said = row >= 0 and self._journal.timeline.kind[row] in SPEECH
        return said and self._journal.reader.text(row).rstrip().endswith(("?", "？"))

    def _add_row(self, row: int, terms: Sequence[str], pieces: Pieces, beside: int = -1) -> bool:
        """Add a row if it fits, and return that. What somebody said is whole, if half of the tokens left are enough.

        Where only scraps of it fit, nothing is added. `beside`: the row to which it belongs.
        """
        timeline = self._journal.timeline
        pieces.fits(timeline.full[row] + _LINE_TOKENS)  # so that `tokens_left` is exact where this is a close call
        if pieces.tokens_left < min(timeline.full[row], _LEAST_TOKENS):
            return False
        whole = max(_WHOLE_TOKENS, pieces.tokens_left // 2) if timeline.kind[row] in SPEECH else _WHOLE_TOKENS
        near = timeline.id(beside) if beside >= 0 else ""
        return pieces.add(self._sources(row, terms, pieces.tokens_left, whole), near)

    def _answer(self, hit: "Hit") -> "Hit":
        """Return the result of a short call, which stands before it in any case; else the call itself."""
        timeline, row = self._journal.timeline, hit.row
        is_answered = timeline.full[row] <= _SHORT_CALL and timeline.partner[row] >= 0
        is_labelled = is_answered and len(" ".join(self._journal.reader.text(row).split())) <= LONGEST_CALL
        return hit._replace(row=timeline.partner[row]) if is_labelled else hit

    def _repeats(self, query: str, hit: "Hit") -> bool:
        """Return whether a row only asks the same: that is no answer."""
        if hit.share < _CLEAR or self._journal.timeline.kind[hit.row] != Kind.USER:
            return False
        return _SPACES.sub("", self._journal.reader.text(hit.row)).casefold() == _SPACES.sub("", query).casefold()

    def _sources(self, row: int, terms: Sequence[str], max_tokens: int, whole: int = _WHOLE_TOKENS) -> Iterator[Source]:
        """Yield an item of at most `whole` tokens whole, of a larger one its passages that match."""
        from sightline.recall.search import passages

        timeline, reader = self._journal.timeline, self._journal.reader
        item_id = timeline.id(row)
        if timeline.full[row] <= min(max_tokens, whole):
            yield Source(item_id)
            return
        if (most := min(max_tokens, _WHOLE_TOKENS)) < 1:
            return
        ranges = passages("\n".join(reader.lines(row)), terms, most, reader.counter.count)
        if not ranges:  # it was found by its call, or by what is around it: its beginning is shown
            beginning = list(enumerate(reader.lines(row)[:most], start=1))
            ranges = [(1, len(self._lines_that_fit(beginning, most // 2)))]
        for first, last in ranges:
            yield Source(item_id, first, last)

    # ------------------------------------------------------------------ search

    def search(self, query: str, limit: int = _MAX_HITS) -> list[Found]:
        """Return the best matching items, each with its passages. Writes nothing."""
        reader, results = self._journal.reader, []
        matches = self._finder.matches(query, limit)
        reader.prefetch(hit.row for hit in matches.hits)
        for hit in matches.hits:
            sources = tuple(self._sources(hit.row, matches.terms, PAGE_TOKENS))
            text = reader.recall_text(RecallNote(sources, query), reader.locale)
            results.append(Found(self._journal.timeline.id(hit.row), hit.score, text))
        return results

    # ------------------------------------------------------------------ tools

    def answer(self, call: Call, room: Room) -> tuple[Text | Image | File, ...]:
        """Answer a call of `expand` or `recall`. Mistakes of the model are answered with text, never raised."""
        arguments = call.arguments
        reader = self._journal.reader
        required = str(arguments.get("query" if call.name == "recall" else "id") or "")
        if not required.strip():
            return (Text(say(f"{call.name} how", reader.locale)),)
        if call.name == "recall":
            note = self.note(required, room.page)
            handles = "expand" in offered(self._journal.tools.definitions)
            text = reader.recall_text(note, reader.locale, handles=handles) if note else ""
            return (Text(text or say("nothing found", reader.locale)),)
        if (row := self._journal.row(required)) is None:
            return (Text(say("unknown item", reader.locale, id=required)),)
        start, lines, grep = (
            _positive(arguments.get("start")) or 1,
            _positive(arguments.get("lines")),
            arguments.get("grep"),
        )
        page = self.page(row, start, lines, str(grep) if grep else None, room)
        return (Text(page.text), *reader.media(page.note))

    def page(self, row: int, start: int, lines: int | None, grep: str | None, room: Room) -> Page:
        """Return the lines of an item that fit a page, with a label that says how to read on.

        All of them, if the whole item fits in what is free.
        """
        from sightline.recall.search import merge_ranges

        item_id, locale = self._journal.timeline.id(row), self._journal.reader.locale
        tokens, text_lines = self._journal.timeline.full[row], self._journal.reader.lines(row)
        if self._journal.timeline.kind[row] == Kind.WINDOW and (text := self._window_text(item_id)):
            tokens, text_lines = self._journal.reader.counter.count(text), text.split("\n")
        fits = tokens + _LABEL_TOKENS <= room.free and grep is None
        numbered = list(enumerate(text_lines, start=1))
        total = len(numbered)
        if grep is not None:
            numbered = [(number, f"{number}: {line}") for number, line in _containing(grep.casefold(), numbered)]
        numbered = [pair for pair in numbered if pair[0] >= start][:lines]
        if not (page_lines := numbered if fits else self._lines_that_fit(numbered, room.page - _LABEL_TOKENS)):
            key = "no such line" if grep is None else "no match"
            return Page(say(key, locale, id=item_id, grep=grep, start=start, total=total), RecallNote(()))
        first, last = page_lines[0][0], page_lines[-1][0]
        whole = first == 1 and last == total and grep is None
        key = "page" if len(page_lines) < len(numbered) or (lines is not None and last < total) else "page end"
        label = say(key, locale, id=item_id, first=first, last=last, total=total, next=last + 1)
        runs = [(0, 0)] if whole else merge_ranges((number, number) for number, _ in page_lines)
        note = RecallNote(tuple(Source(item_id, *run) for run in runs))
        return Page("\n".join([label, *(line for _, line in page_lines)]), note)

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
    kind, unit, units, lods, rows = plan.timeline.kind, plan.timeline.unit, {*plan}, plan.lods, plan.rows

    def is_reduced(row: int) -> bool:
        is_full = kind[row] == _SYSTEM or (unit[row] in units and (row not in lods or plan.lod(row) is Lod.FULL))
        return row < rows and not is_full

    return is_reduced


def _containing(needle: str, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the lines that contain a text, in small letters. If none does, ^ before it is the beginning of a line."""
    found = [(number, line) for number, line in lines if needle in line.casefold()]
    if found or not needle.startswith("^"):
        return found
    return [(number, line) for number, line in lines if line.casefold().startswith(needle[1:])]


def _only_asks(text: str) -> bool:
    """Return whether every sentence of a text is a question. A long text tells something too."""
    return 0 < len(text.strip()) <= _LONGEST_QUESTION and all(
        part.endswith(("?", "？")) for part in _SENTENCES.findall(text)
    )


def _positive(value: Any) -> int | None:
    """Return a number that a model gave, raised to 1 if it is less; None if it gave none."""
    try:
        return max(1, int(value))
    except (TypeError, ValueError, OverflowError):
        return None
