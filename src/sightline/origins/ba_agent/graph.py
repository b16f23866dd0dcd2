"""The document's LangGraph: the steps of an agent's turn as the nodes of a graph."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypedDict

from sightline.agent.loop import FIRST, Step
from sightline.agent.models.http import import_optional

_MOST_STEPS = 10_000  # of a turn in the graph: the agent's rounds end it much earlier


class State(TypedDict):
    """What the nodes hand on: the name of the next one, empty after the last. All else is the agent's."""

    next: str


def langgraph() -> Any:
    """Return LangGraph's module of graphs. Raises BadInput, which says how to install it."""
    return import_optional("langgraph.graph", "BAAgentService", "ba-agent")


def compiled(steps: Mapping[str, Step]) -> Any:
    """Return the compiled graph: context → model → tools → context, and so on, until the model answers."""
    end = langgraph().END
    graph = langgraph().StateGraph(State)
    for name, step in steps.items():
        graph.add_node(name, _node(step))
        graph.add_conditional_edges(name, lambda state: state["next"] or end, [*steps, end])
    graph.set_entry_point(FIRST)
    return graph.compile()


def _node(step: Step) -> Callable[[State], Awaitable[State]]:
    async def node(_: State) -> State:
        return {"next": await step()}

    return node


async def run(steps: Mapping[str, Step]) -> None:
    """Run the steps of a turn through their graph, as `sightline.agent.loop.run` does without one."""
    await compiled(steps).ainvoke({"next": FIRST}, {"recursion_limit": _MOST_STEPS})
