"""The text behind a timeline's rows, read when somebody looks, and the renditions made of it."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from sightline.errors import BadInput, Damaged
from sightline.log import entries
from sightline.log.annotations import RecallNote, RenditionNote, Source
from sightline.log.branches import NONE
from sightline.log.columns import LABELLED, ORPHAN, Sizes
from sightline.log.entries import Entry
from sightline.log.fold import GrowingTimeline
from sightline.log.stores import Span, Store
from sightline.shorten import Shorter, identifiers, shorten, subject_of
from sightline.shorten.file_reads import is_file_read
from sightline.values import excerpt
from sightline.values.items import Call, File, Image, Item, Kind, Lod, Opaque, Part, Result, Text, plain_text
from sightline.values.phrases import SPEAKS, plain_label, said_by_another, say
from sightline.values.profiles import Profile, media_tokens
from sightline.values.settings import Settings
from sightline.values.tokens import TokenCounter

_ENTRIES = 512  # decoded entries kept: those of a few turns, so that composing what was just appended reads nothing
_RENDITIONS = 4096
_LARGE = 1 << 16  # characters
_DAY = len("2026-01-31")
_WHEN = 100  # characters of a caller's time; it is a label
_BETWEEN = " … "  # quotes of one item
_INDENTED = "\n  "
_ERROR_MARK = 3  # tokens: formats without a flag for a failed result say so in its text
WRAP = 1000  # characters: a longer line is read as several, so that pages and ranges can be small in any text

_encode = msgspec.json.encode
T = TypeVar("T")


class Reader:
    """Reads entries by place and shows rows at a level. What it keeps can be thrown away at any time."""

    def __init__(self, store: Store, counter: TokenCounter, profile: Profile, locale: str = "en") -> None:
        self.store, self.counter, self.profile, self.locale = store, counter, profile, locale
        self.timeline = GrowingTimeline(self.measure, subject_of, is_file_read)
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._shorter: OrderedDict[str, Shorter] = OrderedDict()
        self._constraints: dict[int, tuple[str, ...]] = {}
        self._decoded: tuple[tuple[str, int], list[Item]] = (("", 0), [])

    # ------------------------------------------------------------------ entries and items

    def entry(self, row: int) -> Entry:
        """The entry a row belongs to."""
        entry = self.entry_at(Span(self.timeline.offset[row], self.timeline.length[row]))
        seq = self.timeline.seq[row]
        return entry if entry.seq == seq else replace(entry, seq=seq)  # another program's line: we numbered it

    def entry_at(self, span: Span) -> Entry:
        """The entry at a place in the store."""
        entry = self._entries.get(span.offset)
        if entry is None:
            entry = self._decode(span)
            self.keep(entry, span)
        return entry

    def _decode(self, span: Span) -> Entry:
        try:
            return entries.decode(self.store.read(span))
        except entries.UNREADABLE as error:
            raise self._damaged(f"byte {span.offset}") from error

    def note(self, entry: Entry, type_: type[T]) -> T:
        """What an annotation says that has been folded. Raises Damaged if it no longer says anything."""
        try:
            found: T = entries.decode_data(entry, type_)
        except BadInput as error:
            raise self._damaged(f"entry {entry.seq}") from error
        return found

    def _damaged(self, place: str) -> Damaged:
        """The error for a line that is not what it was when it was folded."""
        side = self.store.side_file(".idx")
        if side is not None:
            side.unlink(missing_ok=True)  # it was made when the line was whole
        return Damaged(self.store.session_id, place)

    def keep(self, entry: Entry, span: Span) -> None:
        """Remember an entry that will be looked at again soon. Large ones are not worth the memory."""
        if span.length < 1 << 16:
            self._entries[span.offset] = entry
            if len(self._entries) > _ENTRIES:
                self._entries.popitem(last=False)

    def item(self, row: int) -> Item:
        """The item as the log has it."""
        items, sub = self.items(self.entry(row)), self.timeline.sub[row]
        if sub >= len(items):
            raise self._damaged(f"byte {self.timeline.offset[row]}")
        item = items[sub]
        return self._orphan(item, self.locale_at(row)) if self.timeline.state[row] & ORPHAN else item

    def items(self, entry: Entry) -> list[Item]:
        """The items of an entry, decoded once for everybody who looks at it now."""
        key = (entry.uuid, entry.seq)
        decoded = self._decoded  # read once: another thread may look at another entry
        if decoded[0] != key:
            decoded = self._decoded = (key, entries.items_of(entry))
        return decoded[1]

    def _orphan(self, item: Item, locale: str) -> Item:
        """A result whose call is not in the log, as what it is shown as: the user's side, saying so."""
        result = item.parts[0]
        assert isinstance(result, Result)
        label = Text(say("orphan", locale, name=result.name or result.id))
        return Item(item.id, Kind.USER, (label, *result.parts), item.timestamp)

    def text(self, row: int) -> str:
        """What a row says, in full: for search, expand and recall."""
        item = self.item(row)
        return self.recalled(self.entry(row), self.locale_at(row)) if item.kind is Kind.RECALL else _said(item)

    def lines(self, row: int) -> list[str]:
        """A row's text as lines of at most `WRAP` characters: what ranges and pages count in."""
        lines = self.text(row).split("\n")
        if max(map(len, lines)) <= WRAP:
            return lines
        return [line[at : at + WRAP] for line in lines for at in range(0, max(len(line), 1), WRAP)]

    def locale_at(self, row: int) -> str:
        """The locale that held when a row was written: what was said and counted then is said so for good."""
        timeline = self.timeline
        before = [note for note in timeline.settings if note.offset < timeline.offset[row]]
        span = timeline.placed(before, timeline.path(timeline.branch[row]))
        return (Settings() if span is None else self.note(self.entry_at(span), Settings)).locale

    def sources(self, row: int) -> tuple[Source, ...]:
        """The pieces that a recall brought back."""
        return _recall_note(self.entry(row)).sources

    def recalled(self, entry: Entry, locale: str) -> str:
        """What a recall entry says: its sources' lines, each under its handle."""
        return self.recall_text(_recall_note(entry), locale, entry.timestamp[:_DAY])

    def recalled_parts(self, entry: Entry, locale: str) -> tuple[Part, ...]:
        """What a recall entry shows: the lines, and the pictures and files of items that come back whole."""
        return (Text(self.recalled(entry, locale)), *self.media(_recall_note(entry)))

    def media(self, note: RecallNote) -> tuple[Image | File, ...]:
        """The pictures and files of the items that a recall brings back whole."""
        rows = [self.timeline.row(source.item) for source in note.sources if not source.first and not source.quotes]
        parts = [part for row in rows if row is not None for part in self.item(row).parts]
        parts += [inner for part in parts if isinstance(part, Result) for inner in part.parts]
        return tuple(part for part in parts if isinstance(part, Image | File))

    def recall_text(self, note: RecallNote, locale: str, today: str = "") -> str:
        """The text of a recall that names these sources: each after its handle, under when it was said."""
        if note.overview:
            return f"{say('overview', locale)}\n{note.overview}"
        lines, when = [say("recalled", locale)], today
        for source in note.sources:
            said, when = when, self.when(source, today)
            if when != said:
                lines.append(f"[{when}]")
            lines.append(self.source_text(source, locale, alone=len(note.sources) == 1))
        return "\n".join(lines)

    def source_text(self, source: Source, locale: str, *, alone: bool = False) -> str:
        """One piece that is shown again, after its handle and who said it: alone byte for byte; among others its
        further lines are indented, so that none of them can look like a piece of its own.
        """
        between = "\n" if alone else _INDENTED
        row = self.timeline.row(source.item)
        if row is None:
            return f"#{source.item}"
        if source.first:
            lines = self.lines(row)[source.first - 1 : source.last]
            label = say("recalled lines", locale, id=source.item, first=source.first, last=source.last)
            return between.join([label, *lines])
        text = self.text(row)
        if source.quotes:
            return f"#{source.item} " + _BETWEEN.join(text[first:end] for first, end in source.quotes)
        return f"#{source.item} {self._speaker(row, text)}" + text.replace("\n", between)

    def _speaker(self, row: int, text: str) -> str:
        """Who says a text, where it does not begin with a name."""
        role = {Kind.USER: "user: ", Kind.ASSISTANT: "assistant: "}.get(Kind(self.timeline.kind[row]), "")
        return "" if SPEAKS.match(text) else role

    def when(self, source: Source, today: str) -> str:
        """When an item was said: as the caller told it, else the day. Quotes of what was settled have no time."""
        row = self.timeline.row(source.item)
        if row is None or source.quotes:
            return today
        entry = self.entry(row)
        told = plain_label(" ".join(entry.when.split())[:_WHEN])
        return told or (entry.timestamp[:_DAY] if today else today)

    def constraints(self, row: int) -> tuple[str, ...]:
        """The sentences of a user message that set a rule or name a task."""
        found = self._constraints.get(row)
        if found is None:
            text = self.text(row)
            found = self._constraints[row] = tuple(text[first:end] for first, end in self.entry(row).constraints)
        return found

    def named(self, entry: Entry) -> list[str]:
        """The identifiers that an entry names. A very large one says little about what is being worked on."""
        texts = [_said(item) for item in self.items(entry) if item.kind is not Kind.RECALL]
        return [name for text in texts if len(text) < _LARGE for name in identifiers(text)]

    # ------------------------------------------------------------------ levels

    def measure(self, entry: Entry, tools: dict[str, str] | None = None) -> list[Sizes]:
        """The sizes of an entry's items. Its shortened forms are made here, once, and kept for when they are sent.

        tools: the tool of each call that is not in the log yet, by its id; the entry's own calls are added.
        """
        if entry.type == "system" and entry.subtype == "recall":
            return [(NONE, NONE, self.full_tokens(self.recalled_parts(entry, self.locale)))]
        names = self._names(entry, tools)
        return [
            self._measure_item(item, name, entry.subject, entry.flags)
            for item, name in zip(self.items(entry), names, strict=True)
        ]

    def _names(self, entry: Entry, tools: dict[str, str] | None = None) -> list[str]:
        """The tool's name for each item that has one."""
        items = self.items(entry)
        names = [part.name if isinstance(part := (item.parts or (None,))[0], Call | Result) else "" for item in items]
        if entry.tool_result is not None and not names[0]:
            call_id = entry.tool_result.id
            names[0] = (tools or {}).get(call_id) or self.call_name(call_id, entry)
        elif tools is not None:
            calls = [part for item in items for part in item.parts if isinstance(part, Call)]
            tools |= {call.id: call.name for call in calls}
        return names

    def call_name(self, call_id: str, entry: Entry) -> str:
        """The name of the tool that the open or answered call of a result names."""
        branch = next((i for i, b in enumerate(self.timeline.branches) if b.name == entry.branch), 0)
        row = self.timeline.open_call(call_id, branch)
        if row is None:
            own = self.timeline.row(str(entry.seq)) if entry.seq else None
            row = self.timeline.partner[own] if own is not None else None
        if row is None or row == NONE:
            return ""
        call = self.item(row).parts[0]
        return call.name if isinstance(call, Call) else ""

    def _measure_item(self, item: Item, name: str, subject: str, flags: int) -> Sizes:
        full = self.full_tokens(_whole(item, self.locale, ours=bool(flags & LABELLED)))
        if item.kind in (Kind.SYSTEM, Kind.RECALL):
            return (NONE, NONE, full)
        known = _text_tokens(item, full)
        shorter = shorten(item, count=self.counter.count, name=name, subject=subject, locale=self.locale, tokens=known)
        self._remember(item.id, shorter)
        summary, gist = self._short_tokens(item, shorter.summary), self._short_tokens(item, shorter.gist)
        if summary >= full:
            summary = NONE
        if gist >= (full if summary == NONE else summary):
            gist = NONE
        return (gist, summary, full)

    def _short_tokens(self, item: Item, text: str | None) -> int:
        """Tokens of a shortened text as it will be shown: of a call, its name and the arguments written anew."""
        if text is None:
            return NONE
        return self.full_tokens(_shortened(item, text))

    def full_tokens(self, parts: Sequence[Part]) -> int:
        """Tokens of parts as they are, without framing."""
        return sum(map(self._part_tokens, parts))

    def _part_tokens(self, part: Part) -> int:
        count: Callable[[str], int] = self.counter.count
        match part:
            case Call():
                return count(part.name) + count(arguments(part))
            case Result():
                return self.full_tokens(part.parts) + (_ERROR_MARK if part.error else 0)
            case Opaque():
                return count(_encode(part.raw).decode())
            case _ if part.__struct_config__.tag in ("image", "file"):
                return media_tokens(part, self.profile)  # type: ignore[arg-type]
            case _:
                return count(plain_text((part,)))

    def _remember(self, item_id: str, shorter: Shorter) -> None:
        if shorter != (None, None):
            self._shorter[item_id] = shorter
            if len(self._shorter) > _RENDITIONS:
                self._shorter.popitem(last=False)

    def rendition(self, row: int, lod: Lod) -> str:
        """The shortened text of a row: as it was sent, or, before that, as the rules make it."""
        span = self.logged(row, lod)
        if span is not None:
            return self._sent(row, lod, span)
        shorter = self._shorter.get(self.timeline.id(row))
        if shorter is None:
            shorter = self._shorten_again(row)
        text = shorter.gist if lod is Lod.GIST else shorter.summary
        assert text is not None, f"row {row} has no level {lod!r}"
        return text

    def _sent(self, row: int, lod: Lod, span: Span) -> str:
        entry, item_id = self.entry_at(span), self.timeline.id(row)
        for note in self.note(entry, list[RenditionNote]):
            if note.item == item_id and note.lod == lod:
                return excerpt.joined(note.pieces, self.text(row))
        raise self._damaged(f"entry {entry.seq}")

    def logged(self, row: int, lod: Lod) -> Span | None:
        """Where a rendition that has been sent stands in the log."""
        timeline = self.timeline
        offset, length = (
            (timeline.gist_offset[row], timeline.gist_length[row])
            if lod is Lod.GIST
            else (timeline.summary_offset[row], timeline.summary_length[row])
        )
        return None if offset == NONE else Span(offset, length)

    def _shorten_again(self, row: int) -> Shorter:
        item, entry = self.item(row), self.entry(row)
        name = self._names(entry)[self.timeline.sub[row]]
        count, locale, known = self.counter.count, self.locale_at(row), _text_tokens(item, self.timeline.full[row])
        shorter = shorten(item, count=count, name=name, subject=entry.subject, locale=locale, tokens=known)
        self._remember(item.id, shorter)
        return shorter

    def parts(self, row: int, lod: Lod) -> tuple[Part, ...]:
        """A row as it is shown at a level it has."""
        item = self.item(row)
        if item.kind is Kind.RECALL:
            return self.recalled_parts(self.entry(row), self.locale_at(row))
        if lod is Lod.FULL:
            ours = bool(self.timeline.state[row] & (LABELLED | ORPHAN))
            return _whole(item, self.locale_at(row) if item.kind is Kind.SUMMARY else "", ours=ours)
        return _shortened(item, self.rendition(row, lod))


def _recall_note(entry: Entry) -> RecallNote:
    try:
        note: RecallNote = entries.decode_data(entry, RecallNote)
    except BadInput:
        return RecallNote(())  # what it named cannot be read any more
    return note


def _said(item: Item) -> str:
    part = item.parts[0] if item.parts else None
    return f"{part.name}({arguments(part)})" if isinstance(part, Call) else plain_text(item.parts)


def _text_tokens(item: Item, full: int) -> int | None:
    """The tokens of an item's text where they are all that it costs in full; None where it shows more than one text."""
    match item.parts:
        case (Text(),):
            return full
        case (Result(parts=(Text(),), error=error),):
            return full - _ERROR_MARK if error else full
        case _:
            return None


def _whole(item: Item, locale: str, *, ours: bool) -> tuple[Part, ...]:
    """An item in full. What the user says is shown as said, unless it begins like something that the engine says."""
    if item.kind is Kind.SUMMARY:
        return (Text(say("summary", locale)), *_by_another(item.parts))
    return _by_another(item.parts) if item.kind is Kind.USER and not ours else item.parts


def _by_another(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(Text(said_by_another(part.text)) if isinstance(part, Text) else part for part in parts)


def _shortened(item: Item, text: str) -> tuple[Part, ...]:
    """An item as this shortened text shows it."""
    original: Any = item.parts[0] if item.parts else None
    match original:
        case Call():
            return (Call(original.id, original.name, msgspec.json.decode(text)),)
        case Result():
            return (Result(original.id, (Text(text),), original.error, original.name),)
        case _:
            return (Text(text),)


def arguments(call: Call) -> str:
    """A call's arguments as text."""
    return call.raw if call.raw is not None else _encode(call.input).decode()
