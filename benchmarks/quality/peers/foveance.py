"""Foveance: its proxy core, `FoveanceProxy.prepare`, with the anticipatory allocator also for tool-using requests.

One proxy per session, as behind `foveance proxy --agentic-allocator`, so that its per-conversation store fills. Its
budget covers what it may re-render, not the request: it gets the benchmark's budget less the system messages and the
last three messages, which it always sends as they are. Tokens are counted exactly through `token_counter`. No model,
no vault; its default hashing embedder scores relevance.
"""

from foveance.proxy import FoveanceProxy

from benchmarks.quality.messages import REQUEST, Message, count_message, count_text
from benchmarks.quality.peers.server import serve

PROTECTED = 3  # its default: the newest messages of a tool-using request
LEAST = 200  # tokens, so that something is left to give out


class Allocate:
    """A conversation with the proxy."""

    def __init__(self) -> None:
        self.history: list[Message] = []
        self.tokens: list[int] = []
        self.system = 0
        self.proxy = FoveanceProxy(agentic_allocator=True, token_counter=count_text)

    def add(self, messages: list[Message]) -> None:
        """Chat messages are its own form."""
        self.history += messages
        self.tokens += map(count_message, messages)
        self.system += sum(count_message(message) for message in messages if message["role"] == "system")

    def compose(self, query: str, budget: int) -> list[Message]:  # noqa: ARG002 - it finds the question itself
        """The request as it would be forwarded."""
        self.proxy.budget = max(LEAST, budget - REQUEST - self.system - sum(self.tokens[-PROTECTED:]))
        forwarded, _ = self.proxy.prepare({"messages": list(self.history), "conversation_id": "bench"})
        return list(forwarded["messages"])

    def messages(self, composed: list[Message]) -> list[Message]:
        """As they are."""
        return composed


if __name__ == "__main__":
    serve("foveance", {"allocate": Allocate})
