"""What tokens cost."""

from msgspec import Struct

from sightline.values.items import Usage
from sightline.values.profiles import Prices, input_cost


class Price(Struct, frozen=True):
    """The price of a million tokens, in the currency of the provider's bill."""

    input: float = 0.0
    cached: float = 0.0  # input read from the provider's cache
    written: float = 0.0  # input written into the cache
    output: float = 0.0

    @property
    def of_cache(self) -> Prices:
        """What a million tokens cost that are read from the cache, and that are written to it."""
        return Prices(self.cached, self.written)


def price_usage(usage: Usage, price: Price) -> float:
    """Return what these tokens cost."""
    return price_input(usage, price) + usage.output_tokens * price.output / 1_000_000


def price_input(usage: Usage, price: Price) -> float:
    """Return what these tokens cost without those of the answer."""
    return input_cost(usage, price.of_cache, price.input) / 1_000_000
