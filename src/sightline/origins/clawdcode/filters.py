"""Which messages of a list are sent: those within limits, and calls only together with their results."""

from collections.abc import Sequence
from typing import Any, TypeVar

from sightline.origins.clawdcode.counting import message_tokens
from sightline.origins.clawdcode.messages import calls_of, chat_of, result_id, role_of
from sightline.origins.clawdcode.values import ContextMessage, FilterOptions
from sightline.origins.exchanges import exchanges
from sightline.values.clock import Clock, wall_clock
from sightline.values.tokens import TokenCounter, counter

T = TypeVar("T")


def filter_orphan_tool_messages(messages: Sequence[T]) -> list[T]:
    """Leave out the tool results whose calls are not among these messages. Results that name no call stay."""
    calls = {call_id for message in messages for call_id in calls_of(message)}
    return [message for message in messages if (answered := result_id(message)) is None or answered in calls]


def split_system(messages: Sequence[T]) -> tuple[list[T], list[T]]:
    """Return the system messages, and the other messages."""
    system = [message for message in messages if role_of(message) == "system"]
    return system, [message for message in messages if role_of(message) != "system"]


def provider_messages(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the messages as a provider accepts them: in OpenAI's form, each call followed by its result.

    Calls without a result and results without a call are left out, and so is an assistant message that has nothing
    else.
    """
    groups: list[list[dict[str, Any]]] = []
    results: dict[str, dict[str, Any]] = {}  # by the id of the call, which is further up in the list
    for message in reversed(messages):
        sent = {"role": role_of(message), "content": chat_of(message).get("content")}
        if sent["role"] == "tool":
            if (call_id := result_id(message)) is not None:
                results[call_id] = {**sent, "tool_call_id": call_id}
            continue
        calls = {call_id: call for call_id, call in calls_of(message).items() if call_id in results}
        if calls:
            sent["tool_calls"] = list(calls.values())
        if calls or sent["content"] or sent["role"] != "assistant":
            groups.append([sent, *(results.pop(call_id) for call_id in calls)])
    return [message for group in reversed(groups) for message in group]


class ContextFilter:
    """Limits a context by age, number and tokens.

    System messages always stay. Of the others the newest stay, in their order, up to the first that does not fit. An
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
        self._clock, self._counter = clock, token_counter or counter()

    def filter(self, messages: Sequence[ContextMessage]) -> list[ContextMessage]:
        """Return the messages within the limits, in their order."""
        kept, _ = split_system(messages)
        count = self.options.max_messages - len(kept)
        tokens = self.options.max_tokens - self._tokens(kept)
        oldest = self._clock() - self.options.time_window
        for indexes in reversed(exchanges([chat_of(message) for message in messages])):
            unit = [messages[index] for index in indexes]
            count, tokens = count - len(unit), tokens - self._tokens(unit)
            if count < 0 or tokens < 0 or max(message.timestamp for message in unit) < oldest:
                break
            kept += unit
        ids = {id(message) for message in kept}
        return [message for message in messages if id(message) in ids]

    def _tokens(self, messages: Sequence[ContextMessage]) -> int:
        return sum(message_tokens(message, self._counter) for message in messages)
