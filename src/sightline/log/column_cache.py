"""The column cache: the columns of a log as derived data, so that opening a session does not parse its entries.

It can be lost at any time. One that does not fit its log is not used; one that is behind is extended.
"""

import struct
from array import array
from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

import msgspec
from msgspec import Struct

from sightline import shorten
from sightline.log.columns import CONSTRAINT, SEARCHED, UNMADE, Column, State, Timeline
from sightline.log.stores import Span, Store, Tips
from sightline.values.decoders import decode_json

FORMAT = 26
NAME = "columns"
_LEAD = struct.Struct("<QI")  # length and checksum of the header, which in turn has those of the columns


class _Header(Struct):
    format: tuple[int, int]  # of this cache, and of the renditions that were counted
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
    size: int  # bytes of the cache
    last: Span  # the place of the last line


def save(store: Store, timeline: Timeline, last: Span) -> int:
    """Have the store keep the cache of a timeline that knows everything up to `store.tips`. Return its bytes.

    `last` is the place of the last line.
    """
    columns = timeline.columns()
    sizes = [
        (name, str(column.typecode), len(column) * column.itemsize, crc32(column)) for name, column in columns.items()
    ]
    header = msgspec.json.encode(
        _Header(
            (FORMAT, shorten.levels_format()), store.tips, (last.offset, last.length), line_hash(store, last), sizes,
            State(*(getattr(timeline, name) for name in State.__struct_fields__)),
        )
    )  # fmt: skip
    lead = _LEAD.pack(len(header), crc32(header))
    data = b"".join([lead, header, *(column.tobytes() for column in columns.values())])
    store.keep({NAME: data})
    return len(data)


def load(store: Store) -> Index | None:
    """The cache of this log; None if there is none that fits it."""
    try:
        data = store.cache([NAME]).get(NAME)
        return _read(memoryview(data), store) if data else None
    except (ValueError, struct.error, msgspec.DecodeError):
        return None


def adopt_sizes(store: Store, timeline: Timeline) -> None:
    """Take over what the cache has measured of a timeline's items, if another process has kept one since."""
    if (cached := load(store)) is None:
        return
    rows = range(min(len(timeline), len(cached.columns["seq"])))
    for mine, theirs in ((timeline.gist, cached.columns["gist"]), (timeline.summary, cached.columns["summary"])):
        for row in rows:
            if mine[row] == UNMADE:
                mine[row] = theirs[row]
    for row in rows:
        timeline.state[row] |= cached.columns["state"][row] & (SEARCHED | CONSTRAINT)


def discard(store: Store) -> None:
    """Have the store forget the cache."""
    store.keep({NAME: b""})


def _read(data: memoryview, store: Store) -> Index | None:
    length, checksum = _LEAD.unpack(data[: _LEAD.size])
    encoded, rest = data[_LEAD.size : _LEAD.size + length], data[_LEAD.size + length :]
    if crc32(encoded) != checksum:
        return None
    header = decode_json(encoded, _Header)
    is_known = header.format == (FORMAT, shorten.levels_format())
    if not is_known or line_hash(store, Span(*header.last_line)) != header.last_hash:
        return None
    columns = {}
    for name, typecode, size, checksum in header.columns:
        columns[name] = array(typecode)
        column, rest = rest[:size], rest[size:]
        if len(column) != size or crc32(column) != checksum:
            return None
        columns[name].frombytes(column)
    is_whole = _typecodes(columns) == _typecodes(Timeline().columns())
    return Index(header.tips, columns, header.state, len(data), Span(*header.last_line)) if is_whole else None


def _typecodes(columns: Mapping[str, Column]) -> dict[str, str]:
    return {name: column.typecode for name, column in columns.items()}


def line_hash(store: Store, span: Span) -> str:
    """The hash of a line, by which derived data know their log again: no other log has this line at this place."""
    [line] = store.read_many([span])
    return blake2b(line, digest_size=16).hexdigest()
