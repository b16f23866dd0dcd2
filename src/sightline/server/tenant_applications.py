"""The applications of a server's tenants: each tenant has one of its own, made when it is first needed.

So nothing of a tenant is in an object that a request of another can reach. An application that nobody has used for a
while is closed, and there are so many at most. One that answers a request, such as a stream of events, is not closed.
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

T = TypeVar("T")  # by which tenants are told apart

MOST_APPLICATIONS = 200
IDLE_SECONDS = 900.0  # after which an application that nobody uses is closed; the next request makes it in milliseconds


class TooManyTenants(SightlineError):
    """As many applications answer requests as there may be."""


class _Held:
    """The application of a tenant, how many requests use it, and when it was last used."""

    def __init__(self, app: "Starlette", task: "asyncio.Task[None]", stop: asyncio.Event) -> None:
        self.app, self._task, self._stop = app, task, stop
        self.users, self.used = 0, time.monotonic()

    async def close(self) -> None:
        self._stop.set()
        await asyncio.wait([self._task])


class TenantApplications(Generic[T]):
    """Makes applications, hands them out by tenant, and closes them. For one event loop."""

    def __init__(
        self,
        make: "Callable[[T], Awaitable[Starlette]]",
        *,
        most: int = MOST_APPLICATIONS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """`make` makes the application of a tenant, which begins and ends with its lifespan."""
        self._make, self._most, self._idle = make, most, idle_seconds
        self._held: dict[T, _Held] = {}
        self._making: dict[T, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    @asynccontextmanager
    async def use(self, tenant: T) -> "AsyncIterator[Starlette]":
        """Have the application of a tenant open until the end of the block.

        Raises:
            TooManyTenants: so many are in use that there is no room for it, or the server is stopping.
            SightlineError: it cannot be made.
        """
        held = await self._find(tenant)
        try:
            yield held.app
        finally:
            held.users -= 1
            held.used = time.monotonic()

    def open_now(self) -> "list[Starlette]":
        """Return the applications that are open."""
        return [held.app for held in self._held.values()]

    def end_streams(self) -> None:
        """End all streams of events, and make no more applications. Call it when the server is told to stop."""
        self._stopped = True
        for app in self.open_now():
            app.state.end_streams()

    async def close(self) -> None:
        """Close all applications, and make no more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.gather(*self._making.values(), return_exceptions=True)
        for tenant in [*self._held]:
            self._close_later(tenant)
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _find(self, tenant: T) -> _Held:
        """Return the application of a tenant, in use by one more."""
        while (held := self._held.get(tenant)) is None:  # again, because it may be closed before we look at it
            if (making := self._making.get(tenant)) is None:
                self._make_room()
                making = self._making[tenant] = asyncio.create_task(self._begin(tenant))
                making.add_done_callback(lambda done: self._made(tenant, done))
            await asyncio.shield(making)  # others wait for it too
        held.users += 1
        return held

    async def _begin(self, tenant: T) -> None:
        app, ready, stop = await self._make(tenant), asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(_live(app, ready, stop), name=f"application of {tenant}")
        began = asyncio.create_task(ready.wait())
        await asyncio.wait([task, began], return_when=asyncio.FIRST_COMPLETED)
        began.cancel()
        if task.done():
            task.result()  # raises what went wrong
        self._held[tenant] = _Held(app, task, stop)
        self._look_later()

    def _made(self, tenant: T, done: "asyncio.Task[None]") -> None:
        del self._making[tenant]
        if not done.cancelled():
            done.exception()  # whoever still waits is told

    def _make_room(self) -> None:
        """Close the longest unused application if there is no room for one more. Raises TooManyTenants."""
        if self._stopped:
            raise TooManyTenants("the server is being stopped")
        if len(self._held) + len(self._making) < self._most:
            return
        unused = [(held.used, tenant) for tenant, held in self._held.items() if not held.users]
        if not unused:
            raise TooManyTenants(f"requests of {len(self._held)} tenants are being answered, and no more are taken")
        self._close_later(min(unused, key=lambda each: each[0])[1])

    def _close_idle(self) -> None:
        self._timer = None
        now = time.monotonic()
        for tenant, held in [*self._held.items()]:
            if not held.users and now - held.used >= self._idle:
                self._close_later(tenant)
        self._look_later()

    def _look_later(self) -> None:
        if self._timer is None and self._held and not self._stopped:
            self._timer = asyncio.get_running_loop().call_later(self._idle / 4, self._close_idle)

    def _close_later(self, tenant: T) -> None:
        """Close an application. A request of its tenant that comes meanwhile gets a new one, as from another server."""
        task = asyncio.create_task(self._held.pop(tenant).close())
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
