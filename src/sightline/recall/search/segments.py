"""Segments of the search index: postings of runs of rows, as derived data of a store.

A segment is many parts, each with the terms of one hash, so that a search reads little. Its name says which rows it
covers, and its content follows from them: two processes that index the same rows write the same parts.
"""

import struct
import sys
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import NamedTuple
from zlib import crc32

import msgspec

from sightline.log.stores import Derived
from sightline.recall.search.postings import MAX_SPAN, ROW, Postings, RecentRows, unpack
from sightline.values.decoders import decode_msgpack

FORMAT = f"9-{sys.byteorder}"  # arrays are stored in the machine's byte order; data of any other format are not used
MAX_MERGED = 1 << 18  # postings of the largest segment made by merging: one merge takes at most about 0.3 s
_PART = 1 << 10  # postings in a part, some 6 KB
_HEAD = "search/head"
_CHECKSUM = 4  # bytes
_SIZES = struct.Struct("<II")
_NAMES = _CHECKSUM + _SIZES.size  # where the terms of a part begin


class Segment(NamedTuple):
    """A run of rows."""

    base: int  # its first row
    end: int  # the row after its last one
    rows: int
    length: int  # of the texts of all its rows together, see `words`
    postings: int
    mark: str  # of its last row

    @property
    def parts(self) -> int:
        """How many parts it has: a power of two."""
        return 1 << (self.postings // _PART).bit_length()

    def part(self, number: int) -> str:
        """The name of a part."""
        return f"search/{self.base}-{self.end}/{number}"


class Head(NamedTuple):
    """What there is: the segments, and the first row that none of them knows."""

    upto: int
    segments: tuple[Segment, ...]
    mark: str  # of the last row before `upto`


NOTHING = Head(0, (), "")
Mark = Callable[[int], str | None]
"""Tells the row of a log from the same row of any other log: a log that ends otherwise was restored or made anew."""


class StoredSegments:
    """The segments of one log in its store. Data of another `key`, or of rows with another `mark`, are not used."""

    def __init__(self, derived: Derived, key: str, mark: Mark) -> None:
        self._derived, self._seed = derived, crc32(f"{FORMAT}\0{key}".encode(errors="replace"))
        self._mark = mark

    def head(self) -> Head:
        """Return what is stored; nothing if that is damaged or of another key."""
        data = self._derived.cache([_HEAD]).get(_HEAD, b"")
        if not _is_sealed(data, self._seed):
            return NOTHING
        return decode_msgpack(memoryview(data)[_CHECKSUM:], Head)

    def postings(self, segments: Sequence[Segment], wanted: Sequence[str]) -> list[dict[str, Postings]] | None:
        """Return the postings of these terms in each of these segments; None if a part is lost or damaged."""
        hashes = {term: _hash(term) for term in wanted}
        names: list[dict[str, str]] = []  # of each segment: term → the part that has it
        for segment in segments:
            mask = segment.parts - 1
            names.append({term: segment.part(hashed & mask) for term, hashed in hashes.items()})
        data = self._read(zip(segments, map(dict.values, names), strict=True))
        if data is None:
            return None
        return [
            {term: postings for term, name in own.items() if (postings := _find(data[name], term)) is not None}
            for own in names
        ]

    def write(self, head: Head, recent: RecentRows, upto: int) -> Head | None:
        """Add a segment of the recent rows, merged with the last ones that are no larger. Return what there is then.

        None, if one of those turned out damaged.
        """
        kept, older, size, last = list(head.segments), list[Segment](), recent.count, max(recent.lengths)
        while kept and kept[-1].postings <= size <= MAX_MERGED - kept[-1].postings and last - kept[-1].base < MAX_SPAN:
            older.insert(0, kept.pop())
            size += older[0].postings
        new = Segment(
            base=older[0].base if older else recent.base,
            end=last + 1,
            rows=len(recent.lengths) + sum(segment.rows for segment in older),
            length=sum(recent.lengths.values()) + sum(segment.length for segment in older),
            postings=size,
            mark=self._mark(last) or "",
        )
        merged: defaultdict[str, array[int]] = defaultdict(partial(array, "I"))
        for segment in older:
            data = self._read([(segment, _part_names(segment))])
            if data is None:
                return None
            for term, postings in chain.from_iterable(map(_decode, data.values())):
                merged[term] += postings.pack(segment.base - new.base)
        for term, packed in recent.packed.items() if older else ():
            merged[term] += array("I", [posting + (recent.base - new.base << ROW) for posting in packed])
        stored = Head(upto, (*kept, new), self._mark(upto - 1) or "")
        dropped = dict.fromkeys((name for segment in older for name in _part_names(segment)), b"")
        parts = self._encode(new, merged or recent.packed)
        self._derived.keep({**dropped, **parts, _HEAD: _seal(msgspec.msgpack.encode(stored), self._seed)})
        return stored

    def note(self, head: Head, upto: int) -> Head:
        """Store which rows were seen, without a new segment. Return what there is then."""
        seen = Head(upto, head.segments, self._mark(upto - 1) or "")
        self._derived.keep({_HEAD: _seal(msgspec.msgpack.encode(seen), self._seed)})
        return seen

    def clear(self, head: Head) -> None:
        """Delete these segments."""
        names = (name for segment in head.segments for name in _part_names(segment))
        self._derived.keep(dict.fromkeys((_HEAD, *names), b""))

    def _encode(self, segment: Segment, postings: "Mapping[str, array[int]]") -> dict[str, bytes]:
        parts: list[dict[bytes, array[int]]] = [{} for _ in range(segment.parts)]
        mask = segment.parts - 1
        for term, packed in postings.items():
            name = term.encode()
            parts[crc32(name) & mask][name] = packed
        seed = self._seed_of(segment.mark)
        return {segment.part(number): _seal(_encode(terms), seed) for number, terms in enumerate(parts)}

    def _read(self, parts: Iterable[tuple[Segment, Iterable[str]]]) -> dict[str, bytes] | None:
        """The parts of segments by their names, in this order; None if one is lost, damaged or another's."""
        seeds: dict[str, int] = {}
        for segment, names in parts:
            seeds |= dict.fromkeys(names, self._seed_of(segment.mark))
        data = self._derived.cache(seeds)
        is_whole = data.keys() >= seeds.keys() and all(_is_sealed(data[name], seed) for name, seed in seeds.items())
        return {name: data[name] for name in seeds} if is_whole else None

    def _seed_of(self, mark: str) -> int:
        """What the checksums of the parts of a segment begin with, by its mark."""
        return crc32(mark.encode(), self._seed)


def _seal(data: bytes, seed: int) -> bytes:
    return _checksum(data, seed) + data


def _is_sealed(data: bytes, seed: int) -> bool:
    return _checksum(memoryview(data)[_CHECKSUM:], seed) == data[:_CHECKSUM]


def _checksum(data: bytes | memoryview, seed: int) -> bytes:
    return crc32(data, seed).to_bytes(_CHECKSUM, "little")


# A part, after its checksum: the bytes and number of its terms, the terms with a newline before and after each of them,
# where the postings of each term end, the rows of all postings, and their classes. So one term is found without
# decoding the others.


def _encode(terms: "Mapping[bytes, array[int]]") -> bytes:
    names = b"\n".join((b"", *terms, b""))  # no term has a newline
    ends = struct.pack(f"<{len(terms)}I", *accumulate(map(len, terms.values())))
    rows, classes = unpack(b"".join(terms.values()))
    return b"".join((_SIZES.pack(len(names), len(terms)), names, ends, rows.tobytes(), classes))


def _find(data: bytes, term: str) -> Postings | None:
    """The postings of one term in a part."""
    length, terms = _SIZES.unpack_from(data, _CHECKSUM)
    last = _NAMES + length
    at = data.find(b"\n%b\n" % term.encode(), _NAMES, last)
    if at < 0:
        return None
    number = data.count(b"\n", _NAMES, at)
    begin, end = _SIZES.unpack_from(data, last + 4 * number - 4)
    return _postings(data, last + 4 * terms, begin if number else 0, end)


def _decode(data: bytes) -> Iterator[tuple[str, Postings]]:
    """All terms of a part with their postings."""
    length, count = _SIZES.unpack_from(data, _CHECKSUM)
    last = _NAMES + length
    ends = struct.unpack_from(f"<{count}I", data, last)
    for term, begin, end in zip(data[_NAMES:last].split(b"\n")[1:], (0, *ends), ends, strict=False):
        yield term.decode(), _postings(data, last + 4 * count, begin, end)


def _postings(data: bytes, first: int, begin: int, end: int) -> Postings:
    """Some of the postings of a part, whose rows begin at `first`."""
    classes = first + (len(data) - first) // 3 * 2
    return Postings(array("H", data[first + 2 * begin : first + 2 * end]), data[classes + begin : classes + end])


def _hash(term: str) -> int:
    return crc32(term.encode())


def _part_names(segment: Segment) -> Iterable[str]:
    return map(segment.part, range(segment.parts))
