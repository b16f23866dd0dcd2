"""The document's messages: in OpenAI's form and as entries of the log, their tokens, and which of them are sent."""

from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from math import floor
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from sightline import wire
from sightline.errors import BadInput
from sightline.log import entries
from sightline.log.entries import Entry
from sightline.origins.clawdcode.values import ContextMessage, ContextRole, FilterOptions
from sightline.origins.exchanges import calls_by_id, exchanges
from sightline.values.cautious import Cautious
from sightline.values.clock import Clock, milliseconds, wall_clock
from sightline.values.decoders import convert
from sightline.values.items import Blob, Call, Message, Part, Result, Role, arguments, plain_text
from sightline.values.tokens import Estimate, counter, encoding_for, estimate_tokens
from sightline.values.tokens import TokenCounter as Counter

SUMMARY = "isCompactSummary"  # in the metadata of a message that is a summary
MESSAGE_TOKENS = 4  # for the framing of a message, and of a tool call: the document's figure

_ROLES: dict[str, ContextRole] = {"tool_use": "assistant", "tool_result": "tool"}
_IN_CHAT = {
    "tool": "tool_call_id",
    "assistant": "tool_calls",
}  # the metadata that OpenAI's form has as fields, by role

T = TypeVar("T")


def chat_of(message: Any) -> Mapping[str, Any]:
    """Return a message in OpenAI's form: a mapping as it is, a `ContextMessage` converted, anything else empty."""
    if not isinstance(message, ContextMessage):
        return message if isinstance(message, Mapping) else {}
    chat = {"role": message.role, "content": message.content, "metadata": message.metadata}
    key, metadata = _IN_CHAT.get(message.role, ""), message.metadata or {}
    return chat | {key: metadata[key]} if key in metadata else chat


def role_of(message: Any) -> str:
    return str(chat_of(message).get("role") or "")


def result_id(message: Any) -> str | None:
    """Return the id of the call that a tool message answers; None for a message that answers none."""
    return str(chat_of(message).get("tool_call_id") or "") or None if role_of(message) == "tool" else None


def is_summary(message: Any) -> bool:
    """Whether a message is the summary of an earlier compaction."""
    metadata = chat_of(message).get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get(SUMMARY))


def neutral(message: Any) -> Message:
    """Return the core's form of a message, without its metadata. A tool message without a call id gets its own id.

    Raises:
        BadInput: a role, content or tool call that cannot be read.
    """
    chat = {key: value for key, value in chat_of(message).items() if key not in ("id", "metadata")}
    if chat.get("role") == "tool" and not chat.get("tool_call_id"):
        chat["tool_call_id"] = getattr(message, "id", "none")
    return wire.read_messages([chat], "openai")[0]


def readable(message: Any) -> Message:
    """Return the core's form of a message; one that says nothing if it cannot be read. Never raises."""
    try:
        return neutral(message)
    except BadInput:
        return Message(Role.USER, ())


def check(message: ContextMessage) -> None:
    """Raises BadInput for a message that could not be read back as it is."""
    neutral(message)
    try:
        read = msgspec.json.decode(msgspec.json.encode(message.metadata))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadInput(f"a message's metadata must be JSON values: {error}") from error
    if read != message.metadata:
        raise BadInput("a message's metadata must be JSON values: objects with text keys, lists, texts and numbers")


def with_metadata(draft: Entry, message: ContextMessage) -> Entry:
    """Return the draft of a message's entry with the metadata that it has no fields for, or has in another spelling."""
    metadata, error = message.metadata, (message.metadata or {}).get("error")
    if draft.tool_result is not None and isinstance(error, str):
        draft = replace(draft, tool_result=replace(draft.tool_result, error=error))
    in_fields = _metadata(draft)
    rest = {key: value for key, value in (metadata or {}).items() if key not in in_fields or in_fields[key] != value}
    if metadata is None or (in_fields and not rest):
        return draft
    return replace(draft, data=msgspec.Raw(msgspec.json.encode({"metadata": rest})))


def message_of(entry: Entry) -> ContextMessage:
    """Return the document's message of a conversation entry."""
    data: Any = msgspec.json.decode(entry.data)
    metadata = _metadata(entry) or None
    if isinstance(data, dict) and "metadata" in data:
        metadata = {**(metadata or {}), **data["metadata"]}
    role = _ROLES.get(entry.type) or convert(entry.type, ContextRole)
    content = _text(entries.parts_of(entry))
    return ContextMessage(entry.uuid, role, content, milliseconds(entry.timestamp), metadata)


def _metadata(entry: Entry) -> dict[str, Any]:
    """Return what the fields of an entry say of its message's calls, result and origin.

    A result under the id of its own message answers no call: the document's message had no `tool_call_id`.
    """
    parts = entries.parts_of(entry)
    metadata: dict[str, Any] = {}
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": arguments(part)}}
        for part in parts
        if isinstance(part, Call)
    ]
    if calls:
        metadata["tool_calls"] = calls
    if parts and isinstance(result := parts[0], Result):
        metadata |= {} if result.id == entry.uuid else {"tool_call_id": result.id}
        metadata |= {"error": result.error} if result.error else {}
    if entry.is_compact_summary:
        metadata[SUMMARY] = True
    return metadata


def _text(parts: Sequence[Part]) -> str:
    """Return the text of parts as it was given, also where it is no valid Unicode."""
    match parts:
        case [Result(parts=inner)]:
            return _text(inner)
        case [Blob(surrogates=True, data=data), *_]:
            return b64decode(data).decode("utf-8", "surrogatepass")
    return plain_text(tuple(parts))


# ---------------------------------------------------------------------- tokens


class TokenCounter:
    """Counts messages in OpenAI's form, or `ContextMessage`s, with the vocabulary of a model."""

    @staticmethod
    def get_encoding(model_name: str) -> Counter:
        """Return the counter of a model's vocabulary, made once; the default one for an unknown model. Never raises."""
        made = counter(encoding_for(model_name))
        return Estimate() if isinstance(made, Cautious) else made

    @staticmethod
    def count_tokens(messages: Iterable[Any], model_name: str) -> int:
        """Count the tokens of a message list: role, content and tool calls, and the framing of each."""
        return count_messages(messages, TokenCounter.get_encoding(model_name))

    @staticmethod
    def should_compact(
        messages: Iterable[Any], model_name: str, max_tokens: int, threshold_percent: float = 0.8
    ) -> bool:
        """Whether the messages have reached this share of the context window."""
        return TokenCounter.count_tokens(messages, model_name) >= floor(max_tokens * threshold_percent)

    estimate_tokens = staticmethod(estimate_tokens)


def count_messages(messages: Iterable[Any], encoding: Counter) -> int:
    """Count what `TokenCounter.count_tokens` counts, with this counter."""
    return sum(_message_tokens(chat_of(message), encoding) for message in messages)


def _message_tokens(chat: Mapping[str, Any], encoding: Counter) -> int:
    tokens = MESSAGE_TOKENS + encoding.count(chat.get("role") or "") + _text_tokens(chat.get("content"), encoding)
    for call in chat.get("tool_calls") or ():
        function = call.get("function") or {}
        fields = (call.get("id"), function.get("name"), function.get("arguments"))
        tokens += MESSAGE_TOKENS + sum(_text_tokens(field, encoding) for field in fields)
    return tokens


def _text_tokens(content: Any, encoding: Counter) -> int:
    text = content if isinstance(content, str) else msgspec.json.encode(content).decode()
    return encoding.count(text) if content not in (None, "") else 0


# ---------------------------------------------------------------------- which messages are sent


def filter_orphan_tool_messages(messages: Sequence[T]) -> list[T]:
    """Leave out the tool results whose calls are not among these messages. Results that name no call stay."""
    calls = {call_id for message in messages for call_id in calls_by_id(chat_of(message))}
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
        calls = {call_id: call for call_id, call in calls_by_id(chat_of(message)).items() if call_id in results}
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
        token_counter: Counter | None = None,
    ) -> None:
        self.options = options or FilterOptions()
        self._clock, self._counter = clock, token_counter or counter()

    def filter(self, messages: Sequence[ContextMessage]) -> list[ContextMessage]:
        kept, _ = split_system(messages)
        count = self.options.max_messages - len(kept)
        tokens = self.options.max_tokens - count_messages(kept, self._counter)
        oldest = self._clock() - self.options.time_window
        for indexes in reversed(exchanges([chat_of(message) for message in messages])):
            unit = [messages[index] for index in indexes]
            count, tokens = count - len(unit), tokens - count_messages(unit, self._counter)
            if count < 0 or tokens < 0 or max(message.timestamp for message in unit) < oldest:
                break
            kept += unit
        ids = {id(message) for message in kept}
        return [message for message in messages if id(message) in ids]
