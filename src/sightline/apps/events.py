"""Events about windows, and who subscribes to them."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from sightline.apps.guard import log_failure


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


class Events:
    """Hands each event to every subscriber. If one fails, the others still get it."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[[Event], None]] = []

    def subscribe(self, subscriber: Callable[[Event], None]) -> Callable[[], None]:
        """Call `subscriber` with each event from now on. Return a function that ends the subscription."""
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return unsubscribe

    def publish(self, event: Event) -> None:
        for subscriber in list(self._subscribers):
            try:
                subscriber(event)
            except Exception as error:  # somebody else's code; the other subscribers still get the event
                log_failure(f"a subscriber failed on {event}", error)
