"""One turn of an agent: what a question has led to so far."""

import asyncio
import logging

from msgspec import Struct

from sightline.agent.code.versions import Saved, measured
from sightline.agent.events import Answer, CodeSaved, Event
from sightline.agent.structured_response import StructuredResponse
from sightline.agent.usage import Spent

_LOG = logging.getLogger("sightline.agent")


class Turn(Struct):
    """What one question has led to so far."""

    events: "asyncio.Queue[Event | None]"  # None: the last one
    spent: Spent = Spent()
    text: str = ""
    response: StructuredResponse | None = None
    stop: str = ""
    saved: list[Saved] = []
    warnings: list[str] = []

    def say(self, event: Event) -> None:
        """Hand an event to whoever reads the turn's stream."""
        self.events.put_nowait(event)

    def add_saved(self, saved: Saved) -> None:
        _LOG.info("code saved: %s (%s, version %d)", saved.code_id, saved.language, saved.version)
        self.saved.append(saved)
        self.warn(*filter(None, [saved.warning]))
        self.say(CodeSaved(saved))

    def has_saved(self, code_id: str, code: str) -> bool:
        """Whether just this code was saved in this turn."""
        data = code.encode(errors="replace")
        return any(each.code_id == code_id and each == measured(each, data) for each in self.saved)

    def warn(self, *warnings: str) -> None:
        """Add what the answer warns of, each once."""
        self.warnings += [each for each in dict.fromkeys(warnings) if each not in self.warnings]

    def answer(self, error: str) -> Answer:
        return Answer(
            success=not error,
            text=self.text,
            error=error,
            response=self.response,
            saved=tuple(self.saved),
            warnings=tuple(self.warnings),
            rounds=self.spent.calls,
            usage=self.spent.usage if self.spent.calls else None,
            cost=self.spent.cost,
            stop=self.stop,
        )
