"""The server as an ASGI application: the proxy's paths, the REST interface, the inspector, and what guards them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from sightline.inspector.pages import PREFIX, give_page, is_browser
from sightline.server.config import Config
from sightline.server.event_relay import relay_of
from sightline.server.model_request import FORMATS
from sightline.server.proxy import Proxy
from sightline.server.replies import provider_of
from sightline.server.totals import Totals
from sightline.server.turns import Turns
from sightline.server.upstream import Upstream

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from sightline.agent.models import Model

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]


def create_app(config: Config, *, model: "Model | None" = None, transport: Any = None) -> "Starlette":
    """Return the server. Its `state` has the `totals` of the proxy and the `hub` of events.

    `model` answers in the chat of the REST interface. `transport`: for tests, instead of the network.

    Raises:
        BadInput: the host can be reached from other machines, and there is no token.
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import RedirectResponse
    from starlette.routing import Route

    from sightline.server.access_token import is_loopback
    from sightline.server.metrics import PATH_PATTERN, Measure, Metrics
    from sightline.server.rest import LARGER, rest_routes
    from sightline.server.safety import Guard, check_address, opens_models
    from sightline.server.sessions import OpenSessions

    check_address(config.host, config.token_hash)
    sessions = OpenSessions(config.folder, root=config.root, stores=config.stores, everywhere=config.everywhere)
    metrics = Metrics(lambda: len(sessions.names()))
    metrics.watch(config.work)
    turns, upstream, totals = Turns(config), Upstream(config, transport), Totals()
    proxy = Proxy(turns, upstream, totals, metrics=metrics, hub=sessions.hub)
    sessions.share(proxy.closed)

    async def call_model(request: "Request") -> "ASGIApp":
        request.scope[PATH_PATTERN] = request.url.path
        return await proxy.call_model(request, FORMATS[request.url.path])

    async def show_page(request: "Request") -> "Response":
        request.scope[PATH_PATTERN] = PREFIX
        return await give_page(request)

    async def pass_on(request: "Request") -> "Response":
        if request.url.path in ("/", PREFIX.rstrip("/")) and is_browser(request):
            return RedirectResponse(PREFIX)
        return await proxy.pass_on(request, provider_of(request.url.path, request.headers))

    relay = relay_of(config.stores, sessions.hub)

    @asynccontextmanager
    async def lifespan(_app: "Starlette") -> AsyncIterator[None]:
        try:
            async with relay or nullcontext():
                yield
        finally:
            sessions.hub.close()
            await proxy.close()
            await upstream.close()
            turns.close()
            await sessions.close()

    routes = [
        *rest_routes(sessions, metrics=metrics, model=model, offered=config.offered),
        *(Route(path, call_model, methods=["POST"]) for path in FORMATS),
        Route(PREFIX + "{file:path}", show_page, methods=["GET"]),
        Route("/{path:path}", pass_on, methods=_METHODS),  # Claude Code begins with HEAD /
    ]
    guard = Middleware(
        Guard, max_body=config.max_body, larger=LARGER, token_hash=config.token_hash, hosts=config.hosts,
        open_models=opens_models(config.host, config.upstreams.values()), any_host=not is_loopback(config.host),
    )  # fmt: skip
    app = Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(Measure, metrics=metrics), guard])
    app.state.totals, app.state.hub, app.state.relay = totals, sessions.hub, relay
    return app
