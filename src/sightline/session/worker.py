"""Worker threads for sessions: the calls of one session run one after another, and no event loop waits for them."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from threading import Lock
from typing import Any, Generic, TypeVar

from sightline.values.finish import finish

_WORKERS = min(32, (os.cpu_count() or 1) + 4)  # threads for all sessions together: their work is short

R = TypeVar("R")


class _Job(Generic[R]):
    """A call: its work, what comes of it, and who waits for it. Has no cycle, so that it needs no collection."""

    __slots__ = ("drop", "error", "has_ended", "loop", "result", "waiter", "work")

    def __init__(
        self, work: Callable[[], R], drop: Callable[[R], object] | None, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.work, self.drop, self.loop = work, drop, loop
        self.waiter = loop.create_future()
        self.has_ended = False  # known on the loop's thread
        self.result: R
        self.error: BaseException | None = None

    def do(self) -> None:
        """Do the work, in a thread, and tell the loop."""
        try:
            self.result = self.work()
        except BaseException as error:  # for whoever waits
            self.error = error
        try:
            self.loop.call_soon_threadsafe(self._end)
        except RuntimeError:  # the loop is closed, and nobody can hear it
            if self.drop is not None and self.error is None:
                with suppress(Exception):
                    self.drop(self.result)

    def _end(self) -> None:
        self.has_ended = True
        if not self.waiter.done():
            self.waiter.set_result(None)

    def outcome(self) -> R:
        """Return the result, or raise the error."""
        if self.error is None:
            return self.result
        error, self.error = self.error, None  # its traceback will hold whoever holds this job
        try:
            raise error
        finally:
            del error


class Worker:
    """Runs the calls of one session in the order in which they were made, each in a thread, for any event loop."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process, self._lock, self._busy = os.getpid(), Lock(), False
        self._jobs: deque[_Job[Any]] = deque()

    async def run(self, work: Callable[[], R], drop: Callable[[R], object] | None = None) -> R:
        """Run this in a thread, after all that was begun before.

        If this is cancelled, work that has begun is finished, and other work is not begun. `drop` then gets the result,
        which nobody else receives.
        """
        job, cancelled = _Job(work, drop, asyncio.get_running_loop()), None
        self._put(job)
        while not job.has_ended:
            try:
                await job.waiter
            except asyncio.CancelledError as error:
                if self._withdraw(job):
                    raise
                cancelled, job.waiter = error, job.loop.create_future()
        if cancelled is None:
            return job.outcome()
        if drop is not None and job.error is None:
            await finish(self.run(partial(drop, job.result)))
        raise cancelled

    def _put(self, job: _Job[Any]) -> None:
        if self._process != os.getpid():  # the threads of the process that this one was forked from are not here
            self._begin()
        with self._lock:
            self._jobs.append(job)
            if not self._busy:
                _pool().submit(self._work)
                self._busy = True

    def _withdraw(self, job: _Job[Any]) -> bool:
        """Take a job back. Return whether it had not begun."""
        with self._lock, suppress(ValueError):
            self._jobs.remove(job)
            return True
        return False

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._busy = False
                    return
                job = self._jobs.popleft()
            job.do()
            del job  # nothing is held while the thread waits


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_WORKERS, thread_name_prefix="sightline session")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its threads
