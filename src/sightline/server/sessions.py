"""The open sessions of a server: one object for each branch in use, shared by the proxy and the REST interface."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from sightline.apps.events import Event as WindowEvent
from sightline.errors import BadInput, SessionClosed, SessionNotFound, SightlineError
from sightline.log.stores import Stores
from sightline.server.events import Event, EventKind, Hub
from sightline.session.async_session import AsyncSession
from sightline.values.settings import Settings
from sightline.view.catalog.places import Place, Places
from sightline.view.inspection import current_branch

MOST_OPEN = 200  # an open session holds one file and the columns of its log
IDLE_SECONDS = 600.0  # after which a session that nobody uses is closed; the next use opens it in some milliseconds
_WINDOW_KINDS: dict[str, EventKind] = {
    "opened": "window_created", "acted": "window_updated", "refreshed": "window_updated", "closed": "window_closed",
}  # fmt: skip

Key = tuple[str, str]  # session, branch. The session by its id among those of all places, see `Places`


class InUse(SightlineError):
    """A session is in use, so it cannot be deleted now."""


def _in_use(session_id: str) -> InUse:
    return InUse(f"session {session_id!r} is in use: wait until its requests have ended, then delete it")


class _Open:
    """An open session, how many use it, and when it was last used."""

    def __init__(self, session: AsyncSession) -> None:
        self.session, self.users, self.used = session, 0, time.monotonic()


class OpenSessions:
    """Opens each branch of a session once, hands out the same object to all, and closes it when nobody uses it.

    Whoever holds a session while it waits for something takes it with `use`: it is then not closed meanwhile. For one
    event loop.
    """

    def __init__(
        self,
        project: str | Path = ".",
        *,
        root: str | Path | None = None,
        stores: Stores | None = None,
        hub: Hub | None = None,
        most: int = MOST_OPEN,
        idle_seconds: float = IDLE_SECONDS,
        everywhere: bool = False,
        samples: bool = False,
        **options: Any,
    ) -> None:
        """`stores`: where sessions are kept; None: in the project's folder below `root`. `options` as `Session.resume`.

        `most` are open at a time, more only while all of them are in use. `everywhere`: also those of other projects.
        `samples`: and the samples.
        """
        self.project, self.hub = Path(project), hub or Hub()
        self.places = Places(project, root=root, stores=stores, everywhere=everywhere, samples=samples)
        self.stores: Stores = self.places.own.stores
        self._most, self._idle, self._options = most, idle_seconds, options
        self._open: dict[Key, _Open] = {}
        self._locks: dict[Key, asyncio.Lock] = {}  # of sessions being opened
        self._timer: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._before_close: list[Callable[[], Awaitable[None]]] = []
        self._shared: list[Callable[[str], AbstractContextManager[bool]]] = []
        self._deleted: set[str] = set()  # sessions that are being deleted
        self._deletions = 0  # so far
        self._stopped = False

    # ------------------------------------------------------------------ get one

    async def get(self, session_id: str, branch: str | None = "") -> AsyncSession:
        """Return the session on this branch; "" is the first branch, None the current one.

        It may be closed when others are opened or some time has passed: get it again for each request, or `use` it.

        Raises:
            BadSessionId, SessionNotFound: no such session.
            BadInput: no such branch.
            SessionClosed: the server is stopping.
        """
        held = await self._find(session_id, branch)
        held.used = time.monotonic()
        return held.session

    @asynccontextmanager
    async def use(self, session_id: str, branch: str | None = "") -> AsyncIterator[AsyncSession]:
        """Have the session open until the end of the block. Raises as `get`."""
        held = await self._find(session_id, branch)
        held.users += 1
        try:
            yield held.session
        finally:
            held.users -= 1
            held.used = time.monotonic()
            self._close_idle()

    async def create(self, session_id: str | None = None, settings: Settings | None = None) -> AsyncSession:
        """Begin a session. It is stored when something is written to it. Raises BadSessionId, BadInput."""
        if session_id is not None and any(open_id == session_id for open_id, _ in self._open):
            raise BadInput(f"session {session_id!r} exists already")  # perhaps nothing is in the store yet
        session = await AsyncSession.new(
            self.project, stores=self.stores, session_id=session_id, settings=settings, **self._options
        )
        self.hub.publish(Event("session_created", session.id))
        return await self.adopt(session)

    def place_of(self, session_id: str) -> tuple[Place, str]:
        """Return the place of a session, and its id there. Raises SessionNotFound if there is no such place."""
        return self.places.find(session_id)

    async def adopt(self, session: AsyncSession, session_id: str = "") -> AsyncSession:
        """Take over a session that somebody opened, such as a fork. Return it, or the same branch opened before.

        `session_id`: its id among those of all places, if it is not of this project.
        """
        if self._stopped:
            await session.close()
            raise SessionClosed(session.id)
        key = (session_id or session.id, session.branch)
        if (already_open := self._open.get(key)) is not None:
            await session.close()
            return already_open.session
        self._open[key] = _Open(session)
        session.session.windows.events.subscribe(self._window_event(*key))
        self._look_later()
        return session

    def names(self) -> list[Key]:
        """Return the session and branch of each that is open."""
        return list(self._open)

    async def delete(self, session_id: str) -> None:
        """Delete a session for good. Raises BadSessionId, SessionNotFound, and InUse while somebody uses it."""
        keys = [key for key in self._open if key[0] == session_id]
        if session_id in self._deleted or any(self._open[key].users for key in keys):
            raise _in_use(session_id)
        place, own_id = self.place_of(session_id)
        shared = self._shared if place is self.places.own else []

        def delete() -> None:
            with ExitStack() as stack:
                if not all(stack.enter_context(closed(own_id)) for closed in shared):
                    raise _in_use(session_id)
                place.stores.delete(own_id)

        self._deleted.add(session_id)
        try:
            for key in keys:
                await self._open.pop(key).session.close()
            await asyncio.to_thread(delete)
        finally:
            self._deleted.discard(session_id)
            self._deletions += 1
        self.hub.publish(Event("session_deleted", session_id))

    async def forget(self, session_id: str) -> None:
        """Close what is open of a session that another process has deleted. Who uses it now is told so by the store."""
        for key in [key for key in self._open if key[0] == session_id]:
            with suppress(SightlineError):
                await self._open.pop(key).session.close()

    def share(self, closed: Callable[[str], AbstractContextManager[bool]]) -> None:
        """Let somebody else have sessions of this project open, too.

        `closed` closes one while a block runs in a thread, and gives False if it is used now.
        """
        self._shared.append(closed)

    def on_close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Have something else closed with the sessions, before them."""
        self._before_close.append(close)

    async def close(self) -> None:
        """Close all sessions, and open no more. A second call does nothing."""
        self._stopped = True
        while self._before_close:
            await self._before_close.pop()()
        if self._timer is not None:
            self._timer.cancel()
        while self._open:
            _, held = self._open.popitem()
            with suppress(SightlineError):  # a full disk, say: the others are closed all the same
                await held.session.close()
        await asyncio.gather(*self._closing, return_exceptions=True)

    # ------------------------------------------------------------------ private

    async def _find(self, session_id: str, branch: str | None) -> _Open:
        if self._stopped:
            raise SessionClosed(session_id)
        if session_id in self._deleted:
            raise SessionNotFound(session_id, str(self.places.home))
        if branch is None:  # any open branch of the session knows which one is the current
            opened = next((held.session for key, held in self._open.items() if key[0] == session_id), None)
            try:
                branch = None if opened is None else await asyncio.to_thread(current_branch, opened.session)
            except SessionNotFound:
                await self.forget(session_id)
        if branch is not None and (held := self._open.get((session_id, branch))) is not None:
            return held
        place, own_id = await asyncio.to_thread(self.place_of, session_id)
        key = (session_id, branch or "")
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:  # so that two requests open it once
                if branch is None or (held := self._open.get(key)) is None:
                    deletions = self._deletions
                    opened = await AsyncSession.resume(
                        own_id, place.project, stores=place.stores, branch=branch, **self._options
                    )
                    if session_id in self._deleted or self._deletions != deletions:  # perhaps this one
                        await opened.close()
                        raise SessionNotFound(session_id, str(self.places.home))
                    await self.adopt(opened, session_id)
                    held = self._open[session_id, opened.branch]
                return held
        finally:
            if not lock.locked():
                self._locks.pop(key, None)

    def _close_idle(self) -> None:
        """Close what nobody has used for long, and the longest unused of too many; look again later."""
        now = time.monotonic()
        unused = sorted((held.used, key) for key, held in self._open.items() if not held.users)
        too_many = len(self._open) - self._most
        for number, (used, key) in enumerate(unused):
            if number < too_many or now - used >= self._idle:
                self._close_later(key)
        self._look_later()

    def _look_later(self) -> None:
        if self._timer is None and self._open and not self._stopped:
            self._timer = asyncio.get_running_loop().call_later(self._idle, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._close_idle()

    def _close_later(self, key: Key) -> None:
        task = asyncio.get_running_loop().create_task(self._open.pop(key).session.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _window_event(self, session_id: str, branch: str) -> Callable[[WindowEvent], None]:
        def publish(event: WindowEvent) -> None:
            data = {"window": event.window, "app": event.app, "seq": event.seq}
            if event.kind == "acted":
                data |= {"action": event.action, "success": event.success}
            self.hub.publish(Event(_WINDOW_KINDS[event.kind], session_id, branch, data))

        return publish
