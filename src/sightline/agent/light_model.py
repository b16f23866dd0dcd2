"""The model for work beside the conversation: summaries and extraction."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from sightline.agent.models import Model, ModelInfo, Reply, Request, RetryScheduled, TextDelta
from sightline.errors import ModelError


class LightModel:
    """Asks the light model that a strategy names; after its first failure, and without one, the agent's own model."""

    def __init__(self, model: Model, light: Model | None, on_failure: Callable[[str, ModelError], None]) -> None:
        """`on_failure` is called once, with the name of the light model."""
        self._model, self._light, self._on_failure = model, light, on_failure

    @property
    def info(self) -> ModelInfo:
        return (self._light or self._model).info

    async def stream(self, request: Request) -> AsyncGenerator[TextDelta | RetryScheduled | Reply, None]:
        """See `Model.stream`."""
        while True:
            asked = self._light or self._model
            try:
                async with aclosing(asked.stream(request)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except ModelError as error:
                if asked is not self._light:
                    raise
                self._light = None
                self._on_failure(asked.info.name, error)
                await asked.close()

    async def close(self) -> None:
        """Close the light model. The agent's own is not closed."""
        if self._light is not None:
            await self._light.close()
