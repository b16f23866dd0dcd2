"""Queries over HTTP: `POST /query` as a function of JSON values, and as an ASGI application with files and code.

`GET /openapi.json` describes it. The description is made from the types that decode requests and make answers.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from mimetypes import guess_type
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qs, quote

import msgspec
from msgspec import Meta, Struct

from sightline.documents.code.references import Upload
from sightline.documents.uploads import UnknownUpload, UploadExists, UploadTooLarge, WrongUploadType
from sightline.errors import BadInput, SightlineError, UnknownCode
from sightline.origins.ba_agent.code_store import metadata
from sightline.origins.ba_agent.form import NoForm, read_form
from sightline.origins.ba_agent.service import BAAgentService, QueryResult
from sightline.values.decoders import convert

MOST_BYTES = 4_000_000  # of a request: enough for a long history, because files come by reference
MOST_CHARACTERS = 1_000_000  # of a question
MOST_MESSAGES = 10_000  # of a history, with their parts and calls: each of them is an item of the session
MOST_FILES = 1_000
FORM_BYTES = 1 << 16  # of a form, besides its file
QUERY, DESCRIPTION, FILES, CODES = "/query", "/openapi.json", "/files", "/codes"

_TOO_DEEP = "the request is nested too deeply: send lists and objects that are within fewer others"
_TOO_LARGE = f"a request has at most {MOST_BYTES:,} bytes"
_TOO_MANY_MESSAGES = f"history_messages has at most {MOST_MESSAGES:,} messages, parts and calls together"
_TOO_MANY_FILES = f"file_context names at most {MOST_FILES:,} files"
_TOO_LONG = f"a message has at most {MOST_CHARACTERS:,} characters"
_METHODS = {QUERY: "POST", FILES: "POST", f"{FILES}/ID": "GET", f"{CODES}/ID": "GET", DESCRIPTION: "GET"}
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


class Uploaded(Upload, frozen=True):
    """A file that was stored. `reference` is how the model and `file_context` name it."""

    reference: str = ""
    success: bool = True


class Code(Struct, frozen=True):
    """A version of a code, with its text."""

    code_id: str
    language: str
    description: str
    line_count: int
    char_count: int
    created_at: int | str
    version: int
    path: str
    code: str
    success: bool = True


class Failure(Struct, frozen=True):
    """Why a request was not answered."""

    error: str
    success: bool = False


class Reply(NamedTuple):
    """An HTTP status and a JSON object: the service's answer, or `success` false and an `error`.

    `file`: the bytes that are sent instead, with these `headers`.
    """

    status: int
    body: dict[str, Any]
    file: bytes | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()


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


# ---------------------------------------------------------------------- files and code


async def add_file(service: BAAgentService, content_type: str, body: bytes) -> Reply:
    """Store the file of a form. Nothing is raised: a bad form is answered with what is wrong and what to do."""
    try:
        upload = await asyncio.to_thread(_store, service, content_type, body)
    except (NoForm, WrongUploadType) as error:
        return _failed(415, str(error))
    except UploadTooLarge as error:
        return _failed(413, str(error))
    except UploadExists as error:
        return _failed(409, str(error))
    except BadInput as error:
        return _failed(400, str(error))
    except SightlineError as error:
        return _failed(500, str(error))
    facts = Uploaded(**msgspec.structs.asdict(upload), reference=f"upload:{upload.file_id}")
    return Reply(201, msgspec.to_builtins(facts))


def _store(service: BAAgentService, content_type: str, body: bytes) -> Upload:
    parts = read_form(content_type, body)
    files = [part for part in parts if part.name == "file"]
    if len(files) != 1 or files[0].filename is None:
        raise BadInput(f"a form has one file, in a part named file with a filename; this one has {len(files)}")
    fields = {part.name: part for part in parts if part.name != "file"}
    if unknown := sorted(fields.keys() - {"file_id", "description"}):
        raise BadInput(f"unknown fields {', '.join(unknown)}: there are file, file_id and description")
    return service.uploads.add(files[0].filename, files[0].data, **{name: part.text for name, part in fields.items()})


def _send_file(service: BAAgentService, file_id: str) -> Reply:
    try:
        upload, data = service.uploads.find(file_id), service.uploads.read(file_id)
    except UnknownUpload as error:
        return _failed(404, str(error))
    except SightlineError as error:
        return _failed(500, str(error))
    kind = guess_type(upload.filename)[0] or "application/octet-stream"
    return Reply(200, {}, data, (
        (b"content-type", kind.encode()), (b"x-content-type-options", b"nosniff"),
        (b"content-disposition", f"attachment; filename*=UTF-8''{quote(upload.filename, safe='')}".encode()),
    ))  # fmt: skip


def _send_code(service: BAAgentService, code_id: str, query: str) -> Reply:
    wanted = parse_qs(query, keep_blank_values=True).get("version", [""])[-1]
    if wanted and not (wanted.isascii() and wanted.isdigit() and len(wanted) < 10):
        return _failed(
            400, f"version {wanted[:20]!r} is no number of a version, such as 1; without one it is the newest"
        )
    try:
        if service.code_store is None:
            raise UnknownCode(code_id, [])
        saved = service.code_store.find(code_id, int(wanted) if wanted else None)
        code = service.code_store.read(code_id, saved.version)
    except UnknownCode as error:
        return _failed(404, str(error))
    except BadInput as error:
        return _failed(400, str(error))
    except SightlineError as error:
        return _failed(500, str(error))
    return Reply(200, msgspec.to_builtins(Code(**metadata(saved), code=code)))


# ---------------------------------------------------------------------- the description


_FORM = {
    "type": "object",
    "required": ["file"],
    "additionalProperties": False,
    "properties": {
        "file": {"type": "string", "format": "binary", "description": "the file, with its name"},
        "file_id": {"type": "string", "description": "an id of your own, such as a UUID; else one is made"},
        "description": {"type": "string"},
    },
}


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document of the application, as JSON values."""
    types = (Query, QueryResult, Uploaded, Code, Failure)
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schema = dict(zip(types, schemas, strict=True))

    def answers(*statuses: tuple[int, type[Struct] | None, str]) -> dict[str, Any]:
        return {
            str(status): {"description": about, "content": _content(schema[kind]) if kind else _BYTES}
            for status, kind, about in statuses
        }

    return {
        "openapi": "3.1.0",
        "info": {"title": "BA-Agent", "version": "1", "description": "Answers queries, each in its conversation."},
        "paths": {
            QUERY: {"post": {
                "operationId": "query", "summary": "Answer a user's message",
                "requestBody": {"required": True, "content": _content(schema[Query])},
                "responses": answers(*((status, *about) for status, about in _STATUSES.items())),
            }},
            FILES: {"post": {
                "operationId": "addFile", "summary": "Upload a file, which file_context and file_reader then name",
                "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}},
                "responses": answers(
                    (201, Uploaded, "the file was stored"), (400, Failure, "the form, the name or the id is wrong"),
                    (409, Failure, "there is a file of this id"), (413, Failure, "the file is too large"),
                    (415, Failure, "this is no form, or no kind of file that can be read"),
                    (500, Failure, "the file could not be written"),
                ),
            }},
            f"{FILES}/{{file_id}}": {"get": {
                "operationId": "getFile", "summary": "An uploaded file", "parameters": [_parameter("file_id")],
                "responses": answers(
                    (200, None, "the file"), (404, Failure, "there is none"), (500, Failure, "it could not be read"),
                ),
            }},
            f"{CODES}/{{code_id}}": {"get": {
                "operationId": "getCode", "summary": "Code that a report refers to",
                "parameters": [_parameter("code_id"), _VERSION],
                "responses": answers(
                    (200, Code, "the code"), (400, Failure, "this is no id of code, or no version"),
                    (404, Failure, "there is none"), (500, Failure, "it could not be read"),
                ),
            }},
            DESCRIPTION: {"get": {
                "operationId": "describe", "summary": "This description",
                "responses": {"200": {"description": "an OpenAPI document", "content": _content({"type": "object"})}},
            }},
        },
        "components": {"schemas": components},
    }  # fmt: skip


_BYTES = {"*/*": {"schema": {"type": "string", "format": "binary"}}}
_VERSION = {"name": "version", "in": "query", "schema": {"type": "integer", "minimum": 0}}


def _content(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


# ---------------------------------------------------------------------- the application


def application(service: BAAgentService) -> Callable[[Mapping[str, Any], Receive, Send], Awaitable[None]]:
    """Return the ASGI application, for a server such as uvicorn. It does not check who asks."""

    async def answer(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await _send(await _reply(service, scope, receive), send, _METHODS.get(_route(scope["path"])[0]))
            case "lifespan":
                await _live(service, receive, send)
            case "websocket":
                await _refuse(scope, receive, send)
            case other:  # as ASGI wants it, so that a server knows what is not supported
                raise ValueError(f"this application speaks HTTP, not {other!r}")

    return answer


async def _send(reply: Reply, send: Send, method: str | None, prefix: str = "http.response") -> None:
    headers = [*(reply.headers or [(b"content-type", b"application/json")])]
    if reply.status == 405 and method:
        headers.append((b"allow", method.encode()))
    await send({"type": f"{prefix}.start", "status": reply.status, "headers": headers})
    await send(
        {"type": f"{prefix}.body", "body": msgspec.json.encode(reply.body) if reply.file is None else reply.file}
    )


def _route(path: str) -> tuple[str, str]:
    """Return the route of a path, and the id in it."""
    for collection in (FILES, CODES):
        if path.startswith(f"{collection}/"):
            return f"{collection}/ID", path.removeprefix(f"{collection}/")
    return path, ""


async def _reply(service: BAAgentService, scope: Mapping[str, Any], receive: Receive) -> Reply:
    (route, wanted), method = _route(scope["path"]), scope["method"]
    if route not in _METHODS:
        return _failed(404, f"there are only {', '.join(f'{verb} {name}' for name, verb in _METHODS.items())}")
    if method != _METHODS[route]:
        return _failed(405, f"use {_METHODS[route]} for {route}")
    match route:
        case "/openapi.json":
            return Reply(200, openapi())
        case "/files/ID":
            return await asyncio.to_thread(_send_file, service, wanted)
        case "/codes/ID":
            query = scope.get("query_string", b"").decode("latin-1")
            return await asyncio.to_thread(_send_code, service, wanted, query)
    if route == FILES:
        most = service.uploads.most_bytes + FORM_BYTES
        body = await _body(scope, receive, most, str(UploadTooLarge(service.uploads.most_bytes)))
        declared = next((value for name, value in scope.get("headers", ()) if name == b"content-type"), b"")
        return body if isinstance(body, Reply) else await add_file(service, declared.decode("latin-1"), body)
    body = await _body(scope, receive, MOST_BYTES, _TOO_LARGE)
    return body if isinstance(body, Reply) else await _query(service, body)


async def _query(service: BAAgentService, body: bytes) -> Reply:
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


async def _body(scope: Mapping[str, Any], receive: Receive, most: int, refusal: str) -> bytes | Reply:
    """Read the body of a request, or say why it is not read to its end. Each byte is copied once."""
    declared = next((value for name, value in scope.get("headers", ()) if name == b"content-length"), b"0")
    if declared.isdigit() and int(declared[:20]) > most:
        return _failed(413, refusal)
    body, more = bytearray(), True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            return _failed(400, "the request was cut off")
        body.extend(event.get("body", b""))
        more = event.get("more_body", False)
        if len(body) > most:
            return _failed(413, refusal)
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
