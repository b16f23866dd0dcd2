"""Astromesh Context, in the two ways that its documentation shows.

`engine`: `Offloader`, then `ContextEngine` with the system message pinned, the conversation as its `HistorySource` and
`ScoredKnapsack`; the budget is the engine's, less the framing of the messages. No model is called.
`loop`: `Offloader`, then `Compactor`, for long-running agents. The compactor needs a model for its summaries; it gets
the stand-in of its documentation, which only says how many messages there were, and each call of it is counted as
a model call that it would have made. It compacts above the budget and keeps the last six messages, its default; the
compacted conversation goes on. Both count tokens exactly through `tokenizer`.
"""

import asyncio

from astromesh_context import ContextEngine, HistorySource, ScoredKnapsack, SourceConfig, StaticSource
from astromesh_context.loop import Compactor, Offloader

from benchmarks.quality.messages import CALL, MESSAGE, REQUEST, Message, count_text
from benchmarks.quality.peers.server import serve


class Exact:
    """A tokenizer of its protocol."""

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return count_text(text)


class Engine:
    """The conversation as a source of the engine's."""

    def __init__(self) -> None:
        self.history: list[Message] = []
        self.offloader = Offloader(tokenizer=Exact())

    def add(self, messages: list[Message]) -> None:
        """Chat messages are its own form."""
        self.history += messages

    def compose(self, query: str, budget: int) -> list[Message]:
        """The window that the engine builds."""
        lead = 0
        while lead < len(self.history) and self.history[lead]["role"] in ("system", "developer"):
            lead += 1
        said = self.offloader.offload(self.history[lead:])
        system = "\n\n".join(message["content"] for message in self.history[:lead])
        pinned = [StaticSource(system, kind="instruction", pinned=True)] if system else []
        room = max(1, budget - REQUEST - MESSAGE)
        while True:  # its tokens are those of texts: what the framing takes is known when the window is
            engine = ContextEngine(
                [*pinned, SourceConfig(HistorySource(said))],
                policy=ScoredKnapsack(), budget=room, tokenizer=Exact(),
            )  # fmt: skip
            window = asyncio.run(engine.build(query))
            sent: list[Message] = list(window.to_messages(include_query=False))
            over = window.tokens_used + framing(sent) - budget
            if over <= 0 or room <= 1:
                return sent if system else sent[1:]
            room = max(1, room - over)

    def messages(self, composed: list[Message]) -> list[Message]:
        """As they are."""
        return composed


class Loop:
    """The conversation, offloaded and compacted as it goes."""

    def __init__(self) -> None:
        self.conversation: list[Message] = []
        self.offloader = Offloader(tokenizer=Exact())
        self.model_calls = 0

    def add(self, messages: list[Message]) -> None:
        """Chat messages are its own form."""
        self.conversation += messages

    def compose(self, query: str, budget: int) -> list[Message]:  # noqa: ARG002 - it knows no question
        """The conversation that goes on."""
        threshold = max(1, budget - framing(self.conversation))
        compactor = Compactor(self._summary, threshold_tokens=threshold, tokenizer=Exact())
        self.conversation = asyncio.run(compactor.compact(self.offloader.offload(self.conversation)))
        return list(self.conversation)

    async def _summary(self, old: list[Message]) -> str:
        self.model_calls += 1
        return f"{len(old)} earlier messages"

    def messages(self, composed: list[Message]) -> list[Message]:
        """Its summary is a system message with a name, which says nothing to a model."""
        return [{key: value for key, value in each.items() if key != "name"} for each in composed]


def framing(messages: list[Message]) -> int:
    """What a request costs beside its texts."""
    calls = sum(len(message.get("tool_calls") or ()) for message in messages)
    return REQUEST + MESSAGE * len(messages) + CALL * calls


if __name__ == "__main__":
    serve("astromesh-context", {"engine": Engine, "loop": Loop})
