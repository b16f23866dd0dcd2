"""Operations on what is sent: the payloads that were, the one that would be now, others to compare, compactions."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from starlette.responses import Response

from sightline.compaction.loss import Loss
from sightline.errors import BadInput
from sightline.plan import Budget
from sightline.plan.strategies import strategy
from sightline.plan.strategies.focus import Focus
from sightline.providers.catalog import window_of
from sightline.server.rest_operation import Asked, NotFound, as_json
from sightline.server.rest_values import (
    BudgetChoice,
    Compactions,
    Context,
    ContextQuery,
    Done,
    Line,
    LossFacts,
    PreviewChoice,
    RawQuery,
    Undo,
)
from sightline.session.compactions import CompactionInfo
from sightline.session.session import Session
from sightline.view.call_payloads import Anew, UnknownCallNumber, call_payload, session_before
from sightline.view.call_rows import call_rows, model_at
from sightline.view.context_facts import context_facts
from sightline.wire.payload import Payload

_WINDOW, _OUTPUT = 128_000, 8_000  # tokens, if nothing says how many the model takes: as the command line assumes
_MOST_HIDDEN = 1000  # items that are not shown and listed all the same


# ---------------------------------------------------------------------- what would be sent


def _found(read: Any) -> Any:
    try:
        return read()
    except UnknownCallNumber as error:
        raise NotFound(str(error)) from error


async def get_context(asked: Asked) -> Context:
    """Return what the next payload would hold."""
    query: ContextQuery = asked.query
    async with asked.session() as session:

        def read(session: Session) -> Context:
            shown = _context(session, _budget(_usual_budget(session), query.window, query.output))
            return _with_hidden(session, shown) if query.includeObsolete else shown

        return await asyncio.to_thread(read, session.session)


async def get_raw_input(asked: Asked) -> Response:
    """Return the request of the next payload, or of an earlier one, as a provider gets it."""
    query: RawQuery = asked.query
    async with asked.session() as session:

        def read(session: Session) -> bytes:
            if query.call is not None:
                payload = _found(lambda: call_payload(session, query.call))
            else:
                payload = session.preview(_usual_budget(session))
            written: bytes = payload.json(query.wire)
            return written

        return as_json(asked.request, await asyncio.to_thread(read, session.session))


async def preview_call(asked: Asked) -> Context:
    """Return what the next payload, or an earlier one, would hold with another budget or strategy. Nothing is sent."""
    choice: PreviewChoice = asked.body
    async with asked.session() as session:

        def read(session: Session) -> Context:
            if choice == PreviewChoice(call=choice.call) and (sent := _as_it_was(session, choice.call)) is not None:
                return sent
            with _tried(asked, session, choice) as (tried, usual):
                return _context(tried, _budget(usual, choice.window, choice.output))

        return await asyncio.to_thread(read, session.session)


def _as_it_was(session: Session, number: int | None) -> Context | None:
    """Return what the next payload holds, or what an earlier one held; None if that was not composed."""
    if number is None:
        return _context(session, _usual_budget(session))
    payload = _found(lambda: call_payload(session, number))
    with session_before(session, number) as (_, budget):
        if budget is None:
            return None
    payload.plan.limit = call_rows(session, number - 1, 1)[0][0].limit  # a payload that is made again has none
    return _context(session, budget, payload)


@contextmanager
def _tried(asked: Asked, session: Session, choice: PreviewChoice) -> Iterator[tuple[Session, Budget]]:
    """Have a session of its own that plans as the choice says, and the budget that it would have."""
    settings = session.settings
    name = choice.strategy or settings.strategy
    config = choice.config if choice.config is not None else settings.config if name == settings.strategy else {}
    if choice.economy is not None:
        if name != Focus.name:
            raise BadInput(f"the strategy {name[:60]!r} has no economy; only {Focus.name!r} has")
        config = {**config, "economy": choice.economy}
    planner = Anew(strategy(name, config))
    if choice.call is not None:
        found = session_before(session, choice.call, planner)
        before, budget = _found(found.__enter__)
        try:
            yield before, budget or _model_budget(session, choice.call)
        finally:
            found.__exit__(None, None, None)
    else:
        place, own_id = asked.server.sessions.place_of(asked.path["id"])
        options = {"stores": place.stores, "branch": session.branch, "strategy": planner}
        with Session.inspect(own_id, place.project, **options) as own:
            yield own, _usual_budget(session)


def _usual_budget(session: Session) -> Budget:
    """Return the budget of the last call that was composed, else one for the model that answered last."""
    return session.budget or _model_budget(session)


def _model_budget(session: Session, number: int | None = None) -> Budget:
    window = window_of(model_at(session, number)) or _WINDOW
    return Budget(window, min(_OUTPUT, window // 4))


def _budget(usual: Budget, window: int | None, output: int | None) -> Budget:
    """Return the budget that was asked for, else the usual one."""
    if window is None and output is None:
        return usual
    whole = window if window is not None else usual.window
    return Budget(whole, min(_OUTPUT, whole // 4) if output is None else output)


def _context(session: Session, budget: Budget, payload: Payload | None = None) -> Context:
    facts = context_facts(session, budget, payload=payload)
    lines = [
        Line(each["id"], each["kind"], each["lod"], each["tokens"], each["full_tokens"], each["why"])
        for each in facts["items"]
    ]
    own = {name: facts[name] for name in Context.__struct_fields__ if name in facts}
    return Context(**own, reason=facts["sweep"], strategy=session.strategy.name, lines=lines)


def _with_hidden(session: Session, context: Context) -> Context:
    shown = {line.id for line in context.lines}
    hidden = [
        Line(item.id, item.kind.name.lower(), "hidden", 0, item.full)
        for item in session.items.table()
        if item.id not in shown
    ]
    return msgspec.structs.replace(context, hidden=hidden[-_MOST_HIDDEN:])


# ---------------------------------------------------------------------- compactions


async def list_compactions(asked: Asked) -> Compactions:
    """Return the compactions of a branch, each with what it hid."""
    async with asked.session() as session:

        def read(session: Session) -> Compactions:
            losses = session.summaries.losses()
            return Compactions([_loss_facts(session, each, losses.get(each.boundary)) for each in session.summaries])

        return await asyncio.to_thread(read, session.session)


def _loss_facts(session: Session, info: CompactionInfo, loss: Loss | None) -> LossFacts:
    facts = {name: value for name, value in info._asdict().items() if name != "files"}
    text = "\n\n".join(map(session.items.text, info.summaries))
    return LossFacts(**facts | {"summaries": list(info.summaries)}, text=text, loss=loss)


async def compact(asked: Asked) -> LossFacts:
    """Replace the oldest part by a digest made by rule, from the next call on."""
    body: BudgetChoice = asked.body
    async with asked.session() as session:
        usual = await asyncio.to_thread(_usual_budget, session.session)
        made = await session.summaries.compact(_budget(usual, body.window, body.output))
        asked.publish("compaction", session, boundary=made.boundary, first=made.covered[0], last=made.covered[1])
        found = next(each for each in session.session.summaries if each.boundary == made.boundary)
        return await asyncio.to_thread(_loss_facts, session.session, found, made.loss)


async def undo_compaction(asked: Asked) -> Done:
    """Show again what the last compaction covers, or one item of it."""
    body: Undo = asked.body
    async with asked.session() as session:
        await session.summaries.undo(body.item)
        asked.publish("compaction", session, undone=True, item=body.item)
        return Done(body.item or "", "undo")
