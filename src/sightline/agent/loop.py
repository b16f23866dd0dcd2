"""The loop of an agent: compose what the model sees, ask it, run the tools it calls, and again until it answers."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

FIRST = "context"
"""The step that a turn begins with."""

Step = Callable[[], Awaitable[str]]
"""Does one step of a turn, and returns the name of the next one; empty after the last."""

Loop = Callable[[Mapping[str, Step]], Coroutine[Any, Any, None]]
"""Runs the steps of a turn, by their names, from `FIRST` to the last."""


async def run(steps: Mapping[str, Step]) -> None:
    """Run the steps of a turn, one after the other."""
    name = FIRST
    while name:
        name = await steps[name]()
