"""The tables of the PostgreSQL store: made when they are missing, brought forward by migrations, refused if newer.

Everything is below one schema of the database. Every table has the tenant in its key, so that row-level security can
compare it with the setting `sightline.tenant`, which each connection has. Every table that grows has the session in its
key, so that it can be divided by a hash of the session. There are no foreign keys: a session is deleted under the lock
of its row, and what is written beside it takes a share of that lock.
"""

from typing import TYPE_CHECKING, Any

from sightline.errors import StoreError

if TYPE_CHECKING:
    from psycopg import Connection

MIGRATIONS: tuple[str, ...] = (
    # 1. `session.lines` counts the lines of a log. `tips` are what a writer must know of it, see `Tips`. Half of each
    # page of `session` stays free, because each append changes a row: it then finds room beside the old one.
    # `entry.seq` is the number of a line. It is the entry's own seq, unless other programs wrote to the log.
    # Names of sessions are compared as bytes, so that their index finds those that begin alike.
    # Content is bytea: text may hold no NUL and no lone surrogate, and jsonb would not give back the same bytes.
    """
    CREATE TABLE {schema}.session (
        tenant text NOT NULL DEFAULT current_setting('sightline.tenant'),
        session bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
        name text COLLATE "C" NOT NULL,
        lines bigint NOT NULL DEFAULT 0,
        bytes bigint NOT NULL DEFAULT 0,
        tips bytea NOT NULL DEFAULT '',
        written timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (tenant, session),
        UNIQUE (tenant, name)
    ) WITH (fillfactor = 50);
    CREATE TABLE {schema}.entry (
        tenant text NOT NULL DEFAULT current_setting('sightline.tenant'),
        session bigint NOT NULL,
        seq bigint NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (tenant, session, seq)
    );
    CREATE TABLE {schema}.content (
        tenant text NOT NULL DEFAULT current_setting('sightline.tenant'),
        session bigint NOT NULL,
        digest text NOT NULL,
        number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
        data bytea NOT NULL,
        PRIMARY KEY (tenant, session, digest)
    );
    CREATE TABLE {schema}.derived (
        tenant text NOT NULL DEFAULT current_setting('sightline.tenant'),
        session bigint NOT NULL,
        name text NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (tenant, session, name)
    );
    CREATE TABLE {schema}.code (
        tenant text NOT NULL DEFAULT current_setting('sightline.tenant'),
        code text COLLATE "C" NOT NULL,
        version int NOT NULL,
        number bigint NOT NULL,
        session text NOT NULL,
        facts bytea NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (tenant, code, version)
    );
    CREATE INDEX ON {schema}.code (tenant, session);
    """,
)


def migrate(connection: "Connection[Any]", schema: str, migrations: tuple[str, ...] = MIGRATIONS) -> None:
    """Make the tables, or bring them to this version. One process does it, others wait. Needs no rights if it is done.

    Raises StoreError if a newer version of Sightline has changed them.
    """
    if _version(connection, schema) == len(migrations):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"sightline.{schema}",))
        done = _version(connection, schema)
        if done > len(migrations):
            raise StoreError(
                f"the tables in schema {schema!r} have version {done}, and this version of Sightline knows "
                f"{len(migrations)}; nothing was changed: install the newest version to use them"
            )
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
