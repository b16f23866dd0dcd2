"""One server for many tenants: whose token a request shows decides which application answers it.

Each tenant has an application of its own (see `applications`), with sessions, events and imports of its own.
Shared are what holds nothing of a conversation: connections to the database and to the providers, and counts. A
tenant's application reads no file of this machine: it offers none, runs no app, and has no model of the server's.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec.structs import replace

from sightline.errors import BadInput, SightlineError, StoreError
from sightline.files.private_files import make_directory
from sightline.fleet.event_relay import EventRelay
from sightline.fleet.postgres import PostgresStores
from sightline.fleet.tenant_callers import CALLER, SignedIn, TenantCallers, TenantKey
from sightline.fleet.tenants import Tenants
from sightline.log.stores.session_folder import sightline_home
from sightline.server.app import MCP_PATH, guards, open_sessions, page_routes, unguarded_app
from sightline.server.applications import Applications, TooManyApplications
from sightline.server.callers import Refusal
from sightline.server.config import Config
from sightline.server.metrics import PATH_PATTERN, Metrics, logger
from sightline.server.rest_operation import QuotaExceeded
from sightline.server.safety import refuse
from sightline.server.sessions import OpenSessions
from sightline.server.spool import has_waiting
from sightline.server.uploads import MOST_OF_A_TENANT, UploadRoom, Uploads
from sightline.server.upstream import Upstream
from sightline.view.catalog.places import Places

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import Message, Receive, Scope, Send

MakeMcp = Callable[[Places], "Starlette"]
"""Makes what answers at /api/mcp for the sessions of some places."""

TOLD = "this server"  # what errors call the database: its address is no tenant's business
_FOLDER = "tenants"  # below the folder of all sessions: what is made from a tenant's sessions, and can be made again
_PROJECTS = Path("/tenants")  # there need be no such folder: the project of a tenant is a name
_REMEMBERED = 16 * 1024 * 1024  # bytes of the last requests of one tenant
_WATCH_SECONDS = 5.0  # after which it is looked at whether the token of a stream is still good
_BRING_SECONDS = 60.0  # after which it is looked whether calls of tenants wait that nobody asks for now
_API = "/api/"


def create_tenants_app(config: Config, *, make_mcp: MakeMcp | None = None, transport: Any = None) -> "Starlette":
    """Return a server for all tenants of the database `config.stores`. Its `state` has the `applications`.

    `make_mcp`: what answers at /api/mcp; None: nothing does. `transport`: for tests, instead of the network.

    Raises:
        BadInput: there is no database.
        StoreError: it refuses us, or its role passes row-level security by. One that cannot be reached is waited for.
    """
    if not isinstance(config.stores, PostgresStores):
        raise BadInput("tenants are in a database: name it with --store postgresql://…")
    server = _TenantServer(config, config.stores, make_mcp, transport)
    server.tenants.require_guarded()
    return server.app()


class _TenantServer:
    """What the tenants of a server share, and what makes their applications."""

    def __init__(self, config: Config, stores: PostgresStores, make_mcp: MakeMcp | None, transport: Any) -> None:
        self._config, self._stores, self._make_mcp = config, stores, make_mcp
        self.tenants = Tenants(stores.database)
        self._callers = TenantCallers(self.tenants, config.token_hash)
        self._upstream, self._relay = Upstream(config, transport), EventRelay(stores.database)
        self._applications = Applications(self._make)
        self._room = UploadRoom()
        self._metrics = Metrics(self._count_open)
        self._metrics.watch(config.work)
        place = f"{stores.database.address.place}/{stores.database.address.schema}"
        self._folder = (config.root or sightline_home()) / _FOLDER / _digest(place)

    def app(self) -> "Starlette":
        """Return the application around those of the tenants."""
        from starlette.applications import Starlette

        from sightline.server.rest import OPERATIONS, rest_routes

        own = [operation for operation in OPERATIONS if not operation.path.startswith(_API)]
        sessions = open_sessions(replace(self._config, everywhere=False))
        routes = [*rest_routes(sessions, metrics=self._metrics, operations=own), *page_routes()]
        middleware = guards(self._config, self._metrics, self._callers, open_models=False)
        app = Starlette(routes=routes, lifespan=self._lifespan, middleware=middleware)
        app.router.redirect_slashes = False
        app.router.default = self._answer
        app.state.applications, app.state.relay = self._applications, self._relay
        app.state.end_streams = self._applications.end_streams
        return app

    @asynccontextmanager
    async def _lifespan(self, _app: "Starlette") -> AsyncIterator[None]:
        self._relay.start()
        await asyncio.to_thread(self._delete_old_folders)
        await asyncio.to_thread(self._room.delete_left)
        bringing = asyncio.create_task(self._bring_in_left())
        try:
            yield
        finally:
            bringing.cancel()
            await asyncio.wait([bringing])
            await self._applications.close()
            await asyncio.to_thread(self._room.close)
            await self._upstream.close()
            await asyncio.to_thread(self._relay.close)
            self._callers.close()

    # ------------------------------------------------------------------ one request

    async def _answer(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Let the caller's own application answer."""
        signed_in: SignedIn = scope[CALLER]
        if scope["path"].startswith(_API) and scope["method"] == "GET":
            receive = self._while_good(signed_in, receive)
        try:
            async with self._applications.use(signed_in.tenant) as app:
                await app(scope, receive, send)
            return
        except TooManyApplications as error:
            refusal = Refusal(503, "busy", str(error), "try again in some seconds", retry_after=5)
        except SightlineError as error:  # it could not be made
            logger.warning("no application for a tenant: %s", error)
            refusal = Refusal(503, "store_failed", "the sessions cannot be read", "try again in some seconds", 2)
        await refuse(scope, receive, send, refusal)

    def _while_good(self, signed_in: SignedIn, receive: "Receive") -> "Receive":
        """Receive from a client as long as its token is good: then it counts as gone, and a stream of events ends."""

        async def watched() -> "Message":
            received = asyncio.ensure_future(receive())
            try:
                while not (await asyncio.wait([received], timeout=_WATCH_SECONDS))[0]:
                    if await self._callers.is_revoked(signed_in):
                        return {"type": "http.disconnect"}
                return received.result()
            finally:
                received.cancel()

        return watched

    async def _bring_in_left(self) -> None:
        """Have the applications open of tenants whose calls wait for the database: each brings in its own."""
        while True:
            for key in await asyncio.to_thread(self._find_waiting):
                with suppress(SightlineError):  # it is tried again
                    async with self._applications.use(key):
                        pass
            await asyncio.sleep(_BRING_SECONDS)

    def _find_waiting(self) -> list[TenantKey]:
        with suppress(OSError, StoreError):
            waiting = {folder for folder in self._folder.iterdir() if has_waiting(folder)}
            keys = [TenantKey(tenant.name, tenant.created) for tenant in self.tenants.list()] if waiting else []
            return [key for key in keys if self._folder_of(*key) in waiting]
        return []

    # ------------------------------------------------------------------ one tenant

    async def _make(self, tenant: TenantKey) -> "Starlette":
        folder, name = self._folder_of(*tenant), tenant.name
        await asyncio.to_thread(make_directory, folder)
        stores = self._stores.for_tenant(name, told=TOLD, since=tenant.since)
        config = replace(
            self._config, stores=stores, root=folder, folder=_PROJECTS / quote(name, safe=""), everywhere=False,
            offered=(), remembered=_REMEMBERED,
        )  # fmt: skip
        sessions = open_sessions(config, folders=())
        return unguarded_app(
            config, sessions, self._upstream, self._metrics, relay=self._relay, apps=(), note=self._note,
            uploads=Uploads(self._room, MOST_OF_A_TENANT, self._check_quota),
            more=[] if self._make_mcp is None else [_mcp_route(self._make_mcp, sessions)],
        )  # fmt: skip

    async def _note(self, request: "Request", action: str, subject: str) -> None:
        await self._callers.limits.note(request.scope[CALLER].caller, action, subject)

    async def _check_quota(self, request: "Request", size: int, anew: bool) -> None:
        refusal = await self._callers.limits.check_bytes(request.scope[CALLER].caller, size, anew=anew)
        if refusal is not None:
            raise QuotaExceeded(refusal.message)

    def _folder_of(self, name: str, since: datetime | None) -> Path:
        """Return the folder of a tenant. One that is created under the name of a deleted one has another."""
        return self._folder / _digest(f"{name}/{since.timestamp() if since else 0.0}")

    def _delete_old_folders(self) -> None:
        """Delete what is left on this machine of tenants that were deleted."""
        with suppress(OSError, StoreError):
            folders = {Path(entry.path) for entry in os.scandir(self._folder)}
            used = {self._folder_of(tenant.name, tenant.created) for tenant in self.tenants.list()}
            for folder in folders - used:
                shutil.rmtree(folder, ignore_errors=True)

    def _count_open(self) -> int:
        return sum(len(app.state.sessions.names()) for app in self._applications.open_now())


def _digest(text: str) -> str:
    """Return a name for a folder."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _mcp_route(make_mcp: MakeMcp, sessions: OpenSessions) -> "BaseRoute":
    """Return the route of MCP. What answers is made at the first request, because it reads all sessions to search."""
    from starlette.routing import Route

    async def make(_path: str) -> "Starlette":
        return make_mcp(sessions.places)

    applications: Applications[str] = Applications(make)
    sessions.on_close(applications.close)

    class Endpoint:
        """An ASGI application, which a route takes as it is if it is no function."""

        async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
            scope[PATH_PATTERN] = MCP_PATH
            async with applications.use(MCP_PATH) as app:
                await app(scope, receive, send)

    return Route(MCP_PATH, Endpoint())
