"""What a worker answers: whether it is well, and its counts. Nothing of any session."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sightline.server.access_token import is_loopback
from sightline.server.app import guards, open_sessions
from sightline.server.callers import OneToken
from sightline.server.config import Config
from sightline.server.metrics import Metrics

if TYPE_CHECKING:
    from starlette.applications import Starlette

_API = "/api/"


def create_worker_app(config: Config) -> "Starlette":
    """Return what answers at /healthz, /readyz, /health and /metrics for `config.work`, as a server does."""
    from starlette.applications import Starlette

    from sightline.server.rest import OPERATIONS, rest_routes

    sessions, metrics = open_sessions(config), Metrics()
    metrics.watch(config.work)
    own = [operation for operation in OPERATIONS if not operation.path.startswith(_API)]

    @asynccontextmanager
    async def lifespan(_app: "Starlette") -> AsyncIterator[None]:
        try:
            yield
        finally:
            await sessions.close()

    return Starlette(
        routes=rest_routes(sessions, metrics=metrics, operations=own),
        lifespan=lifespan,
        middleware=guards(config, metrics, OneToken(config.token_hash), open_models=is_loopback(config.host)),
    )
