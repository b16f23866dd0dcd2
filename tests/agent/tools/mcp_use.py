"""Tools of MCP servers, used by a test while the servers run."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from sightline.agent.config import McpServer
from sightline.agent.tools import Tool
from sightline.agent.tools.mcp import servers

Use = Callable[[dict[str, Tool]], Awaitable[Any]]


def using(configured: dict[str, McpServer], use: Use, **options: Any) -> tuple[Any, list[str]]:
    """What comes of using the tools of these servers, and the warnings there were."""
    warnings: list[str] = []

    async def run() -> Any:
        async with servers(configured, warn=warnings.append, **options) as tools:
            return await use({tool.name: tool for tool in tools})

    return asyncio.run(run()), warnings
