"""Queries over HTTP: `POST /query` as a function of JSON values, and as an ASGI application."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from sightline.errors import BadInput, SightlineError
from sightline.origins.ba_agent.service import BAAgentService

MOST_BYTES = 4_000_000  # of a request: enough for a long history, because files come by reference

_TOO_DEEP = "the request is nested too deeply: send lists and objects that are within fewer others"

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Query(Struct, frozen=True, forbid_unknown_fields=True):
    message: str
    session_id: str = ""
    history_messages: list[dict[str, Any]] | None = None
    file_context: Any = None


class Reply(NamedTuple):
    """An HTTP status and a JSON object: the service's answer, or `success` false and an `error`."""

    status: int
    body: dict[str, Any]


async def handle(service: BAAgentService, request: Any) -> Reply:
    """Answer one request, given as its JSON values. A bad request is answered with an error; nothing is raised."""
    try:
        query = msgspec.convert(request, Query)
        result = await service.query(query.message, query.session_id, query.history_messages, query.file_context)
    except (msgspec.ValidationError, BadInput) as error:
        return _failed(400, str(error))
    except RecursionError:
        return _failed(400, _TOO_DEEP)
    except SightlineError as error:
        return _failed(500, str(error))
    return Reply(200 if result.success else 502, msgspec.to_builtins(result))


def application(service: BAAgentService) -> Callable[[Mapping[str, Any], Receive, Send], Awaitable[None]]:
    """Return the ASGI application, for a server such as uvicorn. It does not check who asks."""

    async def answer(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(service, receive, send)
            return
        reply = await _reply(service, scope, receive)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": msgspec.json.encode(reply.body)})

    return answer


async def _reply(service: BAAgentService, scope: Mapping[str, Any], receive: Receive) -> Reply:
    if scope["type"] != "http" or scope["path"] != "/query":
        return _failed(404, "there is only POST /query")
    if scope["method"] != "POST":
        return _failed(405, "POST the query as a JSON object")
    body, more = b"", True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            return _failed(400, "the request was cut off")
        body, more = body + event.get("body", b""), event.get("more_body", False)
        if len(body) > MOST_BYTES:
            return _failed(413, f"a request has at most {MOST_BYTES:,} bytes")
    try:
        request = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        return _failed(400, f"the body is no JSON: {error}")
    except RecursionError:
        return _failed(400, _TOO_DEEP)
    return await handle(service, request)


async def _live(service: BAAgentService, receive: Receive, send: Send) -> None:
    """Answer the server's start and end. At the end the conversations are closed."""
    kind = ""
    while kind != "lifespan.shutdown":
        kind = (await receive())["type"]
        if kind == "lifespan.shutdown":
            await service.close()
        await send({"type": f"{kind}.complete"})


def _failed(status: int, error: str) -> Reply:
    return Reply(status, {"success": False, "error": error})
