"""Operations on whole sessions: create, look, delete, fork, export, verify."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import TypeVar

import msgspec
from starlette.responses import Response, StreamingResponse

from sightline.errors import BadInput
from sightline.log import branch_label
from sightline.server.rest_chat import can_recall, equipped_model
from sightline.server.rest_list import LOG_FORMAT, export_formats
from sightline.server.rest_operation import EXPORT_HEADERS, ApiRequest, NotFound
from sightline.server.rest_values import (
    Branches,
    Created,
    ExportQuery,
    Fork,
    Mismatch,
    NewSession,
    SessionDetails,
    Verification,
)
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.values.settings import Settings, read_strategy
from sightline.view.catalog.places import Place
from sightline.view.document import SUFFIXES, TRANSCRIPTS
from sightline.view.inspection import current_branch, item_counts

_MEDIA = {
    LOG_FORMAT: "application/x-ndjson",
    "markdown": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
_PIECES = 64  # pieces of an export that are made at a time
T = TypeVar("T")


# ---------------------------------------------------------------------- create, look, delete


async def create_session(request: ApiRequest) -> Created:
    """Begin a session, stored from now on."""
    body: NewSession = request.body
    settings = None
    if body.strategy is not None or body.config or body.locale != "en" or body.profile is not None:
        settings = Settings(
            strategy=read_strategy(body.strategy or "focus"),
            config=body.config,
            locale=body.locale,
            profile=body.profile or "openai",
        )
    session = await request.server.sessions.create(body.id, settings)
    await session.annotate("created", {"by": "rest"})  # so that the session is stored, and listed, before any message
    return Created(session.id, branch_label(session.branch))


async def get_session(request: ApiRequest) -> SessionDetails:
    """Describe a session."""
    async with request.session() as session:
        facts = await request.server.listing.facts(request.path["id"])
        equipped = equipped_model(request.server, request.path["id"])

        def read(session: Session) -> SessionDetails:
            return SessionDetails(
                facts=facts,
                settings=session.settings,
                kinds=item_counts(session),
                open_calls=[call.name for call in session.open_calls],
                windows=len(session.windows.live()),
                damaged=session.damaged,
                summary_running=session.summaries.running,
                chat_tools=list(equipped.tools) if equipped is not None else [],
                chat_recalls=can_recall(request.server, request.path["id"]),
            )

        return await asyncio.to_thread(read, session.session)


async def delete_session(request: ApiRequest) -> None:
    """Delete a session for good."""
    try:
        await request.server.sessions.delete(request.path["id"])
    except BadInput as error:
        raise NotFound(str(error)) from error


# ---------------------------------------------------------------------- branches


async def list_branches(request: ApiRequest) -> Branches:
    """List the branches of a session."""
    async with request.session() as session:
        current = await asyncio.to_thread(current_branch, session.session)
        return Branches(branch_label(current), list(map(branch_label, await session.branches())))


async def fork_session(request: ApiRequest) -> Created:
    """Begin a branch after an item."""
    body: Fork = request.body
    async with request.session() as session:
        forked = await session.fork(body.at, name=body.name, keep_summaries=body.keep_summaries)
        made = await request.server.sessions.adopt(forked, request.path["id"])
        request.publish("append", made, branch=made.branch, at=body.at)
        return Created(request.path["id"], branch_label(made.branch))


# ---------------------------------------------------------------------- export, verify


async def export_session(request: ApiRequest) -> Response:
    """Stream a whole conversation."""
    query: ExportQuery = request.query
    if query.format not in (formats := export_formats()):
        raise BadInput(f"no format {query.format[:40]!r}; choose one of {', '.join(formats)}")
    async with request.session() as session:  # here, so that an unknown one is a 404 and no broken stream
        name = f"{session.id}.{SUFFIXES.get(query.format, LOG_FORMAT if query.format == LOG_FORMAT else 'json')}"

    async def pieces() -> AsyncIterator[bytes]:
        async with request.session() as session:
            made = _exported(request.server.sessions.place_of(request.path["id"])[0], session, query)
            while some := await asyncio.to_thread(_some, made):
                yield b"".join(some)

    headers = EXPORT_HEADERS | {"content-disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(pieces(), 200, headers, _MEDIA.get(query.format, "application/json"))


def _some(pieces: Iterator[bytes]) -> list[bytes]:
    return [piece for _, piece in zip(range(_PIECES), pieces, strict=False)]


def _exported(place: Place, session: AsyncSession, query: ExportQuery) -> Iterator[bytes]:
    if query.format == LOG_FORMAT:
        with closing(place.stores.open(session.id)) as store:
            store.refresh()
            for line in store.scan():
                yield line.data if line.data.endswith(b"\n") else line.data + b"\n"
    elif query.format in TRANSCRIPTS:
        for text in TRANSCRIPTS[query.format](session.session, query.lang):
            yield text.encode("utf-8", "replace")
    else:
        yield msgspec.json.format(session.session.transcript().json(query.format), indent=2) + b"\n"


async def verify_session(request: ApiRequest) -> Verification:
    """Make every payload again from the log, in a session of its own, because this moves from branch to branch."""
    async with request.session():
        place, own_id = request.server.sessions.place_of(request.path["id"])

        def read() -> Verification:
            with Session.inspect(own_id, place.project, stores=place.stores) as own:
                checks, receipts = list(own.receipts.verify()), own.receipts
                bad = [Mismatch(branch_label(check.branch), *check[1:]) for check in checks if not check.good]
                damaged, changed = receipts.damaged_lines(), receipts.changed_lines()
                return Verification(not (bad or damaged or changed), len(checks), bad, damaged, changed)

        return await asyncio.to_thread(read)
