"""Pairs of calls and results: ids that the provider accepts, and results directly after their calls, in call order.

What is made of a message depends only on the messages before it, so adding messages never changes earlier ones.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from sightline.values.items import Call, Message, Part, Result, Role, Text


class IdRule(NamedTuple):
    """The call ids that a provider accepts."""

    pattern: re.Pattern[str]
    longest: int


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

    def rename_calls(self, message: Message) -> Message:
        """An assistant message with the wire ids of its calls."""
        parts: list[Part] = []
        fresh: dict[str, list[str]] = {}
        for part in message.parts:
            if isinstance(part, Call):
                wire_id = self._unique(part.id)
                fresh.setdefault(part.id, []).append(wire_id)
                part = replace(part, id=wire_id)  # noqa: PLW2901
            parts.append(part)
        for call_id, wire_ids in fresh.items():
            self._waiting.setdefault(call_id, []).append(wire_ids)
        return replace(message, parts=tuple(parts))

    def answer(self, call_id: str) -> str | None:
        """The wire id of the pending call of this id: the first in the newest message that has any; or None."""
        if not (messages := self._waiting.get(call_id)):
            return None
        wire_id = messages[-1].pop(0)
        if not messages[-1]:
            messages.pop()
        return wire_id

    def _unique(self, call_id: str) -> str:
        wire_id = call_id if self._rule.pattern.fullmatch(call_id) else self._stem(call_id, "")
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
            message = ids.rename_calls(message)  # noqa: PLW2901
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


def _with_result_id(message: Message, ids: WireIds) -> Message:
    result = result_of(message)
    if (wire_id := ids.answer(result.id)) is None:
        return Message(Role.USER, (Text(f"[result of {result.id or 'an unknown call'}]"), *result.parts), id=message.id)
    return replace(message, parts=(replace(result, id=wire_id),))
