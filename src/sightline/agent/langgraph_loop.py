"""The loop of model and tools, as a LangGraph graph."""

from collections.abc import Awaitable, Callable
from typing import Any, TypedDict

from sightline.agent.json_budget import Sent


class State(TypedDict, total=False):
    """What the nodes hand on while one question is answered."""

    sent: Sent  # what the model gets next
    round: int  # how often it has been asked
    next: str  # the next node
    told: bool  # the model was told that its last response is not in the form asked for
    overflowed: bool  # the last payload was larger than its context window
    error: str  # why there is no answer


Node = Callable[[State], Awaitable[State]]


def loop(context: Node, model: Node, tools: Node, answer: Node) -> Any:
    """Return the compiled graph: context → model → tools → context, and so on, until the model answers.

    Raises:
        ModuleNotFoundError: LangGraph is not installed; the message says how to install it.
    """
    try:
        from langgraph.graph import END, START, StateGraph
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("the agent's loop needs LangGraph: pip install 'sightline-context[agent]'") from error
    graph = StateGraph(State)
    for name, node in (("context", context), ("model", model), ("tools", tools), ("answer", answer)):
        graph.add_node(name, node)  # type: ignore[call-overload]
    graph.add_edge(START, "context")
    graph.add_edge("context", "model")
    graph.add_conditional_edges("model", lambda state: state["next"], ["context", "tools", "answer"])
    graph.add_edge("tools", "context")
    graph.add_edge("answer", END)
    return graph.compile()


def tool_names(state: State) -> list[str]:
    """Return the names of the tools that the model was sent."""
    return [tool.name for tool in state["sent"].payload.tools]
