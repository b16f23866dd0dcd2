"""Counts in a log of Claude Code that grows: compactions, files that were read again, the tokens of the last call.

Each call reads only what is new, because it runs every second beside an agent.
"""

from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from sightline.imports.log_part import LogPart, mark_of
from sightline.values.decoders import decode_json, decode_mended
from sightline.values.items import Call
from sightline.view.file_reads import FileReads, file_of, shows_file

MOST_BYTES = 4 << 20  # that one call reads: of a longer log the next calls read the rest


class _Block(Struct):
    """A content block, as far as it is counted. Only the texts of results are decoded that read a file."""

    type: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    is_error: bool | None = None
    content: Raw = Raw(b'""')


class _Text(Struct):
    text: str = ""


class _Usage(Struct):
    input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0


class _Message(Struct):
    content: str | list[_Block] | None = None
    usage: _Usage | None = None
    model: str | None = None


class _Line(Struct):
    type: str = ""
    subtype: str | None = None
    isSidechain: bool | None = False  # noqa: N815 - the log's own name
    message: _Message | None = None


class Counts(Struct):
    """What was counted so far. It can be stored, and continued when the log has grown."""

    place: int = 0  # up to which the log was read
    mark: str = ""  # by which the log is known to be the same
    compactions: int = 0
    rereads: int = 0  # readings of files that showed nothing new
    input_tokens: int = 0  # of the last call, those from the cache too
    cached_tokens: int = 0
    is_behind: bool = False  # the log goes on, and the next call reads that
    reads: dict[str, list[int]] = field(default_factory=dict)  # digest of a file → checksums of its lines
    waiting: dict[str, str] = field(default_factory=dict)  # id of a call → digest of the file that it reads


def count_on(log: str | Path, counts: Counts, *, most: int = MOST_BYTES) -> Counts:
    """Return the counts with what is new in the log; those of the whole log if it is another one than before.

    Raises OSError if there is no log.
    """
    if counts.place and mark_of(log, counts.place) != counts.mark:
        counts = Counts()
    part = LogPart(log, counts.place, most=most)
    if part.end == part.start:
        return msgspec.structs.replace(counts, is_behind=False)
    reading = _Reading(counts)
    for line in part.lines():
        try:
            reading.add(decode_mended(line.data, _Line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # no JSON, or of a form that is not known here
    return reading.counts(part.end, mark_of(log, part.end), is_behind=part.is_cut)


class _Reading:
    """Lines that are added to counts."""

    def __init__(self, counts: Counts) -> None:
        self._counts = msgspec.structs.replace(counts)
        self._reads = FileReads()
        self._reads.restore(counts.waiting, counts.reads)

    def add(self, line: _Line) -> None:
        if line.type == "system" and line.subtype == "compact_boundary":
            self._counts.compactions += 1
        if line.isSidechain or line.message is None:
            return
        usage = line.message.usage
        if usage is not None and line.type == "assistant" and line.message.model != "<synthetic>":
            self._counts.cached_tokens = usage.cache_read_input_tokens or 0
            written = (usage.input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
            self._counts.input_tokens = self._counts.cached_tokens + written
        for block in line.message.content if isinstance(line.message.content, list) else ():
            if block.type == "tool_use":
                self._add_call(Call(block.id, block.name, block.input))
            elif block.type == "tool_result":
                self._add_result(block)

    def _add_call(self, call: Call) -> None:
        file = file_of(call) if shows_file(call) else ""
        self._reads.add_waiting(call.id, _digest(file) if file else "")

    def _add_result(self, block: _Block) -> None:
        if self._reads.is_reading(block.tool_use_id):
            text = _text(block.content)
            reading = self._reads.add_result(block.tool_use_id, text, failed=bool(block.is_error))
            self._counts.rereads += reading is not None and reading.is_known

    def counts(self, place: int, mark: str, *, is_behind: bool) -> Counts:
        waiting, lines = self._reads.state()
        return msgspec.structs.replace(
            self._counts, place=place, mark=mark, is_behind=is_behind, waiting=waiting, reads=lines
        )


def _digest(file: str) -> str:
    return blake2b(file.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _text(content: Raw) -> str:
    decoded = decode_json(content, str | list[_Text] | None)
    return decoded if isinstance(decoded, str) else "\n".join(part.text for part in decoded or ())
