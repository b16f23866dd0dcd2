"""Counts what is in the log of a session without opening the session: a piece at a time, and only what is new.

A list of a thousand sessions needs a few numbers of each. Opening them all would take minutes, so their lines are read
as they are, and only the fields that are counted are decoded.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from sightline.errors import BadInput
from sightline.imports.conversation import FileMark, summed
from sightline.imports.harness_text import command_words, divided
from sightline.imports.originals import ImportNote
from sightline.log import LABELLED, entries
from sightline.log.annotations import HeadNote, PinNote
from sightline.session.accept import check_settings
from sightline.values.clock import known_milliseconds
from sightline.values.decoders import decode_json, json_decoder
from sightline.values.items import Call, Usage, plain_text
from sightline.values.profiles import charged, profile
from sightline.values.recall_tools import LOOK, RECALL_NAMES
from sightline.values.screen_text import first_words
from sightline.values.settings import Settings
from sightline.view.catalog.savings import Saved, SavingsCount, SentPrompt
from sightline.view.file_reads import FileReads
from sightline.view.ledger import line_tokens

TITLE = 200  # characters of a title
_PIECE = 1 << 20  # bytes that are read at once
_LOOKED_AT = 20_000  # characters of a message in which its first words are looked for
_CALL = b'"type":"call"'
_OWN_TOOLS = RECALL_NAMES | {LOOK.name}
_COMPARED = 4096  # bytes at the beginning, and at the end of what was read, by which a log is known again


class _Body(Struct):
    content: Raw = Raw(b'""')
    model: str = ""
    usage: Usage | None = None


class _Result(Struct):
    id: str = ""
    error: str = ""
    output: Raw = Raw(b'""')


class _Line(Struct, rename="camel"):
    """The fields of an entry that are counted."""

    type: str = ""
    subtype: str = ""
    branch: str = ""
    timestamp: str = ""
    cwd: str = ""
    message: _Body | None = None
    tool: entries.ToolUse | None = None
    tool_result: _Result | None = None
    is_compact_summary: bool = False
    tokens: tuple[int | tuple[int, int, int], ...] = ()
    flags: int = 0
    data: Raw = Raw(b"null")


class _Size(Struct):
    tokens: int = 0


class _NewList(Struct):
    after: str = ""


_decoder = json_decoder(_Line)


class Counted(Struct, omit_defaults=True):
    """What was counted of a log, on all its branches."""

    title: str = ""  # the beginning of the user's first question
    project: str = ""  # the folder that it was first about; empty: not known
    kind: str = ""  # of the file that it was imported from; empty: it was not imported
    file: FileMark | None = None  # that it was imported from, as it was then
    created: int | None = None  # seconds since 1970
    entries: int = 0
    items: int = 0
    turns: int = 0  # messages of the user's own
    calls: int = 0  # answers of a model
    composed: int = 0  # payloads that Sightline composed
    tokens: int = 0  # of all items in full, with what a provider adds to each
    compactions: int = 0
    faults: int = 0  # results that were fetched again because they had been shortened
    rereads: int = 0  # readings of files that showed nothing new
    pins: int = 0
    model: str = ""  # that answered last
    usages: dict[str, Usage] = {}  # what was reported, by model
    saved: dict[str, Saved] = {}  # what shortening saved, by model
    branch: str = ""  # that was written to last
    branches: list[str] = []  # without the first, which has no name
    error: str = ""  # why this version cannot open the session

    @property
    def usage(self) -> Usage | None:
        """What was reported in all; None: nothing was."""
        return summed(iter(self.usages.values()))


class LogCount:
    """Counts a log as far as it has been read."""

    def __init__(self) -> None:
        self.offset = 0  # bytes that were read
        self._head = self._tail = b""  # the beginning and the end of what was read
        self._found = Counted()
        self._marks: dict[str, str] = {}
        self._reads = FileReads()
        self._command = ""  # the first that was typed: the title if nothing else was said
        self._boundary = False  # a compaction whose summary has not come yet
        self._profile = profile(Settings().profile)
        self._savings = SavingsCount()
        self._wrote: Usage | None = None  # the usage of the last call that wrote to the provider's cache
        self._said = 0  # tokens of what is no text of ours: neither recalled nor a summary

    def continues(self, file: Path) -> bool:
        """Whether a file still holds what was read of it: one of the same name may be another. Raises OSError."""
        if not self.offset:
            return True
        with file.open("rb") as opened:
            head = opened.read(len(self._head))
            opened.seek(self.offset - len(self._tail))
            return head == self._head and opened.read(len(self._tail)) == self._tail

    def read(self, file: Path, most: int) -> bool:
        """Read on in a file, at most about so many bytes. Return whether all of it has been read. Raises OSError."""
        with file.open("rb") as opened:
            opened.seek(self.offset)
            end = self.offset + most
            while self.offset < end:
                lines = opened.readlines(min(_PIECE, end - self.offset))
                if lines and not lines[-1].endswith(b"\n"):  # it may still be written
                    lines.pop()
                if not lines:
                    return True
                self.add(lines)
                if not self.offset:
                    self._head = b"".join(lines)[:_COMPARED]
                self._tail = lines[-1][-_COMPARED:]
                self.offset += sum(map(len, lines))
            return not opened.read(1)

    def add(self, lines: Iterable[bytes]) -> None:
        """Count lines. What is no entry is passed over."""
        for data in lines:
            with suppress(*entries.UNREADABLE):
                line = _decoder.decode(data)
                self._found.entries += 1
                with suppress(msgspec.ValidationError):
                    self._count(line, data)

    def counted(self) -> Counted:
        """Return what was counted so far."""
        counted = self._found
        return replace(
            counted,
            title=counted.title or self._command,
            usages=dict(counted.usages),
            saved=dict(self._savings.saved),
            branches=list(counted.branches),
            pins=sum(mark == "pin" for mark in self._marks.values()),
        )

    # ------------------------------------------------------------------ private

    def _count(self, line: _Line, data: bytes) -> None:
        counted = self._found
        if line.type in entries.CONVERSATION or (line.type == "system" and line.subtype in entries.CHAINED):
            counted.branch = line.branch
            counted.project = counted.project or line.cwd
            if counted.created is None and line.timestamp:
                counted.created = seconds_of(line.timestamp)
        if line.type == "system" and line.subtype not in ("", "recall"):
            self._annotate(line)
            return
        said = self._said
        if line.tokens:
            counted.items += len(line.tokens)
            tokens = line_tokens(line.tokens, self._profile)
            counted.tokens += tokens
            self._said += 0 if line.subtype or line.is_compact_summary else tokens
        if line.is_compact_summary:
            counted.compactions += self._boundary
            self._boundary = False
        elif line.type == "user":
            counted.turns += not line.flags & LABELLED
            if not counted.title and line.message is not None:
                self._find_title(line.message.content, by_program=bool(line.flags & LABELLED))
        elif line.type in ("assistant", "tool_use"):
            self._add_answer(line, data, said)
        elif line.type == "system":
            self._savings.head += self._said - said
        elif (result := line.tool_result) is not None:
            self._add_result(result)

    def _add_result(self, result: _Result) -> None:
        if self._reads.is_reading(result.id):  # the text of no other result is decoded
            text = plain_text(entries.decode_parts(result.output))
            reading = self._reads.add_result(result.id, text, failed=bool(result.error))
            self._found.rereads += reading is not None and reading.is_known

    def _find_title(self, content: Raw, *, by_program: bool) -> None:
        text = plain_text(entries.decode_parts(content))
        self._command = self._command or typed_command(text)
        if not by_program:
            self._found.title = own_words(text)

    def _add_answer(self, line: _Line, data: bytes, said: int) -> None:
        self._found.calls += 1
        names, usage = [], None
        if line.message is not None:
            usage = line.message.usage
            self._found.model = model = line.message.model or self._found.model
            if usage is not None:
                self._found.usages[model] = self._found.usages.get(model, Usage(0, 0)) + usage
        if line.tool is not None:
            names.append(line.tool.name)
            self._reads.add_call(Call(line.tool.id, line.tool.name, line.tool.input))
        elif _CALL in data and line.message is not None:
            for part in entries.decode_parts(line.message.content):
                if isinstance(part, Call):
                    names.append(part.name)
                    self._reads.add_call(part)
        brings_back = bool(names) and _OWN_TOOLS.issuperset(names)
        self._wrote = usage if usage is not None and usage.written_tokens else self._wrote
        prices = charged(self._profile, self._wrote)
        self._savings.answer(self._found.model, said, line.timestamp, prices, brings_back=brings_back)

    def _annotate(self, line: _Line) -> None:
        match line.subtype:
            case entries.BOUNDARY:
                self._boundary = True
            case entries.RECEIPT:
                self._found.composed += 1
                prompt = decode_json(line.data, SentPrompt)
                self._found.faults += len(prompt.faults)
                self._savings.compose(prompt)
            case entries.TOOLS:
                self._savings.use_tools(decode_json(line.data, _Size).tokens)
            case entries.HISTORY:
                if decode_json(line.data, _NewList).after:
                    self._savings.begin_list(self._said)
            case entries.HEAD_MOVED:
                self._savings.is_whole = False
                self._found.branch = name = decode_json(line.data, HeadNote).branch
                if name and name not in self._found.branches:
                    self._found.branches.append(name)
            case entries.PIN:
                pin = decode_json(line.data, PinNote)
                if pin.what in ("pin", "unpin"):
                    self._marks[pin.item] = pin.what
            case entries.SETTINGS:
                self._found.error = _flaw(line.data)
                with suppress(BadInput, msgspec.ValidationError):
                    self._profile = profile(decode_json(line.data, Settings).profile)
            case entries.IMPORT:
                note = decode_json(line.data, ImportNote)
                self._found.kind, self._found.file = self._found.kind or note.kind, note.file


def own_words(content: Any) -> str:
    """Return the beginning of what a person wrote in a message; empty if a harness wrote all of it.

    `content` is a text, or a list of content blocks of a provider.
    """
    runs = (blocks for by_harness, blocks in divided(content) if not by_harness)
    return first_words("\n".join(text[:_LOOKED_AT] for blocks in runs for text in _texts(blocks)), TITLE)


def opening(said: Iterable[tuple[Any, bool]]) -> str:
    """Return the title of a conversation: the beginning of what a person wrote first, else the first command typed.

    `said`: what stands in the messages of the user, each with whether a program wrote it.
    """
    command = ""
    for content, by_program in said:
        command = command or typed_command(content)
        if not by_program and (words := own_words(content)):
            return words
    return command


def typed_command(content: Any) -> str:
    """Return the command that a person typed, if the message is a harness's note of it; else nothing."""
    blocks = [content] if isinstance(content, str) else content
    commands = (command_words(text[:_LOOKED_AT]) for text in _texts(blocks))
    return first_words(next(filter(None, commands), ""), TITLE)


def _texts(blocks: Iterable[Any]) -> Iterator[str]:
    for block in blocks:
        if isinstance(text := block.get("text") if isinstance(block, dict) else block, str):
            yield text


def _flaw(data: Raw) -> str:
    """Return why a session with these settings cannot be opened; empty if it can."""
    try:
        check_settings(decode_json(data, Settings))
    except BadInput as error:
        return str(error)
    return ""


def seconds_of(timestamp: str) -> int | None:
    """Return a time in seconds since 1970; None if it is none."""
    moment = known_milliseconds(timestamp)
    return None if moment is None else moment // 1000
