"""What a viewer asks of a session that another part of the program, or another program, is running.

Each function reads only what it returns, holds the session's lock while it does, and writes nothing to the log.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from sightline.apps.window import AppWindow
from sightline.compaction.loss import Loss
from sightline.log import FAILED, Journal
from sightline.session.compactions import CompactionInfo
from sightline.session.items import ItemInfo
from sightline.session.sent_windows import sent_windows
from sightline.session.session import Session
from sightline.values.items import Call, Item, Kind, Lod, arguments, plain_text
from sightline.view.row_filter import EVERY, RowFilter, wanted_rows
from sightline.view.tool_calls import subject_at, tool_calls

_BEGINNING = 400  # characters of an item's text in a list
_MOST_TEXT = 8 << 20  # characters of full texts on one page: then the page ends before its limit


def catch_up(session: Session) -> None:
    """Read what other programs have appended. If they appended nothing, nothing changes."""
    with session._lock:
        if session.log.behind():
            session.refresh()


def current_branch(session: Session) -> str:
    """Return the name of the branch that was written to last, by anybody."""
    with session._lock:
        catch_up(session)
        timeline = session.log.timeline
        return timeline.branches[timeline.current].name


# ---------------------------------------------------------------------- facts and items


def item_counts(session: Session) -> dict[str, int]:
    """Return how many items of each kind a session's branch has."""
    with session._lock:
        journal = session.log
        rows = _rows(journal)
        every = journal.timeline.kind if isinstance(rows, range) else [journal.timeline.kind[row] for row in rows]
        counts = Counter(every)
        return {kind.name.lower(): counts[kind] for kind in Kind if counts[kind]}


class ItemFacts(Struct, frozen=True):
    """One item. `text` is its beginning, unless all of it was asked for."""

    id: str
    kind: str
    tokens: int
    summary_tokens: int | None
    gist_tokens: int | None
    pinned: bool
    by_program: bool
    window: str
    changed: bool
    timestamp: str
    text: str
    characters: int
    tool: str = ""  # of a call or a result
    subject: str = ""  # the file, command or address that it is about
    failed: bool = False


class ItemPage(Struct, frozen=True):
    """Some items of a branch, in order."""

    items: list[ItemFacts]
    total: int  # on the branch
    next: int | None


class ItemDetails(Struct, frozen=True):
    """One item in full: its parts as the log has them, and its text at each level of detail."""

    item: ItemFacts
    levels: dict[str, str]
    parts: list[Any]
    compacted_by: int | None  # the boundary of the compaction that hides it


class DescribedItem(NamedTuple):
    """An item as the log has it, and what is known of it."""

    item: Item
    info: ItemInfo


def described_items(
    session: Session, start: int, limit: int, wanted: RowFilter = EVERY
) -> tuple[list[DescribedItem], int]:
    """Return items by their place on the branch, which never changes, or among those that are wanted: `limit` from the
    `start`-th on; and how many.

    Reads only what it returns.
    """
    with session._lock:
        rows = _rows(session.log) if wanted == EVERY else wanted_rows(session, wanted)
        return _described(session, list(rows[start : start + limit])), len(rows)


def _described(session: Session, rows: list[int]) -> list[DescribedItem]:
    reader = session.log.reader
    reader.prefetch(rows)
    infos = session.items._describe(rows)
    return [DescribedItem(reader.item(row), info) for row, info in zip(rows, infos, strict=True)]


def item_page(session: Session, start: int, limit: int, *, whole: bool = False, wanted: RowFilter = EVERY) -> ItemPage:
    """Return items by their place on the branch, or among those that are wanted.

    `whole`: with their whole texts; a page of many ends before its limit. Reads only what it returns.
    """
    described, total = described_items(session, start, limit, wanted)
    facts: list[ItemFacts] = []
    size = 0
    for item in described:
        facts.append(_facts(session, item, whole=whole))
        size += facts[-1].characters
        if whole and len(facts) > 1 and size > _MOST_TEXT:
            facts.pop()
            break
    end = start + len(facts)
    return ItemPage(facts, total, end if end < total else None)


def pinned_items(session: Session) -> list[ItemFacts]:
    """Return the items that somebody pinned, in order."""
    with session._lock:
        journal = session.log
        marked = journal.timeline.marked(journal.path)
        rows = sorted(row for row, mark in marked.items() if mark.what == "pin")
        return [_facts(session, item) for item in _described(session, rows)]


def item_details(session: Session, item_id: str) -> ItemDetails:
    """Return one item in full. Raises UnknownItem."""
    item, hides = session.items[item_id], session.summaries.covering(item_id)
    return ItemDetails(
        item=_facts(session, DescribedItem(item, session.items.info(item_id)), whole=True),
        levels=level_texts(session, item_id),
        parts=[msgspec.to_builtins(part) for part in item.parts],
        compacted_by=hides.boundary if hides is not None else None,
    )


def _facts(session: Session, described: DescribedItem, *, whole: bool = False) -> ItemFacts:
    item, info = described
    text = _text(item)
    with session._lock:
        timeline, row = session.log.timeline, session.log.timeline.row(item.id)
        assert row is not None
        tool, subject = tool_calls(session, whole=False).name(row), subject_at(timeline, row)
    return ItemFacts(
        id=item.id,
        kind=item.kind.name.lower(),
        tokens=info.full,
        summary_tokens=info.summary,
        gist_tokens=info.gist,
        pinned=info.pinned,
        by_program=info.by_program,
        window=info.window,
        changed=info.changed,
        timestamp=item.when or item.timestamp,
        text=text if whole else text[:_BEGINNING],
        characters=len(text),
        tool=tool,
        subject=subject[:_BEGINNING],
        failed=bool(timeline.state[row] & FAILED),
    )


def _text(item: Item) -> str:
    """Return the text of an item; of a call, its tool and arguments."""
    calls = [f"{part.name} {arguments(part)}" for part in item.parts if isinstance(part, Call)]
    return plain_text(item.parts) or "\n".join(calls)


def level_texts(session: Session, item_id: str) -> dict[str, str]:
    """Return an item's text at each level of detail that it has. Raises UnknownItem."""
    with session._lock:
        reader, row = session.log.reader, session.items.row(item_id)
        info = session.items.info(item_id)
        texts = {"full": reader.text(row)}
        for lod, tokens in ((Lod.SUMMARY, info.summary), (Lod.GIST, info.gist)):
            if tokens is not None:
                texts[lod.name.lower()] = reader.rendition(row, lod)
        return texts


def _rows(journal: Journal) -> Sequence[int]:
    """Return the rows of the journal's branch, in order."""
    timeline, rows = journal.timeline, range(len(journal.timeline))
    return rows if len(timeline.branches) == 1 else list(timeline.rows_on(journal.path, rows))


# ---------------------------------------------------------------------- windows


class WindowAction(Struct, frozen=True):
    """What can be done in a window. `asks`: a person who clicks is asked first."""

    id: str
    label: str
    about: str
    parameters: dict[str, Any]  # as JSON Schema
    asks: bool


class WindowFacts(Struct, frozen=True):
    """An open window. If its app does not run here, the text is as it was last sent and nothing can be done."""

    id: str
    app: str  # empty for a window that no app of ours opened
    target: str
    text: str
    running: bool
    level: str
    actions: list[WindowAction]


def shown_windows(session: Session, apps: Collection[str] = ()) -> list[WindowFacts]:
    """Return the open windows. Those of these apps run from now on, if the log has a window of theirs."""
    with session._lock:
        host, log = session.windows, session.windows._log
        saved = {window_id: log.saved(window_id) for window_id in host.live()}
        wanted = {window.app for window in saved.values() if window is not None}.intersection(apps) - set(host.apps)
        host.register(*sorted(wanted))
        sent = sent_windows(session.receipt, session.log.blobs)
        windows = []
        for window_id, saved_window in saved.items():
            app, target = (saved_window.app, saved_window.target) if saved_window is not None else ("", "")
            window = host.get(window_id)
            if isinstance(window, AppWindow):
                actions = [
                    WindowAction(action.id, action.label_in(host.locale), action.about, action.schema, action.asks)
                    for action in window.actions.values()
                ]
                level = window.document.lod.name.lower()
                windows.append(WindowFacts(window_id, app, target, window.render(), True, level, actions))
            else:
                last = sent.get(window_id) or window
                windows.append(WindowFacts(window_id, app, target, last.render() if last else "", False, "full", []))
        return windows


# ---------------------------------------------------------------------- compactions


class CompactionFacts(Struct, frozen=True):
    """A compaction and what it hid."""

    boundary: int
    timestamp: str
    state: str
    first: str
    last: str
    messages: int
    tokens: int
    summaries: tuple[str, ...]
    by_rule: bool
    trigger: str
    pre_tokens: int
    post_tokens: int | None
    text: str
    loss: Loss | None


def compactions(session: Session) -> list[CompactionFacts]:
    """Return the compactions of a branch, oldest first, each with what it hid."""
    losses = session.summaries.losses()
    return [compaction_facts(session, summary, losses.get(summary.boundary)) for summary in session.summaries]


def compaction_facts(session: Session, info: CompactionInfo, loss: Loss | None) -> CompactionFacts:
    """Return a compaction with its summary, and what it hid."""
    facts = {name: value for name, value in info._asdict().items() if name in CompactionFacts.__struct_fields__}
    return CompactionFacts(**facts, text="\n\n".join(map(session.items.text, info.summaries)), loss=loss)
