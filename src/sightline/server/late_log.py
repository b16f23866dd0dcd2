"""Has calls wait in a spool while the log cannot be written, and logs them as soon as it can."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from sightline.errors import StoreError
from sightline.follow.late_calls import LateCall, LoggedCall, log_late
from sightline.follow.turns import Turns
from sightline.server.metrics import Metrics
from sightline.server.spool import Spool

_BRING_SECONDS = 5.0  # between two attempts to log what waits
_log = logging.getLogger("sightline.server")


class LateLog:
    """What a server does with its spool, if it has one. For one event loop."""

    def __init__(
        self, spool: Spool | None, turns: Turns, metrics: Metrics, on_logged: Callable[[LoggedCall], None]
    ) -> None:
        """`on_logged` gets each call that is in the log now."""
        self._spool, self._turns, self._metrics, self._on_logged = spool, turns, metrics, on_logged
        self._task: asyncio.Task[None] | None = None  # has what waits logged, as long as anything does

    @property
    def has_spool(self) -> bool:
        """Whether calls can wait here at all."""
        return self._spool is not None

    @property
    def refuses(self) -> bool:
        """Whether the last call could not be kept, so that it is asked before the next one goes up."""
        return self._spool is not None and self._spool.refuses

    async def keep(self, call: LateCall) -> str:
        """Keep a call that cannot be logged now until it can be. Return why that is not possible; empty: it is kept."""
        if self._spool is None:
            return "nothing is kept meanwhile"
        try:
            await asyncio.to_thread(self._spool.put, call)
        except StoreError as error:  # there is no room, or the disk refuses
            return str(error)
        self.begin()
        return ""

    def begin(self) -> None:
        """Have what waits logged as soon as that is possible."""
        if self._spool is not None and self._spool.waits and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._bring_in_later(self._spool))

    async def _bring_in_later(self, spool: Spool) -> None:
        while spool.waits:
            with suppress(StoreError):
                await self.bring_in()
            await asyncio.sleep(_BRING_SECONDS if spool.waits else 0)

    async def bring_in(self) -> None:
        """Log what waits. Raises StoreError if that is not possible now."""
        spool = self._spool
        if spool is None or not spool.waits:
            return
        logged: list[LoggedCall] = []
        try:
            await asyncio.to_thread(spool.bring_in, lambda calls: logged.extend(log_late(self._turns, calls)))
        finally:
            self._metrics.brought_in(len(logged))
            for call in logged:
                self._on_logged(call)
        if logged:
            _log.warning("calls that waited in %s and are logged now: %d", spool.place, len(logged))

    def note_logged(self) -> None:
        """Take calls again, since the log can be written."""
        if self._spool is not None and self._spool.refuses:
            self._spool.note_logged()

    async def close(self) -> None:
        """Leave what waits to the next server."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._spool is not None:
            await asyncio.to_thread(self._spool.close)
