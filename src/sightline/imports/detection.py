"""Finds out what a file or a folder holds, and gives its conversations. What is none is refused with what was found."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from sightline.errors import BadInput
from sightline.imports import claude_code, codex, sightline_log
from sightline.imports.claude_code import ClaudeLog
from sightline.imports.codex import CodexLog
from sightline.imports.conversation import Conversation, Line
from sightline.imports.messages import ACCEPTED, MessageList, by_lines
from sightline.imports.sightline_log import SightlineLog
from sightline.imports.source import Source, Tick, files_in, value_of
from sightline.values.decoders import decode_mended
from sightline.wire import registry
from sightline.wire.common import describe

AUTO = "auto"  # the format that means: find out
_LOOKED_AT = 200  # lines at most, before it is said what a file is: logs begin with records of their own
_LONGEST_LOOK = 8 << 20  # bytes of them

_LOGS: tuple[tuple[Callable[[Any], bool], Callable[[Source], Conversation]], ...] = (
    (sightline_log.recognises, SightlineLog), (codex.recognises, CodexLog), (claude_code.recognises, ClaudeLog),
)  # fmt: skip


def conversations(
    path: str | Path | Source,
    format: str = AUTO,  # noqa: A002 - the command line's word for it
    *,
    line: int | None = None,
    refuse: Callable[[str, BadInput], None] | None = None,
    tick: Tick = lambda _: None,
) -> Iterator[Conversation]:
    """Yield the conversations of a file, of standard input ("-"), or of all files in a folder.

    With `line` only the one of this number: of a file with one conversation per line, or of the files of a folder.
    `refuse` gets each file of a folder that holds none, with the reason; without it the first one is an error.

    Raises:
        BadInput: there is none, or there is no such format. The message says what was found and what is accepted.
    """
    if format != AUTO and format not in (names := registry.names()):
        raise BadInput(f"unknown format {format!r}; choose one of {', '.join((AUTO, *names))}")
    wire = "" if format == AUTO else format
    if isinstance(path, Source):
        in_path = _in_file(path, wire)
    elif str(path) != "-" and Path(path).is_dir():
        in_path = _in_folder(Path(path), wire, refuse, tick)
    else:
        in_path = _in_file(Source(path, tick=tick), wire)
    if line is None:
        yield from in_path
    elif (chosen := next(islice(in_path, line - 1, None), None)) is not None:
        yield chosen
    else:
        raise BadInput(f"{_name(path)} holds no conversation number {line}")


def _name(path: str | Path | Source) -> str:
    return path.name if isinstance(path, Source) else str(path)


def _in_folder(
    folder: Path, wire: str, refuse: Callable[[str, BadInput], None] | None, tick: Tick
) -> Iterator[Conversation]:
    some = False
    for file in files_in(folder):
        try:
            for conversation in _in_file(Source(file, tick=tick), wire):
                some = True
                yield conversation
        except BadInput as error:
            if refuse is None:
                continue
            refuse(str(file), error)
    if not some:
        raise BadInput(f"no file in {folder} is a conversation; what can be read: {ACCEPTED}")


def _in_file(source: Source, wire: str) -> Iterator[Conversation]:
    mark = source.mark()
    for conversation in _read_file(source, wire):
        conversation.modified, conversation.mark = source.modified, mark
        yield conversation


def _read_file(source: Source, wire: str) -> Iterator[Conversation]:
    first = _first_lines(source)
    if not first:
        raise BadInput(f"{source.name} is empty; what can be read: {ACCEPTED}")
    values = [value_of(line) for line in first]
    if not wire:
        for recognises, reader in _LOGS:
            if any(map(recognises, values)):
                yield reader(source)
                return
    if values[0] is None or len(first) == 1:
        values.clear()  # a document is decoded once more: it is not kept twice
        yield from _in_document(source, first[0], wire)
    elif isinstance(values[0], list) or _holds_messages(values[0]):
        yield from _in_lines(source, wire)
    else:
        yield by_lines(source, wire)


def _first_lines(source: Source) -> list[Line]:
    lines: list[Line] = []
    length = 0
    for line in islice(source.lines(), _LOOKED_AT):
        lines.append(line)
        length += len(line.data)
        if length > _LONGEST_LOOK and len(lines) > 1:
            break
    return lines


def _holds_messages(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in ("messages", "input"))


def _in_document(source: Source, first: Line, wire: str) -> Iterator[Conversation]:
    """Yield the conversations of a file that is one JSON value."""
    try:
        value = decode_mended(source.whole(), Any)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        beginning = first.data[:60].decode("utf-8", "replace")
        raise BadInput(f"line {first.number} is no JSON: {beginning!r}; what can be read: {ACCEPTED}") from None
    if isinstance(value, list) and value and all(isinstance(part, list) or _holds_messages(part) for part in value):
        yield from (_in_line(part, f"{source.name}, conversation {at}", wire) for at, part in enumerate(value, start=1))
    elif (conversation := MessageList.of(value, source.name, wire)) is not None:
        yield conversation
    else:
        raise BadInput(f"this is not a conversation: {describe(value)}; what can be read: {ACCEPTED}")


def _in_lines(source: Source, wire: str) -> Iterator[Conversation]:
    for line in source.lines():
        yield _in_line(value_of(line), f"{source.name}, line {line.number}", wire)


def _in_line(value: Any, name: str, wire: str) -> Conversation:
    conversation = MessageList.of(value, name, wire, in_line=True)
    if conversation is None:
        raise BadInput(f"{name}: found {describe(value)}; what can be read: {ACCEPTED}")
    return conversation
