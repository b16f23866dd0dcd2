"""The server as an ASGI application: the proxy's paths, the REST interface, the inspector, and what guards them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from sightline.apps.registry import SHIPPED
from sightline.errors import BadInput, StoreError
from sightline.follow.model_request import FORMATS
from sightline.follow.turns import INDEX, Turns
from sightline.inspector.pages import PREFIX, give_page, is_browser
from sightline.log.stores.session_folder import sightline_home
from sightline.server.access_token import is_loopback, opens_models
from sightline.server.callers import Callers, OneToken
from sightline.server.config import Config
from sightline.server.destinations import read_door
from sightline.server.events import Relay
from sightline.server.metrics import PATH_PATTERN, Measure, Metrics, logger
from sightline.server.proxy import Proxy
from sightline.server.rest import LIMITS, OPERATIONS, rest_routes
from sightline.server.rest_chat import EquippedModel
from sightline.server.rest_operation import METHODS, MOST_BYTES, failed
from sightline.server.safety import Guard, check_address
from sightline.server.sessions import OpenSessions
from sightline.server.sign_in import SIGN_IN, SignIn, account_of
from sightline.server.spool import Spool
from sightline.server.totals import Totals
from sightline.server.uploads import UploadRoom, Uploads
from sightline.server.upstream import Upstream
from sightline.server.work import Job
from sightline.values.decoders import decode_json

if TYPE_CHECKING:
    from sightline.agent.models import Model

MCP_PATH = "/api/mcp"
_MOST_CODE_BYTES = 1_000  # of a request that exchanges a code
_HERE = "Sightline: the proxy of this address is here.\n"
_NO_STORE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def create_app(
    config: Config, *, relay: Relay | None = None, model: "Model | EquippedModel | None" = None, transport: Any = None
) -> Starlette:
    """Return the server. Its `state` has the `totals` of the proxy and the `hub` of events.

    `relay` carries events between the servers of one database; it is started and closed with the server. `model`
    answers in the chat of the REST interface. `transport`: for tests, instead of the network.

    Raises:
        BadInput: the host can be reached from other machines, and there is no token, or the model has tools.
    """
    check_address(config.host, config.token_hash)
    if isinstance(model, EquippedModel) and not is_loopback(config.host):
        raise BadInput(f"a chat whose model has tools of this machine is only for 127.0.0.1, not for {config.host}")
    sessions = open_sessions(config)
    metrics, upstream = Metrics(lambda: len(sessions.names())), Upstream(config, transport)
    metrics.watch(config.work)
    room = UploadRoom()
    is_open = opens_models(config.host, config.upstreams.values())
    app = unguarded_app(config, sessions, upstream, metrics, relay=relay, model=model, uploads=Uploads(room))
    app.user_middleware = guards(config, metrics, OneToken(config.token_hash), open_models=is_open)
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            if relay is not None:
                relay.start()
            await asyncio.to_thread(room.delete_left)
            async with inner(app):
                yield
        finally:
            await asyncio.to_thread(room.close)
            await upstream.close()
            if relay is not None:
                await asyncio.to_thread(relay.close)

    app.router.lifespan_context = lifespan
    return app


def open_sessions(config: Config, **options: Any) -> OpenSessions:
    """Return the sessions of a server. `options` as `OpenSessions` has them."""
    return OpenSessions(
        config.folder, root=config.root, stores=config.stores, everywhere=config.everywhere, samples=config.samples,
        **options,
    )  # fmt: skip


def guards(config: Config, metrics: Metrics, callers: Callers, *, open_models: bool) -> list[Middleware]:
    """Return what every request goes through first: it is counted, and let in or not."""
    guard = Middleware(
        Guard, max_body=config.max_body, limits={**LIMITS, MCP_PATH: MOST_BYTES}, callers=callers, hosts=config.hosts,
        open_models=open_models, any_host=not is_loopback(config.host),
    )  # fmt: skip
    return [Middleware(Measure, metrics=metrics, patterns=path_patterns()), guard]


def path_patterns() -> dict[str, str]:
    """Return the paths that there are, and what each is counted as, for requests that are refused."""
    own = [*FORMATS, *(operation.path for operation in OPERATIONS), MCP_PATH]
    return {path: path for path in own} | {"/api/{rest:path}": "/api/*", PREFIX + "{file:path}": PREFIX}


def unguarded_app(
    config: Config,
    sessions: OpenSessions,
    upstream: Upstream,
    metrics: Metrics,
    *,
    relay: Relay | None = None,
    model: "Model | EquippedModel | None" = None,
    apps: Collection[str] = tuple(SHIPPED),
    note: Callable[[Request, str, str], Awaitable[None]] | None = None,
    uploads: Uploads | None = None,
    more: Sequence[BaseRoute] = (),
) -> Starlette:
    """Return an application over these sessions, which it closes at its end. The upstream and the relay are others'.

    `apps` may run in it, `note` gets what is done over REST, `uploads` are files that may be sent, `more` are further
    routes.
    """
    tenant = "" if config.stores is None else config.stores.tenant

    def want(kind: str, session: str) -> None:
        if config.work is not None:
            config.work.want(Job(kind, session, tenant))

    turns, totals = Turns(config, want), Totals()
    proxy = Proxy(
        turns, upstream, totals, metrics=metrics, hub=sessions.hub, require_log=config.require_log,
        spool=_spool_of(config, metrics),
    )  # fmt: skip
    sessions.share(proxy.closed)

    async def pass_on(request: Request) -> ASGIApp:
        is_root = not read_door(request.url.path).names or request.url.path == PREFIX.rstrip("/")
        if request.method in ("GET", "HEAD") and is_root:
            if is_browser(request):
                return RedirectResponse(PREFIX)
            return Response(_HERE, media_type="text/plain")  # Claude Code begins with HEAD /
        return await proxy.answer(request)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            if relay is not None:
                relay.join(sessions.hub, tenant)
            proxy.late_log.begin()
            yield
        finally:
            if relay is not None:
                relay.leave(sessions.hub)
            sessions.hub.close()
            await proxy.close()
            try:
                await asyncio.to_thread(turns.close)
            except StoreError as error:  # the others are closed all the same
                logger.warning("a session did not close well: %s", error)
            await sessions.close()

    routes = [
        *more,
        *rest_routes(
            sessions,
            metrics=metrics,
            model=model,
            apps=apps,
            offered=config.offered,
            note=note,
            uploads=uploads,
            want_index=_index_wanter(config),
            price_of=config.price_of,
        ),
        *page_routes(config.sign_in),
        Route("/{path:path}", pass_on, methods=METHODS),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.state.totals, app.state.hub, app.state.relay, app.state.sessions = totals, sessions.hub, relay, sessions
    app.state.end_streams, app.state.uploads = sessions.hub.close, uploads
    return app


def _spool_of(config: Config, metrics: Metrics) -> Spool | None:
    """Return where calls wait while the database is away. A disk that takes no session takes no spool either."""
    if config.stores is None or not config.spool_bytes:
        return None
    return Spool(config.root or sightline_home(), config.stores, config.spool_bytes, metrics.spool)


def _index_wanter(config: Config) -> Callable[[str], None] | None:
    """Return what has a session of the database indexed in the background. In files nobody else would find it."""
    work, tenant = config.work, "" if config.stores is None else config.stores.tenant
    if work is None or not tenant:
        return None
    return lambda session_id: work.want(Job(INDEX, session_id, tenant))


def page_routes(sign_in: SignIn | None = None) -> list[Route]:
    """Return the routes of the inspector's pages, and of the codes that they exchange; without any, none is right."""

    async def show_page(request: Request) -> Response:
        request.scope[PATH_PATTERN] = PREFIX
        return await give_page(request)

    return [_sign_in_route(sign_in or SignIn("")), Route(PREFIX + "{file:path}", show_page, methods=["GET"])]


class _Code(msgspec.Struct):
    code: str


def _sign_in_route(sign_in: SignIn) -> Route:
    """Return the route at which a page exchanges a code. It needs no token. Other origins are refused before."""

    async def exchange(request: Request) -> Response:
        request.scope[PATH_PATTERN] = SIGN_IN
        if request.method != "POST":  # it is answered here, because what no route takes goes to the provider
            return failed(405, "method_not_allowed", f"{request.method} is not possible here", "use POST")
        body = b""
        async for piece in request.stream():
            body = (body + piece)[:_MOST_CODE_BYTES]
        try:
            account = account_of(*(request.scope.get(end) or ("", 0) for end in ("client", "server")))
            token = sign_in.exchange(decode_json(body, _Code).code, account)
        except (msgspec.MsgspecError, ValueError):  # no JSON of this form, or no Unicode
            token = ""
        if not token:
            return failed(
                401, "code_used", "this code was used before, or is too old",
                "open the address that `sightline inspect` printed; if nobody of you used it, end the server first",
            )  # fmt: skip
        return Response(msgspec.json.encode({"token": token}), 200, _NO_STORE, "application/json")

    return Route(SIGN_IN, exchange, methods=METHODS)
