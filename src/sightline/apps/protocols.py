"""What a host needs from outside: where it writes down what happens to its windows, and where others' are found."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from sightline.apps.context import Round
from sightline.apps.window import Kept


class Done(NamedTuple):
    """Something that was done in a window: the round, whether it went well, and the call that wanted it."""

    round: Round
    success: bool = True
    call_id: str = ""


class Record(Protocol):
    """Where a host writes down what happens to its windows: a session's log."""

    def live(self) -> Sequence[str]:
        """The windows that are open now."""
        ...

    def catch_up(self) -> None:
        """Take in what others have written."""
        ...

    def taken(self, window_id: str) -> bool:
        """Whether a window of this id was ever open."""
        ...

    def place(self, window_id: str) -> int:
        """Where the last note on an open window stands."""
        ...

    def kept(self, window_id: str) -> Kept | None:
        """The window as the log has it; None for one that no host opened."""
        ...

    def done(self, call_id: str) -> tuple[bool, str] | None:
        """What came of a call, where the log has that: whether it went well, and what was said."""
        ...

    def opened(self, window_id: str, kept: Kept, call_id: str = "") -> int:
        """Note that a window was opened, by this call. The note's seq. Raises Conflict where others wrote meanwhile."""
        ...

    def referred(self, window_id: str) -> int:
        """Note that a window is shown from here on."""
        ...

    def changed(self, window_id: str, kept: Kept, done: Done | None, moved: bool) -> int:
        """Note that what a window shows has changed. Raises Conflict where others wrote meanwhile."""
        ...

    def closed(self, window_id: str, summary: str) -> int:
        """Note that a window was closed."""
        ...


class Window(Protocol):
    """Something live that a session shows: asked before every call."""

    def render(self) -> str:
        """What it shows now."""
        ...


class Windows(Protocol):
    """Where live windows are found."""

    def get(self, window_id: str) -> Window | None:
        """The window, or None once it is gone."""
        ...
