"""A tool's work in a thread of its own, which ends when nobody waits for it any more.

asyncio's threads are few and shared, the program waits for them at its end, and cancelled work keeps its thread: a few
slow calls would block everything else that needs a thread.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from threading import Lock, Thread
from typing import NoReturn, TypeVar

Result = TypeVar("Result")


class GivenUp(Exception):
    """Nobody waits for this work any more."""


class _Work:
    """The work of one thread: whether it is still wanted, and what must be ended with it."""

    def __init__(self) -> None:
        self.given_up = False
        self.endings: list[Callable[[], object]] = []
        self.lock = Lock()

    def give_up(self) -> None:
        with self.lock:
            self.given_up = True
            for end in self.endings:
                end()


_ELSEWHERE = _Work()  # all work outside such threads: it is never given up
_WORK: ContextVar[_Work] = ContextVar("sightline_work", default=_ELSEWHERE)


async def in_thread(function: Callable[..., Result], *arguments: object, **named: object) -> Result:
    """Run a function in a thread. If this is cancelled, the function's next `go_on` raises GivenUp."""
    work, answer = _Work(), Future[Callable[[], Result]]()
    answer.set_running_or_notify_cancel()  # so that it also takes a result for which nobody waits any more

    def run() -> None:
        _WORK.set(work)
        try:
            result = function(*arguments, **named)
            answer.set_result(lambda: result)
        except BaseException as error:
            answer.set_result(partial(_raise, error))  # no exception of the future, because asyncio replaces some

    # A daemon, because work that hangs must not keep the program from ending.
    Thread(target=copy_context().run, args=(run,), name="sightline tool", daemon=True).start()
    try:
        return (await asyncio.wrap_future(answer))()
    finally:
        work.give_up()


def _raise(error: BaseException) -> NoReturn:
    raise error


def go_on() -> None:
    """Raise GivenUp if nobody waits for this work any more. Long work calls it now and then."""
    if _WORK.get().given_up:
        raise GivenUp


@contextmanager
def ending_with(end: Callable[[], object]) -> Iterator[None]:
    """Call `end` if this work is given up during the block, for work that cannot call `go_on`. Raises GivenUp."""
    work = _WORK.get()
    with work.lock:
        go_on()
        work.endings.append(end)
    try:
        yield
    finally:
        with work.lock:
            work.endings.remove(end)
