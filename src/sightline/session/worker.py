"""Worker threads for sessions: the calls of one session run one after another, and no event loop waits for them."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from threading import Lock
from typing import Any, TypeVar

from sightline.values.finish import finish

_WORKERS = min(32, (os.cpu_count() or 1) + 4)  # threads for all sessions together: their work is short

R = TypeVar("R")


class Worker:
    """Runs the calls of one session in the order in which they were made, each in a thread, for any event loop."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process, self._lock, self._busy = os.getpid(), Lock(), False
        self._jobs: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    async def run(self, work: Callable[[], R], drop: Callable[[R], object] | None = None) -> R:
        """Run this in a thread, after all that was begun before.

        If this is cancelled, work that has begun is finished, and other work is not begun. `drop` then gets the result,
        which nobody else receives.
        """
        loop, cancelled, job = asyncio.get_running_loop(), None, Future[R]()
        ended = loop.create_future()
        job.add_done_callback(lambda _: _tell(loop, ended) or self._drop(job, drop))
        self._put(job, work)
        while not ended.done():
            try:
                await asyncio.wait([ended])
            except asyncio.CancelledError as error:
                cancelled = error
                job.cancel()
        if cancelled is None:
            return job.result()
        if dropped := self._drop(job, drop):
            await finish(asyncio.wrap_future(dropped))
        raise cancelled

    def _drop(self, job: "Future[R]", drop: Callable[[R], object] | None) -> "Future[object] | None":
        """Begin to drop the result of a job, if there is any."""
        if drop is None or job.cancelled() or job.exception() is not None:
            return None
        dropped = Future[object]()
        self._put(dropped, partial(drop, job.result()))
        return dropped

    def _put(self, job: "Future[Any]", work: Callable[[], Any]) -> None:
        if self._process != os.getpid():  # the threads of the process that this one was forked from are not here
            self._begin()
        with self._lock:
            self._jobs.append((job, work))
            if not self._busy:
                _pool().submit(self._work)
                self._busy = True

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._busy = False
                    return
                job, work = self._jobs.popleft()
            if not job.set_running_or_notify_cancel():
                continue
            try:
                result = work()
            except BaseException as error:  # for whoever waits
                job.set_exception(error)
            else:
                job.set_result(result)
            del job, work  # nothing is held while the thread waits


def _tell(loop: asyncio.AbstractEventLoop, ended: "asyncio.Future[None]") -> bool:
    """Tell whoever waits on this loop that the work has ended. Return whether anybody can still hear it."""
    try:
        loop.call_soon_threadsafe(lambda: None if ended.done() else ended.set_result(None))
    except RuntimeError:  # the loop is closed
        return False
    return True


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_WORKERS, thread_name_prefix="sightline session")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its threads
