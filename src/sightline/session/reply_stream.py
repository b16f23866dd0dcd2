"""Streams of the SDKs on their way into a session: each chunk is passed on, and the reply is logged at the end."""

import inspect
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Iterable, Iterator
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from sightline.errors import BadInput
from sightline.values.finish import finish
from sightline.wire.streams import StreamedReply

if TYPE_CHECKING:
    from sightline.session.async_session import AsyncSession
    from sightline.session.session import Session

C = TypeVar("C")
_ATTEMPTS = 20  # at adding a reply after what others appended meanwhile: nobody else has its chunks to add it again


class _Logged(StreamedReply):
    """The reply so far, and what the session has made of it."""

    id = ""
    stopped = False

    def to_log(self) -> tuple[Any, bool]:
        """The reply, None if there is nothing to log, and whether it was stopped."""
        reply = self.reply()
        self.stopped = not self.finished
        return reply, self.stopped


class _Facts:
    """What can be asked of a stream on its way."""

    _logged: _Logged

    @property
    def id(self) -> str:
        """The id of the reply's item in the session; empty before the end, and if nothing was said."""
        return self._logged.id

    @property
    def text(self) -> str:
        """The answer so far, without thinking and calls."""
        return self._logged.text

    @property
    def stopped(self) -> bool:
        """Whether the stream has ended before the reply did."""
        return self._logged.stopped


class ReplyStream(_Facts, Generic[C]):
    """The chunks of a stream, passed on as they come. At their end the reply is logged: text, calls, usage.

        with session.streamed(client.messages.create(model=…, stream=True, **payload.anthropic())) as chunks:
            for chunk in chunks:
                …

    It takes the streams of both SDKs: of `create(stream=True)` and of `stream()`, chat completions, responses and
    messages. If the stream breaks off, raises, or is left early (`break`, an exception, `close`), the text that has
    come is logged and marked as stopped; a call that it made is not. The stream is closed then. If others appended to
    the session meanwhile, the reply comes after their entries.
    """

    def __init__(self, session: "Session", stream: Iterable[C]) -> None:
        """Made by `Session.streamed`. Raises BadInput if it is no stream."""
        if not isinstance(stream, Iterable):
            raise _no_stream(stream, "__iter__")
        self._logged, self._stream = _Logged(), _Closable(stream)
        self._chunks = _pass_on(session, stream, self._logged)

    def __iter__(self) -> Iterator[C]:
        return self

    def __next__(self) -> C:
        """The next chunk. Raises BadInput if the first one is none of a reply."""
        return next(self._chunks)

    def close(self) -> None:
        """Stop: close the stream, and log what has come."""
        self._chunks.close()
        self._stream.close()  # also if no chunk was asked for

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _pass_on(session: "Session", stream: Iterable[C], logged: _Logged) -> Generator[C, None, None]:
    # A function of its own: the generator does not hold the object that holds it, so it is closed when that is dropped.
    with closing(_Closable(stream)):
        try:
            for chunk in stream:
                logged.add(chunk)
                yield chunk
        finally:
            reply, stopped = logged.to_log()
            if reply is not None:
                logged.id = session.reply(reply, stopped=stopped, _attempts=_ATTEMPTS)


class AsyncReplyStream(_Facts, Generic[C]):
    """The same for `AsyncSession`. Use `async with session.streamed(stream) as chunks`, so that it ends when you do."""

    def __init__(self, session: "AsyncSession", stream: AsyncIterable[C]) -> None:
        """Made by `AsyncSession.streamed`. Raises BadInput if it is no stream of an async client."""
        if not isinstance(stream, AsyncIterable):
            raise _no_stream(stream, "__aiter__")
        self._logged, self._stream = _Logged(), _Closable(stream)
        self._chunks = _pass_on_async(session, stream, self._logged)

    def __aiter__(self) -> AsyncIterator[C]:
        return self

    async def __anext__(self) -> C:
        """The next chunk. Raises BadInput if the first one is none of a reply."""
        return await anext(self._chunks)

    async def close(self) -> None:
        """Stop: close the stream, and log what has come."""
        await self._chunks.aclose()
        await self._stream.aclose()  # also if no chunk was asked for

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _pass_on_async(session: "AsyncSession", stream: AsyncIterable[C], logged: _Logged) -> AsyncGenerator[C, None]:
    async with aclosing(_Closable(stream)):
        try:
            async for chunk in stream:
                logged.add(chunk)
                yield chunk
        finally:
            reply, stopped = logged.to_log()
            if reply is not None:
                logged.id = await finish(session.reply(reply, stopped=stopped, _attempts=_ATTEMPTS))


class _Closable:
    """The stream, to be closed if it can be: lists cannot."""

    def __init__(self, stream: object) -> None:
        self._stream = stream

    def close(self) -> None:
        if callable(close := getattr(self._stream, "close", None)):
            close()

    async def aclose(self) -> None:
        close = getattr(self._stream, "aclose", None) or getattr(self._stream, "close", None)
        if callable(close) and inspect.isawaitable(closed := close()):
            await closed


def _no_stream(value: object, wanted: str) -> BadInput:
    """The error for what cannot be gone through, with what to do about it."""
    if hasattr(value, "__await__"):
        how = "await it first"
    elif hasattr(value, "__enter__") or (wanted == "__aiter__" and hasattr(value, "__aenter__")):
        how = "enter it first: `with … as stream`"
    elif hasattr(value, "__aiter__") or hasattr(value, "__aenter__"):
        how = "an async client's stream goes into an AsyncSession"
    else:
        how = "pass what `create(stream=True)` returns"
    return BadInput(f"{type(value).__name__} is no stream; {how}")
