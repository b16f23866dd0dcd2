"""The pieces that one recall brings back, chosen within a token budget."""

from collections.abc import Container, Iterable
from functools import partial

from sightline.log.annotations import RecallNote, Source
from sightline.log.journal import Journal
from sightline.log.recall_frame import day_of, frame_recall, passage
from sightline.values.recall_tools import offered

LINE_TOKENS = 10  # a piece is seldom smaller
# Tokens of the best pieces, which stand next to the question: a small model reads what is near it best. In a room of
# twice that all are near, and the order of the conversation needs fewer dates.
_CLOSE = 1_000


class Pieces:
    """The pieces chosen so far, best first, and the tokens that are left for more."""

    def __init__(
        self,
        journal: Journal,
        max_tokens: int,
        *,
        framed: bool,
        known: Container[Source] = (),
        from_outside: bool = False,
    ) -> None:
        """`known`: sources that the payload shows already; they are not added. `framed`: for a user message.

        They have handles if the model can expand them, or if somebody `from_outside` reads them.
        """
        self._known, self._framed = known, framed
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
            if source in self._known or Source(source.item) in self._known:
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

    def fits(self, tokens: int = LINE_TOKENS) -> bool:
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
