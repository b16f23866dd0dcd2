"""The sessions of a machine, as the MCP server shows them: searched, looked into, reported on, as text for a model."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from sightline.adapters import mcp_answers as answers
from sightline.errors import UnknownItem
from sightline.session.session import Session
from sightline.values.clock import day, wall_clock
from sightline.values.tokens import counter
from sightline.view.catalog.listed_sessions import Wanted
from sightline.view.catalog.offered_files import file_id
from sightline.view.catalog.places import Places
from sightline.view.catalog.search_documents import Document
from sightline.view.catalog.search_rows import is_line_id, item_of
from sightline.view.catalog.session_catalog import SessionCatalog
from sightline.view.catalog.session_search import SessionSearch
from sightline.view.report.session_report import report_of
from sightline.view.report.talk import conversation_of

_SLICE = 2 << 20  # bytes of logs that are read at a time
_RECALL_TOKENS, _PAGE_TOKENS, _TRANSCRIPT_TOKENS = 2_500, 4_000, 6_000
_DAY = 24 * 3600  # seconds
MOST_LISTED = 200  # sessions in a list


class SessionMemory:
    """The sessions of a machine, as the tools show them. Its methods block: call them in a thread."""

    def __init__(self, places: Places) -> None:
        self._catalog = SessionCatalog(places)
        self._search = SessionSearch(self._catalog)

    def extend(self) -> int:
        """Make some more logs searchable. Return how many are left."""
        return self._search.extend(_SLICE)

    def search(self, words: str, limit: int, project: str, days: int) -> str:
        """Return the sessions that match, of this project and of the last days if these are given."""
        since = wall_clock() / 1000 - days * _DAY if days else 0.0
        folder = project.casefold()

        def among(_id: str, document: Document) -> bool:
            return document.updated >= since and folder in document.look.project.casefold()

        if not words.strip():
            wanted = Wanted(limit=MOST_LISTED if project or days else limit)
            rows = [row for row in self.listed(wanted) if folder in row.project.casefold()]
            return answers.list_text([row for row in rows if row.day >= day(since or None)][:limit])
        matches = self._search.search(words, limit, among)
        if matches.is_lost:
            self.extend()
            matches = self._search.search(words, limit, among)
        return answers.found_text(words, matches.sessions, matches.terms) if matches.sessions else ""

    def listed(self, wanted: Wanted) -> list[answers.Described]:
        """Return sessions and files as a list, the one written to last first."""
        rows = ((row, row.id or file_id(Path(row.file or ""))) for row in self._catalog.page(wanted).rows)
        return [
            answers.Described(row_id, row.source, row.title, row.project, day(row.updated or None))
            for row, row_id in rows
        ]

    def recall(self, session_id: str, words: str) -> str:
        """Return passages of one session that match; nothing if there are none."""
        with self._opened(session_id) as session:
            text = session.items.passages(words, _RECALL_TOKENS).partition("\n")[2]  # the rest is under a heading
        return f"From session {session_id}. {answers.QUOTED}\n{answers.quoted(text)}" if text else ""

    def expand(self, session_id: str, item: str, start: int, lines: int | None, grep: str | None) -> str:
        """Return an item, or a part of it that fits a page. Raises UnknownItem."""
        with self._opened(session_id) as session:
            item_id = self._item(session_id, item)
            text = session.items.page(item_id, _PAGE_TOKENS, start=start, lines=lines, grep=grep)
        label, _, rest = text.partition("\n")
        return f"From session {session_id}: {label} {answers.QUOTED}\n{answers.quoted(rest)}"

    def report(self, session_id: str) -> str:
        """Return where the tokens of a session went, in short."""
        place, own_id = self._catalog.locate(session_id)
        with closing(place.stores.open(own_id)) as store:
            return answers.report_text(session_id, report_of(conversation_of(store), economies=()))

    def transcript(self, session_id: str, start: str) -> str:
        """Return a page of a session as Markdown."""
        with self._opened(session_id) as session:
            return answers.transcript(session, quote(session_id), start, _TRANSCRIPT_TOKENS, counter().count)

    @contextmanager
    def _opened(self, session_id: str) -> Iterator[Session]:
        place, own_id = self._catalog.locate(session_id)
        with Session.inspect(own_id, place.project, stores=place.stores) as session:
            yield session

    def _item(self, session_id: str, item: str) -> str:
        """Return the id of an item: as it is given, or that of a line in a file that is imported now."""
        item = item.strip().removeprefix("#")
        if not is_line_id(item):
            return item
        place, own_id = self._catalog.locate(session_id)
        with closing(place.stores.open(own_id)) as store:
            if (item_id := item_of(store, item)) is None:
                raise UnknownItem(item)
        return item_id
