"""One turn of an agent: what a question has led to so far, and what its model calls have used."""

import asyncio
from typing import NamedTuple

from msgspec import Struct

from sightline.agent.events import Answer, Event, PayloadComposed, RetryScheduled, TextDelta
from sightline.agent.models import Reply
from sightline.providers.prices import price_usage
from sightline.values.items import Usage
from sightline.wire import read_reply


class Spent(NamedTuple):
    """What a number of model calls have used."""

    usage: Usage = Usage(0, 0)
    cost: float | None = None  # in the currency of the prices; None where no price is known
    calls: int = 0

    def plus(self, reply: Reply) -> "Spent":
        """Return the sum with one more call, at the price of the model that answered it."""
        used, cost, calls = read_reply(reply.raw).usage, cost_of(reply), self.calls + 1
        if used is None:
            return self._replace(calls=calls)
        return Spent(self.usage + used, self.cost if cost is None else (self.cost or 0.0) + cost, calls)


def cost_of(reply: Reply) -> float | None:
    """Return what a reply cost; None if it does not report its usage, or if its price is not known."""
    usage, price = read_reply(reply.raw).usage, reply.price
    return None if usage is None or price is None else price_usage(usage, price)


class Turn(Struct):
    """What one question has led to so far."""

    events: "asyncio.Queue[Event | None]"  # None: the last one
    round: int = 0  # how often the model has been asked
    told: bool = False  # the model was told that its last response is not in the form asked for
    overflowed: bool = False  # the last payload was larger than its context window
    error: str = ""  # why there is no answer
    spent: Spent = Spent()
    text: str = ""
    coming: list[str] = []  # the pieces of the reply that is coming, as far as it has come
    response: Struct | None = None
    stop: str = ""
    failure: str = ""
    attempts: int = 1  # how often the last request was sent
    saved: list[Struct] = []
    warnings: list[str] = []

    def say(self, event: Event) -> None:
        """Hand an event to whoever reads the turn's stream."""
        if isinstance(event, TextDelta) and not event.thinking:
            self.coming.append(event.text)
        elif isinstance(event, PayloadComposed | RetryScheduled):  # the next reply begins
            self.coming.clear()
            self.attempts = event.again if isinstance(event, RetryScheduled) else 1
        self.events.put_nowait(event)

    def say_but_text(self, event: Event) -> None:
        """Hand on the events of a structured response, except its JSON text, which is not for the user."""
        if not isinstance(event, TextDelta) or event.thinking:
            self.say(event)

    def warn(self, *warnings: str) -> None:
        """Add what the answer warns of, each once."""
        self.warnings += [warning for warning in dict.fromkeys(warnings) if warning not in self.warnings]

    def end(self, error: str, failure: str = "") -> str:
        """Return the last step of a turn that has no answer, for this reason. `failure`: see `Answer`."""
        self.error, self.failure = error, failure
        return "answer"

    def answer(self) -> Answer:
        return Answer(
            success=not self.error,
            text=self.text,
            error=self.error,
            response=self.response,
            saved=tuple(self.saved),
            warnings=tuple(self.warnings),
            rounds=self.spent.calls,
            usage=self.spent.usage if self.spent.calls else None,
            cost=self.spent.cost,
            stop=self.stop,
            failure=self.failure if self.error else "",
            attempts=self.attempts,
        )
