"""CliffCompaction: the engine of its proxy, with the budget as threshold and its other defaults.

`Engine.prepare` before each call; clients send the original history, and it finds its stored prefix again. It estimates
four characters a token and takes no other counter, so a request may be too long all the same: then, as when a
provider refuses one for its length, `Engine.reactive` compacts further until it fits or nothing is left to try. What a
refused request costs is not counted. No model is called.
"""

from cliffcompaction.config import Config
from cliffcompaction.dialects import openai_chat
from cliffcompaction.engine import Engine

from benchmarks.quality.messages import Message, count_messages
from benchmarks.quality.peers.server import serve


class Cliff:
    """One client of the proxy."""

    def __init__(self) -> None:
        self.history: list[Message] = []
        self.engines: dict[int, Engine] = {}  # by budget

    def add(self, messages: list[Message]) -> None:
        """Chat messages are its own form."""
        self.history += messages

    def compose(self, query: str, budget: int) -> list[Message]:  # noqa: ARG002 - it knows no question
        """The request as it would be forwarded."""
        if budget not in self.engines:
            self.engines[budget] = Engine(Config(threshold_tokens=budget))
        engine = self.engines[budget]
        request = engine.prepare({"messages": list(self.history)}, openai_chat.DIALECT)
        while count_messages(request.substituted) > budget and engine.reactive(request):
            pass
        return list(request.substituted)

    def messages(self, composed: list[Message]) -> list[Message]:
        """As they are."""
        return composed


if __name__ == "__main__":
    serve("cliffcompaction", {"engine": Cliff})
