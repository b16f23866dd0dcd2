"""An ASGI application that is asked without a socket: for tests of what it answers, not of how that travels.

It runs while it is asked, in the thread of the test. An answer comes when it is complete, so nobody can leave before.
"""

import asyncio
from typing import Any

import httpx2

URL = "http://127.0.0.1"


class InProcess:
    """Has what is used of `loopback.Server`, but for an address that others can reach."""

    def __init__(self, app: Any) -> None:
        self._app, self._runner = app, asyncio.Runner()

    def start(self) -> None:
        """Have the application begin."""
        self._runner.run(self._begin())

    def __enter__(self) -> "InProcess":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Have the application end."""
        self._runner.run(self._finish())
        self._runner.close()

    def post(self, path: str, content: bytes, headers: dict[str, str]) -> httpx2.Response:
        """Send a request, and wait for the whole answer."""
        return self._runner.run(self._client.post(path, content=content, headers=headers))

    def request(self, method: str, target: str, headers: dict[str, str], content: bytes = b"") -> httpx2.Response:
        """Send a request whose path and query are just these bytes, and wait for the whole answer."""
        url = httpx2.URL(URL).copy_with(raw_path=target.encode())
        return self._runner.run(self._client.request(method, url, content=content, headers=headers))

    async def _begin(self) -> None:
        started, self._end = asyncio.Event(), asyncio.Event()
        self._life = asyncio.create_task(self._live(started))
        await started.wait()
        self._client = httpx2.AsyncClient(transport=httpx2.ASGITransport(self._app), base_url=URL)

    async def _finish(self) -> None:
        await self._client.aclose()
        self._end.set()
        await self._life

    async def _live(self, started: asyncio.Event) -> None:
        async with self._app.router.lifespan_context(self._app):
            started.set()
            await self._end.wait()
