"""What a host needs from windows that it did not open itself."""

from typing import Protocol


class Window(Protocol):
    """A live window. It is asked for its text before every model call."""

    def render(self) -> str:
        """Return what it shows now."""


class Windows(Protocol):
    """A place where live windows are found."""

    def get(self, window_id: str) -> Window | None:
        """Return the window; None if it is closed."""
