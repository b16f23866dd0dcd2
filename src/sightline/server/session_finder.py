"""Finds what was said in all sessions, as `sightline find` does, one search after another in one thread.

The index is made in steps: an answer has what was found so far, and how many logs are still to be read. Who wants the
rest asks again. So a search of many sessions takes no thread for long, and other requests are answered meanwhile.
"""

import asyncio
from pathlib import PurePath

from sightline.server.rest_operation import Busy
from sightline.server.rest_values import FindSessionsQuery, FoundMessage, FoundSession, FoundSessions
from sightline.view.catalog.session_catalog import SessionCatalog
from sightline.view.catalog.session_search import SessionSearch
from sightline.view.catalog.snippets import snippet
from sightline.view.catalog.sought import AmongProject, sought, split_words

_SLICE = 4 << 20  # bytes of logs that are read for one answer
_WAITING = 16  # searches that may wait


class SessionFinder:
    """Searches the sessions of a server. For one event loop."""

    def __init__(self, catalog: SessionCatalog) -> None:
        self._catalog, self._search = catalog, SessionSearch(catalog, just_now=0)
        self._room, self._waiting = asyncio.Lock(), 0

    async def find(self, query: FindSessionsQuery) -> FoundSessions:
        """Return what matches. Raises Busy if many others wait."""
        if self._waiting >= _WAITING:
            raise Busy(f"{self._waiting} searches wait")
        self._waiting += 1
        try:
            async with self._room:
                return await asyncio.to_thread(self._find, query)
        finally:
            self._waiting -= 1

    def _find(self, query: FindSessionsQuery) -> FoundSessions:
        wanted = sought(
            split_words(query.q), query.path, query.tool, query.since, query.until, errors=query.errors
        )  # fmt: skip
        unread = self._search.extend(_SLICE)
        if not wanted.query:
            return FoundSessions([], unread)
        among = AmongProject(PurePath(query.project) if query.project else None)
        matches = self._search.search(wanted.query, query.limit, among, wanted.is_in)
        if matches.is_lost:
            return FoundSessions([], max(unread, 1))
        files = {source.id: str(source.file) for source in self._catalog.sources() if source.log is None}
        sessions = [
            FoundSession(
                session.id, files.get(session.id), session.document.look.source, session.document.look.project,
                session.document.look.title, session.document.updated,
                [
                    FoundMessage(row.id, row.kind, row.when, row.failed, snippet(row.text, wanted.query))
                    for row in (item.row for item in session.items)
                ],
            )
            for session in matches.sessions
        ]  # fmt: skip
        return FoundSessions(sessions, unread)
