"""The pace of a recording: when its messages were said."""

from collections.abc import Sequence


class Pace:
    """The clock of a session that replays a recording: it shows the time at which the current message was said."""

    def __init__(self, times: Sequence[int]) -> None:
        """`times` are those of `Recording.times`. Where one is not known, the time stands still."""
        self._times = times
        self._now = next(filter(None, times), 1)

    def __call__(self) -> int:
        """Return the time, in milliseconds since 1970. It never goes back."""
        return self._now

    def go_to(self, index: int) -> None:
        """Go on to the time of a message."""
        if index < len(self._times):
            self._now = max(self._now, self._times[index])
