"""The tables of the PostgreSQL store: made when they are missing, brought forward by migrations, refused if newer.

Everything is below one schema of the database. Every table has the tenant in its key, and row-level security compares
it with the setting `sightline.tenant`, which each connection has: a statement that forgets its WHERE sees no other
tenant's rows. It guards against our own mistakes, not against somebody who can log in to the database, because whoever
can do that can also change the setting. Every table that grows has the session in its key, so that it can be divided by
a hash of the session. There are no foreign keys to a session: it is deleted under the lock of its row, and what is
written beside it takes a share of that lock. Sessions and saved code have one to their tenant: while it has any, its
row cannot be deleted, and without its row there can be none, whatever a slow transaction does.

A later migration that changes rows must lift the security first (`NO FORCE ROW LEVEL SECURITY`) and put it back: it is
forced on the owner of the tables too, who would otherwise change the rows of one tenant only.
"""

from typing import TYPE_CHECKING, Any

from sightline.fleet.errors import NewerTables

if TYPE_CHECKING:
    from psycopg import Connection

_TENANT = "tenant = current_setting('sightline.tenant', true)"
_OPERATOR = "current_setting('sightline.operator', true) = 'on'"
_DATA = ("session", "entry", "content", "derived", "code")
_GUARDED = (*_DATA, "tenant", "token", "pace", "audit")
_POLICIES = "\n".join(
    (
        *(f"ALTER TABLE {{schema}}.{table} ENABLE ROW LEVEL SECURITY;" for table in _GUARDED),
        *(f"ALTER TABLE {{schema}}.{table} FORCE ROW LEVEL SECURITY;" for table in _GUARDED),
        *(f"CREATE POLICY tenant ON {{schema}}.{table} USING ({_TENANT});" for table in (*_DATA, "pace")),
        *(f"CREATE POLICY tenant ON {{schema}}.{table} FOR SELECT USING ({_TENANT});" for table in ("tenant", "token")),
        *(
            f"CREATE POLICY operator ON {{schema}}.{table} USING ({_OPERATOR});"
            for table in ("tenant", "token", "pace")
        ),
        f"CREATE POLICY seen ON {{schema}}.audit FOR SELECT USING ({_TENANT} OR {_OPERATOR});",
        f"CREATE POLICY added ON {{schema}}.audit FOR INSERT WITH CHECK ({_TENANT} OR {_OPERATOR});",
        f"CREATE POLICY old ON {{schema}}.audit FOR DELETE USING ({_OPERATOR} AND at < now() - interval '30 days');",
    )
)

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
    # 2. Tenants, their tokens (of which only a hash is kept), the pace of their requests, and what was done (audit).
    # `session.texts` counts the bytes in `content`, so that a tenant's use is a sum over its sessions.
    # `session.stored` is when the last line came into this database: `written` may be an earlier time, of a copy or an
    # import, and sessions are not deleted for that. Those that were there before this migration came just now.
    # `session.lines` below 0 is a session that is deleted, a piece at a time: see `removal`.
    # `pace` is not logged, because it may be lost at a crash, and so a request waits for no flush. Most of its pages
    # stay free, because each request changes a row. Of `audit` nothing is changed, and only what is old is deleted.
    # A limit of 0 is none.
    """
    ALTER TABLE {schema}.session ADD COLUMN texts bigint NOT NULL DEFAULT 0,
        ADD COLUMN stored timestamptz NOT NULL DEFAULT now();
    UPDATE {schema}.session SET texts = kept.bytes FROM (
        SELECT tenant, session, sum(octet_length(data)) AS bytes FROM {schema}.content GROUP BY tenant, session
    ) AS kept WHERE session.tenant = kept.tenant AND session.session = kept.session;
    CREATE TABLE {schema}.tenant (
        tenant text COLLATE "C" PRIMARY KEY,
        created timestamptz NOT NULL DEFAULT clock_timestamp(),
        requests_per_minute int NOT NULL DEFAULT 0,
        most_bytes bigint NOT NULL DEFAULT 0,
        keep_days int NOT NULL DEFAULT 0,
        ended timestamptz
    );
    INSERT INTO {schema}.tenant (tenant)
        SELECT 'default' UNION SELECT tenant FROM {schema}.session UNION SELECT tenant FROM {schema}.code;
    CREATE TABLE {schema}.token (
        token text COLLATE "C" PRIMARY KEY,
        tenant text NOT NULL,
        name text NOT NULL,
        hash bytea NOT NULL UNIQUE,
        created timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires timestamptz,
        revoked timestamptz,
        used timestamptz
    ) WITH (fillfactor = 50);
    CREATE INDEX ON {schema}.token (tenant);
    CREATE UNLOGGED TABLE {schema}.pace (
        tenant text PRIMARY KEY,
        due timestamptz NOT NULL DEFAULT 'epoch',
        wait double precision NOT NULL DEFAULT 0,
        bytes bigint NOT NULL DEFAULT 0,
        counted timestamptz NOT NULL DEFAULT 'epoch'
    ) WITH (fillfactor = 10);
    CREATE TABLE {schema}.audit (
        number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        at timestamptz NOT NULL DEFAULT clock_timestamp(),
        tenant text NOT NULL,
        token text NOT NULL,
        action text NOT NULL,
        subject text NOT NULL,
        detail jsonb NOT NULL
    );
    CREATE INDEX ON {schema}.audit (tenant, number);
    CREATE INDEX ON {schema}.audit (at);
    """
    + _POLICIES,
    # 3. Nothing is without its tenant, see above. `since` is when the tenant was created: a later one of the same name
    # is another. Security is lifted meanwhile, because the rows of all tenants are read and changed.
    """
    ALTER TABLE {schema}.tenant NO FORCE ROW LEVEL SECURITY;
    ALTER TABLE {schema}.session NO FORCE ROW LEVEL SECURITY;
    ALTER TABLE {schema}.code NO FORCE ROW LEVEL SECURITY;
    INSERT INTO {schema}.tenant (tenant)
        SELECT 'default' UNION SELECT tenant FROM {schema}.session UNION SELECT tenant FROM {schema}.code
        ON CONFLICT DO NOTHING;
    ALTER TABLE {schema}.tenant ADD UNIQUE (tenant, created);
    ALTER TABLE {schema}.session ADD COLUMN since timestamptz;
    ALTER TABLE {schema}.code ADD COLUMN since timestamptz;
    UPDATE {schema}.session SET since = owner.created FROM {schema}.tenant AS owner
        WHERE owner.tenant = session.tenant;
    UPDATE {schema}.code SET since = owner.created FROM {schema}.tenant AS owner WHERE owner.tenant = code.tenant;
    ALTER TABLE {schema}.session ALTER COLUMN since SET NOT NULL,
        ADD FOREIGN KEY (tenant, since) REFERENCES {schema}.tenant (tenant, created);
    ALTER TABLE {schema}.code ALTER COLUMN since SET NOT NULL,
        ADD FOREIGN KEY (tenant, since) REFERENCES {schema}.tenant (tenant, created);
    ALTER TABLE {schema}.tenant FORCE ROW LEVEL SECURITY;
    ALTER TABLE {schema}.session FORCE ROW LEVEL SECURITY;
    ALTER TABLE {schema}.code FORCE ROW LEVEL SECURITY;
    """,
)


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
