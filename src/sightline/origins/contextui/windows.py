"""The ContextUI document's windows: what a window is, what can be done in it, and where windows are found."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from msgspec import Struct, field

from sightline.apps.actions import CLOSE, Action, Parameter, bind, convert
from sightline.apps.app import Options
from sightline.apps.elements import Element
from sightline.apps.events import Events
from sightline.apps.host import Host
from sightline.apps.outcome import Outcome
from sightline.apps.window import AppWindow, UnavailableWindow, compact_xml, window_xml
from sightline.errors import BadInput, Refused
from sightline.origins.contextui.context import ContextItem, ContextItemType, ContextManager
from sightline.values.clock import SeqClock
from sightline.values.phrases import say

LOCALE = "zh"  # the document's language
NO_HANDLER = "窗口不支持操作"

T = TypeVar("T")
ActionDefinition = Action
ParameterDefinition = Parameter


# ------------------------------------------------------------------ values


class RenderMode(StrEnum):
    """Whole, or in one line without actions."""

    FULL = "Full"
    COMPACT = "Compact"


class RefreshMode(StrEnum):
    """Where a window stands after a change: where it stood, or at the end of the context."""

    IN_PLACE = "InPlace"
    APPEND = "Append"


class WindowOptions(Struct, frozen=True, rename="pascal"):
    """How a window behaves."""

    closable: bool = True
    auto_close_on_action: bool = False
    render_mode: RenderMode = RenderMode.FULL
    refresh_mode: RefreshMode = RefreshMode.IN_PLACE
    important: bool = True
    pin_in_prompt: bool = False


class WindowMeta(Struct, rename="pascal"):
    """When a window was made and last changed, by the context's clock. Rendered only where it is not hidden."""

    created_at: int = 0
    updated_at: int = 0
    hidden: bool = True
    tokens: int = 0


class ActionContext(Struct, frozen=True):
    """What a handler is told: the window, the action, and its parameters, already of their types."""

    window: "Window"
    action_id: str
    parameters: Mapping[str, Any] = {}

    def get_string(self, name: str, default: str = "") -> str:
        """A parameter as text."""
        return self._get("string", name, default)

    def get_int(self, name: str, default: int = 0) -> int:
        """A parameter as a number; numeric text is one."""
        return self._get("int", name, default)

    def get_bool(self, name: str, default: bool = False) -> bool:
        """A parameter as a truth."""
        return self._get("bool", name, default)

    def _get(self, kind: str, name: str, default: T) -> T:
        found: T | None = convert(kind, self.parameters[name]) if self.parameters.get(name) is not None else None
        return default if found is None else found


class ActionResult(Struct, frozen=True, rename="pascal"):
    """What came of an action."""

    success: bool
    message: str = ""
    summary: str = ""
    should_refresh: bool = False
    should_close: bool = False
    data: Any = None

    @classmethod
    def ok(
        cls,
        message: str = "",
        summary: str = "",
        should_refresh: bool = True,
        should_close: bool = False,
        data: Any = None,
    ) -> "ActionResult":
        """It went well."""
        return cls(True, message, summary, should_refresh, should_close, data)

    @classmethod
    def fail(cls, message: str) -> "ActionResult":
        """It did not; nothing is refreshed or closed."""
        return cls(False, message)

    @classmethod
    def close(cls, summary: str = "") -> "ActionResult":
        """It went well, and the window is closed."""
        return cls(True, summary=summary, should_close=True)

    @classmethod
    def of(cls, outcome: Outcome) -> "ActionResult":
        """What the core says came of it, in the document's words."""
        if not outcome.success:
            return cls.fail(_said(outcome))
        return cls.ok(outcome.message, outcome.summary, not outcome.closes, outcome.closes, outcome.data)


def _said(outcome: Outcome) -> str:
    match outcome.reason:
        case "unknown app":
            return say("open fails", LOCALE, why=outcome.message)
        case "not closable":
            return say("not closable", id=outcome.window)  # in English in the document's own code
        case _:
            return outcome.message


class Window(Struct, rename="pascal"):
    """What is shown, and what can be done with it: of an app, or made by hand and handled by `handler`."""

    id: str
    content: Sequence[Element] | str = ()
    description: str = ""
    actions: Sequence[Action] = ()
    options: WindowOptions = WindowOptions()
    meta: WindowMeta = field(default_factory=WindowMeta)
    handler: Callable[[ActionContext], ActionResult] | None = None
    app_name: str = ""

    def offered(self) -> list[Action]:
        """Its actions; one that can be closed offers that, too."""
        own = [each for each in self.actions if each.id != CLOSE.id]
        return [*own, CLOSE] if self.options.closable else own

    def render(self) -> str:
        """What the model sees."""
        shown = (Element(tag="text", text=self.content),) if isinstance(self.content, str) else self.content
        if self.options.render_mode is RenderMode.COMPACT:
            return compact_xml(self.id, shown)
        meta = [] if self.meta.hidden else [_meta_element(self.meta)]
        return window_xml(self.id, self.description, shown, self.offered(), locale=LOCALE, meta=meta)


def _meta_element(meta: WindowMeta) -> Element:
    values = {"tokens": meta.tokens, "created_at": meta.created_at, "updated_at": meta.updated_at}
    return Element(tag="meta", children=tuple(Element(tag=tag, text=str(value)) for tag, value in values.items()))


class WindowChange(StrEnum):
    """What happened to a window."""

    CREATED = "Created"
    UPDATED = "Updated"
    REMOVED = "Removed"


class WindowChangedEvent(Struct, frozen=True, rename="pascal"):
    """A window was made, changed or removed; a removed one is there no longer."""

    type: WindowChange
    window_id: str
    window: Window | None = None


# ------------------------------------------------------------------ where windows are found


class WindowManager:
    """Windows by id: those of apps, which a host keeps, and those that were added here by hand.

    Every window that is made is an item of the context; removed, its items are obsolete.
    """

    def __init__(self, context: ContextManager | None = None) -> None:
        """Without a context, windows are only found."""
        self._context = context
        self._clock = context.clock if context is not None else SeqClock()
        self._added: dict[str, Window] = {}
        self._updated: dict[str, int] = {}  # windows of apps
        self._host: Host | None = None
        self.on_changed: Events[WindowChangedEvent] = Events()

    def serve(self, host: Host) -> None:
        """Find the windows of this host here, too."""
        self._host = host

    def get(self, window_id: str) -> Window | None:
        """The window as it is now; None for one that is not open."""
        if window_id in self._added:
            return self._added[window_id]
        found = self._host.get(window_id) if self._host is not None else None
        match found:
            case AppWindow():
                return self._of_app(found)
            case UnavailableWindow():
                return Window(window_id, description=found.why, handler=self._act)
            case _:
                return None

    def get_all(self) -> list[Window]:
        """Every open window."""
        live = self._host.live() if self._host is not None else []
        found = (self.get(window_id) for window_id in dict.fromkeys((*live, *self._added)))
        return [window for window in found if window is not None]

    def get_all_ordered(self) -> list[Window]:
        """Every open window, the oldest first."""
        return sorted(self.get_all(), key=lambda window: window.meta.created_at)

    def add(self, window: Window) -> None:
        """Show a window that was made by hand. Raises BadInput where its id is taken."""
        if self.get(window.id) is not None:
            raise BadInput(f"a window {window.id!r} is open already")
        window.meta.created_at = window.meta.updated_at = self._clock.next()
        self._added[window.id] = window
        self._refer(window.id)
        self.tell(WindowChange.CREATED, window.id)

    def remove(self, window_id: str, summary: str = "") -> None:
        """Close a window: its items are obsolete. One that is not open changes nothing."""
        if self._added.pop(window_id, None) is not None:
            if self._context is not None:
                self._context.mark_window_obsolete(window_id)
            self.tell(WindowChange.REMOVED, window_id)
        elif self._host is not None and self.get(window_id) is not None:
            self._host.close(window_id, summary)

    def notify_updated(self, window_id: str) -> None:
        """Say that a window has changed: one that is shown at the end moves there."""
        window = self.get(window_id)
        if window is None:
            return
        window.meta.updated_at = self._updated[window_id] = self._clock.next()
        moves = window.options.refresh_mode is RefreshMode.APPEND
        if moves and window_id in self._added and self._context is not None:
            self._context.mark_window_obsolete(window_id)
            self._refer(window_id)
        self.tell(WindowChange.UPDATED, window_id)

    def tell(self, change: WindowChange, window_id: str) -> None:
        """Tell who wants to know of changes."""
        self.on_changed.publish(WindowChangedEvent(change, window_id, self.get(window_id)))

    def act(self, window_id: str, action_id: str, parameters: Mapping[str, Any] | None = None) -> ActionResult:
        """Do something in a window. Nothing is raised: what cannot be done is said in the result."""
        window, given = self.get(window_id), dict(parameters or {})
        if window is None:
            return ActionResult.fail(say("no window", LOCALE, id=window_id))
        if window_id not in self._added:
            return self._act(ActionContext(window, action_id, given))  # the core looks at the parameters itself
        try:
            result = self._handled(window, action_id, given)
        except Refused as refused:
            return ActionResult.fail(str(refused))
        except Exception as error:  # a handler's mistake is told, not raised: the conversation goes on
            return ActionResult.fail(f"{type(error).__name__}: {error}")
        if result.should_close or (result.success and window.options.auto_close_on_action):
            self.remove(window_id, result.summary)
        elif result.should_refresh:
            self.notify_updated(window_id)
        return result

    def _handled(self, window: Window, action_id: str, given: dict[str, Any]) -> ActionResult:
        """What the handler of a window made by hand answers. Raises Refused."""
        action = next((each for each in window.offered() if each.id == action_id), None)
        if action_id == CLOSE.id:
            if action is None:
                raise Refused(say("not closable", id=window.id))
            return ActionResult.close(bind(CLOSE, given, LOCALE).get("summary", ""))
        if window.handler is None:
            raise Refused(NO_HANDLER)
        if action is None:
            raise Refused(say("unknown anchor", LOCALE, name=action_id))
        return window.handler(ActionContext(window, action_id, bind(action, given, LOCALE)))

    def _act(self, context: ActionContext) -> ActionResult:
        """The handler of every window that a host keeps."""
        assert self._host is not None
        return ActionResult.of(self._host.act(context.window.id, context.action_id, **context.parameters))

    def _of_app(self, window: AppWindow) -> Window:
        window.context()  # what it shows now can be meant from now on
        created = self._context.opened_at(window.id) if self._context is not None else 0
        return Window(
            window.id,
            window.document.content().page.elements,
            window.about(),
            tuple(window.actions.values()),
            _options(window.options),
            WindowMeta(created, self._updated.get(window.id, created)),
            self._act,
            window.app.name,
        )

    def _refer(self, window_id: str) -> None:
        if self._context is not None:
            self._context.add(ContextItem("", ContextItemType.WINDOW, window_id))


def _options(options: Options) -> WindowOptions:
    return WindowOptions(
        closable=options.closable,
        render_mode=RenderMode.COMPACT if options.compact else RenderMode.FULL,
        refresh_mode=RefreshMode.APPEND if options.append else RefreshMode.IN_PLACE,
        important=options.important,
        pin_in_prompt=options.pinned,
    )
