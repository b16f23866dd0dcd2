"""The agent: a model, tools and a session, and the loop that answers a question with them."""

from sightline.agent.agent import Agent
from sightline.agent.events import Answer, Called, Calling, CodeSaved, Composed, Event, Replied, Retrying, Said
from sightline.agent.langgraph_loop import ContextNode
from sightline.agent.usage import Spent

__all__ = [
    "Agent",
    "Answer",
    "Called",
    "Calling",
    "CodeSaved",
    "Composed",
    "ContextNode",
    "Event",
    "Replied",
    "Retrying",
    "Said",
    "Spent",
]
