"""Ask Sightline's MCP server what was decided in an earlier session, as an agent would."""

import asyncio
import sys

from mcp import Client, StdioServerParameters, stdio_client


async def remember(words: str) -> str:
    """Return what the server finds."""
    program = stdio_client(StdioServerParameters(command=sys.executable, args=["-m", "sightline", "mcp"]))
    async with Client(program) as client:
        found = await client.call_tool("search_sessions", {"words": words, "limit": 3})
        return found.content[0].text


if __name__ == "__main__":
    print(asyncio.run(remember(" ".join(sys.argv[1:]) or "decided")))
