"""The ContextUI document's interaction: apps in a host, what a model says, and what is done about it."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from sightline import wire
from sightline.apps.app import App
from sightline.apps.calls import ACTION, CREATE, parameters, read_calls
from sightline.apps.events import Event, Events
from sightline.apps.host import Host
from sightline.apps.window_log import WindowLog
from sightline.errors import BadInput, UnknownApp
from sightline.log.annotations import WindowNote
from sightline.origins.contextui.context import (
    ContextItem,
    ContextItemType,
    ContextManager,
    ContextRenderer,
    LlmMessage,
    RenderOptions,
)
from sightline.origins.contextui.windows import LOCALE, ActionResult, Window, WindowChange, WindowManager
from sightline.session import accept
from sightline.values.clock import Clock, wall_clock
from sightline.values.items import Call, Usage, plain_text
from sightline.values.phrases import say

PROMPT = "system_prompt"  # the id of the item that says how to act

T = TypeVar("T")
LlmBridge = Callable[[list[LlmMessage]], Any]
"""Takes the messages, gives the answer: text, an SDK's response or its JSON."""


# ------------------------------------------------------------------ events


class AppCreatedEvent(Struct, frozen=True, rename="pascal"):
    """An app was opened."""

    seq: int
    app_name: str
    target: str = ""
    success: bool = True


class ActionExecutedEvent(Struct, frozen=True, rename="pascal"):
    """Something was done in a window."""

    seq: int
    window_id: str
    action_id: str
    success: bool
    summary: str = ""


class WindowRefreshedEvent(Struct, frozen=True, rename="pascal"):
    """A window shows something new, where it was."""

    seq: int
    window_id: str
    app_name: str


class EventBus:
    """Hands each event to those who asked for its type. One that fails does not keep it from the others."""

    def __init__(self) -> None:
        self._events: Events[Any] = Events()

    def publish(self, event: Any) -> None:
        """Tell everybody who asked for events of this type."""
        self._events.publish(event)

    def subscribe(self, kind: type[T], handler: Callable[[T], None]) -> Callable[[], None]:
        """Call `handler` with each event of this type from now on. What is returned ends that."""
        return self._events.subscribe(lambda event: handler(event) if isinstance(event, kind) else None)


# ------------------------------------------------------------------ the framework


class _WindowItems(WindowLog):
    """The record of a host whose windows are items of a context."""

    def __init__(self, context: ContextManager) -> None:
        super().__init__(context.journal)
        self._context = context

    def catch_up(self) -> None:
        self._context.catch_up()

    def write(self, *notes: WindowNote, if_unchanged: bool = False) -> int:  # noqa: ARG002 - one process keeps a context
        return self._context.note(*notes)


class FrameworkHost:
    """Apps and their windows, in one context."""

    def __init__(
        self,
        context: ContextManager | None = None,
        windows: WindowManager | None = None,
        events: EventBus | None = None,
        *,
        project: str | Path = ".",
        clock: Clock = wall_clock,
    ) -> None:
        """`windows` are those of the same context."""
        self.context = context or ContextManager()
        self.windows = windows or WindowManager(self.context)
        self.events = events or EventBus()
        session_id = self.context.journal.store.session_id
        self.core = Host(_WindowItems(self.context), session_id=session_id, clock=clock, project=Path(project))
        self.core.show_as(LOCALE, "xml")
        self.core.events.subscribe(self._happened)
        self.windows.serve(self.core)

    def register(self, *apps: type[App] | str) -> None:
        """Let these apps be launched. Raises BadInput for what is no app."""
        self.core.register(*apps)

    def get_apps(self) -> list[type[App]]:
        """The apps that can be launched."""
        return list(self.core.apps.values())

    def launch(self, app_name: str, intent: str = "") -> Window:
        """Open an app in a window: an item of the context from here on.

        Raises:
            BadInput: no such app is registered.
            Refused: the app does not open for this intent.
        """
        try:
            opened = self.core.open(app_name, intent)
        except UnknownApp as error:
            raise BadInput(say("app unknown", LOCALE, name=app_name)) from error
        window = self.windows.get(opened)
        assert window is not None
        return window

    def create(self, app_name: str = "", target: str = "") -> ActionResult:
        """Open an app as the model does: without a name the launcher. Nothing is raised."""
        outcome = self.core.call(Call("", CREATE.name, {"name": app_name, "target": target}))
        if not outcome.success:
            self.events.publish(AppCreatedEvent(self.context.clock.next(), app_name, target, False))
        return ActionResult.of(outcome)

    def refresh(self) -> None:
        """Let every app take in what changed outside."""
        self.core.refresh()
        self.core.note()

    def refresh_window(self, window_id: str) -> Window | None:
        """Show a window anew, under the same id and at the same place. The window; None for one that is not open."""
        if (found := self.core.window(window_id)) is not None:
            found.document.change()
        self.refresh()
        return self.windows.get(window_id)

    def close(self, app_name: str) -> None:
        """Close every window of an app."""
        for window in self.core.all():
            if window.app.name == app_name:
                self.core.close(window.id)

    def _happened(self, event: Event) -> None:
        """What the core says happened, under the document's names and with the context's numbers."""
        seq = self.context.clock.next()
        match event.kind:
            case "opened":
                self.windows.tell(WindowChange.CREATED, event.window)
                self.events.publish(AppCreatedEvent(seq, event.app, event.target))
            case "acted":
                self.windows.notify_updated(event.window)
                done = ActionExecutedEvent(seq, event.window, event.action, event.success, event.summary)
                self.events.publish(done)
            case "refreshed":
                self.windows.notify_updated(event.window)
                self.events.publish(WindowRefreshedEvent(seq, event.window, event.app))
            case "closed":
                self.windows.tell(WindowChange.REMOVED, event.window)


# ------------------------------------------------------------------ what a model says


class ParsedAction(Struct, frozen=True, rename="pascal"):
    """What an assistant's text asks for: an app to be opened, or something to be done in a window."""

    type: str
    app_name: str = ""
    target: str = ""
    window_id: str = ""
    action_id: str = ""
    parameters: Mapping[str, Any] = {}


class ActionParser:
    """Finds the call in an assistant's text."""

    @staticmethod
    def parse(text: str) -> ParsedAction | None:
        """What the first `<tool_call>` asks for; None where there is none, or one that cannot be read."""
        call = next(read_calls(text), None)
        if call is None:
            return None
        said = {name: value for name, value in call.input.items() if isinstance(value, str)}
        if call.name != ACTION.name:
            return ParsedAction(call.name, app_name=said.get("name", ""), target=said.get("target", ""))
        window_id, action_id = said.get("window_id", ""), said.get("action_id", "")
        if not window_id or not action_id:
            return None
        return ParsedAction(
            call.name, window_id=window_id, action_id=action_id, parameters=parameters(call.input) or {}
        )


class PromptBuilder:
    """What a model is told once: how to act on windows, and which apps there are."""

    def __init__(self, host: FrameworkHost) -> None:
        self._host = host

    def build(self) -> str:
        """The text."""
        return self._host.core.instructions()


class InteractionResult(Struct, frozen=True, rename="pascal"):
    """What came of a user's message."""

    success: bool
    error: str = ""
    response: str = ""
    action: ParsedAction | None = None
    action_result: ActionResult | None = None
    usage: Usage | None = None


class InteractionController:
    """Runs the document's exchanges, one at a time: a message, one answer of the model, and the call in it.

    The one in `sightline.origins.controller` is the core's: within a budget, with native calls, and going on by itself.
    """

    def __init__(
        self,
        host: FrameworkHost,
        bridge: LlmBridge,
        *,
        renderer: ContextRenderer | None = None,
        options: RenderOptions | None = None,
    ) -> None:
        self.host, self._bridge, self._options = host, bridge, options
        self._renderer = renderer or ContextRenderer()
        self._lock = threading.Lock()

    def process(self, message: str) -> InteractionResult:
        """Say this to the model, and do what it answers. A failed call leaves the message said and nothing else."""
        with self._lock:
            self._ensure_prompt()
            self._add(ContextItemType.USER, message)
            messages = self.messages()
            try:
                reply = accept.checked(accept.read(wire.read_reply, self._bridge(messages)))
            except Exception as error:  # the model's side: nothing of this call is in the context
                return InteractionResult(False, f"{type(error).__name__}: {error}")
            return self._answered(plain_text(reply.parts), reply.usage)

    def process_assistant_output(self, text: str) -> InteractionResult:
        """Do as if the model had answered this."""
        with self._lock:
            return self._answered(text, None)

    def messages(self) -> list[LlmMessage]:
        """What the model is sent: the active items, each window as it is now."""
        self.host.refresh()
        return self._renderer.render(self.host.context.get_active(), self.host.windows, self._options)

    def _answered(self, text: str, usage: Usage | None) -> InteractionResult:
        self._add(ContextItemType.ASSISTANT, text)
        action = ActionParser.parse(text)
        result = self._done(action) if action is not None else None
        return InteractionResult(True, "", text, action, result, usage)

    def _done(self, action: ParsedAction) -> ActionResult:
        if action.type == ACTION.name:
            return self.host.windows.act(action.window_id, action.action_id, action.parameters)
        if action.type == CREATE.name:
            return self.host.create(action.app_name, action.target)
        return ActionResult.fail(say("no such call", LOCALE, name=action.type))

    def _ensure_prompt(self) -> None:
        if all(item.id != PROMPT for item in self.host.context.get_all()):
            self._add(ContextItemType.SYSTEM, PromptBuilder(self.host).build(), PROMPT)

    def _add(self, kind: ContextItemType, text: str, item_id: str = "") -> None:
        self.host.context.add(ContextItem(item_id, kind, text))
