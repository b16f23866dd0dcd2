"""What a program adds to the turns of an agent, such as a store of the code that the model writes."""

from collections.abc import Collection

from msgspec import Struct

from sightline.agent.turn import Turn
from sightline.values.items import Call


class Extension:
    """Is called while a question is answered. What it saves goes to the turn. The methods here do nothing."""

    apps: Collection[str] = ()  # apps of the session that it opens itself, so the model needs no tools for them

    def prepare(self) -> None:
        """Called before each payload is composed, in a thread."""

    async def after_reply(self, response: Struct, turn: Turn) -> None:
        """Called when a reply is in the log, with what the protocol has read of it."""

    async def after_call(self, call: Call, turn: Turn) -> None:
        """Called when a call has succeeded and its result is in the log."""
