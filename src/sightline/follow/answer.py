"""What a client sees of an answer that took several calls of the model, because the model called tools of ours.

The client gets one answer: the visible parts of every call, one after another. Calls of our tools are not among them.
Everything else passes byte for byte, as long as nothing before it was hidden.
"""

import re
from collections.abc import Collection, Iterator
from typing import Any, Protocol

import msgspec

from sightline.follow.replies import Json, add_output, call_name, count_output, parts_of_chunk
from sightline.values.decoders import decode_piece, encode_piece

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")  # ends an event


class Filter(Protocol):
    """Shows the events of a streamed answer to a client, call by call."""

    def show(self, value: Json | None, raw: bytes) -> bytes:
        """Return what the client gets for an event: its bytes, others, or none. `value`: its JSON; None: it has none.

        The events that end the answer are kept until `end`.
        """

    def begin_next(self, own: frozenset[str]) -> None:
        """Begin the next call, with these tools of ours. What would have ended the answer is forgotten."""

    def end(self) -> bytes:
        """Return the events that end the answer."""


class EventReader:
    """Cuts a stream of server-sent events into events, each with the bytes that it came in."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._looked = 0  # bytes of the rest in which no event ends

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, Json | None]]:
        """Yield the events that these bytes complete, each with its JSON."""
        self._rest += chunk
        start = 0
        while (end := _BLANK_LINE.search(self._rest, max(start, self._looked))) is not None:
            raw = bytes(self._rest[start : end.end()])
            start = end.end()
            yield raw, _value(raw)
        del self._rest[:start]
        self._looked = max(0, len(self._rest) - 3)  # a blank line may come in two pieces

    def rest(self) -> Iterator[tuple[bytes, Json | None]]:
        """Yield what came after the last whole event, if anything did: some servers leave the last blank line out."""
        if self._rest:
            yield bytes(self._rest), _value(bytes(self._rest))


def _value(raw: bytes) -> Json | None:
    lines = [line[5:].removeprefix(b" ") for line in raw.splitlines() if line.startswith(b"data:")]
    try:
        value = decode_piece(b"\n".join(lines))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def filter_of(wire: str, own: Collection[str]) -> Filter:
    """Return the filter for a format. `own`: the names of our tools."""
    kinds: dict[str, Any] = {
        "anthropic": MessagesFilter, "openai": ChatFilter, "responses": ResponsesFilter, "gemini": ContentsFilter,
    }  # fmt: skip
    made: Filter = kinds[wire](frozenset(own)) if own or wire == "responses" else PlainFilter()
    return made


def _event(value: Json, *, named: bool = True) -> bytes:
    name = b"event: " + str(value.get("type")).encode() + b"\n" if named else b""
    return name + b"data: " + encode_piece(value) + b"\n\n"


def show_error(answer: Filter, wire: str, body: bytes) -> bytes:
    """Return the end of a stream whose next call failed with this body of an error."""
    answer.begin_next(frozenset())
    raw = error_event(wire, body)
    return answer.show(_value(raw), raw) + answer.end()


def error_event(wire: str, body: bytes) -> bytes:
    """Return the event that tells this body of an error inside a stream."""
    try:
        told = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = None
    error = told.get("error") if isinstance(told, dict) else None
    if not isinstance(error, dict):
        error = {"type": "api_error", "message": body.decode("utf-8", "replace")}
    match wire:
        case "anthropic":
            return _event({"type": "error", "error": error})
        case "responses":
            reason = {"code": error.get("code") or error.get("type"), "message": error.get("message")}
            failed = {"object": "response", "status": "failed", "output": [], "error": reason}
            return _event({"type": "response.failed", "sequence_number": 0, "response": failed})
        case _:
            return _event({"error": error}, named=False)


class PlainFilter:
    """Of an answer to a request without tools of ours: every event as it came. Only the last one waits for the log."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []

    def show(self, value: Json | None, raw: bytes) -> bytes:
        """See `Filter.show`."""
        is_end = (value or {}).get("type") == "message_stop" or _has_ended(value)
        if self._kept or (value is None and b"[DONE]" in raw) or is_end:
            self._kept.append(raw)
            return b""
        return raw

    def begin_next(self, own: frozenset[str]) -> None:  # noqa: ARG002
        """See `Filter.begin_next`."""
        self._kept = []

    def end(self) -> bytes:
        """See `Filter.end`."""
        return b"".join(self._kept)


# ---------------------------------------------------------------------- Anthropic


class MessagesFilter:
    """Of the events of messages: blocks are counted on over all calls."""

    def __init__(self, own: frozenset[str]) -> None:
        self._own, self._first = own, True
        self._next = 0  # place of the next block that the client sees
        self._places: dict[int, int | None] = {}  # place of a block in this call → the client's; None: hidden
        self._ends: list[tuple[Json, bytes]] = []
        self._calls = False  # the client sees one
        self._output = 0  # tokens of the calls before this one

    def show(self, value: Json | None, raw: bytes) -> bytes:
        """See `Filter.show`."""
        if value is None:
            return raw
        match value:
            case {"type": "message_start"}:
                return raw if self._first else b""
            case {"type": "content_block_start", "index": int(at), "content_block": dict(block)}:
                is_call = block.get("type") == "tool_use"
                if is_call and block.get("name") in self._own:
                    self._places[at] = None
                    return b""
                self._calls = self._calls or is_call
                self._places[at], self._next = self._next, self._next + 1
                return self._placed(value, raw, at)
            case {"type": "content_block_delta" | "content_block_stop", "index": int(at)}:
                return self._placed(value, raw, at)
            case {"type": "message_delta" | "message_stop"}:
                self._ends.append((value, raw))
                return b""
            case _:
                return raw

    def _placed(self, value: Json, raw: bytes, at: int) -> bytes:
        place = self._places.get(at, at)
        if place is None:
            return b""
        return raw if place == at else _event(value | {"index": place})

    def begin_next(self, own: frozenset[str]) -> None:
        """See `Filter.begin_next`."""
        self._output += max((count_output(value) for value, _ in self._ends), default=0)
        self._own, self._first, self._places, self._ends = own, False, {}, []

    def end(self) -> bytes:
        """See `Filter.end`."""
        return b"".join(self._ended(value, raw) for value, raw in self._ends)

    def _ended(self, value: Json, raw: bytes) -> bytes:
        delta = value.get("delta")
        if not isinstance(delta, dict):
            return raw
        is_wrong = delta.get("stop_reason") == "tool_use" and not self._calls
        if not is_wrong and not self._output:
            return raw
        reason = {"stop_reason": "end_turn"} if is_wrong else {}
        return _event(add_output(value, self._output) | {"delta": delta | reason})


# ---------------------------------------------------------------------- OpenAI's chat completions


class ChatFilter:
    """Of the chunks of chat completions: calls are counted on over all calls of the model."""

    def __init__(self, own: frozenset[str]) -> None:
        self._own, self._first = own, True
        self._id = ""
        self._next = self._output = 0
        self._places: dict[int, int | None] = {}
        self._ends: list[tuple[Json | None, bytes]] = []

    def show(self, value: Json | None, raw: bytes) -> bytes:
        """See `Filter.show`."""
        if value is None:
            if b"[DONE]" not in raw:
                return raw  # a comment
            self._ends.append((None, raw))
            return b""
        self._id = self._id or str(value.get("id") or "")
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
        if choice is None and not value.get("usage"):
            return raw if self._first or "error" in value else b""
        if choice is None or choice.get("finish_reason"):
            self._ends.append((value, raw))
            return b""
        delta = choice.get("delta")
        if not self._first and isinstance(delta, dict) and "role" in delta:  # it is told once; clients add texts up
            delta = {key: value for key, value in delta.items() if key != "role"}
            if not any(delta.values()):
                return b""
            choice = choice | {"delta": delta}
            value = value | {"choices": [choice]}
        calls = delta.get("tool_calls") if isinstance(delta, dict) else None
        if not isinstance(delta, dict) or not isinstance(calls, list):
            return raw if self._first else self._renamed(value)
        visible = [part for call in calls if (part := self._call(call)) is not None]
        if visible == calls and self._first:
            return raw
        rest = {key: field for key, field in delta.items() if key not in ("tool_calls", "role") and field is not None}
        if not visible and not rest:
            return b""
        delta = {key: field for key, field in delta.items() if key != "tool_calls"} | (
            {"tool_calls": visible} if visible else {}
        )
        return self._renamed(value | {"choices": [choice | {"delta": delta}]})

    def _call(self, call: Any) -> Json | None:
        """Return a piece of a call with the client's place; None: it is hidden."""
        if not isinstance(call, dict):
            return call  # type: ignore[no-any-return]
        at = call.get("index", 0)
        name = (call.get("function") or {}).get("name")
        if at not in self._places:
            self._places[at] = None if name in self._own else self._next
            self._next += name not in self._own
        place = self._places[at]
        return None if place is None else call | {"index": place} if "index" in call else call

    def _renamed(self, value: Json) -> bytes:
        return _event(value | {"id": self._id}, named=False)

    def begin_next(self, own: frozenset[str]) -> None:
        """See `Filter.begin_next`."""
        self._output += max((count_output(value) for value, _ in self._ends if value), default=0)
        self._own, self._first, self._places, self._ends = own, False, {}, []

    def end(self) -> bytes:
        """See `Filter.end`."""
        return b"".join(self._ended(value, raw) for value, raw in self._ends)

    def _ended(self, value: Json | None, raw: bytes) -> bytes:
        choice = ((value or {}).get("choices") or [None])[0]
        is_wrong = choice is not None and choice["finish_reason"] == "tool_calls" and not self._next
        if value is None or (self._first and not is_wrong):
            return raw
        value = add_output(value, self._output)
        if choice is None:
            return self._renamed(value)
        delta = choice.get("delta") or {}
        calls = [part for call in delta.get("tool_calls") or () if (part := self._call(call)) is not None]
        delta = {key: field for key, field in delta.items() if key != "tool_calls"} | (
            {"tool_calls": calls} if calls else {}
        )
        reason = "stop" if is_wrong else choice["finish_reason"]
        return self._renamed(value | {"choices": [choice | {"delta": delta, "finish_reason": reason}]})


# ---------------------------------------------------------------------- OpenAI's responses


class ResponsesFilter:
    """Of the events of responses: items and events are counted on over all calls."""

    def __init__(self, own: frozenset[str]) -> None:
        self._own, self._first = own, True
        self._id = ""
        self._sequence = 0  # of the next event that the client gets
        self._next = self._output = 0
        self._places: dict[int, int | None] = {}
        self._items: list[Any] = []  # that the client has seen whole
        self._ends: list[tuple[Json, bytes]] = []

    def show(self, value: Json | None, raw: bytes) -> bytes:
        """See `Filter.show`."""
        match value:
            case None:
                return raw
            case {"type": "response.created" | "response.in_progress" | "response.queued", "response": dict(response)}:
                self._id = self._id or str(response.get("id") or "")
                return self._counted(value, raw) if self._first else b""
            case {"type": "response.completed" | "response.incomplete" | "response.failed"}:
                self._ends.append((value, raw))
                return b""
            case {"type": "response.output_item.added", "output_index": int(at), "item": dict(item)}:
                if item.get("type") == "function_call" and item.get("name") in self._own:
                    self._places[at] = None
                    return b""
                self._places[at], self._next = self._next, self._next + 1
                return self._placed(value, raw, at)
            case {"output_index": int(at)}:
                if value.get("type") == "response.output_item.done" and self._places.get(at, at) is not None:
                    self._items.append(value.get("item"))
                return self._placed(value, raw, at)
            case _:
                return self._counted(value, raw)

    def _placed(self, value: Json, raw: bytes, at: int) -> bytes:
        place = self._places.get(at, at)
        if place is None:
            return b""
        return self._counted(value if place == at else value | {"output_index": place}, raw if place == at else b"")

    def _counted(self, value: Json, raw: bytes) -> bytes:
        """Return an event with the next number; its own bytes if it has it already."""
        told = value.get("sequence_number")
        is_same = self._first and None not in self._places.values()  # nothing was hidden: it has its own number
        number = told if is_same and isinstance(told, int) else self._sequence
        self._sequence = number + 1
        if raw and (told is None or told == number):
            return raw
        return _event(value if told is None else value | {"sequence_number": number})

    def begin_next(self, own: frozenset[str]) -> None:
        """See `Filter.begin_next`."""
        self._output += max((count_output(value.get("response")) for value, _ in self._ends), default=0)
        self._own, self._first, self._places, self._ends = own, False, {}, []

    def end(self) -> bytes:
        """See `Filter.end`."""
        return b"".join(self._ended(value, raw) for value, raw in self._ends)

    def _ended(self, value: Json, raw: bytes) -> bytes:
        response = value.get("response")
        hidden = None in self._places.values()
        if not isinstance(response, dict) or (self._first and not hidden):
            return self._counted(value, raw)
        response = add_output(response, self._output)
        response = response | {"id": self._id or response.get("id"), "output": self._items}
        return self._counted(value | {"response": response}, b"")


# ---------------------------------------------------------------------- Gemini's contents


def _has_ended(value: Json | None) -> bool:
    """Whether a chunk of Gemini's says why the answer ends."""
    match value:
        case {"candidates": [{"finishReason": str()}, *_]}:
            return True
        case _:
            return False


class ContentsFilter:
    """Of the chunks of Gemini's contents: each is a whole response with some parts."""

    def __init__(self, own: frozenset[str]) -> None:
        self._own, self._hides = own, False
        self._output = 0  # tokens of the calls before this one
        self._ends: list[tuple[Json | None, bytes]] = []

    def show(self, value: Json | None, raw: bytes) -> bytes:
        """See `Filter.show`."""
        if value is None or "error" in value:
            return raw
        parts = parts_of_chunk(value)
        visible = [part for part in parts if not isinstance(part, dict) or call_name(part) not in self._own]
        self._hides = self._hides or len(visible) < len(parts)
        is_end = bool(self._ends) or _has_ended(value)
        if not self._hides:  # else another call of the model may follow, and what this one says comes first
            if is_end:
                self._ends.append((value, raw))
            return b"" if is_end else raw
        if is_end:
            self._ends.append((_with_parts(value, []), b""))
        if not visible:
            return b""
        shown = _with_parts(value, visible)
        shown["candidates"][0].pop("finishReason", None)
        return _event(shown, named=False)

    def begin_next(self, own: frozenset[str]) -> None:
        """See `Filter.begin_next`."""
        self._output += max((count_output(value) for value, _ in self._ends if value), default=0)
        self._own, self._ends = own, []

    def end(self) -> bytes:
        """See `Filter.end`."""
        return b"".join(self._ended(value, raw) for value, raw in self._ends)

    def _ended(self, value: Json | None, raw: bytes) -> bytes:
        if raw and not self._output:
            return raw
        return _event(add_output(value or {}, self._output), named=False)


def _with_parts(value: Json, parts: list[Any]) -> Json:
    """Return a chunk with other parts."""
    candidate = value["candidates"][0]
    content = {"role": "model"} | (candidate.get("content") or {}) | {"parts": parts}
    return value | {"candidates": [candidate | {"content": content}]}
