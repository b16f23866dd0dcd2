"""The windows in a session's log: what a host writes down about them, and reads back after a restart."""

from collections.abc import Iterator
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec

from sightline.apps.app import App, Options
from sightline.apps.context import Round, Version
from sightline.apps.document import ROUNDS, dotted
from sightline.apps.window import SavedWindow
from sightline.errors import VersionMismatch
from sightline.log import entries
from sightline.log.annotations import WindowNote
from sightline.log.columns import Placed
from sightline.log.journal import Journal
from sightline.log.stores import Span
from sightline.values.clock import iso, milliseconds
from sightline.values.decoders import convert
from sightline.values.items import Lod
from sightline.values.phrases import say


class ActionRecord(NamedTuple):
    """An action that was done in a window: the round, whether it succeeded, and the model's call that asked for it."""

    round: Round
    success: bool = True
    call_id: str = ""


class WindowLog:
    """The windows of a journal's current branch."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._numbers: dict[str, int] = {}  # the last one that a window of each app got
        self._live: tuple[tuple[int, int], list[str]] = ((-1, -1), [])
        self._saved: dict[str, tuple[int, SavedWindow | None]] = {}  # by window, with the offset of its newest note

    def live(self) -> list[str]:
        """Return the ids of the open windows, in the order they were first opened."""
        path, timeline = self._journal.path, self._journal.timeline
        now = (self._journal.branch, timeline.notes)
        if self._live[0] != now:
            self._live = (now, [window for window in timeline.windows if timeline.references(window, path)])
        return self._live[1]

    def catch_up(self) -> None:
        """Read what other processes have written, so that a window is acted on as it is now."""
        if self._journal.behind():
            self._journal.catch_up()

    def new_id(self, app: str) -> str:
        """Return an id for a window of this app that no window ever had, on any branch: `todo_1`."""
        number = self._numbers.get(app, 0) + 1
        while f"{app}_{number}" in self._journal.timeline.windows:
            number += 1
        self._numbers[app] = number
        return f"{app}_{number}"

    def newest_offset(self, window_id: str) -> int:
        """Return where in the log the newest note on a window is; -1 if there is none."""
        return next((note.offset for note in self._notes(window_id)), -1)

    def check(self, window_id: str, offset: int, version: Version | None = None) -> None:
        """Raise VersionMismatch if a window whose newest note was at this offset is out of date.

        That is if there is a newer note; with a `version`, only if that note says another version or that it is closed.
        """
        if self.newest_offset(window_id) > offset:
            saved = self.saved(window_id)
            now = saved.version if saved is not None else None
            if version is None or version != now:
                raise VersionMismatch(*(dotted(number) if number is not None else "–" for number in (version, now)))

    def saved(self, window_id: str) -> SavedWindow | None:
        """Return the window as the log has it; None for one that no host opened."""
        offset = self.newest_offset(window_id)
        kept = self._saved.get(window_id)
        if kept is None or kept[0] != offset:
            kept = self._saved[window_id] = (offset, self._read(window_id, offset))
        return kept[1]

    def call_result(self, call_id: str) -> tuple[bool, str] | None:
        """Return whether a call succeeded, and its message; None if the log does not have it."""
        for window_id in self._journal.timeline.noted:
            for note in map(self._decode, self._notes(window_id)):
                if call_id and note.call == call_id:
                    opened = say("opened", self._journal.settings.locale, name=note.app, id=note.id)
                    return not note.failed, note.round[1] if note.round is not None else opened
        return None

    def note_opened(self, window_id: str, saved: SavedWindow, call_id: str) -> int:
        """Write that this call opened a window. Return the note's seq. Raises Conflict if others wrote meanwhile."""
        return self.write(_note(window_id, saved, target=saved.target, call=call_id), if_unchanged=True)

    def note_changed(self, window_id: str, saved: SavedWindow, done: ActionRecord | None, moved: bool) -> int:
        """Write that a window shows something new. `moved`: from now on it is shown here, and no longer where it was.

        Raises Conflict if others wrote meanwhile.
        """
        more: dict[str, Any] = {}
        if done is not None:
            time = iso(milliseconds(done.round.timestamp.isoformat()))
            round_ = (done.round.action, done.round.result, time)
            more = {"round": round_, "failed": not done.success, "call": done.call_id}
        if not moved:
            return self.write(_note(window_id, saved, changed=True, **more), if_unchanged=True)
        before = self.saved(window_id) or saved
        if saved.state is msgspec.UNSET:
            saved = msgspec.structs.replace(saved, state=before.state)
        left = WindowNote(window_id, closed=True, changed=True)  # closed at its old place only
        return self.write(left, _note(window_id, saved, target=before.target, **more), if_unchanged=True)

    def write(self, *notes: WindowNote, if_unchanged: bool = False) -> int:
        """Write notes and return the last one's seq. `if_unchanged`: only if nobody wrote to the branch meanwhile."""
        live, count = self.live(), self._journal.timeline.notes + len(notes)
        self._journal.annotate(*((entries.WINDOW, note) for note in notes), if_unchanged=if_unchanged)
        if self._journal.timeline.notes == count:  # nobody else wrote: the list is updated in place of made anew
            self._live = ((self._journal.branch, count), _after(live, notes))
        return self._journal.store.tips.seq

    def _notes(self, window_id: str) -> Iterator[Placed]:
        """Return the notes on a window on this branch, the newest first."""
        saw = self._journal.path.saw
        return (note for note in reversed(self._journal.timeline.noted.get(window_id, ())) if saw(note))

    def _read(self, window_id: str, offset: int) -> SavedWindow | None:
        """Combine the notes since the window was opened. They are read backwards, and only as far as needed."""
        rows = self._journal.timeline.references(window_id, self._journal.path)
        reader = self._journal.reader
        first = reader.window(rows[0]) if rows else None
        if first is None or not first.app:
            return None
        last, rounds = None, []
        newest: dict[str, Any] = {}
        notes = map(self._decode, self._notes(window_id))
        for note in takewhile(lambda earlier: earlier.changed or not earlier.closed, notes):
            last = note if last is None and note.app else last  # a note without an app has no options
            for name, value in (("state", note.state), ("version", note.version), ("lod", note.lod)):
                if value is not None and value is not msgspec.UNSET:
                    newest.setdefault(name, value)
            if note.round is not None:
                rounds.append(note.round)
            if len(newest) == 3 and len(rounds) >= ROUNDS:
                break
        return SavedWindow(
            app=first.app,
            target=first.target,
            options=_options((last or first).options),
            state=newest.get("state"),
            version=Version(*newest["version"]) if "version" in newest else None,
            lod=Lod(newest["lod"]) if "lod" in newest else None,
            rounds=tuple(Round(action, result, datetime.fromisoformat(at)) for action, result, at in reversed(rounds)),
            log_offset=offset,
        )

    def _decode(self, placed: Placed) -> WindowNote:
        reader = self._journal.reader
        return reader.note(reader.entry_at(Span(placed.offset, placed.length)), WindowNote)


def _after(live: list[str], notes: tuple[WindowNote, ...]) -> list[str]:
    """Return the open windows after these notes, in the order they were first opened."""
    for note in notes:
        if note.closed and not note.changed:
            live = [window_id for window_id in live if window_id != note.id]
        elif not note.closed and not note.changed and note.id not in live:
            live = [*live, note.id]
    return live


def _note(window_id: str, saved: SavedWindow, **more: Any) -> WindowNote:
    version = saved.version
    return WindowNote(
        window_id,
        app=saved.app,
        options=msgspec.to_builtins(saved.options) if saved.options is not None else None,
        state=saved.state,
        version=(version.major, version.minor, version.patch) if version is not None else None,
        lod=int(saved.lod) if saved.lod is not None else None,
        **more,
    )


def options_to_log(options: Options, app: type[App]) -> Options | None:
    """Return the options for a note of the window; None if they are the app's own.

    Those of a plain window are always noted, because the log alone must say with which role it was sent.
    """
    return options if options.plain or options != app.options else None


def _options(noted: dict[str, Any] | None) -> Options | None:
    """Return the options of a note. None means the app's own: also for options that another version wrote."""
    try:
        return convert(noted, Options) if noted is not None else None
    except msgspec.ValidationError:
        return None
