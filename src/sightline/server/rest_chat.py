"""The chat with the server's model: a question, and its answer whole or as it comes."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response, StreamingResponse

from sightline.agent import events
from sightline.agent.agent import Agent
from sightline.agent.events import Answer, Event, PayloadComposed, ReplyReceived
from sightline.agent.models import Model
from sightline.errors import BadInput, SightlineError
from sightline.server.metrics import PATH_PATTERN, logger, without_secrets
from sightline.server.rest_operation import ApiRequest, Problem, Served, Unavailable, problem_of
from sightline.server.rest_values import Interaction, Message
from sightline.server.sessions import InUse
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.values.finish import finish
from sightline.values.screen_text import first_words


class EquippedModel(NamedTuple):
    """A model that gets tools which act on this machine, in sessions of the server's own project."""

    model: Model
    tools: Sequence[str]  # their names, for people
    agent: Callable[[Session], Agent]  # asks the model in a session; reads files, so call it in a thread
    recalls: bool = True  # it can bring back earlier parts of the session, too


_STREAM = "text/event-stream"
_LONGEST = 400  # characters of an error's text
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no", "x-content-type-options": "nosniff"}


async def interact(request: ApiRequest) -> Interaction | Response:
    """Ask the configured model, and wait for its answer; or stream it, if the client accepts that."""
    body: Message = request.body
    if not body.message.strip():
        raise BadInput("message is empty: say something")
    async with request.session() as session:
        _check(request, session)  # now, while there can still be another answer than a stream
        if _STREAM in request.http.headers.get("accept", ""):
            return StreamingResponse(_stream(request, session.branch), 200, _HEADERS, _STREAM)
        answer: Answer | None = None
        async with aclosing(_answers(request, session, body.message)) as events:
            async for event in events:
                answer = _answer(event) or answer
        return _told(answer)


def _check(request: ApiRequest, session: AsyncSession) -> None:
    """Raise Unavailable without a model, and InUse if it is answering in this session."""
    if request.server.model is None:
        raise Unavailable("this server has no model of its own: start it with one, or let an agent use the proxy")
    if (request.path["id"], session.branch) in request.server.answering:
        raise InUse(f"the model is answering in session {session.id!r}: wait for its answer")


async def _answers(request: ApiRequest, session: AsyncSession, message: str) -> AsyncGenerator[Event, None]:
    """Yield what happens while the question is answered, and tell those who follow the session."""
    _check(request, session)  # somebody may have asked since
    model, key = request.server.model, (request.path["id"], session.branch)
    assert model is not None
    request.server.answering.add(key)
    try:
        agent = await _agent(request, session, model)
        events = agent.stream(message)
    except BaseException:
        request.server.answering.discard(key)
        raise

    async def end() -> None:
        """Stop the answer if it still comes, and tell what is kept of it."""
        try:
            await events.aclose()
        finally:
            request.server.answering.discard(key)
        if agent.stopped:
            request.publish("append", session, item=agent.stopped)

    try:
        async for event in events:
            if isinstance(event, PayloadComposed):
                request.publish("payload", session, tokens=event.tokens, limit=event.limit, reason=event.reason)
                if event.reason.startswith("sweep"):
                    request.publish("sweep", session, reason=event.reason)
            elif isinstance(event, ReplyReceived):
                request.publish("append", session, item=event.item)
            elif (answer := _answer(event)) is not None and not answer.success:
                request.publish("error", session, message=_shown(answer.error))
            yield event
    finally:
        await finish(end())


def equipped_model(server: Served, session_id: str) -> EquippedModel | None:
    """Return the model with its tools, if it gets any in this session.

    In a database nobody does: what was dropped on the page lies there among all others, and its log could name any
    project.
    """
    places = server.sessions.places
    is_own = places.own is not places.imported and places.find(session_id)[0] is places.own
    return server.equipped if is_own else None


def can_recall(server: Served, session_id: str) -> bool:
    """Whether the model, if there is one, can bring back earlier parts of this session."""
    equipped = equipped_model(server, session_id)
    return equipped.recalls if equipped is not None else server.model is not None and server.model.info.tools


async def _agent(request: ApiRequest, session: AsyncSession, model: Model) -> Agent:
    equipped = equipped_model(request.server, request.path["id"])
    if equipped is not None:
        return await asyncio.to_thread(equipped.agent, session.session)
    return Agent(session, model, tools=() if model.info.tools else None)


async def _stream(request: ApiRequest, branch: str) -> AsyncIterator[bytes]:
    """Yield the events of an answer as a browser reads them. The last is the answer, or an error."""
    body: Message = request.body
    try:
        async with (
            request.server.sessions.use(request.path["id"], branch) as session,
            aclosing(_answers(request, session, body.message)) as events,
        ):
            async for event in events:
                if (told := _event(event)) is not None:
                    yield _sse(*told)
    except SightlineError as error:
        problem = problem_of(error)
        yield _sse("error", msgspec.structs.replace(problem, message=_shown(problem.message)))
    except Exception:  # a model or tool of somebody else's: the stream has begun, so there is no other way to say it
        logger.exception("the model failed", extra={"path": request.http.scope.get(PATH_PATTERN, "")})
        yield _sse("error", Problem("model_failed", "the model failed", "look at the server's log, and try again"))


def _event(event: Event) -> tuple[str, Any] | None:
    """Return the kind and the data of an event; None for what a page does not show."""
    match event:
        case events.PayloadComposed():
            return "payload", event
        case events.TextDelta():
            return "text", event
        case events.RetryScheduled():
            return "retry", msgspec.structs.replace(event, why=_shown(event.why), detail=_shown(event.detail))
        case events.ReplyReceived():
            return "reply", event
        case events.ToolStarted(call=call):
            return "tool_started", {"id": call.id, "name": call.name, "arguments": call.input}
        case events.ToolFinished(call=call, text=text, error=error):
            return "tool_finished", {"id": call.id, "name": call.name, "text": text, "error": error}
        case events.Answer():
            return "answer", _told(event)
        case _:
            return None


def _answer(event: Any) -> Answer | None:
    return event if isinstance(event, Answer) else None


def _told(answer: Answer | None) -> Interaction:
    if answer is None:
        return Interaction(False, "", "the question was not answered", 0, None, None)
    return Interaction(answer.success, answer.text, _shown(answer.error), answer.rounds, answer.usage, answer.cost)


def _shown(error: str) -> str:
    """Return what a provider or a model said about an error as the command line shows it: one line, and no key.

    The key of the model is hidden already (see `Endpoint.hide`). A provider, or a model of somebody else's, may also
    quote headers, or the key of another.
    """
    return first_words(without_secrets(error), _LONGEST)


def _sse(kind: str, data: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode(data, enc_hook=str))
