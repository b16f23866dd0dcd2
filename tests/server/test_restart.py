"""Servers are replaced while clients go on: no connection is refused, and no answer breaks off."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serve_process import ServeProcess, last_words
from test_proxy_load import Client, clients, said_to
from tests.conftest import Tried
from upstream import Asked, Upstream
from upstream_script import Answer, answer, slow

from postgres_server import PostgresServer
from sightline.server.systemd import given_sockets, notify

TALKS = 8


def in_pieces(asked: Asked) -> Answer:
    """An answer that takes a while."""
    return slow(answer(said_to(last_words(asked.wire, asked.body))), chunk=20, pause=0.02)


def server(folder: Path, upstream: Upstream, url: str, number: int, *options: str, **more: Any) -> ServeProcess:
    """A server on this database, with a folder of its own."""
    (own := folder / f"machine{number}").mkdir()
    return ServeProcess(own, upstream, "--store", url, "--finish", "60", *options, **more)


async def ask_until(over: asyncio.Event, talk: Client, address: Callable[[], str]) -> None:
    """Ask one question after the other. Each must be answered to its end: what fails, fails the test."""
    while not over.is_set():
        await talk.ask(address())
        assert (talk.status, talk.is_whole) == (200, True), talk.seen[-300:]
        assert talk.text == said_to(talk.questions[-1])


async def go_on_while(replace: Callable[[list[Client]], Awaitable[None]], address: str) -> list[Client]:
    """All conversations go on until this is done."""
    over = asyncio.Event()
    async with clients(TALKS, "Talk") as talks, asyncio.TaskGroup() as group:
        for talk in talks:
            group.create_task(ask_until(over, talk, lambda: address))
        await replace(talks)
        over.set()
    return talks


async def some_answers(talks: list[Client]) -> None:
    """Wait until every conversation has got an answer since now."""
    before = [len(talk.list) for talk in talks]
    while any(len(talk.list) < count + 2 for talk, count in zip(talks, before, strict=True)):
        await asyncio.sleep(0.01)


@pytest.mark.slow
def test_a_server_that_was_told_to_stop(tmp_path: Path) -> None:
    """It is alive and not ready, and answers while it drains; a second signal ends that. What was begun is ended."""

    async def look(serving: ServeProcess) -> None:
        async with clients(2, "Talk") as (talk, other), httpx2.AsyncClient(trust_env=False, timeout=60) as http:
            assert (await http.get(f"{serving.url}/readyz")).json()["status"] == "ready"
            serving.signal()
            while (told := await http.get(f"{serving.url}/readyz")).status_code == 200:
                await asyncio.sleep(0.01)
            assert (told.status_code, told.json()["error"]["type"]) == (503, "stopping")
            assert told.headers["connection"] == "close"
            assert (await http.get(f"{serving.url}/healthz")).status_code == 200
            begun = asyncio.Event()

            async def note() -> None:
                begun.set()

            running = asyncio.create_task(talk.ask(serving.url, note))
            await begun.wait()
            serving.signal()
            await running
            assert talk.is_whole, talk.seen
            with pytest.raises(httpx2.ConnectError):
                await other.ask(serving.url)

    options = ("--drain", "3000", "--finish", "60")
    with Upstream(in_pieces) as upstream, ServeProcess(tmp_path, upstream, *options) as serving:
        asyncio.run(look(serving))
        assert serving.wait() == -signal.SIGTERM
        assert [texts[1] for texts in serving.texts().values()] == [said_to("Talk 0, question 0")]


@pytest.mark.slow
def test_servers_on_one_socket_replace_each_other(tmp_path: Path, postgres: PostgresServer, tried: Tried) -> None:
    """The next one is started first, or the last one stopped first: clients do not notice."""
    url = postgres.url()
    with socket.create_server(("127.0.0.1", 0), backlog=100) as at, Upstream(in_pieces) as upstream:
        port = at.getsockname()[1]
        first, second, third = (server(tmp_path, upstream, url, number, at=at) for number in range(3))

        async def replace(talks: list[Client]) -> None:
            await some_answers(talks)
            await asyncio.to_thread(stack.enter_context, second)  # two on one socket
            await some_answers(talks)
            first.signal()
            assert await asyncio.to_thread(first.wait) == -signal.SIGTERM
            await some_answers(talks)
            second.signal()  # `systemctl restart`: nobody accepts for a while
            assert await asyncio.to_thread(second.wait) == -signal.SIGTERM
            await asyncio.to_thread(stack.enter_context, third)
            await some_answers(talks)

        with ExitStack() as stack:
            stack.enter_context(first)
            talks = asyncio.run(go_on_while(replace, f"http://127.0.0.1:{port}"))
        assert upstream.invalid == []
    tried("streams", sum(len(talk.questions) for talk in talks))


class Balancer:
    """Hands each connection to a server that says it is ready, and looks at them all the time."""

    def __init__(self) -> None:
        self.servers: list[ServeProcess] = []
        self._ready: list[str] = []
        self._next = 0
        self._connections: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        """Its address."""
        looking = asyncio.create_task(self._look())
        listening = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        async with listening:
            yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
            for each in (looking, *self._connections):
                each.cancel()
            await asyncio.gather(looking, *self._connections, return_exceptions=True)

    async def _look(self) -> None:
        async with httpx2.AsyncClient(trust_env=False, timeout=10) as http:
            while True:
                ready = []
                for each in self.servers:
                    with suppress(httpx2.HTTPError):
                        if (await http.get(f"{each.url}/readyz")).status_code == 200:
                            ready.append(each.url)
                self._ready = ready
                await asyncio.sleep(0.1)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not self._ready:
            await asyncio.sleep(0.01)
        self._next += 1
        port = int(self._ready[self._next % len(self._ready)].rpartition(":")[2])
        there, back = await asyncio.open_connection("127.0.0.1", port)
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await asyncio.gather(self._flow(reader, back), self._flow(there, writer))
        finally:
            self._connections.discard(task)
            for each in (back, writer):
                each.close()
                with suppress(OSError):
                    await each.wait_closed()

    async def _flow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()


@pytest.mark.soak
def test_servers_behind_a_balancer_replace_each_other(tmp_path: Path, postgres: PostgresServer, tried: Tried) -> None:
    """Two servers are replaced one after the other, as a rolling update does it."""
    url = postgres.url()
    with Upstream(in_pieces) as upstream:
        old, new = ([server(tmp_path, upstream, url, at, "--drain", "3") for at in them] for them in ((0, 1), (2, 3)))

        async def run() -> list[Client]:
            balancer = Balancer()
            balancer.servers += old

            async def replace(talks: list[Client]) -> None:
                await some_answers(talks)
                for before, after in zip(old, new, strict=True):
                    await asyncio.to_thread(stack.enter_context, after)
                    balancer.servers.append(after)
                    await some_answers(talks)
                    before.signal()
                    assert await asyncio.to_thread(before.wait) == -signal.SIGTERM
                    balancer.servers.remove(before)
                    await some_answers(talks)

            async with balancer.open() as address:
                return await go_on_while(replace, address)

        with ExitStack() as stack:
            for each in old:
                stack.enter_context(each)
            talks = asyncio.run(run())
        assert upstream.invalid == []
    tried("streams", sum(len(talk.questions) for talk in talks))


# ---------------------------------------------------------------------- what systemd says and hears


def test_sockets_are_taken_only_by_the_process_that_they_are_for() -> None:
    """The variables are taken away: a child has neither."""
    for pid in ("", "1"):
        variables = {"LISTEN_PID": pid, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "http", "OTHER": "stays"}
        assert given_sockets(variables) == []
        assert variables == {"OTHER": "stays"}


def test_systemd_is_told(tmp_path: Path) -> None:
    """By the socket that it names, also one without a file; a socket that is gone is no error."""
    for name in (str(tmp_path / "told"), "\0sightline-test-told"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.bind(name)
            notify("READY=1", {"NOTIFY_SOCKET": name.replace("\0", "@")})
            assert told.recv(100) == b"READY=1"
    notify("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    notify("READY=1", {})
