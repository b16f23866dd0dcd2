"""The ContextUI document's windows: those of the core's apps, each an item of the context."""

from pathlib import Path

from sightline.apps.host import Host
from sightline.apps.window_log import WindowLog
from sightline.log.annotations import WindowNote
from sightline.origins.contextui.context import ContextManager
from sightline.values.clock import Clock, wall_clock

LOCALE = "zh"  # the document's language


class _WindowItems(WindowLog):
    """Writes what happens to windows into a context."""

    def __init__(self, context: ContextManager) -> None:
        super().__init__(context.journal)
        self._context = context

    def catch_up(self) -> None:
        self._context.catch_up()

    def write(self, *notes: WindowNote, if_unchanged: bool = False) -> int:  # noqa: ARG002 - one process writes a context
        return self._context.note(*notes)


class WindowManager(Host):
    """The apps of a context and their windows.

    An opened window is an item of the context. When the window is closed, its items are obsolete. What can be done with
    apps and windows (`register`, `open`, `get`, `all`, `act`, `close`) is the core's.
    """

    def __init__(
        self, context: ContextManager | None = None, *, project: str | Path = ".", clock: Clock = wall_clock
    ) -> None:
        self.context = context or ContextManager()
        session_id = self.context.journal.store.session_id
        super().__init__(_WindowItems(self.context), session_id=session_id, clock=clock, project=Path(project))
        self.show_as(LOCALE, "xml")
