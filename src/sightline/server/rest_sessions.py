"""Operations on whole sessions: list, create, look, delete, fork, export, verify, talk."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import TypeVar

import msgspec
from starlette.responses import Response, StreamingResponse

from sightline.errors import BadInput, SightlineError
from sightline.log.branches import branch_label
from sightline.log.stores.session_folder import Folder
from sightline.server.rest_operation import Asked, NotFound, Served, Unavailable
from sightline.server.rest_values import (
    Branches,
    Created,
    ExportQuery,
    Fork,
    Interaction,
    Message,
    Mismatch,
    NewSession,
    SessionDetails,
    SessionFacts,
    SessionPage,
    SessionsQuery,
    Verification,
)
from sightline.server.sessions import InUse, OpenSessions
from sightline.session.async_session import AsyncSession
from sightline.session.document import SUFFIXES, TRANSCRIPTS
from sightline.session.inspection import count, current_branch, first_question, sent_calls
from sightline.session.session import Session
from sightline.values.screen_text import first_words
from sightline.values.settings import Settings
from sightline.wire import registry

_WORDS = 200  # characters of the first question
_LOOKED_AT = 200  # sessions that one search opens at most; the next page goes on
_KNOWN = 10_000  # sessions whose facts are kept, about 1 kB each
_LOG = "jsonl"
_MEDIA = {_LOG: "application/x-ndjson", "markdown": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8"}
_PIECES = 64  # pieces of an export that are made at a time
_EXPORT_HEADERS = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",  # what was said is only text
}
T = TypeVar("T")


# ---------------------------------------------------------------------- list, create, look, delete


async def list_sessions(asked: Asked) -> SessionPage:
    """Return a page of sessions, those that match `q` if there is one."""
    query: SessionsQuery = asked.query
    sessions = asked.server.sessions
    is_open = {session_id for session_id, _ in sessions.names()}

    def read() -> SessionPage:
        ids = sessions.stores.sessions()
        found: list[SessionFacts] = []
        at = query.start
        while at < len(ids) and len(found) < query.limit and at - query.start < _LOOKED_AT:
            facts = msgspec.structs.replace(_known_facts(asked.server, ids[at]), open=ids[at] in is_open)
            at += 1
            if query.q.casefold() in f"{facts.id}\n{facts.words}".casefold():
                found.append(facts)
        return SessionPage(found, len(ids), at if at < len(ids) else None)

    return await asyncio.to_thread(read)


def _known_facts(server: Served, session_id: str) -> SessionFacts:
    """Describe a session, which is opened for that only if its file has changed since the last time."""
    written, size = _file_facts(server.sessions, session_id)
    key = (session_id, written, size)
    if size is None:  # no file: the store does not tell whether it has changed
        return _short_facts(server.sessions, session_id)
    if (found := server.known.get(key)) is None:
        if len(server.known) >= _KNOWN:
            server.known.clear()
        found = server.known[key] = _short_facts(server.sessions, session_id)
    facts: SessionFacts = found
    return facts


def _short_facts(sessions: OpenSessions, session_id: str) -> SessionFacts:
    """Describe a session without keeping it open. One that cannot be read is listed with the reason."""
    try:
        with Session.inspect(session_id, sessions.project, stores=sessions.stores) as session:
            return facts_of(sessions, session, is_open=False)
    except (SightlineError, OSError) as error:
        return SessionFacts(session_id, error=str(error))


def facts_of(sessions: OpenSessions, session: Session, *, is_open: bool) -> SessionFacts:
    """Describe a session in short."""
    counts = count(session)
    written, size = _file_facts(sessions, session.id)
    return SessionFacts(
        id=session.id,
        branch=branch_label(session.branch),
        branches=list(map(branch_label, session.branches)),
        words=first_words(first_question(session, _WORDS * 4), _WORDS),
        written=written,
        bytes=size,
        entries=session.size,
        items=counts.items,
        turns=counts.turns,
        tokens=counts.tokens,
        calls=counts.calls,
        compactions=len(list(session.summaries)),
        faults=counts.faults,
        pins=counts.pins,
        open=is_open,
    )


def _file_facts(sessions: OpenSessions, session_id: str) -> tuple[int | None, int | None]:
    """Return when a session was last written, and how large it is, where it is a file."""
    if isinstance(sessions.stores, Folder):
        try:
            status = sessions.stores.file(session_id).stat()
        except OSError:  # nothing was written yet
            return None, 0
        return int(status.st_mtime), status.st_size
    return None, None


async def create_session(asked: Asked) -> Created:
    """Begin a session, stored from now on."""
    body: NewSession = asked.body
    settings = None
    if body.strategy is not None or body.config or body.locale != "en" or body.profile is not None:
        settings = Settings(
            strategy=body.strategy or "focus", config=body.config, locale=body.locale, profile=body.profile or "openai"
        )
    session = await asked.server.sessions.create(body.id, settings)
    await session.annotate("created", {"by": "rest"})  # so that the session is stored, and listed, before any message
    return Created(session.id, branch_label(session.branch))


async def get_session(asked: Asked) -> SessionDetails:
    """Describe a session."""
    from sightline.server.rest_calls import call_facts

    async with asked.session() as session:

        def read(session: Session) -> SessionDetails:
            calls, total = sent_calls(session, 0, 0)
            calls, _ = sent_calls(session, max(total - 1, 0), 1)
            return SessionDetails(
                facts=facts_of(asked.server.sessions, session, is_open=True),
                settings=session.settings,
                kinds=count(session).kinds,
                open_calls=[call.name for call in session.open_calls],
                last_call=call_facts(calls[0]) if calls else None,
                damaged=session.damaged,
                summary_running=session.summaries.running,
            )

        return await asyncio.to_thread(read, session.session)


async def delete_session(asked: Asked) -> None:
    """Delete a session for good."""
    try:
        await asked.server.sessions.delete(asked.path["id"])
    except BadInput as error:
        raise NotFound(str(error)) from error


# ---------------------------------------------------------------------- branches


async def list_branches(asked: Asked) -> Branches:
    """List the branches of a session."""
    async with asked.session() as session:
        current = await asyncio.to_thread(current_branch, session.session)
        return Branches(branch_label(current), list(map(branch_label, await session.branches())))


async def fork_session(asked: Asked) -> Created:
    """Begin a branch after an item."""
    body: Fork = asked.body
    async with asked.session() as session:
        forked = await session.fork(body.at, name=body.name, keep_summaries=body.keep_summaries)
        made = await asked.server.sessions.adopt(forked)
        asked.publish("append", made, branch=made.branch, at=body.at)
        return Created(made.id, branch_label(made.branch))


# ---------------------------------------------------------------------- export, verify


async def export_session(asked: Asked) -> Response:
    """Stream a whole conversation."""
    query: ExportQuery = asked.query
    if query.format not in (_LOG, *TRANSCRIPTS, *registry.names()):
        known = ", ".join((_LOG, *TRANSCRIPTS, *registry.names()))
        raise BadInput(f"no format {query.format[:40]!r}; choose one of {known}")
    async with asked.session() as session:  # here, so that an unknown one is a 404 and no broken stream
        name = f"{session.id}.{SUFFIXES.get(query.format, _LOG if query.format == _LOG else 'json')}"

    async def pieces() -> AsyncIterator[bytes]:
        async with asked.session() as session:
            made = _exported(asked.server.sessions, session, query)
            while some := await asyncio.to_thread(_some, made):
                yield b"".join(some)

    headers = _EXPORT_HEADERS | {"content-disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(pieces(), 200, headers, _MEDIA.get(query.format, "application/json"))


def _some(pieces: Iterator[bytes]) -> list[bytes]:
    return [piece for _, piece in zip(range(_PIECES), pieces, strict=False)]


def _exported(sessions: OpenSessions, session: AsyncSession, query: ExportQuery) -> Iterator[bytes]:
    if query.format == _LOG:
        with closing(sessions.stores.open(session.id)) as store:
            store.refresh()
            for line in store.scan():
                yield line.data if line.data.endswith(b"\n") else line.data + b"\n"
    elif query.format in TRANSCRIPTS:
        for text in TRANSCRIPTS[query.format](session.session, query.lang):
            yield text.encode("utf-8", "replace")
    else:
        yield msgspec.json.format(session.session.transcript().json(query.format), indent=2) + b"\n"


async def verify_session(asked: Asked) -> Verification:
    """Make every payload again from the log, in a session of its own, because this moves from branch to branch."""
    async with asked.session() as session:
        sessions = asked.server.sessions

        def read() -> Verification:
            with Session.inspect(session.id, sessions.project, stores=sessions.stores) as own:
                found, receipts = list(own.receipts.verify()), own.receipts
                bad = [Mismatch(branch_label(each.branch), *each[1:]) for each in found if not each.good]
                damaged, changed = receipts.damaged_lines(), receipts.changed_lines()
                return Verification(not (bad or damaged or changed), len(found), bad, damaged, changed)

        return await asyncio.to_thread(read)


# ---------------------------------------------------------------------- talk


async def interact(asked: Asked) -> Interaction:
    """Ask the configured model, and wait for its answer."""
    body: Message = asked.body
    if not body.message.strip():
        raise BadInput("message is empty: say something")
    async with asked.session() as session:
        if (model := asked.server.model) is None:
            raise Unavailable("this server has no model of its own: start it with one, or let an agent use the proxy")
        try:
            from sightline.agent.agent import Agent
            from sightline.agent.events import Answer, PayloadComposed, ReplyReceived
        except ImportError as error:
            raise Unavailable(f"asking a model needs more: pip install 'sightline[agent]' ({error})") from error
        key = (session.id, session.branch)
        if key in asked.server.answering:
            raise InUse(f"the model is answering in session {session.id!r}: wait for its answer")
        asked.server.answering.add(key)
        answer = Answer(False, error="the question was not answered")
        try:
            async for event in Agent(session, model).stream(body.message):
                if isinstance(event, PayloadComposed):
                    asked.publish("payload", session, tokens=event.tokens, limit=event.limit, reason=event.reason)
                elif isinstance(event, ReplyReceived):
                    asked.publish("append", session, item=event.item)
                elif isinstance(event, Answer):
                    answer = event
        finally:
            asked.server.answering.discard(key)
        if not answer.success:
            asked.publish("error", session, message=answer.error)
        return Interaction(answer.success, answer.text, answer.error, answer.rounds, answer.usage, answer.cost)
