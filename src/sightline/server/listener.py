"""A uvicorn server that ends its streams when it is told to stop.

uvicorn waits for open connections before it tells the application to stop, and a stream of events would never end by
itself.
"""

import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from starlette.types import ASGIApp

STOP_SECONDS = 10  # that running requests have left when the server is told to stop


class Listener(uvicorn.Server):
    """Serves an application until it is told to stop."""

    def __init__(
        self,
        app: "ASGIApp",
        *,
        on_stop: Callable[[], None],
        host: str = "127.0.0.1",
        port: int = 0,
        stop_seconds: int = STOP_SECONDS,
    ) -> None:
        """`on_stop` is called first of all when the server stops, such as `hub.close`.

        uvicorn's own log of requests is off, because it has their whole paths.
        """
        super().__init__(
            uvicorn.Config(
                app, host=host, port=port, access_log=False, server_header=False, log_config=None, lifespan="auto",
                timeout_graceful_shutdown=stop_seconds,
            )
        )  # fmt: skip
        self._on_stop = on_stop
        self.on_start: Callable[[int], None] = lambda _port: None  # is told the port
        logging.getLogger("uvicorn.access").disabled = True  # `access_log` alone lets those through that propagate

    @property
    def port(self) -> int:
        """The port, once it has started."""
        return int(self.servers[0].sockets[0].getsockname()[1])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, then say so."""
        await super().startup(sockets)
        if self.started:
            self.on_start(self.port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then stop as uvicorn does."""
        self._on_stop()
        await super().shutdown(sockets)
