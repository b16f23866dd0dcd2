"""Summaries by the agent's model. They count in what was spent, and a cancelled one changes nothing."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from sightline.agent.models import Model, Reply, Request, full_reply
from sightline.compaction.compactor import SECONDS, Compacted
from sightline.compaction.prompt import no_summary
from sightline.errors import SightlineError
from sightline.plan import Budget
from sightline.session.session import Session
from sightline.wire.payload import Payload


class Summarizer(NamedTuple):
    """Summarises a session for a token budget."""

    session: Session
    model: Model
    budget: Budget
    on_reply: Callable[[Reply], None]  # called for each reply, also if its summary is not used
    write: Callable[[Payload], Payload]  # a request as the model gets it

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
        return self.session.summaries.in_background(
            lambda payload: asyncio.run_coroutine_threadsafe(self._answer(payload), running).result()
        )
