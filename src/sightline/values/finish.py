"""Work that is finished once it was begun, for event loops."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

R = TypeVar("R")


async def finish(work: Awaitable[R]) -> R:
    """Return what this work gives. A cancellation takes effect when it is done, so that nothing is left half done."""
    future, cancelled = asyncio.ensure_future(work), None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not future.cancelled():
            future.exception()  # asyncio warns about an exception that nobody reads
        raise cancelled
    return future.result()
