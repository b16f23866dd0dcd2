"""A real server on a free port, for tests of what it answers."""

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
from starlette.applications import Starlette

from sightline import Budget, Session
from sightline.log.stores.session_folder import Folder
from sightline.server.access_token import hash_token
from sightline.server.app import path_patterns
from sightline.server.callers import OneToken
from sightline.server.events import Hub
from sightline.server.listener import Listener
from sightline.server.metrics import Measure, Metrics
from sightline.server.rest import LIMITS, rest_routes
from sightline.server.safety import TOKEN_HEADER, Guard
from sightline.server.sessions import OpenSessions
from sightline.testing import calling

ROOM = Budget(8_000, 500)
TOKEN = "a-token-of-forty-characters-that-nobody-guesses"
SHOWS_TOKEN = {TOKEN_HEADER: TOKEN}


class RestServer:
    """The REST interface behind its guard, in uvicorn, on an event loop of its own thread. `client` shows the token."""

    def __init__(
        self,
        project: Path,
        *,
        max_body: int = 1 << 20,
        everywhere: bool = False,
        guard: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """`guard`: how the guard is other than that of a server on loopback."""
        self.hub, self.project, self._everywhere = Hub(), project, everywhere
        self._guard = {"max_body": max_body, "open_models": True, **(guard or {})}
        self._options = options
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    async def _run(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.sessions = OpenSessions(self.project, hub=self.hub, everywhere=self._everywhere)
        self.metrics = Metrics(lambda: len(self.sessions.names()))
        routes = Starlette(routes=rest_routes(self.sessions, metrics=self.metrics, **self._options))
        guard = Guard(routes, limits=LIMITS, callers=OneToken(hash_token(TOKEN)), **self._guard)
        app = Measure(guard, self.metrics, path_patterns())
        self.listener = Listener(app, on_stop=self.hub.close)
        serving = asyncio.create_task(self.listener._serve())  # without signals, which are the main thread's
        while not self.listener.started and not serving.done():
            await asyncio.sleep(0.005)
        self._started.set()
        await serving
        await self.sessions.close()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(60)
        self.url = f"http://127.0.0.1:{self.listener.port}"
        self.client = self.make_client(SHOWS_TOKEN)
        self.stranger = self.make_client({})
        return self

    def make_client(self, headers: Mapping[str, str]) -> httpx2.Client:
        """A client that sends these headers with every request."""
        return httpx2.Client(base_url=self.url, timeout=60, trust_env=False, verify=False, headers=dict(headers))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self.stranger.close()
        self.listener.should_exit = True
        self._thread.join(60)
        assert not self._thread.is_alive()

    def get(self, path: str, status: int = 200, **more: Any) -> Any:
        """What a GET answers, as JSON values."""
        return self._answer("GET", path, status, **more)

    def post(self, path: str, body: Mapping[str, Any] | None = None, status: int = 200, **more: Any) -> Any:
        """What a POST of this object answers, as JSON values."""
        return self._answer("POST", path, status, json=dict(body or {}), **more)

    def _answer(self, method: str, path: str, status: int, **more: Any) -> Any:
        response = self.client.request(method, path, **more)
        assert response.status_code == status, response.text
        return response.json() if response.content else None


def converse(project: Path, session_id: str = "talk", turns: int = 6, lines: int = 120) -> None:
    """Keep a session of several calls, with results large enough for sweeps in a window of 8,000 tokens."""
    with Session.new(project, stores=Folder(project), session_id=session_id) as session:
        session.system("You are careful.")
        for turn in range(1, turns + 1):
            session.user(f"Question {turn}: never touch port {8000 + turn}. What is in part_{turn}.py?")
            session.compose(ROOM)
            session.reply(calling(("read_file", {"path": f"part_{turn}.py"})))
            text = "\n".join(f"def step_{turn}_{line}(): return {line * turn}" for line in range(lines))
            session.tool_result(session.open_calls[0].id, text)
            session.compose(ROOM)
            session.reply(f"part_{turn}.py defines {lines} steps.")
