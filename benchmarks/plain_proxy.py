"""`python -m benchmarks.plain_proxy PORT UPSTREAM_PORT`: a reverse proxy that only passes on, to compare ours with.

It has the same parts as ours, Starlette, uvicorn and httpx2, and no logic: what it adds to a request is what these
parts cost.
"""

import sys
from collections.abc import AsyncIterator

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

_KEPT = ("content-type", "authorization")


def create_app(upstream: str) -> Starlette:
    """Return the proxy before this address."""
    limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
    client = httpx2.AsyncClient(timeout=600, limits=limits, trust_env=False)

    async def pass_on(request: Request) -> StreamingResponse:
        headers = {name: value for name, value in request.headers.items() if name in _KEPT}
        sent = client.build_request(
            request.method, upstream + request.url.path, headers=headers, content=await request.body()
        )
        response = await client.send(sent, stream=True)

        async def chunks() -> AsyncIterator[bytes]:
            try:
                async for chunk in response.aiter_raw():
                    yield chunk
            finally:
                await response.aclose()

        told = {"content-type": response.headers.get("content-type", "")}
        return StreamingResponse(chunks(), status_code=response.status_code, headers=told)

    return Starlette(routes=[Route("/{path:path}", pass_on, methods=["GET", "POST"])])


if __name__ == "__main__":
    port, upstream_port = sys.argv[1:]
    uvicorn.run(
        create_app(f"http://127.0.0.1:{upstream_port}"), host="127.0.0.1", port=int(port), log_level="critical",
        timeout_keep_alive=75,
    )  # fmt: skip
