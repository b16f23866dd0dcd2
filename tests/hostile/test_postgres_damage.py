"""Somebody else changes rows of a session in PostgreSQL, or clocks are wrong: it opens, says so, and goes on."""

import logging
from collections.abc import Iterator
from contextlib import closing
from random import Random

import msgspec
import pytest
from damaged_log import DatabaseSample
from test_damage import go_on, silence, survive
from tests.conftest import Tried
from writer import insist

from postgres_server import PostgresServer
from sightline import PostgresStores, Session
from sightline.fleet.postgres import tips_of
from sightline.log.stores import Line, Span
from sightline.testing import Ticking, WordCounter

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sample(postgres: PostgresServer) -> Iterator[DatabaseSample]:
    """A session with everything in it."""
    made = DatabaseSample(postgres)
    yield made
    made.placed.close()


def texts(session: Session) -> list[str]:
    """Every text of a session."""
    return [session.items.text(item.id) for item in session.items]


@pytest.mark.parametrize("where", ["first", "middle", "last", "half"])
def test_rows_that_are_gone_are_reported(sample: DatabaseSample, where: str, tried: Tried) -> None:
    """What is left can be read, the places of the lost lines are named, and nothing new takes them."""
    count = len(sample.lines)
    gone = {"first": [1], "middle": [count // 2], "last": [count], "half": list(range(2, count, 2))}[where]
    sample.write(sample.lines)
    sample.run("DELETE FROM {s}.entry WHERE seq = ANY(%s)", gone)
    left = [line for at, line in enumerate(sample.lines, start=1) if at not in gone]
    with silence():
        with sample.resumed() as session:
            assert session.repairs.damaged == [seq - 1 for seq in gone]
        survive(sample, left)
    assert sample.run("SELECT seq FROM {s}.entry WHERE seq = ANY(%s)", gone) == []
    assert sample.run("SELECT count(*) FROM {s}.entry WHERE seq > %s", count) > [(5,)]
    tried("damaged lines", len(gone))


WRONG_ROWS = {
    "tips of garbage": ("tips = %s", b"\xff\x00garbage"),
    "no tips": ("tips = %s", b""),
    "tips of another type": ("tips = %s", b"\x93\x01\x02\x03"),
    "fewer lines": ("lines = lines - %s", 7),
    "one line": ("lines = %s", 1),
    "more bytes": ("bytes = %s", 1 << 60),
}


@pytest.mark.parametrize("case", WRONG_ROWS)
@pytest.mark.parametrize("indexed", [True, False])
def test_a_row_that_does_not_fit_its_lines_is_mended(sample: DatabaseSample, case: str, indexed: bool) -> None:
    """The lines are the log: all of them are read, and what is new follows them, in a handle that was open too."""
    change, value = WRONG_ROWS[case]
    sample.write(sample.lines, indexed=indexed)
    with silence():
        with sample.resumed() as whole:
            expected = texts(whole)
            sample.run(f"UPDATE {{s}}.session SET {change}", value)
            whole.user("I was here before.")
            whole.reply("You were.")
        with sample.resumed() as session:
            assert texts(session) == [*expected, "I was here before.", "You were."]
            assert session.repairs.damaged == []
        sample.write(sample.lines, indexed=indexed)
        sample.run(f"UPDATE {{s}}.session SET {change}", value)
        survive(sample, sample.lines)
    [(lines, size)] = sample.run("SELECT lines, bytes FROM {s}.session")
    [(count, last, total)] = sample.run("SELECT count(*), max(seq), sum(octet_length(data)) FROM {s}.entry")
    assert (count, last) == (lines, lines)
    assert case == "more bytes" or "tips" not in change or size == total


def test_a_row_of_earlier_conflicts_once_and_is_mended(sample: DatabaseSample) -> None:
    """As after a backup of that table alone: it fits its own lines. Who writes finds that there are others."""
    fewer = len(sample.lines) - 20
    sample.write(sample.lines)
    older = tips_of((Line(Span(at, len(line)), line) for at, line in enumerate(sample.lines[:fewer])), fewer)
    with silence():
        with sample.resumed("") as whole:
            expected = texts(whole)
        sample.run("UPDATE {s}.session SET lines = %s, tips = %s", fewer, msgspec.msgpack.encode(older))
        with sample.resumed("") as session:
            assert texts(session) == expected[: len(texts(session))] != expected
            _, conflicts = insist(session, lambda: session.user("And on."))
            assert (conflicts, texts(session)) == (1, [*expected, "And on."])
        survive(sample, sample.lines)


def test_a_stray_row_after_the_last_line_is_a_line(sample: DatabaseSample, caplog: pytest.LogCaptureFixture) -> None:
    """As in a file, where somebody else may append too: it is passed over and reported, and others follow it."""
    sample.write(sample.lines)
    stray = "INSERT INTO {s}.entry (tenant, session, seq, data) SELECT tenant, session, seq, 'stray' FROM {s}.session, "
    sample.run(f"{stray} unnest(%s::bigint[]) AS seq", [-5, 0, len(sample.lines) + 1])
    caplog.set_level(logging.WARNING)
    with sample.resumed() as session:
        session.user("It goes on.")
    assert "did not fit its lines" in caplog.text
    with silence(), sample.resumed() as session:
        assert texts(session)[-1] == "It goes on."
        assert session.repairs.damaged == [len(sample.lines)]
        go_on(session)


@pytest.mark.parametrize("seed", range(3))
def test_derived_data_of_garbage_change_nothing(sample: DatabaseSample, seed: int, soak: bool) -> None:
    """Columns and search index are made again; texts of windows that are gone take nothing else with them."""
    random = Random(seed)
    for _ in range(20 if soak else 1):
        sample.write(sample.lines)
        with silence():
            with sample.resumed() as session:
                expected, found = texts(session), session.items.search("module_3.py pay")
            for (name,) in sample.run("SELECT name FROM {s}.derived"):
                garbage = random.choice([b"", b"\0", random.randbytes(random.choice([3, 12, 5_000]))])
                cut = "substr(data, 1, octet_length(data) / 2)"
                change = random.choice([("data = %s", garbage), (f"data = {cut} || %s", garbage)])
                sample.run(f"UPDATE {{s}}.derived SET {change[0]} WHERE name = %s", change[1], name)
            with sample.resumed() as session:
                assert (texts(session), session.items.search("module_3.py pay")) == (expected, found)
            sample.run("DELETE FROM {s}.content WHERE number %% 2 = 0")
            survive(sample, sample.lines)


# ---------------------------------------------------------------------- clocks


def test_writers_whose_clocks_differ_go_on_together(postgres: PostgresServer) -> None:
    """One is years behind, one ahead: what was said stays in the order in which it was, and can all be made again."""
    with closing(PostgresStores(postgres.url())) as stores:
        clocks = [Ticking(10**12), Ticking(4 * 10**12), Ticking(0)]
        Session.new(stores=stores, session_id="s", clock=clocks[0], token_counter=WordCounter()).user("Begin.")
        for turn in range(9):
            with Session.resume("s", stores=stores, clock=clocks[turn % 3], token_counter=WordCounter()) as session:
                session.user(f"Question {turn}")
                session.reply(f"Answer {turn}")
        with Session.resume("s", stores=stores, token_counter=WordCounter()) as session:
            said = [f"{kind} {turn}" for turn in range(9) for kind in ("Question", "Answer")]
            assert texts(session) == ["Begin.", *said]
            assert all(payload.good for payload in session.receipts.verify())


def test_a_clock_of_the_database_that_goes_back_loses_nothing(postgres: PostgresServer) -> None:
    """Times only order the list: a session that was written in the future is first until others catch up."""
    with closing(PostgresStores(postgres.url())) as stores:
        for name in ("early", "late"):
            with Session.new(stores=stores, session_id=name) as session:
                session.user(f"I am {name}.")
        with postgres.connect() as admin:
            schema = stores.database.address.schema
            admin.execute(
                f"UPDATE {schema}.session SET written = now() + interval '1 day' WHERE name = 'early'".encode()
            )
        assert stores.sessions() == ["early", "late"]
        with Session.resume("late", stores=stores) as session:
            session.user("Still here.")
        assert stores.sessions() == ["early", "late"]
        with Session.resume("early", stores=stores) as session:  # its next write has the time that it is now
            session.user("Back again.")
            assert texts(session) == ["I am early.", "Back again."]
        with Session.resume("late", stores=stores) as session:
            session.user("I am the last.")
        assert stores.sessions() == ["late", "early"]
        stores.date("late", 0.0)
        assert [each.seconds for each in stores.written("late")] == [0.0]
        stores.date("late", 4e9)
        assert stores.sessions()[0] == "late"
