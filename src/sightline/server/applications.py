"""Applications within a server that are made when they are first needed, such as that of each tenant.

One that nobody has used for a while is closed, and there are so many at most. One that answers a request, such as a
stream of events, is not closed.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from sightline.errors import SightlineError
from sightline.server.metrics import logger

if TYPE_CHECKING:
    from starlette.applications import Starlette

T = TypeVar("T")  # by which applications are told apart, such as the name of a tenant

MOST_APPLICATIONS = 200
IDLE_SECONDS = 900.0  # after which an application that nobody uses is closed; the next request makes it in milliseconds


class TooManyApplications(SightlineError):
    """As many applications answer requests as there may be."""


class _Held:
    """An application, how many requests use it, and when it was last used."""

    def __init__(self, app: "Starlette", task: "asyncio.Task[None]", stop: asyncio.Event) -> None:
        self.app, self._task, self._stop = app, task, stop
        self.users, self.used = 0, time.monotonic()

    async def close(self) -> None:
        self._stop.set()
        await asyncio.wait([self._task])


class Applications(Generic[T]):
    """Makes applications, hands them out by key, and closes them. For one event loop."""

    def __init__(
        self,
        make: "Callable[[T], Awaitable[Starlette]]",
        *,
        most: int = MOST_APPLICATIONS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """`make` makes the application of a key, which begins and ends with its lifespan."""
        self._make, self._most, self._idle = make, most, idle_seconds
        self._held: dict[T, _Held] = {}
        self._making: dict[T, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._ends_streams = self._stopped = False

    @asynccontextmanager
    async def use(self, key: T) -> "AsyncIterator[Starlette]":
        """Have an application open until the end of the block.

        Raises:
            TooManyApplications: so many are in use that there is no room for it, or the server is stopping.
            SightlineError: it cannot be made.
        """
        held = await self._find(key)
        try:
            yield held.app
        finally:
            held.users -= 1
            held.used = time.monotonic()

    def open_now(self) -> "list[Starlette]":
        """Return the applications that are open."""
        return [held.app for held in self._held.values()]

    def end_streams(self) -> None:
        """End all streams of events, and let none begin. Call it when the server is told to stop."""
        self._ends_streams = True
        for app in self.open_now():
            app.state.end_streams()

    async def close(self) -> None:
        """Close all applications, and make no more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.gather(*self._making.values(), return_exceptions=True)
        for key in [*self._held]:
            self._close_later(key)
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _find(self, key: T) -> _Held:
        """Return an application, in use by one more."""
        while (held := self._held.get(key)) is None:  # again, because it may be closed before we look at it
            if (making := self._making.get(key)) is None:
                self._make_room()
                making = self._making[key] = asyncio.create_task(self._begin(key))
                making.add_done_callback(lambda done: self._made(key, done))
            await asyncio.shield(making)  # others wait for it too
        held.users += 1
        return held

    async def _begin(self, key: T) -> None:
        app, ready, stop = await self._make(key), asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(_live(app, ready, stop), name=f"application of {key}")
        began = asyncio.create_task(ready.wait())
        await asyncio.wait([task, began], return_when=asyncio.FIRST_COMPLETED)
        began.cancel()
        if task.done():
            task.result()  # raises what went wrong
        if self._ends_streams:  # for a request that was on its way
            app.state.end_streams()
        self._held[key] = _Held(app, task, stop)
        self._look_later()

    def _made(self, key: T, done: "asyncio.Task[None]") -> None:
        del self._making[key]
        if not done.cancelled():
            done.exception()  # whoever still waits is told

    def _make_room(self) -> None:
        """Close the longest unused application if there is no room for one more. Raises TooManyApplications."""
        if self._stopped:
            raise TooManyApplications("the server is being stopped")
        if len(self._held) + len(self._making) < self._most:
            return
        unused = [(held.used, key) for key, held in self._held.items() if not held.users]
        if not unused:
            raise TooManyApplications(f"{len(self._held)} applications are answering requests, and no more are begun")
        self._close_later(min(unused, key=lambda pair: pair[0])[1])

    def _close_idle(self) -> None:
        self._timer = None
        now = time.monotonic()
        for key, held in [*self._held.items()]:
            if not held.users and now - held.used >= self._idle:
                self._close_later(key)
        self._look_later()

    def _look_later(self) -> None:
        if self._timer is None and self._held and not self._stopped:
            self._timer = asyncio.get_running_loop().call_later(self._idle / 4, self._close_idle)

    def _close_later(self, key: T) -> None:
        """Close an application. A request for it that comes meanwhile gets a new one, as from another server."""
        task = asyncio.create_task(self._held.pop(key).close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _live(app: "Starlette", ready: asyncio.Event, stop: asyncio.Event) -> None:
    """Be one task for the whole life of an application, because its lifespan ends in the task that began it."""
    try:
        async with app.router.lifespan_context(app):
            ready.set()
            await stop.wait()
    except Exception:
        if not ready.is_set():
            raise
        logger.exception("an application did not end well")
