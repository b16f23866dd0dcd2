"""What is between us and a PostgreSQL database: nobody who answers, or a pooler that cannot be used."""

from typing import TYPE_CHECKING, Any

from sightline.errors import StoreError

if TYPE_CHECKING:
    import psycopg

_BACKEND = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"


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


def check_own(connection: "psycopg.Connection[Any]", conninfo: str) -> None:
    """Raise StoreError if others get the session of this connection between its statements, as from some poolers.

    The settings of one, such as its tenant, would be those of another then, and answers would be wrong.
    """
    import psycopg

    mine = connection.execute(_BACKEND).fetchall()
    if mine and mine[0][0] == connection.info.backend_pid:
        return  # there is no pooler: it would have told a number of its own
    with psycopg.connect(conninfo) as other:  # whose transaction keeps what it gets
        if other.execute(_BACKEND).fetchall() != mine and connection.execute(_BACKEND).fetchall() == mine:
            return
    raise StoreError(
        "a pooler before the database shares a session among connections, so that answers could be wrong; "
        "set its pool_mode to session, or connect without it"
    )
