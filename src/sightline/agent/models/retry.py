"""A model that is asked again where that may help, and then another one."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import NamedTuple

from msgspec.structs import replace

from sightline.agent.models import Model, ModelInfo, Reply, Request, RetryScheduled, TextDelta
from sightline.agent.models.endpoint import ATTEMPTS
from sightline.errors import ContextOverflow, ModelBusy, ModelError, ModelRefused

FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0  # between two attempts of our own choosing
LONGEST_ASKED = 60.0  # a provider that asks for more is left for the next model; nobody sits before a screen that long


class _Next(NamedTuple):
    """What is done after a failure: the model's place in the list, and how long to wait before."""

    place: int
    seconds: float


class RetryingModel:
    """Asks a model again while it is busy; after its last attempt, or if it refuses, asks the next model.

    `info` is the first model's, because payloads are composed for that one. Text of an answer that broke off does not
    count: whoever showed it removes it when `RetryScheduled` comes. A payload that is too long for the first model
    raises ContextOverflow, because it must be composed again. A fallback for which it is too long is skipped.
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
    def info(self) -> ModelInfo:
        """Those of the model that is asked first."""
        return self.models[0].info

    async def stream(self, request: Request) -> AsyncGenerator[TextDelta | RetryScheduled | Reply, None]:
        """See `Model.stream`. Where several models failed, the error tells of all of them.

        `ContextOverflow` is raised for the first model alone.
        """
        failures: dict[int, ModelError] = self._too_small(request)  # what each model said last, by its place
        place, tries = 0, 1
        while True:
            model = self.models[place]
            try:
                async with aclosing(model.stream(self._for(place, request))) as answer:
                    async for piece in answer:
                        yield piece
                return
            except (ModelBusy, ModelRefused, ContextOverflow) as error:
                if not place and isinstance(error, ContextOverflow):
                    raise
                failures[place] = error
                following = self._after(failures, place, tries)
            if following is None:
                raise _summed_up(failures)
            fallback = self.models[following.place].info.name if following.place != place else ""
            why = "; ".join(str(failures[each]) for each in (place, *range(place + 1, following.place)))
            tries = 1 if fallback else tries + 1
            yield RetryScheduled(model.info.name, why, following.seconds, tries, fallback)
            await self._sleep(following.seconds)
            place = following.place

    async def close(self) -> None:
        """Let go of the connections of all models."""
        for model in self.models:
            await model.close()

    def _for(self, place: int, request: Request) -> Request:
        """The request as a model takes it: a fallback may have less room for its answer than the first one."""
        return replace(request, output=min(request.output, self.models[place].info.output)) if place else request

    def _too_small(self, request: Request) -> dict[int, ModelError]:
        """The fallbacks that cannot hold this request, and why."""
        found: dict[int, ModelError] = {}
        for place, model in enumerate(self.models):
            needed = request.payload.tokens + self._for(place, request).output
            if place and needed > model.info.window:
                why = f"{model.info.name} is not asked: {needed} tokens do not fit into its {model.info.window}"
                found[place] = ModelRefused(why)
        return found

    def _after(self, failures: Mapping[int, ModelError], place: int, tries: int) -> _Next | None:
        seconds = self._wait(failures[place], tries) if tries < self._attempts[place] else None
        if seconds is not None:
            return _Next(place, seconds)
        untried = (each for each in range(place + 1, len(self.models)) if each not in failures)
        return next((_Next(each, 0.0) for each in untried), None)

    def _wait(self, error: ModelError, tries: int) -> float | None:
        """Seconds to wait before this model is asked again; None: it is not."""
        if not isinstance(error, ModelBusy):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= LONGEST_ASKED else None
        longest = min(FIRST_WAIT * 2.0 ** (tries - 1), LONGEST_WAIT)
        return float(longest * (0.5 + self._jitter() / 2))


def _summed_up(failures: Mapping[int, ModelError]) -> ModelError:
    """The model's error; where there are several models, one that says why each of them failed. Busy, if one was."""
    if len(failures) == 1:
        return failures[0]
    errors = [failures[place] for place in sorted(failures)]
    told = "none of the models answered: " + "; ".join(map(str, errors))
    busy = [error for error in errors if isinstance(error, ModelBusy)]
    return ModelBusy(told, busy[0].retry_after) if busy else ModelRefused(told)
