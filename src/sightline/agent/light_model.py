"""The model for work beside the conversation: summaries and extraction."""

import warnings
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from sightline.agent.models import Model, ModelInfo, Reply, Request, RetryScheduled, TextDelta
from sightline.errors import ModelError
from sightline.plan import completed
from sightline.session.session import Session
from sightline.values.phrases import Phrases, texts

_SAY = Phrases(texts("light_model"))


class LightModel:
    """Asks the light model that a strategy names; after its first failure, and without one, the agent's own model."""

    def __init__(
        self, model: Model, light: Model | None, session: Session, warn: Callable[[str], object] = warnings.warn
    ) -> None:
        """`warn` is called if the light model fails or the strategy's is not given, in the session's language."""
        self._model, self._light, self._session, self._warn = model, light, session, warn
        self._failed: Model | None = None  # a light model that is asked no more
        if light is None and (name := completed(session.strategy).compression_model):
            warn(_SAY("not given", session.settings.locale, light=name, model=model.info.name))

    @property
    def info(self) -> ModelInfo:
        return (self._light or self._model).info

    async def stream(self, request: Request) -> AsyncGenerator[TextDelta | RetryScheduled | Reply, None]:
        """See `Model.stream`."""
        while True:
            light = self._light if self._fits(request) else None
            model = light or self._model
            try:
                async with aclosing(model.stream(request)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except ModelError as error:
                if light is None:
                    raise
                if self._light is light:  # else another request has found out first
                    self._light, self._failed = None, light
                    names = {"light": light.info.name, "model": self._model.info.name}
                    self._warn(_SAY("failed", self._session.settings.locale, why=error, **names))

    def _fits(self, request: Request) -> bool:
        """Whether the light model's context window is large enough for a request."""
        return self._light is not None and request.payload.tokens + request.output <= self._light.info.window

    async def close(self) -> None:
        """Close the light model. The agent's own is not closed."""
        for light in (self._light, self._failed):
            if light is not None:
                await light.close()
