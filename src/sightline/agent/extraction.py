"""Extraction for the strategy `entities`: a model reads what the user said and fills in the state.

What no extraction has read yet stays in the prompt, so an answer never waits for one, and a failed one loses nothing.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from sightline.agent.models import Model, Reply, Request, full_reply
from sightline.agent.structured_response import objects
from sightline.errors import ModelRefused, SightlineError
from sightline.log.conflict import retry_on_conflict
from sightline.log.stores.memory import MemoryStore
from sightline.plan.budget import Budget
from sightline.plan.strategies.entities import Entities
from sightline.session.session import Session
from sightline.values.clock import iso, wall_clock
from sightline.values.items import Item, Kind, plain_text
from sightline.values.phrases import Phrases
from sightline.values.settings import Settings
from sightline.wire import read_reply
from sightline.wire.payload import Payload

SECONDS = 120.0  # until a model that does not answer is given up
_SAY = Phrases(
    {
        "task": (
            "Find values for the fields of this JSON Schema in what the user says below.\n\n{schema}\n\n"
            "Known so far: {state}\nToday is {today}.\n\n"
            "Answer with one JSON object that holds only the fields that the user gave a value for or changed. If the "
            "user takes a value back, give null. If there is none, answer {{}}. Do not answer the user.",
            "请从下面用户所说的话中，为此 JSON Schema 的字段找出取值。\n\n{schema}\n\n"
            "目前已知：{state}\n今天是 {today}。\n\n"
            "只返回一个 JSON 对象，其中只包含用户给出或更改了取值的字段；用户撤回的取值写 null；"
            "没有则返回 {{}}。不要回答用户的问题。",
        ),
        "failed": (
            "The values in what you said could not be extracted, so it stays in the prompt: {why}",
            "未能从您所说的内容中提取信息，相关对话保留在提示中：{why}",
        ),
        "now": ("Now answer with the JSON object and nothing else.", "现在请只返回该 JSON 对象。"),
    }
)


class Extraction:
    """Keeps a session's state up to date, in the background. One request at a time."""

    def __init__(
        self, session: Session, model: Model, on_reply: Callable[[Reply], None], warn: Callable[[str], object]
    ) -> None:
        """`on_reply` is called for each reply; `warn` if one fails for another reason than the one before."""
        self._session, self._model, self._on_reply, self._warn = session, model, on_reply, warn
        self._running: asyncio.Task[None] | None = None
        self.error = ""  # why the last extraction failed; empty if it did not
        self.refused: dict[str, str] = {}  # values of the last one that the schema does not allow: path → why

    @property
    def is_possible(self) -> bool:
        """Whether the session has such a strategy, and a model that can be trusted with it."""
        return isinstance(self._session.strategy, Entities) and self._model.info.capable

    def begin(self) -> None:
        """Read what the user said, unless that is going on already. Needs a running event loop."""
        if self.is_possible and (self._running is None or self._running.done()):
            self._running = asyncio.create_task(self._read_all())

    async def finish(self, seconds: float = SECONDS) -> None:
        """Wait for the extraction that is going on. If it takes longer than this, it is cancelled."""
        if self._running is not None:
            await asyncio.wait([self._running], timeout=seconds)
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _read_all(self) -> None:
        try:
            while unread := await asyncio.to_thread(lambda: self._session.unread):
                async with asyncio.timeout(SECONDS):
                    await self._read(unread)
                self.error = ""
        except (SightlineError, TimeoutError) as error:
            before, self.error = self.error, str(error) or f"no answer within {SECONDS:g} seconds"
            if self.error != before:
                self._warn(_SAY("failed", self._session.settings.locale, why=self.error))

    async def _read(self, unread: Sequence[Item]) -> None:
        """Ask for the values in these messages, and remember those that the schema allows."""
        session, strategy = self._session, self._session.strategy
        assert isinstance(strategy, Entities)
        asked = [item for item in unread if item.kind is Kind.USER]
        found: dict[str, Any] | None = {}
        if any(plain_text(item.parts).strip() for item in asked):  # else there are only images or files
            output = min(self._model.info.output, self._model.info.window // 4)
            request = Request(await asyncio.to_thread(self._payload, strategy, unread, output), output)
            reply = await full_reply(self._model, request)
            self._on_reply(reply)
            found, _ = next(objects(plain_text(read_reply(reply.raw).parts)), (None, False))
            if found is None:
                raise ModelRefused(f"{reply.model} answered without a JSON object")
        state, self.refused = strategy.merged(session.state, found)
        remember = partial(session.remember, state, read=asked[-1].id)
        await asyncio.to_thread(retry_on_conflict, remember, session.refresh)

    def _payload(self, strategy: Entities, unread: Sequence[Item], output: int) -> Payload:
        """Compose the request in a session of its own, so that it fits and user text cannot pass for instructions."""
        locale = self._session.settings.locale
        asking = Session(MemoryStore("extraction"), settings=Settings(locale=locale))
        schema, state = (msgspec.json.encode(each).decode() for each in (strategy.schema, self._session.state))
        asking.system(_SAY("task", locale, schema=schema, state=state, today=iso(wall_clock())[: len("2026-01-31")]))
        for item in unread:
            if text := plain_text(item.parts).strip():
                (asking.user if item.kind is Kind.USER else asking.assistant)(text)
        asking.note(_SAY("now", locale))
        return asking.compose(Budget(self._model.info.window, output, recall=0.0))
