"""What all formats of streams share: a piece of text, and what puts a reply together."""

from typing import Any, NamedTuple, Protocol

Json = dict[str, Any]


class Piece(NamedTuple):
    """A piece of a reply's text. `thinking` is not part of the answer."""

    text: str
    thinking: bool = False


class ReplyParts(Protocol):
    """Puts the chunks of one reply together. The chunks are plain JSON values that belong to it."""

    @property
    def finished(self) -> bool:
        """Whether the model has declared the end of its reply."""

    def add(self, value: Json) -> list[Piece]:
        """Add a chunk and return its text. Raises BadInput if it continues something that did not begin."""

    def reply(self) -> Json:
        """The whole reply, as the server would have sent it without streaming."""

    def stopped(self, text: str) -> Json:
        """The same object for a reply that did not come to its end: with this text, and no calls."""
