"""A pooler between us and the database: one that shares sessions among connections is refused."""

from contextlib import closing
from typing import Any

import psycopg
import pytest

from postgres_server import PostgresServer
from sightline import PostgresStores
from sightline.errors import StoreError

CONNECT = psycopg.connect


class Pooled:
    """A connection as a pooler gives it: the number of its process is the pooler's own."""

    backend_pid = 1

    def __init__(self, real: "psycopg.Connection[Any]", is_shared: bool) -> None:
        self._real, self._is_shared, self.info = real, is_shared, self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __enter__(self) -> "Pooled":
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_shared:
            self._real.close()


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_a_pooler_must_keep_the_session_of_a_connection(
    postgres: PostgresServer, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In transaction mode the tenant of one connection would be that of another, and answers would be wrong."""
    url = postgres.url()
    with closing(CONNECT(f"postgresql://tests@/postgres?host={postgres.folder}", autocommit=True)) as shared:

        def connect(conninfo: str, **options: Any) -> Pooled:
            is_shared = mode == "transaction"
            return Pooled(shared if is_shared else CONNECT(conninfo, **options), is_shared)

        monkeypatch.setattr(psycopg, "connect", connect)
        with closing(PostgresStores(url)) as stores:
            if mode == "session":
                assert stores.sessions() == []
                return
            with pytest.raises(StoreError, match="pool_mode to session"):
                stores.sessions()
