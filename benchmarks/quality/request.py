"""One composed request of a run, and what is known of its messages, most of which the request before had too."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from benchmarks.quality.messages import REQUEST, Message, common_prefix, count_message, full_text

T = TypeVar("T")


class Request:
    """Messages, and how many of them the request before begins with."""

    def __init__(self, messages: Sequence[Message], before: "Request | None" = None) -> None:
        self.messages = messages
        self.shared = common_prefix(before.messages, messages) if before else 0
        known = before._known if before else {}
        self._known: dict[Callable[[Message], Any], list[Any]] = {
            work: made[: self.shared] for work, made in known.items()
        }

    def each(self, work: Callable[[Message], T]) -> list[T]:
        """Return what a function makes of each message. For those that both requests share it is not called again."""
        made = self._known.setdefault(work, [])
        made += map(work, self.messages[len(made) :])
        return made

    @property
    def sizes(self) -> list[int]:
        """Tokens of each message."""
        return self.each(count_message)

    @property
    def tokens(self) -> int:
        """Tokens of the request."""
        return REQUEST + sum(self.sizes)

    @property
    def texts(self) -> list[str]:
        """All that a model reads of each message."""
        return self.each(full_text)
