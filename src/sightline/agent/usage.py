"""What model calls have used, and what that costs."""

from typing import NamedTuple

from sightline.agent.models import Reply
from sightline.values.items import Usage
from sightline.wire import read_reply


class Spent(NamedTuple):
    """What a number of calls has used."""

    usage: Usage = Usage(0, 0)
    cost: float | None = None  # in the currency of the prices; None where no price is known
    calls: int = 0

    def and_also(self, reply: Reply) -> "Spent":
        """With one more call, at the price of whoever answered it."""
        usage, cost = read_reply(reply.raw).usage, cost_of(reply)
        if usage is None:
            return self._replace(calls=self.calls + 1)
        return Spent(_sum(self.usage, usage), self.cost if cost is None else (self.cost or 0.0) + cost, self.calls + 1)


def cost_of(reply: Reply) -> float | None:
    """What a reply cost; None where it does not say what was used, or nobody knows its price."""
    usage, price = read_reply(reply.raw).usage, reply.price
    if usage is None or price is None:
        return None
    fresh = usage.input_tokens - usage.cached_tokens - usage.written_tokens
    paid = fresh * price.input + usage.cached_tokens * price.cached
    return (paid + usage.written_tokens * price.written + usage.output_tokens * price.output) / 1_000_000


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cached_tokens + other.cached_tokens,
        one.written_tokens + other.written_tokens,
    )
