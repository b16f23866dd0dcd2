"""The tools of MCP servers, with a real server as a program of its own: over its streams and over HTTP."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import AudioContent, CallToolResult, ImageContent, TextContent
from mcp_use import using

from sightline.agent.config import McpServer
from sightline.agent.models.secret import Secret
from sightline.agent.tools import Tool
from sightline.agent.tools.mcp import (
    LONGEST_NAME,
    MOST_DATA,
    MOST_SHOWN,
    MOST_TEXT,
    _name,
    _parts,
    _text,
    _with_unique_names,
)
from sightline.errors import ToolFailed
from sightline.values.items import File, Image, Text, ToolDefinition

SERVER = str(Path(__file__).with_name("tool_mcp_server.py"))
TRIAL = McpServer(command=sys.executable, args=(SERVER,), env={"TRIAL_KEY": Secret("k-1")})


async def failing(tool: Tool, **arguments: Any) -> str:
    """Why a call failed."""
    with pytest.raises(ToolFailed) as failed:
        await tool.run(arguments)
    return str(failed.value)


BAD = {
    "missing": McpServer(command="no-such-program-anywhere"),
    "broken": McpServer(command=sys.executable, args=(SERVER, "--broken")),
    "nonsense": McpServer(command=sys.executable, args=("-c", "print('no protocol at all')")),
    "nobody": McpServer(url="http://127.0.0.1:9/mcp"),
}


@pytest.mark.slow
def test_tools_of_a_server_are_tools_of_the_agent() -> None:
    """Named for their server, with their schemas; text, pictures and errors come back as such; keys reach it alone.

    Servers that do not start are warnings with their names, and take nothing from the others.
    """

    async def use(tools: dict[str, Tool]) -> None:
        assert {name.partition("__")[0] for name in tools} == {"trial"}
        definition = tools["trial__add"].definition
        assert definition.description == "Add two numbers"
        assert definition.schema["required"] == ["a", "b"]
        assert definition.schema["properties"]["a"]["type"] == "integer"
        assert await tools["trial__add"].run({"a": 1, "b": 2}) == "3"
        assert await tools["trial__odd_name_with_dots"].run({}) == "odd"
        assert await tools["trial__picture"].run({}) == (Text("a dot"), Image(media_type="image/png", data="AAAA"))
        assert await tools["trial__secret"].run({}) == "k-1 none"
        assert "the warehouse is closed" in await failing(tools["trial__fail"])
        assert await failing(tools["trial__add"], a="x") != ""
        sums = await asyncio.gather(*(tools["trial__add"].run({"a": n, "b": 1}) for n in range(5)))
        assert sums == ["1", "2", "3", "4", "5"]

    _, warnings = using({**BAD, "trial": TRIAL}, use)
    assert sorted(warning.partition(" did not start: ")[0] for warning in warnings) == [
        f"MCP server {name}" for name in sorted(BAD)
    ]
    assert any("no licence found" in warning for warning in warnings)


@pytest.mark.slow
def test_a_server_that_hangs_or_dies_fails_its_calls_only() -> None:
    """A call that is not answered fails in time; after the server's end every call fails, and others still work.

    An error of whoever uses the tools comes out as it was.
    """

    async def use(tools: dict[str, Tool]) -> None:
        assert await failing(tools["a__hang"]) == "a did not answer within 2 s"
        await failing(tools["a__die"])
        await failing(tools["a__add"], a=1, b=2)
        assert await tools["b__add"].run({"a": 1, "b": 2}) == "3"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        using({"a": TRIAL, "b": TRIAL}, use, calling=2.0)


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    """When its time is over, it is ended and told of."""

    async def use(tools: dict[str, Tool]) -> int:
        return len(tools)

    silent = McpServer(command=sys.executable, args=(SERVER, "--silent"))
    found, [warning] = using({"silent": silent}, use, starting=0.3, locale="zh")
    assert found == 0
    assert warning.startswith("MCP 服务器 silent 未能启动")


@pytest.fixture
def over_http() -> Iterator[str]:
    """The address of the server, over HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, SERVER, "--http", str(port)], stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        for line in program.stderr:
            if "running on" in line:
                break
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            program.kill()


@pytest.mark.slow
def test_a_server_is_reached_over_http(over_http: str) -> None:
    """The same tools, by their address."""

    async def use(tools: dict[str, Tool]) -> Any:
        return await tools["web__add"].run({"a": 20, "b": 22})

    assert using({"web": McpServer(url=over_http)}, use) == ("42", [])


def test_every_tool_has_a_name_of_its_own() -> None:
    """Whatever a server calls them: what becomes the same name gets a number that no other has."""

    async def run(_: Any) -> str:
        return ""

    offered = ["a", "a.", "a_", "a__2", "a/", "b" * 80, "b" * 80]
    names = [
        tool.name
        for tool in _with_unique_names([Tool(ToolDefinition(_name("s", each), "", {}), run) for each in offered])
    ]
    assert names[:5] == ["s__a", "s__a_", "s__a__3", "s__a__2", "s__a__4"]
    assert len(set(names)) == len(names)
    assert all(len(name) <= LONGEST_NAME for name in names)


def result(*blocks: Any) -> CallToolResult:
    """What a server answers."""
    return CallToolResult(content=list(blocks), is_error=False)


def test_a_flood_of_text_is_cut() -> None:
    """All blocks together have the room of one."""
    text = _text(_parts(result(*(TextContent(text="x" * MOST_TEXT) for _ in range(3)), TextContent(text="y"))))
    assert len(text) < MOST_TEXT + 100
    assert text.endswith(f"x\n[+{2 * MOST_TEXT + 1} characters]")


@pytest.mark.parametrize(
    ("media_type", "data"),
    [("text/html", "AAAA"), ("image/svg+xml", "AAAA"), ("image/png", "!!!!"), ("image/png", "A" * (MOST_DATA + 4))],
)
@pytest.mark.parametrize(("locale", "word"), [("en", "is left out"), ("zh", "未显示")])
def test_what_is_no_picture_to_a_provider_is_a_line(locale: str, word: str, media_type: str, data: str) -> None:
    """Of another type, too large, or no picture at all: it would be refused with every question that follows."""
    [line] = _parts(result(ImageContent(data=data, mime_type=media_type)), locale)
    assert isinstance(line, Text)
    assert f"[image {media_type}] {word}" in line.text
    assert len(line.text) < 300


@pytest.mark.parametrize(("said", "meant"), [("image/PNG", "image/png"), ("image/jpg", "image/jpeg")])
def test_a_picture_is_known_however_it_is_written(said: str, meant: str) -> None:
    """Its type in capital letters or by another name, its data in lines."""
    assert _parts(result(ImageContent(data="AAAA\r\nAAAA\n", mime_type=said))) == (Image(meant, "AAAAAAAA"),)


@pytest.mark.parametrize(("locale", "words"), [("en", "is no base64"), ("zh", "不是 base64")])
def test_what_is_no_base64_is_told_so(locale: str, words: str) -> None:
    """Another reason than its size."""
    assert words in _text(_parts(result(ImageContent(data="!!!!", mime_type="image/png")), locale))
    assert words not in _text(_parts(result(ImageContent(data="AAAA", mime_type="image/x")), locale))


def test_many_pictures_have_the_room_of_a_few() -> None:
    """In number and in size; a file counts as one."""
    dots = _parts(result(*(ImageContent(data="AAAA", mime_type="image/png") for _ in range(MOST_SHOWN + 2))))
    assert [isinstance(part, Image) for part in dots] == [True] * MOST_SHOWN + [False] * 2
    half = "A" * (MOST_DATA // 8 * 4)
    large = _parts(result(*(AudioContent(data=half, mime_type="audio/wav") for _ in range(3))))
    assert [isinstance(part, File) for part in large] == [True, True, False]


def test_no_servers_are_no_tools() -> None:
    """Nothing configured starts nothing."""

    async def use(tools: dict[str, Tool]) -> int:
        return len(tools)

    assert using({}, use) == (0, [])
