"""What is pinned after it was shown shortened."""

import pytest

from sightline.errors import PinnedOverflow
from sightline.plan.view import Budget
from sightline.session.session import Session
from sightline.testing import MemoryStore, Ticking, WordCounter
from sightline.values.settings import Settings


def test_an_item_that_was_shortened_and_then_pinned_is_shown_in_full_or_named() -> None:
    """The level it had does not hold any more: too large for the window, it is named; else it is there whole."""
    session = Session(
        MemoryStore("s"), settings=Settings(strategy="sliding"), clock=Ticking(), token_counter=WordCounter()
    )
    large = session.user("\n".join(f"line {number} of many words" for number in range(200)))
    session.compose(Budget(300))
    session.items.pin(large)
    session.user("and now?")
    with pytest.raises(PinnedOverflow, match=f"#{large}"):
        session.compose(Budget(300))
    assert "line 199 of" in str(session.compose(Budget(3_000)).openai())
