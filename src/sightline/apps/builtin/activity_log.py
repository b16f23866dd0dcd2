"""What was lately done with the windows of a session."""

from collections.abc import Callable
from typing import Any

from sightline.apps import App, Element, Event, Lod, Options, Page, action

_KEPT = 50  # of the newest events
_RECENT = 10  # of them in a summary


class ActivityLog(App):
    """Show what was lately done with the windows of this session."""

    name = "activity_log"
    zh = "活动日志：本会话中各窗口最近的操作"
    single = True
    options = Options(important=False)
    events: list[Event]

    def __init__(self) -> None:
        self.events = []
        self._stop: Callable[[], None] | None = None  # ends the subscription, while there is one

    def opened(self) -> None:
        """Hear what happens from now on."""
        self._listen()

    def restore(self, state: Any) -> None:
        """Go on where an earlier run left off. After a failed action it is listening already."""
        super().restore(state)
        self._listen()

    def closed(self) -> None:
        """Hear nothing more."""
        if self._stop is not None:
            self._stop()

    @action(label="Forget these events", zh="清空日志")
    def clear(self) -> str:
        """Forget the events so far."""
        count, self.events = len(self.events), []
        return self.says(f"cleared {count} events", f"已清空 {count} 条记录")

    def view(self, lod: Lod) -> Page:
        """GIST: how many, and the last; SUMMARY: the last ten; FULL: all that are kept. The newest come last."""
        title, lines = self.says("Activity", "活动日志"), [self._line(event) for event in self.events]
        if not lines:
            return Page(title, (Element(tag="count", text=self.says("nothing yet", "暂无记录")),))
        if lod is Lod.GIST:
            counted = self.says(f"{len(lines)} events, the last: {lines[-1]}", f"{len(lines)} 条，最近：{lines[-1]}")
            return Page(title, (Element(tag="count", text=counted),))
        shown = lines if lod is Lod.FULL else lines[-_RECENT:]
        earlier = self.says(f"{len(lines) - len(shown)} earlier", f"更早的 {len(lines) - len(shown)} 条")
        first = [Element(tag="count", text=earlier)] if len(shown) < len(lines) else []
        return Page(title, (*first, *(Element(tag="event", text=line) for line in shown)))

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

    # ------------------------------------------------------------------ hearing

    def _listen(self) -> None:
        if self._stop is None:
            self._stop = self.host.events.subscribe(self._heard)

    def _heard(self, event: Event) -> None:
        """Keep what was done to another window. Its own events, and windows that change by themselves, are no news."""
        if event.window == self.name or event.kind == "refreshed":
            return
        before, self.events = self.events, [*self.events, event][-_KEPT:]
        if not self.host.changed(self):  # never opened after all, or restored anew: another one listens
            self.events = before
            self.closed()
