"""The items of a session's branch: read them, search them, bring them back, say which are always shown.

Also what the user laid down in them, and what a model finds there that the rules do not.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from threading import RLock
from typing import NamedTuple

from sightline.apps.host import Host
from sightline.compose.turn import Composer
from sightline.errors import BadInput, UnknownItem
from sightline.log import column_cache, entries
from sightline.log.annotations import FoundQuote, LaidDownNote, PinNote
from sightline.log.columns import CHANGED, HEAD, LABELLED, TITLED, UNMADE, pinned_rows
from sightline.log.journal import Journal, laid_down
from sightline.log.reader import own_words
from sightline.recall.recall import Found, Recall, Room
from sightline.session import accept
from sightline.session.attention import Attention
from sightline.values.items import Call, Item, Kind, Lod, Message, Role, Text, plain_text
from sightline.values.lock import locked

_READ_AHEAD = 256  # items whose entries are read at once
_MOST_FOUND = 8  # constraints that a model finds in one message; the rest is refused
_LONGEST, _SHORTEST = 400, 4  # characters of a quotation: more is no sentence, less says nothing
_READING = 160  # characters of how a model reads it
_ADDED = frozenset({Kind.RECALL, Kind.SUMMARY, Kind.WINDOW})  # by the engine


class ItemInfo(NamedTuple):
    """What is known of an item besides its text."""

    id: str
    kind: Kind
    full: int  # tokens of the whole item
    summary: int | None  # tokens at this level of detail; None if the item has no such level
    gist: int | None
    pinned: bool
    by_program: bool  # a message with the user role that is not the user's, such as `Session.note` adds
    window: str  # the id of the window that a window item refers to
    changed: bool = False  # its line in the log is not as it was written


class Constraint(NamedTuple):
    """What a user message lays down for the work, word for word."""

    id: str  # of the message
    text: str
    revoked: bool = False  # by what the user said later
    by_model: bool = False  # a model found it; the rules did not
    reading: str = ""  # how that model reads it


class Items:
    """The items of the branch that a session writes to, in order: `session.items`.

    Iterating gives each item in full. `session.items["412"]` is one of them, byte for byte as it was accepted.
    Every method that takes an id raises UnknownItem if the branch has no such item.
    """

    def __init__(self, journal: Journal, recall: Recall, composer: Composer, host: Host, lock: RLock) -> None:
        self._journal, self._recall, self._composer, self._lock = journal, recall, composer, lock
        self.attention = Attention(journal, recall, host, composer)
        self._summed: tuple[tuple[int, str, str], int, int] = ((-1, "", ""), 0, 0)  # of what, rows, tokens

    def __len__(self) -> int:
        return sum(1 for _ in self._rows())

    def __iter__(self) -> Iterator[Item]:
        rows = self._rows()
        while batch := list(islice(rows, _READ_AHEAD)):
            with self._lock:
                self._journal.reader.prefetch(batch)
            for row in batch:
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
    def info(self, item_id: str | int) -> ItemInfo:
        """Return the kind of an item and its tokens at each level of detail."""
        row = self.row(item_id)
        for lod in (Lod.SUMMARY, Lod.GIST):
            self._journal.timeline.short_size(row, lod)
        return self._describe([row])[0]

    @locked
    def table(self) -> list[ItemInfo]:
        """Return the `info` of every item, in order. Levels that nobody has needed yet are None."""
        return self._describe(list(self._rows()))

    @locked
    def tokens(self, after: str = "") -> int:
        """Return the tokens of all that was said on this branch in full, with framing, system prompt and tools.

        What the engine added is not counted: recalled passages and summaries. `after`: only what follows this item.
        """
        journal, timeline, profile = self._journal, self._journal.timeline, self._journal.reader.profile
        key, first, tokens = self._summed
        if key != (journal.branch, profile.name, after):
            first, tokens = (self.row(after) + 1 if after else 0), 0
        for row in timeline.rows_on(journal.path, range(first, len(timeline))):
            kind = timeline.kind[row]
            if kind not in _ADDED and not timeline.state[row] & HEAD:
                tokens += timeline.full[row] + profile.framing(kind)
        self._summed = (
            (journal.branch, profile.name, after),
            len(timeline),
            tokens,
        )  # what is new is added the next time
        head = sum(timeline.full[row] + profile.message_tokens for row in timeline.head_rows(journal.path))
        return tokens + head + journal.tools.tokens + profile.request_tokens

    @locked
    def system(self) -> str:
        """Return the system prompt of the next payload."""
        journal = self._journal
        return "\n\n".join(journal.reader.text(row) for row in journal.timeline.head_rows(journal.path))

    @locked
    def constraints(self) -> list[Constraint]:
        """Return what the user laid down on this branch for the work, oldest first, and whether it was revoked."""
        timeline = self._journal.timeline
        newest_first = [
            Constraint(timeline.id(row), sentence, off, *((True, by.reading) if by else ()))
            for row, sentence, off, by in laid_down(self._journal)
        ]
        return newest_first[::-1]

    @locked
    def unexamined(self, most: int = 20) -> list[Item]:
        """Return the user's newest messages that no model has read for what they lay down, oldest first."""
        timeline, path = self._journal.timeline, self._journal.path
        users = filter(timeline.is_users_own, timeline.newest_of(Kind.USER, path))
        rows = [*islice(takewhile(lambda row: row not in timeline.found, users), most)]
        return [self._journal.reader.item(row) for row in reversed(rows)]

    @locked
    def add_found(self, item_id: str | int, found: Iterable[tuple[str, str]]) -> list[Constraint]:
        """Log what a model found that a user message lays down: the user's words, and how the model reads them.

        What is not word for word in what the user says there is refused, and so is what is too long or too much.
        Return what was accepted. It is quoted like any constraint, with a mark. The message counts as read, also if
        nothing was found. Raises BadInput if the item is not a message of the user's own.
        """
        journal, row = self._journal, self.row(item_id)
        if not journal.timeline.is_users_own(row):
            raise BadInput(f"#{journal.timeline.id(row)} is not a message of the user's own")
        text, quotes = own_words(journal.reader, row), dict[str, FoundQuote]()
        for said, read in found:
            quote, reading = said.strip(), " ".join(read.split())
            if _SHORTEST <= len(quote) <= _LONGEST and quote in text:
                quotes.setdefault(quote, FoundQuote(quote, reading if len(reading) <= _READING else ""))
        accepted = [*quotes.values()][:_MOST_FOUND]
        journal.annotate((entries.LAID_DOWN, LaidDownNote(journal.timeline.id(row), accepted)))
        return [Constraint(str(item_id), words.quote, by_model=True, reading=words.reading) for words in accepted]

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

        However many are asked for: if the whole item does not fit in what is free, it is one page of them, and the
        first line of the text, a label, says which and how to read on. With `now`, the item is shown in full at its own
        place instead, unless it is too large for the budget: then it stays shortened. The next call is a sweep then.
        """
        row = self.row(item_id)
        accept.check_range(start, lines, grep)
        page = self._recall.page(row, start, lines, grep, self._composer.free_room())
        if now:
            self.mark(row, "raise")
        elif self._journal.timeline.kind[row] == Kind.WINDOW:  # a recall shows text of the log, and a window has none
            message = Message(Role.USER, (Text(page.text),))
            self._journal.append([self._journal.drafts.message(message, flags=LABELLED | TITLED)])
        elif page.note.sources:
            self._journal.append([self._journal.drafts.recall(page.note)])
        return page.text

    @locked
    def answer(self, call: Call) -> str:
        """Return the answer to a model's call of our tools, for a program that runs and logs calls itself.

        The call and the answer are not written; `look` notes what the model wants to see. Sessions answer the calls of
        a `reply` by themselves.
        """
        return plain_text(self.attention.answer(call))

    @locked
    def recall(self, query: str, *, tokens: int = 2000) -> list[Found]:
        """Find earlier passages that match, and bring the best ones back within this many tokens. Return all found."""
        query = accept.check_query(query)
        passages = self._recall.search(query)
        if (note := self._recall.note(query, tokens)) is not None:
            self._journal.append([self._journal.drafts.recall(note)])
        return passages

    @locked
    def search(self, query: str, limit: int = 6) -> list[Found]:
        """Find earlier passages that match. Nothing is written."""
        return self._recall.search(accept.check_query(query), limit)

    @locked
    def passages(self, query: str, tokens: int) -> str:
        """Return passages that match, each after its handle, for a reader outside of the conversation.

        They come to at most so many tokens. The text is empty if nothing matches. Nothing is written.
        """
        reader, note = self._journal.reader, self._recall.note(accept.check_query(query), tokens, from_outside=True)
        return reader.recall_text(note, reader.locale) if note is not None else ""

    @locked
    def page(
        self, item_id: str | int, tokens: int, *, start: int = 1, lines: int | None = None, grep: str | None = None
    ) -> str:
        """Return lines of an item that come to about so many tokens, under a label that says how to read on.

        A long line counts as several. Nothing is written.
        """
        accept.check_range(start, lines, grep)
        return self._recall.page(self.row(item_id), start, lines, grep, Room(tokens)).text

    def is_answered(self, item_id: str | int) -> bool:
        """Whether a model has said something after this item, on this branch."""
        timeline, row = self._journal.timeline, self.row(item_id)
        later = timeline.rows_on(self._journal.path, range(row + 1, len(timeline)))
        return any(timeline.kind[later_row] == Kind.ASSISTANT for later_row in later)

    @property
    @locked
    def last_said(self) -> str:
        """The id of the last item of this branch that the engine did not add; empty if there is none."""
        timeline, path = self._journal.timeline, self._journal.path
        rows = timeline.rows_on(path, range(len(timeline) - 1, -1, -1))
        return next((timeline.id(row) for row in rows if timeline.kind[row] not in _ADDED), "")

    @locked
    def index(self) -> int:
        """Build what a search and a sweep need of each item, and have the store keep it. Return how many were new.

        Both build it themselves when they need it, which takes seconds for a long history. Nothing is written to the
        log.
        """
        journal, timeline = self._journal, self._journal.timeline
        new = [row for row in range(len(timeline)) if UNMADE in (timeline.gist[row], timeline.summary[row])]
        for start in range(0, len(new), _READ_AHEAD):
            rows = new[start : start + _READ_AHEAD]
            journal.reader.prefetch(rows)
            for row in rows:
                timeline.size(row, Lod.GIST)
                timeline.size(row, Lod.SUMMARY)
                journal.reader.has_constraints(row)
        self._recall.index()
        if new:
            journal.save_index(measured=True)
        return len(new)

    @locked
    def adopt_index(self) -> None:
        """Take over what `index` has built in another process since this session was opened."""
        column_cache.adopt_sizes(self._journal.store, self._journal.timeline)

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
        if row in pinned_rows(self._journal.timeline.marked(self._journal.path)):
            raise BadInput(f"item #{item_id} is pinned; session.items.unpin({str(item_id)!r}) lets go of it first")
        self.mark(row, "collapse")

    @property
    def faults(self) -> list[str]:
        """The ids of results that the agent fetched again because they had been shortened."""
        timeline = self._journal.timeline
        return list(map(timeline.id, timeline.rows_on(self._journal.path, timeline.faults)))

    def row(self, item_id: str | int) -> int:
        """Return the row of an item in the timeline's columns."""
        if (row := self._journal.row(str(item_id))) is None:
            raise UnknownItem(str(item_id).removeprefix("#"))
        return row

    def mark(self, row: int, what: str, by: str = "") -> None:
        """Log that an item was pinned or unpinned, or is wanted at a level of detail ("raise", "collapse").

        `by` as in `PinNote`.
        """
        self._journal.annotate((entries.PIN, PinNote(self._journal.timeline.id(row), what, by)))

    def _describe(self, rows: Sequence[int]) -> list[ItemInfo]:
        timeline = self._journal.timeline
        pins = pinned_rows(timeline.marked(self._journal.path))
        windows = {row: window for window, references in timeline.windows.items() for row in references}
        return [
            ItemInfo(
                id=timeline.id(row),
                kind=Kind(timeline.kind[row]),
                full=timeline.full[row],
                summary=_known(timeline.summary[row]),
                gist=_known(timeline.gist[row]),
                pinned=row in pins,
                by_program=timeline.is_by_program(row),
                window=windows.get(row, ""),
                changed=bool(timeline.state[row] & CHANGED),
            )
            for row in rows
        ]

    def _rows(self) -> Iterator[int]:
        with self._lock:  # while another thread appends, the newest row may be incomplete
            count = len(self._journal.timeline)
        return self._journal.timeline.rows_on(self._journal.path, range(count))


def _known(tokens: int) -> int | None:
    """Return the tokens of a level; None if there is no such level, or not yet."""
    return tokens if tokens >= 0 else None
