"""`sl.wrap(client)`: a client of OpenAI's or Anthropic's SDK whose model calls are composed and logged.

The client stays one of its type, and answers are its typed objects, whole or streamed, because the work is done below
the SDK: where its requests are sent. A request goes up as the program made it until its conversation no longer fits. It
is followed, composed and answered as the proxy does it, by the same code (`follow.call`).
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from sightline.adapters.version import check_version
from sightline.errors import BadInput
from sightline.follow.call import AsyncExchange, Exchange, FollowedCall
from sightline.follow.model_request import FORMATS, Format
from sightline.follow.turns import FollowSettings, Turns
from sightline.follow.windows import AppNames, load_apps
from sightline.values.finish import finish
from sightline.values.options import with_known_options

C = TypeVar("C")

_PROVIDERS = {"openai": ((1, 66), 4), "anthropic": ((0, 49), 3)}  # the SDKs: the oldest version, and before which one
_CLIENTS = {"openai": ("OpenAI", "AsyncOpenAI"), "anthropic": ("Anthropic", "AsyncAnthropic")}  # and their subclasses
_SIGNED = {"BedrockOpenAI", "AsyncBedrockOpenAI", "AnthropicAWS", "AsyncAnthropicAWS"}  # for the bytes of a request
_OF_THE_BODY = ("content-length", "content-encoding", "transfer-encoding")  # headers that another body has not


@with_known_options
def wrap(
    client: C, *, session: str = "", project: str | Path = ".", window: int | None = None, apps: AppNames = ()
) -> C:
    """Return a client of the same type whose model calls are composed and logged. The client itself stays as it is.

    `chat.completions`, `responses` and `messages` are, with `create`, `stream` and `parse`, sync and async. All other
    calls pass as they are. Closing it closes the client too.
    `session`: the id of the session that has the conversation. Without one, each conversation is known by how it
    begins, and has a session of its own. `project`: the folder whose sessions they are. `window`: the context window in
    tokens; without one, that of the model. `apps`: those whose windows the model sees, names or classes; it acts on
    them by tools that are answered here. Requests that go on from what OpenAI keeps have none.

    Raises:
        BadInput: it is no client of these SDKs, or one for a platform whose requests cannot be changed on the way; or
            there is no such option, or no such app.
        ImportError: the SDK has a version that is not supported.
    """
    provider, http = _provider_of(client), client._client  # type: ignore[attr-defined]
    check_version(provider, *_PROVIDERS[provider], user="sl.wrap")
    address = str(client.base_url)  # type: ignore[attr-defined]
    upstreams = dict.fromkeys(_PROVIDERS, address)
    config = FollowSettings(
        folder=Path(project), window=window, upstreams=upstreams, apps=load_apps(apps), in_all=bool(apps)
    )
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
        return next((format for end, format in self._formats.items() if path.endswith(end)), None)  # noqa: A001

    def begin(self, format: Format, request: Any, body: bytes) -> FollowedCall | None:  # noqa: A002
        """Log a request; None: it goes up as it is, because it cannot be read or logged."""
        try:
            return FollowedCall.begin(self.turns, format, body, dict(request.headers), self._session)
        except Exception:  # the provider says what is wrong with it; a full disk is no reason to fail
            return None

    def request(self, like: Any, body: bytes) -> Any:
        """Return a request like this one with another body."""
        headers = {name: value for name, value in like.headers.items() if name.lower() not in _OF_THE_BODY}
        return self.library.Request(like.method, like.url, headers=headers, content=body, extensions=like.extensions)

    def response(self, like: Any, call: FollowedCall, **body: Any) -> Any:
        """Return a response like this one with another body."""
        headers = [(name, value) for name, value in like.headers.multi_items() if name.lower() not in _OF_THE_BODY]
        headers.append(("x-sightline-session", call.name))
        return self.library.Response(like.status_code, headers=headers, extensions=like.extensions, **body)


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
        wires, format_ = self._wires, self._wires.format_of(request)
        call = wires.begin(format_, request, request.read()) if format_ is not None else None
        if call is None:
            return self._http.send(request, stream=True)
        exchange = Exchange(call, lambda body: self._http.send(wires.request(request, body), stream=True))
        response = exchange.begin(call.body)
        if response.status_code < 400 and "text/event-stream" in response.headers.get("content-type", ""):
            stream = _streams_of(wires.library)[0](exchange.stream(response), response)
            return wires.response(response, call, stream=stream)
        response, body = exchange.whole(response)
        return wires.response(response, call, content=body)


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
        wires, format_, call = self._wires, self._wires.format_of(request), None
        if format_ is not None:
            call = await asyncio.to_thread(wires.begin, format_, request, await request.aread())
        if call is None:
            return await self._http.send(request, stream=True)
        exchange = AsyncExchange(call, lambda body: self._http.send(wires.request(request, body), stream=True))
        response = await exchange.begin(call.body)
        if response.status_code < 400 and "text/event-stream" in response.headers.get("content-type", ""):
            stream = _streams_of(wires.library)[1](exchange.stream(response), response)
            return wires.response(response, call, stream=stream)
        response, body = await exchange.whole(response)
        return wires.response(response, call, content=body)


@cache
def _streams_of(library: Any) -> tuple[Any, Any]:
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


# ---------------------------------------------------------------------- which clients can be wrapped


def _provider_of(client: object) -> str:
    """Return the provider of a client that can be wrapped. Raises BadInput for others."""
    kinds, name = {kind.__name__: kind for kind in type(client).__mro__}, type(client).__name__
    providers = [made for made, names in _CLIENTS.items() if any(_is_from(made, kinds.get(own)) for own in names)]
    if providers and _SIGNED.isdisjoint(kinds):
        return providers[0]
    if providers or any(_is_from(made, type(client)) and hasattr(client, "messages") for made in _CLIENTS):
        raise BadInput(
            f"wrap cannot change the requests of {name}: they are signed or have another form. It takes OpenAI, "
            "Anthropic, AzureOpenAI, AnthropicFoundry and other subclasses of the first two, sync and async; for this "
            "platform, compose with a sightline.Session and pass payload.anthropic() or payload.openai() to the client"
        )
    raise BadInput(f"wrap takes a client of OpenAI's or Anthropic's SDK, not {name}")


def _is_from(package: str, kind: type | None) -> bool:
    return kind is not None and kind.__module__.partition(".")[0] == package


def library_of(http: object) -> Any:
    """Return the library of an HTTP client: httpx2, or httpx for earlier SDKs."""
    base = next((kind for kind in type(http).__mro__ if kind.__name__ in ("Client", "AsyncClient")), type(http))
    return sys.modules[base.__module__.partition(".")[0]]
