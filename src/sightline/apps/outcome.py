"""The outcome of an action."""

from typing import Any

from msgspec import Struct


class Outcome(Struct, frozen=True, omit_defaults=True):
    """The result of opening, acting on or closing a window. An app's action may return one.

    reason: empty if it succeeded, else one of unknown app, unknown window, unknown action, stale, out of view,
    reference, bad parameters, not closable, failed. ways: what can be done instead.
    """

    success: bool
    message: str = ""
    reason: str = ""
    window: str = ""
    summary: str = ""
    closes: bool = False
    data: Any = None
    ways: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.message if not self.ways else f"{self.message}\n→ {', '.join(self.ways)}"
