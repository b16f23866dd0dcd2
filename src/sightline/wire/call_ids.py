"""Pairs of calls and results: ids that the provider accepts, and results directly after their calls, in call order.

What is made of a message depends only on the messages before it, so adding messages never changes earlier ones.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from sightline.values.items import Call, Message, Part, Result, Role, Text


class IdRule(NamedTuple):
    """The call ids that a provider accepts."""

    pattern: re.Pattern[str]
    longest: int

    def accepts(self, call_id: str) -> bool:
        """Whether the id may be sent as it is."""
        return self.pattern.fullmatch(call_id) is not None


STRICT = IdRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)  # Anthropic and Responses refuse all other characters
SHORT = IdRule(re.compile(r"(?s).{1,40}"), 40)  # chat completions limit only the length

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


class WireIds:
    """Gives every call of a payload a legal and unique id, and every result the id of its call."""

    def __init__(self, rule: IdRule) -> None:
        self._rule = rule
        self._used: set[str] = set()
        self._copies: dict[str, int] = {}  # how often a stem was rewritten, so that many equal ids stay cheap
        self._waiting: dict[str, list[list[str]]] = {}  # id → per assistant message, the wire ids still unanswered

    def add_calls(self, calls: Iterable[Call]) -> list[str]:
        """The wire ids of one assistant message's calls."""
        given: list[str] = []
        fresh: dict[str, list[str]] = {}
        for call in calls:
            given.append(self._unique(call.id))
            fresh.setdefault(call.id, []).append(given[-1])
        for call_id, wire_ids in fresh.items():
            self._waiting.setdefault(call_id, []).append(wire_ids)
        return given

    def answer(self, call_id: str) -> str | None:
        """The wire id of the pending call of this id: the first in the newest message that has any; or None."""
        messages = self._waiting.get(call_id)
        if not messages:
            return None
        wire_id = messages[-1].pop(0)
        if not messages[-1]:
            messages.pop()
        return wire_id

    def _unique(self, call_id: str) -> str:
        wire_id = call_id if self._rule.accepts(call_id) else self._stem(call_id, "")
        stem = wire_id
        while wire_id in self._used:
            self._copies[stem] = self._copies.get(stem, 1) + 1
            wire_id = self._stem(stem, f"_{self._copies[stem]}")
        self._used.add(wire_id)
        return wire_id

    def _stem(self, call_id: str, suffix: str) -> str:
        return (_ILLEGAL.sub("_", call_id) or "call")[: self._rule.longest - len(suffix)] + suffix


def pair(messages: Iterable[Message], rule: IdRule) -> Iterator[Message]:
    """The same messages with legal ids, and with the results after an assistant message in the order of its calls.

    A result that answers no call becomes a labelled user message, because every provider would refuse it.
    """
    ids = WireIds(rule)
    order: dict[str, int] = {}
    results: list[Message] = []
    for message in messages:
        if message.role is Role.TOOL:
            answered = _with_result_id(message, ids)
            if answered.role is Role.TOOL:
                results.append(answered)
                continue
            message = answered  # noqa: PLW2901 - an orphan continues as a user message
        yield from _in_call_order(results, order)
        results = []
        if message.role is Role.ASSISTANT:
            message = _with_call_ids(message, ids)  # noqa: PLW2901
            order = {part.id: place for place, part in enumerate(message.parts) if isinstance(part, Call)}
        yield message
    yield from _in_call_order(results, order)


def result_of(message: Message) -> Result:
    """The one Result of a TOOL message."""
    part = message.parts[0]
    assert isinstance(part, Result), "a TOOL message holds exactly one Result"
    return part


def _in_call_order(results: list[Message], order: dict[str, int]) -> list[Message]:
    return sorted(results, key=lambda message: order.get(result_of(message).id, len(order)))


def _with_call_ids(message: Message, ids: WireIds) -> Message:
    given = iter(ids.add_calls(part for part in message.parts if isinstance(part, Call)))
    parts = tuple(_renamed(part, next(given)) if isinstance(part, Call) else part for part in message.parts)
    return msgspec.structs.replace(message, parts=parts)


def _renamed(call: Call, wire_id: str) -> Call:
    return call if call.id == wire_id else msgspec.structs.replace(call, id=wire_id)


def _with_result_id(message: Message, ids: WireIds) -> Message:
    result = result_of(message)
    wire_id = ids.answer(result.id)
    if wire_id is None:
        note: tuple[Part, ...] = (Text(f"[result of {result.id or 'an unknown call'}]"),)
        return Message(Role.USER, note + result.parts, id=message.id)
    if wire_id == result.id:
        return message
    return msgspec.structs.replace(message, parts=(msgspec.structs.replace(result, id=wire_id),))
