"""What happens in the sessions of a server, as it happens: `Hub` collects it, and `/api/events` streams it.

The hub keeps the newest events once for all who follow it, and each of them has a place among them. So nobody who reads
slowly makes the server keep more: whoever falls behind the oldest is told to read everything anew.
"""

import asyncio
import secrets
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from sightline.errors import SightlineError

KEPT = 1_000  # events: more than a viewer misses while its connection is cut and made again
FOLLOWERS = 100  # streams at a time, because each of them holds a connection
HEARTBEAT = 15.0  # seconds without an event after which a comment is sent: proxies cut silent connections after 30

EventKind = Literal[
    "session_created",
    "session_deleted",
    "append",  # messages were added
    "payload",  # a payload was sent to a model
    "sweep",  # and it does not begin with the one before
    "compaction",  # the oldest part was summarised, or that was undone
    "mark",  # an item was pinned, unpinned, expanded or collapsed
    "window_created",
    "window_updated",
    "window_closed",
    "import",  # a file is being imported, or was
    "listed",  # sessions of the list have been counted
    "error",
    "reset",  # events were missed: read everything anew. Sent by the stream itself
]


class Event(Struct, frozen=True, omit_defaults=True):
    """Something that happened. `data` are a few facts about it, never the text of a message."""

    kind: EventKind
    session: str = ""
    branch: str = ""
    data: dict[str, Any] = {}


class TooManyFollowers(SightlineError):
    """As many streams of events are open as are allowed."""


class Followed(NamedTuple):
    """An event and its id, which a client sends back as `Last-Event-ID` to go on after it."""

    id: str
    event: Event


class Hub:
    """Hands each event to all who follow. Its methods may be called from any thread."""

    def __init__(self, *, kept: int = KEPT, followers: int = FOLLOWERS) -> None:
        self._start = secrets.token_hex(4)  # of this run, because numbers begin anew in the next
        self._events: deque[Event] = deque(maxlen=kept)
        self._number = 0  # of the newest event
        self._lock = threading.Lock()
        self._waiting: dict[asyncio.Future[None], asyncio.AbstractEventLoop] = {}
        self._most, self._followers, self._closed = followers, 0, False
        self.on_publish: Callable[[Event], None] | None = None  # is called with what happens here, see `Relay`
        self.on_follow: Callable[[], None] | None = None  # is called when somebody begins to follow

    def publish(self, event: Event) -> None:
        """Tell all who follow, here and at other servers of the same database. After `close` nothing happens."""
        self.receive(event)
        if (tell := self.on_publish) is not None:
            tell(event)

    def receive(self, event: Event) -> None:
        """Tell all who follow here. Returns at once."""
        with self._lock:
            if self._closed:
                return
            self._events.append(event)
            self._number += 1
        self._wake()

    def close(self) -> None:
        """End all streams. Call it when the server is told to stop, before it waits for its connections."""
        with self._lock:
            self._closed = True
        self._wake()

    @property
    def followers(self) -> int:
        """How many streams are open."""
        return self._followers

    def check_room(self) -> None:
        """Raise TooManyFollowers if as many streams are open as are allowed."""
        if self._followers >= self._most:
            raise TooManyFollowers(f"{self._most} streams of events are open, and no more are allowed; close one")

    def follow(
        self, session: str = "", after: str = "", heartbeat: float = HEARTBEAT
    ) -> AsyncGenerator[Followed | None, None]:
        """Yield the events of one session, or of all, from this call on or after the one of this id.

        None is a heartbeat. Ends when the hub is closed. The first step raises TooManyFollowers.
        """
        return self._follow(session, self._place(after), heartbeat)

    async def _follow(self, session: str, place: int, heartbeat: float) -> AsyncGenerator[Followed | None, None]:
        self.check_room()
        with self._lock:
            self._followers += 1
        if (tell := self.on_follow) is not None:
            tell()
        try:
            while True:
                events, first, closed = self._since(place)
                if first > place + 1:
                    place = first - 1 + len(events)
                    yield Followed(f"{self._start}-{place}", Event("reset"))
                    continue
                for place, event in enumerate(events, first):
                    if session in ("", event.session) or event.kind == "reset":
                        yield Followed(f"{self._start}-{place}", event)
                if events:
                    continue
                if closed:
                    return
                if not await self._wait(place, heartbeat):
                    yield None
        finally:
            with self._lock:
                self._followers -= 1

    def _place(self, after: str) -> int:
        """Return the number of the event of this id; of the newest without an id, and -1 for one of another run."""
        if not after:
            return self._number
        start, _, number = after.partition("-")
        is_ours = start == self._start and number.isascii() and number.isdigit() and len(number) < 16
        return int(number) if is_ours and int(number) <= self._number else -1

    def _since(self, place: int) -> tuple[list[Event], int, bool]:
        """Return the kept events after this place, the number of the first, and whether the hub is closed."""
        with self._lock:
            oldest = self._number - len(self._events) + 1
            first = max(place + 1, oldest)
            if place < 0:  # of another run: whatever is kept, something is missing
                return list(self._events), max(oldest, 1), self._closed
            return list(islice(self._events, first - oldest, None)), first, self._closed

    async def _wait(self, place: int, seconds: float) -> bool:
        """Return True as soon as there is an event after this place, or the hub is closed; False after the seconds."""
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if self._number > place or self._closed:
                return True
            self._waiting[woken] = loop
        try:
            await asyncio.wait_for(woken, seconds)
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._waiting.pop(woken, None)
        return True

    def _wake(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for woken, loop in waiting.items():
            with suppress(RuntimeError):  # that loop is closed, so nobody waits there any more
                loop.call_soon_threadsafe(_end_wait, woken)


def _end_wait(woken: "asyncio.Future[None]") -> None:
    if not woken.done():
        woken.set_result(None)


async def as_sse(followed: AsyncGenerator[Followed | None, None]) -> AsyncGenerator[bytes, None]:
    """Yield events as a browser's EventSource reads them, after a comment so that there is an answer at once."""
    yield b": events follow\nretry: 2000\n\n"
    async with aclosing(followed):  # so that a client that has gone makes room at once
        async for entry in followed:
            if entry is None:
                yield b": nothing new\n\n"
            else:
                data = msgspec.json.encode(entry.event)  # one line, because JSON escapes line ends
                yield b"id: %b\nevent: %b\ndata: %b\n\n" % (entry.id.encode(), entry.event.kind.encode(), data)


class Relay(Protocol):
    """Carries the events of hubs between servers that share their sessions."""

    def start(self) -> None:
        """Begin. Nothing is waited for."""

    def close(self) -> None:
        """End. What is not sent yet is dropped."""

    def join(self, hub: Hub, tenant: str = "") -> None:
        """Send the events of a hub of this tenant from now on, and hand those of other servers to it."""

    def leave(self, hub: Hub) -> None:
        """Have nothing more to do with a hub."""
