"""Operations on the items of a session, and on its windows."""

import asyncio

from sightline.server.rest_operation import ApiRequest, NotFound, Unavailable
from sightline.server.rest_values import (
    Acted,
    ActionCall,
    ConstraintFacts,
    Constraints,
    Done,
    Expansion,
    FindQuery,
    FoundItem,
    FoundItems,
    ItemsQuery,
    Lines,
    Pins,
    Recall,
    SearchQuery,
    TranscriptQuery,
    Windows,
)
from sightline.session.session import Session
from sightline.view.catalog.snippets import snippet
from sightline.view.inspection import (
    ItemDetails,
    ItemPage,
    WindowFacts,
    item_details,
    item_page,
    pinned_items,
    shown_windows,
)
from sightline.view.transcript import TranscriptHits, TranscriptPage, find_in_transcript, transcript_page

# ---------------------------------------------------------------------- items


async def list_items(request: ApiRequest) -> ItemPage:
    """Return a page of items. Reads only what it returns."""
    query: ItemsQuery = request.query
    return await request.read(item_page, query.start, query.limit, whole=query.text == "full", wanted=query.wanted)


async def get_item(request: ApiRequest) -> ItemDetails:
    """Return one item in full."""
    return await request.read(item_details, request.path["item"])


async def get_transcript(request: ApiRequest) -> TranscriptPage:
    """Return a page of messages. Reads only what it returns."""
    query: TranscriptQuery = request.query
    whole, price_of = query.text == "full", request.server.price_of
    return await request.read(transcript_page, query.start, query.limit, query.at, whole=whole, price_of=price_of)


async def find_in_messages(request: ApiRequest) -> TranscriptHits:
    """Return the messages in which words stand. So many are read for one answer that others need not wait."""
    query: FindQuery = request.query
    return await request.read(find_in_transcript, query.q, query.start, query.limit, alone=query.alone)


async def list_pins(request: ApiRequest) -> Pins:
    """Return the items that are always shown in full because somebody pinned them."""
    return Pins(await request.read(pinned_items))


async def mark_item(request: ApiRequest) -> Done:
    """Pin, unpin or collapse an item, as the path says."""
    item_id, done = request.path["item"], request.http.url.path.rpartition("/")[2]
    async with request.session() as session:
        mark = {"pin": session.items.pin, "unpin": session.items.unpin, "collapse": session.items.collapse}[done]
        await mark(item_id)
        request.publish("mark", session, item=item_id, mark=done)
        return Done(item_id, done)


async def expand_item(request: ApiRequest) -> Lines:
    """Bring an item back."""
    item_id, body = request.path["item"], request.body
    assert isinstance(body, Expansion)
    async with request.session() as session:
        text = await session.items.expand(item_id, start=body.start, lines=body.lines, grep=body.grep, now=body.now)
        request.publish("mark", session, item=item_id, mark="expand")
        return Lines(item_id, text)


async def list_constraints(request: ApiRequest) -> Constraints:
    """Return what the user laid down for the work."""
    async with request.session() as session:
        return Constraints([ConstraintFacts(*constraint) for constraint in await session.items.constraints()])


async def search_items(request: ApiRequest) -> FoundItems:
    """Find earlier items. Nothing is written."""
    query: SearchQuery = request.query
    async with request.session() as session:
        matches = await session.items.search(query.q, query.limit)

        def described(session: Session) -> list[FoundItem]:
            kinds = (session.items.info(match.id).kind.name.lower() for match in matches)
            return [
                FoundItem(*match, kind, snippet(match.text, query.q))
                for match, kind in zip(matches, kinds, strict=True)
            ]

        return FoundItems(await asyncio.to_thread(described, session.session))


async def recall_items(request: ApiRequest) -> FoundItems:
    """Find earlier items, and bring the best back to the conversation."""
    body: Recall = request.body
    async with request.session() as session:
        recalled = await session.items.recall(body.query, tokens=body.tokens)
        request.publish("append", session, recalled=len(recalled))
        request.server.metrics.recall()
        return FoundItems([FoundItem(*item) for item in recalled])


# ---------------------------------------------------------------------- windows


async def list_windows(request: ApiRequest) -> Windows:
    """Return the open windows."""
    return Windows(await request.read(shown_windows, request.server.apps))


async def get_window(request: ApiRequest) -> WindowFacts:
    """Return one open window."""
    return await request.read(_find_window, request)


async def act_on_window(request: ApiRequest) -> Acted:
    """Do something in a window, as a model does."""
    body: ActionCall = request.body
    async with request.session() as session:
        window = await asyncio.to_thread(_find_window, session.session, request)
        if not window.running:
            raise Unavailable(f"the app {window.app or 'of this window'!r} does not run in this server; start it there")
        # The parameters are those of the action, so one may be called like a parameter of `act`.
        outcome = await session.windows.act(window.id, request.path["action"], **body.params)
        return Acted(
            outcome.success, outcome.message, outcome.reason, outcome.window, outcome.summary, list(outcome.ways)
        )


def _find_window(session: Session, request: ApiRequest) -> WindowFacts:
    window_id = request.path["window"]
    windows = {window.id: window for window in shown_windows(session, request.server.apps)}
    if window_id not in windows:
        raise NotFound(f"no open window {window_id[:80]!r}; open are: {', '.join(windows) or 'none'}")
    return windows[window_id]
