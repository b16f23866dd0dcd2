"""A session as people read it: its messages, each with the tool calls it makes and their results, and what it cost.

A message has a place on its branch that never changes. Windows, whose text is not in the conversation, are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from sightline.log import Journal
from sightline.providers.catalog import price_of as known_price
from sightline.session.session import Session
from sightline.values.excerpt import stands_alone
from sightline.values.items import Blob, Call, File, Image, Item, Kind, Opaque, Part, Result, Text, arguments, blob_text
from sightline.view.call_rows import calls_answered
from sightline.view.call_values import CallRow
from sightline.view.costs import PriceOf
from sightline.view.document import media_name, thoughts_in
from sightline.view.messages import Messages, messages_of
from sightline.view.run_time import answer_seconds

_BEGINNING = 10_000  # characters of each text, unless all of it was asked for
_MOST_SEARCHED = 2_000  # messages that are read for one answer of a search
_MOST_TEXT = 8 << 20  # and characters
_READ_AT_ONCE = 100  # of them

PartForm = Literal["text", "thinking", "image", "file", "opaque"]


class MessagePart(Struct, frozen=True):
    """A piece of a message or result. `name` says what an image, a document or a block of the provider is."""

    form: PartForm
    name: str = ""
    text: str = ""  # its beginning, unless all of it was asked for
    characters: int = 0
    image: int | None = None  # its place among the images of its item, if the session has its data


class ToolResult(Struct, frozen=True):
    """What a tool gave. `error` is empty, or one word: failed, interrupted."""

    id: str
    timestamp: str
    tokens: int
    error: str
    parts: list[MessagePart]


class ToolCall(Struct, frozen=True):
    """A call of a tool, with its result if that has come. `text`: its arguments, as JSON or as the model wrote them."""

    id: str
    tool: str
    tokens: int
    text: str
    characters: int
    result: ToolResult | None


class TranscriptMessage(Struct, frozen=True):
    """A message. `call` is the call of the model that it answers, `seconds` how long that took, if the log says it."""

    id: str
    kind: str
    by_program: bool
    timestamp: str
    tokens: int  # without those of its tool calls
    parts: list[MessagePart]
    calls: list[ToolCall]
    call: CallRow | None
    seconds: float | None


class TranscriptPage(Struct, frozen=True):
    """Some messages of a branch, in order, from the `start`-th on. `at` is the place of the item that was asked for."""

    messages: list[TranscriptMessage]
    start: int
    total: int
    next: int | None
    at: int | None = None


class TranscriptHit(Struct, frozen=True):
    """A message in which the words stand, and its place."""

    id: str
    place: int


class TranscriptHits(Struct, frozen=True):
    """The messages in which the words stand, in order. `next`: from which place to search on; null: it is done."""

    hits: list[TranscriptHit]
    total: int  # messages of the branch
    next: int | None


# ---------------------------------------------------------------------- a page of messages


def transcript_page(
    session: Session,
    start: int,
    limit: int,
    at: str | None = None,
    *,
    whole: bool = False,
    price_of: PriceOf = known_price,
) -> TranscriptPage:
    """Return messages by their place, or with `at` the page that has this item. Reads only what it returns.

    A `start` below 0 counts from the end.

    Raises UnknownItem.
    """
    with session._lock:
        messages = messages_of(session)
        place = messages.place(session.items.row(at)) if at else None
        if place is not None:
            start = place // limit * limit
        elif start < 0:
            start = max(0, len(messages.rows) + start)
        rows = messages.rows[start : start + limit]
        calls = calls_answered(session, rows, price_of)
        reader = _Reader(session.log, messages, calls, whole=whole)
        page, end = reader.read(rows), start + len(rows)
        total = len(messages.rows)
        return TranscriptPage(page, start, total, end if end < total else None, place)


class _Reader:
    """Makes messages of rows."""

    def __init__(self, journal: Journal, messages: Messages, calls: Mapping[int, CallRow], *, whole: bool) -> None:
        self._journal, self._messages, self._calls = journal, messages, calls
        self._most = None if whole else _BEGINNING

    def read(self, rows: Sequence[int]) -> list[TranscriptMessage]:
        """Return the messages of these rows."""
        self._journal.reader.prefetch(each for row in rows for each in self._messages.rows_of(row))
        return [self._message(row) for row in rows]

    def _message(self, row: int) -> TranscriptMessage:
        timeline, item, call = self._journal.timeline, self._journal.reader.item(row), self._calls.get(row)
        return TranscriptMessage(
            id=item.id,
            kind=item.kind.name.lower(),
            by_program=timeline.is_by_program(row),
            timestamp=_time(item),
            tokens=timeline.full[row],
            parts=self._parts(_with_text(self._journal, row, item)),
            calls=[self._tool_call(each) for each in timeline.calls_of(row)],
            call=call,
            seconds=answer_seconds(self._journal, row) if call is not None else None,
        )

    def _tool_call(self, row: int) -> ToolCall:
        timeline, item = self._journal.timeline, self._journal.reader.item(row)
        call, result = next(part for part in item.parts if isinstance(part, Call)), self._messages.results.get(row)
        text = arguments(call)
        return ToolCall(
            item.id,
            call.name,
            timeline.full[row],
            text[: self._most],
            len(text),
            self._result(result) if result is not None else None,
        )

    def _result(self, row: int) -> ToolResult:
        timeline, item = self._journal.timeline, self._journal.reader.item(row)
        error = next((part.error for part in item.parts if isinstance(part, Result)), "")
        return ToolResult(item.id, _time(item), timeline.full[row], error, self._parts(item))

    def _parts(self, item: Item) -> list[MessagePart]:
        images, parts = 0, []
        for part in _flat(item.parts):
            if isinstance(part, Image):
                inline = bool(part.data) or part.url.startswith("data:")
                parts.append(MessagePart("image", media_name(part), image=images if inline else None))
                images += 1
            elif (made := _part(part)) is not None:
                parts.append(MessagePart(made.form, made.name, made.text[: self._most], len(made.text)))
        return parts


def _with_text(journal: Journal, row: int, item: Item) -> Item:
    """Return an item with its text: what was recalled names only where that stands."""
    if item.kind is not Kind.RECALL:
        return item
    return replace(item, parts=(Text(journal.reader.text(row)),))


def _flat(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, Result):
            yield from part.parts
        else:
            yield part


def _part(part: Part) -> MessagePart | None:
    """Return what is told of a part that is no image, no call and no result; None: nothing."""
    match part:
        case Text():
            return MessagePart("text", text=part.text) if part.text else None
        case Blob():
            return MessagePart("text", text=blob_text(part))
        case File():
            return MessagePart("file", media_name(part))
        case Opaque() if thoughts := thoughts_in(part.raw):
            return MessagePart("thinking", text=thoughts)
        case Opaque() if part.raw:
            return MessagePart("opaque", f"{part.provider} {part.kind}")
    return None


def _time(item: Item) -> str:
    return item.when or item.timestamp


# ---------------------------------------------------------------------- find in all messages


def find_in_transcript(session: Session, words: str, start: int, limit: int, *, alone: bool = False) -> TranscriptHits:
    """Return the messages from the `start`-th on in which these words stand, in any case and with any white space.

    `alone`: not as a part of a longer name or number. What is searched is what a transcript shows. So much is read at a
    time that others need not wait long.
    """
    wanted = _folded(words)
    with session._lock:
        messages = messages_of(session)
        total, size, place = len(messages.rows), 0, start
        hits: list[TranscriptHit] = []
        while wanted and place < min(total, start + _MOST_SEARCHED) and len(hits) < limit and size < _MOST_TEXT:
            if (place - start) % _READ_AT_ONCE == 0:
                rows = messages.rows[place : place + _READ_AT_ONCE]
                session.log.reader.prefetch(part for row in rows for part in messages.rows_of(row))
            text = _folded("\n".join(_texts(session.log, messages, messages.rows[place])))
            size += len(text)
            if stands_alone(wanted, text) if alone else wanted in text:
                hits.append(TranscriptHit(messages.timeline.id(messages.rows[place]), place))
            place += 1
        return TranscriptHits(hits, total, place if wanted and place < total else None)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _texts(journal: Journal, messages: Messages, row: int) -> Iterator[str]:
    for each in messages.rows_of(row):
        for part in _flat(_with_text(journal, each, journal.reader.item(each)).parts):
            if isinstance(part, Call):
                yield from (part.name, arguments(part))
            elif isinstance(part, Image):
                yield media_name(part)
            elif (made := _part(part)) is not None:
                yield made.text or made.name
