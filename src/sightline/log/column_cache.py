"""The column cache: the columns of a log in a file, so that opening a session does not parse its entries.

It can be deleted at any time. One that does not fit its log is not used; one that is behind is extended.
"""

import os
import struct
from array import array
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zlib import crc32

import msgspec
from msgspec import Struct

from sightline.log.columns import Column, State, Timeline
from sightline.log.stores import Span, Tips
from sightline.shorten import levels_format

FORMAT = 14
SUFFIX = ".idx"
_LEAD = struct.Struct("<QI")  # length and checksum of the header, which in turn has those of the columns


class _Header(Struct):
    format: tuple[int, int]  # of this file, and of the renditions that were counted
    tips: Tips
    last_line: tuple[int, int]
    last_hash: str
    columns: list[tuple[str, str, int, int]]  # name, typecode, bytes, checksum
    state: State


class Index(NamedTuple):
    """The columns and state of a log, up to `tips`."""

    tips: Tips
    columns: dict[str, Column]
    state: State


def save(path: Path, log: Path, timeline: Timeline, tips: Tips, last: Span) -> None:
    """Write the cache, whole or not at all. If the disk refuses, nothing is raised, because it can be made again."""
    columns = timeline.columns()
    sizes = [
        (name, str(column.typecode), len(column) * column.itemsize, crc32(column)) for name, column in columns.items()
    ]
    header = msgspec.json.encode(
        _Header(
            (FORMAT, levels_format()),
            tips,
            (last.offset, last.length),
            _line_hash(log, last),
            sizes,
            timeline.saved_state(),
        )
    )
    fresh = path.with_suffix(f".idx{os.getpid()}")
    try:
        with open(fresh, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:  # its owner's only
            file.write(_LEAD.pack(len(header), crc32(header)) + header)
            for column in columns.values():
                column.tofile(file)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)


def load(path: Path, log: Path) -> Index | None:
    """The cache of this log; None if there is none that fits it."""
    try:
        with path.open("rb") as file:
            return _read(file, log)
    except (OSError, ValueError, struct.error, msgspec.DecodeError):
        return None


def _read(file: BinaryIO, log: Path) -> Index | None:
    length, checksum = _LEAD.unpack(file.read(_LEAD.size))
    encoded = file.read(min(length, os.fstat(file.fileno()).st_size))
    if crc32(encoded) != checksum:
        return None
    header = msgspec.json.decode(encoded, type=_Header)
    is_known = header.format == (FORMAT, levels_format()) and header.tips.size <= log.stat().st_size
    if not is_known or _line_hash(log, Span(*header.last_line)) != header.last_hash:
        return None
    columns = {}
    for name, typecode, size, checksum in header.columns:
        columns[name] = array(typecode)
        data = file.read(size)
        if len(data) != size or crc32(data) != checksum:
            return None
        columns[name].frombytes(data)
    is_whole = _typecodes(columns) == _typecodes(Timeline().columns())
    return Index(header.tips, columns, header.state) if is_whole else None


def _typecodes(columns: Mapping[str, Column]) -> dict[str, str]:
    return {name: column.typecode for name, column in columns.items()}


def _line_hash(log: Path, span: Span) -> str:
    with log.open("rb") as file:
        file.seek(span.offset)
        return blake2b(file.read(span.length), digest_size=16).hexdigest()
