"""Where requests go: the providers' servers, or what the user put in their place."""

from collections.abc import Callable, Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Any

import httpx2
from starlette.datastructures import Headers

from sightline.server.config import Config
from sightline.server.destinations import Destinations

CONNECT_SECONDS = 10.0
_MOST_CONNECTIONS = 1000
_KEEP_SECONDS = 60.0  # an agent's next step mostly comes before that, and needs no new connection then

# Of one connection, or made anew for the other one.
_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
    "upgrade", "host", "content-length", "accept-encoding", "content-encoding", "expect",
})  # fmt: skip
_OURS = "x-sightline-"  # headers between a client and this server


class Upstream:
    """Sends requests to the upstream of their provider, and to no other address: see `destinations`."""

    def __init__(self, config: Config, transport: Any = None) -> None:
        """Raises BadInput if the address of an upstream is none."""
        self.destinations = Destinations(config.upstreams)
        timeout = httpx2.Timeout(config.timeout, connect=CONNECT_SECONDS)
        limits = httpx2.Limits(
            max_connections=_MOST_CONNECTIONS, max_keepalive_connections=100, keepalive_expiry=_KEEP_SECONDS
        )
        # Without TLS nobody is trusted, because reading this machine's authorities takes a twentieth of a second.
        # What a provider sets as a cookie for one caller is no other's business, so no cookie is kept here.
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        self._client = httpx2.AsyncClient(
            timeout=timeout, limits=limits, cookies=no_cookies, follow_redirects=False, transport=transport,
            trust_env=transport is None, verify=SSLContext(PROTOCOL_TLS_CLIENT) if self.destinations.is_plain else True,
        )  # fmt: skip

    async def send(
        self,
        method: str,
        address: httpx2.URL,
        headers: Iterable[tuple[str, str]],
        body: bytes,
        on_sent: Callable[[], None] | None = None,
    ) -> httpx2.Response:
        """Send a request. Return the response, whose body still comes: close it. Raises httpx2.HTTPError.

        `on_sent` is called when the body has gone up.
        """
        dropped = _HOP - {"content-encoding"}  # the body goes up as it came
        passed = [(name, value) for name, value in headers if name.lower() not in dropped and not _is_ours(name)]
        passed.append(("accept-encoding", "identity"))  # not compressed, because answers are read on their way
        # As they came: of texts that are not ASCII, the client would refuse some and write others anew.
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in passed]
        request = self._client.build_request(method, address, headers=raw, content=body)
        return await self._send(request, on_sent)

    async def _send(self, request: httpx2.Request, on_sent: Callable[[], None] | None) -> httpx2.Response:
        """Begin a request. It is sent once more if it met a kept connection that the upstream was just closing."""
        events: list[str] = []

        async def note(event: str, _facts: object) -> None:
            events.append(event)
            if on_sent is not None and event.endswith("send_request_body.complete"):
                on_sent()

        request.extensions = {**request.extensions, "trace": note}
        try:
            return await self._client.send(request, stream=True)
        except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
            if not events or any(event.startswith("connection.connect") for event in events):
                raise
            return await self._client.send(request, stream=True)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def passed_back(headers: httpx2.Headers, **more: str) -> Headers:
    """Return the headers of a response that a client gets, and more of ours. Some come several times."""
    passed = [(name.lower(), value) for name, value in headers.raw if name.lower().decode("latin-1") not in _HOP]
    ours = [(name.replace("_", "-").encode(), value.encode()) for name, value in more.items()]
    return Headers(raw=[*passed, *ours])


def _is_ours(name: str) -> bool:
    return name.lower().startswith(_OURS)
