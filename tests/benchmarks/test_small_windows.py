"""The measure of constraints in small context windows, on one conversation of each language."""

import pytest
from benchmarks.quality.small_windows import SAID, TALK, conversation, readable

from sightline.shorten.rules import constraints


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_only_the_twenty_are_constraints(locale: str) -> None:
    """Each of them is recognised, and nothing that is said besides."""
    assert [each.words for each in SAID[locale] if constraints(each.words) != [each.words]] == []
    assert [text for pair in TALK[locale] for text in pair if constraints(text)] == []


@pytest.mark.slow("en-600-1.0-compact", "zh-400-0.9-compose", "zh-600-1.0-compact")
@pytest.mark.parametrize("compact", [False, True], ids=["compose", "compact"])
@pytest.mark.parametrize(("window", "least"), [(200, 0.45), (400, 0.9), (600, 1.0)])
@pytest.mark.parametrize("locale", ["en", "zh"])
def test_constraints_are_readable_in_a_small_window(locale: str, window: int, least: float, compact: bool) -> None:
    """A ratchet: of twenty recognised ones in 2,000 tokens so many can be read, within the window."""
    share, tokens = readable(conversation(locale, 0), locale, window, compact=compact)
    assert share >= least
    assert tokens <= window
