"""A model that is asked again where that may help, and then another one."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple

from sightline.agent.models import Facts, Model, Reply, Request, Retrying, Said
from sightline.agent.models.endpoint import ATTEMPTS
from sightline.errors import ModelBusy, ModelError, ModelRefused

FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0  # between two attempts of our own choosing
LONGEST_ASKED = 60.0  # a provider that asks for more is left for the next model; nobody sits before a screen that long


class _Next(NamedTuple):
    """What is done after a failure: the model's place in the list, and how long to wait before."""

    place: int
    seconds: float


class Patient:
    """Asks a model again while it is busy, and after that, or where it refuses, the next one.

    Its facts are the first model's: payloads are composed for that one. What was said of an answer that broke off does
    not count: whoever showed it drops it when `Retrying` comes. Too long a payload is not asked again: it must be
    composed anew.
    """

    def __init__(
        self,
        models: Sequence[Model],
        *,
        attempts: int | Sequence[int] = ATTEMPTS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`attempts` of each model, or one number for all. `jitter` gives 0 to 1, so that not all come back at once."""
        self.models = tuple(models)
        self._attempts = (attempts,) * len(self.models) if isinstance(attempts, int) else tuple(attempts)
        self._sleep, self._jitter = sleep, jitter

    @property
    def facts(self) -> Facts:
        """Those of the model that is asked first."""
        return self.models[0].facts

    async def stream(self, request: Request) -> AsyncGenerator[Said | Retrying | Reply, None]:
        """See `Model.stream`. Where several models failed, the error tells of all of them."""
        failures: list[tuple[str, ModelError]] = []
        place, tries, again = 0, 1, 2
        while True:
            model = self.models[place]
            try:
                async with aclosing(model.stream(request)) as answer:
                    async for piece in answer:
                        yield piece
                return
            except (ModelBusy, ModelRefused) as error:
                failures.append((model.facts.name, error))
                following = self._after(error, place, tries)
            if following is None:
                raise _summed_up(failures)
            fallback = self.models[following.place].facts.name if following.place != place else ""
            yield Retrying(model.facts.name, str(failures[-1][1]), following.seconds, again, fallback)
            await self._sleep(following.seconds)
            tries = tries + 1 if following.place == place else 1
            place, again = following.place, again + 1

    async def close(self) -> None:
        """Let go of the connections of all models."""
        for model in self.models:
            await model.close()

    def _after(self, error: ModelError, place: int, tries: int) -> _Next | None:
        seconds = self._wait(error, tries) if tries < self._attempts[place] else None
        if seconds is not None:
            return _Next(place, seconds)
        return _Next(place + 1, 0.0) if place + 1 < len(self.models) else None

    def _wait(self, error: ModelError, tries: int) -> float | None:
        """Seconds to wait before this model is asked again; None: it is not."""
        if not isinstance(error, ModelBusy):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= LONGEST_ASKED else None
        longest = min(FIRST_WAIT * 2.0 ** (tries - 1), LONGEST_WAIT)
        return float(longest * (0.5 + self._jitter() / 2))


def _summed_up(failures: Sequence[tuple[str, ModelError]]) -> ModelError:
    """The last error; where several models were asked, one that says why each of them failed."""
    last = dict(failures)  # of each model, what it said last
    if len(last) == 1:
        return failures[-1][1]
    told = "none of the models answered: " + "; ".join(map(str, last.values()))
    if any(isinstance(error, ModelBusy) for error in last.values()):
        return ModelBusy(told)
    return ModelRefused(told)
