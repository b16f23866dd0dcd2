"""What is between us and a PostgreSQL database: nobody who answers, or a pooler that cannot be used."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psycopg


def is_away(conninfo: str, error: "psycopg.Error") -> bool:
    """Whether a connection failed because nobody was there, and not because the database refused it."""
    import psycopg

    if isinstance(error, psycopg.errors.ConnectionTimeout):
        return True
    if psycopg.pq.PGconn.ping(conninfo.encode()) != psycopg.pq.Ping.OK:
        return True
    try:  # without what the address asks for, such as one of several that can be written
        psycopg.connect(conninfo, target_session_attrs="any").close()
    except psycopg.Error:
        return False
    return True
