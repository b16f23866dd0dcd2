"""The agent: a model, tools and a session, and the loop that answers a question with them."""

from sightline.agent.events import Answer, Called, Calling, CodeSaved, Composed, Event, Replied, Retrying, Said
from sightline.agent.graph import ContextNode
from sightline.agent.service import Agent
from sightline.agent.spending import Spent

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
