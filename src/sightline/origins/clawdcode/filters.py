"""Which messages of a list go on: those within limits, those with their partners, those a provider accepts."""

from collections.abc import Sequence
from typing import Any, TypeVar

from sightline.origins.clawdcode.counting import message_tokens
from sightline.origins.clawdcode.messages import call_ids, calls_of, chat_of, result_id, role_of
from sightline.origins.clawdcode.values import ContextMessage, FilterOptions
from sightline.values.clock import Clock, wall_clock
from sightline.values.tokens import TokenCounter, counter

T = TypeVar("T")


def filter_orphan_tool_messages(messages: Sequence[T]) -> list[T]:
    """The messages without the tool results whose calls are not among them. Results that name no call stay."""
    available = {call_id for message in messages for call_id in call_ids(message)}
    return [message for message in messages if (answered := result_id(message)) is None or answered in available]


def split_system(messages: Sequence[T]) -> tuple[list[T], list[T]]:
    """The system messages, and the others."""
    system = [message for message in messages if role_of(message) == "system"]
    return system, [message for message in messages if role_of(message) != "system"]


def waits_for_results(messages: Sequence[Any]) -> bool:
    """Whether the list ends within an exchange: calls, and not yet all of their results."""
    answered: set[str] = set()
    for message in reversed(messages):
        if role_of(message) != "tool":
            return bool(set(call_ids(message)) - answered)
        answered.add(result_id(message) or "")
    return False


def provider_messages(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """The messages as a provider accepts them: in OpenAI's form, each call with its result behind it and each result
    with its call. What has no partner is left out, and a message that said nothing else.
    """
    given: list[list[dict[str, Any]]] = []
    results: dict[str, dict[str, Any]] = {}  # of calls that stand further up, by id
    for message in reversed(messages):
        said = {"role": role_of(message), "content": chat_of(message).get("content")}
        if said["role"] == "tool":
            if (call_id := result_id(message)) is not None:
                results[call_id] = {**said, "tool_call_id": call_id}
            continue
        calls = {call["id"]: call for call in calls_of(message) if call["id"] in results}
        if calls:
            said["tool_calls"] = list(calls.values())
        if calls or said["content"] or said["role"] != "assistant":
            given.append([said, *(results.pop(call_id) for call_id in calls)])
    return [each for group in reversed(given) for each in group]


class ContextFilter:
    """Limits a context by age, number and tokens.

    System messages always stay. Of the others the newest do, in their order, up to the first that does not fit; an
    assistant message and the results of its calls stay or go together.
    """

    def __init__(
        self,
        options: FilterOptions | None = None,
        *,
        clock: Clock = wall_clock,
        token_counter: TokenCounter | None = None,
    ) -> None:
        self.options = options or FilterOptions()
        self._clock, self._counter = clock, token_counter

    def filter(self, messages: Sequence[ContextMessage]) -> list[ContextMessage]:
        """The messages within the limits, in their order."""
        system, _ = split_system(messages)
        kept = {id(message) for message in system}
        room = self.options.max_messages - len(system)
        tokens = self.options.max_tokens - self._tokens(system)
        oldest = self._clock() - self.options.time_window
        for unit in reversed(_units(messages)):
            room, tokens = room - len(unit), tokens - self._tokens(unit)
            if room < 0 or tokens < 0 or max(message.timestamp for message in unit) < oldest:
                break
            kept |= {id(message) for message in unit}
        return [message for message in messages if id(message) in kept]

    def _tokens(self, messages: Sequence[ContextMessage]) -> int:
        counting = self._counter or counter()
        return sum(message_tokens(message, counting) for message in messages)


def _units(messages: Sequence[ContextMessage]) -> list[list[ContextMessage]]:
    """What stays or goes together, by where it begins. Results without a call are in none."""
    units: list[list[ContextMessage]] = []
    calls: dict[str, list[ContextMessage]] = {}
    for message in messages:
        answered = result_id(message)
        if answered is None and message.role != "system":
            units.append([message])
            calls |= dict.fromkeys(call_ids(message), units[-1])
        elif answered in calls:
            calls.pop(answered).append(message)
    return units
