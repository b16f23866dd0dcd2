"""The files next to a log: derived data, which may be lost, and the texts of sent windows, which may not.

A file is opened for each use and closed again, so that an idle session has only its log open.
"""

import os
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

import msgspec

from sightline.errors import Locked, Unwritable
from sightline.files.private_files import locked_in_place, read_whole, replace_whole
from sightline.log.entries import UNREADABLE
from sightline.log.stores.disk import Disk
from sightline.values.decoders import decode_json, decode_msgpack

_MAGIC = b"sightlineparts2\n"
_TOKEN = 16  # random bytes after it, which tell a file from the next one of its name: an inode is used again
_BATCH = struct.Struct("<III")  # of a batch: bytes of its directory, of its data, checksum of the directory
_STAMP = struct.Struct("<QqQ")  # what `stamp_of` returns; its checksum follows
_CHECKSUM = struct.Struct("<I")
_WASTE = 1 << 18  # bytes of replaced parts that a file may hold, besides a quarter of what is in use


def replace_stamped(path: Path, data: bytes, log: Path) -> None:
    """Write a file as `replace_whole` does, with what `read_stamped` needs to see whether its log was changed since."""
    stamp = _STAMP.pack(*stamp_of(log))
    replace_whole(path, *((data, stamp, _CHECKSUM.pack(crc32(stamp))) if data else ()))


def read_stamped(path: Path, log: Path) -> bytes:
    """The content of a file; nothing if its log was written to since without becoming longer.

    Then a line of the log was changed, or all of it was copied: whoever reads it anew finds out.
    """
    data = read_whole(path)
    end = len(data) - _STAMP.size - _CHECKSUM.size
    if end <= 0 or crc32(data[end : -_CHECKSUM.size]) != _CHECKSUM.unpack_from(data, end + _STAMP.size)[0]:
        return b""
    then, now = _STAMP.unpack_from(data, end), stamp_of(log)
    return b"" if then != now and then[0] == now[0] else data[:end]


def stamp_of(path: Path) -> tuple[int, int, int]:
    """Return the size of a file, when it was last changed, and its inode; zeros if there is none."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0, 0
    return status.st_size, status.st_mtime_ns, status.st_ino


class PartFile:
    """`Derived` data in one file, each part read by itself. Several processes may read and write it.

    A write appends a batch: a directory of names, then their data. Readers need no lock, because a batch counts only
    when all of it is there. When most of the file is parts that were replaced, it is written anew.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._head = b""  # the magic and the token of the file that was read
        self._end = 0  # how far its batches were read
        self._places: dict[str, tuple[int, int]] = {}  # name → offset and length

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        try:
            with self._lock, self._path.open("rb", buffering=0) as file:
                self._read_on(file.fileno())
                places = [(name, place) for name in names if (place := self._places.get(name))]
                parts = {name: os.pread(file.fileno(), length, offset) for name, (offset, length) in places}
        except (OSError, ValueError):  # ValueError: a NUL in the path
            return {}
        return {name: parts[name] for name, (_, length) in places if len(parts[name]) == length}

    def keep(self, parts: Mapping[str, bytes]) -> None:
        with suppress(OSError, ValueError, Locked), self._lock, locked_in_place(self._path, os.O_CREAT) as fd:
            self._read_on(fd)
            size = os.fstat(fd).st_size
            used = sum(length for name, (_, length) in self._places.items() if name not in parts)
            batch = _encode_batch(parts)
            if self._end and self._end - used < used // 4 + _WASTE:
                if size > self._end:
                    os.ftruncate(fd, self._end)  # what a killed process left
                _write_all(fd, self._end, batch)
                self._read_on(fd)
                return
            rest = self._data_of([name for name in self._places if name not in parts], fd)
            batch = _encode_batch(rest | {name: data for name, data in parts.items() if data})
            replace_whole(self._path, _MAGIC, os.urandom(_TOKEN), batch)

    def _data_of(self, names: list[str], fd: int) -> dict[str, bytes]:
        return {name: os.pread(fd, self._places[name][1], self._places[name][0]) for name in names}

    def _read_on(self, fd: int) -> None:
        """Read the directories of new batches; those of another file, or of one that was cut, from its beginning."""
        size, head = os.fstat(fd).st_size, os.pread(fd, len(_MAGIC) + _TOKEN, 0)
        if head != self._head or size < self._end:
            self._forget()
            if not head.startswith(_MAGIC) or len(head) < len(_MAGIC) + _TOKEN:
                return
            self._head, self._end = head, len(head)
        while self._end + _BATCH.size <= size:
            listed, data, checksum = _BATCH.unpack(os.pread(fd, _BATCH.size, self._end))
            first = self._end + _BATCH.size + listed
            if first + data > size:
                return
            directory = os.pread(fd, listed, self._end + _BATCH.size)
            if not listed or crc32(directory) != checksum:  # zeros have the checksum of nothing
                return  # damaged: the next write begins here
            offset = first
            for name, length in decode_msgpack(directory, list[tuple[str, int]]):
                if length:
                    self._places[name] = (offset, length)
                else:
                    self._places.pop(name, None)
                offset += length
            self._end = first + data


def _encode_batch(parts: Mapping[str, bytes]) -> bytes:
    directory = msgspec.msgpack.encode([(name, len(data)) for name, data in parts.items()])
    data = b"".join(parts.values())
    return _BATCH.pack(len(directory), len(data), crc32(directory)) + directory + data


def _write_all(fd: int, offset: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.pwrite(fd, data[written:], offset + written)


class TextFile:
    """Texts by digest, a JSON line for each. What is written is durable."""

    def __init__(self, path: Path, disk: Disk) -> None:
        self._path, self._disk, self._lock = path, disk, threading.Lock()
        self._size = 0  # how far it was read
        self._places: dict[str, tuple[int, int]] = {}  # digest → offset and length of its line

    def read(self, digests: Iterable[str]) -> dict[str, str]:
        """The texts with these digests that there are."""
        try:
            with self._lock, self._path.open("rb", buffering=0) as file:
                self._read_on(file)
                places = [(digest, self._places[digest]) for digest in digests if digest in self._places]
                lines = {digest: os.pread(file.fileno(), length, offset) for digest, (offset, length) in places}
        except OSError:
            return {}
        texts = {}
        for digest, line in lines.items():
            with suppress(*UNREADABLE):  # changed since it was read
                texts[digest] = decode_json(line, tuple[str, str])[1]
        return texts

    def read_all(self) -> Iterator[tuple[str, str]]:
        """All texts with their digests, in the order of the file."""
        with suppress(OSError), self._path.open("rb") as file:
            for line in file:
                with suppress(*UNREADABLE):
                    yield decode_json(line, tuple[str, str])

    def write(self, texts: Mapping[str, str]) -> None:
        """Write the texts that are not there yet. Raises Unwritable."""
        stored = self.read(texts)
        lines = b"".join(msgspec.json.encode(pair) + b"\n" for pair in texts.items() if pair[0] not in stored)
        if not lines:
            return
        try:
            with closing(self._disk.open(self._path)) as file, file.locked():
                size = file.size()
                torn = size and file.read(size - 1, 1) != b"\n"  # a crash left half a line: begin a new line
                file.append(b"\n" + lines if torn else lines)
                file.sync()
        except OSError as error:
            raise Unwritable(str(self._path), error.strerror or str(error)) from error

    def _read_on(self, file: BinaryIO) -> None:
        if os.fstat(file.fileno()).st_size < self._size:
            self._size = 0
            self._places.clear()
        data = os.pread(file.fileno(), os.fstat(file.fileno()).st_size - self._size, self._size)
        for line in data.splitlines(keepends=True):
            with suppress(*UNREADABLE):  # a torn line: the receipt that needed it was never written
                digest, _ = decode_json(line, tuple[str, str])
                self._places[digest] = (self._size, len(line))
            if line.endswith(b"\n"):
                self._size += len(line)
