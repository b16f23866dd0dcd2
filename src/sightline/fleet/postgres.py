"""Sessions in PostgreSQL, for any number of processes and machines: the same log, texts and derived data as in files.

An append is one statement: it moves the session's row on, if nobody else has, and adds the lines. So no process holds a
lock while it thinks, and one that stops in the middle stops nobody. If the connection is lost meanwhile, the statement
is sent again: if it was done the first time, the row has moved on, and the lines are found to be ours. Each append is
durable when it returns.
"""

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime
from random import random
from typing import TypeVar

import msgspec

from sightline.errors import DELETED, BadInput, Conflict, Locked, SessionNotFound, StoreError, Unconfirmed, Unwritable
from sightline.fleet.database import Database, Failed, Lost, Rows, Taken, Undone, tenant_deleted
from sightline.fleet.removal import remove_session
from sightline.fleet.tenant_statements import LIVE
from sightline.log.entries import UNREADABLE, decode_tip, encode
from sightline.log.stores import Line, Make, Placement, Repairs, Span, Tips, Written, advance, check_session_id, number
from sightline.values.decoders import decode_msgpack

_PAGE_LINES, _PAGE_BYTES = 1_000, 4 << 20  # of a log that are read at once
FIND = """SELECT session FROM {s}.session WHERE tenant = %s AND name = %s AND (%s::timestamptz IS NULL OR EXISTS (
        SELECT FROM {s}.tenant WHERE tenant = %s AND created = %s AND ended IS NULL
    ))"""
BEGIN = f"""WITH live AS ({LIVE}), made AS (
        INSERT INTO {{s}}.session (tenant, since, name) SELECT tenant, created, %s FROM live
        ON CONFLICT DO NOTHING RETURNING session
    ) SELECT session FROM made UNION ALL {FIND} UNION ALL SELECT NULL WHERE NOT EXISTS (SELECT FROM live)"""
_MOST_BYTES = 16 << 20  # of lines in one statement; more are several statements of one transaction
_WAIT = 30.0  # seconds for which an append is tried while others are faster
_PAUSE = 0.02  # seconds at most between two of these attempts

_TIPS = "SELECT lines, tips FROM {s}.session WHERE tenant = %s AND session = %s AND lines >= 0"  # below: deleted
_MOVE = """UPDATE {s}.session SET lines = %s, bytes = bytes + %s, tips = %b, written = clock_timestamp(),
    stored = clock_timestamp() WHERE tenant = %s AND session = %s AND lines = %s RETURNING session"""
_ADD = """INSERT INTO {s}.entry (tenant, session, seq, data)
    SELECT %s, {of}, %s + place, data FROM {given} unnest(%b::bytea[]) WITH ORDINALITY AS line (data, place)"""
_APPEND = f"WITH moved AS ({_MOVE}) {_ADD.replace('{of}', 'session').replace('{given}', 'moved,')} RETURNING seq"
_ADD = _ADD.replace("{of}", "%s").replace("{given}", "")
_READ = "SELECT seq, data FROM {s}.entry WHERE tenant = %s AND session = %s AND seq = ANY(%b::bigint[])"
_SCAN = """SELECT seq, data FROM (
        SELECT seq, data, sum(octet_length(data)) OVER (ORDER BY seq) - octet_length(data) AS before
        FROM {s}.entry WHERE tenant = %s AND session = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s
    ) AS page WHERE before < %s ORDER BY seq"""
_CACHE = "SELECT name, data FROM {s}.derived WHERE tenant = %s AND session = %s AND name = ANY(%s::text[])"
_LIVE = "SELECT tenant, session FROM {s}.session WHERE tenant = %s AND session = %s AND lines >= 0 FOR KEY SHARE"
_KEEP = f"""WITH live AS ({_LIVE}), dropped AS (
        DELETE FROM {{s}}.derived WHERE tenant = %s AND session = %s AND name = ANY(%s::text[])
    ) INSERT INTO {{s}}.derived (tenant, session, name, data)
    SELECT tenant, session, name, data FROM live, unnest(%s::text[], %b::bytea[]) AS part (name, data)
    ON CONFLICT (tenant, session, name) DO UPDATE SET data = excluded.data"""
_TEXTS = "SELECT digest, data FROM {s}.content WHERE tenant = %s AND session = %s AND digest = ANY(%s::text[])"
_ALL_TEXTS = "SELECT digest, data FROM {s}.content WHERE tenant = %s AND session = %s ORDER BY number"
_KEEP_TEXTS = f"""WITH live AS ({_LIVE.replace("KEY SHARE", "NO KEY UPDATE")}), added AS (
        INSERT INTO {{s}}.content (tenant, session, digest, data)
        SELECT tenant, session, digest, data FROM live, unnest(%s::text[], %b::bytea[]) AS part (digest, data)
        ON CONFLICT DO NOTHING RETURNING octet_length(data) AS size
    ), counted AS (
        UPDATE {{s}}.session SET texts = texts + size FROM live, (SELECT sum(size) AS size FROM added) AS total
        WHERE session.tenant = live.tenant AND session.session = live.session AND size > 0
    ) SELECT session FROM live"""
_LISTED = """SELECT name, bytes, written FROM {s}.session WHERE tenant = %s AND lines > 0 AND name ^@ %s
    AND (NOT name ^@ '_window.' OR %s::text ^@ '_window.') ORDER BY written DESC, session DESC"""
_LOOK = "SELECT bytes, written FROM {s}.session WHERE tenant = %s AND name = %s AND lines > 0"
_CONTAINING = """SELECT name FROM unnest(%s::text[]) WITH ORDINALITY AS asked (name, place)
    JOIN {s}.session USING (name) WHERE tenant = %s AND EXISTS (
        SELECT FROM {s}.entry WHERE entry.tenant = session.tenant AND entry.session = session.session
        AND position(%b::bytea IN data) > 0
    ) ORDER BY place LIMIT 1"""
_HAS = f"{FIND} AND lines > 0"
_DATE = "UPDATE {s}.session SET written = %s WHERE tenant = %s AND name = %s AND lines > 0 RETURNING session"
logger = logging.getLogger("sightline")
T = TypeVar("T")

LAST_LINE = """SELECT coalesce(max(seq), 0), coalesce(sum(octet_length(data)), 0)::bigint FROM {s}.entry
    WHERE tenant = %s AND session = %s"""
MEND = """UPDATE {s}.session SET lines = %s, bytes = %s, tips = %b
    WHERE tenant = %s AND session = %s AND lines = %s RETURNING session"""
_AT_ONCE = 64  # lines from the end that are read at once: the last entry of a branch is among the last ones


class PostgresStore:
    """The `Store` of one session. An offset is the number of a line, from 0. The handle holds no connection."""

    def __init__(self, database: Database, session_id: str, key: int | None = None) -> None:
        self.session_id, self.tips, self.repairs = session_id, Tips(), Repairs()
        self._database, self._key = database, key  # the key tells a session from a later one of the same id
        self._tenant, self._where = database.address.tenant, database.address.shown
        self._lock = threading.RLock()

    # ------------------------------------------------------------------ the log

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:
        with self._lock:
            self._begin()
            end = time.monotonic() + _WAIT
            for attempt in itertools.count():
                first, tips = self.tips.size, self.tips.copy()
                try:
                    entries = number(make, branch, expected_head, tips)
                except Conflict:
                    self._read_tips()
                    head = self.tips.heads.get(branch)
                    if self.tips.size == first and last_head(self.read_many, first, branch) == head:
                        raise
                    if self.tips.size == first:  # what the row names last was damaged: nobody could go on from it
                        self._mend(first)
                    continue
                lines = [encode(entry) for entry in entries]
                tips.size = first + len(lines)
                if not lines or self._write(first, lines, tips):
                    break
                if time.monotonic() > end:
                    raise Locked(f"session {self.session_id!r} in {self._where}", _WAIT, "other writers of it")
                if attempt:  # the first time this handle has only not read on
                    time.sleep(random() * _PAUSE)
                self._read_tips()
            self.tips = tips
        numbered = enumerate(zip(entries, lines, strict=True), start=first)
        return [Placement(entry, Span(at, len(line))) for at, (entry, line) in numbered]

    def _write(self, first: int, lines: list[bytes], tips: Tips) -> bool:
        """Write lines after the first so many. False: there are others already. Raises Unwritable, Unconfirmed."""
        is_unknown, end = False, self._database.end_of_patience()
        while True:
            try:
                done = self._send(first, lines, tips)
                break
            except Undone:  # others write to this session: as if they had been earlier
                done = False
                break
            except Taken:  # the row is older than the lines
                self._mend(first)
                return False
            except Failed as error:
                raise Unwritable(self._where, str(error)) from error
            except Lost as error:
                is_unknown = is_unknown or error.sent
                if time.monotonic() >= end:
                    raise self._unwritten(is_unknown, error.why) from error
                self._database.pause()
        if done or not is_unknown:
            return done
        try:
            return self.read_many([Span(first, 0)]) == lines[:1]  # it was done before the connection was lost
        except StoreError as error:
            raise Unconfirmed(self._where, str(error)) from error

    def _unwritten(self, is_unknown: bool, why: str) -> StoreError:
        return Unconfirmed(self._where, why) if is_unknown else Unwritable(self._where, why)

    def _send(self, first: int, lines: list[bytes], tips: Tips) -> bool:
        """Move the session's row on and add lines, in one transaction. False: it has other lines already."""
        size, key = sum(map(len, lines)), (self._tenant, self._key)
        moved = (tips.size, size, msgspec.msgpack.encode(tips), *key, first)
        if size <= _MOST_BYTES:
            sql = self._database.sql(_APPEND)
            return bool(self._database.run(sql, (*moved, self._tenant, first, lines)))
        add = self._database.sql(_ADD)
        with self._database.connection() as connection, connection.transaction():
            if not connection.execute(self._database.sql(_MOVE), moved).fetchall():
                return False
            for start, piece in _pieces(lines):
                connection.execute(add, (*key, first + start, piece))
        return True

    def _begin(self) -> None:
        """Make the session's row, if this handle has none yet. Without lines it is not listed."""
        while self._key is None:  # again, if another process has just made it: this statement did not see that
            keys = [key for (key,) in self._change(BEGIN, begin_values(self._database, self.session_id))]
            if None in keys:
                raise Unwritable(self._where, tenant_deleted(self._tenant))
            self._key = keys[0] if keys else None

    def _find(self) -> int | None:
        """The key of the session; None if nothing was written to it yet."""
        if self._key is None:
            keys = self._read(FIND, find_values(self._database, self.session_id))
            self._key = keys[0][0] if keys else None
        return self._key

    def _read_tips(self) -> None:
        """Read what a writer must know. Raises Unwritable if the session was deleted."""
        if not self._read_row():
            raise self._deleted()

    def _read_row(self) -> bool:
        """Read the session's row into `tips`. False: it is there no longer."""
        rows = self._read(_TIPS, (self._tenant, self._key))
        for lines, data in rows:
            if (tips := fitting_tips(lines, data)) is not None:
                self.tips = tips
            else:
                self._mend(lines)
        return bool(rows)

    def _mend(self, lines: int) -> None:
        """Make what the session's row says of its lines again, if it still has so many. `tips` are of it then."""
        key = (self._tenant, self._key)
        [(last, size)] = self._read(LAST_LINE, key)
        count = max(last, lines)  # those that are missing at the end were written
        self.tips = Tips(size=count)
        self.tips = tips_of(self.raw_lines(), count)
        logger.warning("the row of session %r did not fit its lines, and is made again from them", self.session_id)
        with suppress(Unwritable):  # who may only read has read the lines
            self._change(MEND, (count, size, msgspec.msgpack.encode(self.tips), *key, lines))

    def _deleted(self) -> Unwritable:
        return Unwritable(self._where, f"session {self.session_id!r} {DELETED}")

    def read_many(self, spans: Sequence[Span]) -> list[bytes]:
        if not spans or self._find() is None:
            return [b""] * len(spans)
        seqs = sorted({span.offset + 1 for span in spans})
        lines: dict[int, bytes] = dict(self._read(_READ, (self._tenant, self._key, seqs)))
        return [lines.get(span.offset + 1, b"") for span in spans]

    def scan(self, start: int = 0) -> Iterator[Line]:
        """As promised. A line that was taken out of the database comes as an empty one, so that it is reported."""
        for line in self.raw_lines(start):
            if not line.data.isspace():
                yield line

    def raw_lines(self, start: int = 0) -> Iterator[Line]:
        end = self.tips.size
        while start < end:
            page = self._read(_SCAN, (self._tenant, self._key, start, end, _PAGE_LINES, _PAGE_BYTES))
            for seq, data in page or [(end + 1, b"")]:
                yield from (Line(Span(missing, 0), b"") for missing in range(start, seq - 1))
                if page:
                    yield Line(Span(seq - 1, len(data)), data)
                start = seq

    def refresh(self, known: Tips | None = None) -> None:  # noqa: ARG002 - the session's row has them
        with self._lock:
            if self._find() is not None and not self._read_row():
                raise SessionNotFound(self.session_id, self._where)

    # ------------------------------------------------------------------ derived data and texts

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:
        with suppress(StoreError, ValueError):  # ValueError: a name that is no text of a database
            if (wanted := list(names)) and self._find() is not None:
                return dict(self._read(_CACHE, (self._tenant, self._key, wanted)))
        return {}

    def keep(self, parts: Mapping[str, bytes]) -> None:
        dropped = [name for name, data in parts.items() if not data]
        kept = sorted((name, data) for name, data in parts.items() if data)  # so that two writers wait in one order
        with suppress(StoreError, ValueError):
            if self._find() is not None:
                key = (self._tenant, self._key)
                self._change(_KEEP, (*key, *key, dropped, [name for name, _ in kept], [data for _, data in kept]))

    def texts(self, digests: Iterable[str]) -> dict[str, str]:
        if not (wanted := list(digests)) or self._find() is None:
            return {}
        return {digest: _text(data) for digest, data in self._read(_TEXTS, (self._tenant, self._key, wanted))}

    def all_texts(self) -> Iterable[tuple[str, str]]:
        rows = self._read(_ALL_TEXTS, (self._tenant, self._key)) if self._find() is not None else []
        return [(digest, _text(data)) for digest, data in rows]

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        if not texts:
            return
        with self._lock:
            self._begin()
        data = [text.encode("utf-8", "surrogatepass") for text in texts.values()]
        if not self._change(_KEEP_TEXTS, (self._tenant, self._key, list(texts), data)):
            raise self._deleted()

    # ------------------------------------------------------------------ the handle

    def reopened(self) -> "PostgresStore":
        return PostgresStore(self._database, self.session_id, self._key)

    def sync(self) -> None:
        """Does nothing, because every append is durable."""

    def close(self) -> None:
        """Does nothing, because the connections belong to the stores."""

    def write_raw(self, lines: Sequence[bytes], tips: Tips) -> None:
        with self._lock:
            self._begin()
            first, tips = self.tips.size, tips.copy()
            tips.size = first + len(lines)
            if lines and not self._write(first, list(lines), tips):
                raise Conflict("", None, None)
            self.tips = tips

    def _read(self, sql: str, values: Sequence[object]) -> Rows:
        return self._database.read(self._database.sql(sql), values)

    def _change(self, sql: str, values: Sequence[object]) -> Rows:
        """Run a statement that may be done twice. Raises Unwritable."""
        try:
            return self._database.with_patience(lambda: self._database.run(self._database.sql(sql), values))
        except (Lost, Failed) as error:
            raise Unwritable(self._where, str(error)) from error


class PostgresStores:
    """The `Stores` of one tenant in one database: `PostgresStores("postgresql://user@host/name")`."""

    def __init__(self, url: str) -> None:
        """`url` as `address.read_address` reads it. It is connected to when it is first used.

        Raises BadInput if it is no address, or the extra is not installed.
        """
        self._place(Database(url))

    def _place(self, database: Database) -> None:
        self.database, self.where, self._tenant = database, database.address.shown, database.address.tenant

    @property
    def tenant(self) -> str:
        """Whose sessions these are."""
        return self._tenant

    def check(self) -> None:
        """Raises what is wrong if the database cannot be read and written."""
        self.database.check_writable()

    def for_tenant(self, tenant: str, told: str = "", since: datetime | None = None) -> "PostgresStores":
        """The sessions of another tenant, by the same connections. `close` of what is returned does nothing.

        `told` and `since` as `Database.for_tenant` has them. Raises BadInput if this is no name.
        """
        stores = copy(self)
        stores._place(self.database.for_tenant(tenant, told, since))
        return stores

    def sessions(self) -> list[str]:
        return [written.session_id for written in self.written()]

    def written(self, prefix: str = "") -> list[Written]:
        """The sessions whose ids begin so, the one written to last first. Raises StoreError.

        Logs of shared windows are no sessions: they are listed by the prefix that all of them have.
        """
        rows = self.database.read(self.database.sql(_LISTED), (self._tenant, prefix, prefix))
        return [Written(name, size, when.timestamp()) for name, size, when in rows]

    def has(self, session_id: str, *, wait: bool = True) -> bool:
        """Whether something was written to a session of this id. Without `wait` a lost database is not waited for.

        Raises BadSessionId, StoreError.
        """
        return self._key(session_id, wait=wait) is not None

    def look(self, session_id: str) -> Written:
        """The size and time of one session. Raises BadSessionId, SessionNotFound, StoreError."""
        for size, when in self.database.read(self.database.sql(_LOOK), (self._tenant, check_session_id(session_id))):
            return Written(session_id, size, when.timestamp())
        raise SessionNotFound(session_id, self.where)

    def containing(self, session_ids: Sequence[str], text: bytes) -> str:
        """The first of these sessions whose log has these bytes; empty: none has. The database looks at the lines."""
        rows = self.database.read(self.database.sql(_CONTAINING), (list(session_ids), self._tenant, text))
        return rows[0][0] if rows else ""

    def create(self, session_id: str) -> PostgresStore:
        if self.has(session_id):
            raise BadInput(f"session {session_id!r} exists already; Session.resume({session_id!r}) opens it")
        return PostgresStore(self.database, session_id)

    def open(self, session_id: str) -> PostgresStore:
        if (key := self._key(session_id)) is None:
            raise SessionNotFound(session_id, self.where)
        return PostgresStore(self.database, session_id, key)

    def date(self, session_id: str, seconds: float) -> None:
        """Have a session count as written to at this time, in seconds since 1970. Raises SessionNotFound."""
        values = (datetime.fromtimestamp(seconds, UTC), self._tenant, check_session_id(session_id))
        if not self._changed(lambda: self.database.run(self.database.sql(_DATE), values)):
            raise SessionNotFound(session_id, self.where)

    def delete(self, session_id: str) -> None:
        """Delete a session with everything beside its log. Raises BadSessionId, SessionNotFound, StoreError."""
        if not self.has(session_id):
            raise SessionNotFound(session_id, self.where)
        self._changed(lambda: remove_session(self.database, session_id))

    def close(self) -> None:
        """Close all connections, unless others share them. A second call does nothing."""
        self.database.close()

    def _changed(self, act: Callable[[], T]) -> T:
        """Do what may be done twice. Raises Unwritable."""
        try:
            return self.database.with_patience(act)
        except (Lost, Failed) as error:
            raise Unwritable(self.where, str(error)) from error

    def _key(self, session_id: str, *, wait: bool = True) -> int | None:
        sql, values = self.database.sql(_HAS), find_values(self.database, check_session_id(session_id))
        return next((key for (key,) in self.database.read(sql, values, wait=wait)), None)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _pieces(lines: Sequence[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Lines in pieces that are sent at once, each with the number of lines before it."""
    start, size = 0, 0
    for at, line in enumerate(lines):
        if size and size + len(line) > _MOST_BYTES:
            yield start, list(lines[start:at])
            start, size = at, 0
        size += len(line)
    yield start, list(lines[start:])


def find_values(database: Database, session_id: str) -> tuple[object, ...]:
    """The values of `FIND`."""
    tenant, since = database.address.tenant, database.address.since
    return tenant, session_id, since, tenant, since


def begin_values(database: Database, session_id: str) -> tuple[object, ...]:
    """The values of `BEGIN`. It returns None instead of a key if nothing may be begun, and no row to be asked again."""
    tenant, since = database.address.tenant, database.address.since
    return tenant, since, session_id, *find_values(database, session_id)


def fitting_tips(lines: int, data: bytes) -> Tips | None:
    """What a row says of so many lines; None if that is damaged, or of another number of lines."""
    if not lines:
        return Tips()
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        tips = decode_msgpack(data, Tips)
        return tips if tips.size == lines else None
    return None


def last_head(read: Callable[[Sequence[Span]], list[bytes]], count: int, branch: str) -> str | None:
    """The last conversation entry on a branch that can be read, of so many lines; None if there is none."""
    for end in range(count, 0, -_AT_ONCE):
        for line in reversed(read([Span(at, 0) for at in range(max(end - _AT_ONCE, 0), end)])):
            with suppress(*UNREADABLE):
                tip = decode_tip(line)
                if tip.in_conversation and tip.branch == branch:
                    return tip.uuid
    return None


def tips_of(lines: Iterable[Line], count: int) -> Tips:
    """What a row must say of these lines. Lines that cannot be read have their numbers, too."""
    tips = Tips(size=count)
    for line in lines:
        with suppress(*UNREADABLE):
            advance(tips, decode_tip(line.data))
        tips.seq = max(tips.seq, line.span.offset + 1)
    return tips
