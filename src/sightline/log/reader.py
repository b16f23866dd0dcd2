"""Reads entries and items by their place in the log, and gives the text of a row."""

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from sightline import shorten
from sightline.errors import BadInput, Damaged
from sightline.log import column_cache, entries
from sightline.log.annotations import FoundQuote, RecallNote, Source, WindowNote
from sightline.log.columns import CHANGED, CONSTRAINT, LEADING, ORPHAN, SEARCHED, UNBOUNDED, Path, Placed, Timeline
from sightline.log.entries import Entry
from sightline.log.fold import CHANGED_LINE, warn
from sightline.log.recall_frame import (
    escape_at,
    frame_files,
    frame_recall,
    keep_apart,
    label_listed,
    names_speakers,
    written_dates,
)
from sightline.log.stores import Span, Store
from sightline.values.escape import Escape, escape, escape_beginning, plain_label, plain_name
from sightline.values.items import Call, File, Image, Item, Kind, Part, Result, Text, arguments, plain_text
from sightline.values.phrases import say
from sightline.values.settings import Settings

WRAP = 1000  # characters: a longer line is read as several, so that pages and ranges can be small in any text

_CACHED_ENTRIES = 512  # those of a few turns, so that composing what was just appended reads nothing from disk
_AT_ONCE = 64  # user messages that are read at once to be searched
_LARGEST_CACHED = 1 << 16  # bytes of an entry: larger ones are not worth the memory,
_LARGEST_LAST = 1 << 24  # but for the one of up to so many bytes that was read or written last,
_LARGE_STAYS = 64  # until so many others were, or a payload was composed
_MANY_CALLS = 16  # of a message whose items stay decoded, because each of its calls is asked for by itself
_CACHED_CALLS = 1 << 24  # bytes of such messages; the last one stays in any case
_LARGEST_SPLIT = 1 << 23  # characters of a text whose lines are kept, because several passages of it are read in turn
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
        self.is_stale = False  # a line has changed since it was folded, so the columns must not be cached again
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._last_large: tuple[int, Entry | None] = (0, None)  # its text and its time are asked for several times
        self._since_large = 0  # entries that were read or written after it
        self._last_lines: tuple[int, list[str]] = (-1, [])
        self._constraints: dict[int, tuple[str, ...]] = {}
        self._decoded: tuple[tuple[str, int], list[Item]] = (("", 0), [])
        self._calls: OrderedDict[int, tuple[int, list[Item]]] = OrderedDict()  # messages with many calls, by offset
        self._calls_bytes = 0

    # ------------------------------------------------------------------ entries

    def entry(self, row: int) -> Entry:
        """The entry that a row belongs to. Raises Damaged."""
        entry = self.entry_at(Span(self.timeline.offset[row], self.timeline.length[row]))
        seq = self.timeline.seq[row]
        return entry if entry.seq == seq else replace(entry, seq=seq)  # another program's line: we numbered it

    def entry_at(self, span: Span) -> Entry:
        """The entry at a place in the store. Raises Damaged."""
        if (entry := self._entries.get(span.offset)) is None:
            offset, entry = self._last_large  # read once: another thread may ask for another entry
            if entry is None or offset != span.offset:
                entry = self._decode(self.store.read_many([span])[0], span)
            self.cache(entry, span)
        return entry

    def _decode(self, line: bytes, span: Span) -> Entry:
        """Decode a line. One that was changed since it was folded is reported.

        Raises Damaged if it cannot be read, or the columns no longer describe it.
        """
        try:
            entry = entries.decode(line)
        except entries.UNREADABLE as error:
            raise self._damaged(f"byte {span.offset}") from error
        if not entries.is_intact(line) and span.offset not in self.timeline.changed:
            self._note_changed(entry, span)
        return entry

    def _note_changed(self, entry: Entry, span: Span) -> None:
        """Mark a line that was changed since it was folded, and report it. Raises Damaged as `_decode` does."""
        timeline, error = self.timeline, self._damaged(f"byte {span.offset}")
        rows = range(bisect_left(timeline.offset, span.offset), bisect_right(timeline.offset, span.offset))
        insort(timeline.changed, span.offset)  # first, because it is read again to be compared
        try:
            if not self._is_described(entry, rows):
                raise error
        except (Damaged, *entries.UNREADABLE):
            timeline.changed.remove(span.offset)
            self._entries.pop(span.offset, None)
            self.forget_large()
            raise error from None
        for row in rows:
            timeline.state[row] |= CHANGED
        warn(self.store.session_id, span, CHANGED_LINE)

    def _is_described(self, entry: Entry, rows: range) -> bool:  # noqa: ARG002 - `levels.Reader` knows
        """Whether the columns of these rows describe what their line says now."""
        return False

    def prefetch(self, rows: Iterable[int]) -> None:
        """Read the entries of these rows at once, as many as stay in memory, because they will be needed next."""
        timeline = self.timeline
        spans = {Span(timeline.offset[row], timeline.length[row]): None for row in islice(rows, _CACHED_ENTRIES)}
        for span in spans:
            if span.offset in self._entries:
                self._entries.move_to_end(span.offset)  # so that it is not the one that makes room
        wanted = [span for span in spans if span.offset not in self._entries and span.length < _LARGEST_CACHED]
        for span, line in zip(wanted, self.store.read_many(wanted), strict=True):
            with suppress(Damaged):  # who asks for it is told
                self.cache(self._decode(line, span), span)

    def has_cached(self, row: int) -> bool:
        """Whether the entry of a row is in memory."""
        return self.timeline.offset[row] in self._entries

    def cache(self, entry: Entry, span: Span) -> None:
        """Keep an entry in memory because it will be read again soon."""
        if span.length < _LARGEST_CACHED:
            self._entries[span.offset] = entry
            if len(self._entries) > _CACHED_ENTRIES:
                self._entries.popitem(last=False)
            self._since_large += 1
            if self._since_large > _LARGE_STAYS:
                self.forget_large()
        elif span.length <= _LARGEST_LAST:
            self._last_large, self._since_large = (span.offset, entry), 0

    def forget_large(self) -> None:
        """Give the memory of the last large entry back: it is not needed until somebody asks for it again."""
        self._last_large, self._last_lines = (0, None), (-1, [])

    def note(self, entry: Entry, type_: type[T]) -> T:
        """The content of an annotation that was folded before. Raises Damaged if it can no longer be decoded."""
        try:
            return entries.decode_data(entry, type_)
        except BadInput as error:
            raise self._damaged(f"entry {entry.seq}") from error

    def window(self, row: int) -> WindowNote:
        """The window that a row shows. Raises Damaged if it is no longer the one that was folded."""
        note = self.note(self.entry(row), WindowNote)
        if row not in self.timeline.windows.get(note.id, ()):
            raise self._damaged(f"byte {self.timeline.offset[row]}")
        return note

    def in_force(self, annotations: Sequence[Placed], path: Path, type_: type[T], before: int = UNBOUNDED) -> T | None:
        """The content of the last of these annotations that applies to a path and is before this offset."""
        span = self.timeline.placed(annotations, path, before)
        return None if span is None else self.note(self.entry_at(span), type_)

    def _damaged(self, place: str) -> Damaged:
        """The error for a line that has changed since it was folded. The column cache is discarded with it."""
        self.is_stale = True
        column_cache.discard(self.store)  # it was made when the line was whole
        return Damaged(self.store.session_id, place)

    # ------------------------------------------------------------------ items and their text

    def item(self, row: int) -> Item:
        """The item of a row, as the log has it. Raises Damaged."""
        items, sub = self._items_at(row), self.timeline.sub[row]
        if sub >= len(items):
            raise self._damaged(f"byte {self.timeline.offset[row]}")
        item, by_program = items[sub], self.timeline.is_by_program(row)
        if self.timeline.state[row] & ORPHAN:
            item = orphan(item, self.locale_at(row), str if row < self.timeline.format_1 else plain_name)
        return replace(item, by_program=True) if by_program else item

    def _items_at(self, row: int) -> list[Item]:
        """The items of the entry of a row. Those of many calls stay, because results are read between the calls."""
        offset, length = self.timeline.offset[row], self.timeline.length[row]
        if (cached := self._calls.get(offset)) is not None:
            return cached[1]
        items = self.items(self.entry(row))
        if len(items) > _MANY_CALLS and length < len(items) * _LARGEST_CACHED:
            self._calls[offset] = (length, items)
            self._calls_bytes += length
            while self._calls_bytes > _CACHED_CALLS and len(self._calls) > 1:
                _, (least, _) = self._calls.popitem(last=False)
                self._calls_bytes -= least
        return items

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
        split_row, lines = self._last_lines  # read once, as in `entry_at`
        if split_row != row:
            text = self.text(row)
            lines = text.split("\n")
            if max(map(len, lines)) > WRAP:
                lines = [line[at : at + WRAP] for line in lines for at in range(0, max(len(line), 1), WRAP)]
            if len(text) <= _LARGEST_SPLIT:
                self._last_lines = (row, lines)
        return lines

    def locale_at(self, row: int) -> str:
        """The locale in force when a row was written. The row keeps it, because it was counted in that locale."""
        timeline = self.timeline
        path = timeline.path(timeline.branch[row])
        return (self.in_force(timeline.settings, path, Settings, timeline.offset[row]) or Settings()).locale

    def escape_at(self, row: int) -> Escape:
        """How the text of a row is escaped among lines of the engine: as it was when payloads first showed it."""
        if row >= self.timeline.format_1:
            return escape
        return str if self.timeline.is_by_program(row) else escape_beginning

    def constraints(self, row: int) -> tuple[str, ...]:
        """The sentences of a user message that lay something down."""
        if (sentences := self._constraints.get(row)) is None:
            sentences = tuple(shorten.constraints(own_words(self, row)))
            if sentences:
                self._constraints[row] = sentences
        return sentences

    def found(self, row: int) -> tuple[FoundQuote, ...]:
        """What a model found that a user message lays down, and the rules do not. It is a part of the message."""
        quotes = self.timeline.found.get(row, ())
        if not quotes or not self.timeline.is_users_own(row):
            return ()
        text, ruled = own_words(self, row), self.constraints(row)
        return tuple(
            quote for quote in quotes if quote.quote in text and not any(quote.quote in sentence for sentence in ruled)
        )

    def constraint_rows(self, path: Path) -> Iterator[int]:
        """The user messages of a path that lay something down, the newest first. Each message is searched once."""
        users = self.timeline.newest_of(Kind.USER, path)
        while some := list(islice(users, _AT_ONCE)):
            if len(unsearched := [row for row in some if not self.timeline.state[row] & SEARCHED]) > 1:
                self.prefetch(unsearched)
            yield from (row for row in some if self.has_constraints(row))

    def has_constraints(self, row: int) -> bool:
        """Whether a row is a user message that lays something down."""
        state = self.timeline.state
        if not state[row] & SEARCHED:
            is_own = self.timeline.is_users_own(row)
            state[row] |= SEARCHED | (CONSTRAINT if is_own and self.constraints(row) else 0)
        return bool(state[row] & CONSTRAINT) or (row in self.timeline.found and bool(self.found(row)))

    # ------------------------------------------------------------------ recalls

    def recall_note(self, row: int) -> RecallNote:
        """What a recall names."""
        return _recall_note(self.entry(row))

    def recalled(self, entry: Entry, locale: str, *, handles: bool = True) -> str:
        """The text of a recall entry: in a frame if it stands before a user's words, else a list with handles."""
        note, today = _recall_note(entry), entry.timestamp[:_DATE]
        if note.files:
            return frame_files(self, note.files, locale, leads=bool(entry.flags & LEADING))
        handles = handles and not note.bare
        row = self.timeline.row(str(entry.seq))
        before = row is not None and row < self.timeline.format_1
        if entry.flags & LEADING:
            return frame_recall(self, note, locale, today, handles=handles, format_1=before)
        return self.recall_text(note, locale, today, handles=handles or before, format_1=before)

    def recalled_parts(self, entry: Entry, locale: str, *, handles: bool = True) -> tuple[Part, ...]:
        """The text of a recall entry, and the images and files of items that it shows again whole."""
        return (Text(self.recalled(entry, locale, handles=handles)), *self.media(_recall_note(entry)))

    def media(self, note: RecallNote) -> tuple[Image | File, ...]:
        """The images and files of the items that a recall shows again whole."""
        rows = [self.timeline.row(source.item) for source in note.sources if not source.first and not source.quotes]
        parts = [part for row in rows if row is not None for part in self.item(row).parts]
        parts += [inner for part in parts if isinstance(part, Result) for inner in part.parts]
        return tuple(part for part in parts if isinstance(part, Image | File))

    def recall_text(
        self, note: RecallNote, locale: str, today: str = "", *, handles: bool = True, format_1: bool = False
    ) -> str:
        """The text of a recall with these sources: each after its handle, if there are any, and dates between them."""
        if note.overview:
            return f"{say('overview', locale)}\n{note.overview if format_1 else escape(note.overview)}"
        lines, when = [say("recalled", locale)], today
        rows = [row for source in note.sources if (row := self.timeline.row(source.item)) is not None]
        is_only, named = len(note.sources) == 1, names_speakers(self, rows)
        dates = written_dates([self.when(source, today) for source in note.sources], by_day=note.by_day)
        for source, date in zip(note.sources, dates, strict=True):
            previous, when = when, date
            if when != previous:
                lines.append(f"[{when}]")
            shape = {"is_only": is_only, "named": named, "handles": handles, "format_1": format_1}
            lines.append(self.source_text(source, locale, **shape))
        return "\n".join(lines)

    def source_text(
        self,
        source: Source,
        locale: str,
        *,
        is_only: bool = False,
        named: bool = False,
        handles: bool = True,
        format_1: bool = False,
    ) -> str:
        """One recalled piece after its handle and its speaker. None of its lines can be taken for another's.

        Its further lines are indented, unless it is the only piece and all of them can be told from lines of a list.
        `named`: texts begin with the names of their speakers. Without `handles`, a dash is in the place of the handle,
        and a mark before what is only a part.
        """
        if (row := self.timeline.row(source.item)) is None:
            return f"#{source.item}" if handles else "-"
        lines, is_indented = self.source_lines(source), not (is_only and handles)
        if not format_1:
            lines, is_indented = keep_apart(lines, 0 if source.first else 1, is_indented=is_indented, named=named)
        escaped, newline = escape_at(self, row, format_1), _INDENTED if is_indented else "\n"
        if source.first and handles:
            label = say("recalled lines", locale, id=source.item, first=source.first, last=source.last)
            return newline.join([label, *map(escaped, lines)])
        said = "… "
        if not source.first:
            said = label_listed(self.timeline, row, source, lines[0], locale, named=named, format_1=format_1)
        handle = f"#{source.item}" if handles else "-"
        return f"{handle} {said}" + newline.join([lines[0], *map(escaped, lines[1:])])

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


def own_words(reader: EntryReader, row: int) -> str:
    """The text of a user message without results of calls that the agent sent in it as text."""
    return shorten.own_words(reader.item(row).parts, lambda: _said_before(reader, row))


def _said_before(reader: EntryReader, row: int) -> Iterator[str]:
    """What the assistant said last before a row of its path, and the system prompt."""
    timeline = reader.timeline
    path = timeline.path(timeline.branch[row])
    rows = (at for at in range(row - 1, -1, -1) if path.holds(timeline.branch[at], at))
    said = next((at for at in rows if timeline.kind[at] in (Kind.ASSISTANT, Kind.CALL)), None)
    items = [] if said is None else reader.items(reader.entry(said))
    yield shorten.said_text(part for item in items for part in item.parts)
    yield from (reader.text(at) for at in timeline.head_rows(path, row))


def item_text(item: Item) -> str:
    """The full text of an item. A call reads `name(arguments)`."""
    part = item.parts[0] if item.parts else None
    return f"{part.name}({arguments(part)})" if isinstance(part, Call) else plain_text(item.parts)


def orphan(item: Item, locale: str, named: Callable[[str], str] = plain_name) -> Item:
    """Return a result whose call is not in the log as what it is shown as: a labelled user message."""
    result = item.parts[0]
    assert isinstance(result, Result)
    label = Text(say("orphan", locale, name=named(result.name or result.id)))
    return Item(item.id, Kind.USER, (label, *result.parts), item.timestamp, when=item.when)


def _recall_note(entry: Entry) -> RecallNote:
    try:
        return entries.decode_data(entry, RecallNote)
    except BadInput:  # the list of its sources cannot be decoded any more
        return RecallNote(())
