"""Writes payloads as JSON bytes. Each run of messages is encoded once and kept with the list that payloads share.

So writing takes time for what is new since the last payload, for what carries a cache marker, and for joining bytes.
"""

import reprlib
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from sightline.errors import BadInput
from sightline.values.items import Message, Role
from sightline.wire.call_ids import WireIds, begins_run, in_call_order, odd_names
from sightline.wire.common import is_role, set_markers
from sightline.wire.payload import Payload, PrefixList
from sightline.wire.wire import Json, Wire

_encode = msgspec.json.encode


def encode(payload: Payload, wire: Wire, own: Mapping[str, Any] = {}) -> bytes:
    """The request of this payload in this format, as JSON: the arguments of the head, then the messages.

    `own`: further arguments, which win.
    """
    places, draft = chosen_breakpoints(payload, wire.BREAKPOINTS), _draft_of(payload, wire)
    head = draft.head(payload, cached=0 in places)
    pieces = _written(draft, payload, wire, head.messages, places)
    pieces[0] = (_with_own(head.arguments, own, wire) if own else head.arguments) + pieces[0]
    pieces[-1] += b"]}"
    return b",".join(pieces)  # one copy of everything, because a second one costs more than all else


def _with_own(arguments: bytes, own: Mapping[str, Any], wire: Wire) -> bytes:
    if wire.LIST in own:
        raise BadInput(f"{wire.LIST!r} is what the payload is: pass other arguments of the request, such as model=…")
    whole_head = msgspec.json.decode(arguments + b"]}")
    del whole_head[wire.LIST]
    try:
        return _encode(whole_head | dict(own) | {wire.LIST: []}).removesuffix(b"]}")
    except (TypeError, ValueError) as error:
        raise BadInput(f"an argument of the request is no JSON: {error}") from error


def encode_messages(payload: Payload, wire: Wire, breakpoints: int | None = None, marker: Json | None = None) -> bytes:
    """The list of messages of this payload alone, as JSON. `marker`: what stands at its breakpoints."""
    most = wire.BREAKPOINTS if breakpoints is None else min(breakpoints, wire.BREAKPOINTS)
    wanted = [place for place in chosen_breakpoints(payload, wire.BREAKPOINTS) if place]
    head = wire.write_head((), (), first=first_role(payload), cached=False, output=0)
    first, places = _elements(head.messages, wire, "write_head"), wanted[-most:] if most > 0 else []
    return b"[" + b",".join(_written(_draft_of(payload, wire), payload, wire, first, places, marker)) + b"]"


def _draft_of(payload: Payload, wire: Wire) -> "Draft":
    odd, has_tail = odd_names(payload.tools), bool(payload.tail)
    draft = Draft(wire, odd, has_tail=has_tail)
    if isinstance(payload.body, PrefixList):
        kept: Draft = payload.body.derived.setdefault(id(wire), draft)  # it holds its wire, so the id stays its own
        if (kept.odd, kept.has_tail) == (odd, has_tail):
            return kept
        payload.body.derived[id(wire)] = draft  # the tools or windows are others: so is the prefix
    return draft


def _written(
    draft: "Draft", payload: Payload, wire: Wire, first: bytes, places: Sequence[int], marker: Json | None = None
) -> list[bytes]:
    """What a list of messages consists of: what the head puts there first, the body, the windows."""
    pieces = [first, *draft.runs(payload.body, [place for place in places if place], marker)]
    pieces += [_elements(wire.write_messages([window]), wire) for window in payload.tail]
    return [piece for piece in pieces if piece] or [b""]


def chosen_breakpoints(payload: Payload, most: int) -> list[int]:
    """At most this many cache breakpoints: that of the head, and the last others, whose prefix has the earlier ones."""
    wanted = sorted({min(max(0, place), len(payload.body)) for place in payload.breakpoints})
    if len(wanted) <= most:
        return wanted
    return [0, *wanted[len(wanted) - most + 1 :]] if most and not wanted[0] else wanted[len(wanted) - most :]


def first_role(payload: Payload) -> Role | None:
    """The role of the first message after the head. A result there has no call, so it is written as the user's."""
    first = next((message.role for messages in (payload.body, payload.tail) for message in messages[:1]), None)
    return Role.USER if first is Role.TOOL else first


class EncodedHead(NamedTuple):
    """The head of a request: the beginning of the JSON object up to its list of messages, and the first messages."""

    arguments: bytes
    messages: bytes


class Draft:
    """What one wire has written of a list of messages that only grows. It serves every beginning of that list."""

    def __init__(
        self,
        wire: Wire,
        odd: frozenset[str] = frozenset(),
        pieces: Sequence[bytes] = (),
        shared: int = 0,
        *,
        has_tail: bool = False,
    ) -> None:
        """has_tail: the user's messages follow in every payload, so that none at the end keeps another role."""
        self._wire, self.odd, self._ids, self.has_tail = wire, odd, WireIds(wire.IDS, odd), has_tail
        self._messages: list[Message] = []  # those of the list, with legal ids
        self._starts: list[int] = []  # where each run begins
        self._pieces = list(pieces)  # the first runs as JSON, each with all its messages so far
        self._shared = shared  # the pieces were made of as many messages; they are right for these
        self._head: tuple[object, EncodedHead] | None = None
        self._lock = Lock()  # payloads of one session may be written in several threads

    def fork(self, length: int) -> "Draft":
        """A draft of another list that has the first `length` messages in common with this one."""
        with self._lock:
            shared = min(length, len(self._messages))
            pieces = self._pieces[: self._whole_runs(shared)]
            draft = Draft(self._wire, self.odd, pieces, shared, has_tail=self.has_tail)
            draft._head = self._head
            return draft

    def head(self, payload: Payload, *, cached: bool) -> EncodedHead:
        """The head of a payload. It is encoded again only if it has changed."""
        first = first_role(payload)
        key = (payload.chain[0], first, cached, payload.output) if payload.chain else None
        if key is None or (kept := self._head) is None or kept[0] != key:
            head = self._wire.write_head(
                payload.system, payload.tools, first=first, cached=cached, output=payload.output
            )
            if not isinstance(head, tuple) or len(head) != 2 or not isinstance(head[1], dict):
                raise _wrong(self._wire, "write_head", "a Head(messages, arguments)", head)
            messages, more = head
            arguments = _encoded(more | {self._wire.LIST: []}, self._wire).removesuffix(b"]}")
            self._head = kept = (key, EncodedHead(arguments, _elements(messages, self._wire, "write_head")))
        return kept[1]

    def runs(self, body: Sequence[Message], breakpoints: Sequence[int] = (), marker: Json | None = None) -> list[bytes]:
        """The messages of this body, run by run, with a cache breakpoint after the first n for each n of these.

        `marker` stands there in place of the wire's own.
        """
        length = len(body)
        with self._lock:
            self._read_on(body)
            whole = self._whole_runs(length)
            while len(self._pieces) < whole:
                self._pieces.append(self._written(len(self._pieces), length))
            runs = self._pieces[:whole]
            if whole < bisect_left(self._starts, length):  # this body ends in the middle of a run
                runs.append(self._written(whole, length))
            if runs and _keeps_role(self._messages[length - 1]):  # what follows here may be something else
                runs[-1] = self._written(len(runs) - 1, length)
            marked: dict[int, list[int]] = {}
            for place in breakpoints:
                at = bisect_left(self._starts, place) - 1
                marked.setdefault(at, []).append(place - self._starts[at])
            for at, places in marked.items():
                runs[at] = self._written(at, length, places, marker)
            return runs

    def _read_on(self, body: Sequence[Message]) -> None:
        """Take in the messages that are new."""
        for message in body[len(self._messages) :]:
            fitted = self._ids.fit(message)
            if self._messages and len(self._messages) >= self._shared and _keeps_role(self._messages[-1]):
                del self._pieces[len(self._starts) - 1 :]  # whether it keeps its role depends on what follows
            if begins_run(fitted, self._messages[-1].role if self._messages else None):
                self._starts.append(len(self._messages))
            elif len(self._messages) >= self._shared:
                del self._pieces[len(self._starts) - 1 :]  # the last run has grown
            self._messages.append(fitted)

    def _whole_runs(self, length: int) -> int:
        """How many runs end within the first `length` messages."""
        return len(self._starts) if length >= len(self._messages) else max(0, bisect_right(self._starts, length) - 1)

    def _written(self, at: int, length: int, breakpoints: Sequence[int] = (), marker: Json | None = None) -> bytes:
        start, end = self._starts[at], min(self._starts[at + 1], length) if at + 1 < len(self._starts) else length
        run = in_call_order(self._messages[start:end])
        if _keeps_role(run[0]) and not self._may_keep_role(start, end, length):
            run = [replace(run[0], parts=tuple(part for part in run[0].parts if not is_role(part))), *run[1:]]
        messages = self._wire.write_messages(run, breakpoints)
        if marker is not None:
            set_markers(messages, marker)
        return _elements(messages, self._wire)

    def _may_keep_role(self, start: int, end: int, length: int) -> bool:
        """Whether a message may be the system's: after the user's or a result, and before an answer or at the end."""
        if self.has_tail or not start or end != start + 1:
            return False
        if self._messages[start - 1].role not in (Role.USER, Role.TOOL):
            return False
        return end >= length or self._messages[end].role is Role.ASSISTANT


def _keeps_role(message: Message) -> bool:
    """Whether a client sent a message in the role of the system in the middle of its list."""
    return message.role is Role.SYSTEM and any(map(is_role, message.parts))


def _elements(messages: list[Json], wire: Wire, hook: str = "write_messages") -> bytes:
    """The elements of a JSON list, without its brackets. Raises BadInput if a wire gives anything else."""
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise _wrong(wire, hook, "a list of messages, each a dict", messages)
    return _encoded(messages, wire)[1:-1]


def _encoded(value: Any, wire: Wire) -> bytes:
    try:
        return _encode(value)
    except (TypeError, ValueError) as error:  # a value of another type, or text that is no Unicode
        raise BadInput(f"wire {wire.NAME!r} writes what is no JSON: {error}") from error


def _wrong(wire: Wire, hook: str, wanted: str, returned: object) -> BadInput:
    return BadInput(f"wire {wire.NAME!r}: {hook} must return {wanted}, not {reprlib.repr(returned)}")
