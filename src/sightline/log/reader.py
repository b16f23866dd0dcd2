"""Reads entries and items by their place in the log, and gives the text of a row."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from sightline.errors import BadInput, Damaged
from sightline.log import column_cache, entries
from sightline.log.annotations import RecallNote, Source
from sightline.log.branches import UNBOUNDED, Path, Placed
from sightline.log.columns import CONSTRAINT, LABELLED, LEADING, ORPHAN, SEARCHED, Timeline
from sightline.log.entries import Entry
from sightline.log.recall_frame import frame_recall, names_speakers, speaker
from sightline.log.stores import Span, Store
from sightline.values.items import Call, File, Image, Item, Kind, Part, Result, Text, arguments, plain_text
from sightline.values.phrases import plain_label, say
from sightline.values.settings import Settings

WRAP = 1000  # characters: a longer line is read as several, so that pages and ranges can be small in any text

_CACHED_ENTRIES = 512  # those of a few turns, so that composing what was just appended reads nothing from disk
_LARGEST_CACHED = 1 << 16  # bytes of an entry: larger ones are not worth the memory
_DATE = len("2026-01-31")
_LONGEST_WHEN = 100  # characters of the time that a caller gives: it is a label
_BETWEEN_QUOTES = " … "
_INDENTED = "\n  "

T = TypeVar("T")


class EntryReader:
    """Reads what a log says. All that it caches can be dropped at any time.

    `sightline.log.levels.Reader`, which the rest of the engine uses, adds how an item looks at a level of detail.
    """

    def __init__(self, store: Store, timeline: Timeline) -> None:
        self.store, self.timeline = store, timeline
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._constraints: dict[int, tuple[str, ...]] = {}
        self._decoded: tuple[tuple[str, int], list[Item]] = (("", 0), [])

    # ------------------------------------------------------------------ entries

    def entry(self, row: int) -> Entry:
        """The entry that a row belongs to. Raises Damaged."""
        entry = self.entry_at(Span(self.timeline.offset[row], self.timeline.length[row]))
        seq = self.timeline.seq[row]
        return entry if entry.seq == seq else replace(entry, seq=seq)  # another program's line: we numbered it

    def entry_at(self, span: Span) -> Entry:
        """The entry at a place in the store. Raises Damaged."""
        if (entry := self._entries.get(span.offset)) is None:
            try:
                entry = entries.decode(self.store.read_many([span])[0])
            except entries.UNREADABLE as error:
                raise self._damaged(f"byte {span.offset}") from error
            self.cache(entry, span)
        return entry

    def prefetch(self, rows: Iterable[int]) -> None:
        """Read the entries of these rows at once, as many as stay in memory, because they will be needed next."""
        timeline = self.timeline
        spans = {Span(timeline.offset[row], timeline.length[row]): None for row in islice(rows, _CACHED_ENTRIES)}
        wanted = [span for span in spans if span.offset not in self._entries and span.length < _LARGEST_CACHED]
        for span, line in zip(wanted, self.store.read_many(wanted), strict=True):
            with suppress(*entries.UNREADABLE):  # who asks for it is told
                self.cache(entries.decode(line), span)

    def cache(self, entry: Entry, span: Span) -> None:
        """Keep an entry in memory because it will be read again soon."""
        if span.length < _LARGEST_CACHED:
            self._entries[span.offset] = entry
            if len(self._entries) > _CACHED_ENTRIES:
                self._entries.popitem(last=False)

    def note(self, entry: Entry, type_: type[T]) -> T:
        """The content of an annotation that was folded before. Raises Damaged if it can no longer be decoded."""
        try:
            return entries.decode_data(entry, type_)
        except BadInput as error:
            raise self._damaged(f"entry {entry.seq}") from error

    def in_force(self, annotations: Sequence[Placed], path: Path, type_: type[T], before: int = UNBOUNDED) -> T | None:
        """The content of the last of these annotations that applies to a path and is before this offset."""
        span = self.timeline.placed(annotations, path, before)
        return None if span is None else self.note(self.entry_at(span), type_)

    def _damaged(self, place: str) -> Damaged:
        """The error for a line that has changed since it was folded. The column cache is discarded with it."""
        column_cache.discard(self.store)  # it was made when the line was whole
        return Damaged(self.store.session_id, place)

    # ------------------------------------------------------------------ items and their text

    def item(self, row: int) -> Item:
        """The item of a row, as the log has it. Raises Damaged."""
        items, sub = self.items(self.entry(row)), self.timeline.sub[row]
        if sub >= len(items):
            raise self._damaged(f"byte {self.timeline.offset[row]}")
        item = items[sub]
        if not self.timeline.state[row] & ORPHAN:
            return item
        return orphan(item, self.locale_at(row))

    def items(self, entry: Entry) -> list[Item]:
        """The items of an entry. Those of the entry that was asked for last are decoded only once."""
        key = (entry.uuid, entry.seq)
        decoded = self._decoded  # read once: another thread may ask for another entry
        if decoded[0] != key:
            decoded = self._decoded = (key, entries.items_of(entry))
        return decoded[1]

    def text(self, row: int) -> str:
        """The full text of a row: for search, expand and recall."""
        item = self.item(row)
        return self.recalled(self.entry(row), self.locale_at(row)) if item.kind is Kind.RECALL else item_text(item)

    def lines(self, row: int) -> list[str]:
        """The text of a row as lines of at most `WRAP` characters. Ranges and pages count these lines."""
        lines = self.text(row).split("\n")
        if max(map(len, lines)) <= WRAP:
            return lines
        return [line[at : at + WRAP] for line in lines for at in range(0, max(len(line), 1), WRAP)]

    def locale_at(self, row: int) -> str:
        """The locale in force when a row was written. The row keeps it, because it was counted in that locale."""
        timeline = self.timeline
        path = timeline.path(timeline.branch[row])
        return (self.in_force(timeline.settings, path, Settings, timeline.offset[row]) or Settings()).locale

    def constraints(self, row: int) -> tuple[str, ...]:
        """The sentences of a user message that lay something down."""
        if (found := self._constraints.get(row)) is None:
            from sightline.shorten import rules  # a sweep needs them

            found = tuple(rules.constraints(self.text(row)))
            if found:
                self._constraints[row] = found
        return found

    def constraint_rows(self, path: Path) -> Iterator[int]:
        """The user messages of a path that lay something down, the newest first. Each message is searched once."""
        timeline = self.timeline
        users = (row for row in range(len(timeline) - 1, -1, -1) if timeline.kind[row] == Kind.USER)
        return (row for row in timeline.rows_on(path, users) if self.has_constraints(row))

    def has_constraints(self, row: int) -> bool:
        """Whether a row is a user message that lays something down."""
        state = self.timeline.state
        if not state[row] & SEARCHED:
            is_said = self.timeline.kind[row] == Kind.USER and not state[row] & (LABELLED | ORPHAN)
            state[row] |= SEARCHED | (CONSTRAINT if is_said and self.constraints(row) else 0)
        return bool(state[row] & CONSTRAINT)

    # ------------------------------------------------------------------ recalls

    def sources(self, row: int) -> tuple[Source, ...]:
        """The pieces that a recall shows again."""
        return _recall_note(self.entry(row)).sources

    def recalled(self, entry: Entry, locale: str, *, handles: bool = True) -> str:
        """The text of a recall entry: in a frame if it stands before a user's words, else a list with handles."""
        note, today = _recall_note(entry), entry.timestamp[:_DATE]
        if entry.flags & LEADING:
            return frame_recall(self, note, locale, today, handles=handles)
        return self.recall_text(note, locale, today)

    def recalled_parts(self, entry: Entry, locale: str, *, handles: bool = True) -> tuple[Part, ...]:
        """The text of a recall entry, and the images and files of items that it shows again whole."""
        return (Text(self.recalled(entry, locale, handles=handles)), *self.media(_recall_note(entry)))

    def media(self, note: RecallNote) -> tuple[Image | File, ...]:
        """The images and files of the items that a recall shows again whole."""
        rows = [self.timeline.row(source.item) for source in note.sources if not source.first and not source.quotes]
        parts = [part for row in rows if row is not None for part in self.item(row).parts]
        parts += [inner for part in parts if isinstance(part, Result) for inner in part.parts]
        return tuple(part for part in parts if isinstance(part, Image | File))

    def recall_text(self, note: RecallNote, locale: str, today: str = "") -> str:
        """The text of a recall with these sources: each after its handle, and their dates between them."""
        if note.overview:
            return f"{say('overview', locale)}\n{note.overview}"
        lines, when = [say("recalled", locale)], today
        rows = [row for source in note.sources if (row := self.timeline.row(source.item)) is not None]
        is_only, named = len(note.sources) == 1, names_speakers(self, rows)
        for source in note.sources:
            previous, when = when, self.when(source, today)
            if when != previous:
                lines.append(f"[{when}]")
            lines.append(self.source_text(source, locale, is_only=is_only, named=named))
        return "\n".join(lines)

    def source_text(self, source: Source, locale: str, *, is_only: bool = False, named: bool = False) -> str:
        """One recalled piece after its handle and its speaker. If it is the only one, its text is byte for byte.

        Otherwise its further lines are indented, because no line of it may look like a piece of its own. `named`: texts
        begin with the names of their speakers.
        """
        newline = "\n" if is_only else _INDENTED
        if (row := self.timeline.row(source.item)) is None:
            return f"#{source.item}"
        lines = self.source_lines(source)
        if source.first:
            label = say("recalled lines", locale, id=source.item, first=source.first, last=source.last)
            return newline.join([label, *lines])
        by = speaker(self.timeline, row) if not (source.quotes or named) else ""
        return f"#{source.item} {say(by, locale) if by else ''}" + newline.join(lines)

    def source_lines(self, source: Source) -> list[str]:
        """The lines of a piece, or its quotes in one line. At least one."""
        if (row := self.timeline.row(source.item)) is None:
            return [""]
        if source.first:
            return self.lines(row)[source.first - 1 : source.last] or [""]
        text = self.text(row)
        if source.quotes:
            text = _BETWEEN_QUOTES.join(text[first:end] for first, end in source.quotes)
        return text.split("\n")

    def when(self, source: Source, today: str) -> str:
        """When an item was written: the caller's own words, or else the date. Quotes have no date of their own."""
        if (row := self.timeline.row(source.item)) is None or source.quotes:
            return today
        entry = self.entry(row)
        label = plain_label(" ".join(entry.when.split())[:_LONGEST_WHEN])
        return label or (entry.timestamp[:_DATE] if today else today)


def item_text(item: Item) -> str:
    """The full text of an item. A call reads `name(arguments)`."""
    part = item.parts[0] if item.parts else None
    return f"{part.name}({arguments(part)})" if isinstance(part, Call) else plain_text(item.parts)


def orphan(item: Item, locale: str) -> Item:
    """Return a result whose call is not in the log as what it is shown as: a labelled user message."""
    result = item.parts[0]
    assert isinstance(result, Result)
    label = Text(say("orphan", locale, name=result.name or result.id))
    return Item(item.id, Kind.USER, (label, *result.parts), item.timestamp)


def _recall_note(entry: Entry) -> RecallNote:
    try:
        return entries.decode_data(entry, RecallNote)
    except BadInput:  # the list of its sources cannot be decoded any more
        return RecallNote(())
