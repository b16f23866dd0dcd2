"""One call of a program to its model, followed: what is sent for it, what comes back, and what the program sees of it.

It may take several calls of the model. One that is refused as too long is made shorter and sent again, once. One that
calls tools of ours is answered, and the model is called again. `FollowedCall` is the core: it sends nothing, and its
methods return what is to be sent. `Exchange` and `AsyncExchange` send it, by whatever sends requests and gives back
responses as httpx has them.

A failure of the log is no failure of the call: then the answer passes on, and is not logged.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import msgspec

from sightline.errors import BadInput, SightlineError
from sightline.follow.answer import EventReader, Filter, filter_of, show_error
from sightline.follow.model_request import Format, Json, ModelRequest, parse
from sightline.follow.replies import StreamedAnswer, merged, own_calls
from sightline.follow.turns import Prepared, Turns
from sightline.providers.errors import overflow_tokens
from sightline.values.decoders import decode_mended
from sightline.values.finish import finish
from sightline.wire import read_reply

R = TypeVar("R")
_log = logging.getLogger("sightline.follow")


class FollowedCall:
    """One call of a program: one or several calls of the model, logged one by one.

    Methods that read or write the log block. Everything else about a call is told by its attributes.
    """

    def __init__(self, turns: Turns, request: ModelRequest, prepared: Prepared | None) -> None:
        """`prepared`: what `Turns.prepare` gave for the request.

        None: it is sent as it came, and logged meanwhile. Then `prepared` is set when it is in the log, before anything
        else is logged; if it stays None, the call is not followed.
        """
        self._turns, self.request, self.prepared = turns, request, prepared
        self.replies: list[Json] = []  # of the model, without those that could not be read
        self.item = ""  # that the last of them is in the log; empty: it is not there
        self.is_stopped = False  # the last answer broke off, or could not be read
        self.failure: Exception | None = None  # why an answer could not be logged
        self.rounds = 0  # calls of the model after answers to calls of our tools
        self._own = prepared.own if prepared else frozenset[str]()  # our tools that any call offered
        self._last_item = ""
        self._was_refused = self._is_done = False
        self._shown: Filter | None = None
        self._reader, self._streamed = EventReader(), StreamedAnswer()

    @classmethod
    def begin(
        cls,
        turns: Turns,
        format: Format,  # noqa: A002
        body: bytes,
        headers: Mapping[str, str],
        session: str = "",
    ) -> "FollowedCall":
        """Log what is new in a request. Raises what `parse` and `Turns.prepare` raise.

        `session`: the id of the session that has the conversation; empty: the request tells it.
        """
        request = parse(format, body, headers)
        request = request._replace(name=session, pieces=None) if session else turns.names.find(request)
        return cls(turns, request, turns.prepare(request))

    @property
    def name(self) -> str:
        """The id of the session that has the conversation."""
        return self.prepared.name if self.prepared else self.request.name

    @property
    def error_kind(self) -> str:
        """Of the error that the last stream told, in the provider's word; empty: it told none."""
        return self._streamed.error_kind

    @property
    def body(self) -> bytes:
        """What is sent now."""
        return self.prepared.body if self.prepared else self.request.body

    # ------------------------------------------------------------------ refused

    def is_too_long(self, status: int, told: bytes) -> bool:
        """Whether an error says that the request is too long, and a shorter one can be sent instead."""
        is_overflow = overflow_tokens(status, told.decode("utf-8", "replace")) is not None
        return is_overflow and not self.request.kept_upstream and not self._was_refused

    def refused(self, status: int, told: bytes) -> bytes | None:
        """Return what is sent instead of a request that the provider has refused; None: the program gets the error.

        A call of the model is made shorter once: another refusal is the program's.
        """
        text = told.decode("utf-8", "replace")
        if not self.is_too_long(status, told) or self.prepared is None:
            return None
        self._was_refused = True
        try:
            counted = overflow_tokens(status, text) or 0
            self.prepared = self._turns.refused(self.request, self.prepared, text, counted)
        except Exception as error:  # the program is told what the provider said
            _log.warning("%s cannot be made shorter: %s", self.name, error)
            return None
        return self._offered()

    # ------------------------------------------------------------------ an answer that comes whole

    def take(self, body: bytes) -> None:
        """Log an answer."""
        try:
            reply = decode_mended(body, Json | list[Json])
            is_stopped = False
            if isinstance(reply, list):
                reply, is_stopped = _reply_of(reply)
            if reply is None:
                raise BadInput("the list has no reply")
            read_reply(reply)
        except Exception:  # nothing that could be logged
            self.is_stopped = True
            return
        self.log(reply, stopped=is_stopped)

    def result(self, body: bytes) -> bytes:
        """Return what the program gets after the last answer, which has this body."""
        if self.is_stopped or not self.replies or (len(self.replies) == 1 and not self._count_calls()[0]):
            return body
        visible = self.visible_reply
        return msgspec.json.encode([visible] if body.lstrip().startswith(b"[") else visible)

    # ------------------------------------------------------------------ an answer that is streamed

    def begin_stream(self) -> None:
        """Begin the stream of a call of the model."""
        if self._shown is None:
            self._shown = filter_of(self.request.format.wire, self._own)
        else:
            self._shown.begin_next(self.prepared.own if self.prepared else frozenset())
        self._reader, self._streamed = EventReader(), StreamedAnswer()

    def feed(self, chunk: bytes) -> bytes:
        """Return what the program gets for these bytes of a stream."""
        return b"".join(self._show(raw, value) for raw, value in self._reader.feed(chunk))

    def rest(self) -> bytes:
        """Return what the program gets for bytes after the last whole event of a stream."""
        return b"".join(self._show(raw, value) for raw, value in self._reader.rest())

    def log_stream(self) -> None:
        """Log what was streamed: whole, or marked as stopped if its end did not come."""
        self.is_stopped = not self._streamed.finished
        if (reply := self._streamed.reply()) is not None:
            self.log(reply, stopped=self.is_stopped)

    def end(self, error: bytes | None = None) -> bytes:
        """Return the events that end the answer. `error`: the body with which the next call failed."""
        assert self._shown is not None
        if error is None or self._streamed.refusal:  # it was refused before, and that is told
            return self._shown.end()
        return show_error(self._shown, self.request.format.wire, error)

    def _show(self, raw: bytes, value: Json | None) -> bytes:
        assert self._shown is not None
        if value is not None:
            self._streamed.add(value)
        return self._shown.show(value, raw)

    # ------------------------------------------------------------------ both

    def log(self, reply: Json, *, stopped: bool = False) -> None:
        """Log an answer of the model, and answer its calls of our tools. `failure` says why it could not be done."""
        self.replies.append(reply)
        self.item, self.is_stopped = "", stopped
        if self.prepared is None or self.failure is not None:
            self.failure = self.failure or BadInput("its request could not be logged")
            return
        try:
            format_ = self.request.format
            self._turns.note_answer(self.request, self.prepared, read_reply(reply).usage)
            self.item, self.prepared = self._turns.reply(format_, self.prepared, reply, stopped=stopped)
        except Exception as error:  # a full disk, say
            is_ours = isinstance(error, SightlineError)  # its message says all
            _log.warning("an answer in %s is not logged: %s", self.name, error, exc_info=not is_ours)
            self.failure = error
        self._last_item = self.item or self._last_item

    @property
    def goes_on(self) -> bool:
        """Whether the model is called again: its stream refuses, or it calls only tools of ours."""
        if self._streamed.refusal and len(self.replies) <= 1:
            return True
        ours, others = self._count_calls()
        return bool(ours) and not others and not self.is_stopped and len(self.replies) < self._turns.rounds

    def next_body(self) -> bytes | None:
        """Return what is sent next; None: the program has its answer.

        Raises what `Turns.next_round` raises, or why the answer could not be logged: what the model asked for cannot be
        brought back then, and half an answer would look like a whole one.
        """
        if not self.goes_on:
            return None
        if self._streamed.refusal:
            return self.refused(400, self._streamed.refusal.encode())
        if self.failure is not None:
            raise self.failure
        assert self.prepared is not None
        is_last = len(self.replies) == self._turns.rounds - 1
        self.prepared = self._turns.next_round(self.request, self.prepared, last=is_last)
        self._was_refused = False
        self.rounds += 1
        return self._offered()

    def finish(self) -> None:
        """Note what the program got, so that it is known when it comes back. A second call does nothing."""
        if self._is_done or not self.replies or self.prepared is None:
            return
        self._is_done = True
        try:
            self._turns.expect(self.request, self.prepared, self.visible_reply, self._last_item)
        except Exception as error:  # then it may be a branch when it comes back
            self.failure = error
            is_ours = isinstance(error, SightlineError)
            _log.warning("an answer in %s will not be known again: %s", self.name, error, exc_info=not is_ours)

    @property
    def visible_reply(self) -> Json:
        """Return the answer as the program gets it."""
        return merged(self.request.format.wire, self.replies, self._own)

    def _offered(self) -> bytes:
        assert self.prepared is not None
        self._own |= self.prepared.own
        return self.body

    def _count_calls(self) -> tuple[int, int]:
        """Count the calls of our tools in the last reply, and the others."""
        return own_calls(self.request.format.wire, self.replies[-1], self._own) if self.replies else (0, 0)


def _reply_of(chunks: list[Json]) -> tuple[Json | None, bool]:
    """Return the reply that a list of chunks is, as Gemini streams without events, and whether it did not end."""
    streamed = StreamedAnswer()
    for chunk in chunks:
        streamed.add(chunk)
    return streamed.reply(), not streamed.finished


class Exchange:
    """Makes the calls of the model that one call of a program takes."""

    def __init__(self, call: FollowedCall, send: Callable[[bytes], Any]) -> None:
        """`send`: sends a body and returns a response whose own body still comes."""
        self.call, self._send = call, send

    def begin(self, body: bytes) -> Any:
        """Send a call of the model; a shorter one if it is refused as too long. The body of an error is read."""
        response = self._send(body)
        if response.status_code >= 400:
            again = self.call.refused(response.status_code, response.read())
            response = response if again is None else self._send(again)
        if response.status_code >= 400:
            response.read()
        return response

    def stream(self, response: Any) -> Iterator[bytes]:
        """Yield the answer as it comes. Its last event is yielded when the answer is in the log."""
        call, error = self.call, None
        try:
            while response is not None:
                if response.status_code >= 400:
                    error = response.content
                    break
                call.begin_stream()
                try:
                    for chunk in response.iter_bytes():
                        if visible := call.feed(chunk):
                            yield visible
                    if visible := call.rest():
                        yield visible
                finally:  # also if the program goes away, or the connection breaks
                    try:
                        response.close()
                    finally:
                        call.log_stream()
                response = self._next()
        finally:
            call.finish()
        yield call.end(error)

    def whole(self, response: Any) -> tuple[Any, bytes]:
        """Return the last response of the model, and what the program gets as its body."""
        call = self.call
        try:
            while True:
                body = response.read()
                if response.status_code >= 400:
                    return response, body
                call.take(body)
                if (following := self._next()) is None:
                    return response, call.result(body)
                response = following
        finally:
            call.finish()

    def _next(self) -> Any:
        body = self.call.next_body()
        return None if body is None else self.begin(body)


class AsyncExchange:
    """The same for an event loop."""

    def __init__(self, call: FollowedCall, send: Callable[[bytes], Awaitable[Any]]) -> None:
        """`send` as for `Exchange`."""
        self.call, self._send = call, send

    async def run(self, work: Callable[[], R]) -> R:
        """Do something with the log: in a thread."""
        return await asyncio.to_thread(work)

    async def log(self, work: Callable[[], None]) -> None:
        """Log an answer by this work."""
        await self.run(work)

    async def finish(self) -> None:
        """Note what the program got."""
        await self.run(self.call.finish)

    async def next(self) -> Any:
        """Begin the next call of the model. Return its response; None: the program has its answer."""
        body = await self.run(self.call.next_body) if self.call.goes_on else None
        return None if body is None else await self.begin(body)

    async def begin(self, body: bytes) -> Any:
        """See `Exchange.begin`."""
        response = await self._send(body)
        if response.status_code >= 400:
            status, told = response.status_code, await response.aread()
            if self.call.is_too_long(status, told):
                again = await self.run(partial(self.call.refused, status, told))
                response = response if again is None else await self._send(again)
        if response.status_code >= 400:
            await response.aread()
        return response

    async def stream(self, response: Any) -> AsyncGenerator[bytes, None]:
        """See `Exchange.stream`."""
        call, error = self.call, None
        try:
            while response is not None:
                if response.status_code >= 400:
                    error = response.content
                    break
                call.begin_stream()
                try:
                    async for chunk in response.aiter_bytes():
                        if visible := call.feed(chunk):
                            yield visible
                    if visible := call.rest():
                        yield visible
                finally:
                    await finish(self._end(response))
                response = await self.next()
        finally:
            await finish(self.finish())
        yield call.end(error)

    async def _end(self, response: Any) -> None:
        try:
            await response.aclose()
        finally:
            await self.log(self.call.log_stream)

    async def whole(self, response: Any) -> tuple[Any, bytes]:
        """See `Exchange.whole`."""
        call = self.call
        try:
            while True:
                body = await response.aread()
                if response.status_code >= 400:
                    return response, body
                await finish(self.log(partial(call.take, body)))
                if (following := await self.next()) is None:
                    return response, call.result(body)
                response = following
        finally:
            await finish(self.finish())
