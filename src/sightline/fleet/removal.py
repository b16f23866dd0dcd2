"""Deletes sessions from the database, a piece at a time, so that no statement and no transaction takes long.

A session that is deleted gets a name that no session may have, and fewer than 0 lines. From then on nobody finds it,
and whoever has it open is told. Then its rows go in pieces, and its own row last. Whoever is stopped in between leaves
pieces, and the next one who deletes anything of the tenant goes on with them.
"""

from typing import TYPE_CHECKING, Any

from sightline.fleet.database import Database

if TYPE_CHECKING:
    from psycopg import Connection

_PIECE = 1_000  # rows that are deleted in one transaction
_AT_ONCE = 100  # sessions that are marked before their rows are deleted

# A name that begins so is no session id, because it has a space. The range is what an index finds.
_MARK = "SET name = 'deleted ' || session, lines = -1 - lines"
_MARKED = "tenant = %s AND name >= 'deleted ' AND name < 'deleted!'"
_MARK_ONE = f"UPDATE {{s}}.session {_MARK} WHERE tenant = %s AND name = %s AND lines >= 0"
_OLD = "lines >= 0 AND (%s::float8 IS NULL OR greatest(written, stored) < now() - %s::float8 * interval '1 day')"
_CHOOSE = f"SELECT session FROM {{s}}.session WHERE tenant = %s AND session > %s AND {_OLD} ORDER BY session LIMIT %s"
_MARK_MANY = f"UPDATE {{s}}.session {_MARK} WHERE tenant = %s AND session = ANY(%s) AND {_OLD} RETURNING session"
_NEXT = f"SELECT session, lines FROM {{s}}.session WHERE {_MARKED} ORDER BY name LIMIT 1 FOR UPDATE SKIP LOCKED"
_LINES = "DELETE FROM {s}.entry WHERE tenant = %s AND session = %s AND seq > %s AND seq <= %s"
_FEWER = "UPDATE {s}.session SET lines = %s WHERE tenant = %s AND session = %s"
_TEXTS = """DELETE FROM {s}.content WHERE tenant = %s AND session = %s AND digest = ANY(ARRAY(
        SELECT digest FROM {s}.content WHERE tenant = %s AND session = %s LIMIT %s
    ))"""
_DERIVED = "DELETE FROM {s}.derived WHERE tenant = %s AND session = %s"
_ROW = "DELETE FROM {s}.session WHERE tenant = %s AND session = %s"


def remove_session(database: Database, session_id: str) -> None:
    """Delete the session of this id, if there is one. May be done twice. Raises Lost, Failed."""
    database.run(database.sql(_MARK_ONE), (database.address.tenant, session_id))
    sweep(database)


def remove_sessions(database: Database, *, days: float | None = None) -> int:
    """Delete all sessions of the tenant, or those that nothing was added to for so many days. Returns how many.

    Raises Lost, Failed.
    """
    tenant, last, count = database.address.tenant, 0, 0
    sweep(database)
    while chosen := database.run(database.sql(_CHOOSE), (tenant, last, days, days, _AT_ONCE)):
        keys = [key for (key,) in chosen]
        last = keys[-1]
        count += len(
            database.run(database.sql(_MARK_MANY), (tenant, keys, days, days))
        )  # less those written to meanwhile
        sweep(database)
    return count


def sweep(database: Database) -> None:
    """Delete the rows of sessions that are marked, but for those that another one deletes now. Raises Lost, Failed."""
    while _delete_piece(database):
        pass


def _delete_piece(database: Database) -> bool:
    """Delete some rows of one marked session, under the lock of its own row. False: there is none."""
    with database.connection() as connection, connection.transaction():
        for session, lines in connection.execute(database.sql(_NEXT), (database.address.tenant,)).fetchall():
            _delete_rows(database, connection, session, -1 - lines)
            return True
    return False


def _delete_rows(database: Database, connection: "Connection[Any]", session: int, lines: int) -> None:
    key = (database.address.tenant, session)

    def run(sql: str, *values: Any) -> int:
        return connection.execute(database.sql(sql), values).rowcount

    first = max(0, lines - _PIECE)  # from the end, so that rows just deleted are not looked at again
    run(_LINES, *key, first, lines)
    if first:
        run(_FEWER, -1 - first, *key)
    elif run(_TEXTS, *key, *key, _PIECE) < _PIECE:
        run(_DERIVED, *key)
        run(_ROW, *key)
