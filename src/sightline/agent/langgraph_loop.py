"""The loop of model and tools, as a LangGraph graph, and a node for other graphs that decides what the model sees."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from typing import Any, TypedDict

from sightline.agent.json_budget import Sent
from sightline.plan.budget import Budget
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.values.items import plain_text
from sightline.wire import read_messages
from sightline.wire.payload import Payload


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
        raise ModuleNotFoundError(
            "the agent's loop needs LangGraph: pip install '.[agent]' in Sightline's folder"
        ) from error
    graph = StateGraph(State)
    for name, node in (("context", context), ("model", model), ("tools", tools), ("answer", answer)):
        graph.add_node(name, node)  # type: ignore[call-overload]
    graph.add_edge(START, "context")
    graph.add_edge("context", "model")
    graph.add_conditional_edges("model", lambda state: state["next"], ["context", "tools", "answer"])
    graph.add_edge("tools", "context")
    graph.add_edge("answer", END)
    return graph.compile()


class ContextNode:
    """The node that composes what the model sees, in a graph of yours.

    It puts a `payload` into the state. If the state has LangChain's `messages`, it first appends the new ones to the
    session, and also returns `llm_input_messages`, as LangGraph's agents take them from a `pre_model_hook`: the state
    keeps every message, and the model gets what fits. One node and its session belong to one thread. If the session
    was resumed, the messages that a checkpointer restores are recognised. Runs in async graphs (`ainvoke`, `astream`).
    """

    def __init__(self, session: Session | AsyncSession, budget: Budget) -> None:
        session = session.session if isinstance(session, AsyncSession) else session  # it runs in a thread of its own
        self.session, self.budget = session, budget
        self._taken: int | None = None  # messages of the state that are in the session; None: not yet counted

    async def __call__(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Compose. Raises what `Session.compose` raises."""
        if (messages := state.get("messages")) is None:
            return {"payload": await asyncio.to_thread(self.session.compose, self.budget)}
        from langchain_core.messages import convert_to_messages, convert_to_openai_messages

        payload = await asyncio.to_thread(self._compose_with, convert_to_openai_messages(messages))
        return {"payload": payload, "llm_input_messages": convert_to_messages(payload.openai()["messages"])}

    def _compose_with(self, messages: list[Any]) -> Payload:
        known = _count_known(self.session, messages) if self._taken is None else self._taken
        self.session.extend(messages[known:])
        self._taken = len(messages)
        return self.session.compose(self.budget)


def _count_known(session: Session, messages: list[Any]) -> int:
    """Count how many of these messages, from the first on, the session has, in this order."""
    texts = (plain_text(item.parts) for item in session.items)
    for number, message in enumerate(read_messages(deepcopy(messages))):
        text = plain_text(message.parts)
        if text and text not in texts:  # a generator: the search continues after the last match
            return number
    return len(messages) if len(session.items) else 0
