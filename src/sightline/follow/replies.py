"""Whole replies of the four formats: the calls of our tools in them, and the one that a client sees of several."""

from collections.abc import Collection
from typing import Any

from sightline.errors import BadInput
from sightline.values.decoders import decode_mended, encode_piece
from sightline.wire.streams import StreamedReply

Json = dict[str, Any]

_OUTPUT = ("output_tokens", "completion_tokens", "candidatesTokenCount")
_TOTAL = ("total_tokens", "totalTokenCount")


def count_output(value: Any) -> int:
    """Return the tokens of an answer, by its provider's count."""
    usage = value.get(_usage_key(value)) if isinstance(value, dict) else None
    thoughts = usage.get("thoughtsTokenCount") if isinstance(usage, dict) else 0  # Gemini's, counted apart
    counts = [usage.get(name) for name in _OUTPUT] if isinstance(usage, dict) else []
    return next((count for count in counts if type(count) is int), 0) + (thoughts if type(thoughts) is int else 0)


def _usage_key(value: Json) -> str:
    return "usageMetadata" if "usageMetadata" in value else "usage"


def add_output(value: Json, more: int) -> Json:
    """Return a reply, or the end of one, with the tokens of the answers before it.

    Its input is that of the last call, because by this clients know how full the context window is.
    """
    key = _usage_key(value)
    usage = value.get(key)
    if not more or not isinstance(usage, dict):
        return value
    counts = {name: usage.get(name) for name in (*_OUTPUT, *_TOTAL)}
    return value | {key: usage | {name: count + more for name, count in counts.items() if isinstance(count, int)}}


def own_calls(wire: str, reply: Json, own: Collection[str]) -> tuple[int, int]:
    """Count the calls of our tools in a reply, and the other calls."""
    names = [call_name(piece) for piece in _pieces(wire, reply)]
    ours = sum(name in own for name in names if name is not None)
    return ours, sum(name is not None for name in names) - ours


def merged(wire: str, replies: list[Json], own: Collection[str]) -> Json:
    """Return the one reply that a client sees of several: the last, with what the others say before it."""
    if len(replies) == 1 and not own_calls(wire, replies[0], own)[0]:
        return replies[0]
    last, visible = (
        replies[-1],
        [piece for reply in replies for piece in _pieces(wire, reply) if call_name(piece) not in {*own}],
    )
    calls = any(call_name(piece) is not None for piece in visible)
    last = add_output(last, sum(map(count_output, replies[:-1])))
    if wire == "anthropic":
        reason = last.get("stop_reason")
        return last | {"content": visible, "stop_reason": "end_turn" if reason == "tool_use" and not calls else reason}
    if wire == "responses":
        return last | {"output": visible}
    if wire == "gemini":
        candidate = (last.get("candidates") or [{}])[0]
        content = {"role": "model"} | (candidate.get("content") or {}) | {"parts": visible}
        return last | {"candidates": [candidate | {"content": content}]}
    choice = (last.get("choices") or [{}])[0]
    contents = [_chat_message(reply).get("content") for reply in replies]
    text = "".join(content for content in contents if isinstance(content, str)) or None
    message = {key: value for key, value in _chat_message(last).items() if key != "tool_calls"} | {"content": text}
    reason = "stop" if choice.get("finish_reason") == "tool_calls" and not calls else choice.get("finish_reason")
    tools = {"tool_calls": visible} if visible else {}
    return last | {"choices": [choice | {"message": message | tools, "finish_reason": reason}]}


def _pieces(wire: str, reply: Json) -> list[Json]:
    """Return the blocks, items or, in chat completions, the calls of a reply."""
    match wire:
        case "anthropic":
            pieces = reply.get("content")
        case "responses":
            pieces = reply.get("output")
        case "gemini":
            pieces = parts_of_chunk(reply)
        case _:
            pieces = _chat_message(reply).get("tool_calls")
    return [piece for piece in pieces if isinstance(piece, dict)] if isinstance(pieces, list) else []


def parts_of_chunk(value: Json) -> list[Any]:
    """Return the parts of the first candidate of one of Gemini's replies, or of a chunk of it."""
    match value:
        case {"candidates": [{"content": {"parts": [*parts]}}, *_]}:
            return parts
        case _:
            return []


def _chat_message(reply: Json) -> Json:
    match reply:
        case {"choices": [{"message": dict(message)}, *_]}:
            return message
        case _:
            return {}


def call_name(piece: Json) -> str | None:
    """Return the name of the tool that a piece of a reply calls; None: it is no call."""
    match piece:
        case {"functionCall": {"name": str(name)}}:
            return name
        case {"type": "tool_use" | "function_call", "name": str(name)} | {"function": {"name": str(name)}}:
            return name
        case _:
            return None


class StreamedAnswer(StreamedReply):
    """The reply so far. What cannot be read ends it: no event is lost for the client, and the log says it stopped."""

    _is_broken = False
    refusal = ""  # why there is no answer, if that is all that the stream says
    error_kind = ""  # of the error that the stream tells, in the provider's word

    def add(self, chunk: object) -> None:
        """See `StreamedReply.add`."""
        match chunk:
            case {"type": "response.failed", "response": {"error": dict(error)}} if not self.text:
                self.refusal = encode_piece({"error": error}).decode()
        self.error_kind = self.error_kind or _error_kind(chunk)
        if self._is_broken:
            return
        try:
            super().add(chunk)
        except (BadInput, TypeError, ValueError, LookupError, AttributeError):
            self._is_broken = True

    def reply(self) -> Json | None:
        """See `StreamedReply.reply`. Half a character is U+FFFD, as in requests, so that it is known again."""
        try:
            reply = super().reply()
            return None if reply is None else decode_mended(encode_piece(reply), Json)
        except (BadInput, TypeError, ValueError, LookupError, AttributeError):
            return None


def _error_kind(chunk: object) -> str:
    """Return what kind of error a chunk tells: a word or a number of the provider's; empty: it tells none."""
    match chunk:
        case {"error": dict(error)} | {"response": {"error": dict(error)}} | {"type": "error", **error}:
            kinds = (error.get(name) for name in ("status", "code", "type"))
            return next((str(kind) for kind in kinds if kind and isinstance(kind, str | int)), "error")
        case _:
            return ""


_ANTHROPIC_TYPES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
                    413: "request_too_large", 429: "rate_limit_error"}  # fmt: skip

_GOOGLE_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
                  429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}  # fmt: skip


def error_body(provider: str, status: int, message: str, *, code: str = "sightline") -> Json:
    """Return an error of our own in a provider's shape."""
    if provider == "anthropic":
        return {"type": "error", "error": {"type": _ANTHROPIC_TYPES.get(status, "api_error"), "message": message}}
    if provider == "gemini":
        return {"error": {"code": status, "message": message, "status": _GOOGLE_STATUS.get(status, "INTERNAL")}}
    kind = "requests" if status == 429 else "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
