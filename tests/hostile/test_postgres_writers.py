"""Writers of one session in PostgreSQL that are killed, stopped or in each other's way: nothing is lost or doubled."""

import os
import signal
import time
from contextlib import closing
from random import Random

import psycopg
import pytest
from stored import Acks, check_entries, check_payloads, child, heard
from tests.conftest import Tried
from writer import BUDGET, insist

from postgres_server import PostgresServer
from sightline import PostgresStores, Session, Unwritable
from sightline.log.entries import decode
from sightline.testing import WordCounter

KILLS, SOAK_KILLS = 3, 60


@pytest.fixture
def stores(stores: PostgresStores) -> PostgresStores:
    """A session in it that has begun."""
    with Session.new(stores=stores, session_id="shared", token_counter=WordCounter()) as session:
        session.user("Begin.")
    return stores


def check(stores: PostgresStores, acks: Acks) -> None:
    """The log is whole, everything acknowledged is in it once, and the session goes on."""
    assert not [ack["error"] for ack in acks if "error" in ack]
    with closing(stores.open("shared")) as store:
        store.refresh()
        check_entries([decode(line.data) for line in store.scan()], acks)
    check_payloads(stores.open("shared"))
    with Session.resume("shared", stores=stores, token_counter=WordCounter()) as session:
        session.user("Go on.")
        assert session.compose(BUDGET).hash
        session.reply("I do.")


@pytest.mark.slow
@pytest.mark.parametrize("kills", [KILLS, pytest.param(SOAK_KILLS, marks=pytest.mark.soak)])
def test_a_writer_may_be_killed(url: str, stores: PostgresStores, kills: int, tried: Tried) -> None:
    """At any moment of a turn, life after life of one session."""
    acks: Acks = []
    for seed in range(kills):
        random, talker = Random(seed), child("talk", url, "shared", seed)
        assert talker.stdout is not None
        lines = [talker.stdout.readline() for _ in range(random.randrange(1, 15))]
        time.sleep(random.random() / 250)
        talker.kill()
        lines += talker.stdout.readlines()
        talker.communicate()
        acks += heard(lines)
        check(stores, acks)
    assert acks
    tried("kills of writers", kills)


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.soak)])
def test_writers_are_in_each_others_way(url: str, stores: PostgresStores, count: int, tried: Tried) -> None:
    """Two processes write to one branch at once, and one of them is stopped for a while: the other goes on."""
    writers = [child("share", url, "shared", f"w{number}", count) for number in range(2)]
    assert writers[0].stdout is not None
    first = [writers[0].stdout.readline() for _ in range(5)]
    os.kill(writers[0].pid, signal.SIGSTOP)
    said = writers[1].communicate()[0].splitlines(keepends=True)
    os.kill(writers[0].pid, signal.SIGCONT)
    said += [*first, *writers[0].communicate()[0].splitlines(keepends=True)]
    assert [writer.returncode for writer in writers] == [0, 0]
    acks = [ack for ack in heard(said) if "ready" not in ack]
    assert len([ack for ack in acks if "text" in ack]) == 2 * count
    check(stores, acks)
    tried("appends of writers at once", 2 * count)


def test_a_writer_that_stops_inside_a_transaction_is_ended(url: str, stores: PostgresStores) -> None:
    """It holds the session's row. The database ends it after a while; who waited goes on."""
    limit = "options=-c%20idle_in_transaction_session_timeout%3D300ms"
    with closing(PostgresStores(f"{url}&{limit}")) as short, closing(short.database.connect()) as stopped:
        table = f"{short.database.address.schema}.session"
        stopped.execute("BEGIN")
        stopped.execute(f"UPDATE {table} SET lines = lines + 1 WHERE name = 'shared'".encode())
        with Session.resume("shared", stores=stores, token_counter=WordCounter()) as session:
            session.user("I waited.")
        with pytest.raises(psycopg.Error):
            stopped.execute("COMMIT")
    with Session.resume("shared", stores=stores, token_counter=WordCounter()) as session:
        assert [session.items.text(item.id) for item in session.items] == ["Begin.", "I waited."]
    check(stores, [])


@pytest.mark.soak
def test_a_disk_that_is_full_keeps_what_was_stored(tried: Tried) -> None:
    """The append that does not fit is refused whole; everything else can be read; it goes on when there is space."""
    server = PostgresServer.make(synchronous_commit="on")
    try:
        server.stop()
        server.start(most_bytes=24 << 20)
        random, written = Random(1), list[str]()
        with closing(PostgresStores(server.url("full"))) as stores:
            session = Session.new(stores=stores, session_id="s", token_counter=WordCounter())

            def fill() -> None:
                while True:
                    written.append(random.randbytes(500_000).hex())
                    session.user(written[-1])

            with pytest.raises(Unwritable, match="make room"):
                fill()
            refused = written.pop()
            assert [session.items.text(item.id) for item in session.items] == written
            with pytest.raises(Unwritable):
                session.user(refused)
            server.stop()
            server.start()
            session.user(refused)
            session.close()
            with Session.resume("s", stores=stores, token_counter=WordCounter()) as again:
                assert [again.items.text(item.id) for item in again.items] == [*written, refused]
        tried("full disks", 1)
    finally:
        server.delete()


@pytest.mark.slow
def test_payloads_of_alternating_writers_can_all_be_made_again(stores: PostgresStores) -> None:
    """Two programs that take turns, sweeps included, leave a log in which every payload is the same again."""
    writers = [Session.resume("shared", stores=stores, token_counter=WordCounter()) for _ in range(2)]
    for turn in range(8):
        writer = writers[turn % 2]
        insist(writer, lambda turn=turn, writer=writer: writer.user(f"turn {turn} " + "word " * 300))  # type: ignore[misc]
        writer.compose(BUDGET)
        insist(writer, lambda writer=writer: writer.reply("answer " * 50))  # type: ignore[misc]
    check(stores, [])
    for writer in writers:
        writer.close()
