"""`python -m benchmarks.scaling.short_entries`: how large a database is for entries of several sizes, as its log.

A row has costs of its own, and PostgreSQL compresses only rows of two kilobytes or more. So short entries take more
than the log, and long ones less. Conversations are made of words, and the tables are packed before they are measured.
"""

from contextlib import closing

from tests.postgres_server import PostgresServer

from benchmarks.measure import bytes_text, times_text
from sightline import PostgresStores, Session

WORDS = (5, 20, 60, 300, 1_500)  # of an entry
ENTRIES = 3_000
_TABLES = ("session", "entry", "content", "derived")


def measure(server: PostgresServer, words: int) -> tuple[float, float]:
    """Return the bytes of an entry in the log, and in the tables with their indexes."""
    url = server.url()
    schema = url.partition("schema=")[2]
    with closing(PostgresStores(url)) as stores:
        with Session.new(stores=stores) as session:
            for number in range(0, ENTRIES, 2):
                session.user(_text(number, words))
                session.assistant(_text(number + 1, words))
        with server.connect() as admin:
            admin.execute("VACUUM FULL")
            log = admin.execute(f"SELECT sum(length(data) + 1) FROM {schema}.entry".encode()).fetchone()
            sizes = [
                admin.execute("SELECT pg_total_relation_size(%s)", (f"{schema}.{name}",)).fetchone() for name in _TABLES
            ]
    assert log is not None
    return float(str(log[0])) / ENTRIES, sum(float(str(size[0])) for size in sizes if size) / ENTRIES


def _text(number: int, words: int) -> str:
    return " ".join(f"w{(number * 7_919 + at * 104_729) % 9_973}" for at in range(words))


def main() -> None:
    """Print a table."""
    server = PostgresServer.make()
    try:
        print(
            "| an entry in the log | in the database, with indexes and derived data | of the log |\n| --- | --- | --- |"
        )
        for words in WORDS:
            log, tables = measure(server, words)
            print(f"| {bytes_text(round(log))} | {bytes_text(round(tables))} | {times_text(tables / log)} |")
    finally:
        server.delete()


if __name__ == "__main__":
    main()
