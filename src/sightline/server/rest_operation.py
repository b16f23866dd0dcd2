"""One operation of the REST interface: how a request becomes typed values, and a value or an error an answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from sightline import errors
from sightline.errors import BadInput, BadSessionId, SightlineError
from sightline.log import FIRST
from sightline.server.events import Event, EventKind, Hub, TooManyFollowers
from sightline.server.metrics import PATH_PATTERN, Metrics, logger
from sightline.server.sessions import InUse, OpenSessions
from sightline.session.async_session import AsyncSession
from sightline.values.decoders import convert, decode_json
from sightline.view.call_payloads import UnknownCallNumber
from sightline.view.inspection import catch_up

if TYPE_CHECKING:
    from sightline.agent.models import Model
    from sightline.server.imports import Imports
    from sightline.server.readiness import Readiness
    from sightline.server.reports import Reports
    from sightline.server.rest_chat import EquippedModel
    from sightline.server.session_finder import SessionFinder
    from sightline.server.session_list import SessionList
    from sightline.server.uploads import Uploads
    from sightline.session.session import Session
    from sightline.view.costs import PriceOf

P = ParamSpec("P")
T = TypeVar("T")

MOST_BYTES = 2 << 20  # of a body here: a question, or a few settings
JSON = "application/json"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]  # which our routes answer or refuse
DELETE_SOME = "delete sessions (DELETE /api/sessions/ID), or ask whoever runs the server for more"
_BUSY_SECONDS = 5  # after which to try again what there was no room for
EXPORT_HEADERS = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",  # what was said is only text
}
_HEADERS = {"cache-control": "no-cache", "x-content-type-options": "nosniff"}


class NotFound(SightlineError):
    """There is no such thing here."""


class Unavailable(SightlineError):
    """This server was started without what is needed."""


class Busy(SightlineError):
    """So much is being done that no more can be begun."""


class TooLarge(SightlineError):
    """A body is larger than allowed."""


class QuotaExceeded(SightlineError):
    """A tenant stores as much as it may."""


class Served(NamedTuple):
    """What the handlers work with."""

    sessions: OpenSessions
    hub: Hub
    metrics: Metrics
    model: "Model | None"  # for `interact`
    equipped: "EquippedModel | None"  # it with tools, if it gets some
    apps: frozenset[str]  # that may run in this server, for windows that a session has
    answering: set[tuple[str, str]]  # sessions and branches in which the model answers now
    listing: "SessionList"
    imports: "Imports"
    reports: "Reports"
    readiness: "Readiness"
    uploads: "Uploads"
    price_of: "PriceOf"  # of a model
    finder: "SessionFinder"
    note: "Callable[[Request, str, str], Awaitable[None]] | None" = None  # is told what was done, and to what


class ApiRequest(NamedTuple):
    """A request that was read: the parts of its path, its query and its body as the operation's types."""

    server: Served
    http: Request
    path: Mapping[str, str]
    query: Any = None
    body: Any = None

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        """Have the session of the path open, on the branch of the query, with what other programs wrote to it."""
        branch: str | None = getattr(self.query, "branch", None)
        try:
            opening = self.server.sessions.use(self.path["id"], "" if branch == FIRST else branch)
            session = await opening.__aenter__()
        except BadSessionId as error:
            raise NotFound(str(error)) from error
        except BadInput as error:  # no such branch
            raise NotFound(str(error)) from error
        try:
            try:
                await asyncio.to_thread(catch_up, session.session)
            except errors.SessionNotFound:  # if there is a new one of its id, the next request finds that
                await self.server.sessions.forget(self.path["id"])
                raise
            yield session
        finally:
            await opening.__aexit__(None, None, None)

    async def read(self, work: "Callable[Concatenate[Session, P], T]", *arguments: P.args, **options: P.kwargs) -> T:
        """Return what `work` reads of the session of the path, in a thread."""
        async with self.session() as session:
            return await asyncio.to_thread(work, session.session, *arguments, **options)

    def publish(self, kind: EventKind, session: AsyncSession, **data: Any) -> None:
        """Tell who follows that something happened to a session."""
        self.server.hub.publish(Event(kind, self.path["id"], session.branch, data))


Handler = Callable[[ApiRequest], Awaitable[Any]]


class Operation(NamedTuple):
    """One method of one path: what it takes, what it gives, and who answers it. The OpenAPI document is made of these.

    `output` is the type of a JSON answer; None: none, or one of another `media` type, which the handler makes itself.
    `noted`: what the audit trail calls it, if it changes something or gives a whole conversation away.
    """

    method: str
    path: str
    name: str
    about: str
    handle: Handler
    query: type[Struct] | None = None
    body: type[Struct] | None = None
    output: Any = None
    status: int = 200
    media: str = JSON
    errors: tuple[int, ...] = ()
    noted: str = ""


class Problem(Struct, frozen=True):
    """What went wrong, for programs and for people."""

    type: str
    message: str
    what_to_do: str


class Failure(Struct, frozen=True):
    """The answer to a request that failed."""

    error: Problem


class _Rule(NamedTuple):
    kind: type[Exception]
    status: int
    type: str
    what_to_do: str


_LISTS = "look at the lists: /api/sessions, and items, calls and windows below each"
# The first that fits. Each message says more than the general advice here.
_RULES = (
    _Rule(NotFound, 404, "not_found", _LISTS),
    _Rule(UnknownCallNumber, 404, "not_found", _LISTS),
    _Rule(QuotaExceeded, 403, "quota_exceeded", DELETE_SOME),
    _Rule(TooLarge, 413, "body_too_large", "send less"),
    _Rule(errors.SessionNotFound, 404, "session_not_found", "GET /api/sessions lists those there are"),
    _Rule(errors.NothingCompacted, 409, "nothing_compacted", "there is nothing to undo"),
    _Rule(errors.UnknownItem, 404, "item_not_found", "GET items of the session lists those there are"),
    _Rule(errors.NotShorter, 409, "not_shorter", "go on; compact when more was said"),
    _Rule(errors.NoModel, 501, "no_model", "start the server with a model"),
    _Rule(Unavailable, 501, "unavailable", "start the server with what the message names"),
    _Rule(errors.BadInput, 400, "bad_input", "change the request as the message says"),
    _Rule(errors.OpenCalls, 409, "open_calls", "let the agent send the results of its calls first"),
    _Rule(errors.PinnedOverflow, 422, "pinned_overflow", "unpin an item, or allow more tokens"),
    _Rule(errors.StrategyError, 422, "strategy_failed", "choose another strategy or configuration"),
    _Rule(InUse, 409, "in_use", "try again when its requests have ended"),
    _Rule(errors.Conflict, 409, "conflict", "read the session again, then try again"),
    _Rule(errors.Locked, 409, "locked", "let the other process go on, then try again"),
    _Rule(errors.SessionClosed, 503, "stopping", "the server is stopping: try again when it runs"),
    _Rule(Busy, 503, "busy", "try again when some of it is done"),
    _Rule(TooManyFollowers, 503, "too_many_streams", "close another stream of events"),
    _Rule(errors.AppError, 409, "app_failed", "look at the window, then act on what it shows"),
    _Rule(errors.ModelError, 502, "model_failed", "look at the model's own message, and try again"),
    _Rule(errors.StoreError, 503, "store_failed", "sightline doctor finds out what is wrong with the store"),
    _Rule(SightlineError, 503, "failed", "sightline doctor finds out what is wrong"),
)


def failed(status: int, type_: str, message: str, what_to_do: str) -> Response:
    """Return the answer to a request that failed."""
    body = msgspec.json.encode(Failure(Problem(type_, message.encode("utf-8", "replace").decode(), what_to_do)))
    return Response(body, status, _HEADERS, JSON)


def failure_of(error: SightlineError) -> Response:
    """Return the answer that says why an operation failed."""
    response = failed(_rule(error).status, *msgspec.structs.astuple(problem_of(error)))
    if isinstance(error, Busy):
        response.headers["retry-after"] = str(_BUSY_SECONDS)
    return response


def problem_of(error: SightlineError) -> Problem:
    """Return what went wrong, for who is told in another way than by a status."""
    message = str(error)
    if isinstance(error, errors.SessionNotFound):  # its text names a folder or database, for who has that
        message = f"no session {error.session_id!r}"
    return Problem(_rule(error).type, message, _rule(error).what_to_do)


def _rule(error: SightlineError) -> _Rule:
    return next(rule for rule in _RULES if isinstance(error, rule.kind))


async def answer(operation: Operation, server: Served, request: Request) -> Response:
    """Answer a request. Nothing is raised for what a client sends."""
    request.scope[PATH_PATTERN] = operation.path
    try:
        query = read_query(request, operation.query) if operation.query is not None else None
        body = await read_body(request, operation.body) if operation.body is not None else None
        made = await operation.handle(ApiRequest(server, request, request.path_params, query, body))
    except _Refused as refused:
        return refused.response
    except SightlineError as error:
        if not isinstance(error, BadInput):
            logger.warning("%s", type(error).__name__, extra={"path": operation.path})
        return failure_of(error)
    except OSError as error:
        logger.exception("the store failed", extra={"path": operation.path})
        return failed(503, "store_failed", error.strerror or type(error).__name__, "sightline doctor finds out more")
    if operation.noted and server.note is not None:
        subject = request.path_params.get("id") or getattr(made, "id", "")
        await server.note(request, operation.noted, str(subject))
    if isinstance(made, Response):
        return made
    if made is None:
        return Response(None, operation.status, _HEADERS)
    return as_json(request, msgspec.json.encode(made, enc_hook=str), operation.status)


def as_json(request: Request, body: bytes, status: int = 200) -> Response:
    """Return JSON with its ETag, or 304 if the client's copy is current."""
    if request.method not in ("GET", "HEAD"):
        return Response(body, status, _HEADERS, JSON)
    tag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
    client_tags = {part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")}
    if tag in client_tags or "*" in client_tags:
        return Response(None, 304, _HEADERS | {"etag": tag})
    return Response(body, status, _HEADERS | {"etag": tag}, JSON)


# ---------------------------------------------------------------------- what is read


class _Refused(Exception):
    """A request that cannot be read, with the answer to it."""

    def __init__(self, response: Response) -> None:
        self.response = response


def _bad(message: str, status: int = 400, type_: str = "bad_request") -> _Refused:
    return _Refused(failed(status, type_, message, "send what /api/openapi.json describes"))


def read_query(request: Request, kind: type[Struct]) -> Struct:
    """Return the query as this type."""
    try:
        return convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise _bad(f"the query: {error}") from error


async def read_body(request: Request, kind: type[Struct]) -> Struct:
    """Return the body as this type. An empty one is an empty object."""
    data = await _read_bytes(request)
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if data and media != JSON:  # also because a form of a web page can send any other
        raise _bad(f"the body must be {JSON}", 415, "unsupported_media_type")
    try:
        return decode_json(data or b"{}", kind)
    except msgspec.DecodeError as error:  # ValidationError among them
        raise _bad(f"the body: {error}") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise _bad("the body is no JSON in UTF-8, or it is nested too deeply") from error


async def _read_bytes(request: Request) -> bytes:
    data = bytearray()
    try:
        async for piece in request.stream():
            data += piece
            if len(data) > MOST_BYTES:
                raise _Refused(failed(413, "body_too_large", f"a body has at most {MOST_BYTES:,} bytes", "send less"))
    except ClientDisconnect as error:
        raise _bad("the request was cut off") from error
    return bytes(data)
