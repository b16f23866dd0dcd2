"""Queries over HTTP: `POST /query` as a function of JSON values, and as an ASGI application.

`GET /openapi.json` describes it. The description is made from the types that decode requests and make answers.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from sightline.errors import BadInput, SightlineError
from sightline.origins.ba_agent.service import BAAgentService, QueryResult
from sightline.values.decoders import convert

MOST_BYTES = 4_000_000  # of a request: enough for a long history, because files come by reference
MOST_CHARACTERS = 1_000_000  # of a question
MOST_MESSAGES = 10_000  # of a history, with their parts and calls: each of them is an item of the session
MOST_FILES = 1_000
QUERY, DESCRIPTION = "/query", "/openapi.json"

_TOO_DEEP = "the request is nested too deeply: send lists and objects that are within fewer others"
_TOO_LARGE = f"a request has at most {MOST_BYTES:,} bytes"
_TOO_MANY_MESSAGES = f"history_messages has at most {MOST_MESSAGES:,} messages, parts and calls together"
_TOO_MANY_FILES = f"file_context names at most {MOST_FILES:,} files"
_TOO_LONG = f"a message has at most {MOST_CHARACTERS:,} characters"
_METHODS = {QUERY: "POST", DESCRIPTION: "GET"}
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # an escape of one half of a character

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_Several = Annotated[list[Any], Meta(max_length=MOST_MESSAGES)]
_Message = dict[str, str | int | float | bool | dict[str, Any] | _Several | None]


class Query(Struct, frozen=True, forbid_unknown_fields=True):
    """A user's message in a conversation."""

    message: Annotated[str, Meta(min_length=1, description=f"what the user asks, not only blanks; {_TOO_LONG}")]
    session_id: Annotated[str, Meta(max_length=128, description="the conversation; without an id it is a new one")] = ""
    history_messages: Annotated[
        Annotated[list[_Message], Meta(max_length=MOST_MESSAGES)] | None,
        Meta(description=f"what was said elsewhere, taken in by a new conversation; {_TOO_MANY_MESSAGES}"),
    ] = None
    file_context: Annotated[
        str | dict[str, Any] | Annotated[list[str | dict[str, Any]], Meta(max_length=MOST_FILES)] | None,
        Meta(description=f"the uploaded files, by file_id; {_TOO_MANY_FILES}"),
    ] = None


class Failure(Struct, frozen=True):
    """Why a request was not answered."""

    error: str
    success: bool = False


class Reply(NamedTuple):
    """An HTTP status and a JSON object: the service's answer, or `success` false and an `error`."""

    status: int
    body: dict[str, Any]


_STATUSES: dict[int, tuple[type[Struct], str]] = {
    200: (QueryResult, "the answer"),
    400: (Failure, "the request cannot be used; the error says what is wrong"),
    413: (Failure, _TOO_LARGE),
    500: (Failure, "the conversation could not be read or written"),
    502: (QueryResult, "the model gave no answer"),
}


async def handle(service: BAAgentService, request: Any) -> Reply:
    """Answer one request, given as its JSON values. A bad request is answered with an error; nothing is raised."""
    try:
        query = await asyncio.to_thread(_read, request)
        result = await service.query(query.message, query.session_id, query.history_messages, query.file_context)
    except (msgspec.ValidationError, BadInput) as error:
        return _failed(400, str(error))
    except RecursionError:
        return _failed(400, _TOO_DEEP)
    except SightlineError as error:
        return _failed(500, str(error))
    return Reply(200 if result.success else 502, msgspec.to_builtins(result))


def _read(request: Any) -> Query:
    """Return a request that is small enough. Raises BadInput, msgspec.ValidationError or RecursionError."""
    query = convert(request, Query)
    if len(query.message) > MOST_CHARACTERS:
        raise BadInput(_TOO_LONG)
    history = query.history_messages or []
    if sum(1 + sum(len(part) for part in said.values() if isinstance(part, list)) for said in history) > MOST_MESSAGES:
        raise BadInput(_TOO_MANY_MESSAGES)
    if _number_of_files(query.file_context) > MOST_FILES:
        raise BadInput(_TOO_MANY_FILES)
    return query


def _number_of_files(file_context: Any) -> int:
    """Return how many files are named, as `uploads_of` reads them."""
    match file_context:
        case {"files": list() as several} | {"file_ids": list() as several} | (list() as several):
            return sum(map(_number_of_files, several))
        case _:
            return 1


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document of the application, as JSON values."""
    types = (Query, QueryResult, Failure)
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schema = dict(zip(types, schemas, strict=True))

    def response(status: int) -> dict[str, Any]:
        kind, description = _STATUSES[status]
        return {"description": description, "content": {"application/json": {"schema": schema[kind]}}}

    return {
        "openapi": "3.1.0",
        "info": {"title": "BA-Agent", "version": "1", "description": "Answers queries, each in its conversation."},
        "paths": {
            QUERY: {
                "post": {
                    "operationId": "query",
                    "summary": "Answer a user's message",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": schema[Query]}}},
                    "responses": {str(status): response(status) for status in _STATUSES},
                }
            },
            DESCRIPTION: {
                "get": {
                    "operationId": "describe",
                    "summary": "This description",
                    "responses": {
                        "200": {
                            "description": "an OpenAPI document",
                            "content": {"application/json": {"schema": {"type": "object"}}},
                        }
                    },
                }
            },
        },
        "components": {"schemas": components},
    }


def application(service: BAAgentService) -> Callable[[Mapping[str, Any], Receive, Send], Awaitable[None]]:
    """Return the ASGI application, for a server such as uvicorn. It does not check who asks."""

    async def answer(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await _send(await _reply(service, scope, receive), send, _METHODS.get(scope["path"]))
            case "lifespan":
                await _live(service, receive, send)
            case "websocket":
                await _refuse(scope, receive, send)
            case other:  # as ASGI wants it, so that a server knows what is not supported
                raise ValueError(f"this application speaks HTTP, not {other!r}")

    return answer


async def _send(reply: Reply, send: Send, method: str | None, prefix: str = "http.response") -> None:
    headers = [(b"content-type", b"application/json")]
    if reply.status == 405 and method:
        headers.append((b"allow", method.encode()))
    await send({"type": f"{prefix}.start", "status": reply.status, "headers": headers})
    await send({"type": f"{prefix}.body", "body": msgspec.json.encode(reply.body)})


async def _reply(service: BAAgentService, scope: Mapping[str, Any], receive: Receive) -> Reply:
    path, method = scope["path"], scope["method"]
    if path not in _METHODS:
        return _failed(404, f"there are only {' and '.join(f'{verb} {name}' for name, verb in _METHODS.items())}")
    if method != _METHODS[path]:
        return _failed(405, f"use {_METHODS[path]} for {path}")
    if path == DESCRIPTION:
        return Reply(200, openapi())
    body = await _body(scope, receive)
    if isinstance(body, Reply):
        return body
    try:
        request = await asyncio.to_thread(lambda: msgspec.json.decode(body.decode()))
    except UnicodeDecodeError as error:
        return _failed(400, f"the body is not UTF-8: byte {error.start} cannot be read")
    except msgspec.DecodeError as error:
        half = "; a \\ud800 to \\udfff without its other half is no character" if _HALF.search(body) else ""
        return _failed(400, f"the body is no JSON: {error}{half}")
    except RecursionError:
        return _failed(400, _TOO_DEEP)
    return await handle(service, request)


async def _body(scope: Mapping[str, Any], receive: Receive) -> bytes | Reply:
    """Read the body of a request, or say why it is not read to its end. Each byte is copied once."""
    declared = next((value for name, value in scope.get("headers", ()) if name == b"content-length"), b"0")
    if declared.isdigit() and int(declared[:20]) > MOST_BYTES:
        return _failed(413, _TOO_LARGE)
    body, more = bytearray(), True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            return _failed(400, "the request was cut off")
        body.extend(event.get("body", b""))
        more = event.get("more_body", False)
        if len(body) > MOST_BYTES:
            return _failed(413, _TOO_LARGE)
    return bytes(body)


async def _refuse(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
    """Refuse a websocket. A server that can answer it with a status does; others answer 403."""
    await receive()  # the wish to connect
    if "websocket.http.response" in (scope.get("extensions") or {}):
        reply = _failed(400, f"there are no websockets: POST {QUERY}")
        await _send(reply, send, None, "websocket.http.response")
    else:
        await send({"type": "websocket.close", "code": 1000})


async def _live(service: BAAgentService, receive: Receive, send: Send) -> None:
    """Answer the server's start and end. At the end the conversations are closed."""
    kind = ""
    while kind != "lifespan.shutdown":
        kind = (await receive())["type"]
        if kind == "lifespan.shutdown":
            await service.close()
        await send({"type": f"{kind}.complete"})


def _failed(status: int, error: str) -> Reply:
    return Reply(status, msgspec.to_builtins(Failure(error)))
