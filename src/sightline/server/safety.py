"""Who may talk to a server: an ASGI middleware before everything else.

Everything below `/api/` needs the token, at every address: other accounts of this machine reach a loopback address too,
and could read and change sessions or let the chat spend the user's key. A web page must not reach a server either,
although a browser on this machine can. So four things are checked:

- `Host` must be a name of this server. A page whose name an attacker points to 127.0.0.1 ("DNS rebinding") has another.
- `Origin`, which browsers send with what pages do, must be the server's own, and so must `Sec-Fetch-Site`. Only the
  inspector's pages may be opened from elsewhere, because they say nothing about sessions.
- Cookies are never looked at, so a browser proves nothing that its user did not type or paste.
- The token: the server's one, or one of a tenant's (see `callers`). It is accepted in three places:
  - `X-Sightline-Token: TOKEN`, on every path.
  - `Authorization: Bearer TOKEN`, below `/api/`, at `/metrics` and at `/health` only. On the paths of the proxy that
    header, and `x-api-key`, hold the provider's key: they are passed on and never compared with anything here.
  - as the beginning of the path, `/token/TOKEN/v1/messages`, because many agents can be told an address and nothing
    else: `ANTHROPIC_BASE_URL=http://host:8787/token/TOKEN/anthropic`. It and the header are taken off at once, so
    that no log and no provider gets the token.

On a loopback address a token is made at each start, and the paths of the proxy are open without it: an agent brings its
own key, and the server adds none. Where it would add one, because an upstream's address has a user or a password in it,
and at any other address, the paths of the proxy need the token too.

`/healthz`, `/readyz` and the inspector's pages need no token: they say nothing about sessions. Neither does the path
where a page that we opened exchanges a code for it (see `sign_in`). Bodies have a limit,
also those that do not say how long they are, and may not stop coming. Who sends a model's request and is not let in
gets an error of the provider's shape.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from urllib.parse import quote, unquote_to_bytes

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sightline.errors import BadInput
from sightline.follow.replies import error_body
from sightline.inspector.pages import PREFIX
from sightline.server.access_token import PATH_PREFIX, is_loopback
from sightline.server.callers import OWN_PATHS, Callers, Refusal
from sightline.server.destinations import provider_of, read_door
from sightline.server.sign_in import SIGN_IN

TOKEN_HEADER = "x-sightline-token"
_API = "/api/"
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
# A name or an address, and a port. What has more would name another place where an address is made from it.
_HOST = re.compile(r"(\[[\da-f:.]+\]|[\da-f.]*:[\da-f.]*:[\da-f:.]*|[^\s:/?#@\\\[\]]+)(?::\d{0,5})?")
_SAME_SITE = frozenset({"same-origin", "none"})  # "none": the user typed the address
# Of the body of a request that is refused, so much is still read and thrown away: many clients send all of it before
# they read an answer, and see a broken connection instead of the answer if nobody takes the rest.
_MOST_THROWN_AWAY = 64 * 1024 * 1024
_THROWING_SECONDS = 10
_BODY_SECONDS = 60.0  # that a client may send nothing of a body that it has begun


def check_address(host: str, token_hash: str) -> None:
    """Raise BadInput if a server that listens at this host needs a token and has none."""
    if not is_loopback(host) and not token_hash:
        raise BadInput(
            f"a server at {host} can be reached from other machines, so it needs a token: "
            "use find_token, or listen at 127.0.0.1"
        )


class BodyRefused(Exception):
    """A request's body is longer than allowed, or does not come. Raised where it is read, answered by `Guard`."""


_FOREIGN_HOST = Refusal(
    403, "foreign_host", "the Host header names no host of this server",
    "use the address that the server printed when it started, or start it with this name as an allowed host",
)  # fmt: skip
_FOREIGN_ORIGIN = Refusal(
    403, "foreign_origin", "a page of another origin sent this request", "open the server's own pages instead"
)
_TOO_LARGE = Refusal(413, "body_too_large", "the body is too large", "send less at once")
_TOO_SLOW = Refusal(408, "body_too_slow", "the rest of the body did not come", "send the request again")
_NO_WEBSOCKET = Refusal(426, "no_websocket", "no websocket is opened here", "send the same request over HTTP")
_BAD_REQUEST = Refusal(400, "bad_request", "a request has exactly one Host header", "send one")
_BAD_HOST = Refusal(
    400, "bad_request", "the Host header is no host", "send a name or an address, with a port or without"
)


class Guard:
    """Lets in what may come in, and answers the rest itself. The outermost middleware of a server."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        max_body: int,
        limits: Mapping[str, int] = MappingProxyType({}),
        callers: Callers,
        open_models: bool = False,
        any_host: bool = False,
        hosts: Iterable[str] = (),
        body_seconds: float = _BODY_SECONDS,
    ) -> None:
        """`callers` says whose tokens are good.

        `open_models`: only what is below `/api/` needs the token, see `opens_models`. `limits`: paths whose bodies may
        have another number of bytes than `max_body`. `hosts`: names of this server besides loopback's. `any_host`: if
        there are none, any name is let in: nobody knows the names of a server that other machines reach, and a page
        that was rebound does not have its token.
        """
        hosts = tuple(hosts)
        self._app, self._max_body, self._limits, self._callers = app, max_body, limits, callers
        self._opens_models, self._body_seconds = open_models, body_seconds
        self._hosts: Collection[str] | None = _LOOPBACK_NAMES | {_host_name(host) for host in hosts}
        if any_host and not hosts:
            self._hosts = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] == "websocket":  # from another server than ours, which has them as ordinary requests
            await send({"type": "websocket.close", "code": 1008, "reason": _NO_WEBSOCKET.message})
            return
        if (refusal := await self._check(scope)) is not None:
            await refuse(scope, receive, send, refusal)
            return
        await self._pass_on(scope, receive, send)

    async def _check(self, scope: Scope) -> Refusal | None:
        headers = _Headers(scope)
        token_in_path = _take_token(scope)
        scope["headers"] = [header for header in scope["headers"] if header[0].lower() != TOKEN_HEADER.encode()]
        if not (hosts := headers.all(b"host")) and scope["path"] in OPEN_PATHS:
            return None  # a load balancer that asks by HTTP/1.0 names no host
        if len(hosts) != 1:
            return _BAD_REQUEST
        name = _host_name(hosts[0])
        if not name:
            return _BAD_HOST
        if self._hosts is not None and name not in self._hosts:
            return _FOREIGN_HOST
        if not _is_own_origin(headers, hosts[0]) and not _opens_page(scope, headers):
            return _FOREIGN_ORIGIN
        if headers.first(b"upgrade").lower() == "websocket":
            return _NO_WEBSOCKET
        if not self._is_open(scope):
            refusal = await self._callers.check(scope, _tokens_of(scope["path"], headers, token_in_path))
            if refusal is not None:
                return refusal
        declared = headers.first(b"content-length")
        if declared.isdigit() and int(declared[:20]) > self._limit(scope):
            return _TOO_LARGE
        return None

    def _is_open(self, scope: Scope) -> bool:
        """Whether a request needs no token."""
        if scope["path"].startswith(_API):
            return False
        signs_in = scope["path"] == SIGN_IN and scope.get("method") == "POST"
        return self._opens_models or scope["path"] in OPEN_PATHS or signs_in or _is_page(scope)

    def _limit(self, scope: Scope) -> int:
        return self._limits.get(scope["path"], self._max_body)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        read, started, more, most = 0, False, True, self._limit(scope)
        refusal: Refusal | None = None

        async def counted() -> Message:
            nonlocal read, more, refusal
            try:
                async with asyncio.timeout(self._body_seconds if more else None):
                    message = await receive()
            except TimeoutError:
                refusal = _TOO_SLOW
                raise BodyRefused from None
            read, more = read + len(message.get("body", b"")), bool(message.get("more_body"))
            if read > most:
                refusal = _TOO_LARGE
                raise BodyRefused
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            if refusal is None or started:  # else: frameworks answer 500 where reading fails
                started = True
                await send(message)

        try:
            await self._app(scope, counted, noted)
        except BodyRefused:
            if started:
                raise
        if refusal is not None and not started:
            await refuse(scope, receive, send, refusal, has_more=more and refusal is _TOO_LARGE)


class _Headers:
    """The headers of a request, as text."""

    def __init__(self, scope: Scope) -> None:
        self._headers: list[tuple[bytes, bytes]] = list(scope.get("headers", ()))

    @property
    def mapping(self) -> dict[str, str]:
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self._headers}

    def all(self, name: bytes) -> list[str]:
        return [value.decode("latin-1") for key, value in self._headers if key.lower() == name]

    def first(self, name: bytes) -> str:
        return next(iter(self.all(name)), "")


def _tokens_of(path: str, headers: _Headers, token_in_path: str) -> list[str]:
    """Return what a request shows as tokens."""
    tokens = [token_in_path, *headers.all(TOKEN_HEADER.encode())]
    if path.startswith(_API) or path in OWN_PATHS:
        tokens += [_bearer(value) for value in headers.all(b"authorization")]
    return [token for token in tokens if token]


def _take_token(scope: Scope) -> str:
    """Return the token that a path begins with, and take it off.

    The scope itself is changed, not a copy of it, because the server that made it may log its path.
    """
    path: str = scope["path"]
    if not path.startswith(PATH_PREFIX):
        return ""
    token, slash, rest = path.removeprefix(PATH_PREFIX).partition("/")
    scope["path"] = slash + rest or "/"
    raw: bytes = scope.get("raw_path") or b""
    _, slash_, rest_ = raw.removeprefix(PATH_PREFIX.encode()).partition(b"/")
    scope["raw_path"] = slash_ + rest_ or b"/"
    if unquote_to_bytes(scope["raw_path"]) != scope["path"].encode():  # escapes stood in what was taken off
        scope["raw_path"] = quote(scope["path"]).encode()
    return token


def _is_page(scope: Scope) -> bool:
    """Whether a file of the inspector is wanted. The answer says nothing about sessions."""
    return scope["path"].startswith(PREFIX) and scope["method"] in ("GET", "HEAD")


def _opens_page(scope: Scope, headers: _Headers) -> bool:
    """Whether a browser opens a page of the inspector in a tab of its own, perhaps by a link in another page."""
    is_tab = headers.all(b"sec-fetch-mode") == ["navigate"] and headers.all(b"sec-fetch-dest") == ["document"]
    return is_tab and _is_page(scope) and not headers.all(b"origin")


def _bearer(value: str) -> str:
    kind, _, token = value.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _host_name(host: str) -> str:
    """Return the name in a Host header, without its port, as it is compared; empty if it is no name and port."""
    if (host_match := _HOST.fullmatch(host.strip().lower())) is None:
        return ""
    name = host_match[1]
    return f"[{name}]" if ":" in name and not name.startswith("[") else name.removesuffix(".")


def _is_own_origin(headers: _Headers, host: str) -> bool:
    """Whether no page of another origin sent this. Programs that are no browser send neither header.

    The scheme is not compared: behind a proxy that speaks TLS it is another, and no other server has this address.
    """
    if any(origin.lower().partition("://")[2] != host.lower() for origin in headers.all(b"origin")):
        return False
    return all(site in _SAME_SITE for site in headers.all(b"sec-fetch-site"))


async def refuse(scope: Scope, receive: Receive, send: Send, refusal: Refusal, *, has_more: bool = True) -> None:
    """Answer a request that is not let in. `has_more`: not all of its body was read."""
    headers = _Headers(scope)
    if has_more and not headers.first(b"expect"):  # who expects to be told sends no body before
        await throw_body_away(Request(scope, receive).stream())
    body = msgspec.json.encode(_told(scope["path"], headers, refusal))
    told = [
        (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), (b"connection", b"close"),
        (b"cache-control", b"no-store"),
    ]  # fmt: skip
    if refusal.status == 401:
        told.append((b"www-authenticate", b"Bearer"))
    if refusal.retry_after:
        told.append((b"retry-after", b"%d" % refusal.retry_after))
    await send({"type": "http.response.start", "status": refusal.status, "headers": told})
    await send({"type": "http.response.body", "body": body})


async def throw_body_away(rest: AsyncIterator[bytes]) -> None:
    """Read the rest of a body, unless it is very long or comes slowly."""
    left = _MOST_THROWN_AWAY
    with suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(_THROWING_SECONDS):
            while left > 0 and (piece := await anext(rest, None)) is not None:
                left -= len(piece)


def _told(path: str, headers: _Headers, refusal: Refusal) -> Mapping[str, object]:
    """Return the body of a refusal: in the provider's shape if the path is a provider's."""
    door = read_door(path)
    if door.address or door.owner or door.version:
        provider = provider_of(path, headers.mapping)
        return error_body(provider, refusal.status, f"{refusal.message}: {refusal.what_to_do}", code=refusal.type)
    return {"error": {"type": refusal.type, "message": refusal.message, "what_to_do": refusal.what_to_do}}
