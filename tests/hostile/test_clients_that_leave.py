"""Clients that go away while their request comes: they are counted, and nothing is reported as wrong."""

import asyncio
import logging
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sightline.server.access_token import hash_token
from sightline.server.app import create_app
from sightline.server.config import Config

TOKEN = "the-token-of-a-server-in-tests"
PATHS = [
    "/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1/models", "/v1/files", "/anthropic/v1/messages",
    "/v1/messages/count_tokens", "/inspector/sign-in", "/api/sessions", "/api/imports?name=x.jsonl", "/api/mcp",
]  # fmt: skip


def leave(app: Any, path: str, pieces: int) -> list[MutableMapping[str, Any]]:
    """Send the beginning of a body, and go away. Return what the server sent."""
    target, _, query = path.partition("?")
    headers = [
        (b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"content-length", b"1000"),
        (b"x-sightline-token", TOKEN.encode()), (b"anthropic-version", b"2023-06-01"), (b"accept", b"*/*"),
    ]  # fmt: skip
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": target, "headers": headers,
        "raw_path": target.encode(), "query_string": query.encode(), "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8787),
    }  # fmt: skip
    events = [{"type": "http.request", "body": b'{"a"', "more_body": True}] * pieces
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return events.pop() if events else {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def run() -> None:
        async with app.router.lifespan_context(app):
            await app(scope, receive, send)

    asyncio.run(run())
    return sent


@pytest.mark.parametrize("pieces", [0, 2])
@pytest.mark.parametrize("path", PATHS)
def test_a_client_that_leaves_is_no_fault(
    path: str, pieces: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No traceback and no status 500, whatever was to be read; the request is counted."""
    upstream = httpx2.MockTransport(lambda _: pytest.fail("half a request was passed on"))
    upstreams = {"anthropic": "http://127.0.0.1:1", "openai": "http://127.0.0.1:1/v1"}
    told = {"folder": tmp_path, "root": tmp_path / "logs", "upstreams": upstreams, "token_hash": hash_token(TOKEN)}
    config = Config(**told)  # type: ignore[arg-type]
    app = create_app(config, transport=upstream)
    counted: list[int] = []
    with caplog.at_level(logging.INFO, "sightline.server"):
        sent = leave(app, path, pieces)
    counted += [record.status for record in caplog.records if hasattr(record, "status")]
    assert len(counted) == 1
    assert counted[0] < 500
    assert all(message["status"] < 500 for message in sent if message["type"] == "http.response.start")
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]
