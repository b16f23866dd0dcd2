"""Prices of models that are known: by name, with or without a date."""

import pytest

from sightline.providers.catalog import PRICES, price_of
from sightline.providers.prices import Price


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("claude-opus-4-1-20250805", "claude-opus-4-1"), ("claude-opus-4-20250514", "claude-opus-4"),
        ("anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("claude-3-5-haiku-20241022", "claude-3-5-haiku"), ("gpt-4o-2024-08-06", "gpt-4o"), ("GPT-4.1", "gpt-4.1"),
    ],
)  # fmt: skip
def test_older_models_have_their_price(name: str, known: str) -> None:
    """However a log writes the name."""
    assert price_of(name) == PRICES[known]


def test_a_price_is_never_guessed() -> None:
    """A longer or shorter name is another model."""
    assert price_of("openai/gpt-4o-2024-05-13") == Price(5, 5, 5, 15) != price_of("gpt-4o")  # a date with its own price
    assert [price_of(name) for name in ("gpt-4o-audio", "claude-opus", "claude-opus-4-1-fast", "")] == [None] * 4


@pytest.mark.parametrize(("name", "price"), PRICES.items())
def test_prices_are_in_their_order(name: str, price: Price) -> None:
    """Reading from the cache costs no more than input, input no more than writing to the cache, and output the most."""
    assert 0 < price.cached <= price.input <= price.written < price.output, name
