"""What a client sees of an answer that took several calls of the model, because the model called tools of ours.

The client gets one answer: the visible parts of every call, one after another. Calls of our tools are not among them.
Everything else passes byte for byte, as long as nothing before it was hidden.
"""

from collections.abc import Collection, Iterator
from typing import Any, Protocol

import msgspec

Json = dict[str, Any]

_encode = msgspec.json.encode


class Filter(Protocol):
    """Shows the events of a streamed answer to a client, call by call."""

    def show(self, value: Json | None, raw: bytes) -> bytes:
        """Return what the client gets for an event: its bytes, others, or none. `value`: its JSON; None: it has none.

        The events that end the answer are kept until `end`.
        """

    def begin_next(self) -> None:
        """Begin the next call. What would have ended the answer is forgotten."""

    def end(self) -> bytes:
        """Return the events that end the answer."""


class EventReader:
    """Cuts a stream of server-sent events into events, each with the bytes that it came in."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, Json | None]]:
        """Yield the events that these bytes complete, each with its JSON."""
        self._rest += chunk
        while (end := _event_end(self._rest)) > 0:
            raw, self._rest = self._rest[:end], self._rest[end:]
            yield raw, _value(raw)

    def rest(self) -> bytes:
        """Return what came after the last whole event."""
        return self._rest


def _event_end(text: bytes) -> int:
    """Return where the first event ends, after its blank line; 0: it has not ended."""
    ends = [at + len(blank) for blank in (b"\n\n", b"\r\n\r\n", b"\r\r") if (at := text.find(blank)) >= 0]
    return min(ends, default=0)


def _value(raw: bytes) -> Json | None:
    lines = [line[5:].removeprefix(b" ") for line in raw.splitlines() if line.startswith(b"data:")]
    try:
        value = msgspec.json.decode(b"\n".join(lines))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def filter_of(wire: str, own: Collection[str]) -> Filter:
    """Return the filter for a format. `own`: the names of our tools."""
    kinds: dict[str, Any] = {"anthropic": MessagesFilter, "openai": ChatFilter, "responses": ResponsesFilter}
    made: Filter = kinds[wire](frozenset(own))
    return made


def _event(value: Json, *, named: bool = True) -> bytes:
    name = b"event: " + str(value.get("type")).encode() + b"\n" if named else b""
    return name + b"data: " + _encode(value) + b"\n\n"


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

    def begin_next(self) -> None:
        """See `Filter.begin_next`."""
        usages = [value.get("usage") or {} for value, _ in self._ends]
        self._output += max((used for usage in usages if type(used := usage.get("output_tokens")) is int), default=0)
        self._first, self._places, self._ends = False, {}, []

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
        usage = value.get("usage") or {}
        if type(used := usage.get("output_tokens")) is int:
            usage = usage | {"output_tokens": used + self._output}
        reason = {"stop_reason": "end_turn"} if is_wrong else {}
        return _event(value | {"delta": delta | reason, "usage": usage})


# ---------------------------------------------------------------------- OpenAI's chat completions


class ChatFilter:
    """Of the chunks of chat completions: calls are counted on over all calls of the model."""

    def __init__(self, own: frozenset[str]) -> None:
        self._own, self._first = own, True
        self._id = ""
        self._next = 0
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
        if choice is None and "error" in value:
            return raw
        if choice is None or choice.get("finish_reason"):
            self._ends.append((value, raw))
            return b""
        delta = choice.get("delta")
        calls = delta.get("tool_calls") if isinstance(delta, dict) else None
        if not isinstance(delta, dict) or not isinstance(calls, list):
            return raw if self._first else self._renamed(value)
        shown = [each for call in calls if (each := self._call(call)) is not None]
        if shown == calls and self._first:
            return raw
        rest = {key: found for key, found in delta.items() if key not in ("tool_calls", "role") and found is not None}
        if not shown and not rest:
            return b""
        delta = {key: found for key, found in delta.items() if key != "tool_calls"} | (
            {"tool_calls": shown} if shown else {}
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

    def begin_next(self) -> None:
        """See `Filter.begin_next`."""
        self._first, self._places, self._ends = False, {}, []

    def end(self) -> bytes:
        """See `Filter.end`."""
        return b"".join(self._ended(value, raw) for value, raw in self._ends)

    def _ended(self, value: Json | None, raw: bytes) -> bytes:
        choice = ((value or {}).get("choices") or [None])[0]
        is_wrong = choice is not None and choice["finish_reason"] == "tool_calls" and not self._next
        if value is None or (self._first and not is_wrong):
            return raw
        if choice is None:
            return self._renamed(value)
        delta = choice.get("delta") or {}
        calls = [each for call in delta.get("tool_calls") or () if (each := self._call(call)) is not None]
        delta = {key: found for key, found in delta.items() if key != "tool_calls"} | (
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
        self._next = 0
        self._places: dict[int, int | None] = {}
        self._items: list[Json] = []  # that the client has seen whole
        self._ends: list[tuple[Json, bytes]] = []

    def show(self, value: Json | None, raw: bytes) -> bytes:
        """See `Filter.show`."""
        match value:
            case None:
                return raw
            case {"type": "response.created" | "response.in_progress" | "response.queued", "response": dict(response)}:
                self._id = self._id or str(response.get("id") or "")
                return self._counted(value, raw) if self._first else b""
            case {"type": "response.completed" | "response.incomplete"}:
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
                    self._items.append(value["item"])
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
        number, self._sequence = self._sequence, self._sequence + 1
        told = value.get("sequence_number")
        if raw and (told is None or told == number):
            return raw
        return _event(value if told is None else value | {"sequence_number": number})

    def begin_next(self) -> None:
        """See `Filter.begin_next`."""
        self._first, self._places, self._ends = False, {}, []

    def end(self) -> bytes:
        """See `Filter.end`."""
        return b"".join(self._ended(value, raw) for value, raw in self._ends)

    def _ended(self, value: Json, raw: bytes) -> bytes:
        response = value.get("response")
        hidden = None in self._places.values()
        if not isinstance(response, dict) or (self._first and not hidden):
            return self._counted(value, raw)
        response = response | {"id": self._id or response.get("id"), "output": self._items}
        return self._counted(value | {"response": response}, b"")


# ---------------------------------------------------------------------- whole replies


def own_calls(wire: str, reply: Json, own: Collection[str]) -> tuple[int, int]:
    """Count the calls of our tools in a reply, and the other calls."""
    names = [_call_name(each) for each in _pieces(wire, reply)]
    ours = sum(name in own for name in names if name is not None)
    return ours, sum(name is not None for name in names) - ours


def merged(wire: str, replies: list[Json], own: Collection[str]) -> Json:
    """Return the one reply that a client sees of several: the last, with what the others say before it."""
    if len(replies) == 1 and not own_calls(wire, replies[0], own)[0]:
        return replies[0]
    last, shown = (
        replies[-1],
        [each for reply in replies for each in _pieces(wire, reply) if _call_name(each) not in {*own}],
    )
    calls = any(_call_name(each) is not None for each in shown)
    if wire == "anthropic":
        reason = last.get("stop_reason")
        return last | {"content": shown, "stop_reason": "end_turn" if reason == "tool_use" and not calls else reason}
    if wire == "responses":
        return last | {"output": shown}
    choice = (last.get("choices") or [{}])[0]
    texts = [_chat_message(reply).get("content") for reply in replies]
    text = "".join(each for each in texts if isinstance(each, str)) or None
    message = {key: found for key, found in _chat_message(last).items() if key != "tool_calls"} | {"content": text}
    reason = "stop" if choice.get("finish_reason") == "tool_calls" and not calls else choice.get("finish_reason")
    tools = {"tool_calls": shown} if shown else {}
    return last | {"choices": [choice | {"message": message | tools, "finish_reason": reason}]}


def _pieces(wire: str, reply: Json) -> list[Json]:
    """Return the blocks, items or, in chat completions, the calls of a reply."""
    match wire:
        case "anthropic":
            found = reply.get("content")
        case "responses":
            found = reply.get("output")
        case _:
            found = _chat_message(reply).get("tool_calls")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _chat_message(reply: Json) -> Json:
    match reply:
        case {"choices": [{"message": dict(message)}, *_]}:
            return message
        case _:
            return {}


def _call_name(piece: Json) -> str | None:
    """Return the name of the tool that a piece of a reply calls; None: it is no call."""
    match piece:
        case {"type": "tool_use" | "function_call", "name": str(name)} | {"function": {"name": str(name)}}:
            return name
        case _:
            return None
