"""Operations on the items of a session, and on its windows."""

import asyncio

from sightline.server.rest_operation import Asked, NotFound, Unavailable
from sightline.server.rest_values import (
    Acted,
    ActionCall,
    ConstraintFacts,
    Constraints,
    Done,
    Expansion,
    FoundItem,
    FoundItems,
    ItemsQuery,
    Lines,
    Pins,
    Recall,
    SearchQuery,
    Windows,
)
from sightline.server.snippets import snippet
from sightline.session.session import Session
from sightline.view.inspection import (
    ItemDetails,
    ItemPage,
    WindowFacts,
    item_details,
    item_page,
    pinned_items,
    shown_windows,
)

# ---------------------------------------------------------------------- items


async def list_items(asked: Asked) -> ItemPage:
    """Return a page of items. Reads only what it returns."""
    query: ItemsQuery = asked.query
    async with asked.session() as session:
        whole = query.text == "full"
        return await asyncio.to_thread(item_page, session.session, query.start, query.limit, whole=whole)


async def get_item(asked: Asked) -> ItemDetails:
    """Return one item in full."""
    async with asked.session() as session:
        return await asyncio.to_thread(item_details, session.session, asked.path["item"])


async def list_pins(asked: Asked) -> Pins:
    """Return the items that are always shown in full because somebody pinned them."""
    async with asked.session() as session:
        return Pins(await asyncio.to_thread(pinned_items, session.session))


async def mark_item(asked: Asked) -> Done:
    """Pin, unpin or collapse an item, as the path says."""
    item_id, done = asked.path["item"], asked.request.url.path.rpartition("/")[2]
    async with asked.session() as session:
        mark = {"pin": session.items.pin, "unpin": session.items.unpin, "collapse": session.items.collapse}[done]
        await mark(item_id)
        asked.publish("mark", session, item=item_id, mark=done)
        return Done(item_id, done)


async def expand_item(asked: Asked) -> Lines:
    """Bring an item back."""
    item_id, body = asked.path["item"], asked.body
    assert isinstance(body, Expansion)
    async with asked.session() as session:
        text = await session.items.expand(item_id, start=body.start, lines=body.lines, grep=body.grep, now=body.now)
        asked.publish("mark", session, item=item_id, mark="expand")
        return Lines(item_id, text)


async def list_constraints(asked: Asked) -> Constraints:
    """Return what the user laid down for the work."""
    async with asked.session() as session:
        return Constraints([ConstraintFacts(*each) for each in await session.items.constraints()])


async def search_items(asked: Asked) -> FoundItems:
    """Find earlier items. Nothing is written."""
    query: SearchQuery = asked.query
    async with asked.session() as session:
        found = await session.items.search(query.q, query.limit)

        def described(session: Session) -> list[FoundItem]:
            kinds = (session.items.info(each.id).kind.name.lower() for each in found)
            return [
                FoundItem(*each, kind, snippet(each.text, query.q)) for each, kind in zip(found, kinds, strict=True)
            ]

        return FoundItems(await asyncio.to_thread(described, session.session))


async def recall_items(asked: Asked) -> FoundItems:
    """Find earlier items, and bring the best back to the conversation."""
    body: Recall = asked.body
    async with asked.session() as session:
        found = await session.items.recall(body.query, tokens=body.tokens)
        asked.publish("append", session, recalled=len(found))
        asked.server.metrics.recall()
        return FoundItems([FoundItem(*each) for each in found])


# ---------------------------------------------------------------------- windows


async def list_windows(asked: Asked) -> Windows:
    """Return the open windows."""
    async with asked.session() as session:
        return Windows(await _windows(asked, session.session))


async def get_window(asked: Asked) -> WindowFacts:
    """Return one open window."""
    async with asked.session() as session:
        return await _find_window(asked, session.session)


async def act_on_window(asked: Asked) -> Acted:
    """Do something in a window, as a model does."""
    body: ActionCall = asked.body
    async with asked.session() as session:
        window = await _find_window(asked, session.session)
        if not window.running:
            raise Unavailable(f"the app {window.app or 'of this window'!r} does not run in this server; start it there")
        # The parameters are those of the action, so one may be called like a parameter of `act`.
        outcome = await session.windows.act(window.id, asked.path["action"], **body.params)
        return Acted(
            outcome.success, outcome.message, outcome.reason, outcome.window, outcome.summary, list(outcome.ways)
        )


async def _windows(asked: Asked, session: Session) -> list[WindowFacts]:
    return await asyncio.to_thread(shown_windows, session, asked.server.apps)


async def _find_window(asked: Asked, session: Session) -> WindowFacts:
    window_id = asked.path["window"]
    found = {each.id: each for each in await _windows(asked, session)}
    if window_id not in found:
        raise NotFound(f"no open window {window_id[:80]!r}; open are: {', '.join(found) or 'none'}")
    return found[window_id]
