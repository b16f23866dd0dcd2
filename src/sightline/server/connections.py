"""Connections of clients that are too slow or say too much, which uvicorn alone would keep for ever.

A request has a minute for its headers, and these have at most 64 KiB. `safety` has the limits of bodies.
"""

import time
from collections.abc import Collection
from typing import Any

HEADER_SECONDS = 60.0  # that a new connection, and each request, has until its headers are whole
HEADER_BYTES = 64 * 1024  # of them at most, and what was read at once


class SlowConnections:
    """Closes connections whose request does not come to the end of its headers."""

    def __init__(self, seconds: float = HEADER_SECONDS) -> None:
        self._seconds = seconds
        self._since: dict[Any, float] = {}  # connections that we wait for

    def close(self, connections: Collection[Any]) -> None:
        """Close those that were waited for at earlier calls too, for as long as allowed. Call it often."""
        now = time.monotonic()
        waited_for = filter(_begins, connections)
        self._since = {connection: self._since.get(connection, now) for connection in waited_for}
        for connection, since in self._since.items():
            if now - since >= self._seconds:
                connection.transport.close()


def is_new(connection: Any) -> bool:
    """Whether a connection of uvicorn has brought no request yet."""
    return connection.cycle is None


def is_idle(connection: Any) -> bool:
    """Whether a connection of uvicorn has no request that runs."""
    return is_new(connection) or bool(connection.cycle.response_complete)


def _begins(connection: Any) -> bool:
    """Whether a request must come: nothing was answered yet, or a part of another one is there."""
    return is_idle(connection) and connection.timeout_keep_alive_task is None


def protocol() -> Any:
    """uvicorn's protocol with a limit for headers. Without httptools it is h11's, which has one."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return "h11"

    class LimitedProtocol(HttpToolsProtocol):
        """Refuses headers that are too long."""

        _bytes = -1  # of the headers of the request that is read; -1: none is

        def on_message_begin(self) -> None:
            self._bytes = 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._bytes = -1
            super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            is_begun = self._bytes >= 0
            super().data_received(data)
            if is_begun and self._bytes >= 0:
                self._bytes += len(data)
            if self._bytes > HEADER_BYTES and not self.transport.is_closing():
                self.send_400_response("The headers of this request are too long.")

    return LimitedProtocol
