"""The three economies: one table says what they are, and everything else agrees with it."""

from pathlib import Path
from typing import get_args

import pytest

from sightline.errors import BadInput
from sightline.plan.economies import DEFAULT, ECONOMIES, THRIFTY_WINDOW, check_economy, described, meaning
from sightline.plan.strategies.focus import Focus
from sightline.server.config import Config
from sightline.server.rest_values import Economy
from sightline.values.phrases import LOCALES


def test_there_is_one_default() -> None:
    """Of the library and of the proxy, which the adapters use too."""
    assert DEFAULT == Focus().economy == Config(folder=Path()).economy
    assert {*ECONOMIES} == {*get_args(Economy)}
    assert [Focus(economy=name).economy for name in ECONOMIES] == [*ECONOMIES]  # type: ignore[arg-type]


@pytest.mark.parametrize("locale", LOCALES)
def test_each_is_told_in_one_sentence(locale: str) -> None:
    """Which says in how many tokens thrifty works, and that safe pages what is huge."""
    assert f"{THRIFTY_WINDOW:,}" in meaning("thrifty", locale)
    assert ("page" if locale == "en" else "分页") in meaning("safe", locale)
    assert not [name for name in ECONOMIES if set(";.。；") & set(meaning(name, locale))]


def test_another_one_is_refused() -> None:
    """With what each of them does."""
    assert [check_economy(name) for name in ECONOMIES] == [*ECONOMIES]
    with pytest.raises(BadInput) as refused:
        check_economy("greedy")
    assert "'greedy'" in str(refused.value)
    assert described() in str(refused.value)
