"""A uvicorn server that loses no request when it is told to stop, and ends its streams.

It stops in steps. It says that it is not ready, and goes on accepting for as long as `drain_seconds` says, because a
load balancer needs a moment to notice. Then it accepts no more connections, and answers of models have some seconds
left to come to their end. Open connections may still bring a request that is on its way, and every answer asks its
client to close the connection, so that the next request goes elsewhere. What still runs at the end is abandoned: what
was said so far is logged as stopped, and the client is told in the shape of its provider. uvicorn alone would close a
connection whose request is on its way, and would wait for streams of events, which never end by themselves.
"""

import asyncio
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Collection, Sequence
from types import FrameType
from typing import Any

import msgspec
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sightline.follow.answer import error_event
from sightline.follow.replies import error_body
from sightline.server.destinations import provider_of, read_door

HEADER_SECONDS = 60.0  # that a new connection, and each request, has until its headers are whole
HEADER_BYTES = 64 * 1024  # of them at most, and what was read at once
STOP_SECONDS = 7  # that running requests have left when the server is told to stop; Docker kills after ten
_LOG_SECONDS = 5  # more, that abandoned ones may need to log what they have
# Idle connections stay open for so long. If it were as short as clients keep theirs (five seconds, most of them), a
# request and the end of its connection would meet on the way.
_KEEP_SECONDS = 75
_SWITCH_SECONDS = 0.001  # after which a thread that logs lets the streams go on; Python's own is five times as long
_MOST_FILES = 8192  # open at once: two for each stream, one for each open session
_MOST_REQUESTS = 1000  # that run at once, as many as an upstream gets; more are told to come again
# When no more connections are accepted, one that was used before has so long for a request that is on its way. A new
# one has as long as answers have: who connects means to ask.
_LAST_SECONDS = 5.0
_LOOK_SECONDS = 0.1  # between two looks
_READY_PATH = "/readyz"
_OPEN_PATHS = frozenset({"/healthz", _READY_PATH})  # are answered however much there is to do
_STATUS = 503
_BUSY = "this server has as many requests as it can answer at once: send the request again in a moment"
_NOT_READY = msgspec.json.encode({
    "error": {
        "type": "stopping", "message": "this server was told to stop, and ends what it has begun",
        "what_to_do": "send requests to another one",
    }
})  # fmt: skip
_WHY = "the proxy was stopped before the answer was whole: start it, and send the request again"


class RunningRequests:
    """An ASGI middleware that knows which requests run, and can abandon them. It takes no more than so many."""

    def __init__(self, app: ASGIApp, most: int = _MOST_REQUESTS) -> None:
        self._app, self._most = app, most
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_over = False
        self.is_stopping = False  # set when the server was told to stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. If it is abandoned, its client is told."""
        task = asyncio.current_task()
        if scope["type"] != "http" or task is None:
            await self._app(scope, receive, send)
            return
        sent = _Sent(send, lambda: self.is_stopping)
        if scope["path"] == _READY_PATH and self.is_stopping:
            await sent.refuse(_NOT_READY)
            return
        if len(self._tasks) >= self._most and scope["path"] not in _OPEN_PATHS:
            await sent.refuse(_told(scope, _BUSY), (b"retry-after", b"1"))
            return
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

    def __init__(self, send: Send, is_last: Callable[[], bool]) -> None:
        self._send, self._is_last = send, is_last  # whether the connection gets no other answer after this one
        self._is_begun = self._is_ended = self._is_stream = False
        self._last = b"\n\n"

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_begun = True
            self._is_stream = any(
                name.lower() == b"content-type" and value.startswith(b"text/event-stream")
                for name, value in message["headers"]
            )
            if self._is_last():
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
        else:
            self._is_ended = not message.get("more_body")
            self._last = (self._last + message.get("body", b""))[-4:]
        await self._send(message)

    async def end(self, scope: Scope) -> None:
        """Tell the client that no more comes. An answer that cannot say so breaks off, which says it too."""
        format_ = read_door(scope["path"]).format
        body = _told(scope, _WHY)
        if not self._is_begun:
            await self.refuse(body)
        elif self._is_stream and not self._is_ended and format_ is not None and self._is_between_events():
            event = error_event(format_.wire, body)
            await self._send({"type": "http.response.body", "body": event, "more_body": False})

    async def refuse(self, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        """Answer that the request cannot be answered now."""
        told = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
        told.append((b"cache-control", b"no-store"))
        await self({"type": "http.response.start", "status": _STATUS, "headers": told})
        await self({"type": "http.response.body", "body": body})

    def _is_between_events(self) -> bool:
        return self._last.endswith((b"\n\n", b"\r\r", b"\r\n\r\n"))


def _told(scope: Scope, why: str) -> bytes:
    """An error in the shape of the provider that the client believes to talk to."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    provider = provider_of(scope["path"], headers)
    return msgspec.json.encode(error_body(provider, _STATUS, why))


class Listener(uvicorn.Server):
    """Serves an application until it is told to stop."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        on_stop: Callable[[], None],
        host: str = "127.0.0.1",
        port: int = 0,
        stop_seconds: float = STOP_SECONDS,
        drain_seconds: float = 0.0,
        sockets: Sequence[socket.socket] = (),
    ) -> None:
        """`on_stop` is called when the server no longer accepts, such as `hub.close`.

        `drain_seconds`: for so long it goes on accepting after SIGTERM. `sockets`: listen on these, which somebody else
        has opened, instead of at `host` and `port`; they stay open for others when this server ends.

        uvicorn's own log of requests is off, because it has their whole paths.
        """
        self._requests, self._stop_seconds, self._drain_seconds = RunningRequests(app), stop_seconds, drain_seconds
        super().__init__(
            uvicorn.Config(
                self._requests, host=host, port=port, access_log=False, server_header=False, log_config=None,
                lifespan="auto", ws="none", timeout_graceful_shutdown=round(stop_seconds) + _LOG_SECONDS,
                timeout_keep_alive=_KEEP_SECONDS, http=protocol(),
            )
        )  # fmt: skip
        self._on_stop, self._sockets, self._slow = on_stop, list(sockets), SlowConnections()
        self._stop_signals = 0  # SIGTERM alone is patient: who presses Ctrl-C waits
        self.on_start: Callable[[int], None] = lambda _port: None  # is told the port
        logging.getLogger("uvicorn.access").disabled = True  # `access_log` alone lets those through that propagate
        logging.getLogger("uvicorn.error").addFilter(_is_unknown)

    @property
    def port(self) -> int:
        """The port, once it has started."""
        return int(self.servers[0].sockets[0].getsockname()[1])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, then say so."""
        sys.setswitchinterval(_SWITCH_SECONDS)
        _allow_files(_MOST_FILES)
        await super().startup(sockets or self._sockets or None)
        if self.started:
            self.on_start(self.port)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop. A second signal ends the patience of the first."""
        self._stop_signals += 1 if sig == signal.SIGTERM and not self.should_exit else 2
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Close connections that never bring a whole request, and see whether to stop."""
        if counter % 10 == 0:
            self._slow.close(self.server_state.connections)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, end the streams of events, let answers come to their end for a while; then stop."""
        self._requests.is_stopping = True
        await self._wait(self._drain_seconds, lambda _: True)
        for server in self.servers:
            server.close()
        for own_socket in self._sockets:
            own_socket.close()  # ours: whoever opened them has theirs
        self._on_stop()
        begun = time.monotonic()
        abandon = asyncio.get_running_loop().call_later(self._stop_seconds, self._requests.abandon)
        try:
            await self._wait(self._stop_seconds, lambda waited: self._may_bring(waited < _LAST_SECONDS))
            self.config.timeout_graceful_shutdown = _LOG_SECONDS + round(
                max(0.0, self._stop_seconds - time.monotonic() + begun)
            )
            await super().shutdown(sockets)
        finally:
            abandon.cancel()

    async def _wait(self, seconds: float, is_needed: Callable[[float], bool]) -> None:
        """Wait, if SIGTERM came once, for so long at most. `is_needed` is told how long it was."""
        begun = time.monotonic()
        while self._stop_signals == 1 and time.monotonic() - begun < seconds:
            await asyncio.sleep(_LOOK_SECONDS)  # first, because a connection that was just accepted is not known yet
            if not is_needed(time.monotonic() - begun):
                break

    def _may_bring(self, is_soon: bool) -> bool:
        """Whether a connection that is open may still bring a request, or has one that runs."""
        return any(
            is_soon or is_new(connection) or not is_idle(connection) for connection in self.server_state.connections
        )


def _is_unknown(record: logging.LogRecord) -> bool:
    """Whether a record of uvicorn's says more than that an answer broke off: whoever ends it so has said why."""
    return "without completing response" not in str(record.msg)


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


# ---------------------------------------------------------------------- clients that are too slow or say too much
# uvicorn alone would keep their connections for ever. `safety` has the limits of bodies.


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

        def _unsupported_upgrade_warning(self) -> None:
            """Say nothing: `safety` answers the client."""

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
