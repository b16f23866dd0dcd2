"""Tenants of a database: their tokens, limits and use, and the audit trail."""

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime

import pytest
from tenant_place import TABLES, Place

from postgres_server import PostgresServer
from sightline import BadInput, StoreError
from sightline.fleet.database import Database
from sightline.fleet.tenants import Caller, Limits, Tenants, token_hash
from sightline.testing.stores import append, said


@pytest.fixture
def at(postgres: PostgresServer) -> Iterator[Place]:
    """A schema of its own."""
    with closing(Place(postgres)) as place:
        place.stores.sessions()  # which makes the tables
        yield place


# ---------------------------------------------------------------------- tenants


def test_tenants_are_created_changed_and_listed(at: Place) -> None:
    """The first one is there from the beginning: it has the sessions of a server without tenants."""
    made = at.tenants.create("acme", limits=Limits(60, 1_000), keep_days=30)
    assert (made.name, made.limits, made.keep_days) == ("acme", Limits(60, 1_000), 30)
    assert at.tenants.change("acme", keep_days=0)[2:4] == (Limits(60, 1_000), 0)
    assert at.tenants.change("acme", limits=Limits(5, 1_000)) == at.tenants.get("acme")
    assert [(each.name, each.limits) for each in at.tenants.list()] == [
        ("acme", Limits(5, 1_000)),
        ("default", Limits()),
    ]


def test_what_cannot_be_a_tenant_is_refused(at: Place) -> None:
    """With what to do; and nothing of it is noted."""
    at.tenants.create("acme")
    for name in ("", "a b", "../x", "-a", "x" * 64, "ä", "a\0"):
        with pytest.raises(BadInput, match="no name for a tenant: use"):
            at.tenants.create(name)
    with pytest.raises(BadInput, match="a tenant 'acme' already"):
        at.tenants.create("acme")
    for limits, days in ((Limits(-1), 0), (Limits(0, -1), 0), (Limits(), -1), (Limits(10**7), 0)):
        with pytest.raises(BadInput, match=r"0 .none. or more"):
            at.tenants.create("other", limits=limits, keep_days=days)
    for act in (at.tenants.get, at.tenants.create_token, at.tenants.delete, at.tenants.prune, at.tenants.change):
        with pytest.raises(BadInput, match="no tenant 'other'; `sightline tenant list`"):
            act("other")
    assert [entry.action for entry in at.tenants.audit()] == ["tenant.create"]


# ---------------------------------------------------------------------- tokens


def test_a_token_is_shown_once_and_kept_as_a_hash(at: Place) -> None:
    """Its text is in no row of any table."""
    tenant = at.tenants.create("acme", limits=Limits(60))
    token, text = at.tenants.create_token("acme", "build server")
    assert text.startswith(f"sl_{token.id}_")
    assert at.tenants.find(token_hash(text)) == Caller("acme", token.id, Limits(60), tenant.created)
    secret = text.rpartition(token.id)[2]
    for table in (*TABLES, "audit"):
        assert secret not in str(at.admin(f"SELECT * FROM {{s}}.{table}"))
    assert at.admin("SELECT hash FROM {s}.token") == [(token_hash(text),)]


def test_what_is_no_token_finds_nobody(at: Place) -> None:
    """One character more or less, another token's secret, an empty one, and the id alone."""
    at.tenants.create("acme")
    token, text = at.tenants.create_token("acme")
    _, other = at.tenants.create_token("acme")
    for wrong in ("", token.id, text[:-1], text + "x", text.upper(), text[:14] + other[14:], f"{text}\ud800"):
        assert at.tenants.find(token_hash(wrong)) is None


def test_a_token_ends_when_it_expires_or_is_revoked(at: Place) -> None:
    """By the clock of the database. Revoking again changes nothing, and one that is not known is told."""
    at.tenants.create("acme")
    (token, text), (brief, short) = at.tenants.create_token("acme"), at.tenants.create_token("acme", days=1)
    assert (token.expires, brief.expires is not None) == (None, True)
    assert at.tenants.find(token_hash(short)) is not None
    at.admin("UPDATE {s}.token SET expires = now() - interval '1 second' WHERE token = %s", brief.id)
    assert at.tenants.find(token_hash(short)) is None
    revoked = at.tenants.revoke_token(token.id)
    assert at.tenants.find(token_hash(text)) is None
    assert at.tenants.revoke_token(token.id) == revoked
    with pytest.raises(BadInput, match="no token 'x'; `sightline token list`"):
        at.tenants.revoke_token("x")


def test_the_last_use_is_written_once_a_minute(at: Place) -> None:
    """So that a request seldom waits for the disk."""
    at.tenants.create("acme")
    _, text = at.tenants.create_token("acme")

    def used(back: int) -> datetime | None:
        at.admin("UPDATE {s}.token SET used = used - %s * interval '1 second'", back)
        at.tenants.find(token_hash(text))
        return at.tenants.list_tokens("acme")[0].used

    assert at.tenants.list_tokens("acme")[0].used is None
    first = used(0)
    assert first is not None
    at.admin("UPDATE {s}.token SET used = now() - interval '50 seconds'")
    [(kept,)] = at.admin("SELECT used FROM {s}.token")
    assert used(0) == kept
    late = used(30)
    assert late is not None
    assert late > kept


def test_tokens_are_listed_by_tenant(at: Place) -> None:
    """Those of one tenant, or all."""
    for name in ("acme", "other"):
        at.tenants.create(name)
        at.tenants.create_token(name, f"of {name}")
    assert [token.name for token in at.tenants.list_tokens("acme")] == ["of acme"]
    assert [token.name for token in at.tenants.list_tokens()] == ["of acme", "of other"]


# ---------------------------------------------------------------------- rate


def test_requests_are_counted_for_all_processes(at: Place) -> None:
    """Two pools, as two servers have, let in as many as one would: a minute's, and one for each share that is over."""
    caller = at.caller(requests_per_minute=20)
    databases = [Database(at.url), Database(at.url)]
    admitted: list[float] = []

    def work(database: Database) -> None:
        admitted.extend(Tenants(database).admit(caller) for _ in range(10))

    [(begun,)] = at.admin("SELECT now()")
    threads = [threading.Thread(target=work, args=(database,)) for database in databases * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [(seconds,)] = at.admin("SELECT extract(epoch FROM now() - %s)::float8", begun)
    assert 20 <= admitted.count(0.0) <= 20 + seconds / 3
    assert all(0 <= wait <= 3 for wait in admitted)
    for database in databases:
        database.close()


def test_who_waits_as_told_is_let_in(at: Place) -> None:
    """Once, and not a moment before. Other tenants do not wait for it."""
    caller, other = at.caller(requests_per_minute=2), at.caller("other", requests_per_minute=2)
    assert [at.tenants.admit(caller) for _ in range(2)] == [0, 0]
    assert 25 < at.tenants.admit(caller) <= 30
    assert at.tenants.admit(other) == 0
    at.admin("UPDATE {s}.pace SET due = due - interval '30 seconds' WHERE tenant = 'acme'")
    assert [bool(at.tenants.admit(caller)) for _ in range(2)] == [False, True]


def test_a_clock_that_was_set_back_holds_nobody_up(at: Place) -> None:
    """Nobody waits for longer than the share of one request, however far ahead the last one was noted."""
    caller = at.caller(requests_per_minute=2)
    at.tenants.admit(caller)
    at.admin("UPDATE {s}.pace SET due = now() + interval '1 year'")
    assert 25 < at.tenants.admit(caller) <= 30
    at.admin("UPDATE {s}.pace SET due = due - interval '30 seconds'")
    assert at.tenants.admit(caller) == 0


def test_without_a_limit_nothing_is_counted(at: Place) -> None:
    """And nothing is asked of the database."""
    caller = at.caller()
    assert [at.tenants.admit(caller) for _ in range(100)] == [0] * 100
    assert at.rows("acme")["pace"] == 0


def test_a_new_limit_is_heard(at: Place) -> None:
    """Whoever was refused by the old one is let in by a higher one."""
    caller = at.caller(requests_per_minute=1)
    assert [bool(at.tenants.admit(caller)) for _ in range(2)] == [False, True]
    more = caller._replace(limits=Limits(1_000))
    assert at.tenants.admit(more) <= 60 / 1_000


# ---------------------------------------------------------------------- use


def test_use_is_logs_texts_and_code(at: Place) -> None:
    """Each text once, derived data not. What is deleted counts no longer."""
    at.tenants.create("acme")
    stores = at.fill("acme", sessions=2)
    [(lines,)] = at.admin("SELECT sum(octet_length(data)) FROM {s}.entry WHERE tenant = 'acme'")
    assert at.tenants.bytes_used("acme") == lines + 2 * len("texttexts") + len("x = 1\n")
    with closing(stores.open("s0")) as store:
        store.keep_texts({"d": "text", "f": "more"})
    assert at.tenants.bytes_used("acme") == lines + 2 * len("texttexts") + len("more") + len("x = 1\n")
    for name in stores.sessions():
        stores.delete(name)
    assert (at.tenants.bytes_used("acme"), at.tenants.bytes_used("default")) == (len("x = 1\n"), 0)


def test_a_count_is_shared_for_some_seconds(at: Place) -> None:
    """By all processes, so that a fleet does not count anew for each request."""
    at.caller(requests_per_minute=5)
    at.fill("acme")
    first = at.tenants.bytes_used("acme", within=60)
    at.fill("acme", sessions=0)
    with closing(at.stores.for_tenant("acme").create("other")) as store:
        append(store, said())
    with closing(Database(at.url)) as database:
        assert Tenants(database).bytes_used("acme", within=60) == first
    at.admin("UPDATE {s}.pace SET counted = counted - interval '61 seconds'")
    assert at.tenants.bytes_used("acme", within=60) > first


# ---------------------------------------------------------------------- audit


def test_what_was_done_is_noted(at: Place) -> None:
    """Who did what to what, the newest first; a page goes on before the last number of the one before it."""
    caller = at.caller()
    for number in range(5):
        at.tenants.note("acme", "session.delete", token=caller.token_id, subject=f"s{number}", detail={"lines": number})
    at.tenants.note("default", "session.export", subject="x")
    trail = at.tenants.audit("acme")
    assert [(each.action, each.subject) for each in trail[:2]] == [("session.delete", "s4"), ("session.delete", "s3")]
    assert trail[0].token == caller.token_id
    assert trail[0].detail == {"lines": 4}
    assert [each.action for each in trail[5:]] == ["token.create", "tenant.create"]
    assert [each.subject for each in at.tenants.audit("acme", before=trail[1].number, most=2)] == ["s2", "s1"]
    assert {each.tenant for each in at.tenants.audit(action="session.")} == {"acme", "default"}
    assert [each.action for each in at.tenants.audit(action="token")] == ["token.create"]


def test_any_text_can_be_noted(at: Place) -> None:
    """Without what the database takes in no text, and cut off."""
    at.tenants.note("default", "x", subject="a\0\ud800" + "b" * 1_000, detail={"name": "\0\udfff", "count": 1})
    [entry] = at.tenants.audit()
    assert entry.subject.startswith("a?bbb")
    assert len(entry.subject) < 300
    assert entry.detail == {"name": "?", "count": 1}


def test_the_audit_trail_is_kept_for_its_days(at: Place) -> None:
    """Then it is deleted. What is younger than 30 days cannot be, by no statement of ours."""
    for days in (0, 20, 100, 500):
        at.tenants.note("default", "x", subject=str(days))
        at.admin("UPDATE {s}.audit SET at = now() - %s * interval '1 day' WHERE subject = %s", days, str(days))
    assert at.tenants.prune_audit() == 1
    with pytest.raises(BadInput, match="30 days at least"):
        at.tenants.prune_audit(10)
    operator = at.stores.database.for_operator()
    operator.run(operator.sql("DELETE FROM {s}.audit"))
    assert [each.subject for each in at.tenants.audit()] == ["20", "0"]


# ---------------------------------------------------------------------- a database that is away


def test_a_database_that_is_away_is_told_at_once(at: Place) -> None:
    """Nothing is waited for, and the message has no secrets."""
    at.stores.close()
    with pytest.raises(StoreError, match=r"postgresql://tests@/postgres refused: it was closed"):
        at.tenants.find(b"x")
