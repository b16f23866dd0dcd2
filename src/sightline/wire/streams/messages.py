"""The events of Anthropic's messages, put together."""

from typing import Any

import msgspec

from sightline.errors import BadInput
from sightline.wire.streams.pieces import Json, Piece

_GROWING = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


class MessageEvents:
    """Builds from the events of one reply what the server would have sent without streaming."""

    def __init__(self) -> None:
        self._message: Json = {}
        self._blocks: dict[int, Json] = {}
        self._inputs: dict[int, list[str]] = {}  # the arguments of calls: JSON text, not yet complete
        self._ended = False

    @property
    def finished(self) -> bool:
        return self._ended and bool(self._message)

    def add(self, value: Json) -> list[Piece]:
        """See `ReplyParts.add`. Events of unknown kinds are skipped."""
        match value:
            case {"type": "message", "content": [*blocks]}:  # the server did not stream
                self._message, self._ended = dict(value), True
                return [piece for block in blocks for piece in _text_of(block)]
            case {"type": "message_start", "message": dict(message)}:
                self._message = message
            case {"type": "content_block_start", "index": int(place), "content_block": dict(block)}:
                self._blocks[place] = block
                return _text_of(block)
            case {"type": "content_block_delta", "index": int(place), "delta": dict(delta)} if place in self._blocks:
                return self._add_delta(place, delta)
            case {"type": "message_delta"}:
                self._message |= value.get("delta") or {}
                usage = {key: count for key, count in (value.get("usage") or {}).items() if count is not None}
                self._message["usage"] = (self._message.get("usage") or {}) | usage
            case {"type": "message_stop"}:
                self._ended = True
            case {"type": "content_block_start" | "content_block_delta"}:  # it has no block that it could be added to
                raise BadInput("a piece of a block that did not begin")
        return []

    def reply(self) -> Json:
        """See `ReplyParts.reply`."""
        if not self._blocks:
            return self._message
        for place, pieces in self._inputs.items():
            self._blocks[place]["input"] = _arguments("".join(pieces))
        return self._message | {"content": [self._blocks[place] for place in sorted(self._blocks)]}

    def stopped(self, text: str) -> Json:
        """See `ReplyParts.stopped`. Thinking is left out, because only whole thinking is signed."""
        message = {"type": "message", "role": "assistant"} | self._message
        return message | {"content": [{"type": "text", "text": text}]}

    def _add_delta(self, place: int, delta: Json) -> list[Piece]:
        block, kind = self._blocks[place], delta.get("type")
        match delta:
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                self._inputs.setdefault(place, []).append(piece)
            case {"type": "citations_delta", "citation": citation}:
                block["citations"] = [*(block.get("citations") or ()), citation]
            case _ if kind in _GROWING:
                key = _GROWING[kind]
                block[key] = (block.get(key) or "") + (delta.get(key) or "")
                return _text_of({"type": block.get("type"), key: delta.get(key)})
        return []


def _text_of(block: Json) -> list[Piece]:
    match block:
        case {"type": "text", "text": str(text)} if text:
            return [Piece(text)]
        case {"type": "thinking", "thinking": str(text)} if text:
            return [Piece(text, thinking=True)]
        case _:
            return []


def _arguments(text: str) -> Any:
    """Return a call's arguments; if the reply reached its token limit in the middle of them, the text so far."""
    try:
        return msgspec.json.decode(text) if text.strip() else {}
    except msgspec.DecodeError:
        return text
