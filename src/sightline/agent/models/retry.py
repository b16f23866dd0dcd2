"""A model that is asked again if that may help, and its fallbacks."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from sightline.agent.models import Model, ModelInfo, Reply, Request, RetryScheduled, TextDelta
from sightline.agent.models.endpoint import ATTEMPTS
from sightline.agent.models.errors import TransientFailure
from sightline.errors import ContextOverflow, ModelBusy, ModelError, ModelRefused

FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0  # between two attempts, if the provider does not say how long to wait
LONGEST_ASKED = 60.0  # if a provider asks for more, the next model is asked, because users do not wait that long


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
        """`attempts` for each model, or one number for all. `jitter` (0 to 1) spreads the retries of clients."""
        self.models = tuple(models)
        self._attempts = (attempts,) * len(self.models) if isinstance(attempts, int) else tuple(attempts)
        self._sleep, self._jitter = sleep, jitter

    @property
    def info(self) -> ModelInfo:
        return self.models[0].info

    async def stream(self, request: Request) -> AsyncGenerator[TextDelta | RetryScheduled | Reply, None]:
        """See `Model.stream`. If several models failed, the error names all of them.

        `ContextOverflow` is raised for the first model only.
        """
        failures: dict[int, ModelError] = self._too_small(request)  # the last error of each model, by its place
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
                following, seconds = self._next_attempt(failures, place, tries)
            if following == len(self.models):
                raise _combined(failures)
            fallback = self.models[following].info.name if following != place else ""
            why = "; ".join(str(failures[failed_at]) for failed_at in (place, *range(place + 1, following)))
            tries = 1 if fallback else tries + 1
            attempts = 0 if fallback else self._attempts[place]
            failed = failures[place] if why == str(failures[place]) else None  # else several failed
            reason = (failed.kind, failed.detail) if isinstance(failed, TransientFailure) else ("", "")
            yield RetryScheduled(model.info.name, why, seconds, tries, fallback, attempts, *reason)
            await self._sleep(seconds)
            place = following

    async def close(self) -> None:
        for model in self.models:
            await model.close()

    def _for(self, place: int, request: Request) -> Request:
        """Return the request for a model: the reply of a fallback may have a smaller token limit."""
        return replace(request, output=min(request.output, self.models[place].info.output)) if place else request

    def _too_small(self, request: Request) -> dict[int, ModelError]:
        """Return the fallbacks whose context window is too small for this request, and why."""
        too_small: dict[int, ModelError] = {}
        for place, model in enumerate(self.models):
            needed = request.payload.tokens + self._for(place, request).output
            if place and needed > model.info.window:
                too_small[place] = ModelRefused(
                    f"{model.info.name} is not asked: {needed} tokens do not fit into its {model.info.window}"
                )
        return too_small

    def _next_attempt(self, failures: Mapping[int, ModelError], place: int, tries: int) -> tuple[int, float]:
        """Return the place of the model to ask next, behind the last if there is none, and how long to wait before."""
        seconds = self._wait(failures[place], tries) if tries < self._attempts[place] else None
        if seconds is not None:
            return place, seconds
        untried = (other for other in range(place + 1, len(self.models)) if other not in failures)
        return next(untried, len(self.models)), 0.0

    def _wait(self, error: ModelError, tries: int) -> float | None:
        """Return the seconds to wait before this model is asked again; None: it is not."""
        if not isinstance(error, ModelBusy):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= LONGEST_ASKED else None
        longest = min(FIRST_WAIT * 2.0 ** (tries - 1), LONGEST_WAIT)
        return float(longest * (0.5 + self._jitter() / 2))


def _combined(failures: Mapping[int, ModelError]) -> ModelError:
    """Return the model's error; of several models, one error with all reasons. It is ModelBusy if one of them is."""
    if len(failures) == 1:
        return failures[0]
    errors = [failures[place] for place in sorted(failures)]
    message = "none of the models answered: " + "; ".join(map(str, errors))
    busy = [error for error in errors if isinstance(error, ModelBusy)]
    if not busy:
        return ModelRefused(message)
    kind = busy[0].kind if isinstance(busy[0], TransientFailure) else ""
    return TransientFailure(kind, message, retry_after=busy[0].retry_after)
