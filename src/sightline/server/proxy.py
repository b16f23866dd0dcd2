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
from sightline.errors import BadInput
from sightline.server.answer import EventReader, Filter, filter_of, show_error
from sightline.server.events import Event, Hub
from sightline.server.metrics import Metrics
from sightline.server.model_request import FORMATS, Format, Json, ModelRequest, parse
from sightline.server.replies import StreamedAnswer, error_response, merged, own_calls
from sightline.server.totals import Totals
from sightline.server.turns import Prepared, Turns
from sightline.server.upstream import Upstream, passed_back
from sightline.session.worker import Worker
from sightline.values.finish import finish
from sightline.wire import read_reply

if TYPE_CHECKING:
    import httpx2
    from starlette.requests import Request
    from starlette.responses import Response

R = TypeVar("R")

ROUNDS = 8  # calls of the model for one request; at the last one it has no tools
_MOST_WORKERS = 1000  # conversations whose requests wait for each other, those used last
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
        address = self._upstream.address(format.provider, _raw_path(request), request.url.query)
        call = _Call(self, request.headers.items(), address, format)
        if "content-encoding" in request.headers:  # compressed: nobody here reads it
            return await call.pass_on(request.method, body)
        try:
            asked = await asyncio.to_thread(parse, format, body, dict(request.headers))
            name = await asyncio.to_thread(asked.name)
        except Exception:  # whatever it is: the provider says what is wrong with it
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
        address = self._upstream.address(provider, _raw_path(request), request.url.query)
        call = _Call(
            self, request.headers.items(), address, FORMATS["/v1/messages"] if provider == "anthropic" else None
        )
        return await call.pass_on(request.method, await request.body())

    async def run(self, name: str, work: Callable[[], R]) -> R:
        """Do something with a conversation, after all that was begun before."""
        worker = self._workers[name] = self._workers.pop(name) if name in self._workers else Worker()
        while len(self._workers) > _MOST_WORKERS:
            del self._workers[next(iter(self._workers))]
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
        import httpx2
        from starlette.responses import StreamingResponse

        stack = AsyncExitStack()
        response = await self._open(stack, method, body)
        if not isinstance(response, httpx2.Response):
            return response

        async def stream() -> AsyncIterator[bytes]:
            async with stack:
                async for chunk in response.aiter_bytes():
                    yield chunk

        return StreamingResponse(stream(), status_code=response.status_code, headers=passed_back(response.headers))

    async def _open(self, stack: AsyncExitStack, method: str, body: bytes) -> "httpx2.Response | Response":
        """Begin a request. Return the response whose body still comes, or our own error if there is none."""
        import httpx2

        try:
            sent = self._proxy.upstream.send(method, self._address, self._headers, body)
            return await stack.enter_async_context(sent)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return self.failure(error)

    def failure(self, error: Exception) -> "Response":
        """Return our own error for an upstream that does not answer, or breaks off before its answer is whole."""
        import httpx2

        if isinstance(error, httpx2.TimeoutException) and not isinstance(error, httpx2.ConnectTimeout):
            return error_response(self._format, 504, "the model's server did not answer in time")
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.InvalidURL):
            why = f"the model's server cannot be reached ({type(error).__name__}): is the upstream's address right?"
        else:
            why = f"the model's server broke off before its answer was whole ({type(error).__name__}): try again"
        return error_response(self._format, 502, why)

    # ------------------------------------------------------------------ with a log

    async def answer(self, asked: ModelRequest, prepared: Prepared) -> "Response":
        """Call the model, and answer calls of our tools until it answers the client."""
        import httpx2
        from starlette.responses import StreamingResponse

        async with AsyncExitStack() as stack:
            prepared, response = await self.begin(stack, asked, prepared)
            if not isinstance(response, httpx2.Response):
                return response
            exchange = _Exchange(self._proxy, self, asked, prepared, stack.pop_all())
        headers = passed_back(response.headers) | {"x-sightline-session": prepared.name}
        if "text/event-stream" not in response.headers.get("content-type", ""):
            return await exchange.whole(response, headers)
        return StreamingResponse(exchange.stream(response), status_code=response.status_code, headers=headers)

    async def begin(
        self, stack: AsyncExitStack, asked: ModelRequest, prepared: Prepared
    ) -> "tuple[Prepared, httpx2.Response | Response]":
        """Begin a call of the model. If it is refused as too long, it is made shorter and sent again, once.

        Return what was sent at last, and the response whose body still comes, or an error for the client.
        """
        import httpx2
        from starlette.responses import Response

        response = await self._open(stack, "POST", prepared.body)
        for is_last in (False, True):
            if not isinstance(response, httpx2.Response) or response.status_code < 400:
                break
            try:
                body = await response.aread()
            except httpx2.HTTPError as error:
                return prepared, self.failure(error)
            status, told = response.status_code, body.decode("utf-8", "replace")
            again = None if is_last else await self.shorten(asked, prepared, status, told)
            if again is None:
                return prepared, Response(body, status_code=status, headers=passed_back(response.headers))
            prepared = again
            response = await self._open(stack, "POST", prepared.body)
        return prepared, response

    async def shorten(self, asked: ModelRequest, prepared: Prepared, status: int, told: str) -> Prepared | None:
        """Compose again what the provider refused as too long; None: it was refused for another reason."""
        if (counted := overflow_tokens(status, told)) is None:
            return None
        try:
            work = lambda: self._proxy.turns.refused(asked, prepared, told, counted)  # noqa: E731
            return await self._proxy.run(prepared.name, work)
        except Exception as error:  # the client is told what the provider said
            _log.warning("%s cannot be made shorter: %s", prepared.name, error)
            return None


class _Exchange:
    """The answer to one request: one or several calls of the model, logged one by one."""

    def __init__(
        self, proxy: Proxy, call: _Call, asked: ModelRequest, prepared: Prepared, stack: AsyncExitStack
    ) -> None:
        self._proxy, self._call, self._asked, self._stack = proxy, call, asked, stack
        self._prepared, self._own = prepared, prepared.own  # tools of ours that were offered in any of the calls
        self._replies: list[Json] = []
        self._item, self._is_unlogged = "", False
        self._format = asked.format

    # ------------------------------------------------------------------ streamed

    async def stream(self, response: "httpx2.Response") -> AsyncIterator[bytes]:
        """Yield the answer as it comes. Its last event is yielded when the answer is in the log."""
        import httpx2

        shown = filter_of(self._format.wire, self._prepared.own)
        async with self._stack:
            following: httpx2.Response | Response | None = response
            number = 0
            try:
                while isinstance(following, httpx2.Response):
                    number += 1
                    reader, reply = EventReader(), StreamedAnswer()
                    try:
                        async for chunk in following.aiter_bytes():
                            for raw, value in reader.feed(chunk):
                                if out := self._show(shown, reply, value, raw):
                                    yield out
                        for raw, value in reader.rest():
                            if out := self._show(shown, reply, value, raw):
                                yield out
                    finally:  # also if the client has gone, or the upstream breaks off
                        await finish(self._log(reply))
                    if reply.refusal and number == 1:
                        following = await self._after_refusal(reply.refusal)
                    else:
                        following = await self._next_call(number) if reply.finished else None
                    if isinstance(following, httpx2.Response):
                        shown.begin_next(self._prepared.own)
            finally:
                await finish(self._expect())
            yield shown.end() if following is None else show_error(shown, self._format.wire, bytes(following.body))

    def _show(self, shown: Filter, reply: "StreamedAnswer", value: Json | None, raw: bytes) -> bytes:
        if value is not None:
            reply.add(value)
        return shown.show(value, raw)

    async def _after_refusal(self, told: str) -> "httpx2.Response | None":
        """Begin again after a stream that only says that the request is too long; None: it says something else."""
        import httpx2

        again = await self._call.shorten(self._asked, self._prepared, 400, told)
        if again is None:
            return None
        self._prepared, response = await self._call.begin(self._stack, self._asked, again)
        self._own |= self._prepared.own
        return response if isinstance(response, httpx2.Response) else None

    # ------------------------------------------------------------------ whole

    async def whole(self, response: "httpx2.Response", headers: dict[str, str]) -> "Response":
        """Return the answer."""
        import httpx2
        from starlette.responses import Response

        async with self._stack:
            following: httpx2.Response | Response | None = response
            number = 0
            try:
                while isinstance(following, httpx2.Response):
                    number += 1
                    try:
                        body = await following.aread()
                    except httpx2.HTTPError as error:
                        return self._call.failure(error)
                    try:
                        reply = msgspec.json.decode(body)
                        read_reply(reply)
                    except Exception:  # nothing that could be logged
                        return Response(body, status_code=following.status_code, headers=headers)
                    await finish(self._log_reply(reply))
                    following = await self._next_call(number)
            finally:
                await finish(self._expect())
            if following is not None:
                return following
            if len(self._replies) > 1 or own_calls(self._format.wire, self._replies[0], self._own)[0]:
                body = msgspec.json.encode(merged(self._format.wire, self._replies, self._own))
            return Response(body, status_code=response.status_code, headers=headers)

    # ------------------------------------------------------------------ both

    async def _next_call(self, number: int) -> "httpx2.Response | Response | None":
        """Begin the next call if the last reply calls tools of ours, and none of the client's. None: it is the answer.

        If it fails, the client gets an error: half an answer would look like a whole one.
        """
        ours, others = own_calls(self._format.wire, self._replies[-1], self._own) if self._replies else (0, 0)
        if not ours or others or number >= ROUNDS:
            return None
        try:
            if self._is_unlogged:
                raise BadInput("its call could not be logged")
            last = number == ROUNDS - 1
            work = lambda: self._proxy.turns.next_round(self._asked, self._prepared, last=last)  # noqa: E731
            self._prepared = await self._proxy.run(self._prepared.name, work)
        except Exception as error:
            _log.warning("no further call for %s: %s", self._prepared.name, error)
            why = "what the model asked to read again cannot be brought back: is the disk full?"
            return error_response(self._format, 503, why)
        self._proxy.report_recall()
        self._prepared, response = await self._call.begin(self._stack, self._asked, self._prepared)
        self._own |= self._prepared.own
        return response

    async def _log(self, streamed: "StreamedAnswer") -> None:
        """Log a streamed reply: whole, or marked as stopped if its end did not come."""
        reply = streamed.reply()
        if reply is not None:
            await self._log_reply(reply, stopped=not streamed.finished)

    async def _log_reply(self, reply: Json, *, stopped: bool = False) -> None:
        self._replies.append(reply)
        try:
            work = lambda: self._proxy.turns.reply(self._format, self._prepared, reply, stopped=stopped)  # noqa: E731
            item, self._prepared = await self._proxy.run(self._prepared.name, work)
            self._item = item or self._item
        except Exception as error:
            _log.warning("an answer in %s is not logged: %s", self._prepared.name, error, exc_info=True)
            self._proxy.totals.unlogged += 1
            self._is_unlogged = True
        self._proxy.report(self._prepared, reply, stopped=stopped)

    async def _expect(self) -> None:
        if not self._replies:
            return
        shown = merged(self._format.wire, self._replies, self._own)
        try:
            work = lambda: self._proxy.turns.expect(self._format, self._prepared, shown, self._item)  # noqa: E731
            await self._proxy.run(self._prepared.name, work)
        except Exception as error:
            _log.warning("an answer in %s will not be known again: %s", self._prepared.name, error, exc_info=True)


def _raw_path(request: "Request") -> str:
    """Return the path as it came: a / or ? in a name stays escaped."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    return raw.partition(b"?")[0].decode("latin-1")
