"""The model for work beside the conversation, such as extraction, and the summaries that a model writes."""

import asyncio
import warnings
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from functools import partial
from typing import Any, NamedTuple

from sightline.agent.models import Model, ModelInfo, Reply, Request, RetryScheduled, TextDelta, full_reply
from sightline.compaction.compactor import SECONDS, Compacted
from sightline.compaction.prompt import no_summary
from sightline.errors import ModelError, SightlineError
from sightline.plan import Budget, completed
from sightline.session.session import Session
from sightline.values.phrases import Phrases, texts
from sightline.wire.payload import Payload

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


class BackgroundRequests:
    """What threads ask the model for. Whatever they ask for after `close` is cancelled at once."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_closed = False

    async def run(self, ask: Callable[[], Coroutine[Any, Any, dict[str, Any]]]) -> dict[str, Any]:
        """Ask, unless these are closed, and return the answer."""
        task = asyncio.current_task()
        assert task is not None
        if self._is_closed:  # a connection that is opened now would stay open
            raise asyncio.CancelledError
        self._tasks.add(task)
        try:
            return await ask()
        finally:
            self._tasks.discard(task)

    async def close(self) -> None:
        """Cancel those of this event loop and wait for their ends."""
        self._is_closed = True
        tasks = [task for task in self._tasks if task.get_loop() is asyncio.get_running_loop()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Summarizer(NamedTuple):
    """Summarises a session for a token budget."""

    session: Session
    model: Model
    budget: Budget
    on_reply: Callable[[Reply], None]  # called for each reply, also if its summary is not used
    write: Callable[[Payload], Payload]  # a request as the model gets it
    background: "BackgroundRequests"

    async def compact(self) -> Compacted:
        """See `Agent.compact`. The model writes first, because then a cancellation leaves everything as it was."""
        if not self.model.info.capable:
            return await asyncio.to_thread(self.session.summaries.compact, self.budget)
        job = await asyncio.to_thread(self.session.summaries.preview, self.budget)
        try:
            async with asyncio.timeout(SECONDS):
                summary: Any = await self._answer(job.request)
        except TimeoutError:
            summary = no_summary("late", self.session.settings.locale, seconds=SECONDS)
        except SightlineError as error:
            summary = error

        def prepared(request: Payload) -> Any:
            if request.hash != job.request.hash:
                raise no_summary("went on", self.session.settings.locale)
            if isinstance(summary, Exception):
                raise summary
            return summary

        return await asyncio.to_thread(self.session.summaries.compact, self.budget, model=prepared)

    async def _answer(self, payload: Payload) -> dict[str, Any]:
        output = min(self.budget.output, self.model.info.output)
        reply = await full_reply(self.model, Request(self.write(payload), output))
        self.on_reply(reply)
        return reply.raw

    def begin(self) -> bool:
        """See `Agent.compact_in_background`. A thread summarises, and gets the model as a plain function."""
        running = asyncio.get_running_loop()

        def ask(payload: Payload) -> dict[str, Any]:
            answer = self.background.run(partial(self._answer, payload))
            try:
                return asyncio.run_coroutine_threadsafe(answer, running).result()
            except RuntimeError:  # the loop has ended meanwhile
                answer.close()
                raise

        return self.session.summaries.in_background(ask)
