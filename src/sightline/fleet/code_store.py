"""Code that the model has written, in the database that has the sessions: every process sees the same."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from sightline.documents.code.rebuild import Rebuilt
from sightline.documents.code.store import Codes, CodeStore, MakeSaved
from sightline.documents.code.versions import Saved, check_code_id
from sightline.errors import StoreError, UnknownCode, Unwritable
from sightline.fleet.database import Database, Failed, Lost, Rows, tenant_deleted
from sightline.fleet.postgres import PostgresStores
from sightline.fleet.tenant_statements import LIVE
from sightline.log.stores import Stores
from sightline.values.clock import Clock
from sightline.values.decoders import decode_msgpack

CODE = "code"  # the folder of saved code, beside the sessions of a folder
_VERSIONS = "SELECT facts FROM {s}.code WHERE tenant = %s AND code = %s ORDER BY version"
_ALL = """SELECT facts FROM (
        SELECT DISTINCT ON (code) code, number, facts FROM {s}.code AS newest WHERE tenant = %s AND (
            %s::text IS NULL OR EXISTS (
                SELECT FROM {s}.code WHERE tenant = newest.tenant AND code = newest.code AND session = %s
            )
        ) ORDER BY code, version DESC
    ) AS found ORDER BY number, code"""
_LAST = "SELECT coalesce(max(number), 0) FROM {s}.code WHERE tenant = %s"
_READ = "SELECT data FROM {s}.code WHERE tenant = %s AND code = %s AND version = %s"
_ADD = f"""WITH live AS ({LIVE}), added AS (
        INSERT INTO {{s}}.code (tenant, since, code, version, number, session, facts, data)
        SELECT tenant, created, %s, %s, %s, %s, %b, %b FROM live ON CONFLICT DO NOTHING RETURNING version
    ) SELECT version FROM added UNION ALL SELECT NULL WHERE NOT EXISTS (SELECT FROM live)"""
_DELETE = "DELETE FROM {s}.code WHERE tenant = %s AND code = %s RETURNING version"


def code_store(stores: Stores, folder: str | Path, *, clock: Clock, locale: str = "en") -> CodeStore:
    """The saved code beside these sessions: in their database, else in this folder."""
    if isinstance(stores, PostgresStores):
        return DatabaseCodeStore(stores.database, clock=clock, locale=locale)
    return CodeStore(folder, clock=clock, locale=locale)


class DatabaseCodeStore(CodeStore):
    """The code of one tenant in a PostgreSQL. A version is a row, so there is nothing to repair."""

    def __init__(self, database: Database, *, clock: Clock, locale: str = "en") -> None:
        self.locale, self._clock, self.rebuilt = locale, clock, None
        self._database, self._tenant = database, database.address.tenant

    def read(self, code_id: str, version: int | None = None) -> str:
        """Return the code of a version, of the newest without a number. Raises BadCodeId, UnknownCode, StoreError."""
        saved = self.find(code_id, version)
        for (data,) in self._read(_READ, code_id, saved.version):
            return str(data.decode())
        raise UnknownCode(code_id, [])  # deleted since

    def versions(self, code_id: str) -> Codes:
        """Return all versions of a code, the first one first. Raises BadCodeId, UnknownCode."""
        check_code_id(code_id)
        if not (versions := self._versions(code_id)):
            raise self._unknown(code_id)
        return versions

    def list(self, session_id: str | None = None) -> Codes:
        """Return every code, or those of which a session stored any version, in the order they were first stored."""
        return _decoded(self._read(_ALL, session_id, session_id))

    def place_of(self, saved: Saved) -> str:
        """Return where a version is, for people."""
        return f"{self._database.address.shown} ({saved.code_id}, {saved.version})"

    def delete(self, code_id: str) -> None:
        """Delete a code with all its versions. Raises BadCodeId, UnknownCode, Unwritable."""
        check_code_id(code_id)
        if not self._change(_DELETE, code_id):
            raise self._unknown(code_id)

    def rebuild(self) -> Rebuilt:
        """There is no index to rebuild."""
        return Rebuilt()

    def put(self, code_id: str, make: MakeSaved, data: bytes) -> tuple[Saved | None, Saved]:
        """Save the next version that `make` makes of the one before, and return both. Raises Unwritable."""
        while True:
            versions = self._versions(code_id)
            before = versions[-1] if versions else None
            [(last,)] = self._read(_LAST)
            saved = make(before, before.number if before else last + 1)
            facts = msgspec.msgpack.encode(saved)
            added = self._add(code_id, saved.version, saved.number, saved.session_id, facts, data)
            if added or saved in self._versions(code_id):  # added before the connection was lost
                return before, saved

    def _add(self, *values: Any) -> bool:
        """Add a version. False: there is one of its number. Raises Unwritable."""
        added = self._run(_ADD, (self._tenant, self._database.address.since, *values))
        if (None,) in added:
            raise Unwritable(self._database.address.shown, tenant_deleted(self._tenant))
        return bool(added)

    def _versions(self, code_id: str) -> Codes:
        return _decoded(self._read(_VERSIONS, code_id))

    def _read(self, sql: str, *values: Any) -> Rows:
        return self._database.read(self._database.sql(sql), (self._tenant, *values))

    def _change(self, sql: str, *values: Any) -> Rows:
        return self._run(sql, (self._tenant, *values))

    def _run(self, sql: str, values: Sequence[Any]) -> Rows:
        statement = self._database.sql(sql)
        try:
            return self._database.with_patience(lambda: self._database.run(statement, values))
        except (Lost, Failed) as error:
            raise Unwritable(self._database.address.shown, str(error)) from error


def _decoded(rows: Sequence[Sequence[Any]]) -> Codes:
    try:
        return [decode_msgpack(facts, Saved) for (facts,) in rows]
    except msgspec.DecodeError as error:
        raise StoreError(f"the table of saved code holds what this version did not write: {error}") from error
