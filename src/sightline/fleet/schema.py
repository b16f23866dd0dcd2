"""The tables of the PostgreSQL store: made when they are missing, brought forward by migrations, refused if newer.

Each migration is a file of `migrations`, in which `{schema}` stands for the name of the schema. Everything is below one
schema of the database. Every table has the tenant in its key, and row-level security compares it with the setting
`sightline.tenant`, which each connection has: a statement that forgets its WHERE sees no other tenant's rows. It guards
against our own mistakes, not against somebody who can log in to the database, because whoever can do that can also
change the setting. Every table that grows has the session in its key, so that it can be divided by a hash of the
session. There are no foreign keys to a session: it is deleted under the lock of its row, and what is written beside it
takes a share of that lock. Sessions and saved code have one to their tenant: while it has any, its row cannot be
deleted, and without its row there can be none, whatever a slow transaction does.

A later migration that changes rows must lift the security first (`NO FORCE ROW LEVEL SECURITY`) and put it back: it is
forced on the owner of the tables too, who would otherwise change the rows of one tenant only.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.fleet.errors import NewerTables

if TYPE_CHECKING:
    from psycopg import Connection

_FOLDER = Path(__file__).parent / "migrations"
MIGRATIONS = tuple((_FOLDER / f"{number}.sql").read_text("utf-8") for number in (1, 2, 3))


def migrate(connection: "Connection[Any]", schema: str, migrations: tuple[str, ...] = MIGRATIONS) -> None:
    """Make the tables, or bring them to this version. One process does it, others wait. Needs no rights if it is done.

    Raises NewerTables if a newer version of Sightline has changed them.
    """
    if _version(connection, schema) == len(migrations):
        return
    with connection.transaction():
        connection.execute("SET LOCAL statement_timeout = 0")  # a migration of many rows takes as long as it takes
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"sightline.{schema}",))
        done = _version(connection, schema)
        if done > len(migrations):
            raise NewerTables(schema, done, len(migrations))
        if not done:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}".encode())
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {quoted(schema)}.migration (version int PRIMARY KEY)".encode()
            )
        for number, migration in enumerate(migrations[done:], start=done + 1):
            connection.execute(migration.format(schema=quoted(schema)).encode())
            connection.execute(f"INSERT INTO {quoted(schema)}.migration VALUES ({number})".encode())


def _version(connection: "Connection[Any]", schema: str) -> int:
    """The number of the last migration that was done; 0 if there are no tables."""
    table = "SELECT FROM pg_tables WHERE schemaname = %s AND tablename = 'migration'"
    if not connection.execute(table, (schema,)).fetchall():
        return 0
    [(version,)] = connection.execute(
        f"SELECT coalesce(max(version), 0) FROM {quoted(schema)}.migration".encode()
    ).fetchall()
    return int(version)


def quoted(schema: str) -> str:
    """The name of a schema as statements have it, because it may be a word of SQL."""
    return f'"{schema}"'
