"""The chunks of OpenAI's chat completions, put together: OpenAI, DeepSeek, vLLM, llama.cpp, Ollama, LM Studio, …"""

from collections.abc import Mapping
from typing import Any

from sightline.wire.common import call_from
from sightline.wire.streams.pieces import Json, Piece

THINKING = ("reasoning_content", "reasoning")  # DeepSeek, vLLM and llama.cpp; OpenRouter and Ollama
_GROWING = frozenset({"content", "refusal", "arguments", "input", "text", "summary", *THINKING})


class ChatChunks:
    """Builds from the chunks of one reply what the server would have sent without streaming."""

    def __init__(self) -> None:
        self._head: Json = {}
        self._message: Json = {"role": "assistant", "content": None}
        self._calls: list[Json] = []
        self._finish: str | None = None
        self._whole: Json | None = None
        self.done = False  # no chunk follows; some servers say this instead of a reason to finish

    @property
    def finished(self) -> bool:
        return self._finish not in (None, "error")

    @property
    def complete(self) -> bool:
        """Whether it is a reply: it is finished, or it came at once, or no chunk follows."""
        return self._whole is not None or self.finished or (self.done and self._finish is None)

    def add(self, value: Json, *, whole: bool = False) -> list[Piece]:
        """Add a chunk and return its text. `whole`: the server did not stream, this is the reply."""
        self._head |= {key: field for key, field in value.items() if key != "choices" and field is not None}
        choice = next((option for option in value.get("choices") or () if not option.get("index")), None)
        if choice is None:
            return []
        pieces = self._add_delta(choice.get("message" if whole else "delta") or {})
        self._finish = choice.get("finish_reason") or self._finish  # last, because a malformed chunk is not an end
        if whole:
            self._whole = value
        return pieces

    def reply(self) -> Json:
        """See `ReplyParts.reply`."""
        if self._whole is not None:
            return self._whole
        made = []
        for number, call in enumerate(self._calls):
            id_ = call.get("id") or f"call_{self._head.get('id', '')}_{number}"  # some servers send none
            made.append({key: value for key, value in call.items() if key != "index"} | {"id": id_})
        calls = {"tool_calls": made} if made else {}
        return self._completion(self._message | calls, self._finish or ("tool_calls" if self._calls else "stop"))

    def stopped(self, text: str) -> Json:
        """See `ReplyParts.stopped`."""
        return self._completion({"role": "assistant", "content": text}, None)

    def _completion(self, message: Json, finish: str | None) -> Json:
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return {**self._head, "object": "chat.completion", "choices": [choice]}

    def _add_delta(self, delta: Json) -> list[Piece]:
        for call in delta.get("tool_calls") or ():
            self._add_to_call(call)
        merge(self._message, {key: value for key, value in delta.items() if key not in ("tool_calls", "role")})
        thought = next((delta[key] for key in THINKING if delta.get(key)), "")
        pieces = (Piece(thought, thinking=True), Piece(delta.get("content") or delta.get("refusal") or ""))
        return [piece for piece in pieces if isinstance(piece.text, str) and piece.text]

    def _add_to_call(self, delta: Json) -> None:
        """Calls come in pieces by index. Some servers send no index, or the same one for every whole call."""
        place = delta.get("index")
        call = next((earlier for earlier in reversed(self._calls) if place is None or earlier["index"] == place), None)
        if call is None or _begins_another(call, delta):
            place = len(self._calls) if place is None else place
            self._calls.append(call := {"index": place, "type": "function", "function": {"arguments": ""}})
        merge(call, {key: value for key, value in delta.items() if key != "index"})


def _begins_another(call: Json, delta: Json) -> bool:
    """Whether a piece begins another call: it has another id; or it has no id but a name, and this call is complete."""
    if (call_id := delta.get("id")) and call.get("id"):
        return bool(call_id != call["id"])
    match call.get("function"), delta.get("function"):
        case {"arguments": str() | dict() as so_far}, {"name": str(name), "arguments": str() | dict() as more}:
            begins = isinstance(more, dict) or more.lstrip().startswith("{")
            return begins and isinstance(call_from("", name, so_far).input, dict)
        case _:
            return False


def merge(whole: Json, piece: Mapping[str, Any]) -> None:
    """Add a piece: growing texts are appended to, list parts are matched by their index, other values are replaced."""
    for key, value in piece.items():
        old = whole.get(key)
        match old, value:
            case _, None:
                whole.setdefault(key, None)
            case dict(), dict():
                merge(old, value)
            case list(), [*parts]:
                _merge_list(old, parts)
            case str(), str() if key in _GROWING:
                whole[key] = old + value
            case _:
                whole[key] = value


def _merge_list(whole: list[Any], parts: list[Any]) -> None:
    for part in parts:
        place = part.get("index") if isinstance(part, dict) else None
        same = (
            earlier
            for earlier in whole
            if isinstance(earlier, dict) and place is not None and earlier.get("index") == place
        )
        if (begun := next(same, None)) is not None:
            merge(begun, part)
        else:
            whole.append(part)
