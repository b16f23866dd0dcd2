"""Streamed replies: the chunks of either SDK, of its plain streams and of its helpers, become one reply."""

from collections.abc import Mapping
from typing import Any

from sightline.values.decoders import join_halves
from sightline.wire import common
from sightline.wire.streams.chat import ChatChunks
from sightline.wire.streams.contents import ContentChunks
from sightline.wire.streams.messages import MessageEvents
from sightline.wire.streams.pieces import Json, ReplyParts
from sightline.wire.streams.responses import ResponseEvents

__all__ = ["StreamedReply"]

_MESSAGES = frozenset({
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "ping",
})  # fmt: skip
_CONTENTS = ("candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata")
_ACCEPTED = (
    "the chunks of a stream of openai (chat.completions, responses), anthropic (messages) or gemini, as they come"
)


class StreamedReply:
    """One reply, chunk by chunk: objects of an SDK, or the same as dicts."""

    def __init__(self) -> None:
        self._parts: ReplyParts | None = None
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        """The answer so far, without thinking."""
        self._texts = ["".join(self._texts)]  # because it may be asked for at each chunk
        return self._texts[0]

    @property
    def finished(self) -> bool:
        """Whether the model has declared the end of its reply."""
        return self._parts is not None and self._parts.finished

    def add(self, chunk: object) -> None:
        """Add a chunk.

        Raises:
            BadInput: the first one is none of either SDK, or one continues something that did not begin.
        """
        if self._parts is None:
            self._parts = _parts_of(chunk)
        if (value := _raw(chunk)) is not None:
            self._texts += (piece.text for piece in self._parts.add(value) if not piece.thinking)

    def reply(self) -> Json | None:
        """The reply in its provider's form: whole, or of one that did not finish its text. None: there is no text."""
        if self._parts is None:
            return None
        text = self.text
        whole = self._parts.reply() if self.finished else self._parts.stopped(text) if text else None
        reply: Json | None = join_halves(whole)
        return reply


def _parts_of(chunk: object) -> ReplyParts:
    kind = str(_field(chunk, "type") or "")
    if kind in _MESSAGES:
        return MessageEvents()
    if kind.startswith("response."):
        return ResponseEvents()
    if kind == "chunk" or isinstance(_field(chunk, "choices"), list):
        return ChatChunks()
    if any(_field(chunk, name) is not None for name in _CONTENTS):
        return ContentChunks()
    raise common.bad_input("stream", common.describe(chunk), _ACCEPTED)


def _raw(chunk: object) -> Json | None:
    """The chunk as the server sent it; None for an event that a helper of an SDK has added.

    Those have all of the reply so far in them, so that reading each would take ever longer.
    """
    match _field(chunk, "type"):
        case None:
            return _plain(chunk)
        case "chunk":  # of the helper for chat completions, with the chunk inside
            return _plain(_field(chunk, "chunk"))
        case "message_stop" | "content_block_stop" as kind:  # the helper adds the message
            return {"type": kind}
        case "response.output_text.delta" | "response.refusal.delta" as kind:  # the helper adds the text so far
            return {"type": kind, "delta": _field(chunk, "delta")}
        case "response.created" | "response.completed" | "response.incomplete" | "response.failed" as kind:
            return {"type": kind, "response": _plain(_field(chunk, "response"))}
        case kind:
            return _plain(chunk) if kind in _MESSAGES else None


def _plain(chunk: object) -> Json:
    value: Json = common.plain(chunk, "chunk")
    return value


def _field(chunk: object, name: str) -> Any:
    return chunk.get(name) if isinstance(chunk, Mapping) else getattr(chunk, name, None)
