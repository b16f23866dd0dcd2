"""The ContextUI document's context: items in one order, windows by id, rendering, trimming and monitoring.

Items are entries of a core log, windows its window annotations. Nothing is stored elsewhere, so after a restart the
context is as it was.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from operator import attrgetter
from typing import Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from sightline.apps.protocols import Windows
from sightline.errors import BadInput
from sightline.log import OBSOLETE, Journal, entries
from sightline.log.annotations import WindowNote
from sightline.log.entries import Entry
from sightline.log.stores.memory import MemoryStore
from sightline.origins.given_session import plain_session
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.values.clock import SeqClock, nanoid, wall_clock
from sightline.values.decoders import decode_json
from sightline.values.items import Kind, Message, Role
from sightline.values.tokens import TokenCounter, counter
from sightline.wire.common import text_part

ROUNDS = 3  # of dialogue that outrank active windows: the document's table
SHOWN = 50  # characters of an item's content in the debug output
_BY_SEQ = attrgetter("seq")

logger = logging.getLogger("sightline")


# ------------------------------------------------------------------ values


class ContextItemType(StrEnum):
    SYSTEM = "System"
    USER = "User"
    ASSISTANT = "Assistant"
    WINDOW = "Window"


class ContextItem(Struct, rename="pascal"):
    """One place in the context. A window's content is its id: what it shows is asked for when somebody renders.

    `add` sets `seq`, and `id` where it is empty. Items read back are copies: changing one changes nothing else.
    """

    id: str
    type: ContextItemType
    content: str
    seq: int = 0
    is_obsolete: bool = False


class RenderOptions(Struct, frozen=True, rename="pascal"):
    """What to render. `max_tokens`: the most that everything but System may bring the total to; None: no limit."""

    max_tokens: int | None = None
    include_system_prompt: bool = True
    include_obsolete: bool = False


class LlmMessage(Struct, frozen=True):
    """One message as a model takes it."""

    role: Literal["system", "user", "assistant"]
    content: str


class ContextStats(Struct, frozen=True, rename="pascal"):
    """How large a context is. The tokens are those of all items, obsolete ones included."""

    total_items: int
    active_items: int
    obsolete_items: int
    window_items: int
    estimated_tokens: int


class _Numbered(Struct, rename="camel"):
    """What the entry of an item says besides the item."""

    context_seq: int = 0


class NumberedWindow(WindowNote, rename="camel"):
    """The note of a window that is an item of a context."""

    context_seq: int = 0


# ------------------------------------------------------------------ the context

_TYPES = {
    Kind.SYSTEM: ContextItemType.SYSTEM,
    Kind.USER: ContextItemType.USER,
    Kind.ASSISTANT: ContextItemType.ASSISTANT,
    Kind.WINDOW: ContextItemType.WINDOW,
}
_ROLES: dict[ContextItemType, Literal["system", "user", "assistant"]] = {
    ContextItemType.SYSTEM: "system",
    ContextItemType.USER: "user",
    ContextItemType.ASSISTANT: "assistant",
    ContextItemType.WINDOW: "user",  # a window is shown to the model, the model does not say it
}


class ContextManager:
    """The items of one context, in the order of one clock.

    A `Session` over the same journal composes what was added here; what is added through that session is not listed.
    `add` may be called from several threads; a session that shares the journal must not write meanwhile.
    """

    # The clock is not the log's, because a log numbers every entry, settings and receipts too, and its first entry is
    # no item. The document counts items from 1, has 42 follow 41, and lets events and windows take numbers of the same
    # clock. So `add` takes an item's Seq from the clock and writes it into the item's entry, and nowhere else.

    def __init__(
        self,
        journal: Journal | Session | AsyncSession | None = None,
        *,
        clock: SeqClock | None = None,
        windows: Windows | None = None,
    ) -> None:
        """`journal` may be a session's, or a session that others use too: its prompt shows these items beside theirs.

        `windows` gives the windows whose tokens are counted; without it window items have 0 tokens.

        Raises:
            BadInput: the clock is behind the numbers in the log.
        """
        if journal is not None and not isinstance(journal, Journal):
            self.session: Session | None = plain_session(journal)
            self.journal, self.lock = self.session.log, self.session._lock
        else:
            self.session, self.lock = None, threading.RLock()
            self.journal = journal or Journal(MemoryStore(), clock=wall_clock, ids=nanoid)
        self._windows = windows
        items = [item for _, item in self._items()]
        last = max((item.seq for item in items), default=0)
        self.clock = clock or SeqClock(last)
        if self.clock.current < last:
            raise BadInput(f"the clock stands at {self.clock.current}, the log at {last}; use SeqClock({last})")
        self._ids = {item.id for item in items}

    @property
    def current_seq(self) -> int:
        return self.clock.current

    def add(self, item: ContextItem) -> None:
        """Append the item under the clock's next number, whatever its own `seq` is.

        Raises:
            BadInput: an item of this id is in the context.
        """
        with self.lock:
            if item.id in self._ids:
                raise BadInput(f"an item {item.id!r} is in the context already; leave the id empty to have one made")
            seq, drafts = self.clock.next(), self.journal.drafts
            if item.type is ContextItemType.WINDOW:
                entry = drafts.annotation(entries.WINDOW, NumberedWindow(item.content, context_seq=seq))
            else:
                message = Message(Role(_ROLES[item.type]), (text_part(item.content),))
                entry = replace(drafts.message(message), data=Raw(msgspec.json.encode(_Numbered(seq))))
            entry = replace(entry, uuid=item.id or entry.uuid, flags=OBSOLETE if item.is_obsolete else 0)
            self.journal.append([entry])
            item.id, item.seq = entry.uuid, seq
            self._ids.add(entry.uuid)

    def get_all(self) -> list[ContextItem]:
        """Return every item, by seq."""
        with self.lock:
            return sorted((item for _, item in self._items()), key=_BY_SEQ)

    def get_active(self) -> list[ContextItem]:
        """Return the items that are not obsolete, by seq."""
        return [item for item in self.get_all() if not item.is_obsolete]

    def mark_window_obsolete(self, window_id: str) -> None:
        """Make every item that refers to this window obsolete. An unknown or closed window changes nothing."""
        timeline = self.journal.timeline
        with self.lock:
            if any(not timeline.state[row] & OBSOLETE for row in timeline.windows.get(window_id, ())):
                self.journal.annotate((entries.WINDOW, WindowNote(window_id, closed=True)))

    def get_stats(self) -> ContextStats:
        with self.lock:
            items = list(self._items())
            obsolete = sum(item.is_obsolete for _, item in items)
            return ContextStats(
                total_items=len(items),
                active_items=len(items) - obsolete,
                obsolete_items=obsolete,
                window_items=sum(item.type is ContextItemType.WINDOW for _, item in items),
                estimated_tokens=sum(
                    estimate_tokens(item, self._windows, self.journal.reader.counter)
                    if item.type is ContextItemType.WINDOW
                    else self.journal.timeline.full[row]  # counted when it was added
                    for row, item in items
                ),
            )

    def _items(self) -> Iterator[tuple[int, ContextItem]]:
        """Yield the items of the log's branch that were added here, each with its row."""
        timeline, path, reader = self.journal.timeline, self.journal.path, self.journal.reader
        for row in range(len(timeline)):
            kind = _TYPES.get(Kind(timeline.kind[row]))
            if kind is None or not path.holds(timeline.branch[row], row):
                continue
            entry = reader.entry(row)
            if seq := _seq(entry):
                content = (
                    entries.decode_data(entry, WindowNote).id if kind is ContextItemType.WINDOW else reader.text(row)
                )
                yield row, ContextItem(entry.uuid, kind, content, seq, bool(timeline.state[row] & OBSOLETE))


def _seq(entry: Entry) -> int:
    """Return the Seq of the item of an entry; 0 if it was not added here."""
    note = decode_json(entry.data, _Numbered | None)
    return note.context_seq if note is not None else 0


# ------------------------------------------------------------------ rendering


class ContextRenderer:
    """Renders items as messages, without changing them."""

    def __init__(self, token_counter: TokenCounter | None = None) -> None:
        self._counter = token_counter or counter()

    def render(
        self, items: Iterable[ContextItem], windows: Windows, options: RenderOptions | None = None
    ) -> list[LlmMessage]:
        """Return the messages of these items, by seq. Texts are unchanged, windows are as they are now.

        Windows that are no longer open are left out.
        """
        options = options or RenderOptions()
        wanted = [
            item
            for item in sorted(items, key=_BY_SEQ)
            if (options.include_obsolete or not item.is_obsolete)
            and (options.include_system_prompt or item.type is not ContextItemType.SYSTEM)
        ]
        # By identity, because each window item is rendered once, and its tokens are those of what was rendered.
        texts = {id(item): _text(item, windows) for item in wanted}
        if options.max_tokens is not None:
            costs = {item: self._counter.count(text) if text else 0 for item, text in texts.items()}
            trimmed = trim(wanted, options.max_tokens, lambda item: costs[id(item)])
            if trimmed.over_budget:
                warning = "the system items alone need more than the %d tokens allowed; nothing else is shown"
                logger.warning(warning, options.max_tokens)
            kept = {id(item) for item in trimmed}
            wanted = [item for item in wanted if id(item) in kept]
        return [LlmMessage(_ROLES[item.type], text) for item in wanted if (text := texts[id(item)]) is not None]


def _text(item: ContextItem, windows: Windows | None) -> str | None:
    """Return what is rendered of an item; None for a window that is not open."""
    if item.type is not ContextItemType.WINDOW:
        return item.content
    window = windows.get(item.content) if windows is not None else None
    return window.render() if window is not None else None


# ------------------------------------------------------------------ trimming


class Trimmed(list[ContextItem]):
    """The items that fit, by seq. `over_budget`: the system items alone have more tokens than allowed."""

    over_budget: bool = False


def estimate_tokens(
    item: ContextItem, windows: Windows | None = None, token_counter: TokenCounter | None = None
) -> int:
    """Count the tokens of what would be rendered of an item: 0 for a window that is not open."""
    text = _text(item, windows)
    return (token_counter or counter()).count(text) if text else 0


def trim(
    items: Iterable[ContextItem], max_tokens: int, tokens: Callable[[ContextItem], int] = estimate_tokens
) -> Trimmed:
    """Return the items that fit, taken in this order: System, the last rounds of dialogue, active windows, the rest.

    Within a class the newest comes first. An item that does not fit is skipped and the search goes on. System items
    always stay. An obsolete item stays only if nothing else was dropped.
    """
    ordered = sorted(items, key=_BY_SEQ)
    # A round of dialogue is a User item and all up to the next one.
    rounds = [item.seq for item in ordered if item.type is ContextItemType.USER and not item.is_obsolete][-ROUNDS:]
    used, dropped, kept = 0, False, Trimmed()
    for item in sorted(ordered, key=lambda item: (_rank(item, rounds), -item.seq)):
        rank, cost = _rank(item, rounds), tokens(item)
        if rank == _NEVER_TRIMMED or (used + cost <= max_tokens and not (rank == _TRIMMED_FIRST and dropped)):
            kept.append(item)
            used += cost
        elif rank != _TRIMMED_FIRST:
            dropped = True
    kept.sort(key=_BY_SEQ)
    kept.over_budget = used > max_tokens
    return kept


_NEVER_TRIMMED, _RECENT, _ACTIVE_WINDOW, _OLDER, _TRIMMED_FIRST = range(5)


def _rank(item: ContextItem, rounds: list[int]) -> int:
    """Return the class of an item; `rounds`: where the last rounds of dialogue begin."""
    if item.type is ContextItemType.SYSTEM:
        return _NEVER_TRIMMED
    if item.is_obsolete:
        return _TRIMMED_FIRST
    if item.type is ContextItemType.WINDOW:
        return _ACTIVE_WINDOW
    return _RECENT if rounds and item.seq >= rounds[0] else _OLDER


# ------------------------------------------------------------------ monitoring


def dump(items: Iterable[ContextItem]) -> str:
    """Return one line per item, in the given order: is it active, seq, type, the beginning of the content."""
    lines = []
    for item in items:
        beginning = item.content if len(item.content) <= SHOWN else item.content[:SHOWN] + "..."
        text = " ".join(beginning.splitlines())  # no line breaks
        lines.append(f"[{'X' if item.is_obsolete else '✓'}] [{item.seq:04d}] {item.type}: {text}")
    return "\n".join(lines)
