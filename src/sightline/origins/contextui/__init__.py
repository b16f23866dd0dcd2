"""The ContextUI document, by its own names: the context, its windows, and the interaction with a model.

Everything is done by the core: items and windows are entries of a log, windows are drawn and acted on by
`sightline.apps`.
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
from sightline.origins.contextui.windows import InteractionController, InteractionResult, LlmBridge, WindowManager
from sightline.values.clock import SeqClock

# What an app's author subclasses.
ContextApp = App

__all__ = [
    "ContextApp", "ContextItem", "ContextItemType", "ContextManager", "ContextRenderer", "ContextStats",
    "InteractionController", "InteractionResult", "LlmBridge", "LlmMessage", "RenderOptions", "SeqClock", "Trimmed",
    "WindowManager", "Windows", "dump", "estimate_tokens", "trim",
]  # fmt: skip
