"""What a request hides although the whole history fits: tokens, and which items for which reason."""

import json
from contextlib import suppress
from typing import Any, NamedTuple

from benchmarks.quality.composer_calls import Composer, Row, Tally
from benchmarks.quality.messages import History, Message, arguments_text, count_text, text_of
from benchmarks.quality.request import Request

TRIGGER = 0.95  # of the budget: a history that is smaller fits, and leaves room for the answer


class Piece(NamedTuple):
    """A text of a message: what it says, or the arguments of one of its calls."""

    key: str  # what it answers or calls, to find its shorter form; empty for other texts
    text: str


def pieces(message: Message) -> list[Piece]:
    """Return the texts of a message that are not empty."""
    said = Piece(f"answer {message.get('tool_call_id')}" if message["role"] == "tool" else "", _said(message))
    made = [Piece(f"call {each['id']}", _arguments(each)) for each in message.get("tool_calls") or ()]
    return [piece for piece in (said, *made) if piece.text]


def _said(message: Message) -> str:
    return text_of(message.get("content")).strip()


def _arguments(call: Message) -> str:
    """The arguments of a call, spaced in one way."""
    text = arguments_text(call["function"]["arguments"])
    with suppress(ValueError):
        return json.dumps(json.loads(text), ensure_ascii=False)
    return text


class Hidden:
    """What the requests of one composer hide in one run."""

    def __init__(self, run: str, messages: History) -> None:
        self._run = run
        self._pieces = [pieces(message) for message in messages]
        self._tools = {call["id"]: call["function"]["name"] for m in messages for call in m.get("tool_calls") or ()}
        self.items: dict[tuple[int, str], Row] = {}  # message and key: what was hidden of it, where it was most

    def look(self, request: Request, end: int, tokens: int, composer: Composer, tally: Tally) -> None:
        """Compare a request with the history that it was composed of: the messages before `end`, so many tokens."""
        shown = {piece.key: piece.text for found in request.each(pieces) for piece in found if piece.key}
        texts = {piece.text for found in request.each(pieces) for piece in found}
        missing = [(at, piece) for at in range(end) for piece in self._pieces[at] if piece.text not in texts]
        lost = [(at, piece) for at, piece in missing if not any(piece.text in text for text in request.texts)]
        tally.add(fits=1, fits_tokens=tokens, hides=bool(lost))
        for at, piece in lost:
            size, kept = count_text(piece.text), count_text(shown.get(piece.key, ""))
            tally.add(hidden_tokens=max(0, size - kept))
            self._note(at, piece.key, size, kept, composer)

    def _note(self, at: int, key: str, size: int, kept: int, composer: Composer) -> None:
        known: dict[str, Any] = self.items.setdefault((at, key), {"run": self._run, "message": at, "calls": 0})
        known["calls"] += 1
        if kept <= known.get("shown", size):
            why = composer.why(at) if hasattr(composer, "why") else ""
            tool = self._tools.get(key.partition(" ")[2], "")
            known |= {"tool": tool, "tokens": size, "shown": kept, "reason": why}
