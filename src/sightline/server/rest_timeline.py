"""Operations on the calls of a model: the context window over time, one call, two calls, where the tokens are."""

import asyncio

from sightline.server.rest_operation import ApiRequest, NotFound
from sightline.server.rest_values import CallQuery, PageQuery, TimelineQuery, TokensQuery
from sightline.view.call_details import call_details, call_difference
from sightline.view.call_rows import call_page, timeline_page
from sightline.view.call_values import CallDetails, CallDifference, CallPage, TimelinePage
from sightline.view.token_tree import TokenTree, token_tree

LAST = "last"  # the name of the last call, in a path


async def get_timeline(request: ApiRequest) -> TimelinePage:
    """Return what the contexts of calls held."""
    query: TimelineQuery = request.query
    wanted = (query.start, query.limit, query.every)
    async with request.session() as session:
        return await asyncio.to_thread(timeline_page, session.session, *wanted, request.server.price_of)


async def list_calls(request: ApiRequest) -> CallPage:
    """Return a page of the calls, and what was decided for each."""
    query: PageQuery = request.query
    async with request.session() as session:
        return await asyncio.to_thread(call_page, session.session, query.start, query.limit)


async def get_call(request: ApiRequest) -> CallDetails:
    """Return one call, item by item, made again from the log."""
    query: CallQuery = request.query
    number = None if request.path["call"] == LAST else call_number(request.path["call"])
    async with request.session() as session:
        return await asyncio.to_thread(
            call_details,
            session.session,
            number,
            query.start,
            query.limit,
            whole=query.text == "full",
            price_of=request.server.price_of,
        )


async def compare_calls(request: ApiRequest) -> CallDifference:
    """Return what differs between two calls."""
    one, other = call_number(request.path["call"]), call_number(request.path["other"])
    async with request.session() as session:
        return await asyncio.to_thread(call_difference, session.session, one, other, request.server.price_of)


def call_number(text: str) -> int:
    """Return the number of a call in a path. Raises NotFound if it is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise NotFound(f"calls have numbers, beginning with 1, not {text[:40]!r}")
    return int(text)


async def get_tokens(request: ApiRequest) -> TokenTree:
    """Return where the tokens are, by kind, tool and file."""
    query: TokensQuery = request.query
    groups = [group.strip() for group in query.by.split(",") if group.strip()]
    async with request.session() as session:
        return await asyncio.to_thread(token_tree, session.session, groups, query.call)
