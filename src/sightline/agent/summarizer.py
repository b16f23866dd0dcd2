"""Summaries by the agent's model: asked for, counted, and given up on when whoever waits gives up."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from sightline.agent.asking import whole
from sightline.agent.models import Model, Reply, Request
from sightline.compaction.compactor import SECONDS, Compacted, Job
from sightline.errors import ModelBusy, SightlineError
from sightline.plan.budget import Budget
from sightline.session.session import Session
from sightline.wire.payload import Payload


class Summarizing(NamedTuple):
    """Who summarises a session, and for which budget."""

    session: Session
    model: Model
    budget: Budget
    counted: Callable[[Reply], None]  # what a summary used is spent, whatever becomes of it
    written: Callable[[Payload], Payload] | None = None  # where the model takes no calls

    async def compact(self) -> Compacted:
        """See `Agent.compact`. The model is asked before anything is decided, so that it can be given up on."""
        if not self.model.info.capable:
            return await asyncio.to_thread(self.session.summaries.compact, self.budget)
        job = await asyncio.to_thread(self.session.summaries.preview, self.budget)
        summary = await self._summary(job)

        def said(asked: Payload) -> Any:
            if asked.hash != job.request.hash:
                raise ModelBusy("the conversation went on while it was summarised")
            if isinstance(summary, Exception):
                raise summary
            return summary

        return await asyncio.to_thread(self.session.summaries.compact, self.budget, model=said)

    async def _summary(self, job: Job) -> Any:
        """The model's answer, or why there is none."""
        try:
            async with asyncio.timeout(SECONDS):
                return await self._answer(job.request)
        except TimeoutError:
            return ModelBusy(f"the model gave no answer within {SECONDS:g} seconds")
        except SightlineError as error:
            return error

    async def _answer(self, payload: Payload) -> dict[str, Any]:
        request = Request(self.written(payload) if self.written is not None else payload, self.budget.output)
        reply = await whole(self.model, request)
        self.counted(reply)
        return reply.raw

    def begin(self) -> bool:
        """See `Agent.compact_in_background`: the model as a plain function, for the thread that summarises."""
        running = asyncio.get_running_loop()
        return self.session.summaries.in_background(
            lambda payload: asyncio.run_coroutine_threadsafe(self._answer(payload), running).result()
        )
