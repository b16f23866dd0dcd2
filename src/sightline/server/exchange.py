"""The answer to one request of a client: read as it passes, logged, and asked for again after calls of our tools."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import msgspec

from sightline.errors import BadInput
from sightline.follow.answer import EventReader, Filter, filter_of, show_error
from sightline.follow.model_request import Json, ModelRequest
from sightline.follow.replies import StreamedAnswer, error_response, merged, own_calls
from sightline.follow.turns import Prepared
from sightline.server.upstream import passed_back
from sightline.values.decoders import decode_mended
from sightline.values.finish import finish
from sightline.wire import read_reply

if TYPE_CHECKING:
    import httpx2
    from starlette.datastructures import Headers
    from starlette.responses import Response

    from sightline.server.proxy import ModelCall, Proxy

ROUNDS = 8  # calls of the model for one request; at the last one it has no tools
_log = logging.getLogger("sightline.server")


class Exchange:
    """The answer to one request: one or several calls of the model, logged one by one."""

    def __init__(
        self, proxy: "Proxy", call: "ModelCall", asked: ModelRequest, prepared: Prepared | None, stack: AsyncExitStack
    ) -> None:
        self._proxy, self._call, self._asked, self._stack = proxy, call, asked, stack
        self._prepared = prepared  # None: the request is not in the log yet
        self._own: frozenset[str] = frozenset()  # tools of ours that were offered in any of the calls
        self._offer()
        self._replies: list[Json] = []
        self._item, self._is_unlogged = "", False
        self._format = asked.format

    def _offer(self) -> frozenset[str]:
        """Return our tools in the last call."""
        own = self._prepared.own if self._prepared else frozenset()
        self._own |= own
        return own

    # ------------------------------------------------------------------ streamed

    async def stream(self, response: "httpx2.Response") -> AsyncIterator[bytes]:
        """Yield the answer as it comes. Its last event is yielded when the answer is in the log."""
        import httpx2

        shown = filter_of(self._format.wire, self._own)
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
                        shown.begin_next(self._offer())
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
        self._offer()
        return response if isinstance(response, httpx2.Response) else None

    # ------------------------------------------------------------------ whole

    async def whole(self, response: "httpx2.Response", headers: "Headers") -> "Response":
        """Return the answer. If its request could not be logged, no header of it names a session."""
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
                        reply = decode_mended(body, Json)
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
            if self._prepared is None:
                headers = passed_back(response.headers)
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
            prepared = await self._call.logged(self._prepared)
            work = lambda: self._proxy.turns.next_round(self._asked, prepared, last=last)  # noqa: E731
            self._prepared = await self._proxy.run(self._asked.name, work)
        except Exception as error:
            _log.warning("no further call for %s: %s", self._asked.name, error)
            why = "what the model asked to read again cannot be brought back: is the disk full?"
            return error_response(self._format, 503, why)
        self._proxy.report_recall()
        self._prepared, response = await self._call.begin(self._stack, self._asked, self._prepared)
        self._offer()
        return response

    async def _log(self, streamed: "StreamedAnswer") -> None:
        """Log a streamed reply: whole, or marked as stopped if its end did not come."""
        reply = streamed.reply()
        if reply is not None:
            await self._log_reply(reply, stopped=not streamed.finished)

    async def _log_reply(self, reply: Json, *, stopped: bool = False) -> None:
        self._replies.append(reply)
        try:
            prepared = await self._call.logged(self._prepared)
        except Exception:  # it was said when it happened
            self._is_unlogged = True
            return
        item = ""
        try:
            work = lambda: self._proxy.turns.reply(self._format, prepared, reply, stopped=stopped)  # noqa: E731
            item, prepared = await self._proxy.run(prepared.name, work)
            self._item = item or self._item
        except Exception as error:
            _log.warning("an answer in %s is not logged: %s", prepared.name, error, exc_info=True)
            self._proxy.totals.unlogged += 1
            self._is_unlogged = True
        self._prepared = prepared
        self._proxy.report(prepared, reply, item, stopped=stopped)

    async def _expect(self) -> None:
        if not self._replies or (prepared := self._prepared) is None:
            return
        shown = merged(self._format.wire, self._replies, self._own)
        try:
            work = lambda: self._proxy.turns.expect(self._format, prepared, shown, self._item)  # noqa: E731
            await self._proxy.run(prepared.name, work)
        except Exception as error:
            _log.warning("an answer in %s will not be known again: %s", prepared.name, error, exc_info=True)
