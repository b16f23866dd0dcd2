"""The ContextUI document, by its own names: the context, its windows, and the interaction with a model.

Everything stands on the core: items and windows are entries of a log, windows are drawn and acted on by
`sightline.apps`. `FrameworkHost` puts the parts together; `InteractionController` runs them.
"""

from sightline.apps.app import App
from sightline.apps.protocols import Windows
from sightline.origins.contextui.context import (
    ContextItem,
    ContextItemType,
    ContextManager,
    ContextRenderer,
    ContextStats,
    LlmMessage,
    RenderOptions,
    Trimmed,
    dump,
    estimate_tokens,
    trim,
)
from sightline.origins.contextui.interaction import (
    ActionExecutedEvent,
    ActionParser,
    AppCreatedEvent,
    EventBus,
    FrameworkHost,
    InteractionController,
    InteractionResult,
    LlmBridge,
    ParsedAction,
    PromptBuilder,
    WindowRefreshedEvent,
)
from sightline.origins.contextui.windows import (
    ActionContext,
    ActionDefinition,
    ActionResult,
    ParameterDefinition,
    RefreshMode,
    RenderMode,
    Window,
    WindowChange,
    WindowChangedEvent,
    WindowManager,
    WindowMeta,
    WindowOptions,
)
from sightline.values.clock import SeqClock

ContextApp = App
"""What an app's author subclasses."""

__all__ = [
    "ActionContext", "ActionDefinition", "ActionExecutedEvent", "ActionParser", "ActionResult", "AppCreatedEvent",
    "ContextApp", "ContextItem", "ContextItemType", "ContextManager", "ContextRenderer", "ContextStats", "EventBus",
    "FrameworkHost", "InteractionController", "InteractionResult", "LlmBridge", "LlmMessage", "ParameterDefinition",
    "ParsedAction", "PromptBuilder", "RefreshMode", "RenderMode", "RenderOptions", "SeqClock", "Trimmed", "Window",
    "WindowChange", "WindowChangedEvent", "WindowManager", "WindowMeta", "WindowOptions", "WindowRefreshedEvent",
    "Windows", "dump", "estimate_tokens", "trim",
]  # fmt: skip
