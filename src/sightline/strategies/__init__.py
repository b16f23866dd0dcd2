"""Strategies decide levels; the plan keeps the laws. Found by name."""

from typing import Any

import msgspec

from sightline.errors import BadInput
from sightline.plan import Strategy
from sightline.strategies.focus import Focus
from sightline.strategies.sliding import Sliding

STRATEGIES: dict[str, type[Any]] = {"focus": Focus, "sliding": Sliding}


def strategy(name: str, config: dict[str, Any] | None = None) -> Strategy:
    """The strategy of this name with this configuration.

    Raises:
        BadInput: there is no such strategy, or it does not take this configuration.
    """
    if name not in STRATEGIES:
        raise BadInput(f"unknown strategy {name!r}; choose one of {', '.join(STRATEGIES)}")
    try:
        made: Strategy = msgspec.convert(config or {}, STRATEGIES[name])
    except msgspec.ValidationError as error:
        raise BadInput(f"strategy {name!r} does not take this configuration: {error}") from error
    return made
