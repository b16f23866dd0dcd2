"""The REST interface: one table of operations, from which the routes and the OpenAPI document are made."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from sightline import __version__
from sightline.apps.registry import SHIPPED
from sightline.providers.catalog import price_of as known_price
from sightline.server import rest_calls, rest_chat, rest_items, rest_list, rest_sessions
from sightline.server import rest_values as values
from sightline.server.events import as_sse
from sightline.server.imports import Imports
from sightline.server.metrics import CONTENT_TYPE, PATH_PATTERN, Metrics
from sightline.server.openapi import document
from sightline.server.readiness import Readiness
from sightline.server.reports import Reports
from sightline.server.rest_operation import METHODS, ApiRequest, Operation, Served, answer, failed
from sightline.server.session_finder import SessionFinder
from sightline.server.session_list import SessionList
from sightline.server.sessions import OpenSessions
from sightline.server.uploads import MOST_WAITING, Uploads
from sightline.view import call_values as calls
from sightline.view.catalog.overview import Overview
from sightline.view.context_facts import Context
from sightline.view.costs import PriceOf
from sightline.view.inspection import CompactionFacts, ItemDetails, ItemPage, WindowFacts
from sightline.view.run_time import TimePage
from sightline.view.token_tree import TokenTree
from sightline.view.transcript import TranscriptHits, TranscriptPage

if TYPE_CHECKING:
    from sightline.agent.models import Model

UPLOAD = "/api/imports/upload"
LIMITS = {UPLOAD: MOST_WAITING}
"""Paths whose bodies may have another number of bytes than others."""
_ONE = "/api/sessions/{id}"
_ITEM = _ONE + "/items/{item}"


# ---------------------------------------------------------------------- the server itself


async def get_health(request: ApiRequest) -> values.Health:
    """Say that the server runs, and how many sessions are open."""
    return values.Health("ok", __version__, request.server.metrics.open_sessions())


async def get_alive(_: ApiRequest) -> values.Health:
    """Say that the server runs. It says nothing about sessions, because it needs no token."""
    return values.Health("ok", __version__)


async def get_ready(request: ApiRequest) -> values.Health | Response:
    """Say whether sessions can be read. Why not is in the log alone, because this needs no token."""
    if await request.server.readiness.check():
        return failed(503, "store_failed", "the store cannot be read", "run sightline doctor where the server runs")
    return values.Health("ready", __version__)


async def get_metrics(request: ApiRequest) -> Response:
    """Give the counts of this server to Prometheus."""
    return Response(request.server.metrics.text(), 200, {"content-type": CONTENT_TYPE})


async def get_description(_: ApiRequest) -> dict[str, Any]:
    """Give the OpenAPI document."""
    return document(OPERATIONS)


async def follow_events(request: ApiRequest) -> Response:
    """Stream what happens, as server-sent events."""
    query: values.EventsQuery = request.query
    hub = request.server.hub
    hub.check_room()  # now, while there can still be another answer than a stream
    followed = hub.follow(query.session, request.http.headers.get("last-event-id", ""))
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}  # the latter tells proxies not to collect them
    return StreamingResponse(as_sse(followed), 200, headers, "text/event-stream")


# ---------------------------------------------------------------------- the table


def _get(path: str, name: str, about: str, handle: Any, output: Any, **more: Any) -> Operation:
    return Operation("GET", path, name, about, handle, output=output, **{"errors": (400, 404)} | more)


def _post(path: str, name: str, about: str, handle: Any, output: Any, **more: Any) -> Operation:
    usual: dict[str, Any] = {"query": values.BranchQuery, "errors": (400, 404, 409, 413, 415)}
    return Operation("POST", path, name, about, handle, output=output, **usual | more)


_B = {"query": values.BranchQuery}

OPERATIONS: tuple[Operation, ...] = (
    _get("/health", "health", "Whether the server runs", get_health, values.Health, errors=()),
    _get("/healthz", "alive", "Whether the server runs; needs no token", get_alive, values.Health, errors=()),
    _get("/readyz", "ready", "Whether to send requests here; needs no token", get_ready, values.Health, errors=(503,)),
    _get("/metrics", "metrics", "Counts for Prometheus", get_metrics, None, media="text/plain", errors=()),
    _get("/api/openapi.json", "describe", "This description", get_description, dict[str, Any], errors=()),
    _get(
        "/api/events", "events", "What happens in the sessions, as server-sent events", follow_events, None,
        query=values.EventsQuery, media="text/event-stream", errors=(400, 503),
    ),
    # sessions
    _get(
        "/api/server", "getServer", "What this server has and can do", rest_list.get_server, values.ServerFacts,
        errors=(),
    ),
    _get(
        "/api/sessions", "listSessions", "List sessions of all projects and sources, and files that can be imported",
        rest_list.list_sessions, values.SessionPage, query=values.SessionsQuery, errors=(400,),
    ),
    _get(
        "/api/find", "findSessions", "Find what was said in all sessions, as `sightline find` does",
        rest_list.find_sessions, values.FoundSessions, query=values.FindSessionsQuery, errors=(400, 503),
    ),
    _get(
        "/api/overview", "getOverview", "What all sessions used by day and project, what cost most, what was saved",
        rest_list.get_overview, Overview, query=values.OverviewQuery, errors=(400,),
    ),
    _get("/api/imports", "listImports", "List the last imports", rest_list.list_imports, values.ImportList, errors=()),
    _post(
        "/api/imports", "beginImport", "Import a file that the list offers, or what is new in it",
        rest_list.begin_import, values.ImportFacts, query=None, body=values.FileChoice, status=202,
        errors=(400, 404, 413, 415), noted="import.begin",
    ),
    _post(
        UPLOAD, "uploadImport", "Import a file whose bytes are the body", rest_list.upload,
        values.ImportFacts, query=values.UploadQuery, status=202, errors=(400, 403, 413, 503), noted="import.upload",
    ),
    _get("/api/imports/{import}", "getImport", "One import", rest_list.get_import, values.ImportFacts),
    _post(
        "/api/sessions", "createSession", "Begin a session", rest_sessions.create_session, values.Created,
        query=None, body=values.NewSession, status=201, errors=(400, 413, 415), noted="session.create",
    ),
    _get(_ONE, "getSession", "Describe a session", rest_sessions.get_session, values.SessionDetails, **_B),
    Operation(
        "DELETE", _ONE, "deleteSession", "Delete a session for good", rest_sessions.delete_session, status=204,
        errors=(404, 409), noted="session.delete",
    ),
    _get(f"{_ONE}/branches", "listBranches", "List branches", rest_sessions.list_branches, values.Branches, **_B),
    _post(
        f"{_ONE}/fork", "forkSession", "Begin a branch after an item", rest_sessions.fork_session, values.Created,
        body=values.Fork, status=201, noted="session.fork",
    ),
    _get(
        f"{_ONE}/export", "exportSession", "Export a whole conversation", rest_sessions.export_session, None,
        query=values.ExportQuery, media="*/*", noted="session.export",
    ),
    _get(
        f"{_ONE}/verify", "verifySession", "Make every payload again from the log, and compare",
        rest_sessions.verify_session, values.Verification, **_B,
    ),
    _post(
        f"{_ONE}/interact", "interact", "Ask the configured model", rest_chat.interact, values.Interaction,
        body=values.Message, errors=(400, 404, 409, 413, 415, 422, 501, 502), noted="session.interact",
    ),
    # items
    _get(f"{_ONE}/items", "listItems", "List items", rest_items.list_items, ItemPage, query=values.ItemsQuery),
    _get(_ITEM, "getItem", "One item in full, at each level of detail", rest_items.get_item, ItemDetails, **_B),
    _post(
        f"{_ITEM}/pin", "pinItem", "Always show an item in full", rest_items.mark_item, values.Done, noted="item.pin",
    ),
    _post(
        f"{_ITEM}/unpin", "unpinItem", "Let an item be shortened again", rest_items.mark_item, values.Done,
        noted="item.unpin",
    ),
    _post(
        f"{_ITEM}/collapse", "collapseItem", "Show an item as its gist", rest_items.mark_item, values.Done,
        noted="item.collapse",
    ),
    _post(
        f"{_ITEM}/expand", "expandItem", "Bring an item back to the conversation", rest_items.expand_item,
        values.Lines, body=values.Expansion, noted="item.expand",
    ),
    _get(f"{_ONE}/pins", "listPins", "The items that somebody pinned", rest_items.list_pins, values.Pins, **_B),
    _get(
        f"{_ONE}/constraints", "listConstraints", "What the user laid down for the work",
        rest_items.list_constraints, values.Constraints, **_B,
    ),
    _get(
        f"{_ONE}/search", "searchItems", "Find earlier items; nothing is written", rest_items.search_items,
        values.FoundItems, query=values.SearchQuery,
    ),
    _post(
        f"{_ONE}/recall", "recallItems", "Find earlier items and bring the best back", rest_items.recall_items,
        values.FoundItems, body=values.Recall, noted="item.recall",
    ),
    _get(
        f"{_ONE}/transcript", "getTranscript", "The messages as people read them, with tool results and calls",
        rest_items.get_transcript, TranscriptPage, query=values.TranscriptQuery,
    ),
    _get(
        f"{_ONE}/transcript/find", "findInTranscript", "The messages in which words stand",
        rest_items.find_in_messages, TranscriptHits, query=values.FindQuery,
    ),
    # what is sent
    _get(
        f"{_ONE}/timeline", "getTimeline", "What the context of each model call held, by kind and level",
        rest_calls.get_timeline, calls.TimelinePage, query=values.TimelineQuery,
    ),
    _get(
        f"{_ONE}/time", "getTime", "How long each model call, tool call and wait for the user took",
        rest_calls.get_time, TimePage, query=values.TimeQuery,
    ),
    _get(
        f"{_ONE}/tokens", "getTokens", "Where the tokens are, and what was read again", rest_calls.get_tokens,
        TokenTree, query=values.TokensQuery,
    ),
    _get(
        f"{_ONE}/report", "getReport", "Where the tokens went, what it cost, and what would save most",
        rest_calls.get_report, rest_calls.ReportFacts, query=values.ReportQuery,
    ),
    _get(
        f"{_ONE}/calls", "listCalls", "List model calls and what was decided for each", rest_calls.list_calls,
        calls.CallPage, query=values.PageQuery,
    ),
    _get(
        f"{_ONE}/calls/{{call}}", "getCall", "One model call, item by item", rest_calls.get_call, calls.CallDetails,
        query=values.CallQuery,
    ),
    _get(
        f"{_ONE}/calls/{{call}}/diff/{{other}}", "compareCalls", "What differs between two model calls",
        rest_calls.compare_calls, calls.CallDifference, **_B,
    ),
    _get(
        f"{_ONE}/calls/{{call}}/export", "exportCall", "Export the request of a model call", rest_calls.export_call,
        None, query=values.CallExportQuery, media="application/json", noted="call.export",
    ),
    _get(
        f"{_ONE}/context", "getContext", "What the next payload would hold", rest_calls.get_context, Context,
        query=values.ContextQuery, errors=(400, 404, 422),
    ),
    _get(
        f"{_ONE}/llm-input/raw", "getRawInput", "The request of the next payload, or an earlier one, as sent",
        rest_calls.get_raw_input, dict[str, Any], query=values.RawQuery, errors=(400, 404, 422),
    ),
    _post(
        f"{_ONE}/preview", "previewCall", "What a payload would hold with another budget or strategy; nothing is sent",
        rest_calls.preview_call, Context, body=values.PreviewChoice, errors=(400, 404, 413, 415, 422),
    ),
    _get(
        f"{_ONE}/compactions", "listCompactions", "List compactions and what each hid", rest_calls.list_compactions,
        values.Compactions, **_B,
    ),
    _post(
        f"{_ONE}/compactions", "compact", "Replace the oldest part by a summary made by rule", rest_calls.compact,
        CompactionFacts, body=values.BudgetChoice, status=201, errors=(400, 404, 409, 413, 415, 422),
        noted="compaction.create",
    ),
    _post(
        f"{_ONE}/compactions/undo", "undoCompaction", "Show again what the last compaction covers",
        rest_calls.undo_compaction, values.Done, body=values.Undo, noted="compaction.undo",
    ),
    # windows
    _get(f"{_ONE}/windows", "listWindows", "List open windows", rest_items.list_windows, values.Windows, **_B),
    _get(f"{_ONE}/windows/{{window}}", "getWindow", "One window", rest_items.get_window, WindowFacts, **_B),
    _post(
        f"{_ONE}/windows/{{window}}/actions/{{action}}", "act", "Do something in a window", rest_items.act_on_window,
        values.Acted, body=values.ActionCall, errors=(400, 404, 409, 413, 415, 501), noted="window.act",
    ),
)  # fmt: skip


def rest_routes(
    sessions: OpenSessions,
    *,
    metrics: Metrics | None = None,
    model: "Model | rest_chat.EquippedModel | None" = None,
    apps: Collection[str] = tuple(SHIPPED),
    offered: tuple[Path, ...] = (),
    note: Callable[[Request, str, str], Awaitable[None]] | None = None,
    operations: Sequence[Operation] = OPERATIONS,
    uploads: Uploads | None = None,
    want_index: Callable[[str], None] | None = None,
    price_of: PriceOf = known_price,
) -> list[BaseRoute]:
    """Return the routes of the REST interface over these sessions. Events are those of `sessions.hub`.

    `model` answers `interact`, an equipped one also with its tools; `apps` may run here for windows that a session
    has; recordings in the files and folders `offered` may be imported. `note` gets what was done, of operations that
    are to be `noted`, and the session or import. `operations`: those that there are. `uploads`: which files may be
    sent; the caller closes its room. `want_index` is called with each session that was imported. `price_of` says what
    models cost.
    """
    counts = metrics or Metrics(lambda: len(sessions.names()))
    listing = SessionList(sessions, offered, price_of)
    imports = Imports(listing.catalog.imported, sessions.hub, want_index)
    sessions.on_close(listing.close)
    if uploads is None:
        uploads = Uploads()
        sessions.on_close(partial(asyncio.to_thread, uploads.room.close))
    sessions.on_close(imports.close)
    reports = Reports(price_of)
    sessions.on_close(reports.close)
    asked, equipped = (model.model, model) if isinstance(model, rest_chat.EquippedModel) else (model, None)
    server = Served(
        sessions, sessions.hub, counts, asked, equipped, frozenset(apps), set(), listing, imports, reports,
        Readiness(sessions.stores), uploads, price_of, SessionFinder(listing.catalog), note,
    )  # fmt: skip
    by_path: dict[str, list[Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, []).append(operation)
    routes: list[BaseRoute] = [
        Route(path, _endpoint(server, path_operations), methods=METHODS) for path, path_operations in by_path.items()
    ]
    if any(path.startswith("/api/") for path in by_path):
        routes.append(Route("/api/{rest:path}", _unknown, methods=METHODS))
    return routes


def _endpoint(server: Served, operations: list[Operation]) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    by_method = {operation.method: operation for operation in operations}
    allowed = ", ".join(sorted(by_method))

    async def respond(request: Request) -> Response:
        operation = by_method.get("GET" if request.method == "HEAD" else request.method)
        if operation is not None:
            return await answer(operation, server, request)
        request.scope[PATH_PATTERN] = operations[0].path
        refused = failed(405, "method_not_allowed", f"{request.method} is not possible here", f"use {allowed}")
        refused.headers["allow"] = allowed
        return refused

    return respond


async def _unknown(request: Request) -> Response:
    request.scope[PATH_PATTERN] = "/api/*"
    return failed(404, "not_found", "there is nothing at this path", "GET /api/openapi.json lists what there is")
