"""A small MCP server for the tests, run as a program: it does what servers do, and what they should not."""

import os
import sys
import time

if "--silent" in sys.argv:
    time.sleep(600)
if "--broken" in sys.argv:
    sys.exit("no licence found")

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ImageContent, TextContent

server = MCPServer("trial")


@server.tool(description="Add two numbers")
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
def secret() -> str:
    return os.environ.get("TRIAL_KEY", "none") + " " + os.environ.get("UNRELATED_KEY", "none")


@server.tool()
def fail() -> str:
    raise ToolError("the warehouse is closed")


@server.tool()
def picture() -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text="a dot"), ImageContent(data="AAAA", mime_type="image/png")], is_error=False
    )


@server.tool()
def hang() -> str:
    time.sleep(3600)
    return "never"


@server.tool()
def die() -> str:
    os._exit(3)


@server.tool(name="odd name/with.dots")
def odd() -> str:
    return "odd"


if __name__ == "__main__":
    if "--http" in sys.argv:
        server.run("streamable-http", port=int(sys.argv[-1]))
    server.run("stdio")
