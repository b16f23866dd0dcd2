"""A LangGraph graph whose model never sees more than fits: one node before the model composes the messages.

`ContextNode` takes the messages of the graph into a session, one for each `thread_id`, and gives those that fit as
`llm_input_messages`. Its `tools` are yours and `expand` and `recall`, by which the model sees again what was shortened.
Here the model is called with the OpenAI SDK; with a chat model of LangChain the node is
`model.bind_tools(node.tools).invoke(…)`.

    OPENAI_API_KEY=… python langgraph_agent.py "Where does web listen?"
"""

import os
import sys
from typing import Any
from uuid import uuid4

import openai
from langchain_core.messages import HumanMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import sightline as sl
from sightline.adapters.langchain import ContextNode


def port_of(service: str) -> int:
    """The port that a service listens on."""
    return {"web": 8080, "mail": 2525}[service]


class State(MessagesState):
    """The messages of the graph, all of them, and those that the model sees."""

    llm_input_messages: list[Any]


def build(client: openai.OpenAI, *, model: str) -> Any:
    """The graph: context → model → tools → context, and so on, until the model calls nothing more."""
    node = ContextNode(".", sl.Budget(window=128_000, output=2_000), tools=[port_of])
    definitions: Any = [convert_to_openai_tool(tool) for tool in node.tools]

    def ask(state: State) -> dict[str, Any]:
        messages: Any = convert_to_openai_messages(state["llm_input_messages"])
        reply = client.chat.completions.create(model=model, messages=messages, tools=definitions)
        said = reply.choices[0].message.model_dump(exclude_none=True)
        return {"messages": convert_to_messages([{"content": "", **said}])}

    graph = StateGraph(State)
    graph.add_node("context", node)
    graph.add_node("model", ask)
    graph.add_node("tools", ToolNode(node.tools))
    graph.add_edge(START, "context")
    graph.add_edge("context", "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "context")
    return graph.compile(checkpointer=InMemorySaver())


def main() -> None:
    """Answer the question on the command line."""
    graph = build(openai.OpenAI(), model=os.environ.get("MODEL", "gpt-5"))
    asked = {"messages": [HumanMessage(" ".join(sys.argv[1:]))]}
    state = graph.invoke(asked, {"configurable": {"thread_id": str(uuid4())}})
    print(state["messages"][-1].content)


if __name__ == "__main__":
    main()
