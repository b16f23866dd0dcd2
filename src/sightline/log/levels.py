"""How an item looks at a level of detail, and how many tokens it has there."""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from sightline.log.annotations import RenditionNote
from sightline.log.branches import NONE
from sightline.log.columns import LABELLED, ORPHAN, Sizes
from sightline.log.entries import Entry
from sightline.log.fold import GrowingTimeline
from sightline.log.reader import EntryReader, item_text, orphan
from sightline.log.stores import Span, Store
from sightline.shorten import Shorter, identifiers, shorten, subject_of
from sightline.shorten.file_reads import is_file_read
from sightline.shorten.labels import without_how
from sightline.values import excerpt
from sightline.values.items import Call, File, Image, Item, Kind, Lod, Opaque, Part, Result, Text, arguments, plain_text
from sightline.values.phrases import said_by_another, say
from sightline.values.profiles import Profile, media_tokens
from sightline.values.tokens import TokenCounter

_CACHED_ITEMS = 4096  # whose shortened texts stay in memory
_LARGE_TEXT = 1 << 16  # characters: what so large a text names says little about what is being worked on
_ERROR_MARK = 3  # tokens: formats without a flag for a failed result say so in its text


class Reader(EntryReader):
    """Reads items at a level of detail and counts their tokens."""

    timeline: GrowingTimeline

    def __init__(self, store: Store, counter: TokenCounter, profile: Profile, locale: str = "en") -> None:
        super().__init__(store, GrowingTimeline(measure=self.measure, subject_of=subject_of, is_file_read=is_file_read))
        self.counter, self.profile, self.locale = counter, profile, locale
        self._shorter: OrderedDict[str, Shorter] = OrderedDict()  # item id → its shortened texts

    # ------------------------------------------------------------------ sizes

    def measure(self, entry: Entry, tools: dict[str, str] | None = None) -> list[Sizes]:
        """The tokens of each item of an entry at each level. The shortened texts are made here and cached.

        tools: call id → tool name, for calls that are not in the log yet. The calls of this entry are added to it.
        """
        if entry.type == "system" and entry.subtype == "recall":
            return [(NONE, NONE, self.full_tokens(self.recalled_parts(entry, self.locale)))]
        if entry.tool_result is not None and entry.flags & LABELLED:
            return [self._measure_item(orphan(self.items(entry)[0], self.locale), "", entry)]
        named = zip(self.items(entry), self._tool_names(entry, tools), strict=True)
        return [self._measure_item(item, name, entry) for item, name in named]

    def _measure_item(self, item: Item, tool: str, entry: Entry) -> Sizes:
        full = self.full_tokens(_full_parts(item, self.locale, is_labelled=bool(entry.flags & LABELLED)))
        if item.kind is Kind.SYSTEM:
            return (NONE, NONE, full)
        shorter = self._shorten(item, tool, entry.subject, self.locale, full)
        summary, gist = self._short_tokens(item, shorter.summary), self._short_tokens(item, shorter.gist)
        if summary >= full:
            summary = NONE
        if gist >= (full if summary == NONE else summary):
            gist = NONE
        return (gist, summary, full)

    def _short_tokens(self, item: Item, text: str | None) -> int:
        return NONE if text is None else self.full_tokens(_shortened_parts(item, text))

    def full_tokens(self, parts: Sequence[Part]) -> int:
        """Tokens of these parts, without the framing of a message."""
        return sum(map(self._part_tokens, parts))

    def _part_tokens(self, part: Part) -> int:
        count = self.counter.count
        match part:
            case Call():
                return count(part.name) + count(arguments(part))
            case Result():
                return self.full_tokens(part.parts) + (_ERROR_MARK if part.error else 0)
            case Opaque():
                return count(msgspec.json.encode(part.raw).decode())
            case Image() | File():
                return media_tokens(part, self.profile)
            case _:
                return count(plain_text((part,)))

    def _tool_names(self, entry: Entry, tools: dict[str, str] | None = None) -> list[str]:
        """For each item of an entry, the name of its tool, or an empty string."""
        items = self.items(entry)
        names = [part.name if isinstance(part := (item.parts or (None,))[0], Call | Result) else "" for item in items]
        if entry.tool_result is not None and not names[0]:
            call_id = entry.tool_result.id
            names[0] = (tools or {}).get(call_id) or self._called_tool(call_id, entry)
        elif tools is not None:
            tools |= {part.id: part.name for item in items for part in item.parts if isinstance(part, Call)}
        return names

    def _called_tool(self, call_id: str, entry: Entry) -> str:
        """The tool of the call that a result answers, whether the result is in the log already or not."""
        branch = next((i for i, b in enumerate(self.timeline.branches) if b.name == entry.branch), 0)
        row = self.timeline.open_call(call_id, branch)
        if row is None:
            own = self.timeline.row(str(entry.seq)) if entry.seq else None
            row = self.timeline.partner[own] if own is not None else None
        if row is None or row == NONE:
            return ""
        call = self.item(row).parts[0]
        return call.name if isinstance(call, Call) else ""

    def named_identifiers(self, entry: Entry) -> list[str]:
        """The identifiers in the texts of an entry, very large texts and recalls excepted."""
        texts = [item_text(item) for item in self.items(entry) if item.kind is not Kind.RECALL]
        return [name for text in texts if len(text) < _LARGE_TEXT for name in identifiers(text)]

    # ------------------------------------------------------------------ shortened texts

    def rendition(self, row: int, lod: Lod) -> str:
        """The shortened text of a row: as it was sent, or as the rules make it if it was never sent."""
        if (span := self.logged(row, lod)) is not None:
            entry, item_id = self.entry_at(span), self.timeline.id(row)
            for note in self.note(entry, list[RenditionNote]):
                if note.item == item_id and note.lod == lod:
                    return excerpt.joined(note.pieces, self.text(row))
            raise self._damaged(f"entry {entry.seq}")
        if (shorter := self._shorter.get(self.timeline.id(row))) is None:
            entry = self.entry(row)
            tool = self._tool_names(entry)[self.timeline.sub[row]]
            shorter = self._shorten(
                self.item(row), tool, entry.subject, self.locale_at(row), full=self.timeline.full[row]
            )
        text = shorter.gist if lod is Lod.GIST else shorter.summary
        assert text is not None, f"row {row} has no level {lod!r}"
        return text

    def logged(self, row: int, lod: Lod) -> Span | None:
        """Where the log has the rendition of a row that was sent; None if none was."""
        timeline = self.timeline
        offset, length = (
            (timeline.gist_offset[row], timeline.gist_length[row])
            if lod is Lod.GIST
            else (timeline.summary_offset[row], timeline.summary_length[row])
        )
        return None if offset == NONE else Span(offset, length)

    def _shorten(self, item: Item, tool: str, subject: str, locale: str, full: int) -> Shorter:
        """The shortened texts of an item by rule, cached. `full` are its tokens in full."""
        tokens, count = _text_tokens(item, full), self.counter.count
        shorter = shorten(item, count=count, name=tool, subject=subject, locale=locale, tokens=tokens)
        if shorter != (None, None):
            self._shorter[item.id] = shorter
            if len(self._shorter) > _CACHED_ITEMS:
                self._shorter.popitem(last=False)
        return shorter

    # ------------------------------------------------------------------ parts

    def parts(self, row: int, lod: Lod, tools: Collection[str]) -> tuple[Part, ...]:
        """The parts of a row as a payload with these of our tools shows them at a level that the row has.

        Without `expand` or `recall` they do not name it, and are a few tokens shorter than what was counted.
        """
        item = self.item(row)
        if item.kind is Kind.RECALL:
            return self.recalled_parts(self.entry(row), self.locale_at(row), handles="expand" in tools)
        if lod is Lod.FULL:
            is_labelled = bool(self.timeline.state[row] & (LABELLED | ORPHAN))
            locale = self.locale_at(row) if item.kind is Kind.SUMMARY else ""
            return _full_parts(item, locale, is_labelled=is_labelled, recalls="recall" in tools)
        text = self.rendition(row, lod)
        return _shortened_parts(item, text if "expand" in tools else without_how(text, f"#{item.id}"))


def _text_tokens(item: Item, full: int) -> int | None:
    """The tokens of an item's text, if the item is one text and nothing else; None otherwise."""
    match item.parts:
        case (Text(),):
            return full
        case (Result(parts=(Text(),), error=error),):
            return full - _ERROR_MARK if error else full
        case _:
            return None


def _full_parts(item: Item, locale: str, *, is_labelled: bool, recalls: bool = True) -> tuple[Part, ...]:
    """The parts of an item in full. A text of the user that begins like one of the engine's is escaped.

    is_labelled: the first text is a label of the engine itself. recalls: the model has the tool `recall`.
    """
    if item.kind is Kind.SUMMARY:
        return (Text(say("summary" if recalls else "summary only", locale)), *_escaped(item.parts))
    return _escaped(item.parts) if item.kind is Kind.USER and not is_labelled else item.parts


def _escaped(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(Text(said_by_another(part.text)) if isinstance(part, Text) else part for part in parts)


def _shortened_parts(item: Item, text: str) -> tuple[Part, ...]:
    """The parts of an item with this shortened text in the place of its own."""
    original: Any = item.parts[0] if item.parts else None
    match original:
        case Call():
            return (Call(original.id, original.name, msgspec.json.decode(text)),)
        case Result():
            return (Result(original.id, (Text(text),), original.error, original.name),)
        case _:
            return (Text(text),)
