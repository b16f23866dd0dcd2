"""The hooks of a strategy: declared, each with a default."""

from pathlib import Path
from typing import Any

import pytest

from sightline import Budget, MemoryStore, Plan, Session, View
from sightline.errors import BadInput
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
    assert (session.strategy.apart, session.strategy.compression_model) == (False, "")
    assert session.strategy.name == "bare"


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
