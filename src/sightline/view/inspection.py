"""What a viewer asks of a session that another part of the program, or another program, is running.

Each function reads only what it returns, holds the session's lock while it does, and writes nothing to the log.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sightline.apps.window import AppWindow
from sightline.log import Journal
from sightline.session.items import ItemInfo
from sightline.session.sent_windows import sent_windows
from sightline.session.session import Session
from sightline.values.items import Item, Kind, Lod


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


class Counts(NamedTuple):
    """How much there is on a branch."""

    items: int
    turns: int  # messages of the user's own
    tokens: int  # of all items in full, with what a provider adds to each; a window is no item
    kinds: dict[str, int]  # items by kind
    faults: int  # results that were fetched again because they had been shortened
    pins: int


def count(session: Session) -> Counts:
    """Count what a session's branch has."""
    with session._lock:
        journal, timeline = session.log, session.log.timeline
        rows = _rows(journal)
        kinds = [0] * len(Kind)
        for row in rows:
            kinds[timeline.kind[row]] += 1
        marks, profile = timeline.marked(journal.path), journal.reader.profile
        full = sum(timeline.full) if isinstance(rows, range) else sum(timeline.full[row] for row in rows)
        full -= (
            sum(timeline.full[row] for row in rows if timeline.kind[row] == Kind.WINDOW) if kinds[Kind.WINDOW] else 0
        )
        framing = sum(profile.framing(kind) * kinds[kind] for kind in Kind if kind is not Kind.WINDOW)
        return Counts(
            items=len(rows),
            turns=sum(1 for row in rows if timeline.is_users_own(row)),
            tokens=full + framing,
            kinds={kind.name.lower(): kinds[kind] for kind in Kind if kinds[kind]},
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
        journal, rows = session.log, _rows(session.log)
        some = list(rows[start : start + limit])
        journal.reader.prefetch(some)
        infos = session.items._describe(some)
        return ItemPage([(journal.reader.item(row), info) for row, info in zip(some, infos, strict=True)], len(rows))


def pinned_items(session: Session) -> list[tuple[Item, ItemInfo]]:
    """Return the items that somebody pinned, in order."""
    with session._lock:
        journal = session.log
        rows = sorted(row for row, mark in journal.timeline.marked(journal.path).items() if mark == "pin")
        return [(journal.reader.item(row), info) for row, info in zip(rows, session.items._describe(rows), strict=True)]


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
    timeline = journal.timeline
    if len(timeline.branches) == 1:
        return range(len(timeline))
    return list(timeline.rows_on(journal.path, range(len(timeline))))


# ---------------------------------------------------------------------- windows


class ShownWindow(NamedTuple):
    """An open window: its text, and what can be done in it if its app runs here."""

    id: str
    app: str  # empty for a window that no app of ours opened
    target: str
    text: str
    running: bool  # whether its app runs here; if not, the text is as it was last sent
    level: str
    actions: tuple[dict[str, Any], ...]  # id, label, about, parameters as JSON Schema, whether a person is asked first


def shown_windows(session: Session, apps: Collection[str] = ()) -> list[ShownWindow]:
    """Return the open windows. Those of these apps run from now on, if the log has a window of theirs."""
    with session._lock:
        host, log = session.windows, session.windows._log
        saved = {window_id: log.saved(window_id) for window_id in host.live()}
        wanted = {each.app for each in saved.values() if each is not None}.intersection(apps) - set(host.apps)
        host.register(*sorted(wanted))
        sent = sent_windows(session.receipt, session.log.blobs)
        found = []
        for window_id, known in saved.items():
            app, target = (known.app, known.target) if known is not None else ("", "")
            window = host.get(window_id)
            if isinstance(window, AppWindow):
                actions = tuple(
                    {
                        "id": each.id,
                        "label": each.label_in(host.locale),
                        "about": each.about,
                        "parameters": each.schema,
                        "asks": each.asks,
                    }
                    for each in window.actions.values()
                )
                level = window.document.lod.name.lower()
                found.append(ShownWindow(window_id, app, target, window.render(), True, level, actions))
            else:
                last = sent.get(window_id) or window
                found.append(ShownWindow(window_id, app, target, last.render() if last else "", False, "full", ()))
        return found
