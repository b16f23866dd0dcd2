"""Operations on what is sent: the calls that were made, the one that would be now, compactions, tokens and costs."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response

from sightline.errors import BadInput
from sightline.plan import Budget
from sightline.plan.strategies import strategy
from sightline.plan.strategies.focus import Focus
from sightline.server.rest_operation import EXPORT_HEADERS, ApiRequest, NotFound, as_json
from sightline.server.rest_values import (
    BudgetChoice,
    CallExportQuery,
    CallQuery,
    Compactions,
    ContextQuery,
    Done,
    PageQuery,
    PreviewChoice,
    RawQuery,
    ReportQuery,
    TimelineQuery,
    TimeQuery,
    TokensQuery,
    Undo,
)
from sightline.session.session import Session
from sightline.values.settings import read_strategy, strategy_name
from sightline.view.call_details import call_details, call_difference, session_wire
from sightline.view.call_payloads import Anew, call_payload, session_before
from sightline.view.call_rows import call_at, call_page, chosen_budget, timeline_page, usual_budget
from sightline.view.call_values import CallDetails, CallDifference, CallPage, TimelinePage
from sightline.view.context_facts import Context, context_facts, without_results
from sightline.view.inspection import CompactionFacts, compaction_facts, compactions
from sightline.view.model_calls import call_index
from sightline.view.report.phrases import told
from sightline.view.report.values import Advice, SessionReport
from sightline.view.run_time import TimePage, time_page
from sightline.view.token_tree import TokenTree, token_tree

LAST = "last"  # the name of the last call, in a path


# ---------------------------------------------------------------------- what would be sent


async def get_context(request: ApiRequest) -> Context:
    """Return what the next payload would hold."""
    query: ContextQuery = request.query

    def read(session: Session) -> Context:
        budget = chosen_budget(_usual_budget(session), query.window, query.output)
        return context_facts(session, budget, hidden=query.includeObsolete)

    return await request.read(read)


async def get_raw_input(request: ApiRequest) -> Response:
    """Return the request of the next payload, or of an earlier one, as a provider gets it."""
    query: RawQuery = request.query

    def read(session: Session) -> bytes:
        if query.call is not None:
            payload = call_payload(session, query.call)
        else:
            payload = session.preview(_usual_budget(session))
        written: bytes = payload.json(query.wire)
        return written

    return as_json(request.http, await request.read(read))


async def export_call(request: ApiRequest) -> Response:
    """Give the request of a call as a file, in a provider's format."""
    query: CallExportQuery = request.query
    number = call_number(request.path["call"])

    def read(session: Session) -> tuple[str, bytes]:
        wire = query.wire or session_wire(session)
        return f"{session.id}-call-{number}-{wire}.json", call_payload(session, number).json(wire)

    name, written = await request.read(read)
    headers = EXPORT_HEADERS | {"content-disposition": f'attachment; filename="{name}"'}
    return Response(msgspec.json.format(written, indent=2) + b"\n", 200, headers, "application/json")


async def preview_call(request: ApiRequest) -> Context:
    """Return what the next payload, or an earlier one, would hold with another budget or strategy. Nothing is sent."""
    choice: PreviewChoice = request.body

    def read(session: Session) -> Context:
        if choice == PreviewChoice(call=choice.call):
            return _as_it_was(session, choice.call)
        with _tried(request, session, choice) as (tried, usual):
            budget = chosen_budget(usual, choice.window, choice.output)
            return context_facts(tried, budget, whole=session)

    return await request.read(read)


def _as_it_was(session: Session, number: int | None) -> Context:
    """Return what the next payload holds, or what an earlier one held: if it was not composed, as the log has it."""
    if number is None:
        return context_facts(session, _usual_budget(session))
    payload = call_payload(session, number)
    with session_before(session, number) as (_, own):
        budget = own or usual_budget(session, number)
    payload.plan.limit = call_at(session, number)[1].limit or budget.window  # a payload that is made again has none
    context = context_facts(session, budget, payload=payload)
    return without_results(session, context, call_index(session).clearings.rows_at(number))


@contextmanager
def _tried(request: ApiRequest, session: Session, choice: PreviewChoice) -> Iterator[tuple[Session, Budget]]:
    """Have a session of its own that plans as the choice says, and the budget that it would have."""
    settings = session.settings
    name = read_strategy(choice.strategy) if choice.strategy else settings.strategy
    config = choice.config if choice.config is not None else settings.config if name == settings.strategy else {}
    if choice.economy is not None:
        if name != Focus.name:
            raise BadInput(f"the strategy {strategy_name(name)[:60]!r} has no economy; only {Focus.name!r} has")
        config = {**config, "economy": choice.economy}
    planner = Anew(strategy(name, config))
    if choice.call is not None:
        with session_before(session, choice.call, planner) as (before, budget):
            yield before, budget or usual_budget(session, choice.call)
    else:
        place, own_id = request.server.sessions.place_of(request.path["id"])
        options = {"stores": place.stores, "branch": session.branch, "strategy": planner}
        with Session.inspect(own_id, place.project, **options) as own:
            yield own, _usual_budget(session)


def _usual_budget(session: Session) -> Budget:
    """Return the budget of the last call that was composed, else one for the model that answered last."""
    return session.budget or usual_budget(session)


# ---------------------------------------------------------------------- compactions


async def list_compactions(request: ApiRequest) -> Compactions:
    """Return the compactions of a branch, each with what it hid."""
    return Compactions(await request.read(compactions))


async def compact(request: ApiRequest) -> CompactionFacts:
    """Replace the oldest part by a digest made by rule, from the next call on."""
    body: BudgetChoice = request.body
    async with request.session() as session:
        usual = await asyncio.to_thread(_usual_budget, session.session)
        made = await session.summaries.compact(chosen_budget(usual, body.window, body.output))
        request.publish("compaction", session, boundary=made.boundary, first=made.covered[0], last=made.covered[1])
        info = next(summary for summary in session.session.summaries if summary.boundary == made.boundary)
        return await asyncio.to_thread(compaction_facts, session.session, info, made.loss)


async def undo_compaction(request: ApiRequest) -> Done:
    """Show again what the last compaction covers, or one item of it."""
    body: Undo = request.body
    async with request.session() as session:
        await session.summaries.undo(body.item)
        request.publish("compaction", session, undone=True, item=body.item)
        return Done(body.item or "", "undo")


# ---------------------------------------------------------------------- the calls that were made


async def get_timeline(request: ApiRequest) -> TimelinePage:
    """Return what the contexts of calls held."""
    query: TimelineQuery = request.query
    return await request.read(timeline_page, query.start, query.limit, query.every, request.server.price_of)


async def get_time(request: ApiRequest) -> TimePage:
    """Return how long model calls, tool calls and waits for the user took."""
    query: TimeQuery = request.query
    longest = query.sort == "longest"
    return await request.read(time_page, query.start, query.limit, longest=longest, wanted=query.wanted)


async def list_calls(request: ApiRequest) -> CallPage:
    """Return a page of the calls, and what was decided for each."""
    query: PageQuery = request.query
    return await request.read(call_page, query.start, query.limit)


async def get_call(request: ApiRequest) -> CallDetails:
    """Return one call, item by item, made again from the log."""
    query: CallQuery = request.query
    number = None if request.path["call"] == LAST else call_number(request.path["call"])
    options: Any = {"whole": query.text == "full", "price_of": request.server.price_of}
    wanted: Any = {"wanted": query.wanted, "level": query.level}
    return await request.read(call_details, number, query.start, query.limit, **options, **wanted)


async def compare_calls(request: ApiRequest) -> CallDifference:
    """Return what differs between two calls."""
    one, other = call_number(request.path["call"]), call_number(request.path["other"])
    return await request.read(call_difference, one, other, request.server.price_of)


def call_number(text: str) -> int:
    """Return the number of a call in a path. Raises NotFound if it is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise NotFound(f"calls have numbers, beginning with 1, not {text[:40]!r}")
    return int(text)


# ---------------------------------------------------------------------- where the tokens went


async def get_tokens(request: ApiRequest) -> TokenTree:
    """Return where the tokens are, by kind, tool and file."""
    query: TokensQuery = request.query
    groups = [group.strip() for group in query.by.split(",") if group.strip()]
    return await request.read(token_tree, groups, query.call)


class Recommendation(Struct, frozen=True):
    """A piece of advice in words."""

    kind: str
    saving: str
    found: str
    what_to_do: str
    share: float  # of the whole cost
    is_forecast: bool


class ReportFacts(Struct, frozen=True):
    """The report of a session, and its advice in words, what saves most first."""

    report: SessionReport
    recommendations: list[Recommendation]


async def get_report(request: ApiRequest) -> ReportFacts:
    """Return the report of a session. With `forecast` it is replayed, which takes longer."""
    query: ReportQuery = request.query
    async with request.session() as session:
        place, own_id = request.server.sessions.place_of(request.path["id"])
        report = await request.server.reports.get(place, own_id, session.branch, forecast=query.forecast)
        return ReportFacts(report, [_told(advice, query.lang) for advice in report.advice])


def _told(advice: Advice, lang: str) -> Recommendation:
    return Recommendation(advice.kind, *told(advice, lang), advice.share, advice.is_forecast)
