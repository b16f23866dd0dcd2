"""An agent of LangChain whose model never sees more than fits: one middleware composes the messages of each call.

`SightlineMiddleware` takes the messages of the agent into a session, one for each `thread_id`, and gives the model
those that fit, with the system prompt and the tools counted. It brings `expand` and `recall`, by which the model sees
again what was shortened. The agent's own state keeps every message.

    OPENAI_API_KEY=… python langchain_agent.py "Where does web listen?"
"""

import os
import sys
from typing import Any
from uuid import uuid4

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

import sightline as sl
from sightline.adapters.langchain import SightlineMiddleware


def port_of(service: str) -> int:
    """The port that a service listens on."""
    return {"web": 8080, "mail": 2525}[service]


def build(model: ChatOpenAI, middleware: SightlineMiddleware) -> Any:
    """The agent: model and tools in turn, until the model calls nothing more."""
    return create_agent(
        model,
        [port_of],
        system_prompt="You know the services of this company.",
        middleware=[middleware],
        checkpointer=InMemorySaver(),
    )


def main() -> None:
    """Answer the question on the command line; the session has the thread's id, in the project's folder of logs."""
    middleware = SightlineMiddleware(sl.Budget(window=128_000, output=2_000))
    agent = build(ChatOpenAI(model=os.environ.get("MODEL", "gpt-5")), middleware)
    asked = {"messages": [{"role": "user", "content": " ".join(sys.argv[1:])}]}
    state = agent.invoke(asked, {"configurable": {"thread_id": str(uuid4())}})
    print(state["messages"][-1].content)
    middleware.close()


if __name__ == "__main__":
    main()
