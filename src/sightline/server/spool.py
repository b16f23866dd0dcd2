"""Calls that could not be logged while the database was away, on this machine's disk until they are brought in.

A folder of a server and a tenant has a folder for each process, which holds its lock while it lives: what a killed one
left is brought in by the next. A conversation is a file in it, and a call is a line: a digest, and what the call before
had not. Each is synced before the call goes on, and nobody else may read it. A lost disk loses the spool.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from hashlib import blake2b
from itertools import count
from pathlib import Path
from threading import RLock
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from sightline.errors import Locked, StoreError, Unwritable
from sightline.files.private_files import locked_in_place, make_directory, sync_directory
from sightline.follow.late_calls import LateCall
from sightline.follow.model_request import Format, Json, ModelRequest, Sender
from sightline.log.stores import PlacedStores
from sightline.log.stores.disk import OsDisk
from sightline.values.decoders import decode_json

SPOOL_BYTES = 256 * 1024 * 1024
_FOLDER, _SUFFIX = "spool", ".jsonl"
_FOR_ANSWERS = 8  # one of so many parts of the room is for answers to requests that have gone up
_PAUSE = 2.0  # seconds after an attempt that failed in which the database is not asked again
_DIGEST = 16  # bytes of a digest
_log = logging.getLogger("sightline.server")

Log = Callable[[Sequence[LateCall]], None]
"""Logs the calls of one conversation that are not in the log yet."""


class SpoolFull(StoreError):
    """There is no room for another call that is not logged."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"the spool has no room for more: {most_bytes:,} bytes wait for the database")


class Damage(StoreError):
    """A line of the spool is not as it was written."""


class _Line(Struct, omit_defaults=True):
    """A call in the spool. What is left out is as in the line before, and so are its first `same` messages."""

    format: tuple[str, str, str, str, str]
    name: str
    first: int
    opening: int
    same: int = 0
    listed: list[Raw] = []
    fields: Json | None = None
    session: str = ""
    anew: list[Raw] = []
    own_ids: dict[str, str] = {}
    reply: Json | None = None
    visible: Json | None = None
    stopped: bool = False


class _Last(NamedTuple):
    """The last call of a conversation, as far as the next line needs it."""

    messages: list[bytes]  # a digest of each
    fields: bytes  # a digest


def has_waiting(root: Path) -> bool:
    """Whether calls wait in any spool below the folder of all that is kept."""
    return next((root / _FOLDER).glob(f"*/*/*{_SUFFIX}"), None) is not None


class Spool:
    """The calls of one server and tenant that wait for their database. May be used by several threads."""

    def __init__(
        self,
        root: Path,
        stores: PlacedStores,
        most_bytes: int = SPOOL_BYTES,
        on_change: Callable[[int], None] = lambda _more: None,
    ) -> None:
        """`root`: the folder of all that is kept. `on_change` is told how many bytes more, or fewer, wait here."""
        owner = f"{stores.where}\0{stores.tenant}".encode("utf-8", "replace")
        self._home = root / _FOLDER / blake2b(owner, digest_size=12).hexdigest()
        self._stores, self.most_bytes, self.bytes, self._on_change = stores, most_bytes, 0, on_change
        self._lock, self._bringing = RLock(), RLock()
        self._own, self._held = Path(), ExitStack()  # the folder of this process, and its lock
        self._files: dict[str, Path] = {}  # of this process, by conversation
        self._last: dict[str, _Last] = {}
        self._failed_at = -_PAUSE
        self._refused: set[Path] = set()  # that could not be logged although the database was there
        self._is_full = False  # a request had no room, and nothing was brought in since
        self.refuses = False  # the last call was not kept
        self.waits = next(self._home.glob(f"*/*{_SUFFIX}"), None) is not None

    @property
    def place(self) -> str:
        """The folder, for people."""
        return str(self._home)

    def put(self, call: LateCall) -> None:
        """Keep a call. It is on the disk when this returns. Raises SpoolFull, Unwritable."""
        with self._lock:
            self.refuses = True
            try:
                self._put(call)
            except (OSError, Locked) as error:
                raise Unwritable(self.place, str(error)) from error
            self.refuses = False

    def _put(self, call: LateCall) -> None:
        self._take_folder()
        request, last = call.request, self._last.get(call.request.name, _Last([], b""))
        line, current = _encode(call, last)
        is_request = call.reply is None
        most = self.most_bytes - (self.most_bytes // _FOR_ANSWERS if is_request else 0)
        if self.bytes + len(line) > most or (is_request and self._is_full):
            self._is_full = True
            raise SpoolFull(self.most_bytes)
        path = self._files.get(request.name) or self._own / f"{time.time_ns()}-{request.name}{_SUFFIX}"
        with closing(OsDisk().open(path)) as file:
            size = file.size()
            try:
                file.append(line)
                file.sync()
            except OSError:
                with suppress(OSError):
                    file.truncate(size)
                raise
        self._files[request.name], self._last[request.name] = path, current
        self._count(len(line))
        self.waits = True

    def note_logged(self) -> None:
        """Take more again, since the database is there."""
        with self._lock:
            if not self.waits:
                self._is_full = self.refuses = False

    def bring_in(self, log: Log) -> None:
        """Have everything logged that waits, the oldest conversation first. What is logged is no longer kept here.

        A conversation that cannot be logged whole although the database is there stays, is told, and is tried again by
        the next process.

        Raises:
            StoreError: the database is away.
        """
        with self._bringing:
            if time.monotonic() - self._failed_at < _PAUSE:
                raise StoreError("the database is away")
            try:
                self._stores.check()
                for path in self._waiting():
                    self._bring_in(path, log)
            except StoreError:
                self._failed_at = time.monotonic()
                raise

    def _bring_in(self, path: Path, log: Log) -> None:
        size, calls = path.stat().st_size, list[LateCall]()
        try:
            try:
                calls.extend(_read(path))
            finally:  # those before a damaged line, too
                log(calls)
        except Exception as error:
            self._stores.check()  # it raises if the database went away meanwhile
            self._refused.add(path)
            why = str(error) if isinstance(error, StoreError) else type(error).__name__
            _log.warning("%s cannot be logged, and is kept: %s", path, why)
            self._look()
            return
        with self._lock:
            if path.stat().st_size > size:  # another call of it came meanwhile: it comes again, and is known
                return
            path.unlink()
            name = next((name for name, own in self._files.items() if own == path), "")
            self._files.pop(name, None)
            self._last.pop(name, None)
            if path.parent == self._own:
                self._count(-size)
            self._is_full = self.refuses = False
        self._look()

    def _look(self) -> None:
        with self._lock:
            self.waits = any(path not in self._refused for path in self._home.glob(f"*/*{_SUFFIX}"))

    def _waiting(self) -> Iterator[Path]:
        """Yield the files that wait: those of this process, and those of processes that are gone."""
        for folder in sorted(path for path in self._home.glob("*") if path.is_dir()):
            with ExitStack() as stack:
                try:
                    if folder != self._own:
                        stack.enter_context(locked_in_place(_lock_of(folder), os.O_CREAT, wait=0))
                except Locked:  # its process lives, and brings it in itself
                    continue
                yield from sorted(path for path in folder.glob(f"*{_SUFFIX}") if path not in self._refused)

    def _take_folder(self) -> None:
        """Take the first folder that no living process has."""
        if self._own != Path():
            return
        make_directory(self._home)
        for number in count():
            folder = self._home / str(number)
            try:
                self._held.enter_context(locked_in_place(_lock_of(folder), os.O_CREAT, wait=0))
            except Locked:
                continue
            make_directory(folder)
            sync_directory(self._home)
            self._own = folder
            self._count(sum(path.stat().st_size for path in folder.glob(f"*{_SUFFIX}")))
            return

    def _count(self, more: int) -> None:
        self.bytes += more
        self._on_change(more)

    def close(self) -> None:
        """Let others bring in what waits."""
        with self._lock:
            self._held.close()
            self._count(-self.bytes)
            self._own, self._files, self._last = Path(), {}, {}


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".lock")


# ---------------------------------------------------------------------- lines


def _encode(call: LateCall, last: _Last) -> tuple[bytes, _Last]:
    request = call.request
    fields = msgspec.json.encode(request.fields)
    current = _Last([_digest(message) for message in request.listed], _digest(fields))
    pairs = zip(last.messages, current.messages, strict=False)
    most = min(len(last.messages), len(current.messages))
    same = next((at for at, (one, other) in enumerate(pairs) if one != other), most)
    ids = {request.kept_upstream, str((call.visible or {}).get("id") or ""), str((call.reply or {}).get("id") or "")}
    line = _Line(
        request.format, request.name, request.first, request.opening, same, [*map(_one_line, request.listed[same:])],
        None if current.fields == last.fields else request.fields, request.session, [*map(_one_line, request.anew)],
        {kept: request.own_id(kept) for kept in sorted(ids) if kept} if request.format.wire == "responses" else {},
        call.reply, call.visible if call.visible != call.reply else None, call.stopped,
    )  # fmt: skip
    data = msgspec.json.encode(line)
    return _digest(data).hex().encode() + b" " + data + b"\n", current


def _one_line(message: bytes) -> Raw:
    return Raw(message if b"\n" not in message else msgspec.json.format(message, indent=-1))


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST).digest()


def _read(path: Path) -> Iterator[LateCall]:
    """Yield the calls of a file. The end of a line that was not synced is passed over: its call did not go on.

    Raises:
        Damage: a line is not as it was written.
    """
    listed: list[bytes] = []
    fields: Json = {}
    with path.open("rb") as file:
        for number, data in enumerate(file, 1):
            if not data.endswith(b"\n"):
                return
            digest, _, text = data[:-1].partition(b" ")
            if digest != _digest(text).hex().encode():
                raise Damage(f"line {number} of {path} is not as it was written")
            line = decode_json(text, _Line)
            listed = [*listed[: line.same], *map(bytes, line.listed)]
            fields = line.fields if line.fields is not None else fields
            request = ModelRequest(
                Format(*line.format), b"", fields, listed, line.first, line.opening, line.session, line.name,
                sender=Sender(own_ids=line.own_ids), anew=[bytes(message) for message in line.anew],
            )  # fmt: skip
            yield LateCall(request, line.reply, line.visible or line.reply, line.stopped)
