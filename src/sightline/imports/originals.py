"""Keeps every line of an imported source in the log, so that each can be written again as it was.

A line is an annotation after the entries that it made. Its long texts are in these entries already: in their place
stands where, so that nothing is stored twice.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from sightline.errors import BadInput
from sightline.imports.conversation import FileMark, Line
from sightline.log import entries
from sightline.log.entries import Entry
from sightline.log.stores import Store
from sightline.values.decoders import convert

_TEXT = "\x00text"  # the key of an object that stands in the place of a text: no program writes it
_FEW = 8  # entries of a step: each of its lines names them all; of a larger step this would be quadratic
_LONG = 64  # characters: a shorter text is stored again, because its place would be no shorter
_CONTENT = ("message", "tool", "toolResult")  # the fields of an entry that hold texts


class ImportNote(msgspec.Struct, omit_defaults=True):
    """How far a source has been imported. `digest` is that of all its lines so far, to know the source again by."""

    kind: str
    name: str
    lines: int  # number of the last line
    digest: str
    envelope: Any = None  # what stands around the messages of a list
    is_list: bool = False
    torn: bytes = b""  # a last line that was not complete: it is read again
    file: FileMark | None = None  # the file, so that it is known on every machine how far it was imported


class SourceNote(msgspec.Struct, omit_defaults=True):
    """One line of a source. `of` are the uuids of the entries that it made, whose texts it shares.

    A line that is no JSON, or has half a character, is in `raw`, as base64.
    """

    line: int
    type: str = ""
    of: tuple[str, ...] = ()
    value: Any = None
    raw: bytes = b""
    torn: bool = False  # it may follow again, complete


class StepTexts:
    """The entries of a step, and where their long texts are: found once, however many lines the step has.

    The first of its lines names all entries, the others of a large step only those that they share texts with, and the
    last one, by which it is known how far the step goes.
    """

    def __init__(self, made: Sequence[Entry]) -> None:
        self._uuids = [entry.uuid for entry in made]
        self._texts = {
            text: (at, place) for at, entry in enumerate(made) for place, text in enumerate(_texts_of(entry))
        }

        self._named: Sequence[int] = range(len(made))  # those that the next line names in any case

    def note(self, line: Line) -> SourceNote:
        """Return the note that keeps the next line of the step."""
        named = self._named
        if len(self._uuids) > _FEW:
            self._named = (len(self._uuids) - 1,)
        try:
            value = msgspec.json.decode(line.data)
        except entries.UNREADABLE:
            of = tuple(self._uuids[at] for at in named)
            return SourceNote(line.number, line.type, of, raw=line.data, torn=line.is_torn)
        if b"\\u0000text" in line.data:
            return SourceNote(line.number, line.type, (), value)
        shared = {text: self._texts[text] for text in _long_texts(value) if text in self._texts}
        ats = [*dict.fromkeys([*named, *sorted(at for at, _ in shared.values())])]
        places = {at: number for number, at in enumerate(ats)}
        texts = {text: (places[at], place) for text, (at, place) in shared.items()}
        of = tuple(self._uuids[at] for at in ats)
        return SourceNote(line.number, line.type, of, _packed(value, texts) if texts else value)


def _texts_of(entry: Entry) -> list[str]:
    return texts_in(msgspec.json.decode(msgspec.json.encode(entry)))


def texts_in(entry: dict[str, Any]) -> list[str]:
    """Return the long texts of an entry, in the order in which it has them."""
    return [text for field in _CONTENT if field in entry for text in _long_texts(entry[field])]


def _long_texts(value: Any) -> Iterator[str]:
    match value:
        case str() if len(value) >= _LONG:
            yield value
        case dict():
            for inner in value.values():
                yield from _long_texts(inner)
        case list():
            for inner in value:
                yield from _long_texts(inner)


def _packed(value: Any, texts: dict[str, tuple[int, int]]) -> Any:
    match value:
        case str() if value in texts:
            return {_TEXT: texts[value]}
        case dict():
            return {key: _packed(inner, texts) for key, inner in value.items()}
        case list():
            return [_packed(inner, texts) for inner in value]
        case _:
            return value


def _unpacked(value: Any, texts: Sequence[Sequence[str]]) -> Any:
    match value:
        case {"\x00text": [int(entry), int(place)]} if texts:
            return texts[entry][place]
        case dict():
            return {key: _unpacked(inner, texts) for key, inner in value.items()}
        case list():
            return [_unpacked(inner, texts) for inner in value]
        case _:
            return value


def read_back(store: Store) -> Iterator[bytes]:
    """Yield the source of an imported session again: each line as JSON, or one document if it was one.

    Raises:
        BadInput: the session was not imported.
    """
    last: ImportNote | None = None
    lines = _lines(store)
    for note in import_notes(store):
        last = note
    if last is None:
        raise BadInput(f"session {store.session_id!r} was not imported; export it in another format")
    if not last.is_list:
        yield from (line + b"\n" for line in lines)
        return
    messages = b"[" + b",".join(lines) + b"]"
    if last.envelope is None:
        yield messages + b"\n"
        return
    name = next(key for key, value in last.envelope.items() if value is None)
    yield msgspec.json.encode({**last.envelope, name: msgspec.Raw(messages)}) + b"\n"


def import_notes(store: Store) -> Iterator[ImportNote]:
    """Yield how far each part of an import came, in order; nothing if the session was not imported."""
    for line in store.scan():
        if b'"subtype":"import"' in line.data:
            entry = entries.decode(line.data)
            if entry.subtype == entries.IMPORT:
                yield entries.decode_data(entry, ImportNote)


def _lines(store: Store) -> Iterator[bytes]:
    texts: dict[str, list[str]] = {}  # of the entries since the last line
    is_new, torn = False, SourceNote(0)
    for line in store.scan():
        try:
            fields = msgspec.json.decode(line.data)
        except entries.UNREADABLE:
            continue
        if fields.get("subtype") == entries.SOURCE:
            note = convert(fields["data"], SourceNote)
            is_new = True
            if torn.raw and torn.line != note.line:
                yield torn.raw
            torn = note if note.torn else SourceNote(0)
            if note.raw and not note.torn:
                yield note.raw
            elif not note.raw:
                yield msgspec.json.encode(_unpacked(note.value, [texts.get(uuid, []) for uuid in note.of]))
        elif texts_in(fields):
            if is_new:
                texts, is_new = {}, False
            texts[fields["uuid"]] = texts_in(fields)
    if torn.raw:
        yield torn.raw
