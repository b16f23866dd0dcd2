"""The agent: a model, tools and a session, and the loop that answers a question with them."""

from sightline.agent.agent import Agent
from sightline.agent.events import (
    Answer,
    CodeSaved,
    Event,
    PayloadComposed,
    ReplyReceived,
    RetryScheduled,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from sightline.agent.turn import Spent

__all__ = [
    "Agent",
    "Answer",
    "CodeSaved",
    "Event",
    "PayloadComposed",
    "ReplyReceived",
    "RetryScheduled",
    "Spent",
    "TextDelta",
    "ToolFinished",
    "ToolStarted",
]
