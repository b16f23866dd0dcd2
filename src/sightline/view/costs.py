"""What tokens cost in dollars, where a price is known; and how the price of a call divides among its lines."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from sightline.providers.catalog import price_of as known_price
from sightline.providers.prices import Price, price_usage
from sightline.values.items import Usage
from sightline.values.profiles import Profile, divided_cost, input_cost, prices_for

OUTPUT = 5  # what a token that the model writes costs, in uncached input tokens: about that at most providers
_NEARLY = 1e-6  # tokens: sums of shares are not exact

PriceOf = Callable[[str], Price | None]


def money_of(usage: Usage, price: Price | None) -> float | None:
    """Return what a call cost in money; None if its model has no known price."""
    return None if price is None else price_usage(usage, price)


def relative_cost(usage: Usage, profile: Profile) -> float:
    """Return what a call cost, its answer included, in uncached input tokens."""
    return input_cost(usage, profile.prices) + answer_cost(usage.output_tokens)


def answer_cost(tokens: int) -> float:
    """Return what the tokens of an answer cost, in uncached input tokens."""
    return float(tokens * OUTPUT)


def cost_of(usages: Mapping[str, Usage], price_of: PriceOf = known_price) -> float | None:
    """Return what was used, by model, in dollars; None if nothing was, or a price is not known."""
    total = 0.0
    for model, used in usages.items():
        if not used.input_tokens and not used.output_tokens:  # a program wrote the answer itself
            continue
        if (money := money_of(used, price_of(model))) is None:
            return None
        total += money
    return total if usages else None


def new_prices(profile: Profile, price: Price | None, usage: Usage | None) -> tuple[float, float | None]:
    """Return how much more a token costs that was not in the cache, in uncached input tokens and in money.

    If the provider reported none as written to its cache, such a token costs no more than any other of the input.
    """
    writes = usage is None or usage.written_tokens
    prices = prices_for(usage, profile.prices) if usage else profile.prices
    more = (prices.write if writes else 1.0) - prices.read
    if price is None:
        return more, None
    written = prices_for(usage, price.of_cache).write if usage else price.written
    return more, ((written if writes else price.input) - price.cached) / 1_000_000


def likely_usage(usage: Usage | None, total: int, output: int, cached: int) -> Usage:
    """Return what a call used: as reported, else as it should have been, with all that was new written to the cache."""
    return usage or Usage(total, output, cached, total - cached)


class _Composed(Protocol):
    """What a receipt says of how a prompt begins."""

    changed: int | None
    kept: int | None


def kept_tokens(prompt: _Composed, before: int, head: int) -> int:
    """Return how many tokens of a composed prompt the provider had with the call before, which has so many.

    Receipts of an earlier version say only what changed: then its head stayed at least.
    """
    if prompt.kept is not None:
        return prompt.kept
    return before if prompt.changed is None else head if prompt.changed else 0


class PartCost(NamedTuple):
    """What a part of a prompt costs."""

    tokens: int
    cached: bool  # all of it was read from the provider's cache
    relative: float  # in uncached input tokens
    money: float | None  # dollars; None: the price is not known


class PromptCost:
    """The price of a call's input, divided among the lines of its prompt.

    A provider's cache holds the beginning of a prompt, and what is written to it follows. What the provider counted and
    no log shows is the agent's own system prompt and tools, so it stands before everything else. All parts together
    cost what the call's input does.
    """

    def __init__(self, usage: Usage, sizes: Sequence[int], profile: Profile, price: Price | None) -> None:
        """`sizes` are the tokens of the lines as we count them, in the order of the prompt."""
        self._cached, self._written = usage.cached_tokens, usage.cached_tokens + usage.written_tokens
        self._prices, self._price = prices_for(usage, profile.prices), price
        self._in_money = prices_for(usage, price.of_cache) if price is not None else None
        total, counted = sum(sizes), max(usage.input_tokens, self._written)
        unlogged = max(counted - total, 0)
        scale = min(counted / total, 1.0) if total else 1.0
        self.unlogged = self._part(unlogged, 0.0, float(unlogged))
        self.lines: list[PartCost] = []
        at = float(unlogged)
        for size in sizes:
            self.lines.append(self._part(size, at, at + size * scale))
            at += size * scale

    @property
    def logged(self) -> PartCost:
        """All lines together."""
        money = None if self._price is None else sum(line.money or 0.0 for line in self.lines)
        is_cached = all(line.cached for line in self.lines)
        return PartCost(
            sum(line.tokens for line in self.lines), is_cached, sum(line.relative for line in self.lines), money
        )

    def _part(self, tokens: int, start: float, end: float) -> PartCost:
        read, written = (max(min(end, edge) - start, 0.0) for edge in (self._cached, self._written))
        shares = (end - start - written, read, written - read)
        money = None
        if self._price is not None and self._in_money is not None:
            money = divided_cost(*shares, self._in_money, self._price.input) / 1_000_000
        return PartCost(tokens, end <= self._cached + _NEARLY, divided_cost(*shares, self._prices), money)
