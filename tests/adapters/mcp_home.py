"""A user's home with sessions of several programs, and the MCP server over it."""

import json
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, TextContent

from sightline import Session
from sightline.adapters.mcp import create_server
from sightline.testing import reply_of
from sightline.view.catalog.places import Places

LONG = "\n".join(f"row {number}: the heron stands in field {number * 7919 % 10007}" for number in range(3_000))
WIDE = "wide," + ",".join(f"x{number}" for number in range(12_000))  # one line


class Home:
    """The folders of one user."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.claude, self.codex = folder, folder / "claude", folder / "codex"
        self.project = folder / "shop"
        self.project.mkdir()
        for name, value in self.variables().items():
            monkeypatch.setenv(name, value)

    def variables(self) -> dict[str, str]:
        """What a program in this home finds in its environment."""
        return {
            "CLAUDE_CONFIG_DIR": str(self.claude), "CODEX_HOME": str(self.codex), "HOME": str(self.folder),
            "SIGHTLINE_HOME": str(self.folder / "home"),
        }  # fmt: skip

    def claude_log(self, name: str, *texts: str, results: bool = False) -> Path:
        """Write a log in which the user and the model speak in turn; with `results`, the user's texts are of a tool."""
        lines: list[dict[str, Any]] = []
        for at, text in enumerate(texts):
            role = ("user", "assistant")[at % 2]
            content: Any = text
            if results and at == 1:
                content = [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": text}}]
            if results and at == 2:
                content = [{"type": "tool_result", "tool_use_id": "c1", "content": text}]
            usage = {"input_tokens": 900, "output_tokens": 12}
            lines.append({
                "type": role, "uuid": f"{name}{at}", "parentUuid": f"{name}{at - 1}" if at else None,
                "sessionId": name, "cwd": "/w/shop", "timestamp": f"2026-11-03T10:{at:02}:00.000Z",
                "message": {"role": role, "id": f"m{at}", "model": "claude-x", "content": content, "usage": usage},
            })  # fmt: skip
        file = self.claude / "projects" / "-w-shop" / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return file

    def session(self, session_id: str, question: str, answer: str) -> None:
        """Keep a session of Sightline."""
        with Session.new(self.project, session_id=session_id) as session:
            session.user(question)
            session.reply(reply_of(answer))

    def ask(self, work: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
        """Do something with a client of the server, in this process."""

        async def run() -> None:
            server = create_server(Places(self.project, everywhere=True))
            async with Client(server) as client:
                await work(client)

        anyio.run(run)

    def program(self) -> Any:
        """The command `sightline mcp`, as the SDK's client starts it."""
        variables = {**os.environ, **self.variables()}
        return stdio_client(
            StdioServerParameters(
                command=sys.executable, args=["-m", "sightline", "mcp"], env=variables, cwd=str(self.project)
            )
        )


async def call(client: Client, tool: str, **given: Any) -> str:
    """What a tool answers; it must not be an error."""
    result = await client.call_tool(tool, given)
    assert not result.is_error, said(result)
    return said(result)


async def failure(client: Client, tool: str, **given: Any) -> str:
    """What the error says with which a tool answers."""
    result = await client.call_tool(tool, given)
    assert result.is_error, said(result)
    return said(result)


def said(result: CallToolResult) -> str:
    """The text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text
