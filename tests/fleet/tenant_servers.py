"""Servers for tenants over one database. Row-level security is on for their role.

with Tenancy(tmp_path, postgres) as tenancy:
    acme = tenancy.client("acme")
    acme.get("/api/sessions")
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import httpx2
from loopback import Server
from through_proxy import MODELS
from upstream import Asked, Upstream
from upstream_script import Answer, Script, answer

from postgres_server import PostgresServer
from sightline import PostgresStores
from sightline.fleet.tenant_server import create_tenants_app
from sightline.fleet.tenants import Limits, Tenants
from sightline.server.access_token import hash_token
from sightline.server.config import Config

OPERATOR = "the-operator-of-the-servers-in-tests"


class Tenancy:
    """Servers of one database, with an upstream behind them and tenants in it."""

    def __init__(self, folder: Path, postgres: PostgresServer, script: Script | None = None, servers: int = 1) -> None:
        self._folder, self._count, self._script = folder, servers, script
        self.address = postgres.url()
        self._stack = ExitStack()
        self.root = folder
        self.tokens: dict[str, str] = {}  # one for each tenant
        self.apps: list[Any] = []
        self.urls: list[str] = []
        self.on_call: Callable[[], object] = lambda: None  # is called before the model answers

    def __enter__(self) -> Self:
        script = self._script if self._script is not None else self._respond
        self.upstream = self._stack.enter_context(Upstream(script))
        self.stores = PostgresStores(self.address)
        self._stack.callback(self.stores.close)
        self.tenants = Tenants(self.stores.database)
        for number in range(self._count):
            self.start(self._folder / f"machine{number}")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _respond(self, _asked: Asked) -> Answer:
        self.on_call()
        return answer("Understood.")

    def start(self, root: Path, **changed: Any) -> Server:
        """Start a server with a folder of its own."""
        upstreams = {"anthropic": self.upstream.anthropic_url, "openai": self.upstream.openai_url}
        own = PostgresStores(self.address)
        self._stack.callback(own.close)
        config = Config(
            folder=self._folder, root=root, stores=own, upstreams=upstreams, token_hash=hash_token(OPERATOR), **changed
        )
        app = create_tenants_app(config, make_mcp=make_mcp)
        server = Server(app)
        server.start()
        self._stack.callback(server.stop)
        self.apps.append(app)
        self.urls.append(server.url)
        return server

    def tenant(self, name: str, **limits: int) -> str:
        """Add a tenant, and return a token of it."""
        self.tenants.create(name, limits=Limits(**limits))
        self.tokens[name] = self.tenants.create_token(name)[1]
        return self.tokens[name]

    def client(self, tenant: str, server: int = 0, headers: Mapping[str, str] | None = None) -> httpx2.Client:
        """A client that shows the tenant's token. An empty name shows none."""
        shown = {"x-sightline-token": self.tokens[tenant]} if tenant else {}
        return self._stack.enter_context(
            httpx2.Client(base_url=self.urls[server], headers={**shown, **(headers or {})}, timeout=60, trust_env=False)
        )

    def ask(self, client: httpx2.Client, *said: str, **fields: Any) -> httpx2.Response:
        """Ask the model, with everything that was said by turns."""
        roles = ("user", "assistant")
        messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]
        body = {"model": MODELS["chat"], "messages": messages} | fields
        return client.post("/v1/chat/completions", json=body, headers={"authorization": "Bearer any"})


def make_mcp(places: Any) -> Any:
    """As the command line makes it."""
    from sightline.cli.serve import mcp_maker

    make = mcp_maker()
    assert make is not None
    return make(places)
