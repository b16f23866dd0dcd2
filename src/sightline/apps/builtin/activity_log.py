"""A log of what was done with the windows of a session."""

from collections.abc import Callable
from typing import Any

from sightline.apps import App, Element, Event, Lod, Options, Page, action

_MOST = 50  # events that it keeps, the newest
_RECENT = 10  # events that it shows at SUMMARY


class ActivityLog(App):
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
        return self.says(f"cleared {count} events", f"已清空 {count} 条记录")

    def view(self, lod: Lod) -> Page:
        """GIST: how many, and the last; SUMMARY: the last ten; FULL: all it keeps. The newest come last."""
        title, lines = self.says("Activity", "活动日志"), [self._line(event) for event in self.events]
        if not lines:
            return Page(title, (Element(tag="count", text=self.says("nothing yet", "暂无记录")),))
        if lod is Lod.GIST:
            counted = self.says(f"{len(lines)} events, the last: {lines[-1]}", f"{len(lines)} 条，最近：{lines[-1]}")
            return Page(title, (Element(tag="count", text=counted),))
        visible = lines if lod is Lod.FULL else lines[-_RECENT:]
        more = len(lines) - len(visible)
        first = [Element(tag="count", text=self.says(f"{more} earlier", f"更早的 {more} 条"))] if more else []
        return Page(title, (*first, *(Element(tag="event", text=line) for line in visible)))

    def _line(self, event: Event) -> str:
        after = f" ({event.summary})" if event.summary else ""
        match event.kind:
            case "opened":
                target = self.says(f", target: {event.target}", f"，目标: {event.target}") if event.target else ""
                return f"[{event.seq}] {self.says('opened app', '打开应用')} {event.app}{target}"
            case "closed":
                return f"[{event.seq}] {self.says('closed window', '关闭窗口')} {event.window}{after}"
            case _:
                result = self.says("succeeded", "成功") if event.success else self.says("failed", "失败")
                return f"[{event.seq}] {self.says('action', '操作')} {event.window}.{event.action} -> {result}{after}"

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
