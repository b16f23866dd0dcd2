"""What a tool does beside the event loop: in a thread of its own, which ends when nobody waits for it any more.

asyncio's threads are few, shared by all, and waited for at the end of the program; work that was given up keeps the one
it has. A handful of slow calls, and everything else that needs a thread stands still.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from threading import Lock, Thread
from typing import TypeVar

Result = TypeVar("Result")


class GivenUp(Exception):
    """Nobody waits for this work any more."""


class _Work:
    """What is done in one thread: whether it is still wanted, and what else ends with it."""

    def __init__(self) -> None:
        self.given_up = False
        self.endings: list[Callable[[], object]] = []
        self.lock = Lock()

    def give_up(self) -> None:
        with self.lock:
            self.given_up = True
            for end in self.endings:
                end()


_WORK: ContextVar[_Work | None] = ContextVar("sightline_work", default=None)


async def in_thread(function: Callable[..., Result], *arguments: object, **named: object) -> Result:
    """What a function returns or raises. If this is cancelled, the function's next `go_on` raises GivenUp."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Result] = loop.create_future()
    work = _Work()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        _WORK.set(work)
        result, error = None, None
        try:
            result = function(*arguments, **named)
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop has ended, and with it whoever asked
            loop.call_soon_threadsafe(settle, result, error)

    # A daemon: what hangs must not keep the program from ending.
    Thread(target=copy_context().run, args=(run,), name="sightline tool", daemon=True).start()
    try:
        return await answer
    finally:
        work.give_up()


def go_on() -> None:
    """Called by long work now and then. Raises GivenUp."""
    work = _WORK.get()
    if work is not None and work.given_up:
        raise GivenUp


@contextmanager
def ending_with(end: Callable[[], object]) -> Iterator[None]:
    """While the block lasts, giving this work up calls `end`: for what waits where it cannot ask. Raises GivenUp."""
    work = _WORK.get()
    if work is None:
        yield
        return
    with work.lock:
        go_on()
        work.endings.append(end)
    try:
        yield
    finally:
        with work.lock:
            work.endings.remove(end)
