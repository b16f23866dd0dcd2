"""One request through the proxy: logged, sent on, its answer passed back and logged before its end is.

As long as everything fits, the agent's own bytes go up. What cannot be logged is passed on as it came, and waits in the
spool where there is one: an agent never fails because of us where it would not fail without us.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote

import httpx2
import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sightline.errors import BadInput, SightlineError, StoreError
from sightline.follow.call import AsyncExchange, FollowedCall
from sightline.follow.late_calls import LateCall, LoggedCall, prepare_anew
from sightline.follow.model_request import Format, Json, ModelRequest, parse
from sightline.follow.replies import error_body
from sightline.follow.turns import Prepared, Turns
from sightline.imports.source import SPARSE, is_dense
from sightline.server.config import MAX_BODY
from sightline.server.destinations import Destination, NoDestination, provider_of, read_door
from sightline.server.events import Event, Hub
from sightline.server.late_log import LateLog
from sightline.server.metrics import PATH_PATTERN, Metrics
from sightline.server.packed_bodies import unpack
from sightline.server.recent_requests import RecentRequests
from sightline.server.spool import Spool
from sightline.server.totals import Totals
from sightline.server.upstream import Upstream, passed_back
from sightline.session.worker import Worker
from sightline.values.finish import finish

R = TypeVar("R")

_LOG_SECONDS = 5  # that logging may take when the server stops
_MOST_LIST = 8_000_000  # bytes of a list of models
_MOST_WORKERS = 1000  # conversations whose requests wait for each other, those used last
_WARN_SECONDS = 60.0  # between two warnings that something is not logged
_RETRY_SECONDS = 10  # after which a client may try again what could not be logged
_NOT_LOGGED = "its log cannot be written now"
_NO_ANSWER = "what its provider sent is no answer"
_TRY_LATER = "try again when the disk or the database is back"
_AWAY = (StoreError, OSError)  # errors of a log that cannot be written now, and not of what is to be written
_log = logging.getLogger("sightline.server")


class Proxy:
    """Passes requests for models on, and keeps their conversations."""

    def __init__(
        self,
        turns: Turns,
        upstream: Upstream,
        totals: Totals,
        *,
        metrics: Metrics,
        hub: Hub,
        require_log: bool = False,
        spool: Spool | None = None,
    ) -> None:
        """`require_log`: what cannot be logged is refused. `spool`: where it waits else; None: nowhere."""
        self._turns, self._upstream, self._totals, self.require_log = turns, upstream, totals, require_log
        self.late_log = LateLog(spool, turns, metrics, self._report_late)
        self._warned_at, self._unwarned = -_WARN_SECONDS, 0  # when it was last said what is not logged, and since then
        self._metrics, self._hub = metrics, hub
        self._workers: dict[str, Worker] = {}
        self._searches = Worker()  # one at a time: each reads many logs, and all tenants share the threads
        self._recent = RecentRequests(turns.remembered)
        self._logs: set[asyncio.Task[Prepared]] = set()  # requests that are logged after they were sent
        self._calls: set[ModelCall] = set()  # that are being answered
        self._is_kept = True  # the last request that was to be logged was

    async def answer(self, request: Request) -> ASGIApp:
        """Answer a request for a model, pass on any other one of its provider, or say why it goes nowhere."""
        path, headers = _raw_path(request), _joined(request.headers)
        try:
            destination = self._upstream.destinations.find(path, request.url.query, headers)
        except NoDestination as error:
            self._totals.fail(str(error))
            body = error_body(provider_of(path, headers), 400, str(error), code="no_destination")
            return JSONResponse(body, status_code=400)
        call = ModelCall(self, request.headers.items(), destination)
        if destination.format is None or request.method != "POST":
            self._totals.others += 1
            return await call.pass_on(request.method, await request.body())
        request.scope[PATH_PATTERN] = read_door(path).path
        return await self._call_model(request, destination.format, call)

    async def _call_model(self, request: Request, format: Format, call: "ModelCall") -> ASGIApp:  # noqa: A002
        self._calls.add(call)
        try:
            response = await self._answer(request, format, call)
        except BaseException:
            self._calls.discard(call)
            raise
        return _UntilSent(response, lambda: self._calls.discard(call))

    async def _answer(self, request: Request, format: Format, call: "ModelCall") -> Response:  # noqa: A002
        body, headers = await request.body(), _joined(request.headers)
        if encoding := headers.get("content-encoding"):
            try:
                body = await call.unpack(body, encoding)
            except BadInput:
                return await self._pass_unread(call, body)
        # Decoded, a dense one takes seventy times its bytes.
        if len(body) > SPARSE and await asyncio.to_thread(is_dense, body):
            return await self._pass_unread(call, body)
        try:
            model_request = None
            with suppress(msgspec.DecodeError):  # half a character, or no JSON: `parse` finds out
                model_request = self._recent.match(format, body, headers)
            if model_request is None:
                model_request = self._turns.names.with_name(await asyncio.to_thread(parse, format, body, headers))
        except Exception:  # whatever it is: the provider says what is wrong with it
            return await self._pass_unread(call, body)
        call.names.add(model_request.name)
        if not (self.require_log or self.late_log.refuses) and await self._passes(model_request):
            return await call.answer(model_request, None)
        try:
            prepared = await self.log_request(model_request, call.names)
        except Exception as error:  # a full disk, say: the agent goes on without us
            return await self._pass_unlogged(call, model_request, error)
        return await call.answer(model_request, prepared)

    async def _pass_unread(self, call: "ModelCall", body: bytes) -> Response:
        """Pass a request on that nobody here can read, so that it is in no log."""
        if self.require_log:
            why = "the request cannot be read here, and this server answers only what it logs (--require-log)"
            return _read_response(call.error(400, f"{why}: send it as plain JSON in the provider's format"))
        response = await call.pass_on("POST", body)
        if response.status_code < 400:
            self.note_unlogged(
                "a request",
                BadInput("it is packed in a way that is not read here, or has little but brackets, or no known form"),
            )
        elif not call.has_failed:
            self._totals.fail(_refused(response.status_code))
        return response

    async def _pass_unlogged(self, call: "ModelCall", model_request: ModelRequest, error: Exception) -> Response:
        """Pass a request on that could not be logged, or refuse it.

        One that would have been shortened is refused too: sent whole it would cost many times what was agreed on.
        """
        is_away = isinstance(error, _AWAY)
        if self.require_log:
            why = "--require-log"
        elif is_away and not await asyncio.to_thread(self._turns.fits_whole, model_request):
            why = "the history is longer than its context window"
        elif is_away and self.late_log.has_spool:
            if not (why := await self.late_log.keep(LateCall(model_request))):
                return await call.answer(model_request, None, spooled=True)
        else:
            return await call.pass_on("POST", model_request.body)
        self._totals.fail(f"{_NOT_LOGGED} ({why})")
        return _read_response(call.error(503, f"{_NOT_LOGGED} ({why}): {_TRY_LATER}", retry_after=_RETRY_SECONDS))

    async def _passes(self, model_request: ModelRequest) -> bool:
        if self._turns.asks_database:
            return await asyncio.to_thread(self._turns.passes, model_request)
        return self._turns.passes(model_request)

    async def log_request(self, model_request: ModelRequest, names: set[str], *, passed: bool = False) -> Prepared:
        """Log a request, and compose what is sent if that is something else. Raises what `Turns.prepare` does.

        The name of its conversation is put into `names` before anything is written.
        """

        def log() -> tuple[ModelRequest, Prepared]:
            named_request = self._turns.names.find(model_request)
            names.add(named_request.name)
            return named_request, prepare_anew(self._turns, named_request, passed=passed)

        try:
            await self.late_log.bring_in()  # before what goes on from it
            if model_request.kept_upstream and not self._turns.names.name_at_once(model_request):
                await self._searches.run(lambda: self._turns.names.find(model_request))
            model_request, prepared = await self.run(model_request.name, log)
        except Exception as error:
            self.note_unlogged(f"a request of {model_request.name}", error)
            self._is_kept = False
            self._recent.forget(model_request.name)
            if passed and isinstance(error, _AWAY):  # else it is not decided whether it goes up
                await self.late_log.keep(LateCall(model_request))
            raise
        self._is_kept = True
        self.late_log.note_logged()
        self._recent.keep(model_request, None if prepared.composed else prepared.sent)
        if prepared.begins:
            self._hub.publish(Event("session_created", prepared.name))
        return prepared

    def note_unlogged(self, what: str, error: Exception) -> None:
        """Count something that is in no log. It is said once a minute, because nothing is logged for a while then."""
        is_ours = isinstance(error, SightlineError)  # its message says all
        why = str(error) if is_ours else type(error).__name__
        self._totals.unlogged += 1
        self._totals.unlogged_why = why
        self._metrics.unlogged()
        self._unwarned += 1
        if (now := self._totals.clock()) - self._warned_at < _WARN_SECONDS:
            return
        more = f" ({self._unwarned:,} since the last warning)" if self._unwarned > 1 else ""
        _log.warning("%s is not logged: %s%s", what, why, more, exc_info=None if is_ours else error)
        self._warned_at, self._unwarned = now, 0

    def begin_log(self, model_request: ModelRequest, names: set[str]) -> "asyncio.Task[Prepared]":
        """Begin to log a request that was sent as it came."""
        task = asyncio.create_task(self.log_request(model_request, names, passed=True))
        self._logs.add(task)
        task.add_done_callback(self._logs.discard)
        return task

    def name_at_once(self, model_request: ModelRequest) -> str:
        """Return the session that a request is logged in; empty: it is not known yet, or nothing can be logged now."""
        return self._turns.names.name_at_once(model_request) if self._is_kept else ""

    @contextmanager
    def closed(self, name: str) -> Iterator[bool]:
        """Have a conversation closed while the block runs, so that its log can be deleted. For a thread.

        Gives False, and closes nothing, while a request of it is answered: its answer belongs into the log.
        """
        if any(name in call.names for call in tuple(self._calls)):
            yield False
            return
        with self._turns.closed(name) as is_closed:
            yield is_closed

    async def close(self) -> None:
        """Wait a while until everything is logged that was sent."""
        if self._logs:
            await asyncio.wait(self._logs, timeout=_LOG_SECONDS)
        await self.late_log.close()

    async def run(self, name: str, work: Callable[[], R]) -> R:
        """Do something with a conversation, after all that was begun before."""
        worker = self._workers[name] = self._workers.pop(name) if name in self._workers else Worker()
        while len(self._workers) > _MOST_WORKERS:
            del self._workers[next(iter(self._workers))]
        return await worker.run(work)

    def report(self, prepared: Prepared, reply: Json, item: str, *, stopped: bool) -> None:
        """Count a call of a model, and tell those who watch. `item`: its answer in the log; empty: it is not there."""
        usage = self._totals.add(prepared, reply)
        self._metrics.tokens(offered=prepared.offered, sent=prepared.sent, billed=usage.input_tokens if usage else 0)
        facts = {"offered": prepared.offered, "sent": prepared.sent, "composed": prepared.composed}
        self._hub.publish(Event("payload", prepared.name, prepared.place.branch, facts))
        if prepared.swept:
            self._metrics.sweep(prepared.swept)
            self._hub.publish(Event("sweep", prepared.name, prepared.place.branch, {"reason": prepared.swept}))
        self._hub.publish(Event("append", prepared.name, prepared.place.branch, {"item": item, "stopped": stopped}))

    def _report_late(self, logged: LoggedCall) -> None:
        self._recent.forget(logged.call.request.name)
        if logged.call.reply is not None:
            self.report(logged.prepared, logged.call.reply, logged.item, stopped=logged.call.stopped)

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


class _UntilSent:
    """A response that tells when it was sent, or could not be."""

    def __init__(self, response: Response, on_end: Callable[[], None]) -> None:
        self._response, self._on_end = response, on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._response(scope, receive, send)
        finally:
            self._on_end()


class _Relayed(StreamingResponse):
    """A response that comes as the upstream sends it. It breaks off where that does, or it would look whole."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except httpx2.HTTPError as error:  # no warning: the terminal of `wrap` is the agent's
            _log.info("%s", _broke_off(error))


class ModelCall:
    """One request of a client: where it goes, and the conversation that it belongs to."""

    def __init__(self, proxy: Proxy, headers: Any, destination: Destination) -> None:
        self._proxy, self._headers = proxy, list(headers)
        self._address, self._provider = destination.address, destination.provider
        self._lists_models = destination.lists_models
        self.names: set[str] = set()  # of the conversation, as far as they are known
        self.has_failed = False  # there was no answer of the provider
        self._packed: tuple[bytes, bytes] | None = None  # its body unpacked, and as it came

    async def unpack(self, body: bytes, encoding: str) -> bytes:
        """Return the body of a request that came compressed as it was before. Raises BadInput."""
        plain = await asyncio.to_thread(unpack, body, encoding, MAX_BODY)
        self._packed = plain, body
        return plain

    def _as_it_came(self, body: bytes) -> tuple[list[tuple[str, str]], bytes]:
        """Return the headers and the bytes of a body that goes up: one that came compressed does so unless changed."""
        if self._packed is None:
            return self._headers, body
        plain, packed = self._packed
        if body == plain:
            return self._headers, packed
        return [each for each in self._headers if each[0].lower() != "content-encoding"], body

    async def pass_on(self, method: str, body: bytes) -> Response:
        """Send a request as it came, and pass the answer back as it comes."""
        try:
            response = await self._proxy.upstream.send(method, self._address, *self._as_it_came(body))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return _read_response(self.failure(error))

        seen = b""
        is_read = self._lists_models and response.status_code < 400

        async def stream() -> AsyncIterator[bytes]:
            nonlocal seen
            try:
                async for chunk in response.aiter_bytes():
                    if is_read and len(seen) <= _MOST_LIST:
                        seen += chunk
                    yield chunk
                if is_read:
                    self._read_models(seen)
            finally:
                await finish(response.aclose())

        return _Relayed(stream(), status_code=response.status_code, headers=passed_back(response.headers))

    def _read_models(self, body: bytes) -> None:
        """Take in what a list of models says about their context windows."""
        with suppress(msgspec.DecodeError, RecursionError):
            self._proxy.turns.know_models(msgspec.json.decode(body), dict(self._headers))

    async def answer(
        self, model_request: ModelRequest, prepared: Prepared | None, *, spooled: bool = False
    ) -> Response:
        """Call the model, and answer calls of our tools until it answers the client.

        `prepared`: what is sent, and where it is logged. None: it is sent as it came, and logged after that, unless it
        is `spooled` because it cannot be.
        """
        call = FollowedCall(self._proxy.turns, model_request, prepared)
        exchange = _ProxyExchange(self._proxy, self, call, spooled=spooled)
        response = await exchange.begin(call.body)
        if response.status_code >= 400:
            if not self.has_failed:
                self._proxy.totals.fail(_refused(response.status_code))
            return _read_response(response)
        if "text/event-stream" in response.headers.get("content-type", ""):
            name = call.prepared.name if call.prepared else self._proxy.name_at_once(model_request)
            headers = _headers_of(response, name)
            return _Relayed(self._relay(exchange, response), status_code=response.status_code, headers=headers)
        try:
            last, body = await exchange.whole(response)
        except httpx2.HTTPError as error:
            return _read_response(self.failure(error))
        if last.status_code >= 400:
            return _read_response(last)
        if not call.replies:
            self._proxy.totals.fail(_NO_ANSWER)
        headers = _headers_of(response, call.prepared.name if call.prepared else "")
        return Response(body, status_code=last.status_code, headers=headers)

    async def _relay(self, exchange: "_ProxyExchange", response: httpx2.Response) -> AsyncIterator[bytes]:
        """Yield a streamed answer as it comes. A call that got nothing of it is counted as failed."""
        why = "the client left before there was an answer"
        try:
            async with aclosing(exchange.stream(response)) as pieces:
                async for piece in pieces:
                    yield piece
            kind = exchange.call.error_kind
            why = f"its provider told an error in place of an answer ({kind})" if kind else _NO_ANSWER
        except httpx2.HTTPError as error:
            why = _broke_off(error)
            raise
        finally:
            if not exchange.call.replies and not self.has_failed:
                self._proxy.totals.fail(why)

    async def send(self, body: bytes, on_sent: Callable[[], None] | None = None) -> httpx2.Response:
        """Call the model. Return the response whose body still comes; an error is whole, ours if there is no other."""
        try:
            headers, sent = self._as_it_came(body)
            response = await self._proxy.upstream.send("POST", self._address, headers, sent, on_sent)
            if response.status_code >= 400:
                await response.aread()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return self.failure(error)
        return response

    def failure(self, error: Exception) -> httpx2.Response:
        """Return our own error for an upstream that does not answer, or breaks off before its answer is whole."""
        status = 502
        if isinstance(error, httpx2.TimeoutException) and not isinstance(error, httpx2.ConnectTimeout):
            status, why = 504, "the model's server did not answer in time"
        elif isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.InvalidURL):
            why = f"the model's server cannot be reached ({type(error).__name__}): is the upstream's address right?"
        else:
            why = f"{_broke_off(error)}: try again"
        self.has_failed = True
        self._proxy.totals.fail(why)
        return self.error(status, why)

    def error(self, status: int, why: str, *, retry_after: int = 0) -> httpx2.Response:
        """Return an error of our own in the shape of the client's provider."""
        headers = {"retry-after": str(retry_after)} if retry_after else {}
        return httpx2.Response(status, headers=headers, json=error_body(self._provider, status, why))


class _ProxyExchange(AsyncExchange):
    """The answer to one request of a client: counted and told as it is logged."""

    def __init__(self, proxy: Proxy, model_call: ModelCall, call: FollowedCall, *, spooled: bool) -> None:
        super().__init__(call, self._send_call)
        self._proxy, self._model_call = proxy, model_call
        self._logging: asyncio.Task[Prepared] | None = None  # of the request, after it was sent
        self._is_away = self._is_spooled = spooled  # nothing can be logged now, and the request waits in the spool
        self._unkept = ""  # why an answer is kept nowhere

    async def _send_call(self, body: bytes) -> httpx2.Response:
        """Send a call of the model. A request that is not in the log yet is logged from then on."""
        if self.call.prepared is not None:
            return await self._model_call.send(body)
        response = await self._model_call.send(body, self._begin_log)
        self._begin_log()
        return response

    def _begin_log(self) -> None:
        if self._logging is None and not self._is_spooled:
            self._logging = self._proxy.begin_log(self.call.request, self._model_call.names)

    async def run(self, work: Callable[[], R]) -> R:
        """Do something with the conversation, when the request is in its log and all is done that was begun before."""
        if self.call.prepared is None and self._logging is not None:
            try:
                self.call.prepared = await asyncio.shield(self._logging)
            except Exception as error:  # it was said when it happened
                self._is_away = isinstance(error, _AWAY)
        return await self._proxy.run(self.call.name, work)

    async def log(self, work: Callable[[], None]) -> None:
        """Log an answer, and tell it to those who count and watch."""
        call, count = self.call, len(self.call.replies)
        await self.run(work)
        if len(call.replies) == count:
            return
        if call.prepared is not None:
            self._proxy.report(call.prepared, call.replies[-1], call.item, stopped=call.is_stopped)
            if call.failure is not None:
                self._proxy.note_unlogged(f"an answer in {call.name}", call.failure)
        if call.failure is not None and (self._is_away or isinstance(call.failure, _AWAY)):
            await self._keep()

    async def _keep(self) -> None:
        """Have the answer wait in the spool."""
        call = self.call
        late_call = LateCall(call.request, call.replies[-1], call.visible_reply, call.is_stopped)
        self._unkept = await self._proxy.late_log.keep(late_call)

    async def finish(self) -> None:
        """Note what the client got. While the database is away that waits, too, or the answer would come twice."""
        call, failure = self.call, self.call.failure
        await super().finish()
        if call.failure is not failure and isinstance(call.failure, _AWAY):
            await self._keep()

    async def next(self) -> httpx2.Response | None:
        """Begin the next call of the model. If it fails, the client gets an error: half an answer would look whole."""
        call, rounds = self.call, self.call.rounds
        unkept = "--require-log" if self._proxy.require_log and call.failure is not None else self._unkept
        if unkept and (self._proxy.require_log or self._proxy.late_log.has_spool):
            why = f"the answer came, and {_NOT_LOGGED} ({unkept}): {_TRY_LATER}"
            return self._model_call.error(503, why, retry_after=_RETRY_SECONDS)
        try:
            body = await self.run(call.next_body) if call.goes_on else None
        except Exception as error:
            _log.warning("no further call for %s: %s", call.name, error)
            why = "what the model asked to read again cannot be brought back: is the disk full?"
            return self._model_call.error(503, why)
        if call.rounds > rounds:
            self._proxy.report_recall()
        return None if body is None else await self.begin(body)


def _broke_off(error: Exception) -> str:
    return f"the model's server broke off before its answer was whole ({type(error).__name__})"


def _refused(status: int) -> str:
    return f"its provider answered with status {status}"


def _headers_of(response: httpx2.Response, name: str) -> Headers:
    return passed_back(response.headers, **({"x_sightline_session": name} if name else {}))


def _read_response(response: httpx2.Response) -> Response:
    """Return a response that was read, for the client."""
    return Response(response.content, status_code=response.status_code, headers=passed_back(response.headers))


def _joined(headers: Headers) -> dict[str, str]:
    """Return the headers by name. One that comes twice has both values, as both are sent."""
    return {name: ", ".join(headers.getlist(name)) for name in headers}


def _raw_path(request: Request) -> str:
    """Return the path as it came: a / or ? in a name stays escaped."""
    raw: bytes = request.scope.get("raw_path") or quote(request.url.path).encode()
    return raw.partition(b"?")[0].decode("latin-1")
