"""Whether a server can work now, for load balancers: asked often, answered soon, and without work that adds up.

The store is asked one cheap thing in a thread of its own. However many ask, one such thread runs at a time. If it gets
no answer, because the network is silent or every connection is in use, the server is not ready.
"""

import asyncio
import logging
import threading
import time
from contextlib import suppress

from sightline.log.stores import Stores, as_placed

ANSWER_SECONDS = 2.0  # that the store has; probes usually give up after some more
_FRESH_SECONDS = 0.5  # for which an answer is given again

_log = logging.getLogger("sightline.server")


class Readiness:
    """Asks a store whether it can be used."""

    def __init__(self, stores: Stores, seconds: float = ANSWER_SECONDS) -> None:
        self._stores, self._seconds = stores, seconds
        self._answer: asyncio.Future[str] | None = None  # what the store is asked now, or was asked last
        self._since = 0.0
        self._told = ""

    async def check(self) -> str:
        """Return why the store cannot be used; nothing, if it can. Takes about `seconds` at most."""
        if self._answer is None or (self._answer.done() and time.monotonic() - self._since > _FRESH_SECONDS):
            self._answer, self._since = asyncio.get_running_loop().create_future(), time.monotonic()
            threading.Thread(
                target=self._ask, args=(self._answer,), name="sightline readiness", daemon=True
            ).start()  # a daemon: one that gets no answer must not keep a server that stops
        answer = self._answer
        await asyncio.wait([answer], timeout=self._seconds)
        why = answer.result() if answer.done() else f"no answer in {self._seconds:g} seconds"
        if why != self._told:  # once, not at every probe
            self._told = why
            _log.warning("this server is %s", f"not ready: {why}" if why else "ready again")
        return why

    def _ask(self, answer: "asyncio.Future[str]") -> None:
        try:
            placed = as_placed(self._stores)
            if placed is not None:
                placed.check()
            else:
                self._stores.sessions()
            why = ""
        except Exception as error:  # whatever is wrong with the store, this server cannot work now
            why = str(error) or type(error).__name__
        with suppress(RuntimeError):  # the server has ended meanwhile
            answer.get_loop().call_soon_threadsafe(_answer, answer, why)


def _answer(answer: "asyncio.Future[str]", why: str) -> None:
    if not answer.done():
        answer.set_result(why)
