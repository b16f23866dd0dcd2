"""A model behind an HTTP address: one request, and its reply as JSON values, whole or one by one.

It is the same for every protocol, except for what is sent and how the chunks of a reply are put together.
"""

from asyncio import timeout, to_thread
from codecs import getincrementaldecoder
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from importlib import import_module
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from sightline import wire
from sightline.agent.models import Reply, Request, TextDelta, errors
from sightline.agent.models.endpoint import Endpoint, login_of
from sightline.errors import BadInput, ModelBusy, ModelRefused
from sightline.session import accept
from sightline.values.decoders import decode_json

if TYPE_CHECKING:
    from httpx2 import URL, AsyncClient, Response

CONNECT_SECONDS = 10.0  # a server that is there answers much faster
DRAIN_SECONDS = 0.2  # the end of the response comes with the last event, or never
DONE = "[DONE]"
MALFORMED = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError)
"""What Python raises where a value is not what the protocol promises, such as null in the place of an object."""


class Chunk(NamedTuple):
    """One JSON value of a reply. `whole`: the server did not stream, this is the reply. `done`: no chunk follows."""

    value: dict[str, Any]
    whole: bool = False
    done: bool = False


class ReplyBuilder(Protocol):
    """Puts the chunks of one reply together."""

    @property
    def finished(self) -> bool:
        """Whether the model has declared the end of its reply."""

    def add(self, chunk: Chunk) -> Sequence[TextDelta]:
        """Add a chunk and return its text. Raises a ModelError if the chunk is an error."""

    def reply(self) -> dict[str, Any]:
        """Return the whole reply. Raises ModelBusy if its end did not come."""


def written(request: Request, wire_name: str) -> dict[str, Any]:
    """Return the arguments of the request, each as the JSON that the session has already: nothing is decoded."""
    payload = replace(request.payload, output=request.output)
    return decode_json(payload.json(wire_name), dict[str, msgspec.Raw])


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the written ones as plain values."""
    return {
        name: msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value for name, value in options.items()
    }


class WireProtocol(NamedTuple):
    """How one provider's protocol writes requests and reads replies."""

    url: Callable[[Endpoint], str]
    key_headers: Callable[[Endpoint], dict[str, str]]
    request_options: Callable[[Request, Endpoint, set[str]], dict[str, Any]]  # without those refused; some are `Raw`
    refused_option: Callable[[ModelRefused, Mapping[str, Any], Endpoint], str]  # the one to do without; "": none
    builder: Callable[[Endpoint], ReplyBuilder]


class ServedModel:
    """A model behind an endpoint that speaks one of the protocols. Subclasses send its requests."""

    protocol: WireProtocol

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.info = endpoint, endpoint.info
        self._refused: set[str] = set()  # options that this endpoint has refused

    async def stream(self, request: Request) -> AsyncGenerator[TextDelta | Reply, None]:
        """See `Model.stream`. Whatever the server sends, only a ModelError is raised."""
        builder = self.protocol.builder(self.endpoint)
        try:
            async with aclosing(self._chunks(request)) as chunks:
                async for chunk in chunks:
                    with self._parsing():
                        deltas = builder.add(chunk)
                    for delta in deltas:
                        yield delta
        except ModelBusy:
            if not builder.finished:  # else only the usage or the end of the response is lost
                raise
        with self._parsing():
            raw = builder.reply()
            accept.check_message(accept.read_with(wire.read_reply, raw))
        yield Reply(self.endpoint.name, raw, self.info.price, wire.why_ended(raw))

    async def _chunks(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """Yield the reply's chunks. Each option that the endpoint names as unknown is left out of another request."""
        while True:
            options = await to_thread(self.protocol.request_options, request, self.endpoint, self._refused)
            began = False
            try:
                async with aclosing(self._send(options)) as chunks:
                    async for chunk in chunks:
                        began = True
                        yield chunk
                return
            except ModelRefused as error:
                unknown = self.protocol.refused_option(error, options, self.endpoint)
                if began or not unknown:
                    raise
                self._refused.add(unknown)

    def _send(self, options: dict[str, Any]) -> AsyncGenerator[Chunk, None]:
        """Send a request and yield the reply's values as they come.

        Raises:
            ModelBusy, ModelRefused, ContextOverflow: see `Model.stream`. A stream that breaks off raises ModelBusy.
        """
        raise NotImplementedError

    @contextmanager
    def _parsing(self) -> Iterator[None]:
        """A server may send anything: only here does that become one of our errors."""
        try:
            yield
        except MALFORMED as error:
            raise errors.garbled(self.endpoint, error) from None


class StaleConnection(Exception):
    """The server closed a reused connection before it sent any byte of the response."""


class _Watch:
    """Lets the network stream of a connection that has carried a response raise StaleConnection.

    It replaces the stream's methods, because httpx2 does not tell whether a byte came before the connection was closed.
    """

    def __init__(self, stream: Any) -> None:
        self._read, self._write = stream.read, stream.write
        self._unanswered = False  # a request was written, and no byte of its response has come
        stream.read, stream.write = self.read, self.write

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._unanswered = True
        await self._write(buffer, timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        from httpcore2 import ReadError

        try:
            data: bytes = await self._read(max_bytes, timeout)
        except ReadError:
            if self._unanswered:
                raise StaleConnection from None
            raise
        if not data and self._unanswered:
            raise StaleConnection
        self._unanswered = False
        return data


class HttpModel(ServedModel):
    """Sends requests by connections of its own, opened by the first one."""

    _client: "AsyncClient | None" = None

    async def close(self) -> None:
        """Close the connections. The next request opens new ones."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _send(self, options: dict[str, Any]) -> AsyncGenerator[Chunk, None]:
        """See `ServedModel._send`. A reply that is read to its end leaves the connection for the next."""
        body = {"model": self.endpoint.name, **options, "stream": True}
        async with self._response(self.protocol.url(self.endpoint), body) as response:
            if "json" in response.headers.get("content-type", ""):
                yield Chunk(self._json((await response.aread()).decode("utf-8", "replace")), whole=True)
                return
            events, blocks = Events(), response.aiter_bytes()
            async for block in blocks:
                for data in events.feed(block):
                    if data.strip() == DONE:
                        yield Chunk({}, done=True)
                        await _drain(blocks)
                        return
                    yield Chunk(self._json(data))
            for data in events.feed(b"\n\n"):  # the last event, if the server left out the empty line after it
                yield Chunk({}, done=True) if data.strip() == DONE else Chunk(self._json(data))

    @asynccontextmanager
    async def _response(self, url: str, body: dict[str, Any]) -> AsyncIterator["Response"]:
        """Yield a successful response, not yet read. What fails while it is read becomes one of our errors too."""
        httpx2, opened = import_optional("httpx2", "asking a model", "agent"), False
        try:
            bare = httpx2.URL(url).copy_with(userinfo=b"")  # it is logged; the login is sent in a header
            async with AsyncExitStack() as stack:
                response = await self._open(stack, bare, await to_thread(msgspec.json.encode, body))
                opened = True
                if response.status_code >= 300:
                    text = (await response.aread()).decode("utf-8", "replace")
                    raise errors.failure(self.endpoint, response.status_code, response.headers, text)
                yield response
        except (httpx2.ConnectTimeout, httpx2.ConnectError) as error:
            raise errors.unreachable(self.endpoint, error) from None  # its context may hold the request
        except httpx2.TimeoutException:
            raise errors.silent(self.endpoint) from None
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise ModelRefused(
                f"{self.endpoint.address!r} is no address: {error}; write base_url as http://…"
            ) from None
        except httpx2.HTTPError as error:
            broken = errors.cut_off if opened else errors.unreachable
            raise broken(self.endpoint, error) from None

    async def _open(self, stack: AsyncExitStack, url: "URL", content: bytes) -> "Response":
        """Send a request and return its response, whose body is not read yet. `stack` closes it.

        A server may close an idle connection at the moment a request is sent on it. Such a request is sent once more,
        by a client of its own because that client has no other connection that could be stale too.
        """
        if self._client is None:
            self._client = self._new_client()
        try:
            response = await stack.enter_async_context(self._client.stream("POST", url, content=content))
        except StaleConnection:
            client = await stack.enter_async_context(self._new_client())
            return await stack.enter_async_context(client.stream("POST", url, content=content))
        stream = response.extensions["network_stream"]
        if not isinstance(getattr(stream.read, "__self__", None), _Watch):
            _Watch(stream)
        return response

    def _new_client(self) -> "AsyncClient":
        import httpx2

        base_url, seconds = self.endpoint.base_url, self.endpoint.seconds
        usual = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
        configured = {name.lower(): value.reveal() for name, value in self.endpoint.headers.items()}
        return httpx2.AsyncClient(
            headers=usual | self.protocol.key_headers(self.endpoint) | configured,
            auth=login_of(base_url),
            timeout=httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
            trust_env=not self.endpoint.on_this_machine,  # a proxy is not for servers of this machine
            # Without TLS nobody is trusted, because reading this machine's authorities takes a tenth of a second.
            verify=SSLContext(PROTOCOL_TLS_CLIENT) if base_url.startswith("http://") else True,
        )

    def _json(self, text: str) -> dict[str, Any]:
        try:
            return decode_json(text, dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            raise errors.cut_off(self.endpoint, f"no JSON: {self.endpoint.hide(text)[:80]!r}") from None


def import_optional(module: str, user: str, extra: str) -> Any:
    """Return a module that not every installation has. Raises BadInput, which says who needs it and what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise BadInput(f"{user} needs {module}: pip install 'sightline-context[{extra}]'") from error


async def _drain(blocks: AsyncIterator[bytes]) -> None:
    """Read the few bytes after the last event. A server that does not end its response is not waited for."""
    with suppress(TimeoutError):
        async with timeout(DRAIN_SECONDS):
            async for _ in blocks:
                pass


class Events:
    """Reads events from bytes, which may be cut anywhere, also in a character or a line end.

    An event is its data, with lines joined. Its name is skipped, because the data says it too.
    """

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""  # a line whose end has not come
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the events that these bytes complete."""
        text = self._rest + self._decode(chunk)
        ending = "\r" if text.endswith("\r") else ""  # its line feed may be in the next chunk
        lines = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + ending
        for line in lines:
            field, _, value = line.removeprefix("\ufeff").partition(":")  # a comment has an empty field
            if field == "data":
                self._data.append(value.removeprefix(" "))
            elif not line and self._data:
                data, self._data = self._data, []
                yield "\n".join(data)
