"""One request to a model's server, and its answer as it comes: JSON values, whole or one by one."""

from asyncio import timeout
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from sightline import wire
from sightline.agent.models import Reply, TextDelta, errors
from sightline.agent.models.endpoint import Endpoint, login_of
from sightline.agent.models.sse import Event, Events
from sightline.errors import BadInput, ModelBusy, ModelRefused
from sightline.session import accept

if TYPE_CHECKING:
    from httpx2 import URL, AsyncClient, Response

CONNECT_SECONDS = 10.0  # a server that is there answers much faster
DRAIN_SECONDS = 0.2  # the end of the response comes with the last event, or never
DONE = "[DONE]"
ODD = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError)
"""What comes of reading a value that is not what the protocol says: nothing where an object should be, and so on."""

T = TypeVar("T")
U = TypeVar("U")


class Told(msgspec.Struct, frozen=True):
    """One JSON value of an answer. `whole`: the server did not stream, this is all of it. `done`: there is no more."""

    value: dict[str, Any]
    whole: bool = False
    done: bool = False


class Assembling(Protocol):
    """Puts the values of one answer together."""

    @property
    def finished(self) -> bool:
        """Whether the model has said that this is all."""
        ...

    def take(self, told: Told) -> Sequence[TextDelta]:
        """One more value; what it says. Raises a ModelError where it is an error."""
        ...

    def reply(self) -> dict[str, Any]:
        """The whole answer. Raises ModelBusy where it has no end."""
        ...


async def assembled(
    endpoint: Endpoint, answer: Assembling, told: AsyncGenerator[Told, None]
) -> AsyncGenerator[TextDelta | Reply, None]:
    """What an answer says as it comes, then all of it, which the session can read.

    Raises:
        ModelError: one of those of `Model.stream`, whatever the server says.
    """
    try:
        async with aclosing(told):
            async for each in told:
                for said in _understood(endpoint, answer.take, each):
                    yield said
    except ModelBusy:
        if not answer.finished:  # else only the usage is lost, or the goodbye
            raise
    raw = _understood(endpoint, _readable, answer)
    yield Reply(endpoint.name, raw, endpoint.info.price, wire.why_ended(raw))


def _understood(endpoint: Endpoint, read: Callable[[T], U], told: T) -> U:
    """What is read from what a server said. It may say anything: here, and nowhere else, that becomes our error."""
    try:
        return read(told)
    except ODD as error:
        raise errors.garbled(endpoint, error) from None


def _readable(answer: Assembling) -> dict[str, Any]:
    raw = answer.reply()
    accept.checked(accept.read(wire.read_reply, raw))
    return raw


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


class Connection:
    """Keeps the connections to one endpoint; opened when it is first asked."""

    def __init__(self, endpoint: Endpoint, headers: dict[str, str]) -> None:
        self._endpoint, self._headers = endpoint, headers
        self._client: AsyncClient | None = None

    async def post(self, url: str, body: dict[str, Any]) -> AsyncGenerator[Told, None]:
        """The answer's values as they come. Read it to its end: then the connection serves the next request too.

        Raises:
            ModelBusy, ModelRefused, ContextOverflow: see `Model.stream`. A stream that breaks off raises ModelBusy.
        """
        async with self._answered(url, body) as response:
            if "json" in response.headers.get("content-type", ""):
                yield Told(self._json((await response.aread()).decode("utf-8", "replace")), whole=True)
                return
            events, chunks = Events(), response.aiter_bytes()
            async for chunk in chunks:
                for event in events.feed(chunk):
                    yield self._told(event)
                    if event.data.strip() == DONE:
                        await _drain(chunks)
                        return
            for event in events.end():
                yield self._told(event)

    async def close(self) -> None:
        """Let go of the connections. Asking again opens new ones."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    @asynccontextmanager
    async def _answered(self, url: str, body: dict[str, Any]) -> AsyncIterator["Response"]:
        """A good answer, not yet read. What breaks while it is read becomes one of our errors too."""
        import httpx2

        opened = False
        try:
            bare = httpx2.URL(url).copy_with(userinfo=b"")  # it is logged; who asks is in a header
            async with AsyncExitStack() as stack:
                response = await self._sent(stack, bare, msgspec.json.encode(body))
                opened = True
                if response.status_code >= 300:
                    said = (await response.aread()).decode("utf-8", "replace")
                    raise errors.failure(self._endpoint, response.status_code, response.headers, said)
                yield response
        except (httpx2.ConnectTimeout, httpx2.ConnectError) as error:
            raise errors.unreachable(self._endpoint, error) from None  # its context may hold the request
        except httpx2.TimeoutException:
            raise errors.silent(self._endpoint) from None
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise ModelRefused(
                f"{self._endpoint.address!r} is no address: {error}; write base_url as http://…"
            ) from None
        except httpx2.HTTPError as error:
            broken = errors.cut_off if opened else errors.unreachable
            raise broken(self._endpoint, error) from None

    async def _sent(self, stack: AsyncExitStack, url: "URL", content: bytes) -> "Response":
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
        httpx2 = needed()
        client: AsyncClient = httpx2.AsyncClient(
            headers=self._headers,
            auth=login_of(self._endpoint.base_url),
            timeout=httpx2.Timeout(self._endpoint.seconds, connect=min(CONNECT_SECONDS, self._endpoint.seconds)),
            trust_env=not self._endpoint.on_this_machine,  # a proxy is not for servers of this machine
            verify=_trust(self._endpoint.base_url),
        )
        return client

    def _told(self, event: Event) -> Told:
        return Told({}, done=True) if event.data.strip() == DONE else Told(self._json(event.data))

    def _json(self, text: str) -> dict[str, Any]:
        try:
            return msgspec.json.decode(text, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            raise errors.cut_off(self._endpoint, f"no JSON: {self._endpoint.hide(text)[:80]!r}") from None


def _trust(base_url: str) -> bool | SSLContext:
    """Whom TLS trusts: without TLS nobody, since reading the authorities of this machine takes a tenth of a second."""
    return SSLContext(PROTOCOL_TLS_CLIENT) if base_url.startswith("http://") else True


def needed() -> Any:
    """httpx2, or what to install."""
    try:
        import httpx2
    except ImportError as error:
        raise BadInput("asking a model needs httpx2: pip install '.[agent]' in Sightline's folder") from error
    return httpx2


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """The little that follows the end. A server that holds the line open instead is left alone."""
    with suppress(TimeoutError):
        async with timeout(DRAIN_SECONDS):
            async for _ in chunks:
                pass


def headers_of(endpoint: Endpoint, key: dict[str, str]) -> dict[str, str]:
    """The headers of every request: the key's, and those of the configuration."""
    usual = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
    return usual | key | {name.lower(): value.reveal() for name, value in endpoint.headers.items()}
