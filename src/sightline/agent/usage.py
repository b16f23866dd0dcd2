"""The tokens that model calls have used, and their cost."""

from typing import NamedTuple

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
        usage = Usage(
            self.usage.input_tokens + used.input_tokens,
            self.usage.output_tokens + used.output_tokens,
            self.usage.cached_tokens + used.cached_tokens,
            self.usage.written_tokens + used.written_tokens,
        )
        return Spent(usage, self.cost if cost is None else (self.cost or 0.0) + cost, calls)


def cost_of(reply: Reply) -> float | None:
    """Return what a reply cost; None if it does not report its usage, or if its price is not known."""
    usage, price = read_reply(reply.raw).usage, reply.price
    return None if usage is None or price is None else price_usage(usage, price)
