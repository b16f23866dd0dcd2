"""The chunks of Gemini's contents, put together: each is a whole response with some parts of the answer."""

from typing import Any

from sightline.wire.gemini import camel
from sightline.wire.streams.pieces import Json, Piece

_WORDS = {"text", "thought"}  # a part that has anything else, such as a signature, is a part of its own


class ContentChunks:
    """Builds from the chunks of one reply what the server would have sent without streaming."""

    def __init__(self) -> None:
        self._head: Json = {}
        self._candidate: Json = {}
        self._parts: list[Json] = []

    @property
    def finished(self) -> bool:
        return bool(self._candidate.get("finishReason")) or "promptFeedback" in self._head

    def add(self, value: Json) -> list[Piece]:
        """See `ReplyParts.add`."""
        self._head |= {key: field for key, field in value.items() if key != "candidates" and field is not None}
        candidate = next((option for option in value.get("candidates") or () if not option.get("index")), None)
        if candidate is None:
            return []
        self._candidate |= {key: field for key, field in candidate.items() if key != "content" and field is not None}
        parts = (candidate.get("content") or {}).get("parts") or []
        return [piece for part in parts for piece in self._add_part({camel(key): field for key, field in part.items()})]

    def reply(self) -> Json:
        """See `ReplyParts.reply`."""
        return self._reply(self._parts)

    def stopped(self, text: str) -> Json:
        """See `ReplyParts.stopped`."""
        return self._reply([{"text": text}])

    def _reply(self, parts: list[Json]) -> Json:
        if not self._candidate and not parts:  # the prompt was refused
            return self._head
        return self._head | {"candidates": [self._candidate | {"content": {"role": "model", "parts": parts}}]}

    def _add_part(self, part: Json) -> list[Piece]:
        last: Json = self._parts[-1] if self._parts else {}
        is_thought = part.get("thought") is True
        is_same = bool(last.get("thought")) == is_thought
        if part.keys() | last.keys() <= _WORDS and "text" in last and "text" in part and is_same:
            last["text"] += part["text"]
        else:
            self._parts.append(part)
        text: Any = part.get("text")
        return [Piece(text, thinking=is_thought)] if isinstance(text, str) and text else []
