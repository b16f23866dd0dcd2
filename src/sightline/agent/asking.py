"""Asking a model for all of its answer, and what a question needs that may not be left half done."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from itertools import chain, count
from typing import Any

from sightline.agent.models import Model, Reply, Request, RetryScheduled, TextDelta
from sightline.errors import ModelError
from sightline.values.items import Opaque, Text, plain_text
from sightline.wire import read_reply


async def whole(
    model: Model, request: Request, say: Callable[[TextDelta | RetryScheduled], None] | None = None
) -> Reply:
    """The model's reply, its pieces told as they come."""
    async with aclosing(model.stream(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Reply):
                return piece
            if say is not None:
                say(piece)
    raise ModelError(f"{model.info.name} ended without an answer")


def says_nothing(reply: Reply) -> bool:
    """Whether a reply has neither words nor calls nor anything else to show: thinking alone is none."""
    parts = read_reply(reply.raw).parts
    return not plain_text(parts).strip() and all(isinstance(part, Text | Opaque) for part in parts)


def distinct(raw: dict[str, Any]) -> dict[str, Any]:
    """A reply whose calls can be told apart: some servers give every call of a tool the same id."""
    match raw:
        case {"choices": [{"message": {"tool_calls": [*calls]} as message} as choice, *rest]}:
            return raw | {"choices": [choice | {"message": message | {"tool_calls": _renamed(calls)}}, *rest]}
        case {"content": [*blocks], "role": "assistant"}:
            return raw | {"content": _renamed(blocks)}
        case _:
            return raw


def _renamed(calls: list[Any]) -> list[Any]:
    """Each with an id that none before it has; what has no id is left as it is."""
    seen: set[str] = set()
    made = []
    for call in calls:
        match call:
            case {"id": str(said)}:
                own = next(name for name in chain([said], (f"{said}_{n}" for n in count(2))) if name not in seen)
                seen.add(own)
                made.append(call | {"id": own})
            case _:
                made.append(call)
    return made


async def to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Do something short whole: who cancels it is heard afterwards."""
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.shield(doing)
    except asyncio.CancelledError:
        await doing
        raise
