"""The hooks of a strategy: declared, each with a default."""

from pathlib import Path
from typing import Any

import pytest

from sightline import Budget, MemoryStore, Plan, Session, View
from sightline.errors import BadInput, StrategyError
from sightline.plan.strategies import STRATEGIES, strategy
from sightline.plan.strategy import Hooks, Merged, Strategy, completed
from sightline.testing import WordCounter

CONFIGS: dict[str, dict[str, Any]] = {"entities": {"schema": {"destination": "string"}}}


class Bare:
    """One method."""

    name = "bare"

    def plan(self, view: View) -> Plan:
        return Plan.extended(view, {}, {})


class Wishing(Bare):
    """One hook, without deriving from anything of ours."""

    def wants(self, view: View) -> tuple[int, int]:
        return (0, 0)


class Refusing(Hooks, Bare):
    """Another hook, derived."""

    def merged(self, state: Any, found: Any) -> Merged:
        return Merged({}, {"colour": "not this one"})


@pytest.mark.parametrize("name", STRATEGIES)
def test_our_strategies_have_every_hook(name: str) -> None:
    """They are used as they are."""
    made = strategy(name, CONFIGS.get(name))
    assert isinstance(made, Strategy)
    assert completed(made) is made


def talk(own: Any) -> Session:
    session = Session(MemoryStore("s"), strategy=own, token_counter=WordCounter())
    session.user("one")
    session.compose(Budget(1_000))
    return session


@pytest.mark.parametrize(("own", "wanted"), [(Bare(), None), (Wishing(), (0, 0)), (Refusing(), None)])
def test_what_a_strategy_does_not_say_has_a_default(own: Any, wanted: Any) -> None:
    """A strategy of one method works, and so does one with some hooks."""
    session = talk(own)
    assert session._composer.wanted(Budget(1_000)) == wanted
    in_use = completed(session.strategy)
    assert (in_use.apart, in_use.compression_model, in_use.name) == (False, "", "bare")


def test_a_state_is_refused_by_a_strategy_that_refuses_it() -> None:
    """And remembered by one that says nothing about it."""
    session = talk(Bare())
    session.remember({"colour": "red"})
    assert session.state == {"colour": "red"}
    with pytest.raises(BadInput, match="colour: not this one"):
        talk(Refusing()).remember({"colour": "red"})


def test_no_state_is_made_of_what_is_no_object() -> None:
    """The default says so instead of raising."""
    assert Bare() is not completed(Bare())
    assert completed(Bare()).merged({"a": 1}, [2]).state == {"a": 1}
    assert completed(Bare()).merged({"a": 1}, [2]).refused


def test_hooks_are_not_looked_up_by_name_elsewhere() -> None:
    """One function completes a strategy; nobody else asks what it has."""
    source = Path(__file__).parents[2] / "src" / "sightline"
    for path in ("compose/turn.py", "agent/light_model.py", "cli/chat/setup.py", "session/accept.py"):
        assert "getattr(" not in (source / path).read_text(encoding="utf-8"), path


def test_a_session_gives_back_the_strategy_that_it_was_given() -> None:
    """Itself, with all that it has besides hooks; and the one of the settings if it was given none."""
    own = Bare()
    assert talk(own).strategy is own
    assert isinstance(Session(MemoryStore("s")).strategy, Strategy)


class Forgetful(Bare):
    """Keeps the first plan, as a cache would."""

    kept: Plan | None = None

    def plan(self, view: View) -> Plan:
        self.kept = self.kept or strategy("focus").plan(view)
        return self.kept


def test_a_plan_of_an_earlier_view_is_refused() -> None:
    """It lacks the newest message; nothing is sent without it. A plan made from each view is accepted."""
    for own in (Bare(), Forgetful()):
        session = talk(own)
        session.user("two")
        if isinstance(own, Forgetful):
            with pytest.raises(StrategyError, match="a plan of another view; make a new one"):
                session.compose(Budget(1_000))
        else:
            assert "two" in str(session.compose(Budget(1_000)).openai())


def test_a_plan_for_a_larger_budget_is_refused() -> None:
    """Though nothing was said since."""
    session = talk(Forgetful())
    with pytest.raises(StrategyError, match="are allowed"):
        session.compose(Budget(900))
