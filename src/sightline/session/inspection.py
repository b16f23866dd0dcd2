"""What a viewer asks of a session that another part of the program, or another program, is running.

Each function reads only what it returns, holds the session's lock while it does, and writes nothing to the log.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, NamedTuple

from sightline.apps.window import AppWindow
from sightline.compose.inputs import units_to_weigh
from sightline.compose.receipts import as_sent, last_budget, sent_plan
from sightline.compose.render import layout, render
from sightline.errors import BadInput, SessionClosed
from sightline.log.annotations import ReceiptNote
from sightline.log.journal import Journal
from sightline.log.stores import Line, Make, Placement, Repairs, Span, Store, Tips
from sightline.plan.budget import Budget
from sightline.plan.plan import Plan
from sightline.plan.strategy import Hooks, Planner
from sightline.plan.view import View
from sightline.session.items import ItemInfo
from sightline.session.sent_windows import sent_windows
from sightline.session.session import Session
from sightline.values.items import Item, Kind, Lod, Usage
from sightline.wire.payload import Payload

_NO_LIMIT = 1 << 62


class UnknownCallNumber(BadInput):
    """No payload of the branch has this number."""


def catch_up(session: Session) -> None:
    """Read what other programs have appended. If they appended nothing, nothing changes."""
    with session._lock:
        if session._journal.behind():
            session.refresh()


def current_branch(session: Session) -> str:
    """Return the name of the branch that was written to last, by anybody."""
    with session._lock:
        catch_up(session)
        timeline = session._journal.timeline
        return timeline.branches[timeline.current].name


# ---------------------------------------------------------------------- facts and items


class Counts(NamedTuple):
    """How much there is on a branch."""

    items: int
    turns: int  # messages of the user's own
    tokens: int  # of all items in full
    kinds: dict[str, int]  # items by kind
    calls: int  # payloads that were sent
    faults: int  # results that were fetched again because they had been shortened
    pins: int


def count(session: Session) -> Counts:
    """Count what a session's branch has."""
    with session._lock:
        journal, timeline = session._journal, session._journal.timeline
        rows = _rows(journal)
        kinds = [0] * len(Kind)
        for row in rows:
            kinds[timeline.kind[row]] += 1
        marks = timeline.marked(journal.path)
        return Counts(
            items=len(rows),
            turns=sum(1 for row in rows if timeline.is_users_own(row)),
            tokens=sum(timeline.full) if isinstance(rows, range) else sum(timeline.full[row] for row in rows),
            kinds={kind.name.lower(): kinds[kind] for kind in Kind if kinds[kind]},
            calls=len(_calls(journal)),
            faults=len(session.items.faults),
            pins=sum(mark == "pin" for mark in marks.values()),
        )


class ItemPage(NamedTuple):
    """Some items of a branch, in order, with what is known of each."""

    items: list[tuple[Item, ItemInfo]]
    total: int  # on the branch


def item_page(session: Session, start: int, limit: int) -> ItemPage:
    """Return items by their place on the branch, which never changes: `limit` of them from the `start`-th on."""
    with session._lock:
        journal, rows = session._journal, _rows(session._journal)
        some = list(rows[start : start + limit])
        journal.reader.prefetch(some)
        infos = session.items._describe(some)
        return ItemPage([(journal.reader.item(row), info) for row, info in zip(some, infos, strict=True)], len(rows))


def pinned_items(session: Session) -> list[tuple[Item, ItemInfo]]:
    """Return the items that somebody pinned, in order."""
    with session._lock:
        journal = session._journal
        rows = sorted(row for row, mark in journal.timeline.marked(journal.path).items() if mark == "pin")
        return [(journal.reader.item(row), info) for row, info in zip(rows, session.items._describe(rows), strict=True)]


def level_texts(session: Session, item_id: str) -> dict[str, str]:
    """Return an item's text at each level of detail that it has. Raises UnknownItem."""
    with session._lock:
        reader, row = session._journal.reader, session.items.row(item_id)
        info = session.items.info(item_id)
        texts = {"full": reader.text(row)}
        for lod, tokens in ((Lod.SUMMARY, info.summary), (Lod.GIST, info.gist)):
            if tokens is not None:
                texts[lod.name.lower()] = reader.rendition(row, lod)
        return texts


def _rows(journal: Journal) -> Sequence[int]:
    """Return the rows of the journal's branch, in order."""
    timeline = journal.timeline
    if len(timeline.branches) == 1:
        return range(len(timeline))
    return list(timeline.rows_on(journal.path, range(len(timeline))))


# ---------------------------------------------------------------------- what was sent


class SentCall(NamedTuple):
    """One payload that was sent, and what its provider reported."""

    receipt: ReceiptNote
    timestamp: str
    model: str  # empty if the reply does not say it, or has not come
    usage: Usage | None


def sent_calls(session: Session, start: int, limit: int) -> tuple[list[SentCall], int]:
    """Return payloads of the branch, oldest first, from the `start`-th on; and how many there are."""
    with session._lock:
        journal, indexes = session._journal, _calls(session._journal)
        return [_sent(journal, index) for index in indexes[start : start + limit]], len(indexes)


def sent_payload(session: Session, number: int) -> Payload:
    """Return the payload of an earlier call, made again from the log. Its hash equals that of its receipt.

    Raises:
        UnknownCallNumber: no payload has this number.
        BadInput: the text of a window that it showed is lost.
    """
    with session._lock:
        journal, indexes = session._journal, _calls(session._journal)
        _index(indexes, number)
        notes = [_receipt(journal, index)[0] for index in _since_sweep(journal, indexes[:number])]
        note, offset = notes[0], journal.timeline.receipt_offset[indexes[number - 1]]
        windows = journal.blobs.read(note.windows)
        if windows.keys() != note.windows.keys():
            raise BadInput(f"call {number} cannot be made again: the text of a window that it showed is lost")
        settings, sent = as_sent(journal, note, offset, windows)
        view = View(journal.timeline, journal.path, journal.reader.profile, Budget(1), _NO_LIMIT, 0, None, [])
        plan = sent_plan(journal, view, iter(notes))
        assert plan is not None  # there is a receipt
        return render(journal.reader, plan, layout(settings.layout), sent)


def _since_sweep(journal: Journal, indexes: Sequence[int]) -> list[int]:
    """Return the last of these receipts and those before it, newest first, up to the last that has a whole plan."""
    found = []
    for index in reversed(indexes):
        found.append(index)
        if _receipt(journal, index)[0].plan is not None:
            break
    return found


def _calls(journal: Journal) -> list[int]:
    """Return the receipts of the journal's branch, by their place among all receipts of the log."""
    timeline = journal.timeline
    if len(timeline.branches) == 1:
        return list(range(len(timeline.receipt_offset)))
    return [
        index
        for index, seq in enumerate(timeline.receipt_seq)
        if journal.path.holds(timeline.receipt_branch[index], bisect_right(timeline.seq, seq) - 1)
    ]


def _index(indexes: Sequence[int], number: int) -> int:
    if not 1 <= number <= len(indexes):
        raise UnknownCallNumber(f"no call {number} on this branch; there are {len(indexes)}")
    return indexes[number - 1]


def _receipt(journal: Journal, index: int) -> tuple[ReceiptNote, str]:
    timeline = journal.timeline
    entry = journal.reader.entry_at(Span(timeline.receipt_offset[index], timeline.receipt_length[index]))
    return journal.reader.note(entry, ReceiptNote), entry.timestamp


def _sent(journal: Journal, index: int) -> SentCall:
    receipt, timestamp = _receipt(journal, index)
    timeline = journal.timeline
    later = range(bisect_right(timeline.seq, receipt.seq), len(timeline))
    replies = (row for row in timeline.rows_on(journal.path, later) if timeline.kind[row] == Kind.ASSISTANT)
    entry = journal.reader.entry(row) if (row := next(replies, None)) is not None else None
    if entry is None or entry.message is None or entry.receipt != receipt.number:
        return SentCall(receipt, timestamp, "", None)
    return SentCall(receipt, timestamp, entry.message.model or "", entry.message.usage)


# ---------------------------------------------------------------------- what another plan would send


@dataclass(frozen=True)
class Anew(Hooks):
    """A strategy that plans as another would if nothing had been sent before: every item is weighed again."""

    inner: Planner

    @property
    def name(self) -> str:
        """The name of the other strategy."""
        return self.inner.name

    def plan(self, view: View) -> Plan:
        """Let the other strategy plan, as for a first call."""
        units = units_to_weigh(view.timeline, view.path, len(view.timeline), view.pinned)
        command = "settings changed" if view.compactions else ""  # a sweep leaves out what summaries cover
        return self.inner.plan(replace(view, last=None, new=units, back=[], command=command))


@contextmanager
def session_before(session: Session, number: int, planner: Planner | None = None) -> Iterator[tuple[Session, Budget]]:
    """Have the session as it was when the payload of this number was composed, and its budget. Nothing can be written.

    Raises UnknownCallNumber.
    """
    with session._lock:
        journal, indexes = session._journal, _calls(session._journal)
        note, _ = _receipt(journal, _index(indexes, number))
        end = journal.timeline.receipt_offset[indexes[number - 1]]
        branch = journal.timeline.branches[journal.timeline.receipt_branch[indexes[number - 1]]].name
        budget = last_budget(journal, note)
        windows = sent_windows(note, journal.blobs)
        store = LogUpTo(journal.store.reopened(), end)
    assert budget is not None  # there is a receipt
    try:
        options = {"strategy": planner, "windows": windows, "project": session._options["project"], "folders": ()}
        before = Session(store, token_counter=journal.reader.counter, **options)
        before._inspects = True
        before._journal.switch(branch)
        before._composer.begin()
        yield before, budget
    finally:
        store.close()


class LogUpTo:
    """The `Store` of a log as it was when it ended at this offset. It can only be read."""

    def __init__(self, inner: Store, end: int) -> None:
        inner.refresh()
        self._inner, self._end = inner, end
        self.session_id, self.repairs = inner.session_id, Repairs()
        self.tips = Tips(size=end, seq=1)

    def append(self, make: Make, *, branch: str, expected_head: str | None) -> list[Placement]:  # noqa: ARG002
        """See `Store.append`. Nothing can be added to what has been."""
        raise SessionClosed(self.session_id)

    def read_many(self, spans: Sequence[Span]) -> list[bytes]:
        """See `Store.read_many`."""
        return self._inner.read_many(spans)

    def scan(self, start: int = 0) -> Iterator[Line]:
        """See `Store.scan`."""
        return takewhile(lambda line: line.span.offset < self._end, self._inner.scan(start))

    def refresh(self, known: Tips | None = None) -> None:
        """See `Store.refresh`. There is nothing new."""

    def cache(self, names: Iterable[str]) -> dict[str, bytes]:  # noqa: ARG002 - what is kept is of a longer log
        """See `Derived.cache`."""
        return {}

    def keep(self, parts: Mapping[str, bytes]) -> None:
        """See `Derived.keep`."""

    def texts(self, digests: Iterable[str]) -> dict[str, str]:
        """See `Store.texts`."""
        return self._inner.texts(digests)

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """See `Store.keep_texts`."""

    def reopened(self) -> "LogUpTo":
        """See `Store.reopened`."""
        return LogUpTo(self._inner.reopened(), self._end)

    def sync(self) -> None:
        """See `Store.sync`."""

    def close(self) -> None:
        """See `Store.close`."""
        self._inner.close()


# ---------------------------------------------------------------------- windows


class ShownWindow(NamedTuple):
    """An open window: its text, and what can be done in it if its app runs here."""

    id: str
    app: str  # empty for a window that no app of ours opened
    target: str
    text: str
    running: bool  # whether its app runs here; if not, the text is as it was last sent
    level: str
    actions: tuple[dict[str, Any], ...]  # id, label, about, parameters as JSON Schema


def shown_windows(session: Session, apps: Collection[str] = ()) -> list[ShownWindow]:
    """Return the open windows. Those of these apps run from now on, if the log has a window of theirs."""
    with session._lock:
        host, log = session.windows, session.windows._log
        saved = {window_id: log.saved(window_id) for window_id in host.live()}
        wanted = {each.app for each in saved.values() if each is not None}.intersection(apps) - set(host.apps)
        host.register(*sorted(wanted))
        sent = sent_windows(session.receipt, session._journal.blobs)
        found = []
        for window_id, known in saved.items():
            app, target = (known.app, known.target) if known is not None else ("", "")
            window = host.get(window_id)
            if isinstance(window, AppWindow):
                actions = tuple(
                    {"id": each.id, "label": each.label_in(host.locale), "about": each.about, "parameters": each.schema}
                    for each in window.actions.values()
                )
                level = window.document.lod.name.lower()
                found.append(ShownWindow(window_id, app, target, window.render(), True, level, actions))
            else:
                last = sent.get(window_id) or window
                found.append(ShownWindow(window_id, app, target, last.render() if last else "", False, "full", ()))
        return found
