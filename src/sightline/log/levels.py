"""How an item looks at a level of detail, and how many tokens it has there.

What only a sweep needs of `shorten` is named where it is used, so that a plain turn does not load it.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from sightline import shorten
from sightline.log import entries
from sightline.log.annotations import RenditionNote
from sightline.log.columns import LABELLED, NONE, ORPHAN, TITLED, UNMADE
from sightline.log.entries import Entry
from sightline.log.fold import GrowingTimeline
from sightline.log.reader import EntryReader, orphan
from sightline.log.stores import Span, Store
from sightline.shorten import effect_of, is_file_read
from sightline.shorten.labels import without_handle
from sightline.values import excerpt
from sightline.values.decoders import decode_json
from sightline.values.escape import Escape, escape, escape_parts
from sightline.values.found_mark import mark_found
from sightline.values.items import (
    FULL,
    GIST,
    SUMMARY,
    Call,
    Item,
    Kind,
    Lod,
    Part,
    Result,
    Text,
)
from sightline.values.phrases import say
from sightline.values.profiles import ERROR_MARK, Profile, part_tokens
from sightline.values.tokens import TokenCounter

if TYPE_CHECKING:
    from sightline.shorten.levels import Shorter

_AHEAD = 64  # rows before and after one whose entries are read with it
_CACHED_ITEMS = 4096  # whose shortened texts stay in memory
_USER, _SUMMARY, _RECALL = Kind.USER, Kind.SUMMARY, Kind.RECALL  # looked up once: a class does it slowly


class Reader(EntryReader):
    """Reads items at a level of detail and counts their tokens."""

    timeline: GrowingTimeline

    def __init__(self, store: Store, counter: TokenCounter, profile: Profile, locale: str = "en") -> None:
        super().__init__(
            store,
            GrowingTimeline(
                measure=self.measure,
                make_levels=self._make_levels,
                effect_of=effect_of,
                is_file_read=is_file_read,
                forget=lambda row: self._shorter.pop(row, None),
            ),
        )
        self.counter, self.profile, self.locale = counter, profile, locale
        self._shorter: OrderedDict[int, Shorter] = OrderedDict()  # row → its shortened texts, none of which was sent
        self._constraint_tokens: dict[int, int] = {}
        self._cuts: dict[int, Shorter] = {}  # the same of rows whose summary was made to measure

    def _is_described(self, entry: Entry, rows: range) -> bool:
        """Whether the columns still describe a line that was changed after it was folded. An annotation has no rows.

        They do if it has the same items, none of them is larger than it was, and each result still answers its call.
        Then a payload that was planned with them keeps its budget and its pairs. Reads the line again, and those of its
        calls and results.
        """
        timeline, state = self.timeline, [self.timeline.state[row] for row in rows]
        items = entries.items_of(entry)
        kinds = [_kind(item, bits) for item, bits in zip(items, state, strict=False)]
        if not rows or len(items) != len(rows) or kinds != [timeline.kind[row] for row in rows]:
            return False
        flags = state[0] & (LABELLED | TITLED) | entry.flags & ~(LABELLED | TITLED)
        sizes = self.measure(replace(entry, seq=timeline.seq[rows[0]], flags=flags))
        is_small = all(size <= timeline.full[row] for row, size in zip(rows, sizes, strict=True))
        return is_small and all(_is_paired(self, row) and _are_levels_small(self, row) for row in rows)

    def constraint_tokens(self, row: int) -> int:
        """The tokens of the constraints in a user message. Counted once."""
        if (tokens := self._constraint_tokens.get(row)) is None:
            tokens = self._constraint_tokens[row] = sum(map(self.counter.count, self.constraints(row)))
        marked = [mark_found(by_model.quote, by_model.reading, self.locale) for by_model in self.found(row)]
        return tokens + sum(map(self.counter.count, marked))

    def measure(self, entry: Entry) -> list[int]:
        """The tokens of each item of an entry in full."""
        if entry.type == "system" and entry.subtype == "recall":
            # A payload whose tools have no `expand` shows it without handles, and indents its lines instead.
            versions = [self.recalled_parts(entry, self.locale, handles=handles) for handles in (True, False)]
            return [max(map(self.full_tokens, versions))]
        items, is_orphan = entries.items_of(entry), entry.tool_result is not None and bool(entry.flags & LABELLED)
        if is_orphan:
            items = [orphan(items[0], self.locale)]
        titled = is_orphan or bool(entry.flags & TITLED)
        return [self.full_tokens(_full_parts(item, self.locale, escape, titled=titled)) for item in items]

    def _make_levels(self, row: int, lod: Lod) -> dict[Lod, int]:
        """The tokens of a row at this level, as it was sent; if it never was, at both lower levels, made now."""
        kind, full = self.timeline.kind[row], self.timeline.full[row]
        is_prompt = kind == Kind.SYSTEM and not self.timeline.is_by_program(row)
        if is_prompt or kind in (Kind.RECALL, Kind.WINDOW):
            return {GIST: NONE, SUMMARY: NONE}
        self._read_ahead(row)
        item = self.item(row)
        if self.logged(row, lod) is not None:
            return {lod: self._short_tokens(item, self.rendition(row, lod))}
        if self._is_small(item, full):
            return {level: NONE for level in (SUMMARY, GIST) if self.logged(row, level) is None}
        shorter = self._shorten_row(row)
        summary, gist = self._short_tokens(item, shorter.summary), self._short_tokens(item, shorter.gist)
        if summary >= full:
            summary = NONE
        if gist >= (full if summary == NONE else summary):
            gist = NONE
        made = {SUMMARY: summary, GIST: gist}
        return {level: tokens for level, tokens in made.items() if self.logged(row, level) is None}

    def _is_small(self, item: Item, full: int) -> bool:
        """Whether an item has no lower levels because it is a short text, or a call with few arguments as they came."""
        call = item.parts[0] if item.kind is Kind.CALL else None
        tokens = full if isinstance(call, Call) and call.raw is not None else _text_tokens(item, full)
        return tokens is not None and tokens < item.kind.least

    def _read_ahead(self, row: int) -> None:
        """Read the entries around a row at once, if most have no levels: the first sweep of a long log asks for all.

        One at a time each would be a round trip to a database.
        """
        if not self.has_cached(row):
            near = range(max(row - _AHEAD, 0), min(row + _AHEAD, len(self.timeline)))
            if len(unmade := [neighbour for neighbour in near if self.timeline.gist[neighbour] == UNMADE]) > _AHEAD:
                self.prefetch(unmade)

    def _short_tokens(self, item: Item, text: str | None) -> int:
        return NONE if text is None else self.full_tokens(_shortened_parts(item, text))

    def full_tokens(self, parts: Sequence[Part]) -> int:
        """Tokens of these parts, without the framing of a message."""
        count, profile = self.counter.count, self.profile
        return sum([part_tokens(part, profile, count) for part in parts])

    def _tool_name(self, row: int, item: Item) -> str:
        """The name of the tool that a row calls or answers, or an empty string."""
        part = item.parts[0] if item.parts else None
        if not isinstance(part, Call | Result) or self.timeline.state[row] & ORPHAN:
            return ""
        if not part.name and self.timeline.partner[row] != NONE:
            part = self.item(self.timeline.partner[row]).parts[0]
        return part.name if isinstance(part, Call | Result) else ""

    # ------------------------------------------------------------------ shortened texts

    def rendition(self, row: int, lod: Lod) -> str:
        """The shortened text of a row: as it was sent, or as the rules make it if it was never sent."""
        if (span := self.logged(row, lod)) is not None:
            entry, item_id = self.entry_at(span), self.timeline.id(row)
            for note in self.note(entry, list[RenditionNote]):
                if note.item == item_id and note.lod == lod:
                    return excerpt.joined(note.pieces, self.text(row))
            raise self._damaged(f"entry {entry.seq}")
        shorter = self._shorten_row(row)
        text = shorter.gist if lod is GIST else shorter.summary
        assert text is not None, f"row {row} has no level {lod!r}"
        return text

    def logged(self, row: int, lod: Lod) -> Span | None:
        """Where the log has the rendition of a row that was sent; None if none was."""
        timeline = self.timeline
        offset, length = (
            (timeline.gist_offset[row], timeline.gist_length[row])
            if lod is GIST
            else (timeline.summary_offset[row], timeline.summary_length[row])
        )
        return None if offset == NONE else Span(offset, length)

    def _shorten_row(self, row: int) -> "Shorter":
        """The shortened texts of a row by rule, cached. A summary that was made to measure stays until `uncut`."""
        if (shorter := self._cuts.get(row) or self._shorter.get(row)) is None:
            shorter = self._shorter[row] = self._shorten(row)
            if len(self._shorter) > _CACHED_ITEMS:
                self._shorter.popitem(last=False)
        return shorter

    def _shorten(self, row: int, room: int = 0) -> "Shorter":
        item = self.item(row)
        if item.kind in (Kind.USER, Kind.SUMMARY):
            titled = bool(self.timeline.state[row] & (TITLED | ORPHAN))
            item = replace(item, parts=_escaped(item.parts, self.escape_at(row), titled=titled))
        return shorten.shorten(
            item,
            count=self.counter.count,
            name=self._tool_name(row, item),
            subject=self.entry(row).subject if item.kind is not Kind.CALL else "",
            locale=self.locale_at(row),
            tokens=_text_tokens(item, self.timeline.full[row]),
            room=room,
        )

    # ------------------------------------------------------------------ made to measure

    def cut(self, row: int, tokens: int) -> bool:
        """Make the summary of a result a page of up to so many tokens, until `uncut`. Return whether it is one now.

        What was sent stays as it was sent, and becomes no page.
        """
        item, full = self.item(row), self.timeline.full[row]
        if self.logged(row, SUMMARY) is not None:
            return False
        usual = self._shorten_row(row)
        page = self._shorten(row, tokens).summary
        size = self._short_tokens(item, page)
        if not self.timeline.size(row, GIST) < size <= min(tokens, full - 1):
            return False
        self._cuts[row] = usual._replace(summary=page)
        self._set_summary(row, size)
        return True

    def uncut(self) -> None:
        """Make the summaries that were made to measure and not sent what they usually are."""
        for row in self._unsent_cuts():
            self._set_summary(row, UNMADE)
        self._cuts.clear()

    def _set_summary(self, row: int, tokens: int) -> None:
        self.timeline.summary[row] = tokens

    @contextmanager
    def usual_sizes(self) -> Iterator[None]:
        """While this lasts, the columns have no size that was made to measure and not sent."""
        sizes = {row: self.timeline.summary[row] for row in self._unsent_cuts()}
        for row in sizes:
            self._set_summary(row, UNMADE)
        try:
            yield
        finally:
            for row, size in sizes.items():
                self._set_summary(row, size)

    def _unsent_cuts(self) -> list[int]:
        return [row for row in self._cuts if self.logged(row, SUMMARY) is None]

    # ------------------------------------------------------------------ parts

    def parts(self, row: int, lod: Lod, tools: Collection[str]) -> tuple[Part, ...]:
        """The parts of a row as a payload with these of our tools shows them at a level that the row has.

        Without `expand` they name no handle, and without `expand` or `recall` not this tool: then they are a few tokens
        shorter than what was counted. What payloads of format 1 may have shown still has its handles.
        """
        item = self.item(row)
        if item.kind is _RECALL:
            return self.recalled_parts(self.entry(row), self.locale_at(row), handles="expand" in tools)
        if lod is FULL:
            titled = bool(self.timeline.state[row] & (TITLED | ORPHAN))
            locale = self.locale_at(row) if item.kind is _SUMMARY else ""
            return _full_parts(item, locale, self.escape_at(row), titled=titled, recalls="recall" in tools)
        text = self.rendition(row, lod)
        if "expand" not in tools:
            text = without_handle(text, f"#{item.id}", only_how=row < self.timeline.format_1)
        return _shortened_parts(item, text)

    def unchanged_parts(self, row: int, source: int) -> tuple[Part, ...]:
        """The parts of a result that only says that it is the same as an earlier one, which is shown in full."""
        text = say("unchanged", self.locale_at(row), item=self.timeline.id(source))
        return _shortened_parts(self.item(row), text)


def _text_tokens(item: Item, full: int) -> int | None:
    """The tokens of an item's text, if the item is one text and nothing else; None otherwise."""
    match item.parts:
        case (Text(),):
            return full
        case (Result(parts=(Text(),), error=error),):
            return full - ERROR_MARK if error else full
        case _:
            return None


def _full_parts(item: Item, locale: str, escape: Escape, *, titled: bool, recalls: bool = True) -> tuple[Part, ...]:
    """The parts of an item in full, escaped in the role in which the engine writes too: that of the user.

    titled: the first text begins with a label of the engine itself. recalls: the model has the tool `recall`.
    """
    if item.kind is _SUMMARY:
        return (Text(say("summary" if recalls else "summary only", locale)), *escape_parts(item.parts, escape))
    return _escaped(item.parts, escape, titled=titled) if item.kind is _USER else item.parts


def _escaped(parts: tuple[Part, ...], escape: Escape, *, titled: bool) -> tuple[Part, ...]:
    if not titled or not isinstance(parts[0], Text):
        return escape_parts(parts, escape)
    label, between, text = parts[0].text.partition("] ")  # a label has no bracket inside
    return (Text(label + between + escape(text)), *escape_parts(parts[1:], escape))


def _arguments(text: str) -> dict[str, Any]:
    """The shortened arguments of a call. What a damaged log has in their place becomes one argument."""
    try:
        return decode_json(text, dict[str, Any])
    except msgspec.DecodeError:
        return {"arguments": text}


def _shortened_parts(item: Item, text: str) -> tuple[Part, ...]:
    """The parts of an item with this shortened text in the place of its own."""
    original: Any = item.parts[0] if item.parts else None
    match original:
        case Call():
            return (Call(original.id, original.name, _arguments(text)),)
        case Result():
            return (Result(original.id, (Text(text),), original.error, original.name),)
        case _:
            return (Text(text),)


def _kind(item: Item, state: int) -> Kind:
    return Kind.USER if state & ORPHAN and item.kind is Kind.RESULT else item.kind


def _is_paired(reader: Reader, row: int) -> bool:
    """Whether a call and its result name each other, or a pending call is still the one that is waited for."""
    timeline, partner = reader.timeline, reader.timeline.partner[row]
    if partner == NONE:
        return row not in timeline.open_calls or _call_id(reader.item(row)) == timeline.open_calls[row]
    return _call_id(reader.item(row)) == _call_id(reader.item(partner))


def _call_id(item: Item) -> str:
    part = item.parts[0] if item.parts else None
    return part.id if isinstance(part, Call | Result) else ""


def _are_levels_small(reader: Reader, row: int) -> bool:
    """Whether no level that was counted is larger now, or missing."""
    sizes = {Lod.GIST: reader.timeline.gist[row], Lod.SUMMARY: reader.timeline.summary[row]}
    now = {lod: reader.timeline.make_levels(row, lod).get(lod, NONE) for lod, size in sizes.items() if size >= 0}
    return all(0 <= size <= sizes[lod] for lod, size in now.items())
