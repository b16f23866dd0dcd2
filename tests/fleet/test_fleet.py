"""Two and four servers on one database under streaming turns, while a server, the database and the network fail."""

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import httpx2
import pytest
from serve_process import ServeProcess
from test_proxy_load import Client, at_once, clients
from test_servers_on_postgres import kept, processes
from tests.conftest import Tried
from through_proxy import HEADERS, MODELS, Through
from upstream import Upstream
from upstream_script import answer

from postgres_server import PostgresServer
from sightline import PostgresStores
from sightline.follow.turns import Turns

TALKS, TURNS = 10, 5
PAUSE = 3.0  # seconds without a network
_AT_ONCE = 1 << 16


class Network:
    """Connections to a database, which can stand still for a while: nothing arrives, and nothing is closed."""

    def __init__(self, port: int) -> None:
        self._to, self._flows, self._clear = port, set[asyncio.Task[None]](), asyncio.Event()
        self._clear.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[int]:
        """Listen on a free port."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        async with server:
            yield server.sockets[0].getsockname()[1]
            for flow in self._flows:
                flow.cancel()

    async def pause(self, seconds: float) -> None:
        """Stand still."""
        self._clear.clear()
        await asyncio.sleep(seconds)
        self._clear.set()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.close()
            return
        for one, other in ((reader, back), (there, writer)):
            flow = asyncio.create_task(self._flow(one, other))
            self._flows.add(flow)
            flow.add_done_callback(self._flows.discard)

    async def _flow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(_AT_ONCE):
                await self._clear.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


async def converse(
    talk: Client, at: int, served: list[ServeProcess], trouble: Callable[[int], Awaitable[None]]
) -> None:
    """Ask through one server after the other. Where an answer does not come, the question is sent to the next one."""
    for turn in range(TURNS):
        ask, number = talk.ask, at + turn
        while True:
            with suppress(Exception):  # a server that was killed
                await ask(served[number % len(served)].url)
                if talk.is_whole:
                    break
            ask, number = talk.again, number + 1
        await trouble(turn)


@pytest.mark.slow
def test_an_answer_whose_server_was_killed_is_not_said_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was logged, and nobody got it. The request comes again, to another server: its answer is on another branch."""

    def killed(*_: object) -> None:
        raise RuntimeError("killed before it could say what the client got")

    body = json.dumps({"model": MODELS["chat"], "messages": [{"role": "user", "content": "Well?"}]})
    with Through(tmp_path, [answer("First."), answer("Second."), answer("Third.")], sockets=True) as through:

        def ask() -> None:
            sent = httpx2.post(f"{through.url}/v1/chat/completions", content=body, headers=HEADERS["chat"], timeout=60)
            assert sent.status_code == 200

        with monkeypatch.context() as patch:
            patch.setattr(Turns, "expect", killed)
            ask()
        for _ in range(2):
            through.restart()
            ask()
        with through.session() as session:
            branches = [through.texts(branch=branch) for branch in session.branches]
    assert sorted(branches) == [["Well?", "First."], ["Well?", "Second."], ["Well?", "Third."]]


@pytest.mark.soak
@pytest.mark.parametrize("count", [2, 4])
def test_a_fleet_survives_what_happens_to_its_parts(tmp_path: Path, count: int, tried: Tried) -> None:
    """No entry lost, none doubled, and every conversation goes on through the servers that are left."""
    port = free_port()
    database = PostgresServer.make(listen_addresses="127.0.0.1", port=str(port), synchronous_commit="on")

    async def run(upstream: Upstream) -> list[Client]:
        network, happened = Network(port), set[int]()
        async with network.open() as through, clients(TALKS, "Talk") as talks:
            url = f"postgresql://tests@127.0.0.1:{through}/postgres?schema=fleet"
            manager = processes(tmp_path, upstream, url, count)
            served = await asyncio.to_thread(manager.__enter__)
            try:

                async def trouble(turn: int) -> None:
                    if turn in happened:
                        return
                    happened.add(turn)
                    if turn == 0:
                        served[0].signal(signal.SIGKILL)
                    elif turn == 1:
                        await asyncio.to_thread(database.stop, "immediate")
                        await asyncio.to_thread(database.start)
                    elif turn == 2:
                        await network.pause(PAUSE)

                await asyncio.gather(*(converse(talk, at, served, trouble) for at, talk in enumerate(talks)))
                for server in served[1:]:
                    server.signal()
                    await asyncio.to_thread(server.wait)
            finally:
                await asyncio.to_thread(manager.__exit__, None, None, None)
            return talks

    try:
        with Upstream(at_once, keep=False) as upstream:
            talks = asyncio.run(run(upstream))
            assert upstream.invalid == []
        with closing(PostgresStores(f"postgresql://tests@127.0.0.1:{port}/postgres?schema=fleet")) as stores:
            found = kept(stores)
        for talk in talks:
            assert [text[:24] for text in found[talk.texts[0]]] == [text[:24] for text in talk.texts]
        assert found == {talk.texts[0]: talk.texts for talk in talks}
        tried("streams", TALKS * TURNS)
    finally:
        database.delete()
