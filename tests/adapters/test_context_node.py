"""The node that decides what the model sees, in graphs of others."""

import asyncio
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition

from sightline.agent.langgraph_loop import ContextNode
from sightline.errors import BadInput
from sightline.plan.budget import Budget
from sightline.session.async_session import AsyncSession
from sightline.session.session import Session
from sightline.testing import MemoryStore
from sightline.values.items import plain_text
from sightline.wire.payload import Payload

BUDGET = Budget(window=8_000, output=500)
CALL = {"name": "look", "args": {"path": "a.py"}, "id": "call_1"}
TALK: list[Any] = [
    SystemMessage("Be brief."),
    HumanMessage("My name is Ann."),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage("x = 1", tool_call_id="call_1"),
    AIMessage("Hello Ann."),
    HumanMessage("What now?"),
]


def seen(node: ContextNode, messages: list[Any]) -> list[str]:
    """What the model is sent."""
    return [str(message.content) for message in node({"messages": messages})["llm_input_messages"]]


def test_what_a_checkpointer_brings_back_is_not_taken_in_twice(tmp_path: Path) -> None:
    """A new process over the same session and thread goes on, calls and all; what is new is added."""
    with Session.new(tmp_path, session_id="thread") as session:
        first = seen(ContextNode(session, BUDGET), TALK)
    with Session.resume("thread", tmp_path) as session:
        node = ContextNode(session, BUDGET)
        assert seen(node, TALK) == first
        longer = seen(node, [*TALK, AIMessage("Nothing."), HumanMessage("What now?")])
        assert longer[: len(first)] == first
        texts = [plain_text(item.parts) for item in session.items]
    assert texts.count("My name is Ann.") == 1
    assert texts.count("What now?") == 2


def test_it_takes_a_session_for_event_loops_too() -> None:
    """The payload is composed, also without messages in the state."""
    plain = Session(MemoryStore("s"))
    plain.user("Hello.")
    payload = ContextNode(AsyncSession(plain), BUDGET)({})["payload"]
    assert isinstance(payload, Payload)
    assert seen(ContextNode(AsyncSession(Session(MemoryStore("t"))), BUDGET), TALK)[-1] == "What now?"


def test_a_session_with_another_past_takes_in_everything(tmp_path: Path) -> None:
    """What the session does not know is added, whatever it knows already."""
    with Session.new(tmp_path) as session:
        session.user("Something else.")
        assert len(seen(ContextNode(session, BUDGET), TALK)) == len(TALK) + 1


# ------------------------------------------------------------------ the tools that it brings along

LONG = "\n".join(f"line {number} of the file, with some more words in it" for number in range(1, 401))


def shell(command: str) -> str:
    """Run a command."""
    return LONG if command == "make" else f"{command} is done. " + "word " * 1_500


class GraphState(MessagesState):
    llm_input_messages: list[Any]


class Script:
    """A model that says what the script says, and keeps what it was shown."""

    def __init__(self, *replies: AIMessage | Callable[[str], AIMessage]) -> None:
        self.replies, self.seen = iter(replies), list[str]()

    def __call__(self, state: GraphState) -> dict[str, Any]:
        self.seen.append("\n".join(str(message.content) for message in state["llm_input_messages"]))
        reply = next(self.replies)
        return {"messages": [reply if isinstance(reply, AIMessage) else reply(self.seen[-1])]}


def calling(number: int, name: str, **given: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": given, "id": f"call_{number}"}])


def run(node: ContextNode, model: Script, *, run_async: bool) -> dict[str, Any]:
    graph = StateGraph(GraphState)
    graph.add_node("context", node)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode(node.tools))
    graph.add_edge(START, "context")
    graph.add_edge("context", "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "context")
    made, asked = graph.compile(), {"messages": [HumanMessage("What is in a.py?")]}
    return asyncio.run(made.ainvoke(asked)) if run_async else made.invoke(asked)


@pytest.mark.parametrize("run_async", [False, True])
def test_a_graph_answers_expand_and_recall_without_any_wiring(run_async: bool) -> None:
    """What was shortened is read again whole, although a new result of this size is not; in both kinds of graphs."""
    session = Session(MemoryStore("s"))
    node = ContextNode(session, Budget(window=16_000, output=500), tools=[shell])
    assert [getattr(tool, "name", "shell") for tool in node.tools] == ["shell", "expand", "recall"]
    model = Script(
        calling(1, "shell", command="make"),
        lambda shown: calling(8, "expand", id=re.search(r"#\d+", shown)[0]),  # type: ignore[index]
        calling(9, "recall", query="line 321 of the file"),
        AIMessage("Four hundred lines."),
    )
    state = run(node, model, run_async=run_async)
    assert state["messages"][-1].content == "Four hundred lines."
    assert "line 200 of" not in model.seen[-3]  # the file was shortened
    assert re.search(r"\[#\d+ lines 1–400 of 400\]", model.seen[-2])
    assert "line 200 of" in model.seen[-2]
    assert "line 321 of the file" in model.seen[-1]
    assert [item.kind.name for item in session.items].count("RESULT") == 3


def test_another_conversation_is_refused(tmp_path: Path) -> None:
    """A new thread, an edited question, a state that forgot its beginning: nothing is sent or mixed."""
    session = Session(MemoryStore("s"))
    node = ContextNode(session, Budget(window=16_000))
    first = [HumanMessage("alice: a secret"), AIMessage("Noted."), HumanMessage("alice: and now?")]
    node({"messages": first})
    for other in ([HumanMessage("bob: hello")], [*first[:2], HumanMessage("edited")], first[1:]):
        with pytest.raises(BadInput, match="node for each thread_id"):
            node({"messages": other})
    shown = node({"messages": [*first, AIMessage("Yes."), HumanMessage("alice: fine")]})["llm_input_messages"]
    assert [message.content for message in shown][-1] == "alice: fine"


def test_without_tools_the_node_speaks_of_none() -> None:
    """The same conversation: no handle, no `expand`."""
    session = Session(MemoryStore("s"))
    node = ContextNode(session, Budget(window=16_000, output=500))
    talk: list[Any] = [
        HumanMessage("What is in a.py?"),
        calling(1, "shell", command="make"),
        ToolMessage(LONG, tool_call_id="call_1"),
    ]
    for number in range(2, 8):
        talk += [
            calling(number, "shell", command=f"step {number}"),
            ToolMessage(shell(f"step {number}"), tool_call_id=f"call_{number}"),
        ]
        shown = "\n".join(seen(node, talk))
    assert "line 200 of" not in shown
    assert not re.search(r"#\d|expand|recall", shown)
    assert node.tools == []


def test_langgraphs_own_agent_takes_the_node_as_its_hook() -> None:
    """`create_react_agent(model, node.tools, pre_model_hook=node)`."""
    session = Session(MemoryStore("s"))
    node = ContextNode(session, BUDGET, tools=[shell])

    def replies() -> Iterator[AIMessage]:
        yield calling(1, "expand", id=next(iter(session.items)).id)
        yield AIMessage("Hello.")

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            assert len(tools) == 3
            return self

    model = Model(messages=replies())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has moved to another package, which is not installed here
        agent = create_react_agent(model, node.tools, pre_model_hook=node)
    state = agent.invoke({"messages": [HumanMessage("Say it again.")]})
    expanded, said = [message.content for message in state["messages"]][-2:]
    assert expanded.endswith("lines 1–1 of 1]\nSay it again.")
    assert said == "Hello."


def test_what_is_no_tool_is_refused() -> None:
    """With what a tool is."""
    with pytest.raises(BadInput, match="LangChain tool or a function"):
        ContextNode(Session(MemoryStore("s")), BUDGET, tools=[7])
