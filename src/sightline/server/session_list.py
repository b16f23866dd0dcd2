"""The list of sessions as the REST interface shows it: counted in the background, and told when that is done."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from sightline.providers.catalog import price_of as known_price
from sightline.server.events import Event
from sightline.server.rest_values import SessionPage, SessionsQuery
from sightline.server.sessions import OpenSessions
from sightline.view.catalog.listed_sessions import SessionFacts, Wanted
from sightline.view.catalog.overview import Overview, overview
from sightline.view.catalog.session_catalog import SessionCatalog
from sightline.view.costs import PriceOf

_AT_ONCE = 1 << 22  # bytes that are counted in one go, so that others need not wait long for the list


class SessionList:
    """Lists sessions and files. For one event loop."""

    def __init__(self, sessions: OpenSessions, offered: tuple[Path, ...] = (), price_of: PriceOf = known_price) -> None:
        self._sessions = sessions
        self.catalog = SessionCatalog(sessions.places, offered, price_of)
        self._counting: asyncio.Task[None] | None = None

    async def page(self, query: SessionsQuery) -> SessionPage:
        """Return a part of the list."""
        wanted = Wanted(
            query.q, query.source, query.project, query.sort, query.order == "asc", query.start, query.limit
        )
        page = await asyncio.to_thread(self.catalog.page, wanted)
        if page.pending:
            self._count_later()
        end = query.start + len(page.rows)
        following = end if page.rows and end < page.total else None
        rows = list(map(self._with_state, page.rows))
        return SessionPage(rows, page.total, page.files, following, page.pending, page.sources, page.projects)

    async def overview(self, project: str, since: str) -> Overview:
        """Return the sums over all sessions, or those of a project, written to on this day or later."""
        sums = await asyncio.to_thread(overview, self.catalog, project, since)
        if sums.pending:
            self._count_later()
        return sums

    async def facts(self, session_id: str) -> SessionFacts:
        """Return the facts of one session."""
        row = await asyncio.to_thread(self.catalog.row, session_id)
        if row is None:  # nothing is written yet
            return SessionFacts(session_id, open=True)
        if not row.ready:
            self._count_later()
        return self._with_state(row)

    async def close(self) -> None:
        """End counting, and keep what was counted."""
        if self._counting is not None:
            self._counting.cancel()
            await asyncio.gather(self._counting, return_exceptions=True)
        await asyncio.to_thread(self.catalog.keep)

    def _count_later(self) -> None:
        if self._counting is None or self._counting.done():
            self._counting = asyncio.get_running_loop().create_task(self._count())

    async def _count(self) -> None:
        while await asyncio.to_thread(self.catalog.count_more, _AT_ONCE):
            pass
        self._sessions.hub.publish(Event("listed"))

    def _with_state(self, facts: SessionFacts) -> SessionFacts:
        """Return what a session is, and whether it is open in this server."""
        return replace(facts, open=any(open_id == facts.id for open_id, _ in self._sessions.names()))
