"""A log of what was done with the windows of a session."""

from collections.abc import Callable
from typing import Any

from sightline.apps import Element, Event, Lod, Options, Page, action
from sightline.apps.builtin.app import BuiltinApp

_MOST = 50  # events that it keeps, the newest
_RECENT = 10  # events that it shows at SUMMARY


class ActivityLog(BuiltinApp):
    """Show what was lately done with the windows of this session."""

    name = "activity_log"
    zh = "活动日志：本会话中各窗口最近的操作"
    single = True
    options = Options(important=False)
    events: list[Event]

    def __init__(self) -> None:
        self.events = []
        self._stop: Callable[[], None] | None = None  # ends the subscription; None before there is one

    def opened(self) -> None:
        self._subscribe()

    def restore(self, state: Any) -> None:
        """Restore the events and subscribe, unless it has: after a failed action it is restored while it is open."""
        super().restore(state)
        self._subscribe()

    def closed(self) -> None:
        if self._stop is not None:
            self._stop()

    @action(label="Forget these events", zh="清空日志", asks=True)
    def clear(self) -> str:
        """Forget the events so far."""
        count, self.events = len(self.events), []
        return self._say("cleared events", count=count)

    def view(self, lod: Lod) -> Page:
        """GIST: how many, and the last; SUMMARY: the last ten; FULL: all it keeps. The newest come last."""
        title, lines = self._say("activity title"), [self._line(event) for event in self.events]
        if not lines:
            return Page(title, (Element(tag="count", text=self._say("no events")),))
        if lod is Lod.GIST:
            counted = self._say("events", count=len(lines), last=lines[-1])
            return Page(title, (Element(tag="count", text=counted),))
        visible = lines if lod is Lod.FULL else lines[-_RECENT:]
        more = len(lines) - len(visible)
        first = [Element(tag="count", text=self._say("earlier events", more=more))] if more else []
        return Page(title, (*first, *(Element(tag="event", text=line) for line in visible)))

    def _line(self, event: Event) -> str:
        after = f" ({event.summary})" if event.summary else ""
        match event.kind:
            case "opened":
                target = self._say("event target", target=event.target) if event.target else ""
                return f"[{event.seq}] {self._say('app opened')} {event.app}{target}"
            case "closed":
                return f"[{event.seq}] {self._say('window closed')} {event.window}{after}"
            case _:
                result = self._say("succeeded") if event.success else self._say("failed")
                return f"[{event.seq}] {self._say('action done')} {event.window}.{event.action} -> {result}{after}"

    # ------------------------------------------------------------------ events

    def _subscribe(self) -> None:
        if self._stop is None:
            self._stop = self.host.events.subscribe(self._add)

    def _add(self, event: Event) -> None:
        """Keep an event, except those of its own window and those of windows that changed without an action."""
        if event.window == self.name or event.kind == "refreshed":
            return
        before, self.events = self.events, [*self.events, event][-_MOST:]
        if not self.host.changed(self):  # its window is not open, or another object shows it now
            self.events = before
            self.closed()
