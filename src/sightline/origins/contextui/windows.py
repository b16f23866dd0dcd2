"""The ContextUI document's windows, each an item of the context, and its interaction with a model.

Windows are those of the core's apps. An interaction is a message, one answer of the model, and the call in it.
"""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from sightline import wire
from sightline.apps.app import App
from sightline.apps.calls import read_calls
from sightline.apps.host import Host
from sightline.apps.outcome import Outcome
from sightline.apps.window_log import WindowLog
from sightline.log.annotations import WindowNote
from sightline.origins.contextui.context import (
    ContextItem,
    ContextItemType,
    ContextManager,
    ContextRenderer,
    LlmMessage,
    NumberedWindow,
    RenderOptions,
)
from sightline.session import accept
from sightline.values.clock import Clock, wall_clock
from sightline.values.escape import plain_label
from sightline.values.items import Call, Usage, plain_text
from sightline.values.phrases import say

LOCALE = "zh"  # the document's language
PROMPT = "system_prompt"  # the id of the item that says how to act

# Takes the messages, returns the answer: text, an SDK's response or its JSON.
LlmBridge = Callable[[list[LlmMessage]], Any]


class _WindowItems(WindowLog):
    """Writes what happens to windows into a context. A window that is opened is a new item."""

    def __init__(self, context: ContextManager) -> None:
        super().__init__(context.journal)
        self._context = context

    def catch_up(self, *, own: bool = True) -> None:
        with self._context.lock:
            super().catch_up(own=own)

    def write(self, *notes: WindowNote, if_unchanged: bool = False) -> int:  # noqa: ARG002 - one process writes a context
        with self._context.lock:
            numbered = [
                note
                if note.closed or note.changed
                else NumberedWindow(**msgspec.structs.asdict(note), context_seq=self._context.clock.next())
                for note in notes
            ]
            return super().write(*numbered)


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

    def register(self, *apps: type[App] | str) -> None:
        """Register apps; with a session that was given also there, so that its prompt shows their windows."""
        super().register(*apps)
        if self.context.session is not None:
            self.context.session.windows.register(*apps)


# ------------------------------------------------------------------ interaction


class InteractionResult(Struct, frozen=True, rename="pascal"):
    """The model's answer to a user's message, and the calls in it with their outcomes: all of them, and the first."""

    success: bool
    error: str = ""
    response: str = ""
    call: Call | None = None
    outcome: Outcome | None = None
    usage: Usage | None = None
    calls: tuple[Call, ...] = ()
    outcomes: tuple[Outcome, ...] = ()


class InteractionController:
    """Runs the document's exchanges, one at a time."""

    def __init__(
        self,
        windows: WindowManager,
        bridge: LlmBridge,
        *,
        renderer: ContextRenderer | None = None,
        options: RenderOptions | None = None,
    ) -> None:
        self.windows, self._bridge, self._options = windows, bridge, options
        self._renderer = renderer or ContextRenderer()
        self._lock = threading.Lock()

    def process(self, message: str) -> InteractionResult:
        """Send a user's message to the model, and do what the answer asks for.

        If the model fails, the message stays in the context and the result says why.
        """
        with self._lock:
            if all(item.id != PROMPT for item in self.windows.context.get_all()):
                self._add(ContextItemType.SYSTEM, self.windows.instructions(), PROMPT)
            self._add(ContextItemType.USER, message)
            messages = self.messages()
            try:
                reply = accept.check_message(accept.read_with(wire.read_reply, self._bridge(messages)))
            except Exception as error:  # of the model: nothing of this answer is in the context
                return InteractionResult(False, f"{type(error).__name__}: {error}")
            return self._answer(plain_text(reply.parts), reply.usage)

    def process_assistant_output(self, text: str) -> InteractionResult:
        """Do what this text asks for, as if the model had answered it."""
        with self._lock:
            return self._answer(text, None)

    def messages(self) -> list[LlmMessage]:
        """Return what the model is sent: the active items, each window as it is now."""
        self.windows.refresh()
        self.windows.note()
        return self._renderer.render(self.windows.context.get_active(), self.windows, self._options)

    def _answer(self, text: str, usage: Usage | None) -> InteractionResult:
        """Carry out every call of an answer, in order. What fails is an item, because no window shows it."""
        self._add(ContextItemType.ASSISTANT, text)
        calls = tuple(iter(partial(next, read_calls(text), None), None))  # what cannot be read is text
        outcomes = tuple(map(self.windows.call, calls))
        for call, done in zip(calls, outcomes, strict=True):
            if not done.success:
                said = say("call failed", self.windows.locale, name=plain_label(call.name), message=done.message)
                self._add(ContextItemType.USER, said)
        first, outcome = (calls[0], outcomes[0]) if calls else (None, None)
        return InteractionResult(True, "", text, first, outcome, usage, calls, outcomes)

    def _add(self, kind: ContextItemType, text: str, item_id: str = "") -> None:
        self.windows.context.add(ContextItem(item_id, kind, text))
