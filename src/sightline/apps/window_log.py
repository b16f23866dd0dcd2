"""The windows in a session's log: what a host writes down about them, and reads back after a restart."""

from itertools import takewhile
from typing import Any, NamedTuple

import msgspec

from sightline.apps.app import App, Options
from sightline.apps.context import Round, Version
from sightline.apps.document import dotted
from sightline.apps.window import SavedWindow
from sightline.apps.window_notes import combine, decode_note, notes_of
from sightline.errors import Conflict, VersionMismatch
from sightline.log import entries
from sightline.log.annotations import WindowNote
from sightline.log.columns import LABELLED, TITLED
from sightline.log.journal import Journal, retry_on_conflict
from sightline.values.clock import iso, milliseconds
from sightline.values.items import Message, Role, Text
from sightline.values.phrases import say

_ATTEMPTS = 5  # at closing a window while others write


class ActionRecord(NamedTuple):
    """An action that was done in a window: the round, whether it succeeded, and the model's call that asked for it."""

    round: Round
    success: bool = True
    call_id: str = ""


class WindowLog:
    """The windows of a journal's current branch. `leaves_lines`: a closed window leaves a line in the conversation."""

    def __init__(self, journal: Journal, *, leaves_lines: bool = False) -> None:
        self.journal, self.leaves_lines = journal, leaves_lines
        self._numbers: dict[str, int] = {}  # the last one that a window of each app got
        self._live: tuple[tuple[int, int], list[str]] = ((-1, -1), [])
        self._saved: dict[str, tuple[int, SavedWindow | None]] = {}  # by window, with the offset of its newest note

    def live(self) -> list[str]:
        """Return the ids of the open windows, in the order they were first opened."""
        path, timeline = self.journal.path, self.journal.timeline
        now = (self.journal.branch, timeline.notes)
        if self._live[0] != now:
            self._live = (now, [window for window in timeline.windows if timeline.references(window, path)])
        return self._live[1]

    def catch_up(self, *, own: bool = True) -> None:
        """Read what other processes have written, so that a window is acted on as it is now.

        `own`: also into this log itself; else only what other sessions wrote into windows that are shared with it.
        """
        if own and self.journal.behind():
            self.journal.catch_up()

    def shared(self, app: str) -> "WindowLog | None":  # noqa: ARG002 - see `SharingWindowLog`
        """Return the log of the window of this app that sessions share; None if each session has its own windows."""
        return None

    def new_id(self, app: str) -> str:
        """Return an id for a window of this app that no window ever had, on any branch: `todo_1`."""
        number = self._numbers.get(app, 0) + 1
        while f"{app}_{number}" in self.journal.timeline.windows:
            number += 1
        self._numbers[app] = number
        return f"{app}_{number}"

    def newest_offset(self, window_id: str) -> int:
        """Return where in the log the newest note on a window is; -1 if there is none."""
        return next((note.offset for note in notes_of(self.journal, window_id)), -1)

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
        for window_id in self.journal.timeline.noted:
            for note in (decode_note(self.journal, placed) for placed in notes_of(self.journal, window_id)):
                if call_id and note.call == call_id:
                    key = "closed" if note.closed else "opened"
                    told = say(key, self.journal.settings.locale, name=note.app, id=note.id)
                    return not note.failed, note.round[1] if note.round is not None else told
        return None

    def note_opened(self, window_id: str, saved: SavedWindow, call_id: str, origin: str = "") -> int:
        """Write that this call opened a window. Return the note's seq. Raises Conflict if others wrote meanwhile.

        `origin`: the item of the closed window that it goes on with, whose data are not written again.
        """
        note = _note(window_id, saved, target=saved.target, call=call_id, origin=origin)
        return self.write(note, if_unchanged=True)

    def note_closed(self, window_id: str, summary: str, call_id: str, line: str) -> int:
        """Write that this call closed a window, and in one batch with it the line that it leaves; empty: none."""
        journal, note = self.journal, WindowNote(window_id, closed=True, summary=summary, call=call_id)
        if not line:
            return self.write(note)

        def write() -> int:
            message = journal.drafts.message(Message(Role.USER, (Text(line),)), flags=LABELLED | TITLED)
            message = msgspec.structs.replace(message, data=msgspec.Raw(msgspec.json.encode({"window": window_id})))
            journal.append([journal.drafts.annotation(entries.WINDOW, note), message])
            return journal.store.tips.seq - 1

        try:
            return retry_on_conflict(write, self.catch_up, _ATTEMPTS)
        except Conflict:  # others keep writing: the note has the summary too
            return self.write(note)

    def note_changed(self, window_id: str, saved: SavedWindow, done: ActionRecord | None, moved: bool) -> int:
        """Write that a window shows something new. `moved`: from now on it is shown here, and no longer where it was.

        Raises Conflict if others wrote meanwhile.
        """
        if not moved:
            return self._note_change(window_id, saved, done, if_unchanged=True)
        before = self.saved(window_id) or saved
        if saved.state is msgspec.UNSET:
            saved = msgspec.structs.replace(saved, state=before.state)
        left = WindowNote(window_id, closed=True, changed=True)  # closed at its old place only
        return self.write(left, _note(window_id, saved, target=before.target, **_done(done)), if_unchanged=True)

    def _note_change(self, window_id: str, saved: SavedWindow, done: ActionRecord | None, *, if_unchanged: bool) -> int:
        return self.write(_note(window_id, saved, changed=True, **_done(done)), if_unchanged=if_unchanged)

    def write(self, *notes: WindowNote, if_unchanged: bool = False) -> int:
        """Write notes and return the last one's seq. `if_unchanged`: only if nobody wrote to the branch meanwhile."""
        live, count = self.live(), self.journal.timeline.notes + len(notes)
        self.journal.annotate(*((entries.WINDOW, note) for note in notes), if_unchanged=if_unchanged)
        if self.journal.timeline.notes == count:  # nobody else wrote: the list is updated in place of made anew
            self._live = ((self.journal.branch, count), _after(live, notes))
        return self.journal.store.tips.seq

    def _read(self, window_id: str, offset: int) -> SavedWindow | None:
        """Combine the notes since the window was opened. They are read backwards, and only as far as needed."""
        rows = self.journal.timeline.references(window_id, self.journal.path)
        notes = (decode_note(self.journal, placed) for placed in notes_of(self.journal, window_id))
        since = takewhile(lambda earlier: earlier.changed or not earlier.closed, notes)
        return combine(self.journal, self.journal.reader.window(rows[0]), since, offset) if rows else None


def _done(done: ActionRecord | None) -> dict[str, Any]:
    """Return the fields of a note that say what was done."""
    if done is None:
        return {}
    time = iso(milliseconds(done.round.timestamp.isoformat()))
    return {
        "round": (done.round.action, done.round.result, time), "failed": not done.success, "call": done.call_id,
    }  # fmt: skip


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
        shared=saved.shared,
        **more,
    )


def options_to_log(options: Options, app: type[App]) -> Options | None:
    """Return the options for a note of the window; None if they are the app's own.

    Those of a plain window are always noted, because the log alone must say with which role it was sent.
    """
    return options if options.plain or options != app.options else None
