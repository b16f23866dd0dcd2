"""One model call of a wrapped client: what goes up for it, and what comes back, whatever sends it."""

from collections.abc import AsyncIterator, Iterator
from functools import cache
from typing import Any

import msgspec

from sightline.follow.answer import EventReader, filter_of, show_error
from sightline.follow.model_request import Format, Json, parse
from sightline.follow.replies import StreamedAnswer, merged, own_calls
from sightline.follow.turns import Turns
from sightline.providers.errors import overflow_tokens
from sightline.values.decoders import decode_mended
from sightline.values.finish import finish
from sightline.wire import read_reply

_ROUNDS = 8  # calls of the model for one of the program; at the last one it has no tools


class ClientCall:
    """One call of the program: one or several calls of the model, logged one by one.

    A failure of the log is no failure of the call: then the answer passes on, and is not logged.
    """

    def __init__(self, turns: Turns, format: Format, body: bytes, headers: dict[str, str], session: str) -> None:  # noqa: A002
        """Log what is new in a request. Raises what `parse` and `Turns.prepare` raise."""
        asked = parse(format, body, headers)
        asked = asked._replace(name=session, pieces=None) if session else turns.names.find(asked)
        self._turns, self._asked, self._format = turns, asked, format
        self._prepared = turns.prepare(asked)
        self._own = self._prepared.own  # of ours, offered in any of the calls
        self._replies: list[Json] = []
        self._item, self._is_done, self._was_refused = "", False, False
        self._failure: Exception | None = None  # why an answer could not be logged
        self._shown = filter_of(format.wire, self._own)
        self._reader, self._streamed = EventReader(), StreamedAnswer()

    @property
    def name(self) -> str:
        """The id of the session that has the conversation."""
        return self._asked.name

    @property
    def body(self) -> bytes:
        """What goes up now."""
        return self._prepared.body

    def refuse(self, status: int, told: bytes) -> bytes | None:
        """Compose again what the provider refused as too long; None: it was refused for another reason."""
        text = told.decode("utf-8", "replace")
        counted = overflow_tokens(status, text)
        if counted is None or self._asked.kept_upstream or self._was_refused:
            return None
        self._was_refused = True  # once is enough: another refusal is the program's
        try:
            self._prepared = self._turns.refused(self._asked, self._prepared, text, counted)
        except Exception:  # the program is told what the provider said
            return None
        self._offer()
        return self.body

    # ------------------------------------------------------------------ whole

    def take(self, body: bytes) -> bytes | None:
        """Log an answer. Return the body of the next call, if this one called tools of ours."""
        try:
            reply = decode_mended(body, Json)
            read_reply(reply)
        except Exception:  # nothing that could be logged
            return None
        self._log(reply)
        return self.next_body()

    def result(self, body: bytes) -> bytes:
        """Return what the program gets, after the last answer."""
        self.finish()
        if not self._replies or not (len(self._replies) > 1 or self._count_calls()[0]):
            return body
        return msgspec.json.encode(merged(self._format.wire, self._replies, self._own))

    # ------------------------------------------------------------------ streamed

    def feed(self, chunk: bytes) -> bytes:
        """Return what the program gets for these bytes of a stream."""
        return b"".join(self._show(value, raw) for raw, value in self._reader.feed(chunk))

    def log_stream(self) -> None:
        """Log what was streamed: whole, or marked as stopped if its end did not come."""
        for raw, value in self._reader.rest():
            self._show(value, raw)
        if (reply := self._streamed.reply()) is not None:
            self._log(reply, stopped=not self._streamed.finished)

    def begin_next(self) -> None:
        """Begin the stream of the next call."""
        self._shown.begin_next(self._prepared.own)
        self._reader, self._streamed = EventReader(), StreamedAnswer()

    def fail(self, body: bytes) -> bytes:
        """Return the end of a stream whose next call failed with this body of an error."""
        return show_error(self._shown, self._format.wire, body)

    def end(self) -> bytes:
        """Return the events that end the answer."""
        return self._shown.end()

    def _show(self, value: Json | None, raw: bytes) -> bytes:
        if value is not None:
            self._streamed.add(value)
        return self._shown.show(value, raw)

    # ------------------------------------------------------------------ both

    def next_body(self) -> bytes | None:
        """Return the body of the next call, if the last reply calls tools of ours and none of the program's.

        Raises what `Turns.next_round` raises.
        """
        if self._streamed.refusal and len(self._replies) <= 1:
            return self.refuse(400, self._streamed.refusal.encode())
        ours, others = self._count_calls()
        number = len(self._replies)
        if not ours or others or number >= _ROUNDS:
            return None
        if self._failure is not None:  # what was asked for cannot be brought back: half an answer would look whole
            raise self._failure
        last = number == _ROUNDS - 1
        self._prepared = self._turns.next_round(self._asked, self._prepared, last=last)
        self._offer()
        return self.body

    def finish(self) -> None:
        """Note what the program got, so that it is known when it comes back. A second call does nothing."""
        if self._is_done or not self._replies:
            return
        self._is_done = True
        shown = merged(self._format.wire, self._replies, self._own)
        try:
            self._turns.expect(self._format, self._prepared, shown, self._item)
        except Exception as error:  # then it is a branch when it comes back
            self._failure = error

    def _offer(self) -> None:
        self._own |= self._prepared.own

    def _count_calls(self) -> tuple[int, int]:
        """Count the calls of our tools in the last reply, and the others."""
        return own_calls(self._format.wire, self._replies[-1], self._own) if self._replies else (0, 0)

    def _log(self, reply: Json, *, stopped: bool = False) -> None:
        self._replies.append(reply)
        if self._failure is not None:
            return
        try:
            item, self._prepared = self._turns.reply(self._format, self._prepared, reply, stopped=stopped)
            self._item = item or self._item
        except Exception as error:  # a full disk, say
            self._failure = error


@cache
def streams_of(library: Any) -> tuple[Any, Any]:
    """Return the two classes of streams, for one HTTP library.

    A stream that is closed early ends its generator, and closes the first response itself: a generator of which nothing
    was read has not begun, so it closes nothing.
    """

    class Stream(library.SyncByteStream):  # type: ignore[misc]
        def __init__(self, chunks: Iterator[bytes], response: Any) -> None:
            self._chunks, self._response = chunks, response

        def __iter__(self) -> Iterator[bytes]:
            return self._chunks

        def close(self) -> None:
            try:
                self._chunks.close()  # type: ignore[attr-defined]
            finally:
                self._response.close()

    class AsyncStream(library.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, chunks: AsyncIterator[bytes], response: Any) -> None:
            self._chunks, self._response = chunks, response

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._chunks

        async def aclose(self) -> None:
            try:
                await self._chunks.aclose()  # type: ignore[attr-defined]
            finally:
                await finish(self._response.aclose())

    return Stream, AsyncStream
