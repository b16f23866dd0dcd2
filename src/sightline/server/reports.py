"""The reports that a server makes: each once as long as its session stays the same, and a few at a time."""

import asyncio
from collections.abc import Callable, Hashable
from contextlib import closing
from functools import partial
from hashlib import blake2b, file_digest

from sightline.log.stores import Stores
from sightline.log.stores.session_folder import Folder
from sightline.providers.catalog import price_of as known_price
from sightline.server.rest_operation import Busy
from sightline.view.catalog.places import Place
from sightline.view.costs import PriceOf
from sightline.view.report.forecast import ECONOMIES
from sightline.view.report.session_report import report_of
from sightline.view.report.talk import conversation_of
from sightline.view.report.values import SessionReport

_KEPT = 32  # reports of sessions that may be asked for again
_AT_ONCE = 2  # that are made at the same time: each takes a processor, and the whole log in memory
_WAITING = 16  # that may wait for that


class _Stopped(Exception):
    """The server stops."""


class Reports:
    """Reports by session, branch and content. For one event loop."""

    def __init__(self, price_of: PriceOf = known_price) -> None:
        self._price_of = price_of
        self._made: dict[Hashable, SessionReport] = {}
        self._tasks: dict[Hashable, asyncio.Task[SessionReport]] = {}
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._is_closed = False

    async def get(self, place: Place, session_id: str, branch: str, *, forecast: bool) -> SessionReport:
        """Return the report of a session's branch. Who asks for one that is being made waits for that.

        Raises:
            BadInput: nobody says anything in it.
            Busy: many others are being made.
        """
        content = await asyncio.to_thread(content_of, place.stores, session_id)
        key = (place.key, session_id, branch, forecast, content)
        if (made := self._made.get(key)) is not None:
            return made
        if (task := self._tasks.get(key)) is None:
            if len(self._tasks) >= _WAITING:
                raise Busy(f"{len(self._tasks)} reports are being made")
            task = asyncio.get_running_loop().create_task(self._make(key, place, session_id, branch, forecast))
            self._tasks[key] = task
        return await asyncio.shield(task)  # others may wait for it, so it does not end with this request

    async def close(self) -> None:
        """End what is being made, and wait for that."""
        self._is_closed = True
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _make(self, key: Hashable, place: Place, session_id: str, branch: str, forecast: bool) -> SessionReport:
        try:
            async with self._room:
                self._check()
                made = await asyncio.to_thread(
                    _read, place.stores, session_id, branch, forecast, self._check, self._price_of
                )
            while len(self._made) >= _KEPT:
                del self._made[next(iter(self._made))]
            self._made[key] = made
            return made
        except _Stopped:
            raise Busy("the server is being stopped") from None
        finally:
            del self._tasks[key]

    def _check(self) -> None:
        if self._is_closed:
            raise _Stopped


def _read(
    stores: Stores, session_id: str, branch: str, forecast: bool, tick: Callable[[], None], price_of: PriceOf
) -> SessionReport:  # fmt: skip
    with closing(stores.open(session_id)) as store:
        conversation = conversation_of(store, branch)
        return report_of(conversation, economies=ECONOMIES if forecast else (), tick=tick, price_of=price_of)


def content_of(stores: Stores, session_id: str) -> str:
    """Return a digest of a session's log. Its size and time do not tell: both may stay while a line is replaced."""
    if isinstance(stores, Folder):
        with stores.existing(session_id).open("rb") as file:
            return file_digest(file, partial(blake2b, digest_size=16)).hexdigest()
    digest = blake2b(digest_size=16)
    with closing(stores.open(session_id)) as store:
        store.refresh()
        for line in store.scan():
            digest.update(line.data + b"\n")
    return digest.hexdigest()
