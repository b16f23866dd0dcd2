"""What the log says of windows: the record that a session's host keeps."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from sightline.apps.app import Options
from sightline.apps.context import Round, Version
from sightline.apps.document import ROUNDS
from sightline.apps.protocols import Done
from sightline.apps.window import Kept
from sightline.log import entries
from sightline.log.annotations import WindowNote
from sightline.log.branches import Placed
from sightline.log.journal import Journal
from sightline.log.stores import Span
from sightline.values.clock import iso, milliseconds
from sightline.values.items import Lod
from sightline.values.phrases import say


class WindowLog:
    """The windows of a journal's branch."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._live: tuple[tuple[int, int], list[str]] = ((-1, -1), [])
        self._kept: dict[str, tuple[int, Kept | None]] = {}  # as of its last note

    def live(self) -> list[str]:
        """The windows that are open on this branch, in the order they were first opened."""
        journal, timeline = self._journal, self._journal.timeline
        now = (journal.branch, timeline.notes)
        if self._live[0] != now:
            shown = [window for window in timeline.windows if timeline.references(window, journal.path)]
            self._live = (now, shown)
        return self._live[1]

    def catch_up(self) -> None:
        """Take in what others have written: a window is acted on as it is, not as it was."""
        if self._journal.behind():
            self._journal.catch_up()

    def taken(self, window_id: str) -> bool:
        """Whether a window of this id was ever open, on whatever branch."""
        return window_id in self._journal.timeline.windows

    def place(self, window_id: str) -> int:
        """Where the last note on an open window stands in the log."""
        return next((note.offset for note in self._notes(window_id)), -1)

    def kept(self, window_id: str) -> Kept | None:
        """The window as the log has it; None for one that no host opened."""
        place = self.place(window_id)
        known = self._kept.get(window_id)
        if known is None or known[0] != place:
            known = self._kept[window_id] = (place, self._read(window_id, place))
        return known[1]

    def done(self, call_id: str) -> tuple[bool, str] | None:
        """What came of a call, where the log has that: whether it went well, and what was said."""
        saw, reader = self._journal.path.saw, self._journal.reader
        for notes in self._journal.timeline.noted.values():
            for placed in filter(saw, reversed(notes)):
                note = reader.note(reader.entry_at(Span(placed.offset, placed.length)), WindowNote)
                if call_id and note.call == call_id:
                    opened = say("opened", self._journal.settings.locale, name=note.app, id=note.id)
                    return not note.failed, note.round[1] if note.round is not None else opened
        return None

    def opened(self, window_id: str, kept: Kept, call_id: str = "") -> int:
        """Note that a window was opened. The note's seq. Raises Conflict."""
        return self.write(_note(window_id, kept, target=kept.target, call=call_id), if_unchanged=True)

    def referred(self, window_id: str) -> int:
        """Note that a window is shown from here on."""
        return self.write(WindowNote(window_id))

    def changed(self, window_id: str, kept: Kept, done: Done | None, moved: bool) -> int:
        """Note that what a window shows has changed; moved, it is shown here from now on and no longer before.

        Raises Conflict.
        """
        more = _round(done) if done is not None else {}
        if not moved:
            return self.write(_note(window_id, kept, changed=True, **more), if_unchanged=True)
        before = self.kept(window_id) or kept
        state = before.state if kept.state is msgspec.UNSET else kept.state
        again = msgspec.structs.replace(kept, state=state)
        moved_on = WindowNote(window_id, closed=True, changed=True)  # closed where it was, not for good
        return self.write(moved_on, _note(window_id, again, target=before.target, **more), if_unchanged=True)

    def closed(self, window_id: str, summary: str) -> int:
        """Note that a window was closed: every reference to it is obsolete."""
        return self.write(WindowNote(window_id, closed=True, summary=summary))

    def write(self, *notes: WindowNote, if_unchanged: bool = False) -> int:
        """Write notes down; `if_unchanged`, only if nobody wrote to the branch meanwhile. The seq of the last."""
        live, known = self.live(), self._journal.timeline.notes
        self._journal.annotate(*((entries.WINDOW, note) for note in notes), if_unchanged=if_unchanged)
        if self._journal.timeline.notes == known + len(notes):  # nobody else wrote: no need to look at all windows
            self._live = ((self._journal.branch, known + len(notes)), _after(live, notes))
        return self._journal.store.tips.seq

    def _notes(self, window_id: str) -> Iterator[Placed]:
        """The notes on a window on this branch, the newest first."""
        saw = self._journal.path.saw
        return (note for note in reversed(self._journal.timeline.noted.get(window_id, ())) if saw(note))

    def _read(self, window_id: str, place: int) -> Kept | None:
        """What the notes since it was opened say, taken together: read back only as far as it takes."""
        journal = self._journal
        rows = journal.timeline.references(window_id, journal.path)
        first = entries.decode_data(journal.reader.entry(rows[0]), WindowNote) if rows else None
        if first is None or not first.app:
            return None
        last, rounds = None, []
        said: dict[str, Any] = {}
        for note in self._since_opened(window_id):
            last = note if last is None and note.app else last  # one that only refers to it says nothing of options
            for name, value in (("state", note.state), ("version", note.version), ("lod", note.lod)):
                if value is not None and value is not msgspec.UNSET:
                    said.setdefault(name, value)  # the newest word holds
            if note.round is not None:
                rounds.append(note.round)
            if len(said) == 3 and len(rounds) >= ROUNDS:
                break
        return Kept(
            app=first.app,
            target=first.target,
            options=_options((last or first).options),
            state=said.get("state"),
            version=Version(*said["version"]) if "version" in said else None,
            lod=Lod(said["lod"]) if "lod" in said else None,
            rounds=tuple(Round(action, result, datetime.fromisoformat(at)) for action, result, at in reversed(rounds)),
            place=place,
        )

    def _since_opened(self, window_id: str) -> Iterator[WindowNote]:
        """Its notes on this branch since it was last opened, the newest first."""
        reader = self._journal.reader
        for placed in self._notes(window_id):
            note = reader.note(reader.entry_at(Span(placed.offset, placed.length)), WindowNote)
            if note.closed and not note.changed:
                return
            yield note


def _after(live: list[str], notes: tuple[WindowNote, ...]) -> list[str]:
    """The open windows after these notes, in the order they were first opened."""
    for note in notes:
        if note.closed and not note.changed:
            live = [each for each in live if each != note.id]
        elif not note.closed and not note.changed and note.id not in live:
            live = [*live, note.id]
    return live


def _note(window_id: str, kept: Kept, **more: Any) -> WindowNote:
    version = kept.version
    return WindowNote(
        window_id,
        app=kept.app,
        options=msgspec.to_builtins(kept.options) if kept.options is not None else None,
        state=kept.state,
        version=(version.major, version.minor, version.patch) if version is not None else None,
        lod=int(kept.lod) if kept.lod is not None else None,
        **more,
    )


def _round(done: Done) -> dict[str, Any]:
    said = (done.round.action, done.round.result, _stamp(done.round.timestamp))
    return {"round": said, "failed": not done.success, "call": done.call_id}


def _options(said: dict[str, Any] | None) -> Options | None:
    """The options of a note; None, which means the app's own, for what another version wrote."""
    try:
        return msgspec.convert(said, Options) if said is not None else None
    except msgspec.ValidationError:
        return None


def _stamp(moment: datetime) -> str:
    return iso(milliseconds(moment.isoformat()))
