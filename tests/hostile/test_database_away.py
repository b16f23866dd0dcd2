"""The database of a server is away for long: what it does meanwhile, with a real PostgreSQL that is stopped."""

from pathlib import Path

import pytest
from through_proxy import Talk, Through
from upstream_script import answer

from postgres_server import PostgresServer
from sightline import PostgresStores, Session


@pytest.fixture
def own() -> "PostgresServer":
    """A server that may be stopped."""
    server = PostgresServer.make()
    yield server  # type: ignore[misc]
    server.delete()


@pytest.mark.slow
@pytest.mark.parametrize("requires", [False, True])
def test_what_happens_while_the_database_is_away(
    requires: bool, own: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short calls pass, are counted and wait on the disk, or are refused; a history over its window always is."""
    monkeypatch.setattr("sightline.server.spool._PAUSE", 0.0)
    stores = PostgresStores(own.url())
    with Through(tmp_path, lambda _: answer("Yes."), window=30_000) as through:
        through.server.stop()  # type: ignore[union-attr]
        through.start(stores=stores, require_log=requires)
        talk = Talk(through, "chat")
        talk.say("Hello")
        stores.database.patience = 0.1
        own.stop()
        talk.list.append({"role": "user", "content": "Are you there?"})
        short = through.post("chat", talk.body())
        assert short.status_code == (503 if requires else 200)
        assert (short.headers.get("retry-after") == "10") == requires
        assert through.totals.unlogged == 1
        waiting = [*(tmp_path / "logs" / "spool").rglob("*.jsonl")]
        assert len(waiting) == (0 if requires else 1)
        asked = len(through.upstream.asked)
        for number in range(1_500):
            talk.list.append({"role": "assistant", "content": f"Valve {number} opens, as on the day before."})
            talk.list.append({"role": "user", "content": f"And valve {number} of the northern harbour?"})
        assert through.post("chat", talk.body()).status_code == 503
        assert len(through.upstream.asked) == asked
        own.start()
        stores.database.patience = 30.0
        del talk.list[3:]
        again = through.post("chat", talk.body())
        assert (again.status_code, again.json()["choices"][0]["message"]["content"]) == (200, "Yes.")
        assert not any(file.exists() for file in waiting)
        through.server.stop()  # type: ignore[union-attr]
        through.server = None
    [name] = stores.sessions()
    with Session.inspect(name, tmp_path, stores=stores, branch="") as session:
        texts = [session.items.text(item.id) for item in session.items]
    assert texts == ["Hello", "Yes.", "Are you there?", "Yes."]
    stores.close()
