"""Sightline as an MCP server: tools by which any client remembers earlier sessions, and sessions as resources.

`search_sessions` looks through everything on this machine: sessions of Sightline, imported ones, and logs of Claude
Code and Codex that were never imported. `recall` and `expand` look into one of them, `context_report` says where its
tokens went. Nothing is written to any of these logs. With apps, `windows`, `create` and `action` show the project's
windows and act on them. Needs the extra `mcp`; `sightline mcp` runs it.
The server's guard is imported for HTTP only.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote

import msgspec

from sightline import __version__
from sightline.adapters import mcp_answers as answers
from sightline.adapters.mcp_memory import MOST_LISTED, SessionMemory
from sightline.adapters.mcp_windows import ProjectWindows
from sightline.adapters.version import check_version
from sightline.apps.app import App
from sightline.apps.calls import ACTION, create_tool
from sightline.errors import BadSessionId, SessionNotFound, SightlineError, UnknownItem
from sightline.server.access_token import is_loopback
from sightline.server.callers import OneToken
from sightline.view.catalog.listed_sessions import Wanted
from sightline.view.catalog.places import Places

check_version("mcp", oldest=(2, 0), before=3)

from anyio import CapacityLimiter, to_thread  # noqa: E402
from mcp.server.mcpserver import Context, MCPServer  # noqa: E402
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError  # noqa: E402
from mcp.server.transport_security import TransportSecuritySettings  # noqa: E402
from mcp.types import Resource, ToolAnnotations  # noqa: E402
from pydantic import Field  # noqa: E402

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp

__all__ = ["SessionMemory", "create_server", "http_app", "unguarded_app"]

HTTP_PATH = "/api/mcp"  # below /api, where `Guard` takes a bearer token
SEARCH_SECONDS = 8.0  # that a search may spend on logs that are new to it, before it answers from what it has
_PAUSE = 0.1  # seconds, at least, between two looks at whether another process has read the logs
_MOST_WORDS = 4_000  # characters of a query
_MOST_FOUND, _RESOURCES = 20, 20  # sessions in an answer, and as resources of their own
_MAX_BODY = 4 << 20  # bytes of a request
_HOW = "search_sessions gives the ids of sessions and items"
_INSTRUCTIONS = (
    "Sightline remembers earlier sessions {where}. When the user speaks of earlier work, decisions or errors that are "
    "not in this conversation, call search_sessions, then recall or expand on what it finds. {quoted}"
)
_WINDOWS = (
    " It also has windows of this project: {apps}. They keep what you put there, in this conversation and later ones. "
    "Call windows to see them, and action to work with one."
)
MACHINE = "on this machine (Claude Code, Codex, Sightline)"
TENANT = "of your team, kept on the server that you are connected to"
_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)

T = TypeVar("T")
_Session = Annotated[str, Field(description="the session's id, as search_sessions gives it")]


class _Server(MCPServer[None]):
    """The server. Its list of resources has the newest sessions."""

    def __init__(self, memory: SessionMemory, where: str, apps: str) -> None:
        """`apps`: names of those that have windows here; empty: none."""
        self.memory, self._threads = memory, CapacityLimiter(4)
        told = _INSTRUCTIONS.format(where=where, quoted=answers.QUOTED) + (_WINDOWS.format(apps=apps) if apps else "")
        super().__init__(
            "sightline", title="Sightline", instructions=told,
            version=__version__, log_level="WARNING", lifespan=lambda _: self._index_meanwhile(),
        )  # fmt: skip

    async def call(self, work: Callable[[], T]) -> T:
        """Do something that blocks, in a thread. If the call is cancelled, its result is thrown away."""
        return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._threads)

    async def list_resources(self) -> list[Resource]:
        """Return the resource of all sessions, and the newest sessions as their own."""
        newest = await self.call(lambda: self.memory.listed(Wanted(limit=_RESOURCES)))
        return [*await super().list_resources(), *(
            Resource(uri=f"sightline://sessions/{quote(session.id)}", name=session.id,
                     title=answers.name(session.title) or session.id, description=answers.describe(session),
                     mime_type="text/markdown")
            for session in newest
        )]  # fmt: skip

    @asynccontextmanager
    async def _index_meanwhile(self) -> AsyncIterator[None]:
        """Make logs searchable while nobody asks, half of the time."""

        async def index() -> None:
            began = time.monotonic()
            with suppress(SightlineError, OSError):  # who searches is told
                while await self.call(self.memory.extend):
                    await asyncio.sleep(max(time.monotonic() - began, _PAUSE))
                    began = time.monotonic()

        task = asyncio.create_task(index())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


def create_server(places: Places, where: str = MACHINE, apps: Sequence[type[App]] = ()) -> MCPServer[Any]:
    """Return the server over the sessions of these places. `where` tells the model which sessions these are.

    `apps`: those whose windows the model can see and use.
    """
    server = _Server(SessionMemory(places), where, ", ".join(app.name for app in apps))
    if apps:
        _add_windows(server, ProjectWindows(places, apps))
    memory = server.memory

    async def answer(work: Callable[[], str], nothing: str = "") -> str:
        try:
            return await server.call(work) or nothing
        except (SessionNotFound, BadSessionId) as error:
            raise ToolError(f"there is no such session: {_HOW}") from error
        except UnknownItem as error:
            raise ToolError(f"this session has no such item: {_HOW}, and recall gives those of items") from error
        except (SightlineError, OSError) as error:
            raise ToolError(f"this session cannot be read: > {answers.one_line(str(error))[:500]}") from error

    def tool(description: str) -> Callable[[Any], Any]:
        return server.tool(description=description, annotations=_READ_ONLY, structured_output=False)

    @tool(
        f"Search all earlier sessions {where}, also those of other projects. "
        "Gives the best matching sessions with quoted passages, dates, session ids and item ids. Without words it "
        "lists the newest sessions. What was said in the last ten minutes is not searched."
    )
    async def search_sessions(
        ctx: Context[Any, Any],
        words: Annotated[
            str, Field(description="what to look for: the rarest words say most", max_length=_MOST_WORDS)
        ] = "",
        limit: Annotated[int, Field(description="sessions to show", ge=1, le=_MOST_FOUND)] = 5,
        project: Annotated[
            str, Field(description="only sessions whose folder has this in its path", max_length=500)
        ] = "",
        days: Annotated[int, Field(description="only sessions written to in the last days", ge=0, le=36_500)] = 0,
    ) -> str:
        left = await _index(server, ctx) if words.strip() else 0
        text = await answer(partial(memory.search, words, limit, project, days), "No session matches. Try other words.")
        return f"{text}\n\n{left} logs are not searchable yet. Ask again in a moment." if left else text

    @tool(
        "Search one earlier session. Gives the passages that match best, each after its item id, such as #412. "
        "expand shows an item in full."
    )
    async def recall(
        session: _Session,
        words: Annotated[str, Field(description="what to look for", min_length=1, max_length=_MOST_WORDS)],
    ) -> str:
        return await answer(partial(memory.recall, session, words), "Nothing in this session matches. Try other words.")

    @tool(
        "Show one item of an earlier session: a message, or the result of a tool call. A long item comes in pages; the "
        "first line of an answer says how to go on."
    )
    async def expand(
        session: _Session,
        id: Annotated[str, Field(description="the item's id, such as #412 or L12.1", max_length=40)],  # noqa: A002
        start: Annotated[int, Field(description="first line to show, counted from 1", ge=1, le=10**9)] = 1,
        lines: Annotated[int | None, Field(description="how many lines to show", ge=1, le=10**9)] = None,
        grep: Annotated[
            str | None, Field(description="show only lines that contain this text", max_length=1000)
        ] = None,
    ) -> str:
        return await answer(partial(memory.expand, session, id, start, lines, grep))

    @tool("Say where the tokens of an earlier session went: by kind, tool and file, and what would save most.")
    async def context_report(session: _Session) -> str:
        return await answer(partial(memory.report, session))

    @server.resource("sightline://sessions", mime_type="application/json", title="Sessions",
                     description="The newest sessions: id, source, title, project, day")  # fmt: skip
    async def sessions() -> str:
        rows = await server.call(lambda: memory.listed(Wanted(limit=MOST_LISTED)))
        return msgspec.json.encode([row._asdict() for row in rows]).decode()

    @server.resource("sightline://sessions/{session_id}{?start}", mime_type="text/markdown", title="One session",
                     description="A session as Markdown, in pages; start is the item to begin with")  # fmt: skip
    async def session_page(session_id: str, start: str = "") -> str:
        try:
            return await server.call(lambda: memory.transcript(session_id, start))
        except (SessionNotFound, BadSessionId) as error:
            raise ResourceNotFoundError("there is no such session: sightline://sessions lists them") from error
        except (SightlineError, OSError) as error:
            raise ResourceError(f"this session cannot be read: > {answers.one_line(str(error))[:500]}") from error

    return server


def _add_windows(server: _Server, project: ProjectWindows) -> None:
    """Add the tools of windows to a server."""

    async def answer(work: Callable[[], str]) -> str:
        try:
            return await server.call(work)
        except (SightlineError, OSError) as error:
            raise ToolError(str(error)) from error

    def tool(name: str, description: str, annotations: ToolAnnotations) -> Callable[[Any], Any]:
        return server.tool(name, description=description, annotations=annotations, structured_output=False)

    @tool("windows", "Show all open windows as they are now: what they hold, and the actions they take.", _READ_ONLY)
    async def windows() -> str:
        return await answer(project.show) or "No window is open. create opens one."

    async def create(
        name: Annotated[str, Field(description="the app's name", max_length=100)] = "",
        target: Annotated[str, Field(description="what to open it for, such as a file", max_length=4_000)] = "",
        closed: Annotated[str, Field(alias="from", description="a closed window, such as #412", max_length=20)] = "",
    ) -> str:
        return await answer(partial(project.create, name, target, closed))

    @tool("create", create_tool({app.name: app.describe() for app in project.apps}).description, _CHANGES)
    @wraps(create)
    async def open_app(**given: str) -> str:  # the SDK passes `from` as it is called, which is no name in Python
        return await create(**{"closed" if name == "from" else name: value for name, value in given.items()})

    @tool("action", f"{ACTION.description} Gives what came of it, and the window as it is then.", _CHANGES)
    async def action(
        window_id: Annotated[str, Field(description="the window's id, such as todo_1", max_length=200)],
        action_id: Annotated[str, Field(description="an action that the window lists", max_length=400)],
        params: Annotated[dict[str, Any] | None, Field(description="the action's parameters by name")] = None,
    ) -> str:
        return await answer(partial(project.act, window_id, action_id, params or {}))


async def _index(server: _Server, ctx: Context[Any, Any]) -> int:
    """Make logs searchable for some seconds at most, and report the progress. Return how many are left."""
    end, before, most = time.monotonic() + SEARCH_SECONDS, -1, 0
    while left := await server.call(server.memory.extend):
        most = max(most, left)
        await ctx.report_progress(most - left, most, "reading logs")
        if time.monotonic() > end:
            break
        await asyncio.sleep(_PAUSE if left == before else 0)  # another process reads them
        before = left
    return left


def unguarded_app(server: MCPServer[Any], host: str = "127.0.0.1") -> "Starlette":
    """Return an application that serves MCP over HTTP at /api/mcp, for who checks `Host`, `Origin` and tokens.

    It remembers nothing of a client between two requests, because another server may get the next one.
    """
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server.streamable_http_app(
        streamable_http_path=HTTP_PATH, stateless_http=True, transport_security=unchecked, host=host
    )


def http_app(server: MCPServer[Any], *, host: str, token_hash: str = "") -> "ASGIApp":
    """Return an ASGI application that serves MCP over HTTP at /api/mcp, guarded as the proxy is.

    Without a token nobody is let in. Raises BadInput if other machines can reach the host and there is none.
    """
    from sightline.server.safety import Guard, check_address

    check_address(host, token_hash)
    callers = OneToken(token_hash)
    return Guard(unguarded_app(server, host), max_body=_MAX_BODY, callers=callers, any_host=not is_loopback(host))
