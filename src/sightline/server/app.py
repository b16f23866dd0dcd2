"""The server as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from sightline.server.config import Config
from sightline.server.model_request import FORMATS
from sightline.server.proxy import Proxy
from sightline.server.totals import Totals
from sightline.server.turns import Turns
from sightline.server.upstream import Upstream

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


def create_app(config: Config, *, transport: Any = None) -> "Starlette":
    """Return the proxy as an application. `transport`: for tests, instead of the network."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    turns, upstream, totals = Turns(config), Upstream(config, transport), Totals()
    proxy = Proxy(turns, upstream, totals)

    async def call_model(request: "Request") -> "Response":
        return await proxy.call_model(request, FORMATS[request.url.path])

    async def pass_on(request: "Request") -> "Response":
        return await proxy.pass_on(request, _provider(request))

    @asynccontextmanager
    async def lifespan(_app: "Starlette") -> AsyncIterator[None]:
        try:
            yield
        finally:
            await upstream.close()
            turns.close()

    routes = [
        *(Route(path, call_model, methods=["POST"]) for path in FORMATS),
        Route("/{path:path}", pass_on, methods=_METHODS),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.state.totals = totals
    return app


def _provider(request: "Request") -> str:
    """Return whose request this is: by its path, or by the headers that only one provider's clients send."""
    path, headers = request.url.path, request.headers
    is_anthropic = path.startswith("/v1/messages") or "anthropic-version" in headers or "x-api-key" in headers
    return "anthropic" if is_anthropic else "openai"
