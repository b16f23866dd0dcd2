"""The loop of model and tools, as a LangGraph graph, and a node for other graphs that decides what the model sees."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from hashlib import blake2b
from typing import Any, TypedDict

import msgspec

from sightline.agent.json_budget import Sent
from sightline.errors import BadInput
from sightline.plan.budget import Budget
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.values.items import Call, plain_text
from sightline.values.recall_tools import RECALL_TOOLS
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
        raise ModuleNotFoundError("the agent's loop needs LangGraph: pip install 'sightline[agent]'") from error
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
    was resumed, the messages that a checkpointer restores are recognised. Runs in graphs of both kinds: `invoke` and
    `ainvoke`, `stream` and `astream`.

    `tools`: those of your model, as LangChain tools or functions. The attribute `tools` then has also `expand` and
    `recall`, by which the model sees what was shortened: bind all of them to your model, and run them by your
    `ToolNode`. Without `tools`, nothing in the payload speaks of the two.
    """

    def __init__(self, session: Session | AsyncSession, budget: Budget, tools: Sequence[Any] | None = None) -> None:
        """Raises BadInput if something among the tools is none."""
        session = session.session if isinstance(session, AsyncSession) else session  # the graph runs it in a thread
        self.session, self.budget = session, budget
        self.tools: list[Any] = [] if tools is None else [*tools, *_recall_tools(session, tools)]
        self._taken: list[bytes] | None = None  # digests of the state's messages that are in the session; None: unknown

    def __call__(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Compose. Raises what `Session.compose` raises, and BadInput if the messages are another conversation's."""
        if (messages := state.get("messages")) is None:
            return {"payload": self.session.compose(self.budget)}
        from langchain_core.messages import convert_to_messages, convert_to_openai_messages

        payload = self._compose_with(convert_to_openai_messages(messages))
        return {"payload": payload, "llm_input_messages": convert_to_messages(payload.openai()["messages"])}

    def _compose_with(self, messages: list[Any]) -> Payload:
        digests = [blake2b(msgspec.json.encode(message), digest_size=16).digest() for message in messages]
        known = _count_known(self.session, messages) if self._taken is None else len(self._taken)
        if self._taken is not None and digests[:known] != self._taken:
            raise BadInput(
                "these messages do not begin with those that this node has composed before: a node and its session "
                "belong to one thread of the graph. Make a node for each thread_id, give the graph a checkpointer so "
                "that its state goes on, and change what was said with session.fork, not in the state"
            )
        self.session.extend(messages[known:])
        self._taken = digests
        return self.session.compose(self.budget)


def _recall_tools(session: Session, tools: Sequence[Any]) -> list[Any]:
    """Tell the session of these tools and of `expand` and `recall`, and return the two as LangChain tools."""
    from langchain_core.tools import StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool

    try:
        definitions = [convert_to_openai_tool(tool) for tool in tools]
    except (TypeError, ValueError) as error:
        raise BadInput(f"a tool of a graph is a LangChain tool or a function with a docstring: {error}") from error
    taken = {definition.get("function", definition).get("name") for definition in definitions}
    session.tools(definitions)
    return [
        StructuredTool(
            name=tool.name,
            description=tool.description,
            args_schema=tool.schema,
            func=_answering(session, tool.name),
        )
        for tool in RECALL_TOOLS
        if tool.name not in taken
    ]


def _answering(session: Session, name: str) -> Callable[..., str]:
    def answer(**given: Any) -> str:
        return session.items.answer(Call("", name, given))

    return answer


def _count_known(session: Session, messages: list[Any]) -> int:
    """Count how many of these messages, from the first on, the session has, in this order."""
    texts = (plain_text(item.parts) for item in session.items)
    for number, message in enumerate(read_messages(deepcopy(messages))):
        text = plain_text(message.parts)
        if text and text not in texts:  # a generator: the search continues after the last match
            return number
    return len(messages) if len(session.items) else 0
