"""Several strategies one after another: each changes the plan of the one before.

A stage sees that plan as `View.last_stage`. Units, pairs, order and pins are checked after each stage, the budget after
the last one only. The order in which the reductions are meant: files as gists (`rounds`), a summary (`summary`) or the
state (`entities`), then what fits (`sliding`, `focus`).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar

from msgspec.structs import replace

from sightline.errors import BadInput, StrategyError
from sightline.plan.plan import Plan, check_plan
from sightline.plan.strategy import Hooks, Merged, Planner, Strategy, completed
from sightline.plan.view import SETTINGS_CHANGED, View, complete_units
from sightline.values.items import Kind
from sightline.values.settings import ARROW

T = TypeVar("T")

_FILLS = ("focus", "sliding")
"""They show as much as fits, so that nothing is left for a stage after them to decide."""

_FILES, _COVERS = "rounds", ("summary", "entities")
"""What shortens files comes before what stands for the dialogue: there is one order of reductions."""

_CONTRADICTIONS = {
    frozenset({"entities", "summary"}): "entities sends no dialogue, so that there is nothing for summary to summarise",
    frozenset({"entities", "focus"}): "entities sends no dialogue, and focus shows index lines of what is left out",
}


class Pipe(Hooks):
    """A strategy that lets its stages decide in turn. `strategies.pipe` makes it.

    The state that it remembers has that of each stage under its name.
    """

    def __init__(self, stages: Sequence[Planner]) -> None:
        """Raises BadInput if two stages contradict each other."""
        self.stages, self._stages = tuple(stages), [*map(completed, stages)]
        self.name = ARROW.join(stage.name for stage in stages)
        check_names([stage.name for stage in stages])
        _check_asking(stages, self.name)
        asking = [stage for stage in self._stages if _asks_for_summaries(stage)]
        self._asking = asking[0] if asking else None
        self.most_tokens = min(stage.most_tokens for stage in self._stages)
        self.apart = self._asking is not None and self._asking.apart
        self.lowers = any(getattr(stage, "lowers", False) for stage in stages)
        self.compression_model = next(filter(None, (stage.compression_model for stage in self._stages)), "")

    def plan(self, view: View) -> Plan:
        """See `Strategy.plan`.

        If a stage changes what was sent and those before it did not, these are asked again, with its reason as the
        command: the prefix breaks anyway, and what they say stands in the text before the history. After a change of
        settings all that was said is weighed again, because other stages may have left it out.
        """
        if view.command == SETTINGS_CHANGED and view.last is not None:
            every = complete_units(view.timeline, view.path)
            said = [unit for unit in every if view.timeline.unit_kind(unit) is not Kind.RECALL]
            view = replace(view, last=None, new=said, back=[])
        plan = self._ask(0, view, None, view.command)
        for at in range(1, len(self._stages)):
            before, plan = plan, self._ask(at, view, plan, view.command or plan.reason)
            if plan.reason and not before.reason:
                view.uncut()
                again, reason = None, plan.reason
                for earlier in range(at):
                    again = self._ask(earlier, view, again, reason)
                plan = self._ask(at, view, again, view.command)
        return plan

    def wants(self, view: View) -> tuple[int, int] | None:
        """See `Strategy.wants`. One stage at most asks for summaries."""
        return None if self._asking is None else self._asking.wants(self._seen_by(self._asking, view))

    def merged(self, state: Mapping[str, Any], found: Any) -> Merged:
        """See `Strategy.merged`. The values are by stage too."""
        result, refused = dict(state), dict[str, str]()
        if not isinstance(found, Mapping):
            return Merged(result, {"": f"{type(found).__name__} is no object with the state of each stage"})
        stages = {stage.name: stage for stage in self._stages}
        for name, values in found.items():
            if name not in stages:
                refused[str(name)] = f"no such stage; there are {', '.join(stages)}"
                continue
            result[name], wrong = stages[name].merged(own_state(self, name, state), values)
            refused |= {f"{name}.{path}" if path else name: why for path, why in wrong.items()}
        return Merged(result, refused)

    def _ask(self, at: int, view: View, before: Plan | None, command: str) -> Plan:
        """The plan of one stage, checked."""
        stage, is_last = self._stages[at], at == len(self._stages) - 1
        seen = replace(self._seen_by(stage, view), last_stage=before, fits_later=not is_last, command=command)
        try:
            plan = stage.plan(seen)
            check_plan(plan, seen, stage.name)
            if is_last and plan is before:  # without what the last stage adds: constraints, and the check of the budget
                plan = Plan.extended(seen, {}, {})
            if is_last and plan.tokens > view.limit:
                raise StrategyError(f"a plan of {plan.tokens} tokens is over the limit of {view.limit}")
        except StrategyError as error:
            advice = "; let a stage that fits the budget come last, such as sliding" if is_last else ""
            raise StrategyError(f"stage {stage.name!r} of {self.name}: {error}{advice}") from error
        return plan

    def _seen_by(self, stage: Strategy, view: View) -> View:
        return replace(view, state=own_state(self, stage.name, view.state))


def stage_of(planner: Planner, kind: type[T]) -> T | None:
    """The strategy of this type: this one, or a stage of it; None if there is none."""
    stages = planner.stages if isinstance(planner, Pipe) else (planner,)
    return next((stage for stage in stages if isinstance(stage, kind)), None)


def own_state(planner: Planner, name: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """What the stage of this name remembers; without a pipe, all of the state.

    What was remembered before the strategy became a pipe is every stage's.
    """
    if not isinstance(planner, Pipe) or not any(stage.name in state for stage in planner.stages):
        return dict(state)
    own = state.get(name)
    return dict(own) if isinstance(own, Mapping) else {}


def with_own_state(planner: Planner, name: str, state: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The state with what the stage of this name remembers now; without a pipe, that is all of it."""
    if not isinstance(planner, Pipe):
        return dict(own)
    others = {stage.name: state[stage.name] for stage in planner.stages if stage.name in state}
    return {**others, name: dict(own)}


def check_names(names: Sequence[str]) -> None:
    """Raise BadInput if stages of these names contradict each other, whatever their configuration."""
    name = ARROW.join(names)
    if twice := [one for one in names if names.count(one) > 1]:
        raise BadInput(f"{name}: {twice[0]} is there twice; each stage has a name of its own, for its state")
    for one, other in combinations(names, 2):
        if reason := _CONTRADICTIONS.get(frozenset({one, other})):
            raise BadInput(f"{name}: {one} and {other} contradict each other: {reason}; leave one of them out")
    if early := [one for one in names[:-1] if one in _FILLS]:
        raise BadInput(
            f"{name}: {early[0]} shows what fits the budget and comes last; move it to the end, or leave it out"
        )
    if _FILES in names and (late := [one for one in names[: names.index(_FILES)] if one in _COVERS]):
        raise BadInput(f"{name}: {_FILES} shortens files and comes before {late[0]}; move it to the beginning")


def _check_asking(stages: Sequence[Planner], name: str) -> None:
    asking = [stage.name for stage in stages if _asks_for_summaries(stage)]
    if len(asking) > 1:
        raise BadInput(f"{name}: {' and '.join(asking)} both ask for summaries, and one may; leave one of them out")


def _asks_for_summaries(planner: Planner) -> bool:
    """Whether a strategy has a hook `wants` of its own."""
    wants = getattr(planner, "wants", Hooks.wants)
    return getattr(wants, "__func__", wants) is not Hooks.wants
