"""An ASGI application on a free port of loopback, served by uvicorn in a thread of its own.

with Server(app) as server:
    … server.url …
"""

import asyncio
import socket
import threading
from typing import Any

import uvicorn


class Server(uvicorn.Server):
    """It serves when `start` returns and is gone when `stop` does; open answers are abandoned."""

    def __init__(self, app: Any) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        super().__init__(uvicorn.Config(app, log_level="critical", ws="none"))
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self.run, args=([self._socket],), daemon=True)

    def __enter__(self) -> "Server":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Serve in the background."""
        self._thread.start()
        assert self._ready.wait(30), "the server did not start"

    def stop(self) -> None:
        """End the server and its thread. A second call does nothing."""
        if not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)
        assert not self._thread.is_alive(), "the server did not stop"

    async def main_loop(self) -> None:
        """Wait for `stop` instead of looking ten times a second."""
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._end.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop at once: uvicorn waits for a tenth of a second at least, hundreds of times in a run of all tests."""
        for server in self.servers:
            server.close()
        for each in sockets or []:
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        running = list(self.server_state.tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self.lifespan.shutdown()
