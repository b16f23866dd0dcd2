"""The ContextUI document's interaction: a message, one answer of the model, and the call in it."""

import threading
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from sightline import wire
from sightline.apps.calls import read_calls
from sightline.apps.outcome import Outcome
from sightline.origins.contextui.context import (
    ContextItem,
    ContextItemType,
    ContextRenderer,
    LlmMessage,
    RenderOptions,
)
from sightline.origins.contextui.windows import WindowManager
from sightline.session import accept
from sightline.values.items import Call, Usage, plain_text

PROMPT = "system_prompt"  # the id of the item that says how to act

# Takes the messages, returns the answer: text, an SDK's response or its JSON.
LlmBridge = Callable[[list[LlmMessage]], Any]


class InteractionResult(Struct, frozen=True, rename="pascal"):
    """The model's answer to a user's message, the first call in it, and the outcome of that call."""

    success: bool
    error: str = ""
    response: str = ""
    call: Call | None = None
    outcome: Outcome | None = None
    usage: Usage | None = None


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
        self._add(ContextItemType.ASSISTANT, text)
        call = next(read_calls(text), None)
        return InteractionResult(True, "", text, call, self.windows.call(call) if call else None, usage)

    def _add(self, kind: ContextItemType, text: str, item_id: str = "") -> None:
        self.windows.context.add(ContextItem(item_id, kind, text))
