"""Events of tenants over two servers: each follows its own, whichever server they happen at."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import httpx2
import pytest
from tenant_servers import Tenancy

from postgres_server import PostgresServer
from sightline.fleet.database import Database
from sightline.fleet.event_relay import EventRelay
from sightline.server.events import Event, Hub


@pytest.fixture
def tenancy(tmp_path: Path, postgres: PostgresServer) -> Iterator[Tenancy]:
    """Two servers, two tenants whose applications are open at both."""
    with Tenancy(tmp_path, postgres, servers=2) as made:
        for name in ("acme", "bolt"):
            made.tenant(name)
            for server in range(2):
                assert made.client(name, server).get("/api/server").status_code == 200
        yield made


def events(stream: httpx2.Response) -> Iterator[dict[str, Any]]:
    """What a stream tells, with the ids of the events."""
    last = ""
    for line in stream.iter_lines():
        if line.startswith("id: "):
            last = line.removeprefix("id: ")
        elif line.startswith("data: "):
            yield json.loads(line.removeprefix("data: ")) | {"id": last}


@pytest.mark.slow
def test_each_tenant_follows_its_own_events_at_every_server(tenancy: Tenancy) -> None:
    """What another does, at the same server and at the other, is never told: the next event is one's own."""
    acme, bolt = ([tenancy.client(name, server) for server in range(2)] for name in ("acme", "bolt"))
    with acme[0].stream("GET", "/api/events") as theirs, bolt[1].stream("GET", "/api/events") as stream:
        told = events(stream)
        for app in tenancy.apps:
            assert app.state.relay.listening.wait(30)
        assert next(told)["kind"] == next(events(theirs))["kind"] == "reset"  # what was before is not known
        for number in range(2):
            for at, client in enumerate(acme):
                assert client.post("/api/sessions", json={"id": f"of-acme-{number}-{at}"}).status_code == 201
                tenancy.ask(client, f"A question of acme {number}")
            assert bolt[number].post("/api/sessions", json={"id": f"of-bolt-{number}"}).status_code == 201
            assert next(told)["session"] == f"of-bolt-{number}"


@pytest.mark.slow
def test_nobody_goes_on_after_an_event_of_another(tenancy: Tenancy) -> None:
    """The id of another's event is one that is not known, and the id of another's session has no events."""
    acme, bolt = tenancy.client("acme"), tenancy.client("bolt")
    with acme.stream("GET", "/api/events") as stream:
        assert acme.post("/api/sessions", json={"id": "of-acme"}).status_code == 201
        seen = next(events(stream))["id"]
    assert bolt.post("/api/sessions", json={"id": "of-bolt"}).status_code == 201
    answers = []
    for last in (seen, "00000000-1"):
        with bolt.stream("GET", "/api/events", headers={"last-event-id": last}) as stream:
            answers.append(next(events(stream)))
    assert answers[0] == answers[1]
    assert answers[0]["kind"] == "reset"
    with bolt.stream("GET", "/api/events?session=of-acme") as stream:
        told = events(stream)
        assert acme.delete("/api/sessions/of-acme").status_code == 204
        assert bolt.post("/api/sessions", json={"id": "of-acme"}).status_code == 201  # its own one of this id
        first = next(event for event in told if event["kind"] != "reset")  # that comes if it listens only from now on
        assert first["kind"] == "session_created"


def follow_for_ever(hub: Hub) -> None:
    """Follow a hub until it is closed."""

    async def follow() -> None:
        async for _ in hub.follow():
            pass

    threading.Thread(target=lambda: asyncio.run(follow()), daemon=True).start()


class Heard(Hub):
    """A hub that keeps what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: Queue[Event] = Queue()

    def receive(self, event: Event) -> None:
        """See `Hub`."""
        self.heard.put(event)


def test_one_connection_listens_for_all_tenants(postgres: PostgresServer) -> None:
    """Tenants that come and go are listened to on the same connection, and each hears its own channel."""
    database = Database(postgres.url())
    others, relay = EventRelay(database), EventRelay(database)
    hubs = {name: Heard() for name in ("one", "two", "three")}
    relay.start()
    others.start()
    for name, hub in hubs.items():
        relay.join(hub, name)
        follow_for_ever(hub)
        assert relay.listening.wait(30)
        assert hub.heard.get(timeout=60) == Event("reset")
    assert len({relay.channel(name) for name in hubs}) == 3
    with postgres.connect() as admin:
        listening = f"LISTEN {relay.channel('three')}"
        found = admin.execute("SELECT count(*) FROM pg_stat_activity WHERE query ^@ %s", (listening,)).fetchall()
        assert found == [(1,)]
    relay.leave(hubs["one"])
    sender = Hub()
    for name in ("one", "three"):
        others.join(sender, name)
        sender.publish(Event("append", f"session of {name}"))
    assert hubs["three"].heard.get(timeout=60) == Event("append", "session of three")
    assert hubs["one"].heard.empty()  # although its event was sent before
    assert hubs["two"].heard.empty()
    for hub in hubs.values():
        hub.close()
    relay.close()
    others.close()
    database.close()
