"""The tables of procrastinate, the library that keeps our queue of jobs: made and brought forward with our own.

They lie in the schema of our tables, so that one schema is granted, backed up and dropped. The library brings its own
migrations. The table `work_migration` says which of them were done. Whoever makes our tables makes these too, if the
library is installed, because the role that serves may not be allowed to.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.fleet.errors import NewerQueue, WorkRefused
from sightline.fleet.schema import quoted

if TYPE_CHECKING:
    from psycopg import Connection

_LIBRARY = "procrastinate"
_RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")
# What our role may not use. The sequence of an identity column (`deptype` i) needs no right.
_FORBIDDEN = f"""SELECT current_user::text, array_agg(DISTINCT name ORDER BY name) FROM (
        SELECT relname::text AS name FROM pg_class, unnest(%s::text[]) AS wanted
        WHERE relnamespace = to_regnamespace(%s)
        AND relname ^@ '{_LIBRARY}_' AND relkind IN ('r', 'p') AND NOT has_table_privilege(pg_class.oid, wanted)
        UNION ALL SELECT relname::text FROM pg_class WHERE relnamespace = to_regnamespace(%s)
        AND relname ^@ '{_LIBRARY}_' AND CASE relkind WHEN 'S' THEN NOT has_sequence_privilege(oid, 'USAGE') END
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'i')
        UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = to_regnamespace(%s)
        AND proname ^@ '{_LIBRARY}_' AND NOT has_function_privilege(oid, 'EXECUTE')
    ) AS forbidden"""


def is_installed() -> bool:
    """Whether the library is there. It is not loaded."""
    return find_spec(_LIBRARY) is not None


def library_migrations() -> dict[str, str]:
    """The migrations of the installed library by their names, in the order in which they are done."""
    return {file.stem: file.read_text("utf-8") for file in _files()}


def _files() -> list[Path]:
    """The files of the migrations. The library is not loaded, because most commands need nothing else of it."""
    spec = find_spec(_LIBRARY)
    [folder] = spec.submodule_search_locations if spec is not None and spec.submodule_search_locations else [""]
    return sorted((Path(folder) / "sql" / "migrations").glob("*.sql"))


def migrate(connection: "Connection[Any]", schema: str, migrations: dict[str, str] | None = None) -> None:
    """Make the tables of the queue, or bring them to the installed version. One process does it, others wait.

    Raises NewerQueue if a newer version of the library has changed them, WorkRefused if this role may not do it.
    """
    from psycopg.errors import InsufficientPrivilege

    try:
        _migrate(connection, schema, migrations)
    except InsufficientPrivilege as error:
        raise WorkRefused(str(error).strip().splitlines()[0]) from error


def _migrate(connection: "Connection[Any]", schema: str, migrations: dict[str, str] | None) -> None:
    newest = max(migrations) if migrations else _files()[-1].stem
    if _last_done(connection, schema) == newest:
        return
    statements = library_migrations() if migrations is None else migrations
    with connection.transaction():
        connection.execute("SET LOCAL statement_timeout = 0")  # a migration of many rows takes as long as it takes
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"sightline.work.{schema}",))
        done = _last_done(connection, schema)
        if done > newest:
            raise NewerQueue(schema, done)
        connection.execute(f"SET LOCAL search_path TO {quoted(schema)}".encode())
        if not done:
            from procrastinate.schema import SchemaManager

            connection.execute("CREATE TABLE work_migration (name text PRIMARY KEY)")
            connection.execute(SchemaManager.get_schema().encode())
            connection.execute("INSERT INTO work_migration VALUES (%s)", (newest,))
        for name in [name for name in statements if done and name > done]:
            connection.execute(statements[name].encode())
            connection.execute("INSERT INTO work_migration VALUES (%s)", (name,))


def check_rights(connection: "Connection[Any]", schema: str) -> None:
    """Raise WorkRefused if the role of a connection may not use the queue."""
    name = quoted(schema)
    [(role, forbidden)] = connection.execute(_FORBIDDEN.encode(), (list(_RIGHTS), name, name, name)).fetchall()
    if forbidden:
        raise WorkRefused(f"{role} has no rights on {', '.join(forbidden[:3])}{' …' if forbidden[3:] else ''}")


def _last_done(connection: "Connection[Any]", schema: str) -> str:
    """The name of the last migration that was done; empty if there are no tables."""
    table = "SELECT FROM pg_tables WHERE schemaname = %s AND tablename = 'work_migration'"
    if not connection.execute(table, (schema,)).fetchall():
        return ""
    [(name,)] = connection.execute(
        f"SELECT coalesce(max(name COLLATE \"C\"), '') FROM {quoted(schema)}.work_migration".encode()
    ).fetchall()
    return str(name)
