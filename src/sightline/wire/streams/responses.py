"""The events of OpenAI's Responses, put together: the last one has the whole response."""

from sightline.wire.streams.pieces import Json, Piece

_TEXTS = ("response.output_text.delta", "response.refusal.delta")
_ENDS = ("response.completed", "response.incomplete")  # a response that has failed did not come to its end


class ResponseEvents:
    """Keeps of the events of one reply the response that they are about."""

    def __init__(self) -> None:
        self._response: Json = {}
        self.finished = False

    def add(self, value: Json) -> list[Piece]:
        """See `ReplyParts.add`. Events of unknown kinds are skipped."""
        match value:
            case {"type": str(kind), "response": dict(response)}:
                self._response, self.finished = response, kind in _ENDS
            case {"type": str(kind), "delta": str(text)} if kind in _TEXTS:
                return [Piece(text)]
        return []

    def reply(self) -> Json:
        """See `ReplyParts.reply`."""
        return self._response

    def stopped(self, text: str) -> Json:
        """See `ReplyParts.stopped`."""
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        return self._response | {"object": "response", "output": [said]}
