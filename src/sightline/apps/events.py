"""Events about windows, and who subscribes to them."""

import logging
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from msgspec import Struct

logger = logging.getLogger("sightline")
T = TypeVar("T")


class Event(Struct, frozen=True, omit_defaults=True):
    """Something that happened to a window. `seq`: its entry in the log."""

    kind: Literal["opened", "acted", "refreshed", "closed"]
    seq: int
    window: str
    app: str
    success: bool = True
    action: str = ""
    target: str = ""
    summary: str = ""


class Events(Generic[T]):
    """Hands each event to every subscriber. If one fails, the others still get it."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[[T], None]] = []

    def subscribe(self, subscriber: Callable[[T], None]) -> Callable[[], None]:
        """Call `subscriber` with each event from now on. Return a function that ends the subscription."""
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return unsubscribe

    def publish(self, event: T) -> None:
        """Call every subscriber with the event."""
        for subscriber in list(self._subscribers):
            try:
                subscriber(event)
            except Exception:  # somebody else's code; the other subscribers still get the event
                logger.exception("a subscriber failed on %s", event)
