"""A schema with tenants for the tests, and its superuser."""

from contextlib import closing
from typing import Any

from postgres_server import PostgresServer
from sightline import PostgresStores
from sightline.fleet.code_store import DatabaseCodeStore
from sightline.fleet.tenants import Caller, Limits, Tenants, token_hash
from sightline.testing import Ticking
from sightline.testing.stores import append, said

TABLES = ("session", "entry", "content", "derived", "code", "pace", "tenant", "token")


class Place:
    """A schema, the tenants in it, and the superuser, who plays with time."""

    def __init__(self, server: PostgresServer) -> None:
        self.url, self._admin = server.url(), server.connect()
        self.stores = PostgresStores(self.url)
        self.tenants = Tenants(self.stores.database)

    def admin(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement that no role of ours may."""
        cursor = self._admin.execute(self.stores.database.sql(sql), values)
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """Close all connections."""
        self.stores.close()
        self._admin.close()

    def caller(self, name: str = "acme", **limits: int) -> Caller:
        """A new tenant, and who has a token of it."""
        self.tenants.create(name, limits=Limits(**limits))
        found = self.tenants.find(token_hash(self.tenants.create_token(name)[1]))
        assert found is not None
        return found

    def fill(self, name: str, sessions: int = 1, lines: int = 1) -> PostgresStores:
        """Sessions s0, s1 … of a tenant, with texts, derived data and code."""
        stores = self.stores.for_tenant(name)
        for number in range(sessions):
            with closing(stores.create(f"s{number}")) as store:
                append(store, *(said() for _ in range(lines)))
                store.keep({"columns": b"x"})
                store.keep_texts({"d": "text", "e": "texts"})
        DatabaseCodeStore(stores.database, clock=Ticking()).store("code_a", "x = 1\n")
        return stores

    def rows(self, name: str) -> dict[str, int]:
        """How many rows each table has of a tenant."""
        count = "SELECT count(*) FROM {{s}}.{} WHERE tenant = %s"
        return {table: self.admin(count.format(table), name)[0][0] for table in TABLES}
