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
    row = payload.plan.timeline.row(agent.question) if payload is not None else None
    if payload is None or row is None:
        return None
    timeline, full = payload.plan.timeline, payload.plan.timeline.full[row]
    seen = timeline.size(row, payload.plan.lod(row))
    tools = {tool.name for tool in payload.tools}
    return Cut(full, seen, any(tool.name in tools for tool in RECALL_TOOLS)) if seen < full else None
