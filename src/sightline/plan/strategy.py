"""The protocol of strategies: one method that turns a view into a plan, and hooks that have defaults."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from sightline.plan.plan import Plan
from sightline.plan.view import View


class Merged(NamedTuple):
    """A state with found values merged in, and the values that were refused: path → why."""

    state: dict[str, Any]
    refused: dict[str, str]


@runtime_checkable
class Planner(Protocol):
    """The least that a strategy has. `completed` adds the defaults of the hooks."""

    @property
    def name(self) -> str:
        """What the log and errors call it."""

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`."""


@runtime_checkable
class Strategy(Planner, Protocol):
    """Decides which units are shown and at which level. Pure and synchronous: the same view gives the same plan.

    A strategy needs a name and `plan`. Derive it from `Hooks` and override the hooks that it has, or leave them out:
    the defaults of `Hooks` are used then. `sightline.testing.check_strategy` proves what is promised here.
    """

    def plan(self, view: View) -> Plan:
        """The plan of the next call: made by `Plan.extended` if nothing already shown changes, else by `Plan.swept`."""

    @property
    def most_tokens(self) -> int:
        """Tokens that its payloads have at most, if the budget allows more. What must be shown may need more."""

    @property
    def apart(self) -> bool:
        """Whether the model that summarises sees only the part to be summarised, not the whole conversation."""

    @property
    def compression_model(self) -> str:
        """The name of the model that writes summaries or extracts values; empty: the agent's own."""

    def wants(self, view: View) -> tuple[int, int] | None:
        """The first and last unit that should be summarised by now; None if no summary is wanted. Pure."""

    def merged(self, state: Mapping[str, Any], found: Any) -> Merged:
        """The state that the strategy remembers with found values merged in, and what it refuses. Pure."""


class Hooks:
    """The defaults of a strategy's hooks: all of the window is used, no summary is wanted, any state is remembered."""

    most_tokens = 1 << 62
    apart = False
    compression_model = ""
    lowers = False  # whether its sweeps show an item at a level that somebody asks for; else it is whole or not there

    def wants(self, view: View) -> tuple[int, int] | None:  # noqa: ARG002 - it never wants one
        """See `Strategy.wants`."""
        return None

    def merged(self, state: Mapping[str, Any], found: Any) -> Merged:
        """See `Strategy.merged`."""
        if not isinstance(found, Mapping):
            return Merged(dict(state), {"": f"{type(found).__name__} is no object with fields"})
        return Merged({**state, **found}, {})


def is_planner(made: Any) -> bool:
    """Whether an object is a strategy: it has a name and a method `plan`, and is not the class itself."""
    return not isinstance(made, type) and isinstance(made, Planner) and callable(made.plan)


def completed(planner: Planner) -> Strategy:
    """Return the strategy itself if it has all hooks, else one that does the same with defaults for the others."""
    return planner if isinstance(planner, Strategy) else _Completed(planner)


class _Completed(Hooks):
    """A strategy that is not derived from `Hooks`."""

    def __init__(self, planner: Planner) -> None:
        self.name, self.plan = planner.name, planner.plan
        own = {name for name in vars(Hooks) if not name.startswith("_") and hasattr(planner, name)}
        vars(self).update({name: getattr(planner, name) for name in own})  # the hooks that it has without deriving
