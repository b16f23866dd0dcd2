"""The constraints that a plan hides: where they stand, and what is kept for them."""

import pytest

from sightline import Budget, MemoryStore, Session
from sightline.compose import render
from sightline.plan.notices import EngineNotices
from sightline.testing import WordCounter
from sightline.values.items import plain_text

RULE = "Never change quay.py."


def told(*rules: str) -> Session:
    """A session that begins with these and goes on for a while."""
    session = Session(MemoryStore("notices"), token_counter=WordCounter())
    for rule in rules:
        session.user(rule)
    for number in range(40):
        session.assistant(f"step {number} " + "done " * 20)
        session.user(f"then step {number + 1} " + "next " * 20)
    return session


@pytest.mark.parametrize("place", ["history", "question"])
def test_a_layout_says_where_hidden_constraints_stand(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first message, or right before the question."""
    monkeypatch.setitem(render.LAYOUTS, "stable", render.Layout("stable", constraints=place))
    session = told("hello there", f"{RULE} {'so on ' * 80}")
    body = [plain_text(message.parts) for message in session.compose(Budget(600, recall=0.0)).body]
    [at] = [at for at, text in enumerate(body) if RULE in text]
    assert at == (0 if place == "history" else len(body) - 2)


def test_tokens_are_kept_only_for_the_constraints_there_are() -> None:
    """Nothing without one, as much as they need with a few, and never more than a quarter or 400 tokens."""
    none, one, many = told("hello"), told(RULE), told(*(f"Never change quay{number}.py." for number in range(300)))
    assert EngineNotices(none.log, 1_000).preface_limit == 0
    assert 0 < EngineNotices(one.log, 1_000).preface_limit < 50
    assert EngineNotices(many.log, 1_000).preface_limit == 400
    assert EngineNotices(many.log, 4_000).preface_limit == 1_000
