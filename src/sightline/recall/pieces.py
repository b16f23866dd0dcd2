"""Pieces to bring back, as many as fit a room."""

from collections.abc import Container, Iterable

from sightline.log.annotations import RecallNote, Source
from sightline.log.journal import Journal
from sightline.values.phrases import say

LINE = 10  # tokens; a piece is seldom smaller


class Gathered:
    """The pieces taken so far, the best first, and the room that is left. `known`: those that stand there already."""

    def __init__(self, journal: Journal, room: int, known: Container[Source] = ()) -> None:
        self._known = known
        self._journal, self._reader = journal, journal.reader
        self._today, self._most = journal.today, room
        self._sources: list[Source] = []  # the best first
        self._whens = {self._today}
        self._said: set[str] = set()  # what they say
        self._exact = False  # whether `room` has been counted since the last piece
        self.room = room - self._reader.counter.count(say("recalled", self._reader.locale))

    def take(self, pieces: Iterable[Source]) -> None:
        """Add those that fit."""
        reader, count = self._reader, self._reader.counter.count
        for source in pieces:
            if source in self._known or Source(source.item) in self._known:
                continue
            tokens = count(reader.source_text(source, reader.locale)) + 1
            tokens += reader.full_tokens(reader.media(RecallNote((source,))))
            when = reader.when(source, self._today)
            dated = tokens + (0 if when in self._whens else count(f"[{when}]") + 1)
            if self._is_new(source) and self.has_room(dated):
                self._sources.append(source)
                self._whens.add(when)
                self.room -= dated
                self._exact = False

    def has_room(self, tokens: int = LINE) -> bool:
        """Whether so many tokens are left. Lines counted apart are more than together: in doubt they are recounted."""
        if tokens > self.room and not self._exact and self._sources:
            self.room, self._exact = self._most - self._tokens(self._in_order()), True
        return tokens <= self.room

    def _is_new(self, source: Source) -> bool:
        """Whether no piece says just this: what was said often is shown once."""
        text = self._reader.source_text(source, self._reader.locale).partition(" ")[2]
        known = text in self._said
        self._said.add(text)
        return not known

    def note(self, query: str) -> RecallNote | None:
        """They, in the order in which they were said; None if there are none."""
        while self._sources:
            note = self._in_order(query)
            if self._tokens(note) <= self._most:
                return note
            self._sources.pop()  # a time that comes and goes is said again each time
        return None

    def _in_order(self, query: str = "") -> RecallNote:
        return RecallNote(tuple(sorted(self._sources, key=self._order)), query)

    def _tokens(self, note: RecallNote) -> int:
        text = self._reader.recall_text(note, self._reader.locale, self._today)
        return self._reader.counter.count(text) + self._reader.full_tokens(self._reader.media(note))

    def _order(self, source: Source) -> tuple[int, int]:
        row = self._journal.timeline.row(source.item)
        return (-1 if row is None else row, source.first)
