"""The notes on windows in a log, read back: what a window held last, also after it was closed."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from sightline.apps.app import Options
from sightline.apps.context import Round, Version
from sightline.apps.document import ROUNDS
from sightline.apps.window import SavedWindow
from sightline.log.annotations import WindowNote
from sightline.log.columns import Placed
from sightline.log.journal import Journal
from sightline.log.stores import Span
from sightline.values.decoders import convert
from sightline.values.items import Kind, Lod


def notes_of(journal: Journal, window_id: str) -> Iterator[Placed]:
    """Return the notes on a window on this branch, the newest first."""
    saw = journal.path.saw
    return (note for note in reversed(journal.timeline.noted.get(window_id, ())) if saw(note))


def decode_note(journal: Journal, placed: Placed) -> WindowNote:
    reader = journal.reader
    return reader.note(reader.entry_at(Span(placed.offset, placed.length)), WindowNote)


def saved_at(journal: Journal, item_id: str) -> tuple[WindowNote, SavedWindow] | None:
    """Return the first note and the last state of the window that this item shows; None if it is none of ours.

    That is the window as it was when it was closed, or as it is now. Its notes are read backwards.
    """
    row = journal.row(item_id)
    if row is None or journal.timeline.kind[row] != Kind.WINDOW:
        return None
    own, life = journal.reader.window(row), list[WindowNote]()
    for placed in notes_of(journal, own.id):
        note = decode_note(journal, placed)
        if not note.closed or note.changed:
            life.append(note)
        elif placed.offset < journal.timeline.offset[row]:
            break
        else:
            life.clear()  # of a window that had this id later
    first = next((note for note in reversed(life) if not note.closed and not note.changed), own)
    saved = combine(journal, first, life, journal.timeline.offset[row])
    return None if saved is None else (first, saved)


def is_open_at(journal: Journal, item_id: str, window_id: str) -> bool:
    """Whether this item shows the window, which is open: not one of this id that was closed earlier."""
    return journal.row(item_id) in journal.timeline.references(window_id, journal.path)


def last_item(journal: Journal, window_id: str) -> str:
    """Return the id of the newest item that shows or showed a window; empty if no item of this branch does."""
    rows = journal.timeline.rows_on(journal.path, journal.timeline.windows.get(window_id, ()))
    return next(map(journal.timeline.id, reversed([*rows])), "")


def ever_opened(journal: Journal) -> list[str]:
    """Return the ids of all windows that were opened on this branch, open or closed."""
    return [window_id for window_id in journal.timeline.windows if last_item(journal, window_id)]


def last_closed(journal: Journal, app: str, live: Collection[str]) -> str:
    """Return the newest item of the window of this app that was closed last; empty if none was."""
    path, newest, window_id = journal.path, -1, ""
    for other, notes in journal.timeline.closed.items():
        is_own = other == app or (other.startswith(f"{app}_") and other[len(app) + 1 :].isdigit())
        if is_own and other not in live and notes[-1].offset > newest and path.saw(notes[-1]):
            newest, window_id = notes[-1].offset, other
    return last_item(journal, window_id) if window_id else ""


def combine(journal: Journal, first: WindowNote, newest_first: Iterable[WindowNote], offset: int) -> SavedWindow | None:
    """Return what the notes on a window say together, beginning with the newest; None if no host opened it."""
    if not first.app:
        return None
    last, rounds = None, []
    newest: dict[str, Any] = {}
    for note in newest_first:
        last = note if last is None and note.app else last  # a note without an app has no options
        for name, value in (("state", note.state), ("version", note.version), ("lod", note.lod)):
            if value is not None and value is not msgspec.UNSET:
                newest.setdefault(name, value)
        if note.round is not None:
            rounds.append(note.round)
        if len(newest) == 3 and len(rounds) >= ROUNDS:
            break
    origin = first.origin if "state" not in newest else ""
    if origin and (before := saved_at(journal, origin)) is not None:
        newest["state"] = before[1].state
        rounds += [
            (earlier.action, earlier.result, earlier.timestamp.isoformat()) for earlier in reversed(before[1].rounds)
        ]
    return SavedWindow(
        app=first.app,
        target=first.target,
        options=_options((last or first).options),
        state=newest.get("state"),
        version=Version(*newest["version"]) if "version" in newest else None,
        lod=Lod(newest["lod"]) if "lod" in newest else None,
        rounds=tuple(Round(action, result, datetime.fromisoformat(at)) for action, result, at in reversed(rounds)),
        log_offset=offset,
        shared=first.shared,
        origin=origin,
    )


def _options(noted: dict[str, Any] | None) -> Options | None:
    """Return the options of a note. None means the app's own: also for options that another version wrote."""
    try:
        return convert(noted, Options) if noted is not None else None
    except msgspec.ValidationError:
        return None
