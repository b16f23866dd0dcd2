"""`sl.wrap(client)`: a client of OpenAI's or Anthropic's SDK whose model calls are composed and logged.

The client stays one of its type, and answers are its typed objects, whole or streamed, because the work is done below
the SDK: where its requests are sent. A request goes up as the program made it until its conversation no longer fits. It
is followed, composed and answered as the proxy does it, by the same code.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from sightline.adapters.client_call import ClientCall, streams_of
from sightline.adapters.client_type import library_of, provider_of
from sightline.adapters.version import check_version
from sightline.follow.model_request import FORMATS, Format
from sightline.follow.settings import FollowSettings
from sightline.follow.turns import Turns
from sightline.values.finish import finish
from sightline.values.options import with_known_options

C = TypeVar("C")

_PROVIDERS = {"openai": ((1, 66), 4), "anthropic": ((0, 49), 3)}  # the SDKs: the oldest version, and before which one
_OF_THE_BODY = ("content-length", "content-encoding", "transfer-encoding")  # headers that another body has not


@with_known_options
def wrap(client: C, *, session: str = "", project: str | Path = ".", window: int | None = None) -> C:
    """Return a client of the same type whose model calls are composed and logged. The client itself stays as it is.

    `chat.completions`, `responses` and `messages` are, with `create`, `stream` and `parse`, sync and async. All other
    calls pass as they are. Closing it closes the client too.
    `session`: the id of the session that has the conversation. Without one, each conversation is known by how it
    begins, and has a session of its own. `project`: the folder whose sessions they are. `window`: the context window in
    tokens; without one, that of the model.

    Raises:
        BadInput: it is no client of these SDKs, or one for a platform whose requests cannot be changed on the way; or
            there is no such option.
        ImportError: the SDK has a version that is not supported.
    """
    provider, http = provider_of(client), client._client  # type: ignore[attr-defined]
    check_version(provider, *_PROVIDERS[provider], user="sl.wrap")
    address = str(client.base_url)  # type: ignore[attr-defined]
    config = FollowSettings(folder=Path(project), window=window, upstreams=dict.fromkeys(_PROVIDERS, address))
    library = library_of(http)
    wires = _Wires(provider, Turns(config), session, library)
    if hasattr(http, "aclose"):
        made = library.AsyncClient(transport=_AsyncTransport(http, wires), timeout=http.timeout)
    else:
        made = library.Client(transport=_Transport(http, wires), timeout=http.timeout)
    return cast("C", client.with_options(http_client=made))  # type: ignore[attr-defined]


class _Wires:
    """What the two transports share: which requests are calls of a model, and the log of their conversations."""

    def __init__(self, provider: str, turns: Turns, session: str, library: Any) -> None:
        self.turns, self.library, self._session = turns, library, session
        ends = {path.removeprefix("/v1"): format for path, format in FORMATS.items()}  # noqa: A001
        self._formats = {end: format for end, format in ends.items() if format.provider == provider}  # noqa: A001

    def format_of(self, request: Any) -> Format | None:
        """Return the format of a model call; None: the request is something else."""
        path = request.url.path if request.method == "POST" else ""
        return next((found for end, found in self._formats.items() if path.endswith(end)), None)

    def begin(self, format: Format, request: Any, body: bytes) -> ClientCall | None:  # noqa: A002
        """Log a request; None: it goes up as it is, because it cannot be read or logged."""
        try:
            return ClientCall(self.turns, format, body, dict(request.headers), self._session)
        except Exception:  # the provider says what is wrong with it; a full disk is no reason to fail
            return None

    def request(self, like: Any, body: bytes) -> Any:
        """Return a request like this one with another body."""
        headers = {name: value for name, value in like.headers.items() if name.lower() not in _OF_THE_BODY}
        return self.library.Request(like.method, like.url, headers=headers, content=body, extensions=like.extensions)

    def response(self, like: Any, call: ClientCall | None, **body: Any) -> Any:
        """Return a response like this one with another body."""
        headers = [(name, value) for name, value in like.headers.multi_items() if name.lower() not in _OF_THE_BODY]
        named = [("x-sightline-session", call.name)] if call is not None else []
        return self.library.Response(like.status_code, headers=headers + named, extensions=like.extensions, **body)


class _Transport:
    """Sends the requests of a wrapped client by the HTTP client of the one that was wrapped."""

    def __init__(self, http: Any, wires: _Wires) -> None:
        self._http, self._wires = http, wires

    def __enter__(self) -> "_Transport":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._wires.turns.close()
        self._http.close()

    def handle_request(self, request: Any) -> Any:
        wires, found = self._wires, self._wires.format_of(request)
        call = wires.begin(found, request, request.read()) if found is not None else None
        if call is None:
            return self._http.send(request, stream=True)

        def send(body: bytes) -> Any:
            return self._http.send(wires.request(request, body), stream=True)

        response = send(call.body)
        if response.status_code >= 400:
            told = response.read()
            if (again := call.refuse(response.status_code, told)) is None:
                return wires.response(response, call, content=told)
            response = send(again)
        if response.status_code >= 400:
            return wires.response(response, call, content=response.read())
        if "text/event-stream" in response.headers.get("content-type", ""):
            stream = streams_of(wires.library)[0](_stream(call, response, send), response)
            return wires.response(response, call, stream=stream)
        try:
            body = response.read()
            while (following := call.take(body)) is not None:
                response = send(following)
                body = response.read()
                if response.status_code >= 400:
                    return wires.response(response, call, content=body)
            return wires.response(response, call, content=call.result(body))
        finally:
            call.finish()


def _stream(call: ClientCall, response: Any, send: Callable[[bytes], Any]) -> Iterator[bytes]:
    try:
        while response is not None:
            try:
                for chunk in response.iter_bytes():
                    if out := call.feed(chunk):
                        yield out
            finally:  # also if the program goes away, or the connection breaks
                response.close()
                call.log_stream()
            following = call.next_body()
            response = send(following) if following is not None else None
            if response is not None and response.status_code >= 400:
                yield call.fail(response.read())
                return
            if response is not None:
                call.begin_next()
    finally:
        call.finish()
    yield call.end()


class _AsyncTransport:
    """The same for an event loop. The log is written in threads."""

    def __init__(self, http: Any, wires: _Wires) -> None:
        self._http, self._wires = http, wires

    async def __aenter__(self) -> "_AsyncTransport":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await asyncio.to_thread(self._wires.turns.close)
        await self._http.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        wires, found = self._wires, self._wires.format_of(request)
        call = None
        if found is not None:
            call = await asyncio.to_thread(wires.begin, found, request, await request.aread())
        if call is None:
            return await self._http.send(request, stream=True)

        def send(body: bytes) -> Any:
            return self._http.send(wires.request(request, body), stream=True)

        response = await send(call.body)
        if response.status_code >= 400:
            told = await response.aread()
            if (again := await asyncio.to_thread(call.refuse, response.status_code, told)) is None:
                return wires.response(response, call, content=told)
            response = await send(again)
        if response.status_code >= 400:
            return wires.response(response, call, content=await response.aread())
        if "text/event-stream" in response.headers.get("content-type", ""):
            stream = streams_of(wires.library)[1](_stream_async(call, response, send), response)
            return wires.response(response, call, stream=stream)
        try:
            body = await response.aread()
            while (following := await asyncio.to_thread(call.take, body)) is not None:
                response = await send(following)
                body = await response.aread()
                if response.status_code >= 400:
                    return wires.response(response, call, content=body)
            return wires.response(response, call, content=await asyncio.to_thread(call.result, body))
        finally:
            await finish(asyncio.to_thread(call.finish))


async def _stream_async(call: ClientCall, response: Any, send: Callable[[bytes], Any]) -> AsyncIterator[bytes]:
    try:
        while response is not None:
            try:
                async for chunk in response.aiter_bytes():
                    if out := call.feed(chunk):
                        yield out
            finally:
                await finish(response.aclose())
                await finish(asyncio.to_thread(call.log_stream))
            following = await asyncio.to_thread(call.next_body)
            response = await send(following) if following is not None else None
            if response is not None and response.status_code >= 400:
                yield call.fail(await response.aread())
                return
            if response is not None:
                call.begin_next()
    finally:
        await finish(asyncio.to_thread(call.finish))
    yield call.end()
