"""Headroom (headroom-ai): `compress`, its library call, on the whole history before each model call.

Its default regime for coding agents: content-aware compressors, the last four messages protected. It knows no hard
budget; `model_limit`, its nearest notion, is the budget. The system message is kept as it is. Its text compressor is a
neural model from a hub and is switched off (`kompress_model="disabled"`): the benchmark runs offline and calls none.
"""

import json
import re
from typing import Any

from headroom import compress
from headroom.cache.compression_store import get_compression_store

from benchmarks.quality.messages import Message
from benchmarks.quality.peers.server import serve


class Compress:
    """The history, compressed anew at each call, as its documentation calls it."""

    def __init__(self) -> None:
        self.history: list[Message] = []
        self.sent: list[Message] = []

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
        self.sent = list(composed.messages)
        return self.sent

    def recovered(self) -> str:
        """What `headroom_retrieve` answers for each hash that the last request names."""
        hashes = re.findall(r"hash=([0-9a-f]{6,})", json.dumps(self.sent))
        found = [get_compression_store().retrieve(each) for each in hashes]
        return "\n".join(each.original_content for each in found if each is not None)


if __name__ == "__main__":
    serve("headroom-ai", {"compress": Compress})
