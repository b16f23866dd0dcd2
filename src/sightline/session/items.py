"""The items of a session's branch: read them, search them, bring them back, say which are always shown."""

from collections.abc import Iterator
from threading import RLock

from sightline.compose.turn import Composer
from sightline.errors import BadInput, UnknownItem
from sightline.log import entries
from sightline.log.annotations import PinNote
from sightline.log.journal import Journal
from sightline.recall.recall import Found, Recall
from sightline.session import accept
from sightline.values.items import Item
from sightline.values.lock import locked


class Items:
    """The items of the branch that a session writes to, in order: `session.items`.

    Iterating gives each item in full. `session.items["412"]` is one of them, byte for byte as it was accepted.
    Every method that takes an id raises UnknownItem if the branch has no such item.
    """

    def __init__(self, journal: Journal, recall: Recall, composer: Composer, lock: RLock) -> None:
        self._journal, self._recall, self._composer, self._lock = journal, recall, composer, lock

    def __len__(self) -> int:
        return sum(1 for _ in self._rows())

    def __iter__(self) -> Iterator[Item]:
        for row in self._rows():
            with self._lock:
                item = self._journal.reader.item(row)
            yield item

    @locked
    def __getitem__(self, item_id: str | int) -> Item:
        return self._journal.reader.item(self.row(item_id))

    @locked
    def text(self, item_id: str | int) -> str:
        """Return the full text of an item."""
        return self._journal.reader.text(self.row(item_id))

    @locked
    def expand(
        self,
        item_id: str | int,
        *,
        start: int = 1,
        lines: int | None = None,
        grep: str | None = None,
        now: bool = False,
    ) -> str:
        """Bring an item back: its lines are appended to the conversation from the next call on. Return the lines.

        With `now`, the item is shown in full at its own place instead. That makes the next call a sweep.
        """
        row = self.row(item_id)
        accept.check_range(start, lines, grep)
        page = self._recall.page(row, start, lines, grep, self._composer.page_tokens)
        if now:
            self.mark(row, "raise")
        elif page.note.sources:
            self._journal.append([self._journal.drafts.recall(page.note)])
        return page.text

    @locked
    def recall(self, query: str, *, tokens: int = 2000) -> list[Found]:
        """Find earlier passages that match, and bring the best ones back within this many tokens. Return all found."""
        found = self._recall.search(accept.check_query(query))
        note = self._recall.note(query, tokens)
        if note is not None:
            self._journal.append([self._journal.drafts.recall(note)])
        return found

    @locked
    def search(self, query: str, limit: int = 6) -> list[Found]:
        """Find earlier passages that match. Nothing is written."""
        return self._recall.search(accept.check_query(query), limit)

    @locked
    def pin(self, item_id: str | int) -> None:
        """Show an item in full in every payload from now on."""
        self.mark(self.row(item_id), "pin")

    @locked
    def unpin(self, item_id: str | int) -> None:
        """Let a pinned item be shortened again, from the next sweep on."""
        self.mark(self.row(item_id), "unpin")

    @locked
    def collapse(self, item_id: str | int) -> None:
        """Show an item as its gist from the next sweep on. Raises BadInput while it is pinned."""
        row = self.row(item_id)
        if self._journal.timeline.marked(self._journal.path).get(row) == "pin":
            raise BadInput(f"item #{item_id} is pinned; session.items.unpin({str(item_id)!r}) lets go of it first")
        self.mark(row, "collapse")

    @property
    def faults(self) -> list[str]:
        """The ids of results that the agent fetched again because they had been shortened."""
        timeline, path = self._journal.timeline, self._journal.path
        return [timeline.id(row) for row in timeline.faults if path.holds(timeline.branch[row], row)]

    def row(self, item_id: str | int) -> int:
        """Return the row of an item in the timeline's columns."""
        row = self._journal.row(str(item_id))
        if row is None:
            raise UnknownItem(str(item_id).removeprefix("#"))
        return row

    def mark(self, row: int, what: str) -> None:
        """Log that an item was pinned or unpinned, or is wanted at a level of detail ("raise", "collapse")."""
        self._journal.annotate((entries.PIN, PinNote(self._journal.timeline.id(row), what)))

    def _rows(self) -> Iterator[int]:
        timeline, path = self._journal.timeline, self._journal.path
        with self._lock:  # while another thread appends, the newest row may be incomplete
            count = len(timeline)
        return (row for row in range(count) if path.holds(timeline.branch[row], row))
