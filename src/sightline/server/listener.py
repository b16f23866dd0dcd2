"""A uvicorn server that ends its streams when it is told to stop.

uvicorn waits for open connections before it tells the application to stop, and a stream of events would never end by
itself. Answers of models have some seconds left to come to their end. What still runs then is abandoned: what was said
so far is logged as stopped, and the client is told in the shape of its provider.
"""

import asyncio
import logging
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import uvicorn

from sightline.server.answer import error_event
from sightline.server.model_request import FORMATS
from sightline.server.replies import error_body, provider_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

STOP_SECONDS = 7  # that running requests have left when the server is told to stop; Docker kills after ten
_LOG_SECONDS = 5  # more, that abandoned ones may need to log what they have
# Idle connections stay open for so long. If it were as short as clients keep theirs (five seconds, most of them), a
# request and the end of its connection would meet on the way.
_KEEP_SECONDS = 75
_SWITCH_SECONDS = 0.001  # after which a thread that logs lets the streams go on; Python's own is five times as long
_MOST_FILES = 8192  # open at once: two for each stream, one for each open session
_STATUS = 503
_WHY = "the proxy was stopped before the answer was whole: start it, and send the request again"


class RunningRequests:
    """An ASGI middleware that knows which requests run, and can abandon them."""

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_over = False

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request. If it is abandoned, its client is told."""
        task = asyncio.current_task()
        if scope["type"] != "http" or task is None:
            await self._app(scope, receive, send)
            return
        sent = _Sent(send)
        self._tasks.add(task)
        try:
            await self._app(scope, receive, sent)
        except asyncio.CancelledError:
            if not self._is_over:
                raise
            task.uncancel()
            await sent.end(scope)
        finally:
            self._tasks.discard(task)

    def abandon(self) -> None:
        """End all requests that still run. Each logs what it has before its client is told."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()


class _Sent:
    """What a client got so far."""

    def __init__(self, send: "Send") -> None:
        self._send = send
        self._is_begun = self._is_ended = self._is_stream = False
        self._last = b"\n\n"

    async def __call__(self, message: "Message") -> None:
        if message["type"] == "http.response.start":
            self._is_begun = True
            self._is_stream = any(
                name.lower() == b"content-type" and value.startswith(b"text/event-stream")
                for name, value in message["headers"]
            )
        else:
            self._is_ended = not message.get("more_body")
            self._last = (self._last + message.get("body", b""))[-4:]
        await self._send(message)

    async def end(self, scope: "Scope") -> None:
        """Tell the client that no more comes. An answer that cannot say so breaks off, which says it too."""
        path: str = scope["path"]
        provider = provider_of(path, {name.decode("latin-1").lower() for name, _ in scope["headers"]})
        body = msgspec.json.encode(error_body(provider, _STATUS, _WHY))
        if not self._is_begun:
            headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
            await self._send({"type": "http.response.start", "status": _STATUS, "headers": headers})
            await self._send({"type": "http.response.body", "body": body})
        elif self._is_stream and not self._is_ended and path in FORMATS and self._is_between_events():
            event = error_event(FORMATS[path].wire, body)
            await self._send({"type": "http.response.body", "body": event, "more_body": False})

    def _is_between_events(self) -> bool:
        return self._last.endswith((b"\n\n", b"\r\r", b"\r\n\r\n"))


class Listener(uvicorn.Server):
    """Serves an application until it is told to stop."""

    def __init__(
        self,
        app: "ASGIApp",
        *,
        on_stop: Callable[[], None],
        host: str = "127.0.0.1",
        port: int = 0,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        """`on_stop` is called first of all when the server stops, such as `hub.close`.

        uvicorn's own log of requests is off, because it has their whole paths.
        """
        self._requests, self._stop_seconds = RunningRequests(app), stop_seconds
        super().__init__(
            uvicorn.Config(
                self._requests, host=host, port=port, access_log=False, server_header=False, log_config=None,
                lifespan="auto", timeout_graceful_shutdown=round(stop_seconds) + _LOG_SECONDS,
                timeout_keep_alive=_KEEP_SECONDS,
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
        sys.setswitchinterval(_SWITCH_SECONDS)
        _allow_files(_MOST_FILES)
        await super().startup(sockets)
        if self.started:
            self.on_start(self.port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams of events, let answers come to their end for a while, then stop as uvicorn does."""
        self._on_stop()
        abandon = asyncio.get_running_loop().call_later(self._stop_seconds, self._requests.abandon)
        try:
            await super().shutdown(sockets)
        finally:
            abandon.cancel()


def _allow_files(most: int) -> None:
    """Let this process open so many files, if the system allows it; usually it may open 1,024."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
