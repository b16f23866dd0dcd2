"""contextgc: `compile_messages` on the whole history before each model call, as its wrapper of a client does.

With its `coding` schema, which its documentation uses in an agent loop, and the question as `recall_query`, so that it
may bring retired turns back. The system message is kept apart, because it cuts a long one like a verbose log. It knows
no budget at all. No model is called.
"""

from contextgc import compile_messages, load_schema

from benchmarks.quality.messages import Message
from benchmarks.quality.peers.server import serve


class Compile:
    """The history, compiled anew at each call; it keeps nothing between two."""

    def __init__(self) -> None:
        self.system: list[Message] = []
        self.history: list[Message] = []
        self.schema = load_schema("coding")

    def add(self, messages: list[Message]) -> None:
        """Chat messages are its own form."""
        for message in messages:
            (self.history if self.history or message["role"] != "system" else self.system).append(message)

    def compose(self, query: str, budget: int) -> list[Message]:  # noqa: ARG002 - it knows no budget
        """What is currently true, in its words."""
        compiled, _ = compile_messages(list(self.history), schema=self.schema, recall_query=query or None)
        return list(compiled)

    def messages(self, composed: list[Message]) -> list[Message]:
        """Without the keys it adds, and without its register of facts where that is empty."""
        kept = ("role", "content", "tool_calls", "tool_call_id")
        return [
            *self.system,
            *(
                {key: message[key] for key in kept if key in message}
                for message in composed
                if any(message.get(key) for key in kept[1:])
            ),
        ]


if __name__ == "__main__":
    serve("contextgc", {"compile": Compile})
