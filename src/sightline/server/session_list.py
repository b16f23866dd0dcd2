"""The list of sessions as the REST interface shows it: counted in the background, and told when that is done."""

import asyncio
import time
from functools import partial
from pathlib import Path

from sightline.log import branch_label
from sightline.providers.catalog import price_of as known_price
from sightline.server.costs import cost_of
from sightline.server.events import Event
from sightline.server.rest_list_values import SessionFacts, SessionPage, SessionsQuery
from sightline.server.sessions import OpenSessions
from sightline.view.catalog.listed_sessions import Listed, Wanted
from sightline.view.catalog.session_catalog import SessionCatalog
from sightline.view.report.cache import PriceOf

LIVE_SECONDS = 60.0
_AT_ONCE = 1 << 22  # bytes that are counted in one go, so that others need not wait long for the list


def _changed(file: str) -> float | None:
    """Return when a file was written to, in seconds since 1970; None if it is gone."""
    try:
        return Path(file).stat().st_mtime
    except OSError:
        return None


class SessionList:
    """Lists sessions and files. For one event loop."""

    def __init__(self, sessions: OpenSessions, offered: tuple[Path, ...] = (), price_of: PriceOf = known_price) -> None:
        self._sessions = sessions
        self.catalog = SessionCatalog(sessions.places, offered, partial(cost_of, price_of=price_of))
        self._counting: asyncio.Task[None] | None = None
        self._begun = time.time()

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
        facts = list(map(self._facts, page.rows))
        return SessionPage(facts, page.total, following, page.pending, page.sources, page.projects)

    async def facts(self, session_id: str) -> SessionFacts:
        """Return the facts of one session."""
        row = await asyncio.to_thread(self.catalog.row, session_id)
        if row is None:  # nothing is written yet
            return SessionFacts(session_id, open=True)
        if not row.ready:
            self._count_later()
        return self._facts(row)

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

    def _is_live(self, row: Listed) -> bool:
        """Whether somebody writes to a session: within the last minute, and since this server runs.

        What was written before may be a file that was just copied, or a sample. Of an imported session its file counts,
        because its own log was written by the import.
        """
        changed = row.updated
        if row.file is not None:
            changed = _changed(row.file)
        elif row.id != row.name and row.id == self._sessions.places.imported.full_id(row.name):
            changed = None
        return changed is not None and changed > max(self._begun, time.time() - LIVE_SECONDS)

    def _facts(self, row: Listed) -> SessionFacts:
        counted, updated = row.counted, row.updated
        return SessionFacts(
            id=row.id,
            state=row.state,
            name=row.name,
            title=row.title,
            project=row.project,
            source=row.source,
            created=row.created,
            updated=int(updated) if updated is not None else None,
            bytes=row.size,
            ready=row.ready,
            turns=counted.turns,
            calls=counted.calls,
            composed=counted.composed,
            items=counted.items,
            entries=counted.entries,
            tokens=counted.tokens,
            model=counted.model,
            usage=counted.usage,
            cost=row.cost,
            compactions=counted.compactions,
            faults=counted.faults,
            rereads=counted.rereads,
            pins=counted.pins,
            branch=branch_label(counted.branch),
            branches=[branch_label(""), *map(branch_label, counted.branches)],
            live=self._is_live(row),
            open=any(open_id == row.id for open_id, _ in self._sessions.names()),
            file=row.file,
            error=row.error,
        )
