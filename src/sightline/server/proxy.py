"""One request through the proxy: logged, sent on, its answer passed back and logged before its end is.

As long as everything fits, the agent's own bytes go up. What cannot be logged is passed on as it came: an agent never
fails because of us where it would not fail without us.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from sightline.agent.models.errors import overflow_tokens
from sightline.errors import BadInput, SightlineError
from sightline.server.answer import EventReader, Filter, filter_of, merged, own_calls
from sightline.server.events import Event, Hub
from sightline.server.metrics import Metrics
from sightline.server.model_request import Format, Json, ModelRequest, parse
from sightline.server.totals import Totals
from sightline.server.turns import Prepared, Turns
from sightline.server.upstream import Upstream, passed_back
from sightline.session.worker import Worker
from sightline.values.finish import finish
from sightline.wire import read_reply
from sightline.wire.streams import StreamedReply

if TYPE_CHECKING:
    import httpx2
    from starlette.requests import Request
    from starlette.responses import Response

R = TypeVar("R")

ROUNDS = 8  # calls of the model for one request; at the last one it has no tools
_MOST_WORKERS = 10_000
_log = logging.getLogger("sightline.server")


class Proxy:
    """Passes requests for models on, and keeps their conversations."""

    def __init__(self, turns: Turns, upstream: Upstream, totals: Totals, *, metrics: Metrics, hub: Hub) -> None:
        self._turns, self._upstream, self._totals = turns, upstream, totals
        self._metrics, self._hub = metrics, hub
        self._workers: dict[str, Worker] = {}

    async def call_model(self, request: "Request", format: Format) -> "Response":  # noqa: A002
        """Answer a request for a model."""
        body = await request.body()
        address = self._upstream.address(format.provider, request.url.path, request.url.query)
        call = _Call(self, request.headers.items(), address, format)
        try:
            asked = await asyncio.to_thread(parse, format, body, dict(request.headers))
            name = await asyncio.to_thread(asked.name)
        except SightlineError:  # the provider says what is wrong with it
            return await call.pass_on(request.method, body)
        if asked.is_kept_upstream:
            return await call.pass_on(request.method, body)
        try:
            prepared = await self.run(name, lambda: self._turns.prepare(asked, name))
        except Exception as error:  # a full disk, say: the agent goes on without us
            _log.warning("a request of %s is not logged: %s", name, type(error).__name__, exc_info=True)
            self._totals.unlogged += 1
            return await call.pass_on(request.method, body)
        return await call.answer(asked, prepared)

    async def pass_on(self, request: "Request", provider: str) -> "Response":
        """Pass on a request that is not for a model, and its answer."""
        address = self._upstream.address(provider, request.url.path, request.url.query)
        call = _Call(self, request.headers.items(), address, None)
        return await call.pass_on(request.method, await request.body())

    async def run(self, name: str, work: Callable[[], R]) -> R:
        """Do something with a conversation, after all that was begun before."""
        while len(self._workers) > _MOST_WORKERS:
            del self._workers[next(iter(self._workers))]
        worker = self._workers.setdefault(name, Worker())
        return await worker.run(work)

    def report(self, prepared: Prepared, reply: Json, *, stopped: bool) -> None:
        """Count a call of a model, and tell those who watch."""
        usage = self._totals.add(prepared, reply)
        self._metrics.tokens(offered=prepared.offered, sent=prepared.sent, billed=usage.input_tokens if usage else 0)
        facts = {"offered": prepared.offered, "sent": prepared.sent, "composed": prepared.composed}
        self._hub.publish(Event("payload", prepared.name, prepared.place.branch, facts))
        if prepared.swept:
            self._metrics.sweep(prepared.swept)
            self._hub.publish(Event("sweep", prepared.name, prepared.place.branch, {"reason": prepared.swept}))
        self._hub.publish(Event("append", prepared.name, prepared.place.branch, {"stopped": stopped}))

    def report_recall(self) -> None:
        """Count a call of the model that our tools made necessary."""
        self._totals.recalled += 1
        self._metrics.recall()

    @property
    def turns(self) -> Turns:
        return self._turns

    @property
    def upstream(self) -> Upstream:
        return self._upstream

    @property
    def totals(self) -> Totals:
        return self._totals


class _Call:
    """One request of a client, with all the calls of the model that it takes."""

    def __init__(self, proxy: Proxy, headers: Any, address: str, format: Format | None) -> None:  # noqa: A002
        self._proxy, self._headers, self._address = proxy, list(headers), address
        self._format = format

    # ------------------------------------------------------------------ as it is

    async def pass_on(self, method: str, body: bytes) -> "Response":
        """Send a request as it came, and pass the answer back as it comes."""
        from starlette.responses import StreamingResponse

        stack = AsyncExitStack()
        response = await self._open(stack, method, body)
        if not isinstance(response, _Opened):
            return response

        async def stream() -> AsyncIterator[bytes]:
            async with stack:
                async for chunk in response.response.aiter_bytes():
                    yield chunk

        return StreamingResponse(
            stream(), status_code=response.response.status_code, headers=passed_back(response.response.headers)
        )

    async def _open(self, stack: AsyncExitStack, method: str, body: bytes) -> "_Opened | Response":
        """Begin a request. Return the response, or our own error if there is none."""
        import httpx2

        try:
            sent = self._proxy.upstream.send(method, self._address, self._headers, body)
            return _Opened(await stack.enter_async_context(sent))
        except httpx2.TimeoutException:
            return error_response(self._format, 504, "the model's server did not answer in time")
        except httpx2.HTTPError as error:
            why = f"the model's server cannot be reached ({type(error).__name__}): is the upstream's address right?"
            return error_response(self._format, 502, why)

    # ------------------------------------------------------------------ with a log

    async def answer(self, asked: ModelRequest, prepared: Prepared) -> "Response":
        """Call the model, and answer calls of our tools until it answers the client."""
        from starlette.responses import Response, StreamingResponse

        stack = AsyncExitStack()
        opened = await self._open(stack, "POST", prepared.body)
        if isinstance(opened, _Opened) and opened.response.status_code >= 400:
            body = await opened.response.aread()
            told = body.decode("utf-8", "replace")
            counted = overflow_tokens(opened.response.status_code, told)
            if counted is not None and (again := await self._composed_again(asked, prepared, told, counted)):
                await stack.aclose()
                stack, prepared = AsyncExitStack(), again
                opened = await self._open(stack, "POST", prepared.body)
                body = b""
                if isinstance(opened, _Opened) and opened.response.status_code >= 400:
                    body = await opened.response.aread()
            if isinstance(opened, _Opened) and opened.response.status_code >= 400:
                headers = passed_back(opened.response.headers)
                await stack.aclose()
                return Response(body, status_code=opened.response.status_code, headers=headers)
        if not isinstance(opened, _Opened):
            await stack.aclose()
            return opened
        exchange = _Exchange(self._proxy, self, asked, prepared, stack)
        headers = passed_back(opened.response.headers) | {"x-sightline-session": prepared.name}
        if "text/event-stream" in opened.response.headers.get("content-type", ""):
            return StreamingResponse(
                exchange.stream(opened.response), status_code=opened.response.status_code, headers=headers
            )
        body = await exchange.whole(opened.response)
        return Response(body, status_code=opened.response.status_code, headers=headers)

    async def _composed_again(
        self, asked: ModelRequest, prepared: Prepared, told: str, counted: int
    ) -> Prepared | None:
        try:
            work = lambda: self._proxy.turns.refused(asked, prepared, told, counted)  # noqa: E731
            return await self._proxy.run(prepared.name, work)
        except SightlineError:
            return None

    async def open_next(self, stack: AsyncExitStack, body: bytes) -> "httpx2.Response | None":
        """Begin the next call of the model for the same request; None if it fails."""
        opened = await self._open(stack, "POST", body)
        return opened.response if isinstance(opened, _Opened) and opened.response.is_success else None


class _Opened:
    """A response whose body still comes."""

    def __init__(self, response: "httpx2.Response") -> None:
        self.response = response


class _Exchange:
    """The answer to one request: one or several calls of the model, logged one by one."""

    def __init__(
        self, proxy: Proxy, call: _Call, asked: ModelRequest, prepared: Prepared, stack: AsyncExitStack
    ) -> None:
        self._proxy, self._call, self._asked, self._stack = proxy, call, asked, stack
        self._prepared = prepared
        self._replies: list[Json] = []
        self._item = ""
        self._format = asked.format

    # ------------------------------------------------------------------ streamed

    async def stream(self, response: "httpx2.Response") -> AsyncIterator[bytes]:
        """Yield the answer as it comes. Its last event is yielded when the answer is in the log."""
        shown = filter_of(self._format.wire, self._prepared.own)
        async with self._stack:
            for number in range(1, ROUNDS + 1):
                reader, reply = EventReader(), _Streamed()
                try:
                    async for chunk in response.aiter_bytes():
                        for raw, value in reader.feed(chunk):
                            if out := self._show(shown, reply, value, raw):
                                yield out
                    rest = reader.rest()
                except BaseException:  # the client has gone, or the upstream breaks off
                    await finish(self._log(reply))
                    await finish(self._expect())
                    raise
                await finish(self._log(reply))
                goes_on = reply.finished and number < ROUNDS and self._calls_ours()
                following = await self._next_call(number) if goes_on else None
                if following is None:
                    break
                shown.begin_next()
                response = following
            await finish(self._expect())
            yield shown.end() + rest

    def _show(self, shown: Filter, reply: "_Streamed", value: Json | None, raw: bytes) -> bytes:
        if value is not None:
            reply.add(value)
        return shown.show(value, raw)

    # ------------------------------------------------------------------ whole

    async def whole(self, response: "httpx2.Response") -> bytes:
        """Return the body of the answer."""
        async with self._stack:
            for number in range(1, ROUNDS + 1):
                body = await response.aread()
                try:
                    reply = msgspec.json.decode(body)
                    read_reply(reply)
                except (msgspec.DecodeError, BadInput, RecursionError):
                    return body  # nothing that could be logged
                await finish(self._log_reply(reply))
                following = await self._next_call(number) if number < ROUNDS and self._calls_ours() else None
                if following is None:
                    break
                response = following
            await finish(self._expect())
            if len(self._replies) == 1 and not self._calls_ours():
                return body
            return msgspec.json.encode(merged(self._format.wire, self._replies, self._prepared.own))

    # ------------------------------------------------------------------ both

    def _calls_ours(self) -> bool:
        """Whether the last reply calls tools of ours, and none of the client's."""
        if not self._replies:
            return False
        ours, others = own_calls(self._format.wire, self._replies[-1], self._prepared.own)
        return ours > 0 and not others

    async def _next_call(self, number: int) -> "httpx2.Response | None":
        last = number == ROUNDS - 1
        try:
            work = lambda: self._proxy.turns.next_round(self._asked, self._prepared, last=last)  # noqa: E731
            self._prepared = await self._proxy.run(self._prepared.name, work)
        except SightlineError as error:
            _log.warning("no further call for %s: %s", self._prepared.name, error)
            return None
        self._proxy.report_recall()
        return await self._call.open_next(self._stack, self._prepared.body)

    async def _log(self, streamed: "_Streamed") -> None:
        """Log a streamed reply: whole, or marked as stopped if its end did not come."""
        reply = streamed.reply()
        if reply is not None:
            await self._log_reply(reply, stopped=not streamed.finished)

    async def _log_reply(self, reply: Json, *, stopped: bool = False) -> None:
        self._replies.append(reply)
        try:
            work = lambda: self._proxy.turns.reply(self._format, self._prepared, reply, stopped=stopped)  # noqa: E731
            self._item = await self._proxy.run(self._prepared.name, work) or self._item
        except Exception as error:
            _log.warning("an answer in %s is not logged: %s", self._prepared.name, error, exc_info=True)
            self._proxy.totals.unlogged += 1
        self._proxy.report(self._prepared, reply, stopped=stopped)

    async def _expect(self) -> None:
        if not self._item:
            return
        shown = merged(self._format.wire, self._replies, self._prepared.own)
        try:
            work = lambda: self._proxy.turns.expect(self._format, self._prepared, shown, self._item)  # noqa: E731
            await self._proxy.run(self._prepared.name, work)
        except Exception as error:
            _log.warning("an answer in %s will not be known again: %s", self._prepared.name, error, exc_info=True)


class _Streamed(StreamedReply):
    """The reply so far. What cannot be read ends it: no event is lost for the client, and the log says it stopped."""

    _is_broken = False

    def add(self, chunk: object) -> None:
        """See `StreamedReply.add`."""
        if self._is_broken:
            return
        try:
            super().add(chunk)
        except (BadInput, TypeError, ValueError, LookupError, AttributeError):
            self._is_broken = True

    def reply(self) -> Json | None:
        """See `StreamedReply.reply`."""
        try:
            return super().reply()
        except (BadInput, TypeError, ValueError, LookupError, AttributeError):
            return None


def error_response(format: Format | None, status: int, message: str) -> "Response":  # noqa: A002
    """Return an error of our own in the provider's shape."""
    from starlette.responses import JSONResponse

    if format is not None and format.provider == "anthropic":
        return JSONResponse({"type": "error", "error": {"type": "api_error", "message": message}}, status_code=status)
    error = {"message": message, "type": "server_error", "param": None, "code": "sightline"}
    return JSONResponse({"error": error}, status_code=status)
