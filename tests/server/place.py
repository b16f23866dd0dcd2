"""Where a client sends its requests: to the upstream itself, or to the proxy before it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from loopback import Server
from upstream import Upstream

from sightline.server.app import create_app
from sightline.server.config import Config

PLACES = [pytest.param("direct", marks=pytest.mark.soak), "proxied"]  # without the proxy only the upstream is proven


@contextmanager
def open_place(place: str, upstream: Upstream, folder: Path, *, window: int | None = None) -> Iterator[str]:
    """The base URL without /v1 of this place; the proxy keeps its sessions in the folder."""
    if place == "direct":
        yield upstream.anthropic_url
        return
    upstreams = {"anthropic": upstream.anthropic_url, "openai": upstream.openai_url}
    config = Config(folder=folder, root=folder / "sessions", upstreams=upstreams, window=window)
    with Server(create_app(config)) as server:
        yield server.url
