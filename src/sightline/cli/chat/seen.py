"""How much of the user's own words the model was shown."""

from typing import NamedTuple

from sightline.agent.agent import Agent
from sightline.cli.phrases import Words
from sightline.recall.recall import RECALL_TOOLS


class Cut(NamedTuple):
    """A question that did not fit: its tokens, and how many the model was shown."""

    question: int
    seen: int
    more: bool  # whether the model has a tool to see the rest with

    def told(self, words: Words) -> str:
        """That it was shortened, and what helps."""
        return words("question cut more" if self.more else "question cut", tokens=self.question, seen=self.seen)


def cut_question(agent: Agent) -> Cut | None:
    """How the last payload shortened the question that it was made for; None where all of it was shown."""
    payload = agent.payload
    lines = payload.plan.lines() if payload is not None else ()
    line = next((line for line in lines if line.id == agent.question), None)
    if payload is None or line is None or line.tokens >= line.full_tokens:
        return None
    tools = {tool.name for tool in payload.tools}
    return Cut(line.full_tokens, line.tokens, any(tool.name in tools for tool in RECALL_TOOLS))
