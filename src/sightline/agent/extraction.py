"""Extraction for the strategy `entities`: a model reads what the user said and fills in the state.

What no extraction has read yet stays in the prompt, so an answer never waits for one, and a failed one loses nothing.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from sightline.agent.background_reader import BackgroundReader
from sightline.agent.json_objects import objects
from sightline.agent.models import Model, Reply, Request, full_reply
from sightline.errors import ContextOverflow, ModelRefused
from sightline.log import retry_on_conflict
from sightline.log.stores.memory import MemoryStore
from sightline.plan import Budget, own_state, stage_of, with_own_state
from sightline.plan.strategies.entities import Entities, merged
from sightline.providers.windows import answer_room
from sightline.session.session import Session
from sightline.values.clock import iso, wall_clock
from sightline.values.items import Item, Kind, Lod, plain_text
from sightline.values.phrases import Phrases, texts
from sightline.values.settings import Settings
from sightline.wire import read_reply
from sightline.wire.payload import Payload

_SAY = Phrases(texts("extraction"))


class Extraction(BackgroundReader):
    """Keeps a session's state up to date, in the background."""

    def __init__(
        self, session: Session, model: Model, on_reply: Callable[[Reply], None], warn: Callable[[str], object]
    ) -> None:
        """`on_reply` is called for each reply; `warn` if one fails for another reason than the one before."""
        super().__init__(session)
        self._model, self._on_reply, self._warn = model, on_reply, warn
        self.error = ""  # why the last extraction failed; empty if it did not
        self.refused: dict[str, str] = {}  # values of the last one that the schema does not allow: path → why

    @property
    def is_possible(self) -> bool:
        """Whether the session has such a strategy, and a model that can be trusted with it."""
        return stage_of(self._session.strategy, Entities) is not None and self._model.info.capable

    async def _read_some(self) -> bool:
        """See `BackgroundReader`."""
        if unread := await asyncio.to_thread(lambda: self._session.unread):
            await self._read(unread)
            self.error = ""
        return bool(unread)

    def _tell(self, failure: str) -> None:
        before, self.error = self.error, failure
        if failure != before:
            self._warn(_SAY("failed", self._session.settings.locale, why=failure))

    async def _read(self, unread: Sequence[Item]) -> None:
        """Ask for the values in the first of these messages, as many as fit, and remember those the schema allows."""
        session, planner = self._session, self._session.strategy
        strategy = stage_of(planner, Entities)
        assert strategy is not None
        output = answer_room(self._model.info.window, self._model.info.output)
        payload, last = await asyncio.to_thread(self._payload, strategy, unread, output)
        reply = await full_reply(self._model, Request(payload, output))
        self._on_reply(reply)
        values, _ = next(objects(plain_text(read_reply(reply.raw).parts)), (None, False))
        if values is None:
            raise ModelRefused(_SAY("no object", session.settings.locale, model=reply.model))

        def remember() -> None:  # merged anew after a conflict, because another program may have remembered something
            before = own_state(planner, Entities.name, session.state)
            state, self.refused = merged(strategy.schema, before, values, null_erases=True)
            session.remember(with_own_state(planner, Entities.name, session.state, state), read=last)

        await asyncio.to_thread(retry_on_conflict, remember, session.refresh)
        if self.refused:
            why = "; ".join(f"{path}: {reason}" for path, reason in self.refused.items())
            self._warn(_SAY("refused", session.settings.locale, why=why))

    def _payload(self, strategy: Entities, unread: Sequence[Item], output: int) -> tuple[Payload, str]:
        """Compose a request about the first messages, all of them whole, and return the last user message in it.

        It is composed in a session of its own, so that user text cannot pass for instructions. What does not fit is
        left for the next request. Raises ContextOverflow if not even one message fits.
        """
        locale, today = self._session.settings.locale, iso(wall_clock())[: len("2026-01-31")]
        before = own_state(self._session.strategy, Entities.name, self._session.state)
        schema, state = (msgspec.json.encode(value).decode() for value in (strategy.schema, before))
        ends = [n for n, item in enumerate(unread, start=1) if item.kind is Kind.USER]
        while ends:
            asking = Session(MemoryStore("extraction"), settings=Settings(locale=locale, strategy="sliding"))
            asking.system(_SAY("task", locale, schema=schema, state=state, today=today))
            for item in unread[: ends[-1]]:
                if item.kind is Kind.USER:
                    asking.user(item.parts)
                elif text := plain_text(item.parts).strip():
                    asking.assistant(text)
            asking.note(_SAY("now", locale))
            payload = asking.compose(Budget(self._model.info.window, output, recall=0.0))
            if payload.plan.left_out is None and all(line.lod is Lod.FULL for line in payload.plan.lines()):
                return payload, unread[ends[-1] - 1].id
            ends = ends[: len(ends) // 2]
        raise ContextOverflow(_SAY("too long", locale, model=self._model.info.name))
