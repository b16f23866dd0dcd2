"""Pairs of calls and results: ids and names that the provider accepts, results directly after their calls, in order.

What is made of a message depends only on the messages before it, so adding messages never changes earlier ones.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from sightline.values.items import Call, Message, Part, Result, Role, Text, ToolDefinition
from sightline.values.pattern import pattern
from sightline.wire.payload import Payload


class IdRule(NamedTuple):
    """The call ids that a provider accepts."""

    pattern: re.Pattern[str]
    longest: int


STRICT = IdRule(pattern(r"[a-zA-Z0-9_-]{1,64}"), 64)  # Anthropic and Responses refuse all other characters
SHORT = IdRule(pattern(r"(?s).{1,40}"), 40)  # chat completions limit only the length

_ILLEGAL = pattern(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64  # of a tool; some models accept 128


def odd_names(tools: Iterable[ToolDefinition]) -> frozenset[str]:
    """The names of tools that not every provider accepts. Calls keep them: whoever takes the tool takes its calls."""
    return frozenset(tool.name for tool in tools if _legal_name(tool.name) != tool.name)


def _legal_name(name: str) -> str:
    """The name of a tool as every provider accepts it. A model may call what is no tool, such as `functions.look`."""
    return _ILLEGAL.sub("_", name)[:_LONGEST_NAME] or "unknown"


def shown_messages(payload: Payload) -> list[Message]:
    """The messages of a payload after its head, with names of calls that every provider accepts.

    Adapters send a program's own message wherever a payload shows it unchanged. A message whose call is renamed is a
    changed one, so they write it anew. Without tools nothing is renamed, because the names of the tools are not known.
    """
    messages = [*payload.body, *payload.tail]
    if not payload.tools:
        return messages
    odd = odd_names(payload.tools)
    renamed: dict[str, str] = {}  # id of a call → its name; the results have it too
    return [_with_legal_names(message, odd, renamed) for message in messages]


def _with_legal_names(message: Message, odd: frozenset[str], renamed: dict[str, str]) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, Call):
            name = part.name if part.name in odd else _legal_name(part.name)
            renamed.pop(part.id, None)
            if name != part.name:
                renamed[part.id], part = name, replace(part, name=name)  # noqa: PLW2901
        elif isinstance(part, Result) and part.id in renamed:
            part = replace(part, name=renamed[part.id])  # noqa: PLW2901
        parts.append(part)
    same = all(one is other for one, other in zip(parts, message.parts, strict=True))
    return message if same else replace(message, parts=tuple(parts))


class WireIds:
    """Gives every call of a payload a legal and unique id and a legal name, and every result those of its call.

    `odd`: names of the payload's own tools that are no legal ones, but are written as they are.
    """

    def __init__(self, rule: IdRule, odd: frozenset[str] = frozenset()) -> None:
        self._rule, self._odd = rule, odd
        self._used: set[str] = set()
        self._copies: dict[str, int] = {}  # how often a stem was rewritten, so that many equal ids stay cheap
        self._waiting: dict[str, list[list[str]]] = {}  # id → per assistant message, the wire ids still unanswered

    def fit(self, message: Message) -> Message:
        """The message with legal ids and names: the message itself if they are. Messages must be given in order.

        A result that answers no call becomes a labelled user message, because every provider would refuse it.
        """
        match message.role:
            case Role.ASSISTANT:
                return self._rename_calls(message)
            case Role.TOOL:
                return self._rename_result(message)
            case Role.USER | Role.SYSTEM:
                return message

    def _rename_calls(self, message: Message) -> Message:
        parts: list[Part] = []
        fresh: dict[str, list[str]] = {}
        same = True
        for part in message.parts:
            if isinstance(part, Call):
                wire_id, name = self._unique(part.id), self._name(part.name)
                fresh.setdefault(part.id, []).append(wire_id)
                if wire_id != part.id or name != part.name:
                    part, same = replace(part, id=wire_id, name=name), False  # noqa: PLW2901
            parts.append(part)
        for call_id, wire_ids in fresh.items():
            self._waiting.setdefault(call_id, []).append(wire_ids)
        return message if same else replace(message, parts=tuple(parts))

    def _rename_result(self, message: Message) -> Message:
        result = result_of(message)
        if (wire_id := self._answer(result.id)) is None:
            label = Text(f"[result of {result.id or 'an unknown call'}]")
            return Message(Role.USER, (label, *result.parts), id=message.id)
        name = result.name and self._name(result.name)
        if wire_id == result.id and name == result.name:
            return message
        return replace(message, parts=(replace(result, id=wire_id, name=name),))

    def _name(self, name: str) -> str:
        return name if name in self._odd else _legal_name(name)

    def _answer(self, call_id: str) -> str | None:
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


def joins(message: Message, last: Role | None) -> bool:
    """Whether a message continues the user message before it. `last` is the role of the message before it."""
    return message.merge_into_previous and message.role is Role.USER and last is Role.USER


def begins_run(message: Message, last: Role | None) -> bool:
    """Whether a message is not written together with those before it, as results are with their calls."""
    return message.role is not Role.TOOL and not joins(message, last)


def in_call_order(run: Sequence[Message]) -> Sequence[Message]:
    """A run of messages with the results in the order of the calls that they answer."""
    if len(run) <= 2 or run[0].role is not Role.ASSISTANT:
        return run
    calls = [part.id for part in run[0].parts if isinstance(part, Call)]
    order = {call_id: place for place, call_id in enumerate(calls)}
    return [run[0], *sorted(run[1:], key=lambda message: order.get(result_of(message).id, len(order)))]


def in_order(messages: Iterable[Message]) -> Iterator[Message]:
    """The same messages, with the results after an assistant message in the order of its calls."""
    run: list[Message] = []
    for message in messages:
        if run and begins_run(message, run[-1].role):
            yield from in_call_order(run)
            run = []
        run.append(message)
    yield from in_call_order(run)


def pair(messages: Iterable[Message], rule: IdRule, odd: frozenset[str] = frozenset()) -> Iterator[Message]:
    """The same messages as `WireIds` makes them, with the results after an assistant message in order of its calls."""
    return in_order(map(WireIds(rule, odd).fit, messages))


def result_of(message: Message) -> Result:
    """The one Result of a TOOL message."""
    part = message.parts[0]
    assert isinstance(part, Result), "a TOOL message holds exactly one Result"
    return part
