"""A network that ends here: it keeps what would have gone out, and answers every request alike.

with far_proxy(tmp_path, anthropic="https://api.anthropic.com") as (proxy, network):
    proxy.request("GET", "/v1/models", {})
assert network.sent == []
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from in_process import InProcess

from sightline.follow.turns import PROVIDERS
from sightline.server.app import create_app
from sightline.server.config import Config


class FarNetwork(httpx2.AsyncBaseTransport):
    """Keeps the requests that a server sends to its upstreams."""

    def __init__(self, answer: Any = None) -> None:
        self.sent: list[httpx2.Request] = []
        self._answer = {} if answer is None else answer

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request."""
        await request.aread()
        self.sent.append(request)
        return httpx2.Response(200, json=self._answer)

    @property
    def addresses(self) -> list[str]:
        """Where they went, with user and password."""
        return [str(request.url) for request in self.sent]


@contextmanager
def far_proxy(
    folder: Path, answer: Any = None, *, token_hash: str = "", **upstreams: str
) -> Iterator[tuple[InProcess, FarNetwork]]:
    """A proxy before the providers, or before these upstreams."""
    network = FarNetwork(answer)
    config = Config(folder=folder, root=folder / "logs", upstreams=PROVIDERS | upstreams, token_hash=token_hash)
    with InProcess(create_app(config, transport=network)) as proxy:
        yield proxy, network
