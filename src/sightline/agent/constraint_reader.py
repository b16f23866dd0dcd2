"""What the user's messages lay down, read by the light model in the background.

The rules find what is said directly. A model also finds a worry, a story of what went wrong, or a fact about the team
that implies a rule. What it finds is logged if it is a quotation of the message, and it is marked wherever it is shown.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sightline.agent.background_reader import BackgroundReader
from sightline.agent.json_objects import objects
from sightline.agent.models import Model, Reply, Request, full_reply
from sightline.errors import ModelRefused
from sightline.log.stores.memory import MemoryStore
from sightline.plan import Budget
from sightline.session.session import Session
from sightline.values.items import plain_text
from sightline.values.phrases import Phrases, texts
from sightline.values.settings import Settings
from sightline.wire import read_reply
from sightline.wire.payload import Payload

_MESSAGE_CHARS, _REQUEST_CHARS = 6_000, 24_000  # of one message, and of all in one request
_WINDOW_SHARE = 0.5  # of a model's window, in tokens: so many characters fit in any language, with the task
_TRIES = 3  # requests about one message, if the model cannot be asked or does not answer
_OUTPUT = 1_500  # tokens of an answer
_MOST = 40  # findings in one answer that are looked at
_LOG = logging.getLogger("sightline.agent")
_SAY = Phrases(texts("constraint_reader"))


class ConstraintReader(BackgroundReader):
    """Has a model read each message of the user. Without a model it does nothing."""

    def __init__(self, session: Session, model: Model | None, on_reply: Callable[[Reply], None]) -> None:
        """`on_reply` is called for each reply."""
        super().__init__(session)
        self._model, self._on_reply = model, on_reply
        self._tries = Counter[str]()  # item → requests about it

    @property
    def is_possible(self) -> bool:
        """See `BackgroundReader`."""
        return self._model is not None and self._model.info.capable

    def _tell(self, failure: str) -> None:
        _LOG.warning("%s: constraints were not read by a model: %s", self._session.id, failure)

    async def _read_some(self) -> bool:
        """See `BackgroundReader`."""
        if self._model is None or not (texts := await asyncio.to_thread(self._next, self._model)):
            return False
        self._tries.update(texts.keys())
        payload = await asyncio.to_thread(self._payload, self._model, texts)
        reply = await full_reply(self._model, Request(payload, min(_OUTPUT, self._model.info.output)))
        self._on_reply(reply)
        if not await asyncio.to_thread(self._add_found, texts, reply):
            raise ModelRefused(f"{reply.model} answered without the JSON object")
        return True

    def _next(self, model: Model) -> dict[str, str]:
        """Return the first messages that are not read, by item: as many as one request holds."""
        room, texts = min(_REQUEST_CHARS, int(model.info.window * _WINDOW_SHARE)), dict[str, str]()
        longest = min(_MESSAGE_CHARS, room)
        for item in self._session.items.unexamined():
            if self._tries[item.id] < _TRIES:
                text = plain_text(item.parts)[:longest]
                if (room := room - len(text)) < 0:
                    break
                texts[item.id] = text
        return texts

    def _payload(self, model: Model, texts: Mapping[str, str]) -> Payload:
        """Compose a request of its own. The messages are JSON strings, which nothing inside them can close."""
        locale = self._session.settings.locale
        asking = Session(MemoryStore("constraints"), settings=Settings(locale=locale, strategy="sliding"))
        asking.system(_SAY("task", locale))
        told = [{"item": item, "text": text} for item, text in texts.items()]
        asking.user(f"{msgspec.json.encode(told).decode()}\n\n{_SAY('now', locale)}")
        return asking.compose(Budget(model.info.window, min(_OUTPUT, model.info.output), recall=0.0))

    def _add_found(self, texts: Mapping[str, str], reply: Reply) -> bool:
        """Log what the model found, and that it has read these messages. Return whether its answer has the form."""
        answer = plain_text(read_reply(reply.raw).parts)
        rows = next((parsed["constraints"] for parsed, _ in objects(answer) if "constraints" in parsed), None)
        for item in texts:
            self._session.items.add_found(item, _findings(rows, item))
        return isinstance(rows, list)


def _findings(answer: Any, item_id: str) -> list[tuple[str, str]]:
    """Return the quotations and readings in an answer that name this item, whatever else the answer holds."""
    rows = [row for row in (answer[:_MOST] if isinstance(answer, list) else ()) if isinstance(row, dict)]
    named = [row for row in rows if str(row.get("item")).lstrip("#") == item_id]
    quoted = [(row.get("quote"), row.get("reading") or "") for row in named]
    return [(quote, reading) for quote, reading in quoted if isinstance(quote, str) and isinstance(reading, str)]
