"""Several servers on one database: they share sessions and events, and any of them may end."""

import asyncio
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, aclosing, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from loopback import Server
from serve_process import ServeProcess, last_words
from test_proxy_load import Client, at_once, clients, said_to
from tests.conftest import Tried
from through_proxy import MODELS, TOKEN
from upstream import Asked, Upstream
from upstream_script import Answer, answer, hang

from postgres_server import PostgresServer
from sightline import PostgresStores, Session
from sightline.fleet import event_relay
from sightline.fleet.event_relay import EventRelay, relay_of
from sightline.log.entries import decode
from sightline.server.access_token import hash_token
from sightline.server.app import create_app
from sightline.server.config import Config
from sightline.server.events import Event, Hub

SHOWN = {"x-sightline-token": TOKEN}
JSON = {"content-type": "application/json", "authorization": "Bearer any"}


@contextmanager
def processes(folder: Path, upstream: Upstream, url: str, count: int = 2) -> Iterator[list[ServeProcess]]:
    """So many servers, each a process with a folder of its own."""
    with ExitStack() as stack:
        served = []
        for number in range(count):
            (own := folder / f"machine{number}").mkdir()
            served.append(stack.enter_context(ServeProcess(own, upstream, "--store", url)))
        yield served


def kept(stores: PostgresStores) -> dict[str, list[str]]:
    """The texts of every session, by its first. Each log is whole: its seqs are dense, and no entry is there twice."""
    found = {}
    for name in stores.sessions():
        with closing(stores.open(name)) as store:
            store.refresh()
            entries = [decode(line.data) for line in store.scan()]
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
            assert len({entry.uuid for entry in entries}) == len(entries)
        with Session.inspect(name, stores=stores) as session:
            texts = [session.items.text(item.id) for item in session.items]
        found[texts[0]] = texts
    return found


@pytest.mark.slow
def test_any_server_goes_on_with_a_conversation(tmp_path: Path, url: str, stores: PostgresStores, tried: Tried) -> None:
    """Streams through two servers in turn, then one is killed in the middle of them: nothing is lost or doubled."""
    number = 6

    def script(asked: Asked) -> Answer:
        question = last_words(asked.wire, asked.body)
        return hang(answer(said_to(question)), after=7) if "question 2" in question and hangs else at_once(asked)

    async def converse(served: list[ServeProcess]) -> list[Client]:
        nonlocal hangs
        async with clients(number, "Talk") as talks:
            for turn in range(2):
                await asyncio.gather(*(talk.ask(served[(at + turn) % 2].url) for at, talk in enumerate(talks)))
                assert [(talk.status, talk.seen[-300:]) for talk in talks if not talk.is_whole] == []
            hangs, together = True, asyncio.Barrier(number)

            async def kill() -> None:
                if await together.wait() == 0:
                    served[0].signal(signal.SIGKILL)

            await asyncio.gather(*(talk.ask(served[0].url, kill) for talk in talks))
            assert not any(talk.is_whole for talk in talks)
            hangs = False
            await asyncio.gather(*(talk.again(served[1].url) for talk in talks))
            await asyncio.gather(*(talk.ask(served[1].url) for talk in talks))
            assert [(talk.status, talk.seen[-300:]) for talk in talks if not talk.is_whole] == []
            return talks

    hangs = False
    with Upstream(script, keep=False) as upstream, processes(tmp_path, upstream, url) as served:
        talks = asyncio.run(converse(served))
        served[1].signal()
        served[1].wait()
        assert upstream.invalid == []
    assert kept(stores) == {talk.texts[0]: talk.texts for talk in talks}
    tried("streams", number * 5)


# ---------------------------------------------------------------------- in threads, with stores of their own


class Pair(NamedTuple):
    """Two servers: their addresses, and what they are made of."""

    urls: list[str]
    apps: list[Any]

    @property
    def relays(self) -> list[EventRelay]:
        """What relays their events."""
        return [app.state.relay for app in self.apps]

    def ask(self, at: int, question: str) -> None:
        """Ask through one of them."""
        body = {"model": MODELS["chat"], "messages": [{"role": "user", "content": question}]}
        address = f"{self.urls[at]}/v1/chat/completions"
        assert httpx2.post(address, json=body, headers=JSON, timeout=60, trust_env=False).status_code == 200


@pytest.fixture
def pair(tmp_path: Path, url: str) -> Iterator[Pair]:
    """Two servers that hear of each other."""
    with ExitStack() as stack:
        upstream, made = stack.enter_context(Upstream(at_once)), Pair([], [])
        told = {"anthropic": upstream.anthropic_url, "openai": upstream.openai_url}
        for number in range(2):
            own, root = stack.enter_context(closing(PostgresStores(url))), tmp_path / str(number)
            config = Config(folder=tmp_path, root=root, stores=own, upstreams=told, token_hash=hash_token(TOKEN))
            made.apps.append(create_app(config, relay=relay_of(config.stores)))
            server = Server(made.apps[-1])
            server.start()
            stack.callback(server.stop)
            made.urls.append(server.url)
        yield made


@pytest.mark.slow
def test_one_conversation_through_two_servers_at_once(pair: Pair, stores: PostgresStores) -> None:
    """Each gets its answer, and both answers are in the log, the slower one on a branch of its own."""
    for _ in range(3):
        threads = [threading.Thread(target=pair.ask, args=(at, "The same question")) for at in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [app.state.totals.unlogged for app in pair.apps] == [0, 0]
    kept(stores)
    [name] = stores.sessions()
    with closing(stores.open(name)) as store:
        store.refresh()
        replies = [entry for line in store.scan() if (entry := decode(line.data)).type == "assistant"]
    assert (len(replies), len({entry.branch for entry in replies})) == (6, 6)


def call(method: str, url: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """The status and JSON of an answer."""
    response = httpx2.request(method, url, json=body, timeout=60, trust_env=False, headers=SHOWN)
    return response.status_code, response.json() if response.content else None


@pytest.mark.slow
def test_servers_show_what_the_other_wrote(pair: Pair, stores: PostgresStores) -> None:
    """Sessions, items and deletions; a session that was made anew under its id too. Without any event."""
    one, two = pair.urls
    for relay in pair.relays:
        relay.close()
    for text in ("first", "second"):
        assert call("POST", f"{one}/api/sessions", {"id": "s"})[0] == 201
        with Session.resume("s", stores=stores) as session:  # as a third process
            session.user(text)
        assert [each["id"] for each in call("GET", f"{two}/api/sessions")[1]["sessions"]] == ["s"]
        status, items = call("GET", f"{two}/api/sessions/s/items")
        assert (status, text in json.dumps(items)) == (200, True)
        assert call("DELETE", f"{one}/api/sessions/s")[0] == 204
        assert call("GET", f"{two}/api/sessions/s/items")[0] == 404


def test_events_of_one_server_are_seen_at_the_other(pair: Pair) -> None:
    """As they happen."""
    one, two = pair.urls
    with httpx2.stream("GET", f"{two}/api/events", timeout=60, trust_env=False, headers=SHOWN) as stream:
        lines = stream.iter_lines()
        assert pair.relays[1].listening.wait(30)
        assert call("POST", f"{one}/api/sessions", {"id": "s"})[0] == 201
        told = next(
            json.loads(line.removeprefix("data: ")) for line in lines if "session_created" in line and "data" in line
        )
    assert told["session"] == "s"


@pytest.mark.slow
def test_a_conversation_that_was_deleted_and_begun_anew_goes_on(pair: Pair, stores: PostgresStores) -> None:
    """A server that had the deleted one open goes on with the new one."""
    for at in range(2):
        pair.ask(at, "Again?")
    stores.delete(stores.sessions()[0])
    for at in range(2):
        pair.ask(at, "Again?")
    assert [app.state.totals.unlogged for app in pair.apps] == [0, 0]
    [texts] = kept(stores).values()
    assert (texts[0], len(texts)) == ("Again?", 2)


class Follower:
    """Somebody who follows a hub, in a thread."""

    def __init__(self, hub: Hub) -> None:
        self.seen: list[Event] = []
        self._hub, self._more, self._left = hub, threading.Condition(), asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._read(),))

    def __enter__(self) -> "Follower":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._left.set)
        self._thread.join()
        self._loop.close()

    def wait(self, until: Callable[[Event], bool]) -> Event:
        """The first such event."""
        with self._more:
            assert self._more.wait_for(lambda: any(map(until, self.seen)), 60)
            return next(filter(until, self.seen))

    async def _read(self) -> None:
        reader = asyncio.create_task(self._follow())
        await self._left.wait()
        reader.cancel()
        with suppress(asyncio.CancelledError):
            await reader

    async def _follow(self) -> None:
        async with aclosing(self._hub.follow()) as events:
            async for each in events:
                if each is not None:
                    with self._more:
                        self.seen.append(each.event)
                        self._more.notify_all()


def is_a(kind: str) -> Callable[[Event], bool]:
    """Whether an event is of this kind."""
    return lambda event: event.kind == kind


class Relayed(NamedTuple):
    """The relay of a server, and its hub."""

    relay: EventRelay
    hub: Hub


def listeners(postgres: PostgresServer, relay: EventRelay) -> list[tuple[object, ...]]:
    """The connections that listen to a relay's channel."""
    with postgres.connect() as admin:
        return admin.execute(
            "SELECT pid FROM pg_stat_activity WHERE query = %s", (f"LISTEN {relay.channel('default')}",)
        ).fetchall()


@pytest.fixture
def relays(url: str) -> Iterator[list[Relayed]]:
    """The relays of two servers."""
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(PostgresStores(url))) for _ in range(2)]
        made = [Relayed(EventRelay(each.database), Hub()) for each in stores]
        for relay, hub in made:
            relay.join(hub)
            relay.start()
            stack.callback(relay.close)
        yield made


def test_missed_events_are_told_as_a_reset(relays: list[Relayed], postgres: PostgresServer) -> None:
    """After the connection was lost, and if there are too many or too large ones; own events come once."""
    with Follower(relays[1].hub) as follower:
        assert relays[1].relay.listening.wait(30)
        relays[0].hub.publish(Event("append", "s", data={"large": "x" * 9_000}))
        assert follower.wait(is_a("append")) == Event("append", "s")
        known = len(follower.seen)
        [(pid,)] = listeners(postgres, relays[1].relay)
        with postgres.connect() as admin:
            admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
        follower.wait(lambda event: event.kind == "reset" and event in follower.seen[known:])
        assert follower.seen.count(Event("append", "s")) == 1


def test_a_server_listens_while_somebody_follows(
    relays: list[Relayed], postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever begins is told to read anew, because what happened elsewhere before was not heard."""
    monkeypatch.setattr(event_relay, "_LINGER", 0.0)
    for event in (Event("append", "first"), Event("append", "second")):
        with Follower(relays[1].hub) as follower:
            assert relays[1].relay.listening.wait(30)
            assert (len(listeners(postgres, relays[1].relay)), relays[0].relay.listening.is_set()) == (1, False)
            relays[0].hub.publish(event)
            follower.wait(event.__eq__)
        while relays[1].relay.listening.is_set() or listeners(postgres, relays[1].relay):
            time.sleep(0.01)
        assert follower.seen == [Event("reset"), event]
