"""What tokens cost in dollars, where a price is known."""

from collections.abc import Mapping

from sightline.agent.models import Price
from sightline.agent.models.catalog import price_of
from sightline.agent.usage import price_usage
from sightline.values.items import Usage


def cost_of(usages: Mapping[str, Usage]) -> float | None:
    """Return what was used, by model, in dollars; None if nothing was, or a price is not known."""
    prices = {model: price_of(model) for model in usages}
    if not prices or None in prices.values():
        return None
    return sum(price_usage(used, price) for model, used in usages.items() if (price := prices[model]) is not None)


__all__ = ["Price", "cost_of", "price_of", "price_usage"]
