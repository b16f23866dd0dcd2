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
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition
from strict_model import count_tokens

from sightline.adapters.langchain import ContextNode
from sightline.errors import BadInput
from sightline.log.stores.memory import MemoryStores
from sightline.plan.view import Budget
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
    """What an output too large for the window does not show is read on; in both kinds of graphs."""
    session = Session(MemoryStore("s"))
    node = ContextNode(session, BUDGET, tools=[shell])
    assert [getattr(tool, "name", "shell") for tool in node.tools] == ["shell", "expand", "recall", "look"]
    model = Script(
        calling(1, "shell", command="make"),
        lambda shown: calling(8, "expand", id=re.search(r"#\d+", shown)[0], start=280, lines=60),  # type: ignore[index]
        calling(9, "recall", query="line 321 of the file"),
        AIMessage("Four hundred lines."),
    )
    state = run(node, model, run_async=run_async)
    assert state["messages"][-1].content == "Four hundred lines."
    assert "line 300 of" not in model.seen[-3]  # the output was paged
    assert re.search(r"\[#\d+ lines 280–339 of 400", model.seen[-2])
    assert "line 300 of" in model.seen[-2]
    assert "line 321 of the file" in model.seen[-1]
    assert [item.kind.name for item in session.items].count("RESULT") == 3


def test_another_list_is_a_branch_and_shares_only_what_is_the_same() -> None:
    """Another beginning, an edited question, a state that forgot its beginning: nothing is mixed, nothing is lost."""
    session = Session(MemoryStore("s"))
    node = ContextNode(session, Budget(window=16_000))
    first = [HumanMessage("alice: a secret"), AIMessage("Noted."), HumanMessage("alice: and now?")]
    node({"messages": first})
    for other in ([HumanMessage("bob: hello")], [*first[:2], HumanMessage("edited")], first[1:]):
        assert seen(node, other) == [message.content for message in other]
    longer = [*first, AIMessage("Yes."), HumanMessage("alice: fine")]
    assert seen(node, longer) == [message.content for message in longer]
    assert node.session_of("").branch == ""
    assert len(session.branches) == 4


def test_each_thread_has_a_session_of_its_own_with_one_node() -> None:
    """A folder or stores: sessions are opened by the `thread_id`; a factory is asked by it."""
    model = Script(*(AIMessage(f"answer {number}") for number in range(4)))
    opened: list[str] = []

    def open_session(session_id: str) -> Session:
        opened.append(session_id)
        return Session(MemoryStore(session_id))

    for sessions in (MemoryStores(), open_session):
        node = ContextNode(sessions, BUDGET)
        graph = StateGraph(GraphState)
        graph.add_node("context", node)
        graph.add_node("model", model)
        graph.add_edge(START, "context")
        graph.add_edge("context", "model")
        compiled = graph.compile(checkpointer=InMemorySaver())
        for thread in ("alice", "bob"):
            asked = {"messages": [HumanMessage(f"I am {thread}.")]}
            compiled.invoke(asked, {"configurable": {"thread_id": thread}})  # type: ignore[call-overload]
            assert model.seen[-1] == f"I am {thread}."
        assert [plain_text(item.parts) for item in node.session_of("bob").items] == ["I am bob."]
    assert opened == ["alice", "bob"]


def test_the_prompt_of_the_graph_is_counted_and_not_among_the_messages() -> None:
    """`create_react_agent(prompt=…)` puts it before the messages itself: together they fit."""
    prompt = SystemMessage("Be brief. " * 1_000)
    talk = [
        message for number in range(30) for message in (HumanMessage(f"q{number} " * 100), AIMessage("word " * 200))
    ]
    for given in (prompt, str(prompt.text)):
        node = ContextNode(Session(MemoryStore("s")), BUDGET, prompt=given)
        shown = node({"messages": [*talk, HumanMessage("And?")]})
        sent = [prompt, *shown["llm_input_messages"]]
        assert count_tokens(sent, []) <= BUDGET.window - BUDGET.output
        assert shown["payload"].tokens > count_tokens([prompt], [])
        assert prompt.text not in [message.text for message in shown["llm_input_messages"]]


def test_the_context_node_can_be_lifted_into_a_graph_of_ones_own() -> None:
    """In a LangGraph graph over messages it takes in what is new and hands the model what fits the budget."""
    session = Session(MemoryStore("s"))
    shown: list[list[Any]] = []

    def model(state: GraphState) -> dict[str, Any]:
        shown.append(state["llm_input_messages"])
        return {"messages": [AIMessage("fine " * 300)]}

    node = ContextNode(session, Budget(window=2_000, output=200))
    graph = StateGraph(GraphState)
    graph.add_node("context", node)
    graph.add_node("model", model)
    graph.add_edge(START, "context")
    graph.add_edge("context", "model")
    graph.add_edge("model", END)
    compiled = graph.compile()

    async def turns() -> Any:
        state: Any = {"messages": []}
        for n in range(8):
            state["messages"] = [*state["messages"], HumanMessage(f"Question {n} " + "word " * 200)]
            state = await compiled.ainvoke(state)
        return state

    state = asyncio.run(turns())
    assert len(state["messages"]) == 16
    assert len(shown[-1]) < 16
    assert "Question 7" in str(shown[-1][-1].content)
    assert session.receipt is not None
    assert session.receipt.tokens <= session.receipt.limit


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
            assert len(tools) == 4
            return self

    model = Model(messages=replies())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `create_agent` replaces it
        agent = create_react_agent(model, node.tools, pre_model_hook=node)
    state = agent.invoke({"messages": [HumanMessage("Say it again.")]})
    expanded, said = [message.content for message in state["messages"]][-2:]
    assert expanded.endswith("lines 1–1 of 1]\nSay it again.")
    assert said == "Hello."


def test_what_is_no_tool_is_refused() -> None:
    """With what a tool is."""
    with pytest.raises(BadInput, match="LangChain tool or a function"):
        ContextNode(Session(MemoryStore("s")), BUDGET, tools=[7])
