"""Headroom (headroom-ai): `compress`, its library call, on the whole history before each model call.

Its default regime for coding agents: content-aware compressors, the last four messages protected. It knows no hard
budget; `model_limit`, its nearest notion, is the budget. The system message is kept as it is. Its text compressor is a
neural model from a hub and is switched off (`kompress_model="disabled"`): the benchmark runs offline and calls none.
"""

from typing import Any

from headroom import compress

from benchmarks.quality.messages import Message
from benchmarks.quality.peers.server import serve


class Compress:
    """The history, compressed anew at each call, as its documentation calls it."""

    def __init__(self) -> None:
        self.history: list[Message] = []

    def add(self, messages: list[Message]) -> None:
        """Chat messages are its own form."""
        self.history += messages

    def compose(self, query: str, budget: int) -> Any:  # noqa: ARG002 - it finds the question itself
        """The compressed history."""
        return compress(
            list(self.history),
            model="gpt-4o",
            model_limit=budget,
            kompress_model="disabled",
            compress_system_messages=False,
        )

    def messages(self, composed: Any) -> list[Message]:
        """As they are."""
        return list(composed.messages)


if __name__ == "__main__":
    serve("headroom-ai", {"compress": Compress})
