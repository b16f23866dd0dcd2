"""The tools of MCP servers, as tools of the agent.

A server is other people's program: it may fail to start, hang, answer nonsense or end at any moment. Each has a task of
its own, and whatever it does becomes a warning or the failure of one call. Its definitions and results have limits.
"""

import asyncio
import hashlib
import logging
import re
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from sightline.agent.config import McpServer
from sightline.agent.models.secret import HIDDEN, redacted
from sightline.agent.tools import Tool
from sightline.agent.tools.in_thread import in_thread
from sightline.agent.tools.mcp_limits import (
    LONGEST_DESCRIPTION,
    CutStream,
    cut_description,
    fitting,
    is_schema_taken,
    listed,
    not_offered,
)
from sightline.agent.tools.mcp_program import Program
from sightline.agent.tools.schema import says
from sightline.errors import ToolFailed
from sightline.values.items import File, Image, Text, ToolDefinition
from sightline.wire.anthropic import IMAGE_TYPES
from sightline.wire.common import label

if TYPE_CHECKING:
    import mcp
    import mcp_types

STARTING = 20.0  # seconds that a server may take until its tools are known
CALLING = 60.0  # seconds that a call may take
ENDING = 10.0  # seconds that its end may take: the SDK itself waits four
MOST_PAGES = 20  # of a list of tools, because a list may never end
MOST_TEXT = 900_000  # characters of a result, all its blocks together
MOST_SHOWN = 20  # pictures and files of a result
MOST_DATA = 5_000_000  # characters of base64, all of them together: some providers take no more in one picture
LONGEST_LABEL = 500  # characters of the label of a picture or a file
LONGEST_NAME = 64  # characters that every provider takes

Warn = Callable[[str], None]

_LOG = logging.getLogger("sightline.agent")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
# Keys by their shape, and by what stands before them. No character is looked at more than a few times, in any text: a
# repetition gives nothing back, and a token of three parts is only looked for from the beginning of its first one.
_KEY = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|hf|npm)[-_][\w-]{12,}+|\bA(?:KI|SI)A[0-9A-Z]{16}\b"
    r"|\bAIza[\w-]{30,}+|(?<![\w-])(?>[\w-]*?\beyJ)[\w-]{8,}+\.[\w-]++\.[\w-]*+|(?<=://)[^\s/@]++(?=@)"
)
_NAMED_KEY = re.compile(
    r"(?i)(\b(?:bearer|basic)\s++|(?:key|token|secret|passw(?:or)?d|authorization)['\"]?\s*+[=:]\s*+['\"]?"
    r"(?:(?:bearer|basic|token)\s++)?)[^\s'\",;]{6,}+"
)


@asynccontextmanager
async def servers(
    configured: Mapping[str, McpServer],
    locale: str = "en",
    *,
    warn: Warn = _LOG.warning,
    starting: float = STARTING,
    calling: float = CALLING,
) -> AsyncIterator[Sequence[Tool]]:
    """Yield the tools of these servers, each named `server__tool`. The servers run while the block lasts.

    A server that does not start is left out, and so are tools whose definitions are too large or too many: `warn` gets
    the reason.
    """
    for name in ("mcp", "client"):  # the SDK's loggers: what a server does wrong is not to fill the user's screen
        logging.getLogger(name).addHandler(logging.NullHandler())
    running = [_Server(name, config, locale, warn, calling) for name, config in configured.items()]
    tasks = [asyncio.create_task(server.run(starting)) for server in running]
    try:
        await asyncio.gather(*(server.ready.wait() for server in running))
        tools, left_out = fitting(_with_unique_names([tool for server in running for tool in server.tools]))
        if left_out:
            warn(not_offered(left_out, locale, sum(server.lost for server in running)))
        yield tools
    finally:
        for server in running:
            server.leave.set()
        if tasks:
            _, still = await asyncio.wait(tasks, timeout=ENDING)
            for task in still:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class _Server:
    """One server, from its start to its end."""

    def __init__(self, name: str, config: McpServer, locale: str, warn: Warn, calling: float) -> None:
        self.name, self.config, self.locale, self.warn, self.calling = name, config, locale, warn, calling
        self.ready, self.leave = asyncio.Event(), asyncio.Event()
        self.tools: list[Tool] = []
        self._client: mcp.Client | None = None
        self._program: Program | None = None
        self._was_mended = False
        self.lost = 0  # tools beyond the longest list that is read

    async def run(self, starting: float) -> None:
        """Start the server, and end it when `leave` is set. Raises nothing: `warn` gets what fails."""
        try:
            async with AsyncExitStack() as stack:
                await self._start(stack, starting)
                self.ready.set()
                await self.leave.wait()
        except ImportError:
            self.warn(
                says(
                    self.locale,
                    "MCP servers need a library: pip install 'sightline-context[mcp]'",
                    "MCP 服务器需要安装：pip install 'sightline-context[mcp]'",
                )
            )
        except Exception as error:
            if not self.ready.is_set():
                why = self._why(error)
                self.warn(
                    says(
                        self.locale,
                        f"MCP server {self.name} did not start: {why}",
                        f"MCP 服务器 {self.name} 未能启动：{why}",
                    )
                )
        finally:
            self._client = None
            self.ready.set()

    async def _start(self, stack: AsyncExitStack, seconds: float) -> None:
        await in_thread(import_module, "mcp")  # in a thread, because it takes seconds
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        if self.config.url:
            transport = streamable_http_client(self.config.url)
        else:
            env = {name: secret.reveal() for name, secret in self.config.env.items()}
            self._program = Program((self.config.command, *self.config.args), env, self._note_mended)
            transport = self._program.streams()
        async with asyncio.timeout(seconds):
            limit = max(seconds, self.calling)  # a call has a limit of its own, and starting may take longer
            client = await stack.enter_async_context(Client(self._cut(transport), read_timeout_seconds=limit))
            self.tools = self._taken([tool async for tool in _list_tools(client)])
            self._client = client

    def _taken(self, offered: "Sequence[mcp_types.Tool]") -> list[Tool]:
        """Return the tools whose schemas are not too large. The user is told of the others, and of what is cut."""
        too_large = [tool.name[:LONGEST_NAME] for tool in offered if not is_schema_taken(tool.input_schema)]
        if too_large:
            self._warn_of(
                f"{len(too_large)} tools are left out, because their schemas are too large or nested too deeply",
                f"{len(too_large)} 个工具的参数定义过大或嵌套过深，未提供",
                too_large,
            )
        wordy = [tool.name[:LONGEST_NAME] for tool in offered if len(tool.description or "") > LONGEST_DESCRIPTION]
        if wordy:
            self._warn_of(
                f"{len(wordy)} descriptions of tools are cut to {LONGEST_DESCRIPTION} characters",
                f"{len(wordy)} 个工具的说明被截断为 {LONGEST_DESCRIPTION} 个字符",
                wordy,
            )
        return [self._tool(tool) for tool in offered if is_schema_taken(tool.input_schema)]

    def _warn_of(self, en: str, zh: str, names: Sequence[str]) -> None:
        names = [_NOT_IN_NAMES.sub("_", name) for name in names]
        self.warn(
            says(
                self.locale,
                f"MCP server {self.name}: {en}: {listed(names)}",
                f"MCP 服务器 {self.name}：{zh}：{listed(names)}",
            )
        )

    def _tool(self, offered: "mcp_types.Tool") -> Tool:
        schema = {"type": "object", "properties": {}, **offered.input_schema}
        description = cut_description(offered.description or "")
        definition = ToolDefinition(_name(self.name, offered.name), description, schema)
        run = partial(self._call, offered.name)
        return Tool(definition, run, seconds=self.calling + 5)  # later than its own limit, which gives the reason

    @asynccontextmanager
    async def _cut(self, transport: Any) -> AsyncIterator[Any]:
        """Yield the streams of a transport. Long lists in what is received are cut, before each entry is checked."""
        async with transport as (received, sent):
            yield CutStream(received, self._lose), sent

    def _lose(self, tools: int) -> None:
        self.lost += tools

    def _note_mended(self) -> None:
        if not self._was_mended:
            self._was_mended = True
            self.warn(
                says(
                    self.locale,
                    f"MCP server {self.name} sent text that is not valid Unicode (half a character); it is shown as ?",
                    f"MCP 服务器 {self.name} 发送了无效的 Unicode 文本（半个字符），已显示为 ?",
                )
            )

    def _why(self, error: BaseException) -> str:
        """Return what went wrong, in a line, without keys: the innermost error, and the last line of its program."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        why = str(error) or type(error).__name__
        if self._program is not None:
            written = self._program.error_output.decode("utf-8", "replace").strip().splitlines()
            why = self._program.fault or why
            why += f" ({written[-1][-LONGEST_LABEL:]})" if written and not self.ready.is_set() else ""
        return self._hide_keys(why[:MOST_TEXT])[:LONGEST_LABEL]

    def _hide_keys(self, text: str) -> str:
        return _without_keys(redacted(text, self.config.env.values()))

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        client = self._client
        if client is None:
            raise ToolFailed(
                says(self.locale, f"the MCP server {self.name} has ended", f"MCP 服务器 {self.name} 已结束")
            )
        try:
            async with asyncio.timeout(self.calling):
                result = await client.call_tool(name, dict(arguments))
        except TimeoutError:
            raise ToolFailed(
                says(
                    self.locale,
                    f"{self.name} did not answer within {self.calling:g} s",
                    f"{self.name} 未在 {self.calling:g} 秒内应答",
                )
            ) from None
        except Exception as error:  # of the connection, the protocol or the server
            why = self._why(error)
            raise ToolFailed(says(self.locale, f"{self.name} failed: {why}", f"{self.name} 失败：{why}")) from error
        parts = _parts(result, self.locale)
        if result.is_error:
            raise ToolFailed(
                self._hide_keys(_text(parts)) or says(self.locale, "it failed and did not say why", "失败，未说明原因")
            )
        return _text(parts) if all(isinstance(part, Text) for part in parts) else parts


async def _list_tools(client: "mcp.Client") -> "AsyncIterator[mcp_types.Tool]":
    cursor = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            yield tool
        if not (cursor := page.next_cursor):
            return


def _without_keys(text: str) -> str:
    return _NAMED_KEY.sub(rf"\1{HIDDEN}", _KEY.sub(HIDDEN, text))


def _name(server: str, tool: str) -> str:
    """Return a name that every provider takes. A long one is cut and gets a hash."""
    name = _NOT_IN_NAMES.sub("_", f"{server}__{tool}")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _with_unique_names(tools: Sequence[Tool]) -> list[Tool]:
    """Make names unique: another tool of the same name gets a number."""
    taken = {tool.name for tool in tools}
    counts: dict[str, int] = {}
    unique = []
    for tool in tools:
        name, count = tool.name, counts.get(tool.name, 0)
        while count and name in taken:  # the first tool keeps the name
            count += 1
            name = f"{tool.name[: LONGEST_NAME - len(f'_{count}')]}_{count}"
        counts[tool.name] = max(count, 1)
        taken.add(name)
        unique.append(replace(tool, definition=replace(tool.definition, name=name)))
    return unique


# ---------------------------------------------------------------------- results

_Part = Text | Image | File


def _parts(result: "mcp_types.CallToolResult", locale: str = "en") -> tuple[_Part, ...]:
    parts = [_part(block) for block in result.content]
    if result.structured_content is not None and not any(isinstance(part, Text) for part in parts):
        parts.append(Text(msgspec.json.encode(result.structured_content).decode()))
    return tuple(_bounded(parts, locale))


def _part(block: Any) -> _Part:
    match block.type:
        case "text":
            return Text(block.text)
        case "image":
            return Image(**_data(block.mime_type, block.data))
        case "audio":
            return File(**_data(block.mime_type, block.data))
        case "resource" if hasattr(block.resource, "text"):
            return Text(block.resource.text)
        case "resource":
            return File(**_data(block.resource.mime_type or "", block.resource.blob), name=str(block.resource.uri))
        case _:
            return Text(f"{getattr(block, 'name', '')} {getattr(block, 'uri', '')}".strip())


def _data(media_type: str, data: str) -> dict[str, Any]:
    """Return a media type as providers write it, and base64 without line ends, which some servers add."""
    media_type = media_type.strip().lower()
    return {"media_type": "image/jpeg" if media_type == "image/jpg" else media_type, "data": "".join(data.split())}


def _bounded(parts: Sequence[_Part], locale: str) -> Iterator[_Part]:
    """Yield as much of a result as fits. A part that is too large, or that no provider takes, becomes text."""
    texts, data, media, lost = MOST_TEXT, MOST_DATA, 0, 0
    for part in parts:
        if not isinstance(part, Text) and media < MOST_SHOWN and _fits(part, data):
            media, data = media + 1, data - len(part.data)
            yield part
            continue
        whole = part.text if isinstance(part, Text) else _left_out(part, locale)
        text = whole[: max(texts, 0)]
        lost += len(whole) - len(text)
        texts -= len(text) + 1  # with the line end that joins them
        if text:
            yield Text(text.encode("utf-8", "replace").decode())
    if lost:
        yield Text(f"[+{lost} characters]")


def _fits(part: Image | File, most: int) -> bool:
    """Whether providers take it, because a part that is refused would make every later request fail."""
    is_size_taken = 0 < len(part.data) <= most and len(label(part)) <= LONGEST_LABEL
    return is_size_taken and (isinstance(part, File) or part.media_type in IMAGE_TYPES) and _is_base64(part.data)


def _is_base64(data: str) -> bool:
    try:
        b64decode(data, validate=True)
    except ValueError:
        return False
    return True


def _left_out(part: Image | File, locale: str) -> str:
    what, size = label(part)[:LONGEST_LABEL], len(part.data)
    if size <= MOST_DATA and not _is_base64(part.data):
        return says(locale, f"{what} is left out: its data is no base64", f"{what} 未显示：其数据不是 base64")
    return says(
        locale,
        f"{what} is left out, {size} characters of base64; at most {MOST_SHOWN} files and PNG, JPEG, GIF or WebP "
        f"images are shown, of {MOST_DATA} characters together",
        f"{what} 未显示，base64 共 {size} 个字符；"
        f"最多显示 {MOST_SHOWN} 个文件或 PNG、JPEG、GIF、WebP 图片，合计不超过 {MOST_DATA} 个字符",
    )


def _text(parts: Sequence[_Part]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))
