"""How an answer of the upstream gets to its client: whole or as a stream, compressed, in pieces, or not at all."""

import asyncio
import gzip
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from upstream_rules import Json, make_id
from upstream_script import Answer, Failure, Step

GARBAGE = b"\x00\xff<html>502 Bad Gateway</html>\r\n\r\n{]"


class Watch(Protocol):
    """Who is told of what happens to a connection."""

    hanging: Any
    left: Any


def deliver(
    request: Request,
    step: Step,
    events: Iterable[bytes] | None,
    body: bytes,
    error_event: Callable[[Json], bytes],
    watch: Watch,
) -> Response:
    """The response to a request: `events` as a stream, or the body whole."""
    return Delivery(request, step, events, body, error_event, watch)


class Delivery(Response):
    """Sends a step of the script, with its faults."""

    def __init__(
        self,
        request: Request,
        step: Step,
        events: Iterable[bytes] | None,
        body: bytes,
        error_event: Callable[[Json], bytes],
        watch: Watch,
    ) -> None:
        self._step, self._events, self._body, self._error_event, self._watch = step, events, body, error_event, watch
        self._zips = step.zipped and "gzip" in request.headers.get("accept-encoding", "")
        self._zipper = zlib.compressobj(wbits=31)
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._send, self._transport = send, scope.get("upstream.transport")
        if isinstance(self._step, Failure):
            await self._fail(self._step)
            return
        gone = asyncio.create_task(_wait_gone(receive))
        try:
            play = self._play_whole if self._events is None else self._play_stream
            await play(self._step, gone)
        finally:
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone

    async def _fail(self, step: Failure) -> None:
        if step.drop:
            self._transport.abort()
            return
        await self._start(step.status, "application/json", step.headers, None)
        await self._end(gzip.compress(self._body) if self._zips else self._body)

    async def _play_whole(self, step: Answer, gone: "asyncio.Task[None]") -> None:
        if step.hang_after is not None:
            await self._hang(gone)
            return
        body = GARBAGE if step.garbage_after is not None else self._body
        body = gzip.compress(body) if self._zips else body
        await self._start(200, "application/json", step.headers, len(body))
        if step.cut_after is not None:
            await self._more(body[: len(body) // 2])
            self._transport.abort()
            return
        for piece in _pieces(body, step.chunk):
            await asyncio.sleep(step.pause)
            await self._more(piece)
        await self._end()

    async def _play_stream(self, step: Answer, gone: "asyncio.Task[None]") -> None:
        await self._start(200, "text/event-stream; charset=utf-8", step.headers, None)
        assert self._events is not None
        for number, event in enumerate(self._events):
            if gone.done():
                self._watch.left.set()
                return
            if step.cut_after == number:
                if step.ends:
                    self._transport.abort()
                    return
                break
            if step.hang_after == number:
                await self._hang(gone)
                return
            if step.garbage_after == number:
                await self._event(GARBAGE, step)
                break
            if step.error_after is not None and step.error_after[0] == number:
                await self._event(self._error_event(step.error_after[1]), step)
                break
            await self._event(event, step)
        await self._end(self._zipper.flush() if self._zips else b"")

    async def _event(self, event: bytes, step: Answer) -> None:
        await asyncio.sleep(step.pause)  # without a pause too: other connections get their turn
        data = self._zipper.compress(event) + self._zipper.flush(zlib.Z_SYNC_FLUSH) if self._zips else event
        for piece in _pieces(data, step.chunk):
            await self._more(piece)

    async def _hang(self, gone: "asyncio.Task[None]") -> None:
        self._watch.hanging.set()
        await gone
        self._watch.left.set()

    async def _start(self, status: int, kind: str, headers: dict[str, str], length: int | None) -> None:
        told = {"content-type": kind, "request-id": make_id("req"), "x-request-id": make_id("req"), **headers}
        if self._zips:
            told["content-encoding"] = "gzip"
        if length is not None:
            told["content-length"] = str(length)
        encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in told.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def _more(self, data: bytes) -> None:
        if data:
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _end(self, data: bytes = b"") -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": False})


async def _wait_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _pieces(data: bytes, size: int) -> Iterable[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)] if size else [data]


class Transports:
    """Lets the application get at the connection of a request, so that it can break it."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["upstream.transport"] = send.__self__.transport  # type: ignore[attr-defined]
        await self._app(scope, receive, send)
