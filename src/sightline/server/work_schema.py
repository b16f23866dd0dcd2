"""The tables of procrastinate, the library that keeps our queue of jobs: made and brought forward as our own are.

They lie in the schema of our tables, so that one schema is granted, backed up and dropped. The library brings its own
migrations. The table `work_migration` says which of them were done.
"""

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sightline.errors import StoreError
from sightline.log.stores.postgres_schema import quoted

if TYPE_CHECKING:
    from psycopg import Connection


def library_migrations() -> dict[str, str]:
    """The migrations of the installed library by their names, in the order in which they are done."""
    folder = files("procrastinate.sql") / "migrations"
    found = {each.name.removesuffix(".sql"): each for each in folder.iterdir() if each.name.endswith(".sql")}
    return {name: found[name].read_text("utf-8") for name in sorted(found)}


def migrate(connection: "Connection[Any]", schema: str, migrations: dict[str, str] | None = None) -> None:
    """Make the tables of the queue, or bring them to the installed version. One process does it, others wait.

    Raises StoreError if a newer version of the library has changed them.
    """
    known = library_migrations() if migrations is None else migrations
    if _last_done(connection, schema) == max(known):
        return
    with connection.transaction():
        connection.execute("SET LOCAL statement_timeout = 0")  # a migration of many rows takes as long as it takes
        connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"sightline.work.{schema}",))
        done = _last_done(connection, schema)
        if done > max(known):
            raise StoreError(
                f"the queue of background work in schema {schema!r} is of a newer version of procrastinate ({done}), "
                "and nothing was changed: pip install -U 'sightline[postgres]'"
            )
        connection.execute(f"SET LOCAL search_path TO {quoted(schema)}".encode())
        if not done:
            from procrastinate.schema import SchemaManager

            connection.execute("CREATE TABLE work_migration (name text PRIMARY KEY)")
            connection.execute(SchemaManager.get_schema().encode())
            connection.execute("INSERT INTO work_migration VALUES (%s)", (max(known),))
        for name in [name for name in known if done and name > done]:
            connection.execute(known[name].encode())
            connection.execute("INSERT INTO work_migration VALUES (%s)", (name,))


def _last_done(connection: "Connection[Any]", schema: str) -> str:
    """The name of the last migration that was done; empty if there are no tables."""
    table = "SELECT FROM pg_tables WHERE schemaname = %s AND tablename = 'work_migration'"
    if not connection.execute(table, (schema,)).fetchall():
        return ""
    [(name,)] = connection.execute(
        f"SELECT coalesce(max(name COLLATE \"C\"), '') FROM {quoted(schema)}.work_migration".encode()
    ).fetchall()
    return str(name)
